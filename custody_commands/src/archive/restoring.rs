//! `archive restore`: a ledger restored from its archives.

use std::path::PathBuf;
use std::sync::Arc;

use bitacora_archiver::{
    ArchiveProgress, RestoreReport, RestoreScope, UnusedArchive, archived_ledgers, restore as restore_ledger,
};
use bitacora_data_folder::archive_store;
use bitacora_formats::LedgerId;
use bitacora_ledger::Environment;
use bitacora_server::DataFolder;
use clap::Args;
use serde_json::{Value, json};

use super::{ArchiveFailure, interruptible};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::access::AccessError;
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use crate::terminal::passphrase::keyring_file;

#[derive(Debug, Args)]
pub(super) struct RestoreArguments {
    /// The data folder to restore into, under the name of --ledger; created if it is missing.
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
    /// The ledger's id, where the store has archives of several ledgers.
    #[arg(long, value_name = "ID")]
    id: Option<LedgerId>,
    /// Restore up to the first missing or damaged archive, instead of refusing.
    #[arg(long)]
    as_far_as_possible: bool,
}

pub(super) fn restore(
    arguments: &RestoreArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let keyring = keyring_file(&global.keyring()?, Some(&arguments.to)).load()?.keyring;
    // Beside the ledgers of the folder that is lost, or of the new one, unless it is said.
    let place = global.archive_place(global.data.as_deref().unwrap_or(&arguments.to));
    let objects = archive_store(place);
    let id = match arguments.id {
        Some(id) => id,
        None => match archived_ledgers(&*objects).map_err(ArchiveFailure::from)?.as_slice() {
            [id] => *id,
            [] => return Err(ArchiveFailure::NoArchives { store: objects.shown("") }.into()),
            several => {
                let (store, found) = (objects.shown(""), several.len());
                return Err(ArchiveFailure::WhichLedger { store, found }.into());
            }
        },
    };
    let environment = Environment::real();
    let folder = DataFolder::open_or_begin(&environment, &arguments.to).map_err(AccessError::from)?;
    let path = folder.ledger(&global.ledger);
    let progress = Arc::new(ArchiveProgress::default());
    let told = Arc::clone(&progress);
    let reach =
        if arguments.as_far_as_possible { RestoreScope::AsFarAsPossible } else { RestoreScope::Whole };
    let restored = interruptible(&progress, move || {
        Ok(restore_ledger(&environment, &objects, (id, reach), &keyring, &path, &told)?)
    })?;
    let RestoreReport { events, root, archives, left_out, unused } = restored;
    if global.json {
        output.json(&json!({
            "ledger": id.to_string(),
            "events": events,
            "root": root.to_string(),
            "archives": archives,
            "leftOut": left_out,
            "notUsed": unused.iter().map(unused_json).collect::<Value>(),
        }))?;
    } else {
        output.line(format_args!("restored {events} events of {archives} archives; tree root {root}"))?;
        if left_out > 0 {
            output.line(format_args!("left out {left_out} events of a frame whose rest is not archived"))?;
        }
        for UnusedArchive { name, range, why } in &unused {
            let (name, why) = (printable(name), printable(&why.to_string()));
            output.line(format_args!("not used {name}, positions {range}: {why}"))?;
        }
    }
    Ok(Exit::Done)
}

fn unused_json(UnusedArchive { name, range, why }: &UnusedArchive) -> Value {
    let (first, last) = (range.first().to_string(), range.last().to_string());
    json!({"name": name, "first": first, "last": last, "code": why.code(), "why": why.to_string()})
}
