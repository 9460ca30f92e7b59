//! The body of a frame, before compression: the records of its requests, in the ledger's order.
//!
//! The layout stands in `docs/formats/body.md`. Positions are not in it: the frame's header has the first one and
//! they are dense. Nor is there a format id: the frame's header carries the one of the whole frame.

#[cfg(test)]
mod tests;

use crate::ids::StreamVersion;
use crate::limits::{
    MAX_FRAME_BODY_BYTES, MAX_FRAME_ENTRIES, MAX_PART_BYTES, MAX_RECORD_BYTES, MAX_REQUEST_BODY_BYTES,
    MAX_REQUEST_ENTRIES,
};

/// Bytes before a request's entries: the number of submitted entries and the number of all.
pub const REQUEST_HEADER_BYTES: usize = 4 + 4;
/// Bytes before an entry's record: stream version, bytes of the record, bytes of the sealed part.
pub const ENTRY_HEADER_BYTES: usize = 8 + 4 + 4;

/// A frame's body, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameBody<'a> {
    /// The requests, in the order in which they were sequenced.
    pub requests: Vec<RequestEntries<'a>>,
}

impl<'a> FrameBody<'a> {
    /// Every entry of the frame, in the order of their positions.
    pub fn entries(&self) -> impl Iterator<Item = &BodyEntry<'a>> {
        self.requests.iter().flat_map(|request| &request.entries)
    }
}

/// The entries that one request added to the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestEntries<'a> {
    /// The number of entries that were submitted. They come first; the others were derived from them.
    pub submitted: u32,
    /// At least one.
    pub entries: Vec<BodyEntry<'a>>,
}

/// One record in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyEntry<'a> {
    /// The record's place in its stream.
    pub stream_version: StreamVersion,
    /// The encoded record; never empty.
    pub record: &'a [u8],
    /// The sealed sensitive part, if there is one; then never empty.
    pub part: Option<&'a [u8]>,
}

/// An error in the bytes of a frame's body, or in an entry for a body that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The body would be larger than a frame's may be.
    #[error("frame body of {bytes} bytes; a frame takes at most {MAX_FRAME_BODY_BYTES}")]
    BodyTooLarge {
        /// Bytes of the body.
        bytes: usize,
    },
    /// A request takes more of a frame than one may.
    #[error("request of {bytes} bytes in a frame body; at most {MAX_REQUEST_BODY_BYTES} are taken")]
    RequestTooLarge {
        /// Bytes of the request's entries and their headers.
        bytes: usize,
    },
    /// More entries than the frame or a request may have.
    #[error("{entries} entries; a request has at most {MAX_REQUEST_ENTRIES}, a frame {MAX_FRAME_ENTRIES}")]
    TooManyEntries {
        /// Entries found, or the next one's number.
        entries: u64,
    },
    /// A record is empty or longer than a record may be.
    #[error("record of {bytes} bytes; a record has 1 to {MAX_RECORD_BYTES}")]
    RecordSize {
        /// Bytes of the record.
        bytes: usize,
    },
    /// A sealed part is empty or longer than a part may be.
    #[error("sealed part of {bytes} bytes; a part has 1 to {MAX_PART_BYTES}")]
    PartSize {
        /// Bytes of the part.
        bytes: usize,
    },
    /// A request without entries, or with more submitted than there are.
    #[error(
        "request with {submitted} submitted of {entries} entries; at least one entry, and no more submitted than that"
    )]
    Submitted {
        /// Entries said to be submitted.
        submitted: u32,
        /// Entries of the request.
        entries: u32,
    },
    /// Entries outside a request, or a request within a request.
    #[error("entry outside a request, or a request begun within another; the body is not finished")]
    OutOfTurn,
    /// The bytes end within a request or an entry.
    #[error("frame body ends early at byte {offset}; the frame does not hold what its counts say")]
    Truncated {
        /// The offset of something longer than the rest.
        offset: usize,
    },
    /// An entry's stream version is 0.
    #[error("entry at byte {offset} of the frame body has stream version 0; versions begin at 1")]
    StreamVersion {
        /// The offset of the entry.
        offset: usize,
    },
    /// The body has another number of entries than the frame's header says.
    #[error("frame body has {found} entries, the frame's header says {expected}")]
    Entries {
        /// Entries according to the header.
        expected: u32,
        /// Entries in the body.
        found: u32,
    },
}

/// Writes a frame's body by appending, so that the sequencer builds no tree of values.
///
/// A request that is refused midway is dropped with [`BodyWriter::truncate_to`].
#[derive(Debug, Default)]
pub struct BodyWriter {
    bytes: Vec<u8>,
    entries: u32,
    open: Option<OpenRequest>,
}

