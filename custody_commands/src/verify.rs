//! `verify`: checks ledgers' folders, and reports what that proves.

mod failure;

use std::num::NonZero;
use std::path::PathBuf;

use bitacora_archiver::ArchiveLocation;
use bitacora_formats::{Keyring, LedgerName, VerifierKey};
use bitacora_verify::{
    CheckResult, KnownHead, LeafCheck, LedgerLocation, LedgerSelection, ReportView, TailRetries, Verdict,
    VerifyOptions, check_archives, check_bundle, check_proof, find_ledgers, parse_known_head,
    read_known_head, read_witness_policy, verify_ledger,
};
use clap::Args;

use self::failure::VerifyFailure;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError};
use crate::terminal::passphrase::keyring_file;
use crate::terminal::progress::ByteBar;

/// The arguments of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Open every frame too, with the keyring: records, commitments, tree and streams.
    #[arg(long)]
    with_keys: bool,
    /// Verify the signature of every frame, not only of the last one of each segment.
    #[arg(long)]
    every_signature: bool,
    /// Explain what each kind of evidence proves.
    #[arg(long)]
    explain: bool,
    /// Verify every ledger of the data folder.
    #[arg(long)]
    all: bool,
    /// Check only the hash chain and its signatures, not the tree by the leaves beside the segments.
    #[arg(long, conflicts_with = "require_leaves")]
    chain_only: bool,
    /// End with exit code 50 unless the leaves of all events are there to check the tree.
    #[arg(long)]
    require_leaves: bool,
    /// A verifier key that you know to be the ledger's, as NAME+ID+KEY; repeatable.
    #[arg(long, value_name = "KEY", conflicts_with = "all")]
    vkey: Vec<VerifierKey>,
    /// A tree head kept elsewhere that the ledger must extend, like the one in --anchor; repeatable. Exit code 0 needs --vkey too.
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    known_head: Vec<PathBuf>,
    /// A witness policy (c2sp.org/tlog-policy): its largest cosigned head counts like --known-head, and its logs like
    /// --vkey. Without such a head the exit code is 50.
    #[arg(long, value_name = "FILE")]
    witnesses: Option<PathBuf>,
    /// Check the proof of one event instead, offline and without the ledger, and show the event; exit code 0 needs --vkey.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["with_keys", "every_signature", "explain", "all", "chain_only", "require_leaves", "known_head", "threads"])]
    evidence: Option<PathBuf>,
    /// Check an evidence bundle instead: many events in one file, offline and without the ledger; exit code 0 needs --vkey.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["evidence", "archive", "with_keys", "every_signature", "explain", "all", "chain_only", "require_leaves", "known_head", "threads"])]
    bundle: Option<PathBuf>,
    /// Check archives by themselves instead: a file, or a folder of them; repeatable; exit code 0 needs --vkey.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["evidence", "every_signature", "explain", "all", "chain_only", "require_leaves", "known_head", "witnesses", "threads"])]
    archive: Vec<PathBuf>,
    /// The number of threads that check segments. [default: the number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

impl VerifyArguments {
    fn leaves(&self) -> LeafCheck {
        match (self.chain_only, self.require_leaves) {
            (true, _) => LeafCheck::None,
            (false, false) => LeafCheck::WhereThere,
            (false, true) => LeafCheck::All,
        }
    }
}

