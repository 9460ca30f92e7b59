//! Integers of seven bits a byte, the lowest first, and a reader of bytes in order.

use super::ColumnsError;

/// Writes a number, in one to ten bytes.
pub(super) fn put(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Writes a signed number as 2n, or as -2n - 1 where it is negative.
pub(super) fn put_signed(number: i64, out: &mut Vec<u8>) {
    put(((number << 1) ^ (number >> 63)).cast_unsigned(), out);
}

/// Writes bytes behind their length.
pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// The unread rest of bytes that are read in order.
#[derive(Clone, Copy)]
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn byte(&mut self) -> Result<u8, ColumnsError> {
        let (byte, rest) = self.0.split_first().ok_or(ColumnsError::Truncated)?;
        self.0 = rest;
        Ok(*byte)
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<&'a [u8], ColumnsError> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(ColumnsError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number in as few bytes as it needs.
    pub(super) fn number(&mut self) -> Result<u64, ColumnsError> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 || shift > 63 || byte == 0 && shift > 0 {
                return Err(ColumnsError::Malformed { what: "a number's length" });
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
        }
    }

    pub(super) fn signed(&mut self) -> Result<i64, ColumnsError> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// A number of things, at most `max`.
    pub(super) fn count(&mut self, max: usize, what: &'static str) -> Result<usize, ColumnsError> {
        let count = usize::try_from(self.number()?).ok().filter(|count| *count <= max);
        count.ok_or(ColumnsError::Malformed { what })
    }

    /// Bytes behind their length.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], ColumnsError> {
        let length = self.count(self.0.len(), "a length")?;
        self.take(length)
    }
}
