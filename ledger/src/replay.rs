//! The replay of the log at an opening: walks segments, opens frames, and grows the tree again.

mod cursor;
mod frames;
mod keyring_check;
mod released;

use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::{
    ChainHash, ChainTip, Decompressor, Epoch, Frontier, Generation, Keyring, LedgerId, LedgerKeys, Position,
    SegmentEnd, SegmentHeader, SegmentNumber, StreamKey, is_all_zeros,
};

use self::cursor::{Progress, ReplayCursor};
pub(crate) use self::keyring_check::refuse_wrong_keyring;
use crate::archive_tier::{ArchiveAccess, ArchiveSource, ArchiveTier};
use crate::dedup::id_tables::IdTables;
use crate::host::disk::Disk;
use crate::host::environment::Environment;
use crate::host::index_folder::INDEX;
use crate::host::key_map::KeyMap;
use crate::log_fault::LogFault;
use crate::open_error::OpenError;
use crate::receipt::Head;
use crate::segment_index::SegmentIndex;
use crate::segment_list::SegmentList;
use crate::segments::segment_file::load_segment;
use crate::segments::{Segment, segment_file_name, segments_folder};
use crate::stream_tips::Tip;
use crate::tables::tip_tables::{EndedState, TipTables};
use crate::tree::TreeGrowth;
use crate::tree::leaves::SegmentLeaves;

/// The contents of the log, up to its end or to the first byte that is not what it must be.
pub(crate) struct ReplayedLog {
    pub(crate) ledger: LedgerId,
    pub(crate) keys: LedgerKeys,
    pub(crate) generation: Generation,
    pub(crate) epoch: Epoch,
    /// The number of the last segment that was written.
    pub(crate) last_segment: SegmentNumber,
    pub(crate) tip: ChainTip,
    /// The end of the last segment that was written.
    pub(crate) end: SegmentEnd,
    pub(crate) frontier: Frontier,
    pub(crate) head: Head,
    pub(crate) segments: Vec<Arc<Segment>>,
    /// The archives of released segments' frames.
    pub(crate) tier: Arc<dyn ArchiveTier>,
    pub(crate) tips: KeyMap<StreamKey, Tip>,
    pub(crate) ids: Arc<IdTables>,
    pub(crate) tip_tables: TipTables,
    /// The state of the log at the end of the segments that were not read; their bytes are still to be proven.
    pub(crate) unread: Option<SegmentEnd>,
    /// The part of the tree that was read.
    pub(crate) growth: TreeGrowth,
    /// The leaves of the last segment that was read, to be settled once it is durable itself.
    pub(crate) leaves: Option<SegmentLeaves>,
    /// The state that tables do not hold yet.
    pub(crate) unsaved: Option<EndedState>,
    /// Files of zeros, made ahead and never used.
    pub(crate) unwritten: Vec<PathBuf>,
    pub(crate) tail: TailState,
    /// The header of the last segment behind the damage that is whole, whose end `head` and `end` are then.
    pub(crate) behind: Option<SegmentHeader>,
    /// The damage behind that end.
    pub(crate) lost_end: Option<LogFault>,
    /// The file before the last written one, and where its bytes end.
    pub(crate) before_last: Option<(PathBuf, u64)>,
}

/// The end of the last written segment.
pub(crate) enum TailState {
    /// With a whole frame or footer; `end` is where the bytes after it begin. It is `durable` where that is known already.
    Whole { path: PathBuf, end: u64, durable: bool },
    /// With a write that was cut short: the bytes from `at` to `until` are no frame.
    Torn { path: PathBuf, name: String, at: u64, until: u64 },
    /// The bytes are damaged; nothing may be written.
    Corrupt(LogFault),
}

impl TailState {
    pub(crate) fn is_corrupt(&self) -> bool {
        matches!(self, Self::Corrupt(_))
    }
}

/// Reads a ledger's segments in order.
pub(crate) struct Replay<'a> {
    disk: Arc<dyn Disk>,
    archives: Arc<dyn ArchiveSource>,
    /// Of the segments.
    folder: PathBuf,
    /// Of the tables.
    index: PathBuf,
    ledger: &'a Path,
    keyring: &'a Arc<Keyring>,
    decompressor: Decompressor,
    /// `false`: nothing is made again beside the segments.
    repairs: bool,
    /// One for all segments: what one of them learns of the archives, the others know.
    tier: OnceCell<Arc<dyn ArchiveTier>>,
    /// Loaded as soon as the ledger's keys are known.
    tables: Option<(Arc<IdTables>, TipTables)>,
}

/// The end of one segment's replay.
enum Outcome {
    Whole { end: u64 },
    Torn { at: u64, until: u64 },
}

