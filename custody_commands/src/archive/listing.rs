//! `archive list` and `archive show`: archives and their manifests.

use bitacora_archive_format::{Manifest, SignedManifest};
use bitacora_archiver::{ArchiveStoreError, KnownArchive, KnownArchives, ManifestFolderError, ManifestHome};
use bitacora_formats::{Position, format_time};
use clap::Args;
use serde_json::{Map, Value, json};

use super::{ArchiveFailure, ArchivedLedger, OpenedLedger, name_of};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use crate::terminal::table::{Cell, TextTable, cells};

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
    let KnownArchives { archives: kept, lost } = place.known.kept()?;
    let found: Vec<Presence> = kept.iter().map(|one| presence(&place.known, &one.manifest)).collect();
    let is_whole = lost.is_empty() && found.iter().all(|presence| matches!(presence, Presence::Bytes(_)));
    if global.json {
        let archives = kept.iter().zip(&found).map(|(one, presence)| line_json(one, presence));
        let lost = lost.iter().map(lost_json);
        output.json(&json!({"archives": archives.collect::<Value>(), "lost": lost.collect::<Value>()}))?;
    } else {
        let mut table = TextTable::new(&["first", "last", "events", "from", "to", "in the store"]);
        for (one, presence) in kept.iter().zip(&found) {
            let Manifest { range, times, .. } = one.manifest.manifest();
            let [from, to] = [times.0, times.1].map(|time| Cell::time(&format_time(time)));
            let [first, last] = [range.first(), range.last()].map(|position| Cell::id(position.to_string()));
            let stored = match presence {
                Presence::Bytes(bytes) => format!("{bytes} bytes"),
                Presence::Missing => "missing".to_owned(),
                Presence::Unknown(said) => said.clone(),
            } + said_of(one.home);
            table.add(cells![first, last, range.events(), from, to, stored]);
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
pub(super) fn lost_json(lost: &ManifestFolderError) -> Value {
    let why = lost.to_string();
    match lost {
        ManifestFolderError::Lost { first, last, .. } => {
            json!({"first": first.to_string(), "last": last.to_string(), "why": why})
        }
        _ => json!({"why": why}),
    }
}

fn line_json(one: &KnownArchive, presence: &Presence) -> Value {
    let home = match one.home {
        ManifestHome::Kept => "kept",
        ManifestHome::PutBack => "put-back",
        ManifestHome::Archive => "archive",
    };
    let (member, found) = match presence {
        Presence::Bytes(bytes) => ("bytes", json!(bytes)),
        Presence::Missing => ("missing", json!(true)),
        Presence::Unknown(said) => ("unknown", json!(said)),
    };
    let own = json!({"name": name_of(&one.manifest), "manifest": home, member: found});
    with_members(brief(one.manifest.manifest()), own)
}

fn brief(manifest: &Manifest) -> Value {
    let Manifest { range, times, made, .. } = manifest;
    json!({
        "first": range.first().to_string(),
        "last": range.last().to_string(),
        "events": range.events(),
        "from": format_time(times.0),
        "to": format_time(times.1),
        "made": format_time(*made),
        "generation": manifest.origin.generation.0,
    })
}

/// Adds the members of an object to another; those that are `null` are left out.
fn with_members(mut object: Value, more: Value) -> Value {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
    }
    object
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
        output.json(&whole(one))?;
    } else {
        for line in one.note().to_string().lines() {
            output.line(line)?;
        }
    }
    Ok(Exit::Done)
}

fn whole(one: &SignedManifest) -> Value {
    let manifest = one.manifest();
    let kinds = manifest.kinds.iter().map(|(kind, count)| (kind.to_string(), json!(count)));
    let own = json!({
        "name": name_of(one),
        "contentBytes": manifest.content_bytes,
        "reactor": manifest.reactor,
        "types": kinds.collect::<Map<_, _>>(),
        "segments": manifest.segments.len(),
        "rootAfter": manifest.root_after.to_string(),
        "treeHeadSize": one.tree_head().map(|head| head.head().size),
        "statePosition": manifest.state.map(|state| state.position.get()),
        "parts": manifest.table.parts,
        "note": one.note().to_string(),
    });
    with_members(brief(manifest), own)
}
