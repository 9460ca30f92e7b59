//! The return of acknowledged frames that the disk lost, from quarantine to their places in the log.
//!
//! A file counts where this ledger's keys sealed it, and where the log with its bytes passes three tests. It is whole, it is of the
//! generation that wrote them, and it goes on further than without them. The seal keeps files of others from costing anything. The chain
//! binds frames to their place: each is linked to the one before and signed by the segment's own key, which no one has any more. Every
//! segment behind goes on from there. A frame that others have taken the place of since is not of that log. The log is compared with what
//! others remember of the ledger before a byte is written.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::limits::MAX_SEGMENT_BYTES;
use bitacora_formats::{Decompressor, Keyring, Secret, SegmentEnd};

use crate::append::own_events::append_own;
use crate::append::service_events::ServiceEvent;
use crate::host::disk::{Disk, DiskFile, OpenMode, Patch, PatchedDisk};
use crate::host::environment::Environment;
use crate::log_fault::LogFault;
use crate::loss::LossPolicy;
use crate::open_error::OpenError;
use crate::options::Options;
use crate::replay::{Replay, ReplayedLog, TailState};
use crate::segments::quarantine::{self, UnwrittenFrames};
use crate::segments::{SEGMENTS, segment_file_name, segments_folder};
use crate::shared_state::SharedState;
use crate::signing::known_heads::{KnownHeads, refuse_other_name};

/// Files of quarantine that are looked at; a loss leaves one for each segment that was written since the head before.
const MAX_FILES: usize = 16;

/// Frames that would be put back: the log with them is whole.
struct PutBack {
    files: Vec<UnwrittenFrames>,
    patches: BTreeMap<PathBuf, Patch>,
    /// Positions that the log has with them, and not without.
    positions: Range<u64>,
    /// The ledger as it would be.
    environment: Environment,
    replayed: ReplayedLog,
}

impl PutBack {
    /// Looks for what continues a log that ends so; `None` where nothing in quarantine does.
    fn look(
        environment: &Environment,
        ledger: &Path,
        keyring: &Arc<Keyring>,
        replayed: &ReplayedLog,
    ) -> Result<Option<Self>, OpenError> {
        let disk = &environment.disk;
        let mut files = UnwrittenFrames::all(&**disk, ledger, replayed.keys.index_key()).map_err(looking)?;
        files.truncate(MAX_FILES);
        let mut found = None;
        let (mut taken, mut patches) = (Vec::new(), BTreeMap::new());
        let mut head = replayed.head.position;
        for frames in files {
            let path = segments_folder(ledger).join(&frames.segment);
            let mut tried = patches.clone();
            tried.insert(path, Patch { offset: frames.offset, bytes: Arc::new(frames.bytes.clone()) });
            let patched = PatchedDisk { disk: Arc::clone(disk), patches: tried.clone() };
            let environment = Environment { disk: Arc::new(patched), ..environment.clone() };
            let goes_on =
                |with: &ReplayedLog| with.head.position > head && with.generation == frames.generation;
            let Some(replayed) = replay(&environment, ledger, keyring)?.filter(goes_on) else { continue };
            head = replayed.head.position;
            taken.push(frames);
            patches = tried;
            found = Some((environment, replayed));
        }
        let positions = replayed.head.position.get() + 1..head.get() + 1;
        Ok(found.map(|(environment, replayed)| Self {
            files: taken,
            patches,
            positions,
            environment,
            replayed,
        }))
    }

    /// Returns the damage for which a ledger that lacks them takes no appends.
    fn fault(&self) -> LogFault {
        let first = self.files.first();
        let (segment, offset) = first.map_or_else(Default::default, |one| (one.segment.clone(), one.offset));
        let file = first.map(UnwrittenFrames::file_name).unwrap_or_default();
        let first_position = self.positions.start;
        LogFault {
            file: format!("{SEGMENTS}/{segment}"),
            offset,
            first_position,
            last_position: None,
            what: missing(&file),
        }
    }

    /// Compares the ledger, as it would be, with what others remember of it.
    fn compare(&mut self, ledger: &Path, keyring: &Keyring, options: &Options) -> Result<(), OpenError> {
        let (disk, replayed) = (&*self.environment.disk, &mut self.replayed);
        refuse_other_name(options.name.as_ref(), || replayed.name(disk, ledger, keyring))?;
        if let Some(heads) = &options.heads {
            let mut known_heads = KnownHeads::load(disk, ledger, keyring, heads, replayed)?;
            known_heads.refuse_rollback(&mut replayed.tail)?;
        }
        match &replayed.tail {
            TailState::Corrupt(fault) => Err(OpenError::Corrupt(fault.clone())),
            _ => Ok(()),
        }
    }

    /// Writes them to their places. Returned `Ok` ⇒ durable, and what stood there lies in quarantine. A crash before leaves the log
    /// with some of them, all or none, and the same files in quarantine: the next try does the same.
    ///
    /// Syscalls: those of [`quarantine::keep`]; `openat`, `pwrite64`, `ftruncate`, `fsync`, and `fsync` of the folder.
    fn write(&self, disk: &dyn Disk, ledger: &Path) -> io::Result<()> {
        for (path, Patch { offset, bytes }) in &self.patches {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let file = match disk.open(path, OpenMode::Write) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    disk.open(path, OpenMode::CreateNew)?
                }
                opened => opened?,
            };
            let there = load_from(&*file, *offset)?;
            let kept = there.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let kept = there.get(..kept).unwrap_or_default();
            if !kept.is_empty() && kept != bytes.as_slice() {
                quarantine::keep(disk, ledger, self.replayed.keys.index_key(), (&name, *offset), kept)?;
            }
            file.write_all_at(bytes, *offset)?;
            file.set_len(offset + bytes.len() as u64)?;
            file.sync_all()?;
        }
        disk.sync_folder(&segments_folder(ledger))
    }
}

