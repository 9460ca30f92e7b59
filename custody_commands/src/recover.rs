//! `recover`: reopens a ledger that lost acknowledged events.
//! It puts events back from quarantine, or declares the loss and starts a new generation. Events in archives are not
//! lost: where archives reach further than the log, the ledger is restored from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_data_folder::{
    AnchorTrust, LedgerRecovery, LockedFolder, RecoveryError, RestoredLedger, WitnessFailure, archive_store,
};
use bitacora_ledger::{DeclaredLoss, OpenError, Options};
use bitacora_server::DataError;
use clap::Args;
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;

use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::options::global::Global;
use crate::options::witness_arguments::WitnessArguments;
use crate::terminal::logging::{self, LogForm};
use crate::terminal::output::{Output, printable};
use crate::terminal::passphrase::keyring_file;

/// The arguments of `recover`.
#[derive(Debug, Args)]
pub struct RecoverArguments {
    /// Declare missing events lost that others remember. Starts a new generation, which every later verification shows.
    #[arg(long, required_unless_present = "put_back")]
    declare_loss: bool,
    /// Also give up events that archives hold and the log has lost.
    #[arg(long, conflicts_with = "put_back")]
    without_archives: bool,
    /// Put back acknowledged events from quarantine that the disk had lost; no event is lost then.
    #[arg(long, conflicts_with = "declare_loss")]
    put_back: bool,
    #[command(flatten)]
    witnesses: WitnessArguments,
}

/// The reason why no loss was declared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecoverFailure {
    #[error("{}: a service has this data folder; stop it first", .0.display())]
    Held(PathBuf),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Witnesses(#[from] WitnessFailure),
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
}

impl CommandFailure for RecoverFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Recovery(RecoveryError::Open(OpenError::RolledBack(_))) => Exit::Diverged,
            _ => Exit::Failed,
        }
    }
}

/// Runs `recover`.
pub fn run(arguments: &RecoverArguments, global: &Global, output: &mut Output) -> Result<Exit, CommandError> {
    logging::start(LogForm::Text, LevelFilter::WARN);
    let (data, path) = (global.data()?, global.keyring()?);
    let keyring = Arc::new(keyring_file(&path, Some(data)).load()?.keyring);
    let (folder, options) = hold(arguments, global, data)?;
    let recovery =
        LedgerRecovery { folder: &folder, ledger: &global.ledger, keyring: &keyring, options: &options };
    if arguments.put_back {
        let head = recovery.put_back().map_err(RecoverFailure::from)?;
        if global.json {
            output.json(&json!({"head": head.to_string()}))?;
        } else {
            output.line(format_args!(
                "put acknowledged events back in their places; the ledger ends at position {head}"
            ))?;
        }
        return Ok(Exit::Done);
    }
    let archives = archive_store(global.archive_place(data));
    let archives = Some(&archives).filter(|_| !arguments.without_archives);
    let (loss, restored) = recovery.declare_loss(archives).map_err(RecoverFailure::from)?;
    if global.json {
        output.json(&to_json(&loss, restored.as_ref()))?;
    } else {
        if let Some(RestoredLedger { events, kept }) = &restored {
            output.line(format_args!("restored {events} events of archives"))?;
            output
                .line(format_args!("what was here is kept in {}", printable(&kept.display().to_string())))?;
        }
        for line in lines(&loss) {
            output.line(line)?;
        }
    }
    Ok(Exit::Done)
}

/// Locks the data folder, and returns the options for opening its ledger.
fn hold(
    arguments: &RecoverArguments,
    global: &Global,
    data: &Path,
) -> Result<(LockedFolder, Options), CommandError> {
    let environment = global.environment(data);
    let trust = AnchorTrust { required: true, is_new: global.new_anchor };
    let mut options = global.anchor()?.options(&environment, trust)?;
    arguments.witnesses.add_to(&mut options).map_err(RecoverFailure::from)?;
    let options = Options { name: Some(global.ledger.clone()), ..options };
    let folder = LockedFolder::open_or_begin(&environment, data).map_err(|error| match error {
        DataError::InUse(folder) => RecoverFailure::Held(folder),
        error => error.into(),
    })?;
    Ok((folder, options))
}

fn lines(loss: &DeclaredLoss) -> [String; 3] {
    let retained = loss.retained.position;
    let lost = match (&loss.lost, loss.lost_events()) {
        (None, _) => "lost: what stood behind the damage; no tree head was signed over it".to_owned(),
        (Some(lost), 0) => format!("given up: another history of {} events", lost.size),
        (Some(lost), events) => {
            format!("lost: {events} events, positions {} to {}", retained.get() + 1, lost.size)
        }
    };
    [
        format!("generation {} begins after position {retained}", loss.generation),
        lost,
        "their ids are taken again; receipts name their generation, and every verification shows it"
            .to_owned(),
    ]
}

fn to_json(loss: &DeclaredLoss, restored: Option<&RestoredLedger>) -> serde_json::Value {
    let lost = loss.lost.as_ref();
    json!({
        "generation": loss.generation.0,
        "retained": loss.retained.position.to_string(),
        "lostSize": lost.map(|lost| lost.size.to_string()),
        "lostRoot": lost.and_then(|lost| lost.root).map(|root| root.to_string()),
        "lostEvents": loss.lost_events(),
        "restoredEvents": restored.map(|restored| restored.events),
        "keptFolder": restored.map(|restored| restored.kept.display().to_string()),
    })
}
