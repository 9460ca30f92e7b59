//! The bytes of a record taken apart without regard to their meaning, and put together again.
//!
//! The layout stands in `docs/formats/record.md`. A record with an integer that is longer than necessary is not taken
//! apart. Every record that is taken apart therefore comes back byte for byte.

use bitacora_formats::RECORD_FORMAT;
use bitacora_formats::limits::{MAX_EXTENSIONS, MAX_TAGS};

/// Optional attributes: `time` to `traceparent`, in the record's order.
pub(super) const OPTIONAL_ATTRIBUTES: usize = 11;

/// The value of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExtensionBytes<'a> {
    Text(&'a [u8]),
    /// The number as it is encoded.
    Integer(&'a [u8]),
    Boolean(bool),
}

/// The data of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataBytes<'a> {
    None,
    Json(&'a [u8]),
    Binary(&'a [u8]),
    /// The id of the subject's key, and the seal.
    Sealed(&'a [u8], &'a [u8]),
    /// The position of the policy, as it is encoded, and the commitment.
    Expired(&'a [u8], &'a [u8]),
}

/// A record's fields.
#[derive(Debug, Default)]
pub(super) struct RecordBytes<'a> {
    pub(super) id: &'a [u8],
    pub(super) source: &'a [u8],
    pub(super) kind: &'a [u8],
    pub(super) stream: &'a [u8],
    pub(super) optional: [Option<&'a [u8]>; OPTIONAL_ATTRIBUTES],
    pub(super) tags: Vec<&'a [u8]>,
    pub(super) extensions: Vec<(&'a [u8], ExtensionBytes<'a>)>,
    pub(super) data: Option<DataBytes<'a>>,
    pub(super) redactions: i64,
}

impl<'a> RecordBytes<'a> {
    /// Reads a record into the room of the one before; `None` where it is no record that would come back as it is.
    pub(super) fn read(&mut self, record: &'a [u8]) -> Option<()> {
        let mut rest = RecordCursor(record);
        if rest.byte()? != RECORD_FORMAT {
            return None;
        }
        self.id = rest.text()?;
        self.source = rest.text()?;
        self.kind = rest.text()?;
        self.stream = rest.text()?;
        for attribute in &mut self.optional {
            *attribute = match rest.byte()? {
                0 => None,
                1 => Some(rest.text()?),
                _ => return None,
            };
        }
        self.tags.clear();
        for _ in 0..rest.count(MAX_TAGS)? {
            self.tags.push(rest.text()?);
        }
        self.extensions.clear();
        for _ in 0..rest.count(MAX_EXTENSIONS)? {
            self.extensions.push((rest.text()?, rest.extension()?));
        }
        self.data = Some(match rest.byte()? {
            0 => DataBytes::None,
            1 => DataBytes::Json(rest.text()?),
            2 => DataBytes::Binary(rest.text()?),
            3 => DataBytes::Sealed(rest.take(16)?, rest.take(32)?),
            4 => DataBytes::Expired(rest.int_bytes()?, rest.take(32)?),
            _ => return None,
        });
        self.redactions = i64::try_from(rest.int()?).ok()?;
        rest.0.is_empty().then_some(())
    }
}

/// The unread rest of a record.
struct RecordCursor<'a>(&'a [u8]);

impl<'a> RecordCursor<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// An integer in as few bytes as bincode would write it.
    fn int(&mut self) -> Option<u64> {
        let (number, least) = match self.byte()? {
            251 => (u64::from(u16::from_le_bytes(self.fixed()?)), 251),
            252 => (u64::from(u32::from_le_bytes(self.fixed()?)), 1 << 16),
            253 => (u64::from_le_bytes(self.fixed()?), 1 << 32),
            254.. => return None,
            byte => (u64::from(byte), 0),
        };
        (number >= least).then_some(number)
    }

    /// The bytes of such an integer.
    fn int_bytes(&mut self) -> Option<&'a [u8]> {
        let before = self.0;
        self.int()?;
        before.get(..before.len() - self.0.len())
    }

    fn count(&mut self, max: usize) -> Option<usize> {
        usize::try_from(self.int()?).ok().filter(|count| *count <= max)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.count(self.0.len())?;
        self.take(length)
    }

    fn extension(&mut self) -> Option<ExtensionBytes<'a>> {
        Some(match self.byte()? {
            0 => ExtensionBytes::Text(self.text()?),
            1 => ExtensionBytes::Integer(self.int_bytes()?),
            2 => match self.byte()? {
                0 => ExtensionBytes::Boolean(false),
                1 => ExtensionBytes::Boolean(true),
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// An integer as a record has it: bytes, and how many of them.
pub(super) fn int_bytes(number: u64) -> ([u8; 9], usize) {
    let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
    match number {
        0..=250 => ([a, 0, 0, 0, 0, 0, 0, 0, 0], 1),
        251..=0xFFFF => ([251, a, b, 0, 0, 0, 0, 0, 0], 3),
        0x1_0000..=0xFFFF_FFFF => ([252, a, b, c, d, 0, 0, 0, 0], 5),
        _ => ([253, a, b, c, d, e, f, g, h], 9),
    }
}

/// Writes an integer as a record has it.
pub(super) fn put_int(number: u64, out: &mut Vec<u8>) {
    let (bytes, count) = int_bytes(number);
    out.extend_from_slice(bytes.get(..count).unwrap_or_default());
}

/// Writes bytes behind their length, as a record has them.
pub(super) fn put_text(text: &[u8], out: &mut Vec<u8>) {
    put_int(text.len() as u64, out);
    out.extend_from_slice(text);
}
