//! Events by position, from the frames of segments or the groups of archives.

use std::io;

use bitacora_formats::{
    Decompressor, FrameHeader, FrameOpener, Keyring, LeafEntry, LedgerId, LedgerKeys,
    MAX_SEGMENT_HEADER_BYTES, Micros, Position, SegmentHeader, SegmentNumber, StoredFrame, decode_body,
    decode_record,
};

use super::archived_events::ArchivedEvents;
use super::entry::EntryError;
use crate::archive_store::ArchiveStore;
use crate::folder::LedgerFolder;
use crate::plan::first_here;

/// An event as it is stored.
pub(super) struct StoredEvent {
    pub(super) time: Micros,
    pub(super) record: Vec<u8>,
    pub(super) part: Option<Vec<u8>>,
}

impl StoredEvent {
    /// Returns the event's leaf in the tree.
    pub(super) fn leaf(&self, keys: &LedgerKeys) -> Result<LeafEntry, EntryError> {
        let record = decode_record(&self.record)?;
        let commitment = keys.commitment_of(&record, &self.record);
        Ok(LeafEntry { time: self.time, commitment })
    }
}

/// Events that are opened at once: those of a frame, or of a group in an archive.
pub(super) struct EventBlock {
    pub(super) first: Position,
    pub(super) events: Vec<StoredEvent>,
}

impl EventBlock {
    fn get(&self, position: Position) -> Option<&StoredEvent> {
        let index = position.get().checked_sub(self.first.get())?;
        self.events.get(usize::try_from(index).ok()?)
    }
}

/// A segment in memory, with the places of its frames.
struct LoadedSegment {
    number: SegmentNumber,
    bytes: Vec<u8>,
    opener: FrameOpener,
    /// The first position and the offset of each frame.
    frames: Vec<(Position, usize)>,
}

/// A reader of one ledger's events, in either tier. It keeps the last segment and the last block that it read.
pub(super) struct EventReader<'a> {
    pub(super) folder: &'a LedgerFolder<'a>,
    keyring: &'a Keyring,
    pub(super) keys: LedgerKeys,
    /// The headers of the segments that are here, in order.
    segments: Vec<SegmentHeader>,
    archived: ArchivedEvents<'a>,
    segment: Option<LoadedSegment>,
    block: Option<EventBlock>,
    decompressor: Decompressor,
}

impl<'a> EventReader<'a> {
    /// Reads the headers of the ledger's segments; `None` where none is written.
    pub(super) fn open(
        folder: &'a LedgerFolder<'a>,
        keyring: &'a Keyring,
        archives: Option<&'a dyn ArchiveStore>,
    ) -> Result<Option<Self>, EntryError> {
        let listing = folder.list()?;
        let first = first_here(&listing);
        let mut segments: Vec<SegmentHeader> = Vec::new();
        for number in listing.segments.into_iter().filter(|number| *number >= first) {
            let start = folder.load_start(number, MAX_SEGMENT_HEADER_BYTES)?;
            // A segment whose header cannot be read holds nothing that can be proven; the others may.
            let header = SegmentHeader::parse(&start).ok();
            segments.extend(header.filter(|found| {
                segments.first().is_none_or(|first| first.ledger == found.ledger) && found.number == number
            }));
        }
        let Some(ledger) = segments.first().map(|header| header.ledger) else { return Ok(None) };
        let archived = ArchivedEvents::new(folder, keyring, ledger, archives);
        Ok(Some(Self {
            folder,
            keyring,
            keys: LedgerKeys::new(keyring, ledger),
            segments,
            archived,
            segment: None,
            block: None,
            decompressor: Decompressor::new()?,
        }))
    }

    pub(super) fn ledger(&self) -> LedgerId {
        self.keys.ledger()
    }

    /// Checks that the keyring opens the ledger's last segment.
    pub(super) fn check_keyring(&self) -> Result<(), EntryError> {
        let last = self.segments.last().ok_or(EntryError::NotThere)?;
        last.unwrap_key(self.keyring)?;
        Ok(())
    }

    /// Returns the segment that holds a position, and the first position of the one behind it.
    pub(super) fn segment_of(&self, position: Position) -> Option<(&SegmentHeader, Option<Position>)> {
        let behind = self.segments.partition_point(|header| header.first_position <= position);
        let header = self.segments.get(behind.checked_sub(1)?)?;
        Some((header, self.segments.get(behind).map(|next| next.first_position)))
    }

    /// Reads the event at a position.
    pub(super) fn event(&mut self, position: Position) -> Result<&StoredEvent, EntryError> {
        if self.block.as_ref().is_none_or(|block| block.get(position).is_none()) {
            self.block = Some(self.read_block(position)?);
        }
        self.block.as_ref().and_then(|block| block.get(position)).ok_or(EntryError::NotThere)
    }

    /// Reads the leaf of the event at a position from its record.
    pub(super) fn leaf(&mut self, position: Position) -> Result<LeafEntry, EntryError> {
        self.event(position)?;
        let event = self.block.as_ref().and_then(|block| block.get(position));
        event.ok_or(EntryError::NotThere)?.leaf(&self.keys)
    }

    fn read_block(&mut self, position: Position) -> Result<EventBlock, EntryError> {
        let Some((header, _)) = self.segment_of(position) else {
            return self.archived.block_at(position, &mut self.decompressor);
        };
        let loaded = match &self.segment {
            Some(loaded) if loaded.number == header.number => loaded,
            _ => {
                let loaded = LoadedSegment::load(self.folder, header, self.keyring)?;
                self.segment.insert(loaded)
            }
        };
        loaded.block_at(position, &mut self.decompressor)
    }
}

impl LoadedSegment {
    /// Loads a segment and finds its frames by their headers. What opens under the segment's key was written with it,
    /// so the chain need not be checked here.
    fn load(
        folder: &LedgerFolder<'_>,
        header: &SegmentHeader,
        keyring: &Keyring,
    ) -> Result<Self, EntryError> {
        let bytes = folder.load(header.number)?;
        let opener = FrameOpener::new(&header.unwrap_key(keyring)?);
        let (mut frames, mut offset) = (Vec::new(), header.stored_bytes());
        while let Some(Ok(frame)) = bytes.get(offset..).map(FrameHeader::parse) {
            frames.push((frame.first_position, offset));
            offset = offset.saturating_add(frame.stored_bytes());
        }
        Ok(Self { number: header.number, bytes, opener, frames })
    }

    fn block_at(
        &self,
        position: Position,
        decompressor: &mut Decompressor,
    ) -> Result<EventBlock, EntryError> {
        let behind = self.frames.partition_point(|(first, _)| *first <= position);
        let (first, offset) =
            behind.checked_sub(1).and_then(|index| self.frames.get(index)).ok_or(EntryError::NotThere)?;
        let frame = StoredFrame::parse(self.bytes.get(*offset..).unwrap_or_default())?;
        let header = frame.header();
        if position > header.last_position() {
            return Err(EntryError::NotThere);
        }
        let body = self.opener.open_body(&frame, decompressor)?;
        let body = decode_body(&body, header.count)?;
        let events = body.entries().map(|entry| StoredEvent {
            time: header.time,
            record: entry.record.to_vec(),
            part: entry.part.map(<[u8]>::to_vec),
        });
        Ok(EventBlock { first: *first, events: events.collect() })
    }
}

/// Returns `true` if there is no such file or folder.
pub(super) fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}
