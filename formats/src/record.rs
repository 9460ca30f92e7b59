//! A record: the event as the ledger keeps it, and the bytes that its commitment is made of.
//!
//! It holds nothing that the sequencer assigns, so it is encoded before the sequencer sees it. The layout stands in
//! `docs/formats/record.md`: bincode 2.0.1, standard configuration, which is used nowhere else.

mod encoding;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use bincode::de::BorrowDecode;
use bincode::enc::write::Writer;
use bincode::enc::{Encode, EncoderImpl};
use bincode::error::{DecodeError, EncodeError};

use crate::event::{Data, Event, ExtensionValue};
use crate::ids::{Commitment, Position};
use crate::json::Json;
use crate::limits::{MAX_PART_BYTES, MAX_RECORD_BYTES};

/// The format of records that this version writes, their first byte.
pub const RECORD_FORMAT: u8 = 1;
/// The format of sensitive parts that this version writes, their first byte.
pub const PART_FORMAT: u8 = 1;

/// An event as it is committed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    /// The event's `id`.
    pub id: Cow<'a, str>,
    /// The event's `source`.
    pub source: Cow<'a, str>,
    /// The event's `type`.
    pub kind: Cow<'a, str>,
    /// The event's `subject`.
    pub stream: Cow<'a, str>,
    /// The event's `time`.
    pub time: Option<Cow<'a, str>>,
    /// The event's `datacontenttype`.
    pub datacontenttype: Option<Cow<'a, str>>,
    /// The event's `dataschema`.
    pub dataschema: Option<Cow<'a, str>>,
    /// The event's `actor`.
    pub actor: Option<Cow<'a, str>>,
    /// The event's `agent`.
    pub agent: Option<Cow<'a, str>>,
    /// The event's `session`.
    pub session: Option<Cow<'a, str>>,
    /// The event's `run`.
    pub run: Option<Cow<'a, str>>,
    /// The event's `call`.
    pub call: Option<Cow<'a, str>>,
    /// The event's `correlationid`.
    pub correlationid: Option<Cow<'a, str>>,
    /// The event's `causationid`.
    pub causationid: Option<Cow<'a, str>>,
    /// The event's `traceparent`.
    pub traceparent: Option<Cow<'a, str>>,
    /// The event's tags.
    pub tags: Vec<Cow<'a, str>>,
    /// The extensions that Bitacora does not know.
    pub extensions: Vec<(Cow<'a, str>, ExtensionValue<'a>)>,
    /// The event's data, or its substitute.
    pub data: RecordData<'a>,
    /// The number of secrets that were taken out of the event before it was recorded.
    pub redactions: u32,
}

/// The data of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordData<'a> {
    /// The event has none.
    None,
    /// JSON, verbatim.
    Json(Json<'a>),
    /// Bytes.
    Binary(Cow<'a, [u8]>),
    /// The event names a data subject; that name and the data lie in a sealed part beside the record.
    Sealed(Seal),
    /// The retention policy removed the data, and all attributes but id, source, type and stream. Archives alone hold such records.
    Expired(Expired),
}

/// The substitute for what the retention policy removed from a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    /// The event that set the policy.
    pub policy: Position,
    /// The commitment to the record as it was. It keeps the leaf, and so every proof, as it was.
    pub commitment: Commitment,
}

/// The seal that a record holds in place of its sensitive part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    /// The random id of the data subject's key; it names nobody.
    pub subject_key: [u8; 16],
    /// The keyed hash of the part's plaintext, which opens no more once the subject's key is gone.
    pub seal: [u8; 32],
}

/// The part of an event that is sealed under a data subject's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensitivePart<'a> {
    /// The event's `datasubject`.
    pub datasubject: Cow<'a, str>,
    /// The event's data.
    pub data: Data<'a>,
}

/// An event on its way to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventDraft<'a> {
    /// The event names no data subject: this is its record.
    Clear(Record<'a>),
    /// The event names a data subject: seal the part, then [`UnsealedRecord::seal`].
    Sensitive {
        /// The record, without the sensitive part.
        record: UnsealedRecord<'a>,
        /// The part to be sealed.
        part: SensitivePart<'a>,
    },
}

/// A record that waits for the seal of its sensitive part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsealedRecord<'a>(Record<'a>);

impl<'a> UnsealedRecord<'a> {
    /// The record, complete.
    #[must_use]
    pub fn seal(self, seal: Seal) -> Record<'a> {
        Record { data: RecordData::Sealed(seal), ..self.0 }
    }
}

