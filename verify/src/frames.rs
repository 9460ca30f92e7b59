//! The opening of one segment's frames: their records, and the order of their streams.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bitacora_formats::{
    BodyEntry, Commitment, DamageKind, Decompressor, FrameHeader, FrameOpener, Generation, Keyring, LedgerId,
    LedgerKeys, LossDeclaration, Micros, Position, SegmentError, SegmentHeader, StoredFrame, StreamKey,
    TreeHash, WalkedFrame, decode_body, decode_record, leaf_hash,
};

use super::declared::UncheckedLoss;
use super::fault::FaultKind;
use super::folder::LedgerFolder;
use super::genesis::{Genesis, check_genesis};
use super::helpers::{DetachedFrame, IdleThreads, QueuedFrame};
use super::parts::{FoundParts, SubjectKeyStore};
use super::removals::Removals;
use super::streams::{EventLocation, SegmentStreams};

/// The opener of one ledger's frames, shared by all threads.
pub(super) struct Openers<'a> {
    keyring: &'a Keyring,
    name: Option<&'a str>,
    ledger: LedgerId,
    keys: LedgerKeys,
    parts: SubjectKeyStore,
    removals: Mutex<Removals>,
    /// The loss that the folder declares, as the ledger's keys sealed it.
    declared: Option<LossDeclaration>,
}

/// The opener of one segment's frames.
pub(super) struct SegmentOpener {
    opener: FrameOpener,
    signing_key: [u8; 32],
    first_position: Position,
}

/// The frames of one segment, opened up to some place.
pub(super) struct OpenedFrames<'a> {
    openers: &'a Openers<'a>,
    segment: Arc<SegmentOpener>,
    decompressor: &'a mut Decompressor,
    idle: Option<&'a IdleThreads>,
    /// The frames handed out, in their order.
    handed_out: VecDeque<QueuedFrame>,
    contents: FoundContents,
}

/// The contents of a frame, independent of the frames before it.
pub(super) struct OpenedFrame {
    pub(super) offset: u64,
    pub(super) header: FrameHeader,
    /// The events, up to the first invalid one.
    pub(super) events: Vec<OpenedEvent>,
    parts: FoundParts,
    declared: Option<UncheckedLoss>,
    fault: Option<FrameFault>,
}

/// The members of an event that are compared with earlier events and with the tree.
pub(super) struct OpenedEvent {
    pub(super) commitment: Commitment,
    pub(super) leaf: TreeHash,
    stream: StreamKey,
    stream_version: u64,
}

/// The contents of a segment's opened frames.
#[derive(Default)]
pub(super) struct FoundContents {
    pub(super) events: u64,
    pub(super) streams: SegmentStreams,
    pub(super) parts: FoundParts,
    /// The loss that the first event declares, if it does.
    pub(super) declared: Option<UncheckedLoss>,
}

/// A fault and the event that it is in; `None` stands for the whole frame.
pub(super) struct FrameFault {
    pub(super) position: Option<Position>,
    pub(super) kind: FaultKind,
}

impl<T: Into<FaultKind>> From<T> for FrameFault {
    fn from(kind: T) -> Self {
        Self { position: None, kind: kind.into() }
    }
}

impl<'a> Openers<'a> {
    pub(super) fn new(
        keyring: &'a Keyring,
        name: Option<&'a str>,
        folder: &LedgerFolder<'_>,
        ledger: LedgerId,
    ) -> Self {
        let keys = LedgerKeys::new(keyring, ledger);
        let parts = SubjectKeyStore::new(folder.path(), ledger, &keys);
        let declared = folder.declared_loss().ok();
        let declared = declared.and_then(|bytes| LossDeclaration::read_file(keys.index_key(), &bytes).ok());
        Self { keyring, name, ledger, keys, parts, removals: Mutex::default(), declared }
    }

    /// Returns the store of subjects' keys, with its findings.
    pub(super) fn parts(&self) -> &SubjectKeyStore {
        &self.parts
    }

    /// Takes in the removals that opened archives record and hold.
    pub(super) fn add_removals(&self, removals: Removals) {
        self.removals.lock().unwrap_or_else(PoisonError::into_inner).add(removals);
    }

