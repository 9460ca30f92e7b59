//! The reader of stored events: opens the frames that hold them, and makes events of their entries.

use std::collections::HashSet;
use std::sync::Arc;

use bitacora_formats::{
    BodyEntry, Commitment, Decompressor, Micros, Position, Record, RequestEntries, StreamVersion,
    decode_body, decode_part, decode_record, open_part,
};

use crate::archive_tier::ArchivedEvent;
use crate::query::{ReadTiers, StoredEvent, TakeEvent};
use crate::read_error::ReadError;
use crate::receipt::{DerivedReceipt, Head};
use crate::segments::recent_frames::OpenFrame;
use crate::segments::{FrameEntry, Segment};
use crate::shared_state::SharedState;
use crate::subjects::SubjectsError;

/// A reader over what is durable. Blocks on the disk; opens each frame before any byte of it leaves.
pub(crate) struct LogReader<'a> {
    shared: &'a SharedState,
    /// Taken from the pool, and given back at the end.
    decompressor: Option<Decompressor>,
    pub(crate) head: Head,
}

/// Facts about existing events that only the log knows.
#[derive(Default)]
pub(crate) struct OriginalReceipts {
    /// The version that each was given in its stream, in the order in which they are asked for.
    pub(crate) versions: Vec<StreamVersion>,
    /// The events derived in their requests, each request's once.
    pub(crate) derived: Vec<DerivedReceipt>,
}

/// Events that an archive gave by themselves, at least one, and the segment that they were in.
pub(crate) struct ArchivedEvents {
    pub(crate) segment: Arc<Segment>,
    pub(crate) events: Vec<ArchivedEvent>,
}

/// The place of a frame that was found.
pub(crate) enum FrameLocation {
    /// It is open already.
    Open(OpenFrame),
    /// It stands there.
    Sealed(Arc<Segment>, FrameEntry),
}

impl FrameLocation {
    pub(crate) fn place(&self) -> &FrameEntry {
        match self {
            Self::Open(frame) => &frame.place,
            Self::Sealed(_, place) => place,
        }
    }

    /// It is opened soon: the disk may begin.
    pub(crate) fn expect_read(&self) {
        if let Self::Sealed(segment, place) = self {
            segment.expect_read(place);
        }
    }
}

/// An entry of a frame, with what its place says of it.
#[derive(Clone, Copy)]
pub(crate) struct LocatedEntry<'b> {
    pub(crate) at: Position,
    pub(crate) derived: bool,
    pub(crate) entry: &'b BodyEntry<'b>,
    /// The commitment, where it is known; else it is made of the record.
    pub(crate) commitment: Option<Commitment>,
}

/// The source of an event: an opened frame, or an archive that gave it by itself.
#[derive(Clone, Copy)]
pub(crate) struct EventSource<'f> {
    segment: &'f Segment,
    place: Option<&'f FrameEntry>,
    /// The time of the event's frame.
    pub(crate) time: Micros,
}

impl<'f> EventSource<'f> {
    pub(crate) fn of_frame(frame: &'f OpenFrame) -> Self {
        Self { segment: &frame.segment, place: Some(&frame.place), time: frame.place.header.time }
    }

    /// An event that `segment`, which was released, gave without its frame.
    pub(crate) fn of_archive(segment: &'f Segment, event: &ArchivedEvent) -> Self {
        Self { segment, place: None, time: event.time }
    }

    fn corrupt(&self, what: &dyn std::fmt::Display) -> ReadError {
        self.segment.corrupt(self.place.map_or(0, |place| place.offset), self.place, what)
    }

    /// The record of an entry.
    pub(crate) fn record<'e>(&self, entry: &BodyEntry<'e>) -> Result<Record<'e>, ReadError> {
        decode_record(entry.record).map_err(|error| self.corrupt(&error))
    }
}

/// The choice after an event: go on or stop.
#[derive(PartialEq, Eq)]
enum ScanFlow {
    On,
    Stop,
}

impl<'a> LogReader<'a> {
    pub(crate) fn new(shared: &'a SharedState) -> Self {
        Self { shared, decompressor: shared.read.decompressors.take(), head: shared.read.head() }
    }

    /// Returns the tier that the event at a position is read from.
    pub(crate) fn tier_of(&self, position: Position) -> ReadTiers {
        let archives = self.shared().read.segments.released_through() >= Some(position);
        ReadTiers { segments: !archives, archives }
    }

