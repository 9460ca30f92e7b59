//! Making a ledger: in a temporary folder, with position 1 in it, then put in place by one rename.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::{
    BodyWriter, Compressor, Epoch, FramePlan, Frontier, Generation, Keyring, LeafEntry, LeavesHeader,
    LedgerId, LedgerKeys, LedgerName, Position, SegmentNumber, SegmentPlan, StreamVersion, genesis_tip,
    leaf_hash, seal_segment_header,
};

use crate::append::service_events::ServiceEvent;
use crate::heads::anchor::AnchorError;
use crate::host::disk::{Disk, OpenMode};
use crate::host::environment::Environment;
use crate::opening::signing_keys;
use crate::options::{HeadOptions, Options, OptionsError};
use crate::segments::{segment_file_name, segments_folder};
use crate::subjects::Subjects;
use crate::submission::prepare::Preparer;
use crate::tree::leaves::{self, TREE};

/// The name of the lock file in a ledger's folder.
pub(crate) const LOCK: &str = "lock";

/// The prefix of the folder in which a ledger is being made. No ledger's name can begin so.
const UNFINISHED: &str = ".new-";

/// The reasons for which a ledger cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There is one already.
    #[error("{0} exists already; nothing was changed")]
    Exists(String),
    /// The anchor remembers a ledger of this name.
    #[error(
        "a ledger of this name is remembered ({0}); bring that one back, or give this one another name or an anchor of its own"
    )]
    KnownToAnchor(String),
    /// The anchor does not answer.
    #[error("{0}; the ledger was not made")]
    Anchor(#[from] AnchorError),
    /// The options do not fit each other.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The disk gave an error; what was begun was not put in place.
    #[error("{what}: {source}; the ledger was not made")]
    Disk {
        /// The step that failed.
        what: String,
        /// The disk's error.
        source: io::Error,
    },
    /// The first segment could not be sealed.
    #[error("the first segment could not be sealed: {0}; the ledger was not made")]
    Seal(String),
}

/// Returned `Ok` ⇒ the ledger stands under its name, with position 1 durable. A crash before leaves at most a folder whose
/// name begins with `.new-`, which the next creation of the same name removes.
pub(crate) fn create(
    environment: &Environment,
    folder: &Path,
    name: &LedgerName,
    keyring: &Keyring,
    options: &Options,
) -> Result<LedgerId, CreateError> {
    options.check()?;
    let disk = &*environment.disk;
    let parent = folder.parent().unwrap_or(Path::new("."));
    let unfinished = unfinished_folder(folder, name);
    let mut id = [0; 16];
    let in_step = |what: &str| {
        let what = what.to_owned();
        move |source: io::Error| CreateError::Disk { what, source }
    };
    environment.entropy.fill(&mut id).map_err(in_step("drawing the ledger's id"))?;
    let id = LedgerId(id);

    if disk.exists(folder).map_err(in_step("looking for the folder"))? {
        return Err(CreateError::Exists(folder.display().to_string()));
    }
    refuse_anchored_name(name, options)?;
    remove_unfinished(disk, &unfinished).map_err(in_step("removing what an earlier attempt left"))?;
    make_folders(disk, &unfinished).map_err(in_step("making the folders"))?;
    let FirstSegment { segment, leaves } =
        first_segment(environment, &unfinished, id, name, keyring, options)?;
    let file = segments_folder(&unfinished).join(segment_file_name(SegmentNumber::FIRST));
    write_durably(disk, &file, &segment).map_err(in_step("writing the first segment"))?;
    leaves::create(disk, &unfinished, SegmentNumber::FIRST, &leaves).map_err(in_step("writing its leaf"))?;
    signing_keys::write_note(disk, &unfinished, keyring)
        .map_err(in_step("writing the signing keys' note"))?;
    disk.sync_folder(&segments_folder(&unfinished)).map_err(in_step("syncing the segments' folder"))?;
    disk.sync_folder(&unfinished).map_err(in_step("syncing the folder"))?;
    disk.rename(&unfinished, folder).map_err(in_step("putting the ledger in place"))?;
    disk.sync_folder(parent).map_err(in_step("syncing the parent folder"))?;
    Ok(id)
}

/// Returns the folder in which the ledger of this name is made, before it moves to `folder`.
pub(crate) fn unfinished_folder(folder: &Path, name: &LedgerName) -> PathBuf {
    folder.parent().unwrap_or(Path::new(".")).join(format!("{UNFINISHED}{name}"))
}

