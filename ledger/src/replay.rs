//! Reading the whole log at opening: every segment walked, every frame opened, every commitment put into the tree again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::limits::MAX_SEGMENT_BYTES;
use bitacora_formats::{
    ChainTip, Decompressor, Epoch, EventKey, FrameOpener, Frontier, Generation, HeaderStep, Keyring,
    LedgerId, LedgerKeys, Position, Secret, SegmentEnd, SegmentHeader, SegmentNumber, SegmentWalk, Step,
    StreamKey, WalkedFrame, decode_body, decode_record, leaf_hash,
};

use crate::disk::{Disk, DiskFile, OpenMode};
use crate::error::OpenError;
use crate::fault::Fault;
use crate::hot::HotState;
use crate::ids::SegmentIds;
use crate::key_map::KeyMap;
use crate::receipt::Head;
use crate::segments::{Segment, segment_file_name, segment_number, segments_folder};
use crate::staged::{Known, Tip};

/// What the log says, up to its end or to the first byte that is not what it must be.
pub(crate) struct Replayed {
    pub(crate) ledger: LedgerId,
    pub(crate) keys: LedgerKeys,
    pub(crate) generation: Generation,
    pub(crate) epoch: Epoch,
    /// The number of the last segment that was written.
    pub(crate) last_segment: SegmentNumber,
    pub(crate) tip: ChainTip,
    pub(crate) frontier: Frontier,
    pub(crate) head: Head,
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) tips: KeyMap<StreamKey, Tip>,
    pub(crate) ids: Vec<EndedIds>,
    /// Files of zeros, made ahead and never used.
    pub(crate) unwritten: Vec<PathBuf>,
    pub(crate) tail: TailState,
    /// The file before the last written one, and where its bytes end.
    pub(crate) before_last: Option<(PathBuf, u64)>,
}

/// The identities of one segment.
pub(crate) struct EndedIds {
    segment: SegmentNumber,
    pub(crate) ids: SegmentIds,
}

/// How the last written segment ends.
pub(crate) enum TailState {
    /// With a whole frame or footer; `end` is where the bytes after it begin.
    Whole { path: PathBuf, end: u64 },
    /// With a write that was cut short: the bytes from `at` to `until` are no frame.
    Torn { path: PathBuf, name: String, at: u64, until: u64 },
    /// The bytes are damaged; nothing may be written.
    Corrupt(Fault),
}

/// Reads a ledger's segments in order.
pub(crate) struct Replay<'a> {
    disk: &'a dyn Disk,
    folder: PathBuf,
    keyring: &'a Keyring,
    decompressor: Decompressor,
    hot: Vec<&'a mut HotState>,
}

/// What is known after some segments.
struct Progress {
    keys: LedgerKeys,
    end: SegmentEnd,
    frontier: Frontier,
    segments: Vec<Arc<Segment>>,
    tips: KeyMap<StreamKey, Tip>,
    ids: Vec<EndedIds>,
}

/// How one segment ended.
enum Outcome {
    Whole { end: u64 },
    Torn { at: u64, until: u64 },
}

impl<'a> Replay<'a> {
    pub(crate) fn new(
        disk: &'a dyn Disk,
        ledger: &Path,
        keyring: &'a Keyring,
        decompressor: Decompressor,
        hot: Vec<&'a mut HotState>,
    ) -> Self {
        Self { disk, folder: segments_folder(ledger), keyring, decompressor, hot }
    }

