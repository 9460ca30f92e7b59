//! `recover`: reopens a ledger that lost acknowledged events.
//! It puts events back from quarantine, or declares the loss and starts a new generation. Events in archives are not
//! lost: where archives reach further than the log, the ledger is restored from them.

mod archived;

use std::path::PathBuf;
use std::sync::Arc;

use bitacora_formats::{Generation, Position};
use bitacora_ledger::{CloseError, DeclaredLoss, Environment, FolderLock, Ledger, OpenError, Options};
use bitacora_server::{DataError, DataFolder};
use clap::Args;
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;

use self::archived::{ArchivedFailure, DamagedLedger, MadeAgain};
use crate::data_folder::anchor::AnchorTrust;
use crate::data_folder::archives;
use crate::data_folder::witnesses::{WitnessArguments, WitnessFailure};
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::keys::keyring_file;
use crate::keys::passphrase::PassphraseSource;
use crate::options::global::Global;
use crate::terminal::logging::{self, LogForm};
use crate::terminal::output::{Output, printable};

#[derive(Debug, Args)]
pub(crate) struct RecoverArguments {
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
    Open(#[from] OpenError),
    #[error(transparent)]
    Archived(#[from] ArchivedFailure),
    #[error(
        "generation {0} has begun, but the anchor could not be moved to it; once it can, `bitacora serve` moves it and goes on"
    )]
    NotAnchored(Generation),
    #[error(transparent)]
    Close(#[from] CloseError),
}

impl CommandFailure for RecoverFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Open(OpenError::RolledBack(_)) => Exit::Diverged,
            _ => Exit::Failed,
        }
    }
}

pub(crate) fn run(
    arguments: &RecoverArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    logging::start(LogForm::Text, LevelFilter::WARN);
    let (data, keyring_path) = (global.data()?, global.keyring()?);
    let keyring = keyring_file::load(&keyring_path, Some(data), PassphraseSource::User)?.keyring;
    let keyring = Arc::new(keyring);
    if arguments.put_back {
        let head = put_back(arguments, global, data, keyring)?;
        if global.json {
            output.json(&json!({"head": head.to_string()}))?;
        } else {
            output.line(format_args!(
                "put acknowledged events back in their places; the ledger ends at position {head}"
            ))?;
        }
        return Ok(Exit::Done);
    }
    let (loss, again) = declare(arguments, global, data, &keyring)?;
    if global.json {
        output.json(&to_json(&loss, again.as_ref()))?;
    } else {
        if let Some(MadeAgain { events, kept }) = &again {
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

/// The locked data folder, and the environment and options for opening its ledger.
struct LockedFolder {
    environment: Environment,
    folder: DataFolder,
    options: Options,
    _lock: Box<dyn FolderLock>,
}

fn hold(
    arguments: &RecoverArguments,
    global: &Global,
    data: &std::path::Path,
) -> Result<LockedFolder, CommandError> {
    let environment = global.environment(data);
    let trust = AnchorTrust { required: true, is_new: global.new_anchor };
    let mut options = global.anchor()?.options(&environment, trust)?;
    arguments.witnesses.add_to(&mut options).map_err(RecoverFailure::from)?;
    let options = Options { name: Some(global.ledger.clone()), ..options };
    let folder = DataFolder::open_or_begin(&environment, data).map_err(RecoverFailure::from)?;
    let lock = folder.lock().map_err(|error| match error {
        DataError::InUse(folder) => RecoverFailure::Held(folder),
        error => error.into(),
    })?;
    Ok(LockedFolder { environment, folder, options, _lock: lock })
}

/// Puts the frames in quarantine back, and returns the last position.
fn put_back(
    arguments: &RecoverArguments,
    global: &Global,
    data: &std::path::Path,
    keyring: Arc<bitacora_formats::Keyring>,
) -> Result<Position, CommandError> {
    let LockedFolder { environment, folder, options, _lock } = hold(arguments, global, data)?;
    let opened = Ledger::put_back(&environment, &folder.ledger(&global.ledger), keyring, options);
    let ledger = opened.map_err(RecoverFailure::from)?;
    ledger.close().map_err(RecoverFailure::from)?;
    Ok(ledger.head().position)
}

fn declare(
    arguments: &RecoverArguments,
    global: &Global,
    data: &std::path::Path,
    keyring: &Arc<bitacora_formats::Keyring>,
) -> Result<(DeclaredLoss, Option<MadeAgain>), CommandError> {
    let LockedFolder { environment, folder, options, _lock } = hold(arguments, global, data)?;
    let has_anchor = options.heads.as_ref().is_some_and(|heads| heads.anchor.is_some());
    let place = folder.ledger(&global.ledger);
    let damaged = DamagedLedger { environment: &environment, folder: &place, keyring };
    let objects = archives::store_at(global.archive_place(data));
    let archived = match arguments.without_archives {
        true => None,
        false => damaged.archived(&objects).map_err(RecoverFailure::from)?,
    };
    let declare = |options| Ledger::declare_loss(&environment, &place, Arc::clone(keyring), options);
    let (declared, again) = match declare(Options { archived, ..options.clone() }) {
        Err(OpenError::Archived { .. } | OpenError::Corrupt(_)) if archived.is_some() => {
            let again = damaged.make_again(&objects).map_err(RecoverFailure::from)?;
            (declare(options), Some(again))
        }
        declared => (declared, None),
    };
    let (ledger, loss) = declared.map_err(RecoverFailure::from)?;
    ledger.close().map_err(RecoverFailure::from)?;
    let heads = ledger.status().heads;
    if has_anchor && (heads.published == 0 || heads.unanchored_for.is_some()) {
        return Err(RecoverFailure::NotAnchored(loss.generation).into());
    }
    Ok((loss, again))
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

fn to_json(loss: &DeclaredLoss, again: Option<&MadeAgain>) -> serde_json::Value {
    let lost = loss.lost.as_ref();
    json!({
        "generation": loss.generation.0,
        "retained": loss.retained.position.to_string(),
        "lostSize": lost.map(|lost| lost.size.to_string()),
        "lostRoot": lost.and_then(|lost| lost.root).map(|root| root.to_string()),
        "lostEvents": loss.lost_events(),
        "restoredEvents": again.map(|again| again.events),
        "keptFolder": again.map(|again| again.kept.display().to_string()),
    })
}
