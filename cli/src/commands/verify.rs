//! `verify`: checks ledgers' folders, and reports what that proves.

mod archive;
mod assurance;
mod coverage;
mod evidence;
mod failure;
mod generations;
mod places;
mod report_view;
mod witnesses;

use std::fs;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use bitacora_formats::limits::MAX_NOTE_BYTES;
use bitacora_formats::{Keyring, LedgerName, UnverifiedTreeHead, VerifierKey};
use clap::Args;
use serde_json::Value;

use self::failure::VerifyFailure;
use self::places::LedgerPlace;
use self::report_view::ReportView;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::input_file;
use crate::keys::keyring_file;
use crate::keys::passphrase::PassphraseSource;
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::progress::ByteBar;
use crate::verify::{KnownHead, LeavesWanted, Patience, Verdict, VerifyOptions, verify_ledger};

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
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
    /// End with exit code 50 unless the leaf of every event is there to build the tree from.
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
    /// Check archives by themselves instead: a file, or a folder of them; repeatable; exit code 0 needs --vkey.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["evidence", "every_signature", "explain", "all", "chain_only", "require_leaves", "known_head", "witnesses", "threads"])]
    archive: Vec<PathBuf>,
    /// The number of threads that check a segment each, and share the frames of the last ones. [default: the number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

impl VerifyArguments {
    fn leaves(&self) -> LeavesWanted {
        match (self.chain_only, self.require_leaves) {
            (true, _) => LeavesWanted::None,
            (false, false) => LeavesWanted::WhereThere,
            (false, true) => LeavesWanted::All,
        }
    }
}

pub(crate) fn run(
    arguments: &VerifyArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let policy = arguments.witnesses.as_deref().map(witnesses::read).transpose()?;
    if let Some(path) = &arguments.evidence {
        let proven = evidence::check(path, &arguments.vkey, policy.as_ref())?;
        show(global, output, || proven.to_json(), || proven.lines())?;
        return Ok(proven.exit());
    }
    let keyring = if arguments.with_keys { Some(load_keyring(global)?) } else { None };
    if !arguments.archive.is_empty() {
        let archives = archive::check(&arguments.archive, (&arguments.vkey, keyring.as_ref()))?;
        show(global, output, || archives.to_json(), || archives.lines())?;
        return Ok(archives.exit());
    }
    let (places, archives) = places::find(global, arguments.all)?;
    let mut worst = None;
    for LedgerPlace { folder, name, is_named } in &places {
        let anchored = global.named_anchor()?.and_then(|anchor| anchor.file_of(name));
        let mut known_heads = known_heads(arguments.known_head.iter().chain(&anchored))?;
        known_heads.extend(stored_head(global, name)?);
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
            patience: Patience::LIVE,
            progress: Some(&progress),
        };
        let report = verify_ledger(folder, &options);
        drop(progress);
        worst = worst.max(Some(report.verdict()));
        let shown = ReportView {
            name,
            report: &report,
            exit: exit(report.verdict()),
            every_signature: arguments.every_signature,
            explain: arguments.explain,
        };
        show(global, output, || shown.to_json(), || shown.lines())?;
    }
    Ok(worst.map_or(Exit::Incomplete, exit))
}

/// Shows a result. A reader that closes the pipe early does not change the result.
fn show(
    global: &Global,
    output: &mut Output,
    json: impl FnOnce() -> Value,
    lines: impl FnOnce() -> Vec<String>,
) -> Result<(), OutputError> {
    let shown = if global.json {
        output.json(&json())
    } else {
        lines().iter().try_for_each(|line| output.line(printable(line)))
    };
    match shown {
        Err(OutputError::Closed) => Ok(()),
        shown => shown,
    }
}

fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Confirmed => Exit::Done,
        Verdict::Alone => Exit::Alone,
        Verdict::Diverged => Exit::Diverged,
        Verdict::Incomplete => Exit::Incomplete,
        Verdict::Invalid => Exit::Invalid,
    }
}

/// Reads the heads that were kept elsewhere. An unreadable one ends the command, so that nothing is compared with less
/// than was asked for.
fn known_heads<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<KnownHead>, CommandError> {
    let read = |path: &PathBuf| {
        let file = path.display().to_string();
        let failed = |what: String| VerifyFailure::KnownHead { path: file.clone(), what };
        let note = read_note(path).map_err(|error| failed(error.to_string()))?;
        let head = UnverifiedTreeHead::parse(&note).map_err(|error| failed(error.to_string()))?;
        Ok(KnownHead { file, head })
    };
    files.map(read).collect()
}

/// Returns the head in the store that --anchor names.
fn stored_head(global: &Global, ledger: &LedgerName) -> Result<Option<KnownHead>, CommandError> {
    let Some(anchor) = global.named_anchor()? else { return Ok(None) };
    let stored = anchor.stored_head(ledger).map_err(VerifyFailure::from)?;
    let Some((file, note)) = stored else { return Ok(None) };
    match UnverifiedTreeHead::parse(&note) {
        Ok(head) => Ok(Some(KnownHead { file, head })),
        Err(error) => Err(VerifyFailure::KnownHead { path: file, what: error.to_string() }.into()),
    }
}

/// Reads a note. One byte more than a note can have is enough to refuse it.
fn read_note(path: &Path) -> io::Result<String> {
    String::from_utf8(input_file::read(path, MAX_NOTE_BYTES)?).map_err(io::Error::other)
}

fn load_keyring(global: &Global) -> Result<Keyring, CommandError> {
    let path = global.keyring()?;
    let loaded = keyring_file::load(&path, global.data.as_deref(), PassphraseSource::User);
    Ok(loaded.map_err(VerifyFailure::Keyring)?.keyring)
}

/// Returns the names of the ledgers. Folders without a ledger's name were left by an interrupted creation.
fn ledger_names(data: &Path) -> Result<Vec<LedgerName>, CommandError> {
    let folder = data.join("ledgers");
    let failed = |source| VerifyFailure::Folder { path: folder.display().to_string(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        names.extend(name.to_str().and_then(|name| name.parse::<LedgerName>().ok()));
    }
    names.sort_unstable();
    if names.is_empty() {
        return Err(VerifyFailure::NoLedger { path: folder.display().to_string() }.into());
    }
    Ok(names)
}
