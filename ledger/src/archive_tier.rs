//! Archived events, behind a trait: the ledger reads through it events that no segment here holds.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use bitacora_formats::{BodyEntry, Keyring, LedgerId, Micros, Position, StreamVersion, decode_body};

use crate::query::Filter;

/// A frame as it was, read from archives.
#[derive(Debug, Clone)]
pub struct ArchivedFrame {
    /// The position of its first event.
    pub first_position: Position,
    /// The number of events that it holds.
    pub count: u32,
    /// Its time.
    pub time: Micros,
    /// Its body, as `docs/formats/body.md` says; whole, also where the frame lies in two archives.
    pub body: Arc<Vec<u8>>,
}

impl ArchivedFrame {
    /// The event at one of its positions.
    fn event(&self, position: Position) -> Result<ArchivedEvent, ArchiveTierError> {
        let damaged = |what: String| ArchiveTierError {
            first: self.first_position,
            last: self.first_position.plus(u64::from(self.count.max(1)) - 1).unwrap_or(position),
            kind: ArchiveTierErrorKind::Damaged,
            what,
        };
        let body = decode_body(&self.body, self.count).map_err(|error| damaged(error.to_string()))?;
        let mut next = Some(self.first_position);
        for request in &body.requests {
            for (entry, index) in request.entries.iter().zip(0..) {
                if next == Some(position) {
                    return Ok(ArchivedEvent {
                        position,
                        time: self.time,
                        stream_version: entry.stream_version,
                        derived: index >= request.submitted,
                        record: entry.record.to_vec(),
                        part: entry.part.map(<[u8]>::to_vec),
                    });
                }
                next = next.and_then(Position::next);
            }
        }
        Err(damaged(format!("the frame lacks position {position}")))
    }
}

/// An event as its frame held it, read from archives without the rest of the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedEvent {
    /// Its position.
    pub position: Position,
    /// The time of its frame.
    pub time: Micros,
    /// Its version in its stream.
    pub stream_version: StreamVersion,
    /// `true` if the event was derived.
    pub derived: bool,
    /// The encoded record.
    pub record: Vec<u8>,
    /// The sealed part of a data subject.
    pub part: Option<Vec<u8>>,
}

impl ArchivedEvent {
    pub(crate) fn entry(&self) -> BodyEntry<'_> {
        BodyEntry { stream_version: self.stream_version, record: &self.record, part: self.part.as_deref() }
    }

    /// Bytes of the record and the part.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.record.len() + self.part.as_ref().map_or(0, Vec::len)
    }
}

/// The state that decides, as a reactor wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedReactorState {
    /// The last event that is folded in it.
    pub position: Position,
    /// The version of the reactor.
    pub reactor: u32,
    /// The bytes that the reactor wrote.
    pub bytes: Vec<u8>,
}

/// Positions that follow one another in archives, and the times of the frames of the first and the last of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchivedSpan {
    /// The first position.
    pub first: Position,
    /// The last position.
    pub last: Position,
    /// The time of the first one's frame.
    pub first_time: Micros,
    /// The time of the last one's frame.
    pub last_time: Micros,
}

/// The kinds of failed archive reads, by what the reader can do about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveTierErrorKind {
    /// It may be there later: the store does not answer, or no archives were named.
    Unavailable,
    /// It is not what its manifest says.
    Damaged,
    /// The key that opens it was moved into an offline keyring.
    KeyRetired,
    /// The keyring does not have the key that opens it.
    KeyMissing,
}

/// A range of archived events that cannot be read, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("positions {first} to {last} lie in an archive: {what}")]
pub struct ArchiveTierError {
    /// The first position that cannot be read.
    pub first: Position,
    /// The last one.
    pub last: Position,
    /// The kind of failure, which tells whether a retry can help.
    pub kind: ArchiveTierErrorKind,
    /// The reason, in words.
    pub what: String,
}

impl ArchiveTierError {
    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.kind {
            ArchiveTierErrorKind::Unavailable => "archive-unavailable",
            ArchiveTierErrorKind::Damaged => "archive-damaged",
            ArchiveTierErrorKind::KeyRetired => "key-retired",
            ArchiveTierErrorKind::KeyMissing => "key-missing",
        }
    }
}

