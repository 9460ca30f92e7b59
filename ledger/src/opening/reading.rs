//! The opening of a ledger for reading only: without changes or a lock, beside a writing process.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bitacora_formats::{
    Generation, HeaderStep, Keyring, LedgerKeys, LedgerName, Position, SEGMENT_MAGIC, SegmentEnd,
    SegmentHeader, SegmentNumber, SegmentWalk, Step,
};

use bitacora_governance::Governance;

use crate::archive_tier::{ArchiveAccess, ArchiveTier};
use crate::dedup::id_tables::IdTables;
use crate::host::disk::{Disk, OpenMode};
use crate::host::environment::Environment;
use crate::host::index_folder::INDEX;
use crate::log_fault::LogFault;
use crate::open_error::OpenError;
use crate::opening::events_behind_damage::{DamagedLedger, EventsBehindDamage};
use crate::opening::open_ledger::OpenLedger;
use crate::opening::put_back;
use crate::options::Options;
use crate::receipt::Head;
use crate::segment_index::SegmentIndex;
use crate::segment_list::SegmentList;
use crate::segment_preallocator::SegmentPreallocator;
use crate::segments::segment_file::{is_signed_by, load_segment};
use crate::segments::{Segment, Segments, released_file_name, segment_file_name, segments_folder};
use crate::shared_state::read_side::ReadParts;
use crate::shared_state::write_side::WriteParts;
use crate::shared_state::{SharedParts, SharedState};
use crate::signing::known_heads::{ledger_name, refuse_other_name};
use crate::subjects::Subjects;
use crate::submission::inbox::Inbox;
use crate::submission::prepare::Preparer;
use crate::tables::table_writer::TableWriter;
use crate::tables::tip_tables::TipTables;
use crate::tree::Tree;
use crate::unproven_writes::UnprovenWrites;
use crate::writer_state::{ReadOnlyReason, WriterState};

/// A log as it was read.
pub(crate) struct ReadOnlyOpen {
    pub(crate) inner: OpenLedger,
    pub(crate) generation: Generation,
    /// The end of its last segment.
    pub(crate) end: SegmentEnd,
}

/// The end of a log at the time it was looked at.
struct LogEnd {
    /// The last segment with a whole frame.
    header: SegmentHeader,
    end: SegmentEnd,
    frames_end: u64,
    /// Damage that no write in progress explains.
    fault: Option<LogFault>,
}

pub(crate) fn open(
    environment: &Environment,
    folder: &Path,
    keyring: Arc<Keyring>,
    name: Option<&LedgerName>,
    governance: Option<Arc<Governance>>,
) -> Result<ReadOnlyOpen, OpenError> {
    let in_step = |what: &str| {
        let what = format!("{what} of {}", folder.display());
        move |source: io::Error| OpenError::Disk { what, source }
    };
    let anywhere = &environment.disk;
    if !anywhere.exists(folder).map_err(in_step("looking for the folder"))? {
        return Err(OpenError::Missing(folder.display().to_string()));
    }
    // All of it is read in one folder, whatever stands under its name later.
    let environment = &environment.within(folder).map_err(in_step("opening the folder"))?;
    let disk = &*environment.disk;
    let segments = segments_folder(folder);
    let list = SegmentList::read(disk, &segments)?;
    let index = SegmentIndex::read(disk, &segments, &keyring, &list);
    let known = known(disk, folder, &keyring, &list, &index)?;
    let fault = match &known {
        Ok(log_end) => log_end.fault.as_ref(),
        Err(fault) => Some(fault),
    };
    let ledger = known.as_ref().ok().map(|log_end| log_end.header.ledger);
    let tier = |ledger| environment.archives.of_ledger(folder, ledger, &keyring, ArchiveAccess::Reading);
    let whole =
        fault.map(|fault| DamagedLedger { disk, folder, keyring: &keyring, fault }.whole(ledger, tier));
    let whole = whole.transpose().map_err(in_step("looking for what is whole"))?.flatten();
    let until = known.as_ref().map_or(Position::FIRST, |log_end| log_end.end.next_position);
    let what = match whole.filter(|whole| whole.end.next_position > until) {
        Some(whole) => ReadableLog::of_damaged(whole, fault.cloned()),
        None => {
            let log_end = known.map_err(OpenError::Corrupt)?;
            let tier = tier(log_end.header.ledger);
            let readable = ReadableLog::of_index(index, log_end, &tier);
            readable.ok_or_else(|| in_step("listing the segments")(io::ErrorKind::InvalidData.into()))?
        }
    };
    let (generation, end) = (what.header.generation, what.end);
    let inner = start((environment, anywhere), folder, keyring, what, governance);
    let inner = inner.map_err(in_step("listing the segments"))?;
    refuse_other_name(name, || {
        let first = inner.shared.read.segments.holding(Position::FIRST);
        ledger_name(disk, folder, inner.shared.id, &inner.shared.keyring, first)
    })?;
    Ok(ReadOnlyOpen { inner, generation, end })
}