    /// Changes nothing on the disk.
    pub(crate) fn run(mut self) -> Result<Replayed, OpenError> {
        let numbers = self.numbers()?;
        let mut progress: Option<Progress> = None;
        let mut tail = None;
        let mut before_last = None;
        let mut unwritten = Vec::new();
        for (index, number) in numbers.iter().enumerate() {
            let name = segment_file_name(*number);
            let bytes = self.load(&name)?;
            if bytes.iter().all(|byte| *byte == 0) {
                unwritten.push(self.folder.join(&name));
                continue;
            }
            if let Some(blank) = unwritten.first() {
                let what = format!("{name} is written, {} before it is not", blank.display());
                tail = Some(TailState::Corrupt(self.fault(&name, 0, progress.as_ref(), &what)));
                break;
            }
            if let Some(TailState::Whole { path, end }) = tail.take() {
                before_last = Some((path, end));
            }
            match self.segment(&name, &bytes, &mut progress) {
                Ok(Outcome::Whole { end }) => {
                    tail = Some(TailState::Whole { path: self.folder.join(&name), end });
                }
                Ok(Outcome::Torn { at, until }) => {
                    tail = Some(TailState::Torn {
                        path: self.folder.join(&name),
                        name: name.clone(),
                        at,
                        until,
                    });
                    if !self.only_blank_after(numbers.get(index + 1..).unwrap_or_default())? {
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
        let mut replayed = self.finish(progress, tail, unwritten)?;
        replayed.before_last = before_last;
        Ok(replayed)
    }

    fn finish(
        &self,
        progress: Option<Progress>,
        tail: Option<TailState>,
        unwritten: Vec<PathBuf>,
    ) -> Result<Replayed, OpenError> {
        let missing = || OpenError::Missing(self.folder.display().to_string());
        let (progress, tail) = match (progress, tail) {
            (None, Some(TailState::Corrupt(fault))) => return Err(OpenError::Corrupt(fault)),
            (progress, tail) => (progress.ok_or_else(missing)?, tail.ok_or_else(missing)?),
        };
        let position = Position::new(progress.end.next_position.get() - 1).ok_or_else(missing)?;
        Ok(Replayed {
            ledger: progress.end.ledger,
            generation: progress.end.generation,
            epoch: progress.end.epoch,
            last_segment: progress.end.number,
            tip: progress.end.tip,
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
            unwritten,
            tail,
            before_last: None,
        })
    }
}

/// Why a segment's replay stopped.
enum Stop {
    Damage(Fault),
    Open(OpenError),
}

impl Replay<'_> {
    /// The segments' numbers: 1, 2, 3 … without gaps. Files with other names are not the ledger's.
    fn numbers(&self) -> Result<Vec<SegmentNumber>, OpenError> {
        let entries =
            self.disk.list(&self.folder).map_err(|source| disk_error("listing the segments", source))?;
        let numbers: Vec<_> = entries.iter().filter_map(|entry| segment_number(&entry.name)).collect();
        for (expected, number) in (1..).map(SegmentNumber).zip(&numbers) {
            if *number != expected {
                let what = format!("the file is missing, {} is there", segment_file_name(*number));
                return Err(OpenError::Corrupt(self.fault(&segment_file_name(expected), 0, None, &what)));
            }
        }
        Ok(numbers)
    }

    fn load(&self, name: &str) -> Result<Vec<u8>, OpenError> {
        let path = self.folder.join(name);
        let read = || {
            let file = self.disk.open(&path, OpenMode::Read)?;
            let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
            // One byte more than any segment has is enough for the walk to refuse it.
            let mut bytes = vec![0; length.min(MAX_SEGMENT_BYTES + 1)];
            file.read_exact_at(&mut bytes, 0)?;
            Ok(bytes)
        };
        read().map_err(|source| disk_error(&format!("reading {}", path.display()), source))
    }

    fn only_blank_after(&self, numbers: &[SegmentNumber]) -> Result<bool, OpenError> {
        for number in numbers {
            if self.load(&segment_file_name(*number))?.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn segment(
        &mut self,
        name: &str,
        bytes: &[u8],
        progress: &mut Option<Progress>,
    ) -> Result<Outcome, Stop> {
        let until = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1);
        let expect = progress.as_ref().map(|progress| &progress.end);
        let (walk, header) = match SegmentWalk::start(bytes, expect) {
            Ok(started) => started,
            Err(HeaderStep::Torn(_)) if progress.is_some() => return Ok(Outcome::Torn { at: 0, until }),
            Err(HeaderStep::Unwritten) => return Ok(Outcome::Torn { at: 0, until }),
            Err(HeaderStep::Torn(damage) | HeaderStep::Corrupt(damage)) => {
                return Err(Stop::Damage(self.fault(name, damage.offset, progress.as_ref(), &damage.kind)));
            }
        };
        let key = header.unwrap_key(self.keyring).map_err(|error| {
            Stop::Open(OpenError::Keyring { file: format!("segments/{name}"), what: error.to_string() })
        })?;
        if !self.is_signed_by_this_ledger(&header) {
            let what = format!(
                "a signing key of the keyring expected, {} found",
                hex::encode(header.signing_public)
            );
            return Err(Stop::Damage(self.fault(name, 0, progress.as_ref(), &what)));
        }
        let mut progress_now =
            progress.take().unwrap_or_else(|| Progress::before_first(self.keyring, &header));
        let outcome = self.frames(name, walk, &header, &key, &mut progress_now);
        // A segment of which not even one frame stands is as if it had not begun.
        if progress_now.segments.is_empty() && !matches!(outcome, Err(Stop::Open(_))) {
            return match outcome {
                Err(stop) => Err(stop),
                Ok(_) => Err(Stop::Damage(self.fault(name, 0, None, &"the ledger's first frame is missing"))),
            };
        }
        *progress = Some(progress_now);
        outcome.map(|outcome| match outcome {
            Outcome::Torn { at, .. } if at <= header.stored_bytes() as u64 => Outcome::Torn { at: 0, until },
            Outcome::Torn { at, .. } => Outcome::Torn { at, until },
            whole => whole,
        })
    }

    /// Anyone can write a header that vouches for itself: its signing key must be the ledger's own.
    fn is_signed_by_this_ledger(&self, header: &SegmentHeader) -> bool {
        let own = self.keyring.signing_chain().key(header.signing_key_index);
        own.is_some_and(|key| *key.as_bytes() == header.signing_public)
    }

    fn frames(
        &mut self,
        name: &str,
        mut walk: SegmentWalk<'_>,
        header: &SegmentHeader,
        key: &Secret,
        progress: &mut Progress,
    ) -> Result<Outcome, Stop> {
        let opener = FrameOpener::new(key);
        let file = self.reopen(name)?;
        let segment =
            Arc::new(Segment::new(header.number, header.first_position, file, FrameOpener::new(key)));
        let mut ids = KeyMap::default();
        let mut frames = 0_u64;
        let outcome = loop {
            match walk.next_step() {
                Step::Frame(frame) => {
                    self.frame(&frame, &opener, progress, &mut ids).map_err(|what| {
                        Stop::Damage(self.fault(name, frame.offset, Some(progress), &what))
                    })?;
                    let stored = frame.stored.header();
                    segment.note_frame(stored.first_position, frame.offset, stored.stored_bytes() as u64);
                    progress.end = *walk.end();
                    frames += 1;
                    if frames == 1 {
                        progress.segments.push(Arc::clone(&segment));
                        progress.ids.push(EndedIds { segment: header.number, ids: KeyMap::default() });
                    }
                }
                Step::Footer(_) => progress.end = *walk.end(),
                Step::End if frames == 0 => break Outcome::Torn { at: 0, until: 0 },
                Step::End => break Outcome::Whole { end: walk.offset() },
                Step::Torn(damage) => break Outcome::Torn { at: damage.offset, until: 0 },
                Step::Corrupt(damage) => {
                    // A last frame whose signature does not hold was taken in before it was known: it is not served.
                    progress.end = *walk.end();
                    return Err(Stop::Damage(self.fault(name, damage.offset, Some(progress), &damage.kind)));
                }
            }
        };
        if let Some(ended) = progress.ids.last_mut().filter(|ended| ended.segment == header.number) {
            ended.ids = ids;
        }
        Ok(outcome)
    }

    fn reopen(&self, name: &str) -> Result<Arc<dyn DiskFile>, Stop> {
        let path = self.folder.join(name);
        self.disk
            .open(&path, OpenMode::Read)
            .map_err(|source| Stop::Open(disk_error("opening a segment", source)))
    }

    /// Opens a frame and takes in its events; says what is wrong if it is not what the chain and the tree say.
    fn frame(
        &mut self,
        frame: &WalkedFrame<'_>,
        opener: &FrameOpener,
        progress: &mut Progress,
        ids: &mut KeyMap<EventKey, Known>,
    ) -> Result<(), String> {
        let header = frame.stored.header();
        let body =
            opener.open_body(&frame.stored, &mut self.decompressor).map_err(|error| error.to_string())?;
        let decoded = decode_body(&body, header.count).map_err(|error| error.to_string())?;
        let mut frontier = progress.frontier.clone();
        let mut position = header.first_position;
        for entry in decoded.entries() {
            let record = decode_record(entry.record).map_err(|error| error.to_string())?;
            let commitment = progress.keys.commitment(&record.source, &record.id, entry.record);
            frontier.push(leaf_hash(position, header.time, &commitment));
            let tip = Tip { version: entry.stream_version, position };
            progress.tips.insert(progress.keys.stream_key(&record.stream), tip);
            ids.insert(
                progress.keys.event_key(&record.source, &record.id),
                Known::new(position, &commitment),
            );
            position = position.next().ok_or("positions ran out")?;
        }
        if frontier.root() != header.tree_root {
            let (expected, found) = (header.tree_root, frontier.root());
            return Err(format!("tree root {expected} expected, its events give {found}"));
        }
        progress.frontier = frontier;
        for hot in &mut self.hot {
            hot.fold_frame(header.first_position, header.count, header.time, &body);
        }
        Ok(())
    }

    fn fault(
        &self,
        name: &str,
        offset: u64,
        progress: Option<&Progress>,
        what: &dyn std::fmt::Display,
    ) -> Fault {
        let first_position = progress.map_or(1, |progress| progress.end.next_position.get());
        Fault { file: format!("segments/{name}"), offset, first_position, what: what.to_string() }
    }
}

impl Progress {
    fn before_first(keyring: &Keyring, header: &SegmentHeader) -> Self {
        Self {
            keys: LedgerKeys::new(keyring, header.ledger),
            end: SegmentEnd::before_first(header.ledger),
            frontier: Frontier::new(),
            segments: Vec::new(),
            tips: KeyMap::default(),
            ids: Vec::new(),
        }
    }
}

fn disk_error(what: &str, source: std::io::Error) -> OpenError {
    OpenError::Disk { what: what.to_owned(), source }
}