impl<'a> Replay<'a> {
    pub(crate) fn new(
        environment: &Environment,
        ledger: &'a Path,
        keyring: &'a Arc<Keyring>,
        decompressor: Decompressor,
    ) -> Self {
        let (disk, archives) = (Arc::clone(&environment.disk), Arc::clone(&environment.archives));
        let (folder, index) = (segments_folder(ledger), ledger.join(INDEX));
        let tier = OnceCell::new();
        Self {
            disk,
            archives,
            folder,
            index,
            ledger,
            keyring,
            decompressor,
            repairs: true,
            tier,
            tables: None,
        }
    }

    /// The same for a look at what the log would be: nothing beside it is written.
    pub(crate) fn of_trial(self) -> Self {
        Self { repairs: false, ..self }
    }

    /// The same with the tables of another folder.
    pub(crate) fn with_tables(self, index: PathBuf) -> Self {
        Self { index, ..self }
    }

    /// Changes nothing on the disk but tables, which can be made again.
    ///
    /// The walk goes forward over the files and ends at the first damage. Only a walk without damage asks for missing files: what is
    /// lost behind damage is not known anyway.
    pub(crate) fn run(mut self) -> Result<ReplayedLog, OpenError> {
        let list = SegmentList::read(&*self.disk, &self.folder)?;
        let mut cursor = self.begin(&list);
        let fault = match self.walk(&list, &mut cursor) {
            Ok(()) => self.missing_file(&list, &cursor),
            Err(ReplayStop::Damage(fault)) => Some(fault),
            Err(ReplayStop::Open(error)) => return Err(error),
        };
        if let Some(fault) = fault {
            cursor.end_at(fault);
        }
        self.finish(cursor)
    }

    /// Begins behind the segments that tables cover. Where a file is missing, all is read: what is served before a gap is read first, as
    /// after any damage that is known.
    fn begin(&mut self, list: &SegmentList) -> ReplayCursor {
        if list.gap.is_some() {
            return ReplayCursor::default();
        }
        let (disk, folder) = (Arc::clone(&self.disk), self.folder.clone());
        let index = SegmentIndex::read(&*disk, &folder, self.keyring, list);
        self.resume(index).unwrap_or_default()
    }

    /// Reads the segments in front of the cursor, in their order.
    fn walk(&mut self, list: &SegmentList, cursor: &mut ReplayCursor) -> Result<(), ReplayStop> {
        for (index, number) in list.numbers.iter().enumerate().skip(cursor.segments()) {
            if index < list.released {
                self.released_segment(*number, &mut cursor.progress)?;
                continue;
            }
            let name = segment_file_name(*number);
            let path = self.folder.join(&name);
            let bytes = self.load(&name)?;
            if is_all_zeros(&bytes) {
                // Made ahead. It is no part of the log, as long as none behind it is written.
                cursor.blank.push(path);
                continue;
            }
            cursor.pass_tail();
            if let Some(blank) = cursor.blank.first() {
                let what = format!("{name} is written, {} before it is not", blank.display());
                return Err(damage(&name, 0, cursor.progress.as_ref(), &what));
            }
            cursor.tail = Some(match self.segment(&name, &bytes, &mut cursor.progress)? {
                Outcome::Whole { end } => TailState::Whole { path, end, durable: false },
                Outcome::Torn { at, until } => {
                    // One write is cut short at most, and nothing was written after it.
                    let behind = list.numbers.get(index + 1..).unwrap_or_default();
                    if list.gap.is_some() || !self.only_blank(behind)? {
                        let what = "a damaged frame, with written segments after it";
                        return Err(damage(&name, at, cursor.progress.as_ref(), &what));
                    }
                    TailState::Torn { path, name, at, until }
                }
            });
        }
        Ok(())
    }

    /// Returns the fault of a file that others show to be missing behind a walk without damage. A torn last segment is no such file: the
    /// write that would have made it was never acknowledged.
    fn missing_file(&self, list: &SegmentList, cursor: &ReplayCursor) -> Option<LogFault> {
        if let Some(gap) = &list.gap {
            return Some(gap.fault(&*self.disk, &self.folder, cursor.next_position()));
        }
        let is_whole = matches!(cursor.tail, Some(TailState::Whole { .. }));
        let progress = cursor.progress.as_ref().filter(|_| is_whole)?;
        list.missing_end(&progress.end)
    }

