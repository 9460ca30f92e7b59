//! The archiver's view of the ledger: frames as stored, their commitments, and recorded archives.

use std::ops::ControlFlow;

use bitacora_formats::{
    ChainHash, Epoch, FrameBody, Frontier, Generation, Micros, Position, SegmentNumber, TILE_HEIGHT,
    TILE_WIDTH, TreeHash,
};

use crate::append::own_events::append_own;
use crate::append::service_events::ServiceEvent;
use crate::archive_records::SealedArchive;
use crate::ledger::Ledger;
use crate::read::log_reader::LogReader;
use crate::read_error::ReadError;
use crate::segment_list::segment_header;
use crate::segments::segments_folder;
use crate::submission::append_error::AppendError;

/// A durable frame, opened.
#[derive(Debug)]
pub struct PlainFrame<'a> {
    /// The position of its first event.
    pub first_position: Position,
    /// Its time.
    pub time: Micros,
    /// Its requests, with the records as they were committed to and the parts as they are sealed.
    pub body: FrameBody<'a>,
}

/// A cut in the chain of frames, noted so that two archives can be joined again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainLink {
    /// The first position of the frame that holds the first event behind the cut.
    pub frame: Position,
    /// The chain hash before that frame.
    pub previous: ChainHash,
}

/// The beginning of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentStart {
    /// Its number.
    pub number: SegmentNumber,
    /// The generation of the ledger that wrote it.
    pub generation: Generation,
    /// The opening that wrote it.
    pub epoch: Epoch,
    /// The position of its first event.
    pub first_position: Position,
    /// The chain hash before its header.
    pub previous: ChainHash,
}

impl Ledger {
    /// Shows the durable frames that hold `first` to `last`, in order and whole, until told to stop. Blocks as
    /// [`Ledger::read`] does.
    ///
    /// # Errors
    /// As [`Ledger::read`]; what was shown before stands.
    pub fn frames(
        &self,
        first: Position,
        last: Position,
        show: &mut dyn FnMut(&PlainFrame<'_>) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let mut reader = LogReader::new(self.shared());
        if last > reader.head.position {
            return Err(ReadError::PastHead { asked: last, head: reader.head.position });
        }
        let mut next = Some(reader.frame_with(first)?);
        while let Some(frame) = next.filter(|frame| frame.place.header.first_position <= last) {
            let header = &frame.place.header;
            let body = reader.decode(&frame)?;
            let shown = PlainFrame { first_position: header.first_position, time: header.time, body };
            if show(&shown).is_break() {
                return Ok(());
            }
            next = if header.last_position() < last { reader.frame_after(&frame)? } else { None };
        }
        Ok(())
    }

    /// The version of what derives events from others; 0 where nothing does.
    #[must_use]
    pub fn reactor_version(&self) -> u32 {
        self.shared().write.preparer.reactor_version()
    }

    /// Returns the cut of the chain before the event at `position`; `None` if the event lies in an archive already, whose manifest holds
    /// the cut. Blocks as [`Ledger::read`] does.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub fn chain_link(&self, position: Position) -> Result<Option<ChainLink>, ReadError> {
        let frame = LogReader::new(self.shared()).frame_with(position)?;
        let header = &frame.place.header;
        Ok(header.links.map(|links| ChainLink { frame: header.first_position, previous: links.previous }))
    }

    /// The roots of so many groups of 256 leaves from group `first` on; group 0 holds the positions 1 to 256.
    ///
    /// # Errors
    /// [`ReadError::TreeBehind`] while the tree is being made again; [`ReadError::PastHead`] where not all are there yet.
    pub fn group_roots(&self, first: u64, count: u64) -> Result<Vec<TreeHash>, ReadError> {
        let group = TILE_WIDTH as u64;
        let head = self.head().position;
        let past = |index: u64| {
            let asked = Position::new((index + 1).saturating_mul(group)).unwrap_or(head);
            ReadError::PastHead { asked, head }
        };
        (first..first.saturating_add(count))
            .map(|index| self.subtree(index.saturating_mul(group), TILE_HEIGHT)?.ok_or_else(|| past(index)))
            .collect()
    }

    /// The tree over the first `groups` groups of 256 events.
    ///
    /// # Errors
    /// As [`Self::group_roots`].
    pub fn frontier(&self, groups: u64) -> Result<Frontier, ReadError> {
        let size = groups.saturating_mul(TILE_WIDTH as u64);
        let head = self.head().position;
        let past = || ReadError::PastHead { asked: Position::new(size).unwrap_or(head), head };
        let (mut peaks, mut first) = (Vec::new(), 0_u64);
        while first < size {
            let height = (size - first).ilog2();
            peaks.push(self.subtree(first, height)?.ok_or_else(past)?);
            first += 1 << height;
        }
        Frontier::from_parts(size, &peaks).ok_or_else(past)
    }

    fn subtree(&self, first: u64, height: u32) -> Result<Option<TreeHash>, ReadError> {
        let behind = |what: &'static str| ReadError::TreeBehind(what.to_owned());
        self.shared().read.tree.subtree(first, height).map_err(behind)
    }

    /// The segments that begin with a position from `first` to `last`, in order.
    ///
    /// # Errors
    /// [`ReadError::Disk`] if a header cannot be read.
    pub fn started_segments(&self, first: Position, last: Position) -> Result<Vec<SegmentStart>, ReadError> {
        let shared = self.shared();
        let folder = segments_folder(&shared.folder);
        let mut starts = Vec::new();
        for segment in shared.read.segments.all() {
            if !(first..=last).contains(&segment.first) {
                continue;
            }
            let unread = |what: String| ReadError::Disk { file: segment.file(), what };
            let header = segment_header(&*shared.environment.disk, &folder, segment.number);
            let header = header.map_err(|error| unread(error.to_string()))?;
            let header = header.ok_or_else(|| unread("it has no readable header".to_owned()))?;
            starts.push(SegmentStart {
                number: segment.number,
                generation: header.generation,
                epoch: header.epoch,
                first_position: segment.first,
                previous: header.previous.hash,
            });
        }
        Ok(starts)
    }

    /// Records that a range of events lies in an archive that was read back. Returned `Ok` ⇒ durable; a caller that needs the event's
    /// position has to look for it.
    ///
    /// # Errors
    /// As an append.
    pub fn record_archive(&self, archive: &SealedArchive<'_>) -> Result<(), AppendError> {
        append_own(self.shared(), &ServiceEvent::Archived(archive))
    }

    /// Forgets what memory holds of archived events: archives were replaced by revisions with less in them.
    pub fn forget_archived(&self) {
        let read = &self.shared().read;
        read.tier.refresh();
        read.revisited.clear();
    }
}