/// An error in the bytes of a record or a sensitive part, or in a value to be encoded as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The first byte names a format that this version does not read.
    #[error(
        "format {found}; this version reads format {RECORD_FORMAT}, read it with the version that wrote it"
    )]
    Format {
        /// The first byte.
        found: u8,
    },
    /// Longer than its limit.
    #[error("{bytes} bytes; at most {max} are taken")]
    TooLarge {
        /// Bytes of the encoding.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The bytes end before the value does.
    #[error("ends early; it is not whole")]
    Truncated,
    /// Bytes are left after the value.
    #[error("{bytes} bytes too many after its end; it is not what was written")]
    Trailing {
        /// Bytes left.
        bytes: usize,
    },
    /// A text is not UTF-8.
    #[error("text that is not utf-8; it is not what was written")]
    Text,
    /// A tag, length or count that no encoder writes.
    #[error("a tag, length or count that cannot be; it is not what was written")]
    Malformed,
}

impl<'a> Record<'a> {
    /// Takes an event apart: into the record in clear, and the part to be sealed first.
    #[must_use]
    pub fn draft(event: Event<'a>, redactions: u32) -> EventDraft<'a> {
        let record = |data| Self {
            id: event.id,
            source: event.source,
            kind: event.kind,
            stream: event.stream,
            time: event.time,
            datacontenttype: event.datacontenttype,
            dataschema: event.dataschema,
            actor: event.actor,
            agent: event.agent,
            session: event.session,
            run: event.run,
            call: event.call,
            correlationid: event.correlationid,
            causationid: event.causationid,
            traceparent: event.traceparent,
            tags: event.tags,
            extensions: event.extensions,
            data,
            redactions,
        };
        match event.datasubject {
            None => EventDraft::Clear(record(event.data.into())),
            Some(datasubject) => EventDraft::Sensitive {
                record: UnsealedRecord(record(RecordData::None)),
                part: SensitivePart { datasubject, data: event.data },
            },
        }
    }

    /// Returns the record without what expires: only id, source, type and stream stay, and the commitment to the whole record.
    #[must_use]
    pub fn expire(self, expired: Expired) -> Self {
        Self {
            id: self.id,
            source: self.source,
            kind: self.kind,
            stream: self.stream,
            time: None,
            datacontenttype: None,
            dataschema: None,
            actor: None,
            agent: None,
            session: None,
            run: None,
            call: None,
            correlationid: None,
            causationid: None,
            traceparent: None,
            tags: Vec::new(),
            extensions: Vec::new(),
            data: RecordData::Expired(expired),
            redactions: 0,
        }
    }

    /// The substitute for the record's content, if it is expired.
    #[must_use]
    pub fn expired(&self) -> Option<&Expired> {
        match &self.data {
            RecordData::Expired(expired) => Some(expired),
            _ => None,
        }
    }

    /// The seal, if the record has a sensitive part.
    #[must_use]
    pub fn seal(&self) -> Option<&Seal> {
        match &self.data {
            RecordData::Sealed(seal) => Some(seal),
            _ => None,
        }
    }

    /// The event again; without its part a sealed one has neither `datasubject` nor data.
    ///
    /// A part given for a record that has none is not looked at.
    #[must_use]
    pub fn into_event(self, part: Option<SensitivePart<'a>>) -> Event<'a> {
        let (datasubject, data) = match (self.data, part) {
            (RecordData::Sealed(_), Some(part)) => (Some(part.datasubject), part.data),
            (RecordData::Sealed(_), None) | (RecordData::None | RecordData::Expired(_), _) => {
                (None, Data::None)
            }
            (RecordData::Json(json), _) => (None, Data::Json(json)),
            (RecordData::Binary(bytes), _) => (None, Data::Binary(bytes)),
        };
        Event {
            id: self.id,
            source: self.source,
            kind: self.kind,
            stream: self.stream,
            time: self.time,
            datacontenttype: self.datacontenttype,
            dataschema: self.dataschema,
            actor: self.actor,
            agent: self.agent,
            session: self.session,
            run: self.run,
            call: self.call,
            correlationid: self.correlationid,
            causationid: self.causationid,
            traceparent: self.traceparent,
            datasubject,
            tags: self.tags,
            extensions: self.extensions,
            data,
        }
    }
}

impl<'a> From<Data<'a>> for RecordData<'a> {
    fn from(data: Data<'a>) -> Self {
        match data {
            Data::None => Self::None,
            Data::Json(json) => Self::Json(json),
            Data::Binary(bytes) => Self::Binary(bytes),
        }
    }
}

/// The record's bytes, which its commitment is made of.
///
/// # Errors
///
/// [`RecordError::TooLarge`] past [`MAX_RECORD_BYTES`]; no valid event's record is that long.
pub fn encode_record(record: &Record<'_>) -> Result<Vec<u8>, RecordError> {
    // Most records have small attributes; the data is what needs room.
    let mut bytes = Vec::with_capacity(256 + record.id.len() + record.stream.len() + record.data.len());
    append_record(record, &mut bytes)?;
    Ok(bytes)
}

/// Writes the bytes of [`encode_record`] behind those that are there, and says where they lie.
///
/// # Errors
///
/// As [`encode_record`]; `bytes` is as it was then.
pub fn append_record(record: &Record<'_>, bytes: &mut Vec<u8>) -> Result<Range<usize>, RecordError> {
    let start = bytes.len();
    let encoded = encode(record, MAX_RECORD_BYTES, bytes);
    if encoded.is_err() {
        bytes.truncate(start);
    }
    encoded.map(|()| start..bytes.len())
}

/// Reads a record. It borrows from the bytes.
///
/// # Errors
///
/// [`RecordError`] for any bytes that [`encode_record`] would not have written, but for integers that are written
/// longer than they need to be.
pub fn decode_record(bytes: &[u8]) -> Result<Record<'_>, RecordError> {
    decode::<Record<'_>, MAX_RECORD_BYTES>(bytes, RECORD_FORMAT)
}