/// A new ledger under the name of one that the anchor knows would not open.
fn refuse_anchored_name(name: &LedgerName, options: &Options) -> Result<(), CreateError> {
    let Some(HeadOptions { anchor: Some(anchor), anchor_required, .. }) = &options.heads else {
        return Ok(());
    };
    match anchor.load(name) {
        Ok(None) => Ok(()),
        Ok(Some(note)) => Err(CreateError::KnownToAnchor(note.lines().next().unwrap_or_default().to_owned())),
        Err(error) if error.is_damage() => Err(CreateError::KnownToAnchor(error.to_string())),
        Err(error) if *anchor_required => Err(error.into()),
        Err(error) => {
            tracing::error!(%error, "the ledger is made without asking its anchor");
            Ok(())
        }
    }
}

pub(crate) fn make_folders(disk: &dyn Disk, ledger: &Path) -> io::Result<()> {
    disk.create_folder(ledger)?;
    // Made now, so that opening never needs space for it.
    drop(disk.lock(&ledger.join(LOCK))?);
    for inner in ["segments", "quarantine", "subjects", "index", TREE] {
        disk.create_folder(&ledger.join(inner))?;
    }
    Ok(())
}

pub(crate) fn remove_unfinished(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
    if !disk.exists(folder)? {
        return Ok(());
    }
    for entry in disk.list(folder)? {
        let path = folder.join(&entry.name);
        if entry.is_folder {
            remove_unfinished(disk, &path)?;
        } else {
            disk.remove_file(&path)?;
        }
    }
    disk.remove_folder(folder)
}

pub(crate) fn write_durably(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = disk.open(path, OpenMode::CreateNew)?;
    file.write_all_at(bytes, 0)?;
    file.sync_all()
}

/// The first segment, and the leaf beside it.
struct FirstSegment {
    segment: Vec<u8>,
    leaves: Vec<u8>,
}

/// A whole segment: its header, one frame with `ledger.created`, its footer.
fn first_segment(
    environment: &Environment,
    ledger: &Path,
    id: LedgerId,
    name: &LedgerName,
    keyring: &Keyring,
    options: &Options,
) -> Result<FirstSegment, CreateError> {
    let seal = |error: &dyn std::fmt::Display| CreateError::Seal(error.to_string());
    let keys = LedgerKeys::new(keyring, id);
    let subjects = Subjects::of_ledger(environment.clone(), ledger, &keys);
    let preparer =
        Preparer::new(id, keys, subjects, options.request_bytes, None, Arc::clone(&environment.entropy));
    let signer = keyring.signing();
    let created = ServiceEvent::Created {
        name: name.as_str(),
        generation: Generation::FIRST,
        signing_key: &signer.public,
        segment_bytes: options.segment_bytes,
        request_bytes: options.request_bytes,
        reactor: options.governing.version(),
    };
    let request = created.prepare(&preparer, id, Position::FIRST).map_err(|error| seal(&error))?;
    let event = request.events.first().ok_or_else(|| seal(&"no first event"))?;

    let time = environment.clock.now();
    let mut frontier = Frontier::new();
    let plan = SegmentPlan {
        ledger: id,
        generation: Generation::FIRST,
        epoch: Epoch::FIRST,
        number: SegmentNumber::FIRST,
        first_position: Position::FIRST,
        created: time,
        frontier: &frontier,
        tip: genesis_tip(),
    };
    let mut bytes = Vec::new();
    let mut entropy_error = None;
    let mut random =
        |into: &mut [u8]| entropy_error = entropy_error.take().or(environment.entropy.fill(into).err());
    let mut sealer =
        seal_segment_header(plan, keyring, &mut random, &mut bytes).map_err(|error| seal(&error))?;
    if let Some(error) = entropy_error {
        return Err(seal(&error));
    }

    let mut body = BodyWriter::new();
    let write = |body: &mut BodyWriter| {
        body.begin_request(1)?;
        body.entry(StreamVersion::FIRST, request.record(event), request.part(event))?;
        body.end_request()
    };
    write(&mut body).map_err(|error| seal(&error))?;
    let body = body.finish().map_err(|error| seal(&error))?;
    let body_bytes = u32::try_from(body.len()).map_err(|error| seal(&error))?;
    let mut compressor = Compressor::new(options.compression_level).map_err(|error| seal(&error))?;
    let (codec, compressed) = compressor.compress(&body);
    frontier.push(leaf_hash(Position::FIRST, time, &event.commitment));
    let plan = FramePlan {
        first: Position::FIRST,
        count: 1,
        time,
        tree_size: frontier.size(),
        tree_root: frontier.root(),
    };
    sealer.seal(plan, codec, compressed, body_bytes, &mut bytes).map_err(|error| seal(&error))?;
    sealer.footer(&mut bytes).map_err(|error| seal(&error))?;
    let header = LeavesHeader { ledger: id, segment: SegmentNumber::FIRST, first_position: Position::FIRST };
    let mut leaves = header.encode().to_vec();
    LeafEntry { time, commitment: event.commitment }.encode(&mut leaves);
    Ok(FirstSegment { segment: bytes, leaves })
}
