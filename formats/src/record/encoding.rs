//! The fields of a record and of a sensitive part in their encoded order, for bincode.
//!
//! This code is written out instead of derived, because the order of fields and the tags of variants are the format.
//! Lists are held to their own limits before room is made for them.

use std::borrow::Cow;

use bincode::de::{BorrowDecode, BorrowDecoder};
use bincode::enc::{Encode, Encoder};
use bincode::error::{DecodeError, EncodeError};

use super::{Expired, PART_FORMAT, RECORD_FORMAT, Record, RecordData, Seal, SensitivePart};
use crate::event::{Data, ExtensionValue};
use crate::ids::{Commitment, Position};
use crate::json::Json;
use crate::limits::{MAX_EXTENSIONS, MAX_TAGS};

// Tags of the data.
const NO_DATA: u8 = 0;
const JSON_DATA: u8 = 1;
const BINARY_DATA: u8 = 2;
const SEALED_DATA: u8 = 3;
const EXPIRED_DATA: u8 = 4;

// Tags of an extension's value.
const TEXT_VALUE: u8 = 0;
const INTEGER_VALUE: u8 = 1;
const BOOLEAN_VALUE: u8 = 2;

impl Encode for Record<'_> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        RECORD_FORMAT.encode(encoder)?;
        self.id.encode(encoder)?;
        self.source.encode(encoder)?;
        self.kind.encode(encoder)?;
        self.stream.encode(encoder)?;
        self.time.encode(encoder)?;
        self.datacontenttype.encode(encoder)?;
        self.dataschema.encode(encoder)?;
        self.actor.encode(encoder)?;
        self.agent.encode(encoder)?;
        self.session.encode(encoder)?;
        self.run.encode(encoder)?;
        self.call.encode(encoder)?;
        self.correlationid.encode(encoder)?;
        self.causationid.encode(encoder)?;
        self.traceparent.encode(encoder)?;
        self.tags.encode(encoder)?;
        self.extensions.encode(encoder)?;
        self.data.encode(encoder)?;
        self.redactions.encode(encoder)
    }
}

impl<'de, C> BorrowDecode<'de, C> for Record<'de> {
    fn borrow_decode<D: BorrowDecoder<'de, Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let _format = u8::borrow_decode(decoder)?;
        Ok(Self {
            id: text(decoder)?,
            source: text(decoder)?,
            kind: text(decoder)?,
            stream: text(decoder)?,
            time: optional_text(decoder)?,
            datacontenttype: optional_text(decoder)?,
            dataschema: optional_text(decoder)?,
            actor: optional_text(decoder)?,
            agent: optional_text(decoder)?,
            session: optional_text(decoder)?,
            run: optional_text(decoder)?,
            call: optional_text(decoder)?,
            correlationid: optional_text(decoder)?,
            causationid: optional_text(decoder)?,
            traceparent: optional_text(decoder)?,
            tags: list(decoder, MAX_TAGS)?,
            extensions: list(decoder, MAX_EXTENSIONS)?,
            data: RecordData::borrow_decode(decoder)?,
            redactions: u32::borrow_decode(decoder)?,
        })
    }
}

impl Encode for SensitivePart<'_> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        PART_FORMAT.encode(encoder)?;
        self.datasubject.encode(encoder)?;
        match &self.data {
            Data::None => NO_DATA.encode(encoder),
            Data::Json(json) => (JSON_DATA, json.as_bytes()).encode(encoder),
            Data::Binary(bytes) => (BINARY_DATA, bytes).encode(encoder),
        }
    }
}

impl<'de, C> BorrowDecode<'de, C> for SensitivePart<'de> {
    fn borrow_decode<D: BorrowDecoder<'de, Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let _format = u8::borrow_decode(decoder)?;
        let datasubject = text(decoder)?;
        let data = match u8::borrow_decode(decoder)? {
            NO_DATA => Data::None,
            JSON_DATA => Data::Json(Json::stored(Cow::borrow_decode(decoder)?)),
            BINARY_DATA => Data::Binary(Cow::borrow_decode(decoder)?),
            _ => return Err(DecodeError::Other("tag of the data")),
        };
        Ok(Self { datasubject, data })
    }
}

impl Encode for RecordData<'_> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        match self {
            Self::None => NO_DATA.encode(encoder),
            Self::Json(json) => (JSON_DATA, json.as_bytes()).encode(encoder),
            Self::Binary(bytes) => (BINARY_DATA, bytes).encode(encoder),
            Self::Sealed(seal) => (SEALED_DATA, seal.subject_key, seal.seal).encode(encoder),
            Self::Expired(expired) => {
                (EXPIRED_DATA, expired.policy.get(), expired.commitment.0).encode(encoder)
            }
        }
    }
}

impl<'de, C> BorrowDecode<'de, C> for RecordData<'de> {
    fn borrow_decode<D: BorrowDecoder<'de, Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        match u8::borrow_decode(decoder)? {
            NO_DATA => Ok(Self::None),
            JSON_DATA => Ok(Self::Json(Json::stored(Cow::borrow_decode(decoder)?))),
            BINARY_DATA => Ok(Self::Binary(Cow::borrow_decode(decoder)?)),
            SEALED_DATA => {
                let (subject_key, seal) = BorrowDecode::borrow_decode(decoder)?;
                Ok(Self::Sealed(Seal { subject_key, seal }))
            }
            EXPIRED_DATA => {
                let (policy, commitment) = BorrowDecode::borrow_decode(decoder)?;
                let policy = Position::new(policy).ok_or(DecodeError::Other("position of a policy"))?;
                Ok(Self::Expired(Expired { policy, commitment: Commitment(commitment) }))
            }
            _ => Err(DecodeError::Other("tag of the data")),
        }
    }
}

impl Encode for ExtensionValue<'_> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        match self {
            Self::Text(text) => (TEXT_VALUE, text).encode(encoder),
            Self::Integer(number) => (INTEGER_VALUE, number).encode(encoder),
            Self::Boolean(value) => (BOOLEAN_VALUE, value).encode(encoder),
        }
    }
}

impl<'de, C> BorrowDecode<'de, C> for ExtensionValue<'de> {
    fn borrow_decode<D: BorrowDecoder<'de, Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        match u8::borrow_decode(decoder)? {
            TEXT_VALUE => Ok(Self::Text(text(decoder)?)),
            INTEGER_VALUE => Ok(Self::Integer(i32::borrow_decode(decoder)?)),
            BOOLEAN_VALUE => Ok(Self::Boolean(bool::borrow_decode(decoder)?)),
            _ => Err(DecodeError::Other("tag of an extension's value")),
        }
    }
}

fn text<'de, D: BorrowDecoder<'de>>(decoder: &mut D) -> Result<Cow<'de, str>, DecodeError> {
    Cow::borrow_decode(decoder)
}

fn optional_text<'de, D: BorrowDecoder<'de>>(decoder: &mut D) -> Result<Option<Cow<'de, str>>, DecodeError> {
    Option::borrow_decode(decoder)
}

/// A list of at most `max` items; a hostile count makes no room.
fn list<'de, D: BorrowDecoder<'de>, T: BorrowDecode<'de, D::Context>>(
    decoder: &mut D,
    max: usize,
) -> Result<Vec<T>, DecodeError> {
    let count = u64::borrow_decode(decoder)?;
    let count =
        usize::try_from(count).ok().filter(|count| *count <= max).ok_or(DecodeError::LimitExceeded)?;
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        items.push(T::borrow_decode(decoder)?);
    }
    Ok(items)
}
