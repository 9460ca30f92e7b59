//! `archive verify` and `archive fetch`: checks of archives in their store, and copies of them.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_archive_format::Rows;
use bitacora_archive_format::{ArchivedState, SignedManifest};
use bitacora_archiver::{ArchivePace, ArchiveProgress, ArchiverError, StoredArchive, Verification};
use bitacora_formats::{Keyring, LedgerId, LedgerKeys, Position, decode_record};
use bitacora_governance::{REACTOR_VERSION, ReactorState as _, State};
use clap::Args;
use serde_json::{Value, json};

use super::listing::lost_json;
use super::{ArchiveFailure, ArchivedLedger, OpenedLedger, interruptible};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::durable_file::folder_of;
use crate::files::new_file::{self, NewFileError};
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use bitacora_verify::{FaultKind, FoundParts, PartCounts, SubjectKeyStore};

/// The number of bytes that are fetched at once.
const PIECE_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, Args)]
pub(super) struct VerifyArguments {
    /// Only archives that hold these positions. [default: all]
    #[arg(value_name = "POSITION")]
    positions: Vec<Position>,
    /// Open every part too, with the keyring: events, counts, the state that decides, and data of subjects whose keys remain.
    #[arg(long)]
    with_keys: bool,
}

#[derive(Debug, Args)]
pub(super) struct FetchArguments {
    /// A position that the archive holds.
    #[arg(value_name = "POSITION")]
    position: Position,
    /// The file to write, which must not exist.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

/// The result of checking one archive.
struct ArchiveCheck {
    manifest: SignedManifest,
    bytes: u64,
    wrong: Option<Wrong>,
    /// The parts of its events that are sealed for data subjects.
    parts: FoundParts,
    state: FoundState,
}

/// The result of checking the state that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FoundState {
    /// There is no state, or it was not checked.
    None,
    /// The state is of this program's version of the rules.
    Decoded(Position),
    /// The state is of another version of the rules, which this program cannot read.
    Other { version: u32 },
}

/// The reason why an archive is not whole, or not known to be.
#[derive(Debug, thiserror::Error)]
enum Wrong {
    #[error(transparent)]
    Archive(#[from] ArchiverError),
    #[error("{object}: the event at position {position}: {kind}")]
    Event { object: String, position: Position, kind: Box<FaultKind> },
    #[error(
        "{object}: the state after position {position} is none of version {REACTOR_VERSION} of the rules: {what}"
    )]
    State { object: String, position: Position, what: String },
}

pub(super) fn verify(
    arguments: &VerifyArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    // Without keys there is nobody's word for who signs but the folder's own.
    let is_alone = !arguments.with_keys && !global.has_keyring();
    let (known, keys) = if is_alone {
        (ArchivedLedger::without_keys(global)?, None)
    } else {
        let OpenedLedger { known, keyring, ledger, .. } = OpenedLedger::for_reading(global)?;
        (known, arguments.with_keys.then(|| (keyring, ledger.id())))
    };
    let (kept, lost) = known.kept_at(&arguments.positions)?;
    let progress = Arc::new(ArchiveProgress::default());
    let told = Arc::clone(&progress);
    let checked = interruptible(&progress, move || {
        let checked: Vec<ArchiveCheck> =
            kept.into_iter().map(|one| check(&known, one, keys.as_ref(), &told)).collect();
        if told.is_stopped() { Err(ArchiverError::Stopped.into()) } else { Ok(checked) }
    })?;
    let how = match (arguments.with_keys, is_alone) {
        (true, _) => "every event",
        (false, false) => "every byte, without keys",
        (false, true) => "every byte, without keys, as signed under signing-keys.note",
    };
    if global.json {
        let (archives, lost) = (checked.iter().map(ArchiveCheck::to_json), lost.iter().map(lost_json));
        output.json(&json!({"archives": archives.collect::<Value>(), "lost": lost.collect::<Value>()}))?;
    } else if checked.is_empty() && lost.is_empty() {
        output.line("nothing is archived")?;
    } else {
        for one in &checked {
            output.line(one.line(how))?;
        }
        for one in &lost {
            output.line(printable(&one.to_string()))?;
        }
    }
    let incomplete = lost.first().map(|_| Exit::Incomplete);
    Ok(checked
        .iter()
        .filter_map(ArchiveCheck::exit)
        .chain(incomplete)
        .max_by_key(|exit| exit == &Exit::Invalid)
        .unwrap_or(if is_alone && !checked.is_empty() { Exit::Alone } else { Exit::Done }))
}