/// The fields of a record before its stream: format, id, source and type.
type BeforeStream<'a> = (u8, &'a [u8], &'a [u8], &'a str);

/// Returns the type of a record's event without looking at the rest, for readers that pass most records over.
///
/// # Errors
///
/// As [`decode_record`], of the bytes up to there.
pub fn record_kind(bytes: &[u8]) -> Result<&str, RecordError> {
    match bytes.first() {
        None => return Err(RecordError::Truncated),
        Some(found) if *found != RECORD_FORMAT => return Err(RecordError::Format { found: *found }),
        Some(_) => {}
    }
    let limited = bincode::config::standard().with_limit::<MAX_RECORD_BYTES>();
    // Bytes, not texts, so that what is passed over is not checked to be UTF-8.
    let (before, _) = bincode::borrow_decode_from_slice::<BeforeStream<'_>, _>(bytes, limited)?;
    let (_format, _id, _source, kind) = before;
    Ok(kind)
}

/// The sensitive part's bytes, to be sealed.
///
/// # Errors
///
/// [`RecordError::TooLarge`] past [`MAX_PART_BYTES`].
pub fn encode_part(part: &SensitivePart<'_>) -> Result<Vec<u8>, RecordError> {
    let mut bytes = Vec::with_capacity(16 + part.datasubject.len() + part.data.len());
    encode(part, MAX_PART_BYTES, &mut bytes)?;
    Ok(bytes)
}

/// Reads a sensitive part that was opened. It borrows from the bytes.
///
/// # Errors
///
/// As [`decode_record`].
pub fn decode_part(bytes: &[u8]) -> Result<SensitivePart<'_>, RecordError> {
    decode::<SensitivePart<'_>, MAX_PART_BYTES>(bytes, PART_FORMAT)
}

fn encode(value: &impl Encode, max: usize, bytes: &mut Vec<u8>) -> Result<(), RecordError> {
    let start = bytes.len();
    let mut encoder = EncoderImpl::new(Append(bytes), bincode::config::standard());
    value.encode(&mut encoder).map_err(|_| RecordError::Malformed)?;
    let added = bytes.len() - start;
    if added <= max { Ok(()) } else { Err(RecordError::TooLarge { bytes: added, max }) }
}

fn decode<'a, T: BorrowDecode<'a, ()>, const MAX: usize>(
    bytes: &'a [u8],
    format: u8,
) -> Result<T, RecordError> {
    if bytes.len() > MAX {
        return Err(RecordError::TooLarge { bytes: bytes.len(), max: MAX });
    }
    match bytes.first() {
        None => return Err(RecordError::Truncated),
        Some(found) if *found != format => return Err(RecordError::Format { found: *found }),
        Some(_) => {}
    }
    let limited = bincode::config::standard().with_limit::<MAX>();
    let (value, used) = bincode::borrow_decode_from_slice(bytes, limited)?;
    match bytes.len() - used {
        0 => Ok(value),
        bytes => Err(RecordError::Trailing { bytes }),
    }
}

impl From<DecodeError> for RecordError {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::UnexpectedEnd { .. } => Self::Truncated,
            DecodeError::Utf8 { .. } => Self::Text,
            _ => Self::Malformed,
        }
    }
}

/// bincode writes to the end of a vector.
struct Append<'v>(&'v mut Vec<u8>);

impl Writer for Append<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

impl RecordData<'_> {
    fn len(&self) -> usize {
        match self {
            Self::None | Self::Sealed(_) | Self::Expired(_) => 0,
            Self::Json(json) => json.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }
}