/// Looks for frames that are to be put back. With [`LossPolicy::PutBack`] they are, and `replayed` is the log with them. Otherwise the ledger
/// is damaged where they belong: nothing is cut there, nothing takes their places, and no loss is declared.
pub(crate) fn face(
    environment: &Environment,
    ledger: &Path,
    keyring: &Arc<Keyring>,
    options: &Options,
    replayed: &mut ReplayedLog,
    loss_policy: LossPolicy,
) -> Result<(), OpenError> {
    let in_step = |source| OpenError::Disk { what: "putting frames back".to_owned(), source };
    let disk = &*environment.disk;
    match (PutBack::look(environment, ledger, keyring, replayed)?, loss_policy) {
        (Some(mut found), LossPolicy::PutBack) => {
            found.compare(ledger, keyring, options)?;
            found.write(disk, ledger).map_err(in_step)?;
            let decompressor = Decompressor::new().map_err(io::Error::other).map_err(in_step)?;
            *replayed = Replay::new(environment, ledger, keyring, decompressor).run()?;
        }
        (Some(found), LossPolicy::Refuse) => replayed.tail = TailState::Corrupt(found.fault()),
        (Some(found), LossPolicy::Declare) => {
            let Range { start, end } = found.positions;
            return Err(OpenError::ToPutBack { first: start, last: end - 1 });
        }
        (None, LossPolicy::PutBack) => {
            // A crash may have come before the log said that all are back.
            let (back, others) = split(disk, ledger, replayed.keys.index_key()).map_err(in_step)?;
            if back.is_empty() || !others.is_empty() {
                return Err(OpenError::NothingToPutBack);
            }
        }
        (None, _) => {}
    }
    Ok(())
}

/// Has the log of an open ledger say which frames were put back. Files of others, which are none of this log, are named so.
pub(crate) fn record(shared: &SharedState) {
    let (disk, ledger) = (&*shared.environment.disk, &*shared.folder);
    let key = shared.write.preparer.keys().index_key();
    let recorded = split(disk, ledger, key).and_then(|(back, others)| {
        for frames in &back {
            append_own(shared, &ServiceEvent::FramesPutBack(frames)).map_err(io::Error::other)?;
            frames.mark_put_back(disk, ledger)?;
        }
        others.iter().try_for_each(|frames| frames.mark_superseded(disk, ledger))
    });
    if let Err(error) = recorded {
        tracing::warn!(%error, "frames that were put back could not be recorded; the next opening does it");
    }
}

/// Returns why a log that ends so lacks frames that lie in quarantine, as far as that is seen without reading all of it.
pub(crate) fn missing_behind(
    disk: &dyn Disk,
    ledger: &Path,
    key: &Secret,
    (end, offset): (&SegmentEnd, u64),
) -> io::Result<Option<LogFault>> {
    let (_, others) = split(disk, ledger, key)?;
    let last = segment_file_name(end.number);
    let is_behind = |frames: &&UnwrittenFrames| {
        let through = frames.offset + frames.bytes.len() as u64;
        frames.segment > last || frames.segment == last && through > offset
    };
    Ok(others.iter().find(is_behind).map(|frames| LogFault {
        file: format!("{SEGMENTS}/{}", frames.segment),
        offset: frames.offset,
        first_position: end.next_position.get(),
        last_position: None,
        what: missing(&frames.file_name()),
    }))
}

fn missing(file: &str) -> String {
    format!(
        "events were acknowledged and are not on the disk; they lie in quarantine/{file}: put them back with `bitacora recover --put-back`"
    )
}

/// Files of quarantine whose bytes stand in their places, and the others.
fn split(
    disk: &dyn Disk,
    ledger: &Path,
    key: &Secret,
) -> io::Result<(Vec<UnwrittenFrames>, Vec<UnwrittenFrames>)> {
    let is_back = |frames: &UnwrittenFrames| {
        let read = disk.open(&segments_folder(ledger).join(&frames.segment), OpenMode::Read);
        let there = read.and_then(|file| load_from(&*file, frames.offset)).unwrap_or_default();
        // To its last byte: a part of what stands there was never missing.
        let rest = there.strip_prefix(frames.bytes.as_slice());
        rest.is_some_and(|rest| rest.iter().all(|byte| *byte == 0))
    };
    let files = UnwrittenFrames::all(disk, ledger, key)?.into_iter();
    Ok(files.filter(|frames| !frames.bytes.is_empty()).partition(is_back))
}

/// The log as it is read, if it is whole.
fn replay(
    environment: &Environment,
    ledger: &Path,
    keyring: &Arc<Keyring>,
) -> Result<Option<ReplayedLog>, OpenError> {
    let decompressor = Decompressor::new().map_err(io::Error::other).map_err(looking)?;
    match Replay::new(environment, ledger, keyring, decompressor).of_trial().run() {
        Ok(replayed) if replayed.tail.is_corrupt() => Ok(None),
        Ok(replayed) => Ok(Some(replayed)),
        // Not a log that goes on, or none of this ledger's.
        Err(OpenError::Corrupt(_) | OpenError::Keyring { .. } | OpenError::Missing(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn looking(source: io::Error) -> OpenError {
    OpenError::Disk { what: "looking through the quarantine".to_owned(), source }
}

fn load_from(file: &dyn DiskFile, offset: u64) -> io::Result<Vec<u8>> {
    let rest = file.len()?.saturating_sub(offset);
    let mut bytes = vec![0; usize::try_from(rest).unwrap_or(usize::MAX).min(MAX_SEGMENT_BYTES)];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}