/// Runs `verify`.
pub fn run(arguments: &VerifyArguments, global: &Global, output: &mut Output) -> Result<Exit, CommandError> {
    let policy = arguments.witnesses.as_deref().map(read_witness_policy).transpose();
    let policy = policy.map_err(VerifyFailure::from)?;
    if let Some(path) = &arguments.evidence {
        let proven = check_proof(path, &arguments.vkey, policy.as_ref()).map_err(VerifyFailure::from)?;
        return show(&proven, global, output);
    }
    if let Some(path) = &arguments.bundle {
        let proven = check_bundle(path, &arguments.vkey, policy.as_ref()).map_err(VerifyFailure::from)?;
        return show(&proven, global, output);
    }
    let keyring = if arguments.with_keys { Some(load_keyring(global)?) } else { None };
    if !arguments.archive.is_empty() {
        let progress = ByteBar::new("archives");
        let known = (&*arguments.vkey, keyring.as_ref());
        let archives = check_archives(&arguments.archive, known, &progress).map_err(VerifyFailure::from)?;
        drop(progress);
        return show(&archives, global, output);
    }
    let (places, archives) = places(arguments, global)?;
    let mut worst = None;
    for LedgerLocation { folder, name, is_named } in &places {
        let known_heads = known_heads(arguments, global, name)?;
        let progress = ByteBar::new(name.as_str());
        let options = VerifyOptions {
            every_signature: arguments.every_signature,
            keyring: keyring.as_ref(),
            name: is_named.then_some(name.as_str()),
            leaves: arguments.leaves(),
            trusted: &arguments.vkey,
            known_heads: &known_heads,
            witnesses: policy.as_ref(),
            threads: arguments.threads,
            archives: archives.as_deref(),
            patience: TailRetries::LIVE,
            progress: Some(&progress),
        };
        let report = verify_ledger(folder, &options);
        drop(progress);
        worst = worst.max(Some(report.verdict()));
        let (every_signature, explain) = (arguments.every_signature, arguments.explain);
        show(&ReportView { name, report: &report, every_signature, explain }, global, output)?;
    }
    Ok(worst.unwrap_or(Verdict::Incomplete).into())
}

/// Shows a result. A reader that closes the pipe early does not change the result.
fn show(result: &dyn CheckResult, global: &Global, output: &mut Output) -> Result<Exit, CommandError> {
    let mut text = Vec::new();
    let written = result.write(global.json, &mut text).map_err(OutputError::from);
    match written.and_then(|()| output.bytes(&text)) {
        Ok(()) | Err(OutputError::Closed) => Ok(result.verdict().into()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the ledgers to verify, and the folder of their archives; `None` where these are in a store. They have to be
/// fetched from there first, because verifying asks nobody.
fn places(
    arguments: &VerifyArguments,
    global: &Global,
) -> Result<(Vec<LedgerLocation>, Option<PathBuf>), CommandError> {
    let (is_named, all) = (global.is_ledger_named(), arguments.all);
    let asked = LedgerSelection { name: &global.ledger, is_named, all };
    let (places, data) = find_ledgers(global.data()?, asked).map_err(VerifyFailure::from)?;
    let archives = match global.archive_place(&data) {
        ArchiveLocation::Folder(folder) => Some(folder),
        ArchiveLocation::Store(_) => None,
    };
    Ok((places, archives))
}

/// Returns the heads that were kept elsewhere, and the one in the store that --anchor names.
fn known_heads(
    arguments: &VerifyArguments,
    global: &Global,
    name: &LedgerName,
) -> Result<Vec<KnownHead>, CommandError> {
    let anchored = global.named_anchor()?.and_then(|anchor| anchor.file_of(name));
    let files = arguments.known_head.iter().chain(&anchored);
    let heads = files.map(|path| read_known_head(path)).collect::<Result<Vec<_>, _>>();
    let mut heads = heads.map_err(VerifyFailure::from)?;
    let Some(anchor) = global.named_anchor()? else { return Ok(heads) };
    if let Some((file, note)) = anchor.stored_head(name).map_err(VerifyFailure::from)? {
        heads.push(parse_known_head(file, &note).map_err(VerifyFailure::from)?);
    }
    Ok(heads)
}

fn load_keyring(global: &Global) -> Result<Keyring, CommandError> {
    let path = global.keyring()?;
    let loaded = keyring_file(&path, global.data.as_deref()).load();
    Ok(loaded.map_err(VerifyFailure::Keyring)?.keyring)
}
