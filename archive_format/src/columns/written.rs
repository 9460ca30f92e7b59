//! Values by their written forms: read only where writing them gives the same text again.

use bitacora_formats::Micros;
use bitacora_formats::{format_time, parse_time};

/// Digits behind the point that a time may have here.
pub(super) const MAX_TIME_DIGITS: u32 = 6;
/// Digits that are read as one number: all such numbers fit 63 bits.
pub(super) const MAX_DIGITS: usize = 18;

/// Digits alone, of at most [`MAX_DIGITS`].
fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > MAX_DIGITS {
        return None;
    }
    text.iter()
        .try_fold(0_i64, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

/// A decimal integer without zeros in front, negative perhaps.
pub(super) fn read_integer(text: &[u8]) -> Option<i64> {
    match text {
        b"0" => Some(0),
        [b'-', first, ..] if *first != b'0' => digits(text.get(1..)?).map(|number| -number),
        [first, ..] if *first != b'0' => digits(text),
        _ => None,
    }
}

/// A decimal integer with zeros in front up to `width`.
pub(super) fn read_padded(text: &[u8], width: usize) -> Option<i64> {
    let is_padded = text.len() == width || text.len() > width && text.first() != Some(&b'0');
    is_padded.then(|| digits(text)).flatten()
}

/// A decimal fraction or integer: the number of digits behind the point, and all digits as one number.
pub(super) fn read_decimal(text: &[u8]) -> Option<(i64, i64)> {
    let Some(point) = text.iter().position(|byte| *byte == b'.') else {
        return read_integer(text).map(|number| (0, number));
    };
    let (whole, fraction) = (text.get(..point)?, text.get(point + 1..)?);
    let unsigned = whole.strip_prefix(b"-").unwrap_or(whole);
    if unsigned.is_empty()
        || unsigned.len() + fraction.len() > MAX_DIGITS
        || unsigned.len() > 1 && unsigned.starts_with(b"0")
    {
        return None;
    }
    let mut number = digits(unsigned)?;
    let _ = digits(fraction)?;
    for byte in fraction {
        number = number * 10 + i64::from(byte - b'0');
    }
    let negative = unsigned.len() < whole.len();
    // A zero has no sign that a number could keep.
    if negative && number == 0 {
        return None;
    }
    Some((i64::try_from(fraction.len()).ok()?, if negative { -number } else { number }))
}

/// Writes a number with zeros in front up to `width`, the sign not counted.
pub(super) fn write_integer(number: i64, width: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    let mut rest = number.unsigned_abs();
    for (at, digit) in digits.iter_mut().enumerate().rev() {
        if rest == 0 && first < 20 {
            break;
        }
        *digit = b'0' + (rest % 10).to_le_bytes()[0];
        rest /= 10;
        first = at;
    }
    first = first.min(20 - width.min(20));
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(digits.get(first..).unwrap_or_default());
}

/// Writes a decimal fraction; `None` where it has more digits behind the point than [`MAX_DIGITS`].
pub(super) fn write_decimal(scale: i64, number: i64, out: &mut Vec<u8>) -> Option<()> {
    let scale = usize::try_from(scale).ok().filter(|scale| *scale <= MAX_DIGITS)?;
    if scale == 0 {
        write_integer(number, 0, out);
        return Some(());
    }
    write_integer(number, scale + 1, out);
    out.insert(out.len() - scale, b'.');
    Some(())
}

/// Bytes of a time's text with so many digits behind the point.
pub(super) fn time_bytes(digits: u32) -> usize {
    match digits {
        0 => 20,
        digits => 21 + digits as usize,
    }
}

/// Units of a time with so many digits, in microseconds.
fn unit(digits: u32) -> u64 {
    10_u64.pow(MAX_TIME_DIGITS - digits.min(MAX_TIME_DIGITS))
}

/// A time of UTC since 1970, in units of its last digit: with `digits` of them behind the point.
pub(super) fn read_time(text: &[u8], digits: u32) -> Option<i64> {
    if text.len() != time_bytes(digits) || text.last() != Some(&b'Z') || text.get(10) != Some(&b'T') {
        return None;
    }
    // A leap second is not written back as it was.
    if text.get(17..19) == Some(b"60") {
        return None;
    }
    let micros = parse_time(std::str::from_utf8(text).ok()?).ok()?;
    i64::try_from(micros.0 / unit(digits)).ok()
}

/// Writes a time that [`read_time`] gave; `None` for one that no text has.
pub(super) fn write_time(time: i64, digits: u32, out: &mut Vec<u8>) -> Option<()> {
    const LAST: u64 = 253_402_300_799_999_999;
    let micros = u64::try_from(time).ok()?.checked_mul(unit(digits)).filter(|micros| *micros <= LAST)?;
    let text = format_time(Micros(micros));
    out.extend_from_slice(text.as_bytes().get(..time_bytes(digits) - 1)?);
    out.push(b'Z');
    Some(())
}

/// Writes the bytes that hexadecimal digits of one case mean.
pub(super) fn read_hex(text: &[u8], upper: bool, out: &mut Vec<u8>) -> Option<()> {
    let (pairs, []) = text.as_chunks() else { return None };
    let first_letter = if upper { b'A' } else { b'a' };
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        _ => byte.checked_sub(first_letter).filter(|letter| *letter < 6).map(|letter| letter + 10),
    };
    for [high, low] in pairs {
        out.push(digit(*high)? << 4 | digit(*low)?);
    }
    Some(())
}

pub(super) fn write_hex(bytes: &[u8], upper: bool, out: &mut Vec<u8>) {
    let first_letter = if upper { b'A' } else { b'a' };
    let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { first_letter + (nibble - 10) };
    for byte in bytes {
        out.extend([digit(byte >> 4), digit(byte & 15)]);
    }
}

/// The bytes in each group of a UUID.
const UUID_GROUPS: [usize; 5] = [4, 2, 2, 2, 6];

/// Writes the 16 bytes of a UUID in lower case.
pub(super) fn read_uuid(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut groups = text.split(|byte| *byte == b'-');
    for bytes in UUID_GROUPS {
        let group = groups.next()?;
        if group.len() != 2 * bytes {
            return None;
        }
        read_hex(group, false, out)?;
    }
    groups.next().is_none().then_some(())
}

pub(super) fn write_uuid(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = bytes;
    for (number, bytes) in UUID_GROUPS.into_iter().enumerate() {
        let (group, after) = rest.split_at_checked(bytes)?;
        rest = after;
        if number > 0 {
            out.push(b'-');
        }
        write_hex(group, false, out);
    }
    rest.is_empty().then_some(())
}

/// The digits of ULIDs: base 32 as Crockford has it.
const ULID_DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Characters of a ULID.
const ULID_BYTES: usize = 26;

/// Writes the 16 bytes of a ULID in upper case.
pub(super) fn read_ulid(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if text.len() != ULID_BYTES || text.first()? > &b'7' {
        return None;
    }
    let mut number = 0_u128;
    for byte in text {
        let digit = ULID_DIGITS.iter().position(|digit| digit == byte)?;
        number = number << 5 | digit as u128;
    }
    out.extend_from_slice(&number.to_be_bytes());
    Some(())
}

pub(super) fn write_ulid(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let number = u128::from_be_bytes(bytes.try_into().ok()?);
    for digit in (0..ULID_BYTES).rev() {
        let digit = usize::try_from(number >> (5 * digit) & 31).ok()?;
        out.push(*ULID_DIGITS.get(digit)?);
    }
    Some(())
}