    /// Makes the result. Damage before the first whole frame, or a folder without one, is an error: there is no log to speak of.
    fn finish(mut self, cursor: ReplayCursor) -> Result<ReplayedLog, OpenError> {
        let folder = self.folder.display().to_string();
        let missing = || OpenError::Missing(folder.clone());
        let ReplayCursor { progress, tail, before_last, blank } = cursor;
        let (mut progress, tail) = match (progress, tail) {
            (None, Some(TailState::Corrupt(fault))) => return Err(OpenError::Corrupt(fault)),
            (progress, tail) => (progress.ok_or_else(missing)?, tail.ok_or_else(missing)?),
        };
        let position = Position::new(progress.end.next_position.get() - 1).ok_or_else(missing)?;
        let (_, tip_tables) = self.tables.take().ok_or_else(missing)?;
        let unsaved = progress.unsaved(&tail);
        if self.repairs && !tail.is_corrupt() {
            progress.ids.remove_unfit();
            tip_tables.remove_unfit();
        }
        let end = progress.end;
        Ok(ReplayedLog {
            ledger: end.ledger,
            tier: self.tier(end.ledger),
            generation: end.generation,
            epoch: end.epoch,
            last_segment: end.number,
            tip: end.tip,
            end,
            head: Head { position, hash: end.tip.hash, time: end.time, tree_root: end.tree_root },
            frontier: progress.frontier,
            keys: progress.keys,
            segments: progress.segments,
            tips: progress.tips,
            ids: progress.ids,
            tip_tables,
            unread: progress.covered,
            growth: progress.growth,
            leaves: progress.leaves,
            unsaved,
            unwritten: blank,
            tail,
            behind: None,
            lost_end: None,
            before_last,
        })
    }
}

/// The reasons for which a segment's replay stops.
enum ReplayStop {
    Damage(LogFault),
    Open(OpenError),
}

impl From<OpenError> for ReplayStop {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl Replay<'_> {
    fn load(&self, name: &str) -> Result<Vec<u8>, OpenError> {
        let path = self.folder.join(name);
        load_segment(&*self.disk, &path)
            .map_err(|source| disk_error(&format!("reading {}", path.display()), source))
    }

    /// The tables that fit the log, and the ledger's keys.
    fn load_tables(
        &mut self,
        header: &SegmentHeader,
        end_of: impl Fn(SegmentNumber) -> Option<ChainHash>,
    ) -> (LedgerKeys, Arc<IdTables>, &mut TipTables) {
        let keys = LedgerKeys::new(self.keyring, header.ledger);
        let (ids, tips) = self.tables.get_or_insert_with(|| {
            let disk = || Arc::clone(&self.disk);
            let (folder, key, ledger) = (self.index.clone(), keys.index_key(), header.ledger);
            let ids = IdTables::load(disk(), folder.clone(), key.clone(), ledger, header.generation, &end_of);
            let tips = TipTables::load(disk(), folder, key.clone(), ledger, &end_of);
            (Arc::new(ids), tips)
        });
        (keys, Arc::clone(ids), tips)
    }

    /// Returns the place that tables allow to go on from: behind the segments that they cover. `None` if the log has to be read from its
    /// first byte.
    fn resume(&mut self, index: SegmentIndex<'_>) -> Option<ReplayCursor> {
        let header = index.last()?.clone();
        let tier = self.tier(header.ledger);
        let (keys, ids, tip_tables) = self.load_tables(&header, |number| index.end_of(number));
        let through = ids.covered_from_first().unwrap_or(SegmentNumber(0));
        let state = tip_tables.state_through(through)?;
        // Where tables cover all segments, the last one has to be whole, and to end where they say.
        let is_all = state.end.number == header.number;
        let whole = is_all.then(|| index.last_end().filter(|whole| whole.end == state.end));
        let segments = index.segments_through(state.end.number, &tier);
        let (Some(segments), None | Some(Some(_))) = (segments, &whole) else {
            // Not the log that the tables were made of, whatever their seals say.
            tip_tables.forget_all();
            return None;
        };
        let path = self.folder.join(segment_file_name(header.number));
        let tail = whole.flatten().map(|whole| TailState::Whole { path, end: whole.offset, durable: true });
        let progress = Progress::behind_tables(keys, state, segments, ids);
        Some(ReplayCursor { progress: Some(progress), tail, ..ReplayCursor::default() })
    }

    /// The archives of the ledger, of which nothing is asked before an event is.
    fn tier(&self, ledger: LedgerId) -> Arc<dyn ArchiveTier> {
        let tier = self.tier.get_or_init(|| {
            self.archives.of_ledger(self.ledger, ledger, self.keyring, ArchiveAccess::Writing)
        });
        Arc::clone(tier)
    }

    fn only_blank(&self, numbers: &[SegmentNumber]) -> Result<bool, OpenError> {
        for number in numbers {
            if !is_all_zeros(&self.load(&segment_file_name(*number))?) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the stop at damage in a segment's file, behind the events that were read.
fn damage(name: &str, offset: u64, before: Option<&Progress>, what: &dyn std::fmt::Display) -> ReplayStop {
    let first_position = before.map_or(1, |before| before.end.next_position.get());
    ReplayStop::Damage(LogFault {
        file: format!("segments/{name}"),
        offset,
        first_position,
        last_position: None,
        what: what.to_string(),
    })
}

fn disk_error(what: &str, source: io::Error) -> OpenError {
    OpenError::Disk { what: what.to_owned(), source }
}
