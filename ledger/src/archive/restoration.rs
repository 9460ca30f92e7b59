//! The restoration of a ledger from archives: the same events, frames and tree, in new segments.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::limits::MAX_SEGMENT_BYTES;
use bitacora_formats::{
    ChainTip, Compressor, Epoch, FOOTER_BYTES, FramePlan, FrameSealer, Frontier, Generation, Keyring,
    LeafEntry, LedgerId, LedgerKeys, LedgerName, LossDeclaration, Micros, Position, SegmentNumber,
    SegmentPlan, TreeHash, decode_body, decode_record, genesis_tip, pad, seal_segment_header,
};

use crate::archive::archived_state::check_state;
use crate::archive::archiving::SegmentStart;
use crate::archive::restored_state::{self, StateMark};
use crate::archive_tier::{ArchivedFrame, ArchivedReactorState};
use crate::host::environment::Environment;
use crate::opening::creation::{make_folders, remove_unfinished, unfinished_folder, write_durably};
use crate::opening::loss_record;
use crate::opening::signing_keys;
use crate::segments::{segment_file_name, segments_folder};
use crate::tree::leaves::SegmentLeaves;

/// The zstd level of frames that are written again: what is old is read more often than written.
const COMPRESSION_LEVEL: i32 = 3;

/// The reasons for which a ledger cannot be made again. Nothing stands under its name then.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Something stands there.
    #[error("{0} exists already; nothing was changed")]
    Exists(String),
    /// The frames do not follow one another.
    #[error("found a frame from position {found} on, expected one from {expected} on")]
    NotNext {
        /// The position at which the next frame should begin.
        expected: Position,
        /// The position at which this one begins.
        found: Position,
    },
    /// A frame is not one, or cannot be sealed.
    #[error("the frame from position {first} on: {what}")]
    Frame {
        /// Its first position.
        first: Position,
        /// The fault, in words.
        what: String,
    },
    /// The state that has to be carried along is none, or stands nowhere in these frames.
    #[error("the state after position {position}: {what}")]
    State {
        /// The last event that is folded in it.
        position: Position,
        /// The fault, in words.
        what: String,
    },
    /// They make another tree than the archives say.
    #[error("found tree root {found} over {found_size} events, expected {expected} over {size}")]
    OtherTree {
        /// Events that the archives hold.
        size: u64,
        /// Their root.
        expected: TreeHash,
        /// Events that were given.
        found_size: u64,
        /// Their root.
        found: TreeHash,
    },
    /// The disk gave an error.
    #[error("{what}: {source}; the ledger was not restored")]
    Disk {
        /// The step that failed.
        what: String,
        /// The disk's error.
        source: io::Error,
    },
}

/// A ledger that is being made again. It stands under its name once [`Restoration::finish`] has returned `Ok`; a crash before
/// leaves at most a folder whose name begins with `.new-`, which the next attempt removes.
pub struct Restoration<'k> {
    environment: Environment,
    folder: PathBuf,
    unfinished: PathBuf,
    keyring: &'k Keyring,
    ledger: LedgerId,
    keys: LedgerKeys,
    /// The beginnings of the former segments, in order: segments begin there again.
    starts: Vec<SegmentStart>,
    compressor: Compressor,
    /// Of the last segment that began before.
    generation: Generation,
    epoch: Epoch,
    number: SegmentNumber,
    frontier: Frontier,
    tip: ChainTip,
    current: Option<RestoredSegment>,
    /// Frames' last positions that a state may stand at, once they are sealed.
    marks: BTreeMap<Position, Option<StateMark>>,
    carried: Option<ArchivedReactorState>,
}

/// The segment that frames are sealed into.
struct RestoredSegment {
    sealer: FrameSealer,
    bytes: Vec<u8>,
    leaves: SegmentLeaves,
}