/// The readable part of a log.
struct ReadableLog {
    /// The header of the last segment.
    header: SegmentHeader,
    end: SegmentEnd,
    segments: Vec<Arc<Segment>>,
    fault: Option<LogFault>,
    lost_end: Option<LogFault>,
}

impl ReadableLog {
    /// Takes the whole segments of a damaged log, with the lost ones between them.
    fn of_damaged(whole: EventsBehindDamage, fault: Option<LogFault>) -> Self {
        let EventsBehindDamage { segments, header, end, lost_end } = whole;
        Self { header, end, segments, fault, lost_end }
    }

    fn of_index(index: SegmentIndex<'_>, log_end: LogEnd, tier: &Arc<dyn ArchiveTier>) -> Option<Self> {
        let LogEnd { header, end, frames_end, fault } = log_end;
        let position = Position::new(end.next_position.get() - 1)?;
        let segments = index.segments_until(&header, frames_end, position, tier)?;
        Some(Self { header, end, segments, fault, lost_end: None })
    }
}

/// Returns the standing of the log, as far as its headers go on from each other from the first one on; or the damage before all of it.
fn known(
    disk: &dyn Disk,
    folder: &Path,
    keyring: &Keyring,
    list: &SegmentList,
    index: &SegmentIndex<'_>,
) -> Result<Result<LogEnd, LogFault>, OpenError> {
    let in_step = |what: &str| {
        let what = format!("{what} of {}", folder.display());
        move |source: io::Error| OpenError::Disk { what, source }
    };
    let segments = &segments_folder(folder);
    let SegmentList { numbers, gap, .. } = list;
    let Some(last) = index.last().map(|header| header.number) else {
        if let Some(gap) = gap.as_ref().filter(|_| numbers.is_empty()) {
            return Ok(Err(gap.fault(disk, segments, Position::FIRST)));
        }
        return match why_nothing_is_readable(disk, folder, keyring) {
            OpenError::Corrupt(fault) => Ok(Err(fault)),
            other => Err(other),
        };
    };
    let mut log_end = log_end(disk, segments, last).map_err(in_step("reading the last segment"))?;
    let is_written_on =
        is_written_after(disk, segments, numbers, last).map_err(in_step("listing the segments"))?;
    if let Some(log_end) = log_end.as_mut().filter(|log_end| is_written_on && log_end.fault.is_none()) {
        let doubtful = last.next().unwrap_or(last);
        let what = "the header is not what it must be";
        log_end.fault = Some(fault(doubtful, 0, &log_end.end, what));
    }
    if let (Some(log_end), Some(gap)) = (&mut log_end, gap) {
        let next = log_end.end.next_position;
        log_end.fault.get_or_insert_with(|| gap.fault(disk, segments, next));
    }
    if let Some(log_end) = log_end.as_mut().filter(|log_end| log_end.fault.is_none()) {
        log_end.fault = list.missing_end(&log_end.end);
    }
    if let Some(log_end) = log_end.as_mut().filter(|log_end| log_end.fault.is_none()) {
        let keys = LedgerKeys::new(keyring, log_end.end.ledger);
        let end = (&log_end.end, log_end.frames_end);
        let missing = put_back::missing_behind(disk, folder, keys.index_key(), end);
        log_end.fault = missing.map_err(in_step("looking through the quarantine"))?;
    }
    Ok(log_end.ok_or_else(|| first_fault("the ledger's first frame is missing")))
}

