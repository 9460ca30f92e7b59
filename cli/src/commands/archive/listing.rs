//! `archive list` and `archive show`: archives and their manifests.

use bitacora_archive_format::{Manifest, SignedManifest};
use bitacora_archiver::{ArchiveStoreError, KeptArchive, KeptArchives, KeptError, ManifestHome};
use bitacora_formats::{Micros, Position, format_time};
use clap::Args;

use super::{ArchiveFailure, ArchivedLedger, OpenedLedger, name_of};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use crate::terminal::table::{TextTable, to_the_second};
use bitacora_import::{JsonObject, json_array};

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// A position that the archive holds.
    #[arg(value_name = "POSITION")]
    position: Position,
}

/// The presence of an archive in the store.
enum Presence {
    Bytes(u64),
    Missing,
    Unknown(String),
}

pub(super) fn list(global: &Global, output: &mut Output) -> Result<Exit, CommandError> {
    let place = OpenedLedger::for_reading(global)?;
    let KeptArchives { archives: kept, lost } = place.known.kept()?;
    let found: Vec<Presence> = kept.iter().map(|one| presence(&place.known, &one.manifest)).collect();
    let is_whole = lost.is_empty() && found.iter().all(|presence| matches!(presence, Presence::Bytes(_)));
    if global.json {
        let archives = kept.iter().zip(&found).map(|(one, presence)| line_json(one, presence));
        let object = JsonObject::new().raw("archives", json_array(archives));
        output.json_text(&object.raw("lost", json_array(lost.iter().map(lost_json))).end())?;
    } else {
        let mut table = TextTable::new(&["first", "last", "events", "from", "to", "in the store"]);
        for (one, presence) in kept.iter().zip(&found) {
            let Manifest { range, times, .. } = one.manifest.manifest();
            let (from, to) = (shown_time(times.0), shown_time(times.1));
            let (first, last, events) = (range.first(), range.last(), range.events());
            let stored = match presence {
                Presence::Bytes(bytes) => format!("{bytes} bytes"),
                Presence::Missing => "missing".to_owned(),
                Presence::Unknown(said) => said.clone(),
            } + said_of(one.home);
            table.row(&[&first.to_string(), &last.to_string(), &events.to_string(), &from, &to, &stored]);
        }
        table.write("nothing is archived", output)?;
        for one in &lost {
            output.line(printable(&one.to_string()))?;
        }
    }
    Ok(if is_whole { Exit::Done } else { Exit::Incomplete })
}

fn presence(known: &ArchivedLedger, one: &SignedManifest) -> Presence {
    match known.objects.version(&name_of(one)) {
        Ok(version) => Presence::Bytes(version.bytes),
        Err(ArchiveStoreError::Missing { .. }) => Presence::Missing,
        Err(error) => Presence::Unknown(error.to_string()),
    }
}

/// Returns a remark on a manifest that is not the kept one.
fn said_of(home: ManifestHome) -> &'static str {
    match home {
        ManifestHome::Kept => "",
        ManifestHome::PutBack => "; its manifest was damaged, and is back",
        ManifestHome::Archive => "; its manifest here is lost, and was read there",
    }
}

/// Returns a lost archive, which no store brings back, as JSON.
pub(super) fn lost_json(lost: &KeptError) -> String {
    let object = JsonObject::new();
    let object = match lost {
        KeptError::Lost { first, last, .. } => {
            object.text("first", &first.to_string()).text("last", &last.to_string())
        }
        _ => object,
    };
    object.text("why", &lost.to_string()).end()
}

fn line_json(one: &KeptArchive, presence: &Presence) -> String {
    let home = match one.home {
        ManifestHome::Kept => "kept",
        ManifestHome::PutBack => "put-back",
        ManifestHome::Archive => "archive",
    };
    let manifest = one.manifest.manifest();
    let object = brief(manifest).text("name", &name_of(&one.manifest)).text("manifest", home);
    match presence {
        Presence::Bytes(bytes) => object.raw("bytes", bytes),
        Presence::Missing => object.raw("missing", true),
        Presence::Unknown(said) => object.text("unknown", said),
    }
    .end()
}

fn brief(manifest: &Manifest) -> JsonObject {
    let Manifest { range, times, made, .. } = manifest;
    JsonObject::new()
        .text("first", &range.first().to_string())
        .text("last", &range.last().to_string())
        .raw("events", range.events())
        .text("from", &format_time(times.0))
        .text("to", &format_time(times.1))
        .text("made", &format_time(*made))
        .raw("generation", manifest.origin.generation)
}

fn shown_time(time: Micros) -> String {
    to_the_second(&format_time(time))
}

pub(super) fn show(
    arguments: &ShowArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let place = OpenedLedger::for_reading(global)?;
    let (kept, _) = place.known.kept_at(&[arguments.position])?;
    let one = kept.first().ok_or(ArchiveFailure::NotArchived(arguments.position))?;
    if global.json {
        output.json_text(&whole(one))?;
    } else {
        for line in one.note().to_string().lines() {
            output.line(line)?;
        }
    }
    Ok(Exit::Done)
}

fn whole(one: &SignedManifest) -> String {
    let manifest = one.manifest();
    let kinds =
        manifest.kinds.iter().fold(JsonObject::new(), |object, (kind, count)| object.raw(kind, count));
    brief(manifest)
        .text("name", &name_of(one))
        .raw("contentBytes", manifest.content_bytes)
        .raw("reactor", manifest.reactor)
        .raw("types", kinds.end())
        .raw("segments", manifest.segments.len())
        .text("rootAfter", &manifest.root_after.to_string())
        .maybe_raw("treeHeadSize", one.tree_head().map(|head| head.head().size))
        .maybe_raw("statePosition", manifest.state.map(|state| state.position))
        .raw("parts", manifest.table.parts)
        .text("note", &one.note().to_string())
        .end()
}