impl<'k> Restoration<'k> {
    /// Begins to make the ledger of this id again in `folder`, which must not exist; its parent must. `starts` are the segments
    /// that the archives name, in order.
    ///
    /// # Errors
    /// [`RestoreError`].
    pub fn begin(
        environment: &Environment,
        folder: &Path,
        (name, ledger): (&LedgerName, LedgerId),
        keyring: &'k Keyring,
        starts: Vec<SegmentStart>,
    ) -> Result<Self, RestoreError> {
        let disk = &*environment.disk;
        let unfinished = unfinished_folder(folder, name);
        if disk.exists(folder).map_err(in_step("looking for the folder"))? {
            return Err(RestoreError::Exists(folder.display().to_string()));
        }
        remove_unfinished(disk, &unfinished).map_err(in_step("removing what an earlier attempt left"))?;
        make_folders(disk, &unfinished).map_err(in_step("making the folders"))?;
        let compressor = Compressor::new(COMPRESSION_LEVEL);
        let compressor =
            compressor.map_err(|error| in_step("preparing to compress")(io::Error::other(error)))?;
        Ok(Self {
            environment: environment.clone(),
            folder: folder.to_owned(),
            unfinished,
            keyring,
            ledger,
            keys: LedgerKeys::new(keyring, ledger),
            starts,
            compressor,
            generation: Generation::FIRST,
            epoch: Epoch::FIRST,
            number: SegmentNumber(0),
            frontier: Frontier::new(),
            tip: genesis_tip(),
            current: None,
            marks: BTreeMap::new(),
            carried: None,
        })
    }

    /// Has the places of these positions noted, so that a state can be carried along that stands after one of them.
    pub fn mark(&mut self, positions: impl IntoIterator<Item = Position>) {
        self.marks.extend(positions.into_iter().map(|position| (position, None)));
    }

    /// Carries a state along, for a ledger that cannot be folded from its first event on. It stands after a marked frame, and was opened.
    ///
    /// # Errors
    /// [`RestoreError::State`].
    pub fn carry(&mut self, state: ArchivedReactorState) -> Result<(), RestoreError> {
        let position = state.position;
        check_state(&state).map_err(|what| RestoreError::State { position, what })?;
        self.carried = Some(state);
        Ok(())
    }

    /// Takes the next frame in, with its time and its requests as they were.
    ///
    /// # Errors
    /// [`RestoreError`].
    pub fn frame(&mut self, frame: &ArchivedFrame) -> Result<(), RestoreError> {
        let (first, next) = (frame.first_position, self.frontier.size() + 1);
        if first.get() != next {
            let expected = Position::new(next).unwrap_or(first);
            return Err(RestoreError::NotNext { expected, found: first });
        }
        let begins = self.starts.iter().rev().find(|start| start.first_position == first).copied();
        if let Some(start) = begins {
            self.end_segment()?;
            (self.generation, self.epoch) = (start.generation, start.epoch);
        }
        let wrong = |what: String| RestoreError::Frame { first, what };
        let (codec, compressed) = self.compressor.compress(&frame.body);
        // The length of every small frame is hidden, whether its events govern or not.
        let padded = pad(codec, compressed, frame.body.len());
        let (is_padded, sealed) = (padded.is_some(), padded.unwrap_or_else(|| compressed.to_vec()));
        let room = self.current.as_ref().map_or(0, |current| MAX_SEGMENT_BYTES - current.bytes.len());
        let needed = sealed.len() + bitacora_formats::FRAME_OVERHEAD_BYTES + FOOTER_BYTES;
        if self.current.is_some() && needed > room {
            self.end_segment()?;
        }
        if self.current.is_none() {
            self.current = Some(self.begin_segment(first, frame.time)?);
        }
        let Some(current) = &mut self.current else { return Err(wrong("no segment".to_owned())) };
        let body = decode_body(&frame.body, frame.count).map_err(|error| wrong(error.to_string()))?;
        let mut position = first;
        for entry in body.entries() {
            let record = decode_record(entry.record).map_err(|error| wrong(error.to_string()))?;
            let commitment = self.keys.commitment_of(&record, entry.record);
            let leaf = LeafEntry { time: frame.time, commitment };
            self.frontier.push(leaf.hash(position));
            current.leaves.push(&leaf);
            position = position.next().ok_or_else(|| wrong("positions run out".to_owned()))?;
        }
        let (tree_size, tree_root) = (self.frontier.size(), self.frontier.root());
        let plan = FramePlan { first, count: frame.count, time: frame.time, tree_size, tree_root };
        let body_bytes =
            u32::try_from(frame.body.len()).map_err(|_| wrong("a body past 4 GiB".to_owned()))?;
        let tip = match is_padded {
            true => current.sealer.seal_padded(plan, &sealed, &mut current.bytes),
            false => current.sealer.seal(plan, codec, &sealed, body_bytes, &mut current.bytes),
        };
        self.tip = tip.map_err(|error| wrong(error.to_string()))?;
        let last = Position::new(tree_size).and_then(|last| self.marks.get_mut(&last));
        if let Some(mark) = last {
            *mark = Some(StateMark { root: tree_root, segment: self.number });
        }
        Ok(())
    }