/// Returns `true` if a segment stands behind one that has no readable header. The next one of a live ledger is blank, or just being
/// written; the one after it is blank.
fn is_written_after(
    disk: &dyn Disk,
    folder: &Path,
    numbers: &[SegmentNumber],
    last: SegmentNumber,
) -> io::Result<bool> {
    for number in numbers.iter().filter(|number| number.0 > last.0 + 1) {
        let mut magic = [0; SEGMENT_MAGIC.len()];
        let file = disk.open(&folder.join(segment_file_name(*number)), OpenMode::Read)?;
        if file.read_at(&mut magic, 0)? > 0 && magic != [0; SEGMENT_MAGIC.len()] {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Walks over the last segment, or over the one before while a first frame is still being written. The result is durable: the file is
/// synced first.
fn log_end(disk: &dyn Disk, folder: &Path, last: SegmentNumber) -> io::Result<Option<LogEnd>> {
    for number in (1..=last.0).rev().map(SegmentNumber) {
        let path = folder.join(segment_file_name(number));
        let bytes = match load_segment(disk, &path) {
            // It was released: what stood behind it is gone.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            loaded => loaded?,
        };
        disk.open(&path, OpenMode::Read)?.sync_data()?;
        let Ok((mut walk, header)) = SegmentWalk::start(&bytes, None) else { continue };
        let mut frames: Vec<(Position, u64)> = Vec::new();
        let damage = loop {
            match walk.next_step() {
                Step::Frame(frame) => frames.push((frame.stored.header().first_position, walk.offset())),
                Step::Footer(_) => {}
                Step::End | Step::Torn(_) => break None,
                Step::Corrupt(damage) => break Some(damage),
            }
        };
        // A frame whose signature does not hold was taken in before that was known.
        let end = *walk.end();
        let proven = frames.iter().rev().find(|(first, _)| *first < end.next_position);
        let fault = damage.map(|damage| fault(number, damage.offset, &end, &damage.kind.to_string()));
        if let Some((_, frames_end)) = proven {
            return Ok(Some(LogEnd { header, end, frames_end: *frames_end, fault }));
        }
    }
    Ok(None)
}

fn fault(number: SegmentNumber, offset: u64, end: &SegmentEnd, what: &str) -> LogFault {
    let file = format!("segments/{}", segment_file_name(number));
    LogFault {
        file,
        offset,
        first_position: end.next_position.get(),
        last_position: None,
        what: what.to_owned(),
    }
}

fn first_fault(what: &str) -> LogFault {
    let file = format!("segments/{}", segment_file_name(SegmentNumber(1)));
    LogFault { file, offset: 0, first_position: 1, last_position: None, what: what.to_owned() }
}

/// Returns the reason for which not even the first segment's header can be used.
fn why_nothing_is_readable(disk: &dyn Disk, folder: &Path, keyring: &Keyring) -> OpenError {
    let name = segment_file_name(SegmentNumber(1));
    let bytes = match load_segment(disk, &segments_folder(folder).join(&name)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let released = released_file_name(SegmentNumber(1));
            return match disk.exists(&segments_folder(folder).join(&released)) {
                Ok(true) => OpenError::Corrupt(LogFault {
                    file: format!("segments/{released}"),
                    ..first_fault("the file of a released segment expected")
                }),
                _ => OpenError::Missing(folder.display().to_string()),
            };
        }
        Err(source) => return OpenError::Disk { what: format!("reading segments/{name}"), source },
    };
    let header = match SegmentWalk::start(&bytes, None) {
        Ok((_, header)) => header,
        Err(HeaderStep::Torn(damage) | HeaderStep::Corrupt(damage)) => {
            return OpenError::Corrupt(first_fault(&damage.kind.to_string()));
        }
        Err(step @ HeaderStep::Unwritten) => return OpenError::Corrupt(first_fault(&step.to_string())),
    };
    let what = match header.unwrap_key(keyring) {
        Err(error) => error.to_string(),
        Ok(_) if !is_signed_by(keyring, &header) => "the ledger's signing key is not its own".to_owned(),
        Ok(_) => return OpenError::Corrupt(first_fault("its end is missing")),
    };
    OpenError::Keyring { file: format!("segments/{name}"), what }
}

/// A handle without threads.
fn start(
    (environment, anywhere): (&Environment, &Arc<dyn Disk>),
    folder: &Path,
    keyring: Arc<Keyring>,
    what: ReadableLog,
    governance: Option<Arc<Governance>>,
) -> io::Result<OpenLedger> {
    let ReadableLog { header, end, segments: known, fault, lost_end } = what;
    let (options, ledger) = (Options::default(), header.ledger);
    let keys = LedgerKeys::new(&keyring, ledger);
    let position = Position::new(end.next_position.get() - 1).ok_or(io::ErrorKind::InvalidData)?;
    let head = Head { position, hash: end.tip.hash, time: end.time, tree_root: end.tree_root };
    let segments = Segments::default();
    let tier = environment.archives.of_ledger(folder, ledger, &keyring, ArchiveAccess::Reading);
    known.into_iter().for_each(|segment| segments.add(segment));
    let (disk, index, key) = (|| Arc::clone(&environment.disk), folder.join(INDEX), keys.index_key().clone());
    let ids = Arc::new(IdTables::none(disk(), index.clone(), key.clone(), ledger, header.generation));
    let subjects = Subjects::of_ledger(environment.clone(), folder, &keys);
    if let Some(fault) = &fault {
        tracing::warn!(%fault, "the ledger is damaged; it is read up to there");
    }
    let fault = fault.map(|fault| segments.bounded(fault));
    let reason = fault.map_or(ReadOnlyReason::ForReading, ReadOnlyReason::Corrupt);
    let tree = Tree::of_reader(disk(), folder, &header, &end);
    let preparer =
        Preparer::new(ledger, keys, subjects, options.request_bytes, None, Arc::clone(&environment.entropy));
    let shared = Arc::new(SharedState::new(SharedParts {
        id: ledger,
        folder: folder.to_owned(),
        environment: environment.clone(),
        anywhere: Arc::clone(anywhere),
        keyring,
        governance,
        read: ReadParts { segments, tier, tips: Arc::default(), tree, head, lost_end },
        write: WriteParts {
            preparer: Arc::new(preparer),
            inbox: Inbox::new(options.queue_bytes),
            preallocator: SegmentPreallocator::new(folder, header.number, options.segment_bytes),
            table_writer: TableWriter::new(
                Arc::clone(&ids),
                TipTables::none(disk(), index, key, ledger),
                None,
                None,
            ),
            ids,
            unproven: UnprovenWrites::new(false),
            writer: WriterState::ReadOnly(reason),
        },
    }));
    shared.hear_of_damage();
    Ok(OpenLedger::without_threads(shared))
}
