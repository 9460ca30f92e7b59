//! The replay of the log at an opening: walks segments, opens frames, and grows the tree again.

mod frames;
mod released;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::limits::MAX_SEGMENT_BYTES;
use bitacora_formats::{
    ChainHash, ChainTip, Decompressor, Epoch, Frontier, Generation, Keyring, LedgerId, LedgerKeys, Position,
    SegmentEnd, SegmentHeader, SegmentNumber, StreamKey,
};

use crate::archive_tier::{ColdAccess, ColdArchives, ColdTier};
use crate::blinding_key;
use crate::derived_key;
use crate::disk::{Disk, OpenMode};
use crate::environment::Environment;
use crate::error::OpenError;
use crate::fault::Fault;
use crate::id_tables::IdTables;
use crate::index_folder::INDEX;
use crate::key_map::KeyMap;
use crate::leaves::SegmentLeaves;
use crate::receipt::Head;
use crate::segment_index::Outline;
use crate::segment_list::{SegmentList, segment_header};
use crate::segments::{Segment, segment_file_name, segments_folder};
use crate::staged::Tip;
use crate::tip_tables::{EndedState, TipTables};
use crate::tree::Grown;

/// The contents of the log, up to its end or to the first byte that is not what it must be.
pub(crate) struct Replayed {
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
    pub(crate) tier: Arc<dyn ColdTier>,
    pub(crate) tips: KeyMap<StreamKey, Tip>,
    pub(crate) ids: Arc<IdTables>,
    pub(crate) tip_tables: TipTables,
    /// The state of the log at the end of the segments that were not read; their bytes are still to be proven.
    pub(crate) unread: Option<SegmentEnd>,
    /// The part of the tree that was read.
    pub(crate) grown: Grown,
    /// The leaves of the last segment that was read, to be settled once it is durable itself.
    pub(crate) leaves: Option<SegmentLeaves>,
    /// The state that tables do not hold yet.
    pub(crate) untold: Option<EndedState>,
    /// Files of zeros, made ahead and never used.
    pub(crate) unwritten: Vec<PathBuf>,
    pub(crate) tail: TailState,
    /// The header of the last segment behind the damage that is whole, whose end `head` and `end` are then.
    pub(crate) behind: Option<SegmentHeader>,
    /// The damage behind that end.
    pub(crate) lost_end: Option<Fault>,
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
    Corrupt(Fault),
}

/// Reads a ledger's segments in order.
pub(crate) struct Replay<'a> {
    disk: Arc<dyn Disk>,
    archives: Arc<dyn ColdArchives>,
    /// Of the segments.
    folder: PathBuf,
    /// Of the tables.
    index: PathBuf,
    ledger: &'a Path,
    keyring: &'a Arc<Keyring>,
    decompressor: Decompressor,
    /// `false`: nothing is made again beside the segments.
    mends: bool,
    /// Loaded as soon as the ledger's keys are known.
    tables: Option<(Arc<IdTables>, TipTables)>,
}