/// The archives of one ledger.
pub trait ArchiveTier: fmt::Debug + Send + Sync {
    /// The frame that holds `position`. Blocks on the store.
    ///
    /// # Errors
    /// [`ArchiveTierError`], which names the positions that are out of reach with it.
    fn frame(&self, position: Position) -> Result<ArchivedFrame, ArchiveTierError>;

    /// The events at these positions, in their order: the first, and those behind it as far as they can be had and until there are
    /// `max_bytes` of them. Blocks on the store.
    ///
    /// Readers of frames see that these are whole.
    ///
    /// # Errors
    /// [`ArchiveTierError`] where the first cannot be had.
    fn events(
        &self,
        positions: &[Position],
        max_bytes: usize,
    ) -> Result<Vec<ArchivedEvent>, ArchiveTierError> {
        let (mut events, mut bytes) = (Vec::new(), 0);
        for position in positions {
            match self.frame(*position).and_then(|frame| frame.event(*position)) {
                Ok(event) => {
                    bytes += event.bytes();
                    events.push(event);
                }
                Err(error) if events.is_empty() => return Err(error),
                Err(_) => break,
            }
            if bytes >= max_bytes {
                break;
            }
        }
        Ok(events)
    }

    /// The positions around `position` of which the archives know the same without reading their events: whether any of these may have
    /// the filter's labels. `None` where they know nothing. Blocks on the store.
    ///
    /// # Errors
    /// [`ArchiveTierError`].
    fn alike_around(
        &self,
        filter: &Filter,
        position: Position,
    ) -> Result<Option<(RangeInclusive<Position>, bool)>, ArchiveTierError> {
        let (_, _) = (filter, position);
        Ok(None)
    }

    /// The first of the stretches into which the archives divide the positions from `position` on whose last event is of `time` or
    /// later; no event between `position` and it is. The smaller the stretch, the less is looked for in it. `None` where they know
    /// nothing, or have no such stretch. Blocks on the store, but reads no event.
    fn span_at(&self, position: Position, time: Micros) -> Option<ArchivedSpan> {
        let (_, _) = (position, time);
        None
    }

    /// The newest state that decides that is kept there, by a reactor of one of these versions and of no event after `until`. Blocks on
    /// the store.
    ///
    /// # Errors
    /// [`ArchiveTierError`], which names the positions of the archive that does not give its state.
    fn state(
        &self,
        until: Position,
        versions: &RangeInclusive<u32>,
    ) -> Result<Option<ArchivedReactorState>, ArchiveTierError> {
        let (_, _) = (until, versions);
        Ok(None)
    }

    /// The last events that are folded in the states kept there, by reactors of these versions and of no event after `until`, in order.
    /// Reads no archive.
    ///
    /// # Errors
    /// [`ArchiveTierError`].
    fn state_positions(
        &self,
        until: Position,
        versions: &RangeInclusive<u32>,
    ) -> Result<Vec<Position>, ArchiveTierError> {
        let (_, _) = (until, versions);
        Ok(Vec::new())
    }

    /// Looks which archives there are now, and forgets what it holds of others. Some were replaced by revisions with less in them.
    fn refresh(&self) {}
}

/// The access of an archive reader to the ledger's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveAccess {
    /// Nothing.
    Reading,
    /// It has the ledger to itself: what the folder has lost of the archives may be put back there.
    Writing,
}

/// A source of archives for each ledger.
pub trait ArchiveSource: fmt::Debug + Send + Sync {
    /// Those of the ledger in this folder. Nothing is asked of a store before an event is.
    fn of_ledger(
        &self,
        folder: &Path,
        ledger: LedgerId,
        keyring: &Arc<Keyring>,
        access: ArchiveAccess,
    ) -> Arc<dyn ArchiveTier>;
}

/// No archives: what was released cannot be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoArchives;

impl ArchiveSource for NoArchives {
    fn of_ledger(&self, _: &Path, _: LedgerId, _: &Arc<Keyring>, _: ArchiveAccess) -> Arc<dyn ArchiveTier> {
        Arc::new(Self)
    }
}

impl ArchiveTier for NoArchives {
    fn frame(&self, position: Position) -> Result<ArchivedFrame, ArchiveTierError> {
        Err(ArchiveTierError {
            first: position,
            last: position,
            kind: ArchiveTierErrorKind::Unavailable,
            what: "the segment was released, and it was not said where the archives are".to_owned(),
        })
    }
}