fn check(
    known: &ArchivedLedger,
    manifest: SignedManifest,
    keys: Option<&(Arc<Keyring>, LedgerId)>,
    progress: &ArchiveProgress,
) -> ArchiveCheck {
    let (mut bytes, mut parts, mut state) = (0, FoundParts::default(), FoundState::None);
    let mut look = || -> Result<(), Wrong> {
        let stored = known.open(&manifest).map_err(ArchiverError::from)?;
        bytes = stored.bytes();
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let verification = Verification::new(&stored, ArchivePace::Full { threads }, progress);
        let Some((keyring, ledger)) = keys else {
            return Ok(verification.without_keys()?);
        };
        let subjects = SubjectKeyStore::new(&known.folder, *ledger, &LedgerKeys::new(keyring, *ledger));
        let held = verification.contents(keyring, |first, rows| {
            check_parts(&subjects, first, rows, &mut parts).map_err(|(position, kind)| Wrong::Event {
                object: stored.shown(),
                position,
                kind: Box::new(kind),
            })
        })?;
        if let Some(held) = held {
            state = decoded(manifest.manifest().reactor, &held).map_err(|what| {
                let (object, position) = (stored.shown(), held.position);
                Wrong::State { object, position, what }
            })?;
        }
        Ok(())
    };
    let wrong = look().err();
    ArchiveCheck { manifest, bytes, wrong, parts, state }
}

/// Reads the state that an archive holds, written by this version of the rules.
fn decoded(version: u32, held: &ArchivedState) -> Result<FoundState, String> {
    if version != REACTOR_VERSION {
        return Ok(FoundState::Other { version });
    }
    State::default().restore(held.position, &held.bytes)?;
    Ok(FoundState::Decoded(held.position))
}

/// Opens the parts that are sealed for data subjects, from a position on.
fn check_parts(
    subjects: &SubjectKeyStore,
    first: Position,
    rows: &Rows,
    found: &mut FoundParts,
) -> Result<(), (Position, FaultKind)> {
    let positions = (0..).map_while(|distance| first.plus(distance));
    for (position, row) in positions.zip(rows.iter()) {
        let record = decode_record(row.record).map_err(|error| (position, FaultKind::Record(error)))?;
        subjects.check(position, &record, row.part, found).map_err(|kind| (position, kind))?;
    }
    Ok(())
}

impl ArchiveCheck {
    fn exit(&self) -> Option<Exit> {
        match &self.wrong {
            Some(Wrong::Archive(ArchiverError::Stored(error))) if !error.is_damage() => {
                Some(Exit::Incomplete)
            }
            Some(_) => Some(Exit::Invalid),
            // A key that is gone is that of a subject who was erased, or lies elsewhere; one that is there has to open.
            None => self.parts.gap.as_ref().map(|_| Exit::Incomplete),
        }
    }

    fn line(&self, how: &str) -> String {
        let range = self.manifest.manifest().range;
        if let Some(wrong) = &self.wrong {
            return format!("positions {range}: {}", printable(&wrong.to_string()));
        }
        let mut line = format!("positions {range}: {} bytes, whole ({how})", self.bytes);
        let PartCounts { opened, without_key } = self.parts.counts;
        if opened > 0 {
            line += &format!("; {opened} sealed parts opened");
        }
        if without_key > 0 {
            line +=
                &format!("; {without_key} sealed parts not: their subjects' keys are erased or elsewhere");
        }
        if let FoundState::Other { version } = self.state {
            line += &format!("; the state is by version {version} of the rules, and was not read");
        }
        if let Some(gap) = &self.parts.gap {
            line += &format!("; {}", printable(&gap.to_string()));
        }
        line
    }