/// The state of a replay after some segments.
struct Progress {
    keys: LedgerKeys,
    end: SegmentEnd,
    frontier: Frontier,
    segments: Vec<Arc<Segment>>,
    tips: KeyMap<StreamKey, Tip>,
    ids: Arc<IdTables>,
    /// The state of the log at the end of the segments that tables cover.
    told: Option<SegmentEnd>,
    /// Tips of the streams in the segments after those.
    untold_tips: KeyMap<StreamKey, Tip>,
    grown: Grown,
    leaves: Option<SegmentLeaves>,
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
        Self { disk, archives, folder, index, ledger, keyring, decompressor, mends: true, tables: None }
    }

    /// The same for a look at what the log would be: nothing beside it is written.
    pub(crate) fn of_trial(self) -> Self {
        Self { mends: false, ..self }
    }

    /// The same with the tables of another folder.
    pub(crate) fn with_tables(self, index: PathBuf) -> Self {
        Self { index, ..self }
    }

    /// Changes nothing on the disk but tables, which can be made again.
    pub(crate) fn run(mut self) -> Result<Replayed, OpenError> {
        let list = SegmentList::read(&*self.disk, &self.folder)?;
        let disk = Arc::clone(&self.disk);
        let folder = self.folder.clone();
        // Where a file is missing, what is served is read before, as after any damage that is known.
        let SegmentList { numbers, released, gap, .. } = &list;
        let resumed = match gap {
            None => self.resume(Outline::read(&*disk, &folder, self.keyring, &list)),
            Some(_) => None,
        };
        let (mut progress, mut tail) = resumed.unzip();
        let mut tail = tail.take().flatten();
        let first = progress.as_ref().map_or(0, Progress::unread_segments);
        let mut before_last = None;
        let mut unwritten = Vec::new();
        for (index, number) in numbers.iter().enumerate().skip(first) {
            if index < *released {
                match self.released_segment(*number, &mut progress) {
                    Ok(()) => continue,
                    Err(Stop::Damage(fault)) => {
                        tail = Some(TailState::Corrupt(fault));
                        break;
                    }
                    Err(Stop::Open(error)) => return Err(error),
                }
            }
            let name = segment_file_name(*number);
            let bytes = self.load(&name)?;
            if bytes.iter().all(|byte| *byte == 0) {
                unwritten.push(self.folder.join(&name));
                continue;
            }
            before_last = whole_end(tail.take()).or(before_last);
            if let Some(blank) = unwritten.first() {
                let what = format!("{name} is written, {} before it is not", blank.display());
                tail = Some(TailState::Corrupt(self.fault(&name, 0, progress.as_ref(), &what)));
                break;
            }
            match self.segment(&name, &bytes, &mut progress) {
                Ok(Outcome::Whole { end }) => {
                    tail = Some(TailState::Whole { path: self.folder.join(&name), end, durable: false });
                }
                Ok(Outcome::Torn { at, until }) => {
                    tail = Some(TailState::Torn {
                        path: self.folder.join(&name),
                        name: name.clone(),
                        at,
                        until,
                    });
                    if gap.is_some()
                        || !self.only_blank_after(numbers.get(index + 1..).unwrap_or_default())?
                    {
                        let what = "a damaged frame, with written segments after it";
                        tail = Some(TailState::Corrupt(self.fault(&name, at, progress.as_ref(), &what)));
                        break;
                    }
                }
                Err(Stop::Damage(fault)) => {
                    tail = Some(TailState::Corrupt(fault));
                    break;
                }
                Err(Stop::Open(error)) => return Err(error),
            }
        }
        if let Some(gap) = gap.filter(|_| !matches!(tail, Some(TailState::Corrupt(_)))) {
            before_last = whole_end(tail).or(before_last);
            let next = progress.as_ref().map_or(Position::FIRST, |progress| progress.end.next_position);
            tail = Some(TailState::Corrupt(gap.fault(&*disk, &folder, next)));
        }
        let is_whole = matches!(tail, Some(TailState::Whole { .. }));
        if let Some(fault) = progress.as_ref().filter(|_| is_whole).and_then(|now| list.missing_end(&now.end))
        {
            before_last = whole_end(tail).or(before_last);
            tail = Some(TailState::Corrupt(fault));
        }
        let mut replayed = self.finish(progress, tail, unwritten)?;
        replayed.before_last = before_last;
        Ok(replayed)
    }

    fn finish(
        &mut self,
        progress: Option<Progress>,
        tail: Option<TailState>,
        unwritten: Vec<PathBuf>,
    ) -> Result<Replayed, OpenError> {
        let folder = self.folder.display().to_string();
        let missing = || OpenError::Missing(folder.clone());
        let (mut progress, tail) = match (progress, tail) {
            (None, Some(TailState::Corrupt(fault))) => return Err(OpenError::Corrupt(fault)),
            (progress, tail) => (progress.ok_or_else(missing)?, tail.ok_or_else(missing)?),
        };
        let position = Position::new(progress.end.next_position.get() - 1).ok_or_else(missing)?;
        let (_, tip_tables) = self.tables.take().ok_or_else(missing)?;
        let untold = progress.untold(&tail);
        if self.mends && !matches!(tail, TailState::Corrupt(_)) {
            progress.ids.remove_unfit();
            tip_tables.remove_unfit();
        }
        Ok(Replayed {
            ledger: progress.end.ledger,
            tier: self.tier(progress.end.ledger),
            generation: progress.end.generation,
            epoch: progress.end.epoch,
            last_segment: progress.end.number,
            tip: progress.end.tip,
            end: progress.end,
            head: Head {
                position,
                hash: progress.end.tip.hash,
                time: progress.end.time,
                tree_root: progress.end.tree_root,
            },
            frontier: progress.frontier,
            keys: progress.keys,
            segments: progress.segments,
            tips: progress.tips,
            ids: progress.ids,
            tip_tables,
            unread: progress.told,
            grown: progress.grown,
            leaves: progress.leaves,
            untold,
            unwritten,
            tail,
            behind: None,
            lost_end: None,
            before_last: None,
        })
    }
}

/// The reasons for which a segment's replay stops.
enum Stop {
    Damage(Fault),
    Open(OpenError),
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

    /// Returns the progress that tables allow to go on from, and the log's end if they cover all of it. `None` if the log has to be read
    /// from its first byte.
    fn resume(&mut self, outline: Outline<'_>) -> Option<(Progress, Option<TailState>)> {
        let header = outline.last()?.clone();
        let tier = self.tier(header.ledger);
        let (keys, ids, tip_tables) = self.load_tables(&header, |number| outline.end_of(number));
        let covered = ids.covered_from_first().unwrap_or(SegmentNumber(0));
        let state = tip_tables.state_through(covered)?;
        let is_all = state.end.number == header.number;
        let whole = is_all.then(|| outline.last_end().filter(|whole| whole.end == state.end));
        let segments = outline.segments_through(state.end.number, &tier);
        let (Some(segments), None | Some(Some(_))) = (segments, &whole) else {
            // Not the log that the tables were made of, whatever their seals say.
            tip_tables.forget_all();
            return None;
        };
        let EndedState { end, frontier, tips, .. } = state;
        let path = self.folder.join(segment_file_name(header.number));
        let tail = whole.flatten().map(|whole| TailState::Whole { path, end: whole.offset, durable: true });
        let grown = Grown { base: frontier.clone(), groups: Vec::new() };
        let untold_tips = KeyMap::default();
        let told = Some(end);
        let progress =
            Progress { keys, end, frontier, segments, tips, ids, told, untold_tips, grown, leaves: None };
        Some((progress, tail))
    }

