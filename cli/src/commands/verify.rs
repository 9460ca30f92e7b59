//! `verify`: checks ledgers' folders and says what that proves.

mod coverage;
mod shown;

use std::fs;
use std::num::NonZero;
use std::path::Path;

use bitacora_formats::{Keyring, LedgerName};
use clap::Args;

use self::shown::Shown;
use crate::arguments::Global;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::keyring_file;
use crate::output::Output;
use crate::passphrase::PassphraseSource;
use crate::progress::ByteBar;
use crate::verify::{LeavesWanted, Patience, Verdict, VerifyOptions, verify_ledger};

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Open every frame too, with the keyring: records, commitments, tree and streams.
    #[arg(long)]
    with_keys: bool,
    /// Verify the signature of every frame, not only of the last one of each segment.
    #[arg(long)]
    every_signature: bool,
    /// Say of each kind of evidence what it proves.
    #[arg(long)]
    explain: bool,
    /// Verify every ledger of the data folder.
    #[arg(long)]
    all: bool,
    /// Check the hash chain and its signatures alone, not the tree by the leaves beside the segments.
    #[arg(long, conflicts_with = "require_leaves")]
    chain_only: bool,
    /// End with 50 unless the leaf of every event is there to make the tree of.
    #[arg(long)]
    require_leaves: bool,
    /// Threads that check, a segment each, the frames of the last ones together; as many as there are cores where it is not
    /// told.
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
    let data = global.data()?;
    let keyring = if arguments.with_keys { Some(load_keyring(global)?) } else { None };
    let names = if arguments.all { ledger_names(data)? } else { vec![global.ledger.clone()] };
    let mut worst = None;
    for name in &names {
        let progress = ByteBar::new(name.as_str());
        let options = VerifyOptions {
            every_signature: arguments.every_signature,
            keyring: keyring.as_ref(),
            name: Some(name.as_str()),
            leaves: arguments.leaves(),
            threads: arguments.threads,
            patience: Patience::LIVE,
            progress: Some(&progress),
        };
        let report = verify_ledger(&data.join("ledgers").join(name.as_str()), &options);
        drop(progress);
        worst = worst.max(Some(report.verdict()));
        let shown = Shown {
            name,
            report: &report,
            exit: exit(report.verdict()),
            every_signature: arguments.every_signature,
            explain: arguments.explain,
        };
        if global.json {
            output.json(&shown.to_json())?;
        } else {
            shown.lines().iter().try_for_each(|line| output.line(line))?;
        }
    }
    Ok(worst.map_or(Exit::Incomplete, exit))
}

fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Alone => Exit::Alone,
        Verdict::Incomplete => Exit::Incomplete,
        Verdict::Invalid => Exit::Invalid,
    }
}

fn load_keyring(global: &Global) -> Result<Keyring, CommandError> {
    let path = global.keyring()?;
    let loaded = keyring_file::load(&path, global.data.as_deref(), PassphraseSource::User);
    Ok(loaded.map_err(CommandError::VerifyKeyring)?.keyring)
}

/// What has no ledger's name was left by a creation that did not end.
fn ledger_names(data: &Path) -> Result<Vec<LedgerName>, CommandError> {
    let folder = data.join("ledgers");
    let failed = |source| CommandError::VerifyFolder { path: folder.display().to_string(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        names.extend(name.to_str().and_then(|name| name.parse::<LedgerName>().ok()));
    }
    names.sort_unstable();
    if names.is_empty() {
        return Err(CommandError::NoLedger { path: folder.display().to_string() });
    }
    Ok(names)
}