    fn to_json(&self) -> Value {
        let range = self.manifest.manifest().range;
        let (first, last) = (range.first().to_string(), range.last().to_string());
        let gap = self.parts.gap.as_ref().map(ToString::to_string);
        let wrong = self.wrong.as_ref().map(ToString::to_string);
        let (state, version) = match self.state {
            FoundState::None => (None, None),
            FoundState::Decoded(position) => (Some(position.to_string()), None),
            FoundState::Other { version } => (None, Some(version)),
        };
        let members = [
            ("first", Some(json!(first))),
            ("last", Some(json!(last))),
            ("whole", Some(json!(wrong.is_none()))),
            ("bytes", Some(json!(self.bytes))),
            ("partsOpened", Some(json!(self.parts.counts.opened))),
            ("partsWithoutKey", Some(json!(self.parts.counts.without_key))),
            ("statePosition", state.map(|state| json!(state))),
            ("stateVersionNotRead", version.map(|version| json!(version))),
            ("error", wrong.or(gap).map(|error| json!(error))),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

pub(super) fn fetch(
    arguments: &FetchArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    new_file::refuse_existing(&arguments.to).map_err(ArchiveFailure::from)?;
    let OpenedLedger { known, .. } = OpenedLedger::for_reading(global)?;
    let (kept, _) = known.kept_at(&[arguments.position])?;
    let kept = kept.into_iter().next().ok_or(ArchiveFailure::NotArchived(arguments.position))?;
    let (range, path) = (kept.manifest().range, arguments.to.clone());
    let progress = Arc::new(ArchiveProgress::default());
    let told = Arc::clone(&progress);
    let bytes = interruptible(&progress, move || {
        let stored = known.open(&kept)?;
        Verification::new(&stored, ArchivePace::Full { threads: 1 }, &told).without_keys()?;
        write(&stored, &path)?;
        Ok(stored.bytes())
    })?;
    if global.json {
        let (first, last) = (range.first().to_string(), range.last().to_string());
        let file = arguments.to.display().to_string();
        output.json(&json!({"first": first, "last": last, "bytes": bytes, "file": file}))?;
    } else {
        let file = arguments.to.display().to_string();
        output.line(format_args!("positions {range}: {bytes} bytes written to {}", printable(&file)))?;
    }
    Ok(Exit::Done)
}

/// Writes an archive to a file that does not exist. All reads are of one version in the store.
fn write(stored: &StoredArchive, path: &Path) -> Result<(), ArchiveFailure> {
    let failed = |source| ArchiveFailure::File(NewFileError::new(path, source));
    let mut file = new_file::make(path)?;
    let written = copy(stored, (path, &mut file)).and_then(|()| {
        let synced = file.sync_all().and_then(|()| File::open(folder_of(path))?.sync_all());
        synced.map_err(failed)
    });
    if written.is_err() {
        // Better no file than half of one.
        let _stays = std::fs::remove_file(path).is_err();
    }
    written
}

fn copy(stored: &StoredArchive, (path, file): (&Path, &mut impl Write)) -> Result<(), ArchiveFailure> {
    let mut offset = 0;
    while offset < stored.bytes() {
        let end = stored.bytes().min(offset + PIECE_BYTES);
        let piece = stored.read(offset..end)?;
        let failed = |source| ArchiveFailure::File(NewFileError::new(path, source));
        file.write_all(&piece).map_err(failed)?;
        offset = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_one_of_these_rules_or_said_not_to_be() {
        let position = Position::FIRST;
        let state = |bytes: Vec<u8>| ArchivedState { position, bytes };
        let whole = State::default().save().unwrap().unwrap();
        assert_eq!(decoded(REACTOR_VERSION, &state(whole.clone())), Ok(FoundState::Decoded(position)));
        let version = REACTOR_VERSION + 1;
        assert_eq!(decoded(version, &state(b"anything".to_vec())), Ok(FoundState::Other { version }));
        let cut = whole[..whole.len() - 1].to_vec();
        let longer = [&whole[..], b"{}"].concat();
        for wrong in [Vec::new(), b"null".to_vec(), b"[]".to_vec(), cut, longer] {
            assert!(decoded(REACTOR_VERSION, &state(wrong)).is_err());
        }
    }
}