    /// The archives of the ledger, of which nothing is asked before an event is.
    fn tier(&self, ledger: LedgerId) -> Arc<dyn ColdTier> {
        self.archives.of_ledger(self.ledger, ledger, self.keyring, ColdAccess::Writing)
    }

    fn only_blank_after(&self, numbers: &[SegmentNumber]) -> Result<bool, OpenError> {
        for number in numbers {
            if self.load(&segment_file_name(*number))?.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Progress {
    /// Returns the number of segments before the first that is to be read.
    fn unread_segments(&self) -> usize {
        usize::try_from(self.end.number.0).unwrap_or(usize::MAX)
    }

    /// Returns the state that tables do not hold yet, for them to write; `None` for a damaged log.
    fn untold(&mut self, tail: &TailState) -> Option<EndedState> {
        let told = self.told.map_or(SegmentNumber(0), |told| told.number);
        if self.end.number <= told || matches!(tail, TailState::Corrupt(_)) {
            return None;
        }
        let (first, tips) = (told.next()?, std::mem::take(&mut self.untold_tips));
        Some(EndedState { first, end: self.end, frontier: self.frontier.clone(), tips })
    }

    fn before_first(keys: LedgerKeys, header: &SegmentHeader, ids: Arc<IdTables>) -> Self {
        Self {
            keys,
            end: SegmentEnd::before_first(header.ledger),
            frontier: Frontier::new(),
            segments: Vec::new(),
            tips: KeyMap::default(),
            ids,
            told: None,
            untold_tips: KeyMap::default(),
            grown: Grown { base: Frontier::new(), groups: Vec::new() },
            leaves: None,
        }
    }
}

/// Refuses a keyring that opens neither the first segment nor the last one. It does so before anything in the folder is removed or made
/// anew that the right keyring would keep. A header that cannot be read is left to the replay.
///
/// Syscalls: `getdents64` of the segments; for each of both `openat`, `statx`, `pread64`.
pub(crate) fn refuse_wrong_keyring(
    disk: &dyn Disk,
    ledger: &Path,
    keyring: &Keyring,
) -> Result<(), OpenError> {
    /// Files of zeros that may lie behind the last segment, made ahead, and are passed over.
    const MADE_AHEAD: usize = 4;
    let folder = segments_folder(ledger);
    let numbers = SegmentList::read(disk, &folder)?.numbers;
    let header = |number: &SegmentNumber| {
        let header = segment_header(disk, &folder, *number).ok().flatten()?;
        Some((*number, header))
    };
    let first = numbers.first().and_then(header);
    let last = numbers.iter().rev().take(MADE_AHEAD).find_map(header);
    let mut refused = None;
    for (number, header) in first.into_iter().chain(last) {
        let what = match header.unwrap_key(keyring) {
            Ok(_) if is_signed_by(keyring, &header) => {
                blinding_key::refuse_another(disk, ledger, keyring, &header)?;
                return derived_key::refuse_another(disk, ledger, keyring, header.ledger);
            }
            Ok(_) => "the ledger's signing key is not its own".to_owned(),
            Err(error) => error.to_string(),
        };
        let file = format!("segments/{}", segment_file_name(number));
        refused.get_or_insert(OpenError::Keyring { file, what });
    }
    refused.map_or(Ok(()), Err)
}

/// Returns `true` if the header's signing key is the ledger's own: anyone can write a header that vouches for itself.
pub(crate) fn is_signed_by(keyring: &Keyring, header: &SegmentHeader) -> bool {
    let own = keyring.signing_chain().key(header.signing_key_index);
    own.is_some_and(|key| *key.as_bytes() == header.signing_public)
}

/// Returns the end of the last written segment, if it is whole.
fn whole_end(tail: Option<TailState>) -> Option<(PathBuf, u64)> {
    match tail {
        Some(TailState::Whole { path, end, .. }) => Some((path, end)),
        _ => None,
    }
}

/// All bytes of a segment's file.
pub(crate) fn load_segment(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let file = disk.open(path, OpenMode::Read)?;
    let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    // One byte more than any segment has is enough for the walk to refuse it.
    let mut bytes = vec![0; length.min(MAX_SEGMENT_BYTES + 1)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn disk_error(what: &str, source: io::Error) -> OpenError {
    OpenError::Disk { what: what.to_owned(), source }
}