#[derive(Debug, Clone, Copy)]
struct OpenRequest {
    offset: usize,
    submitted: u32,
    entries: u32,
}

/// A place in a body to go back to, between two requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyMark {
    bytes: usize,
    entries: u32,
}

impl BodyWriter {
    /// An empty body.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty body with room for this many bytes.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// Begins a request of which the first `submitted` entries are the client's.
    ///
    /// # Errors
    ///
    /// [`BodyError::OutOfTurn`] within another request; [`BodyError::BodyTooLarge`].
    pub fn begin_request(&mut self, submitted: u32) -> Result<(), BodyError> {
        if self.open.is_some() {
            return Err(BodyError::OutOfTurn);
        }
        self.check_room(REQUEST_HEADER_BYTES)?;
        self.open = Some(OpenRequest { offset: self.bytes.len(), submitted, entries: 0 });
        self.bytes.extend_from_slice(&submitted.to_le_bytes());
        self.bytes.extend_from_slice(&0_u32.to_le_bytes());
        Ok(())
    }

    /// Appends one entry to the open request. After an error nothing of the entry is there.
    ///
    /// # Errors
    ///
    /// Every limit of [`BodyError`], and [`BodyError::OutOfTurn`] outside a request.
    pub fn entry(
        &mut self,
        stream_version: StreamVersion,
        record: &[u8],
        part: Option<&[u8]>,
    ) -> Result<(), BodyError> {
        let open = self.open.ok_or(BodyError::OutOfTurn)?;
        let (record_bytes, part_bytes) = entry_sizes(record, part)?;
        let part = part.unwrap_or_default();
        let added = ENTRY_HEADER_BYTES + record.len() + part.len();
        let (in_request, in_frame) = (u64::from(open.entries) + 1, u64::from(self.entries) + 1);
        check_entries(in_request, in_frame)?;
        check_request(self.bytes.len() - open.offset + added)?;
        self.check_room(added)?;

        self.bytes.reserve(added);
        self.bytes.extend_from_slice(&stream_version.get().to_le_bytes());
        self.bytes.extend_from_slice(&record_bytes.to_le_bytes());
        self.bytes.extend_from_slice(&part_bytes.to_le_bytes());
        self.bytes.extend_from_slice(record);
        self.bytes.extend_from_slice(part);
        self.open = Some(OpenRequest { entries: open.entries + 1, ..open });
        self.entries += 1;
        Ok(())
    }

    /// Ends the open request.
    ///
    /// # Errors
    ///
    /// [`BodyError::Submitted`] if it has no entry or fewer than were submitted; [`BodyError::OutOfTurn`].
    pub fn end_request(&mut self) -> Result<(), BodyError> {
        let open = self.open.ok_or(BodyError::OutOfTurn)?;
        check_submitted(open.submitted, open.entries)?;
        if let Some(count) = self.bytes.get_mut(open.offset + 4..open.offset + REQUEST_HEADER_BYTES) {
            count.copy_from_slice(&open.entries.to_le_bytes());
        }
        self.open = None;
        Ok(())
    }

    /// The end of the last ended request, to come back to.
    #[must_use]
    pub fn mark(&self) -> BodyMark {
        match self.open {
            Some(open) => BodyMark { bytes: open.offset, entries: self.entries - open.entries },
            None => BodyMark { bytes: self.bytes.len(), entries: self.entries },
        }
    }

    /// Drops everything past `mark`, an open request included. A mark of a longer body changes nothing.
    pub fn truncate_to(&mut self, mark: BodyMark) {
        if mark.bytes <= self.bytes.len() {
            self.bytes.truncate(mark.bytes);
            self.entries = mark.entries;
            self.open = None;
        }
    }

    /// Empties the body and keeps its memory.
    pub fn clear(&mut self) {
        self.truncate_to(BodyMark { bytes: 0, entries: 0 });
    }

    /// Bytes so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns `true` if nothing has been written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Entries so far, those of an open request included.
    #[must_use]
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// The body; an open request is in it without its count, so end it first.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The body's bytes, once every request is ended.
    ///
    /// # Errors
    ///
    /// [`BodyError::OutOfTurn`] if a request is still open.
    pub fn finish(self) -> Result<Vec<u8>, BodyError> {
        if self.open.is_some() { Err(BodyError::OutOfTurn) } else { Ok(self.bytes) }
    }

    fn check_room(&self, added: usize) -> Result<(), BodyError> {
        check_body(self.bytes.len() + added)
    }
}