    /// Returns the removals found so far.
    pub(super) fn take_removals(&self) -> Removals {
        std::mem::take(&mut self.removals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the generation that begins with a loss behind this one's last event, and that event's position. No event records the loss yet:
    /// the first opening for writing of a restored ledger does.
    pub(super) fn unrecorded_loss(&self, generation: Generation, last: u64) -> Option<(Generation, u64)> {
        let declared = self.declared.as_ref()?;
        let is_next = declared.generation > generation && declared.retained.get() == last;
        is_next.then_some((declared.generation, last))
    }

    /// Begins with the frames of a segment, and with the threads that help to open them, if any may.
    pub(super) fn begin(
        &'a self,
        header: &SegmentHeader,
        decompressor: &'a mut Decompressor,
        idle: Option<&'a IdleThreads>,
    ) -> Result<OpenedFrames<'a>, SegmentError> {
        let key = header.unwrap_key(self.keyring)?;
        let (signing_key, first_position) = (header.signing_public, header.first_position);
        let segment = SegmentOpener { opener: FrameOpener::new(&key), signing_key, first_position };
        Ok(OpenedFrames {
            openers: self,
            segment: Arc::new(segment),
            decompressor,
            idle,
            handed_out: VecDeque::new(),
            contents: FoundContents::default(),
        })
    }

    /// Opens a frame that was handed out.
    pub(super) fn open_loose(
        &self,
        segment: &SegmentOpener,
        frame: &DetachedFrame,
        decompressor: &mut Decompressor,
    ) -> OpenedFrame {
        let mut opened = OpenedFrame::nothing_of(frame.offset, frame.header);
        let stored = StoredFrame::parse(&frame.bytes).map_err(|error| DamageKind::from(error).into());
        opened.fault = stored.and_then(|stored| self.open(segment, &stored, decompressor, &mut opened)).err();
        opened
    }

    fn open(
        &self,
        segment: &SegmentOpener,
        stored: &StoredFrame<'_>,
        decompressor: &mut Decompressor,
        opened: &mut OpenedFrame,
    ) -> Result<(), FrameFault> {
        let header = stored.header();
        let body = segment.opener.open_body(stored, decompressor)?;
        let body = decode_body(&body, header.count)?;
        opened.events.reserve_exact(header.count as usize);
        let positions = (0..).map_while(|distance| header.first_position.plus(distance));
        for (position, entry) in positions.zip(body.entries()) {
            let event = self.event(segment, (position, header.time), entry, opened);
            opened.events.push(event.map_err(|kind| FrameFault { position: Some(position), kind })?);
        }
        Ok(())
    }

    fn event(
        &self,
        segment: &SegmentOpener,
        (position, time): (Position, Micros),
        entry: &BodyEntry<'_>,
        opened: &mut OpenedFrame,
    ) -> Result<OpenedEvent, FaultKind> {
        let record = decode_record(entry.record).map_err(FaultKind::Record)?;
        self.parts.check(position, &record, entry.part, &mut opened.parts)?;
        if Removals::concern(&record) {
            self.removals.lock().unwrap_or_else(PoisonError::into_inner).note(position, &record);
        }
        if position == Position::FIRST {
            let (ledger, name, signers) = (self.ledger, self.name, self.keyring.signing_chain());
            let signing_key = &segment.signing_key;
            check_genesis(&record, Genesis { ledger, signing_key, signers, name })?;
        } else if position == segment.first_position {
            opened.declared = UncheckedLoss::read(&record, self.ledger)?;
        }
        let commitment = self.keys.commitment_of(&record, entry.record);
        Ok(OpenedEvent {
            commitment,
            leaf: leaf_hash(position, time, &commitment),
            stream: self.keys.stream_key(&record.stream),
            stream_version: entry.stream_version.get(),
        })
    }
}

impl OpenedFrame {
    fn nothing_of(offset: u64, header: FrameHeader) -> Self {
        Self { offset, header, events: Vec::new(), parts: FoundParts::default(), declared: None, fault: None }
    }
}

impl OpenedFrames<'_> {
    /// Hands out the next frame to be opened by an idle thread; `false` if it cannot be, or not yet.
    pub(super) fn hand_out(&mut self, frame: &WalkedFrame<'_>) -> bool {
        let handed = self.idle.and_then(|idle| idle.hand_out(&self.segment, frame));
        let is_out = handed.is_some();
        self.handed_out.extend(handed);
        is_out
    }

    /// Takes in the first frame that is handed out.
    pub(super) fn take_in(&mut self) -> Option<OpenedFrame> {
        let (idle, handed) = self.idle.zip(self.handed_out.pop_front())?;
        let opened = idle.take_in(handed, self.openers, self.decompressor);
        // If the helping thread panicked, this thread opens the frame too, and its panic is passed on.
        Some(opened.unwrap_or_else(|frame| self.openers.open_loose(&self.segment, &frame, self.decompressor)))
    }

    /// Opens the next frame on this thread.
    pub(super) fn open(&mut self, frame: &WalkedFrame<'_>) -> OpenedFrame {
        let mut opened = OpenedFrame::nothing_of(frame.offset, *frame.stored.header());
        let done = self.openers.open(&self.segment, &frame.stored, self.decompressor, &mut opened);
        opened.fault = done.err();
        opened
    }

    /// Continues the streams with a frame: each event must be the next one of its stream.
    pub(super) fn go_on(&mut self, frame: &mut OpenedFrame) -> Result<(), FrameFault> {
        let first = frame.header.first_position;
        let positions = (0..).map_while(|distance| first.plus(distance));
        for (position, event) in positions.zip(&frame.events) {
            let location = EventLocation { position, offset: frame.offset };
            let followed = self.contents.streams.follow(event.stream, event.stream_version, location);
            followed.map_err(|kind| FrameFault { position: Some(position), kind })?;
        }
        if let Some(fault) = frame.fault.take() {
            return Err(fault);
        }
        self.contents.parts.add(std::mem::take(&mut frame.parts));
        self.contents.declared = self.contents.declared.take().or(frame.declared.take());
        self.contents.events += u64::from(frame.header.count);
        Ok(())
    }

    pub(super) fn into_contents(self) -> FoundContents {
        self.contents
    }
}