    pub(crate) fn shared(&self) -> &'a SharedState {
        self.shared
    }

    /// The event at `position`.
    pub(crate) fn event(&mut self, position: Position) -> Result<StoredEvent<'static>, ReadError> {
        if let Some(found) = self.archived(&[position], 0)? {
            return self.archived_event(&found, position);
        }
        let frame = self.frame_with(position)?;
        let mut found = None;
        self.each_entry(&frame, |reader, at, derived, entry| {
            if at == position {
                let placed = LocatedEntry { at, derived, entry, commitment: None };
                reader.stored(&EventSource::of_frame(&frame), &placed, &mut |stored| {
                    found = Some(stored.into_owned());
                })?;
                return Ok(ScanFlow::Stop);
            }
            Ok(ScanFlow::On)
        })?;
        found.ok_or_else(|| {
            frame.segment.corrupt(
                frame.place.offset,
                Some(&frame.place),
                &"the frame lacks a position it claims",
            )
        })
    }

    /// The events at these positions by themselves, if the first lies in an archive: it, and those behind it as far as they can be had
    /// and until there are `max_bytes` of them.
    pub(crate) fn archived(
        &self,
        positions: &[Position],
        max_bytes: usize,
    ) -> Result<Option<ArchivedEvents>, ReadError> {
        let first = positions.first().filter(|first| **first <= self.head.position);
        let Some(segment) = first.and_then(|first| self.shared.read.segments.holding(*first)) else {
            return Ok(None);
        };
        let events = segment.archived_events(positions, max_bytes)?;
        let Some(events) = events else { return Ok(None) };
        let is_asked = events.iter().zip(positions).all(|(event, asked)| event.position == *asked);
        if events.is_empty() || !is_asked {
            return Err(segment.corrupt(0, None, &"the archives gave other events than were asked for"));
        }
        Ok(Some(ArchivedEvents { segment, events }))
    }

    fn archived_event(
        &self,
        found: &ArchivedEvents,
        position: Position,
    ) -> Result<StoredEvent<'static>, ReadError> {
        let mut stored = None;
        for event in &found.events {
            let origin = EventSource::of_archive(&found.segment, event);
            let entry = event.entry();
            let placed =
                LocatedEntry { at: event.position, derived: event.derived, entry: &entry, commitment: None };
            self.stored(&origin, &placed, &mut |found| stored = Some(found.into_owned()))?;
        }
        stored.ok_or_else(|| self.shared.past_head(position, self.head.position))
    }

    /// Returns the versions of the events at these positions, in their order, and the events that their requests derived. A frame is
    /// opened once for all positions in it that follow one another. A request is read once, however many of its events are asked for.
    pub(crate) fn original_receipts(
        &mut self,
        positions: &[Position],
    ) -> Result<OriginalReceipts, ReadError> {
        let mut receipts = OriginalReceipts::default();
        let mut read = HashSet::new();
        while let Some(position) = positions.get(receipts.versions.len()) {
            let frame = self.frame_with(*position)?;
            let body = self.decode(&frame)?;
            let mut at = frame.place.header.first_position;
            let mut requests = Vec::with_capacity(body.requests.len());
            for request in &body.requests {
                requests.push((at, request));
                at = at.plus(request.entries.len() as u64).unwrap_or(at);
            }
            // The first one is asked for whatever the frame says of itself, so that this comes to an end.
            let of_frame = (&frame, &*requests);
            self.receipt_in(of_frame, *position, &mut read, &mut receipts)?;
            let (first, last) = (frame.place.header.first_position, frame.place.header.last_position());
            let in_frame = |next: &&Position| (first..=last).contains(*next);
            while let Some(next) = positions.get(receipts.versions.len()).filter(in_frame) {
                self.receipt_in(of_frame, *next, &mut read, &mut receipts)?;
            }
        }
        Ok(receipts)
    }

    /// Adds what is known of one event. `read` has the first positions of requests whose derived events are told already.
    fn receipt_in(
        &self,
        (frame, requests): (&OpenFrame, &[(Position, &RequestEntries<'_>)]),
        position: Position,
        read: &mut HashSet<Position>,
        receipts: &mut OriginalReceipts,
    ) -> Result<(), ReadError> {
        let lacking = || {
            let what = "the frame lacks a position it claims";
            frame.segment.corrupt(frame.place.offset, Some(&frame.place), &what)
        };
        let after = requests.partition_point(|(first, _)| *first <= position);
        let found = after.checked_sub(1).and_then(|index| requests.get(index));
        let (first, request) = found.copied().ok_or_else(lacking)?;
        let index = usize::try_from(position.get() - first.get()).unwrap_or(usize::MAX);
        receipts.versions.push(request.entries.get(index).ok_or_else(lacking)?.stream_version);
        if !read.insert(first) {
            return Ok(());
        }
        let derived = &mut receipts.derived;
        for (offset, entry) in request.entries.iter().enumerate().skip(request.submitted as usize) {
            let Some(position) = first.plus(offset as u64) else { break };
            let placed = LocatedEntry { at: position, derived: true, entry, commitment: None };
            self.stored(&EventSource::of_frame(frame), &placed, &mut |stored| {
                derived.push(DerivedReceipt {
                    id: stored.event.id.into_owned(),
                    kind: stored.event.kind.into_owned(),
                    stream: stored.event.stream.into_owned(),
                    position,
                    stream_version: stored.stream_version,
                    commitment: stored.commitment,
                    time: stored.time,
                    meaning: None,
                });
            })?;
        }
        Ok(())
    }

    pub(crate) fn frame_with(&mut self, position: Position) -> Result<OpenFrame, ReadError> {
        let found = self.find(position)?;
        match self.open_found(&found) {
            // A header that is damaged may have led there. From now on the segment's frames are found by opening them.
            Err(ReadError::Corrupt(_)) => {
                let found = self.find(position)?;
                self.open_found(&found)
            }
            opened => opened,
        }
    }

    /// Finds the frame that holds `position`, opened only if it is open already. The header of another one is not proven until it is
    /// opened.
    pub(crate) fn find(&self, position: Position) -> Result<FrameLocation, ReadError> {
        let past = || self.shared.past_head(position, self.head.position);
        if position > self.head.position {
            return Err(past());
        }
        let open = self
            .shared
            .read
            .recent
            .holding(position)
            .or_else(|| self.shared.read.revisited.holding(position));
        if let Some(frame) = open {
            return Ok(FrameLocation::Open(frame));
        }
        let segment = self.shared.read.segments.holding(position).ok_or_else(past)?;
        let place = segment.find(position)?.ok_or_else(past)?;
        Ok(FrameLocation::Sealed(segment, place))
    }

    /// It is looked for soon: the disk may begin.
    pub(crate) fn expect_search(&self, position: Position) {
        if let Some(segment) = self.shared.read.segments.holding(position) {
            segment.expect_search(position);
        }
    }

    pub(crate) fn open_found(&mut self, found: &FrameLocation) -> Result<OpenFrame, ReadError> {
        match found {
            FrameLocation::Open(frame) => Ok(frame.clone()),
            FrameLocation::Sealed(segment, place) => self.open(Arc::clone(segment), place.clone()),
        }
    }

    /// The frame that holds the event behind this one's last; `None` past the head.
    pub(crate) fn frame_after(&mut self, frame: &OpenFrame) -> Result<Option<OpenFrame>, ReadError> {
        let next = frame.place.header.last_position().next();
        let Some(next) = next.filter(|next| *next <= self.head.position) else { return Ok(None) };
        let holds = |frame: &OpenFrame| frame.place.header.positions().contains(&next);
        match self.neighbour(frame, next) {
            Ok(Some(frame)) if holds(&frame) => Ok(Some(frame)),
            Ok(_) | Err(ReadError::Corrupt(_)) => self.frame_with(next).map(Some),
            Err(error) => Err(error),
        }
    }

    /// Opens the frame behind another one, without a search.
    fn neighbour(&mut self, frame: &OpenFrame, next: Position) -> Result<Option<OpenFrame>, ReadError> {
        if let Some(frame) = self.shared.read.recent.holding(next) {
            return Ok(Some(frame));
        }
        if let Some(place) = frame.segment.following(&frame.place)? {
            return self.open(Arc::clone(&frame.segment), place).map(Some);
        }
        let Some(next) = self.shared.read.segments.after(&frame.segment) else { return Ok(None) };
        let Some(place) = next.find(next.first)? else { return Ok(None) };
        self.open(next, place).map(Some)
    }

    fn open(&mut self, segment: Arc<Segment>, place: FrameEntry) -> Result<OpenFrame, ReadError> {
        if self.decompressor.is_none() {
            self.decompressor = Some(Decompressor::new().map_err(|_| ReadError::Memory)?);
        }
        let decompressor = self.decompressor.as_mut().ok_or(ReadError::Memory)?;
        let body = segment.open(&place, decompressor)?;
        let frame = OpenFrame { segment, place, body };
        self.shared.read.revisited.push(&frame);
        Ok(frame)
    }

    pub(crate) fn decode<'f>(
        &self,
        frame: &'f OpenFrame,
    ) -> Result<bitacora_formats::FrameBody<'f>, ReadError> {
        decode_body(&frame.body, frame.place.header.count)
            .map_err(|error| frame.segment.corrupt(frame.place.offset, Some(&frame.place), &error))
    }

    /// Visits the entries of a frame in order, until told to stop.
    fn each_entry(
        &self,
        frame: &OpenFrame,
        mut visit: impl FnMut(&Self, Position, bool, &BodyEntry<'_>) -> Result<ScanFlow, ReadError>,
    ) -> Result<ScanFlow, ReadError> {
        let body = self.decode(frame)?;
        let mut position = Some(frame.place.header.first_position);
        for request in &body.requests {
            for (index, entry) in request.entries.iter().enumerate() {
                let Some(at) = position else { return Ok(ScanFlow::Stop) };
                if visit(self, at, index >= request.submitted as usize, entry)? == ScanFlow::Stop {
                    return Ok(ScanFlow::Stop);
                }
                position = at.next();
            }
        }
        Ok(ScanFlow::On)
    }

    pub(crate) fn record<'e>(
        &self,
        frame: &OpenFrame,
        entry: &BodyEntry<'e>,
    ) -> Result<Record<'e>, ReadError> {
        EventSource::of_frame(frame).record(entry)
    }

    fn stored(
        &self,
        origin: &EventSource<'_>,
        placed: &LocatedEntry<'_>,
        take: &mut TakeEvent<'_>,
    ) -> Result<(), ReadError> {
        let record = origin.record(placed.entry)?;
        self.assemble(origin, placed, record, take)
    }

    /// Gives away the event of a record, with its commitment, which is made where it is not known, and with its part where
    /// that opens.
    pub(crate) fn assemble(
        &self,
        origin: &EventSource<'_>,
        placed: &LocatedEntry<'_>,
        record: Record<'_>,
        take: &mut TakeEvent<'_>,
    ) -> Result<(), ReadError> {
        let keys = self.shared.write.preparer.keys();
        let LocatedEntry { at, derived, entry, commitment } = *placed;
        let commitment = commitment.unwrap_or_else(|| keys.commitment_of(&record, entry.record));
        let redactions = record.redactions;
        let opened = self.open_part(origin, entry, &record)?;
        let part = match &opened {
            OpenedPart::Clear(bytes) => Some(decode_part(bytes).map_err(|error| origin.corrupt(&error))?),
            OpenedPart::None | OpenedPart::Erased | OpenedPart::Unreadable => None,
        };
        let erased = matches!(opened, OpenedPart::Erased);
        let erased_by = record
            .seal()
            .filter(|_| erased)
            .and_then(|seal| self.shared.write.preparer.subjects().erasure_of(&seal.subject_key).flatten());
        take(StoredEvent {
            position: at,
            stream_version: entry.stream_version,
            time: origin.time,
            commitment,
            derived,
            redactions,
            erased,
            erased_by,
            expired_by: record.expired().map(|expired| expired.policy),
            unreadable: matches!(opened, OpenedPart::Unreadable),
            event: record.into_event(part),
        });
        Ok(())
    }

    /// The subject's part. A key that is damaged makes its own events unreadable, and no others.
    fn open_part(
        &self,
        origin: &EventSource<'_>,
        entry: &BodyEntry<'_>,
        record: &Record<'_>,
    ) -> Result<OpenedPart, ReadError> {
        let Some(seal) = record.seal() else { return Ok(OpenedPart::None) };
        let Some(part) = entry.part else { return Ok(OpenedPart::Erased) };
        let key = match self.shared.write.preparer.subjects().key_by_id(&seal.subject_key) {
            Ok(Some(key)) => key,
            Ok(None) => return Ok(OpenedPart::Erased),
            Err(error) if SubjectsError::is_damage(&error) => return Ok(OpenedPart::Unreadable),
            Err(error) => {
                return Err(ReadError::Disk { file: "subjects".to_owned(), what: error.to_string() });
            }
        };
        open_part(&key.secret, self.shared.id, &seal.seal, part)
            .map(|bytes| OpenedPart::Clear(bytes.to_vec()))
            .map_err(|error| origin.corrupt(&error))
    }
}

/// The content of an event that lies under its data subject's key.
enum OpenedPart {
    /// Nothing: it has no data subject.
    None,
    /// In clear.
    Clear(Vec<u8>),
    /// The key is gone.
    Erased,
    /// The key's file is damaged.
    Unreadable,
}

impl Drop for LogReader<'_> {
    fn drop(&mut self) {
        self.shared.read.decompressors.put(self.decompressor.take());
    }
}