    /// Puts the ledger in place, if its tree over `size` events has this root. Events after those are lost, as far as is known here, and
    /// that loss is declared: the next opening for writing begins a generation that records it. So no archive of new events is taken for
    /// one of the lost ones. An opening with a memory of more events refuses until the owner declares the loss too.
    ///
    /// Returned `Ok` ⇒ durable under its name.
    ///
    /// # Errors
    /// [`RestoreError`].
    pub fn finish(mut self, size: u64, root: TreeHash) -> Result<(), RestoreError> {
        self.end_segment()?;
        let (found_size, found) = (self.frontier.size(), self.frontier.root());
        if (found_size, found) != (size, root) {
            return Err(RestoreError::OtherTree { size, expected: root, found_size, found });
        }
        let disk = &*self.environment.disk;
        let parent = self.folder.parent().unwrap_or(Path::new("."));
        signing_keys::write_note(disk, &self.unfinished, self.keyring)
            .map_err(in_step("writing the signing keys' note"))?;
        self.write_state()?;
        let (generation, retained) = (self.generation.next(), Position::new(size));
        if let Some((generation, retained)) = generation.zip(retained) {
            let declared =
                LossDeclaration { generation, retained, lost: None, anchored: None, restored: true };
            loss_record::keep(disk, &self.unfinished, self.keys.index_key(), &declared)
                .map_err(in_step("declaring what is lost behind them"))?;
        }
        let sync = || {
            disk.sync_folder(&segments_folder(&self.unfinished))?;
            disk.sync_folder(&self.unfinished)
        };
        sync().map_err(in_step("syncing the folders"))?;
        disk.rename(&self.unfinished, &self.folder).map_err(in_step("putting the ledger in place"))?;
        disk.sync_folder(parent).map_err(in_step("syncing the parent folder"))
    }

    fn write_state(&self) -> Result<(), RestoreError> {
        let Some(state) = &self.carried else { return Ok(()) };
        let position = state.position;
        let mark = self.marks.get(&position).copied().flatten();
        let mark = mark.ok_or_else(|| RestoreError::State {
            position,
            what: "no restored frame ends there".to_owned(),
        })?;
        let place = (self.ledger, self.keys.index_key());
        restored_state::write(&*self.environment.disk, &self.unfinished, place, state, mark)
            .map_err(in_step("writing the state that decides"))
    }

    fn begin_segment(&mut self, first: Position, created: Micros) -> Result<RestoredSegment, RestoreError> {
        let wrong = |what: String| RestoreError::Frame { first, what };
        self.number = self.number.next().ok_or_else(|| wrong("segment numbers run out".to_owned()))?;
        let mut entropy_error = None;
        let mut random = |into: &mut [u8]| {
            entropy_error = entropy_error.take().or(self.environment.entropy.fill(into).err());
        };
        let plan = SegmentPlan {
            ledger: self.ledger,
            generation: self.generation,
            epoch: self.epoch,
            number: self.number,
            first_position: first,
            created,
            frontier: &self.frontier,
            tip: self.tip,
        };
        let mut bytes = Vec::new();
        let sealer = seal_segment_header(plan, self.keyring, &mut random, &mut bytes)
            .map_err(|error| wrong(error.to_string()))?;
        if let Some(error) = entropy_error {
            return Err(in_step("drawing a segment's key")(error));
        }
        let leaves = SegmentLeaves::new(self.ledger, self.number, first);
        Ok(RestoredSegment { sealer, bytes, leaves })
    }

    fn end_segment(&mut self) -> Result<(), RestoreError> {
        let Some(RestoredSegment { sealer, mut bytes, leaves }) = self.current.take() else { return Ok(()) };
        let first = Position::new(self.frontier.size()).unwrap_or(Position::FIRST);
        let tip = sealer.footer(&mut bytes);
        self.tip = tip.map_err(|error| RestoreError::Frame { first, what: error.to_string() })?;
        let disk = Arc::clone(&self.environment.disk);
        let path = segments_folder(&self.unfinished).join(segment_file_name(self.number));
        write_durably(&*disk, &path, &bytes).map_err(in_step("writing a segment"))?;
        leaves.settle(&*disk, &self.unfinished);
        Ok(())
    }
}

fn in_step(what: &'static str) -> impl FnOnce(io::Error) -> RestoreError {
    move |source| RestoreError::Disk { what: what.to_owned(), source }
}