/// Reads a frame's body. The entries borrow from it; its length bounds the allocations.
///
/// # Errors
///
/// [`BodyError`] for any bytes that [`BodyWriter`] would not have written for a frame of `expected_entries`.
pub fn decode_body(bytes: &[u8], expected_entries: u32) -> Result<FrameBody<'_>, BodyError> {
    check_body(bytes.len())?;
    let mut rest = BodyCursor { bytes, offset: 0 };
    let mut requests = Vec::new();
    let mut found: u32 = 0;
    while !rest.bytes.is_empty() {
        let request = rest.request(found)?;
        found = found.saturating_add(u32::try_from(request.entries.len()).unwrap_or(u32::MAX));
        requests.push(request);
    }
    if found == expected_entries {
        Ok(FrameBody { requests })
    } else {
        Err(BodyError::Entries { expected: expected_entries, found })
    }
}

/// The unread rest of a body.
struct BodyCursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> BodyCursor<'a> {
    fn request(&mut self, entries_before: u32) -> Result<RequestEntries<'a>, BodyError> {
        let start = self.offset;
        let submitted = self.u32()?;
        let count = self.u32()?;
        check_submitted(submitted, count)?;
        check_entries(u64::from(count), u64::from(entries_before) + u64::from(count))?;
        let count = count as usize;
        // No more room is made than the bytes that are there can fill.
        let mut entries = Vec::with_capacity(count.min(self.bytes.len() / ENTRY_HEADER_BYTES));
        for _ in 0..count {
            entries.push(self.entry()?);
        }
        check_request(self.offset - start)?;
        Ok(RequestEntries { submitted, entries })
    }

    fn entry(&mut self) -> Result<BodyEntry<'a>, BodyError> {
        let offset = self.offset;
        let stream_version = u64::from_le_bytes(self.array()?);
        let stream_version = StreamVersion::new(stream_version).ok_or(BodyError::StreamVersion { offset })?;
        let record_bytes = self.u32()? as usize;
        let part_bytes = self.u32()? as usize;
        let record = self.take(record_bytes)?;
        let part = if part_bytes == 0 { None } else { Some(self.take(part_bytes)?) };
        entry_sizes(record, part)?;
        Ok(BodyEntry { stream_version, record, part })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], BodyError> {
        let truncated = BodyError::Truncated { offset: self.offset };
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(truncated)?;
        self.bytes = rest;
        self.offset += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BodyError> {
        let truncated = BodyError::Truncated { offset: self.offset };
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(truncated)?;
        self.bytes = rest;
        self.offset += N;
        Ok(*taken)
    }

    fn u32(&mut self) -> Result<u32, BodyError> {
        self.array().map(u32::from_le_bytes)
    }
}

// The writer and the reader check with the same functions, so neither lets through what the other refuses.

fn check_body(bytes: usize) -> Result<(), BodyError> {
    if bytes <= MAX_FRAME_BODY_BYTES { Ok(()) } else { Err(BodyError::BodyTooLarge { bytes }) }
}

fn check_request(bytes: usize) -> Result<(), BodyError> {
    if bytes <= MAX_REQUEST_BODY_BYTES { Ok(()) } else { Err(BodyError::RequestTooLarge { bytes }) }
}

fn check_entries(in_request: u64, in_frame: u64) -> Result<(), BodyError> {
    if in_request > MAX_REQUEST_ENTRIES as u64 {
        Err(BodyError::TooManyEntries { entries: in_request })
    } else if in_frame > MAX_FRAME_ENTRIES as u64 {
        Err(BodyError::TooManyEntries { entries: in_frame })
    } else {
        Ok(())
    }
}

fn check_submitted(submitted: u32, entries: u32) -> Result<(), BodyError> {
    if entries >= 1 && submitted <= entries {
        Ok(())
    } else {
        Err(BodyError::Submitted { submitted, entries })
    }
}

fn entry_sizes(record: &[u8], part: Option<&[u8]>) -> Result<(u32, u32), BodyError> {
    let size = |bytes: usize, max: usize| u32::try_from(bytes).ok().filter(|_| (1..=max).contains(&bytes));
    let record_bytes =
        size(record.len(), MAX_RECORD_BYTES).ok_or(BodyError::RecordSize { bytes: record.len() })?;
    let part_bytes = match part {
        Some(part) => size(part.len(), MAX_PART_BYTES).ok_or(BodyError::PartSize { bytes: part.len() })?,
        None => 0,
    };
    Ok((record_bytes, part_bytes))
}
