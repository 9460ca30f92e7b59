//! Opening the frames of one segment: their records, and what order they stand in.

use bitacora_formats::{
    Commitment, Decompressor, Entry, FrameOpener, Keyring, LedgerId, LedgerKeys, Position, Record,
    SegmentError, SegmentHeader, WalkedFrame, decode_body, decode_record,
};

use super::fault::FaultKind;
use super::folder::LedgerFolder;
use super::genesis::{Genesis, check_genesis};
use super::parts::{PartCounts, Parts};
use super::streams::{Place, SegmentStreams};

/// What opens the frames of one ledger, shared by all who open some.
pub(super) struct Openers<'a> {
    keyring: &'a Keyring,
    name: Option<&'a str>,
    ledger: LedgerId,
    keys: LedgerKeys,
    parts: Parts,
}

/// The frames of one segment, opened up to some place.
pub(super) struct OpenedFrames<'a> {
    openers: &'a Openers<'a>,
    signing_key: [u8; 32],
    opener: FrameOpener,
    decompressor: &'a mut Decompressor,
    /// Of the frame opened last, an event each.
    commitments: Vec<Commitment>,
    contents: FoundContents,
}

/// What the opened frames of a segment hold.
#[derive(Default)]
pub(super) struct FoundContents {
    pub(super) events: u64,
    pub(super) streams: SegmentStreams,
    pub(super) parts: PartCounts,
}

/// What is not what it must be, and in which event; in none if the whole frame is meant.
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
        let parts = Parts::new(folder.path(), ledger, &keys);
        Self { keyring, name, ledger, keys, parts }
    }

    /// Begins with the frames of a segment.
    pub(super) fn begin(
        &'a self,
        header: &SegmentHeader,
        decompressor: &'a mut Decompressor,
    ) -> Result<OpenedFrames<'a>, SegmentError> {
        let key = header.unwrap_key(self.keyring)?;
        Ok(OpenedFrames {
            openers: self,
            signing_key: header.signing_public,
            opener: FrameOpener::new(&key),
            decompressor,
            commitments: Vec::new(),
            contents: FoundContents::default(),
        })
    }

    pub(super) fn into_parts(self) -> Parts {
        self.parts
    }
}

impl OpenedFrames<'_> {
    /// Opens the next frame and gives the commitments to its records.
    pub(super) fn open(&mut self, frame: &WalkedFrame<'_>) -> Result<&[Commitment], FrameFault> {
        self.commitments.clear();
        let header = frame.stored.header();
        let body = self.opener.open_body(&frame.stored, self.decompressor)?;
        let body = decode_body(&body, header.count)?;
        let positions = (0..).map_while(|distance| header.first_position.plus(distance));
        for (position, entry) in positions.zip(body.entries()) {
            let place = Place { position, offset: frame.offset };
            self.event(place, entry).map_err(|kind| FrameFault { position: Some(position), kind })?;
        }
        self.contents.events += u64::from(header.count);
        Ok(&self.commitments)
    }

    fn event(&mut self, place: Place, entry: &Entry<'_>) -> Result<(), FaultKind> {
        let Self { openers, contents, .. } = self;
        let record = decode_record(entry.record).map_err(FaultKind::Record)?;
        openers.parts.check(&record, entry.part, &mut contents.parts)?;
        if place.position == Position::FIRST {
            let (ledger, name) = (openers.ledger, openers.name);
            check_genesis(&record, Genesis { ledger, signing_key: &self.signing_key, name })?;
        }
        self.commitments.push(commitment(&openers.keys, &record, entry.record));
        contents.streams.follow(openers.keys.stream_key(&record.stream), entry.stream_version.get(), place)
    }

    pub(super) fn into_contents(self) -> FoundContents {
        self.contents
    }
}

fn commitment(keys: &LedgerKeys, record: &Record<'_>, bytes: &[u8]) -> Commitment {
    keys.commitment(&record.source, &record.id, bytes)
}
