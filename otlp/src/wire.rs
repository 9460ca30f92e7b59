//! The wire format of protobuf: fields of a message, borrowed from its bytes.

use std::borrow::Cow;

use crate::error::MalformedRequest;

/// The last bits of a tag that hold the wire type.
const WIRE_TYPE_BITS: u32 = 3;
/// Bytes of the longest varint.
const MAX_VARINT_BYTES: usize = 10;
/// The largest field number.
const MAX_FIELD_NUMBER: u64 = (1 << 29) - 1;

/// The value of a field, by its wire type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(Message<'a>),
    Fixed32(u32),
}

/// The bytes of a message, string or bytes field, and their place in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Message<'a> {
    /// The whole request.
    pub(crate) fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns its fields in their order.
    pub(crate) fn fields(self) -> Fields<'a> {
        Fields { rest: self.bytes, at: self.at }
    }

    /// Returns it as a string.
    pub(crate) fn text(self) -> Result<Cow<'a, str>, MalformedRequest> {
        let text = std::str::from_utf8(self.bytes);
        text.map(Cow::Borrowed)
            .map_err(|error| MalformedRequest::NotUtf8 { at: self.at + error.valid_up_to() })
    }

    /// Returns the last field of this number that is a message, if there is one.
    pub(crate) fn last_message(self, number: u32) -> Result<Option<Self>, MalformedRequest> {
        let mut found = None;
        for field in self.fields() {
            if let (of, WireValue::Bytes(message)) = field?
                && of == number
            {
                found = Some(message);
            }
        }
        Ok(found)
    }
}

/// The fields of a message. After an error there are no more.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, WireValue<'a>), MalformedRequest>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<(u32, WireValue<'a>), MalformedRequest> {
        let at = self.at;
        let not_protobuf = MalformedRequest::NotProtobuf { at };
        let tag = self.varint()?;
        let number = tag >> WIRE_TYPE_BITS;
        if number == 0 || number > MAX_FIELD_NUMBER {
            return Err(not_protobuf);
        }
        let number = u32::try_from(number).map_err(|_| not_protobuf.clone())?;
        let value = match tag & 7 {
            0 => WireValue::Varint(self.varint()?),
            1 => WireValue::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).map_err(|_| MalformedRequest::Truncated { at })?;
                let at = self.at;
                WireValue::Bytes(Message { bytes: self.take(length)?, at })
            }
            5 => WireValue::Fixed32(u32::from_le_bytes(self.array()?)),
            // Groups, which no message of OTLP has, and types that there are not.
            _ => return Err(not_protobuf),
        };
        Ok((number, value))
    }

    fn varint(&mut self) -> Result<u64, MalformedRequest> {
        let mut value = 0_u64;
        for index in 0..MAX_VARINT_BYTES {
            let [byte] = self.array()?;
            // The tenth byte has room for one bit.
            if index + 1 == MAX_VARINT_BYTES && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(MalformedRequest::NotProtobuf { at: self.at })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MalformedRequest> {
        let (taken, rest) =
            self.rest.split_first_chunk().ok_or(MalformedRequest::Truncated { at: self.at })?;
        (self.rest, self.at) = (rest, self.at + N);
        Ok(*taken)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], MalformedRequest> {
        let (taken, rest) =
            self.rest.split_at_checked(length).ok_or(MalformedRequest::Truncated { at: self.at })?;
        (self.rest, self.at) = (rest, self.at + length);
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Result<Vec<(u32, WireValue<'_>)>, MalformedRequest> {
        Message::whole(bytes).fields().collect()
    }

    #[test]
    fn fields_of_every_wire_type_are_read() {
        // As in the description of the encoding: `08 96 01` is field 1 with 150.
        assert_eq!(fields(&[0x08, 0x96, 0x01]).unwrap(), [(1, WireValue::Varint(150))]);
        let text = fields(&[0x12, 0x07, b't', b'e', b's', b't', b'i', b'n', b'g']).unwrap();
        assert!(matches!(text[..], [(2, WireValue::Bytes(message))] if message.text().unwrap() == "testing"));
        let fixed = fields(&[0x09, 1, 0, 0, 0, 0, 0, 0, 0, 0x15, 2, 0, 0, 0]).unwrap();
        assert_eq!(fixed, [(1, WireValue::Fixed64(1)), (2, WireValue::Fixed32(2))]);
        let most = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(fields(&most).unwrap(), [(1, WireValue::Varint(u64::MAX))]);
    }

    #[test]
    fn what_ends_early_or_is_no_field_is_named_with_its_place() {
        let truncated = |at| Err(MalformedRequest::Truncated { at });
        assert_eq!(fields(&[0x08]), truncated(1));
        assert_eq!(fields(&[0x08, 0x96]), truncated(2));
        assert_eq!(fields(&[0x08, 0x01, 0x12, 0x05, b'a']), truncated(4));
        assert_eq!(fields(&[0x09, 0, 0]), truncated(1));
        assert_eq!(fields(&[0x0b]), Err(MalformedRequest::NotProtobuf { at: 0 }), "a group");
        assert_eq!(fields(&[0x00, 0x00]), Err(MalformedRequest::NotProtobuf { at: 0 }), "field 0");
        assert!(fields(&[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2]).is_err(), "65 bits");
        let huge = [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(fields(&huge), truncated(10));
        let nested = Message { bytes: &[b'a', 0xff], at: 7 };
        assert_eq!(nested.text(), Err(MalformedRequest::NotUtf8 { at: 8 }));
    }
}
