//! The chunked transfer coding (RFC 9112, section 7.1), followed but not decoded.

use crate::{FramingError, MAX_CHUNK_LINE_BYTES, MAX_TRAILER_BYTES};

/// At most this many hexadecimal digits name a chunk's size: 2^60 bytes is past any body.
const MAX_SIZE_DIGITS: usize = 15;

/// The place of the connection in a chunked body.
pub(crate) struct ChunkedBody {
    state: State,
}

enum State {
    SizeLine,
    Data { remaining: u64 },
    DataEnd,
    Trailer,
    Over,
}

impl ChunkedBody {
    pub(crate) fn new() -> Self {
        Self { state: State::SizeLine }
    }

    /// Returns `true` if the body's last byte has been admitted.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Returns the number of these bytes that may be passed on; 0 when more are needed to tell.
    pub(crate) fn admit(&mut self, rest: &[u8]) -> Result<usize, FramingError> {
        match &mut self.state {
            State::SizeLine => {
                let Some(line) = whole_line(rest, MAX_CHUNK_LINE_BYTES, FramingError::ChunkLineTooLong)?
                else {
                    return Ok(0);
                };
                self.state = match chunk_size(line).ok_or(FramingError::ChunkSize)? {
                    0 => State::Trailer,
                    bytes => State::Data { remaining: bytes },
                };
                Ok(line.len() + CRLF.len())
            }
            State::Data { remaining } => {
                let bytes =
                    usize::try_from(*remaining).map_or(rest.len(), |remaining| remaining.min(rest.len()));
                *remaining -= bytes as u64;
                if *remaining == 0 {
                    self.state = State::DataEnd;
                }
                Ok(bytes)
            }
            State::DataEnd if rest.starts_with(CRLF) => {
                self.state = State::SizeLine;
                Ok(CRLF.len())
            }
            State::DataEnd if CRLF.starts_with(rest) => Ok(0),
            State::DataEnd => Err(FramingError::ChunkEnd),
            State::Trailer => {
                let Some(bytes) = whole_trailer(rest)? else { return Ok(0) };
                self.state = State::Over;
                Ok(bytes)
            }
            State::Over => Ok(0),
        }
    }
}

const CRLF: &[u8] = b"\r\n";

/// The first line, without its end, once it is there.
fn whole_line(bytes: &[u8], max_bytes: usize, too_long: FramingError) -> Result<Option<&[u8]>, FramingError> {
    let window = bytes.get(..max_bytes).unwrap_or(bytes);
    match window.iter().position(|byte| *byte == b'\n') {
        Some(end) => {
            let line = window.get(..end).unwrap_or_default();
            let line = line.strip_suffix(b"\r").ok_or(FramingError::BareLineFeed)?;
            if line.contains(&b'\r') { Err(FramingError::BareCarriageReturn) } else { Ok(Some(line)) }
        }
        None if bytes.len() >= max_bytes => Err(too_long),
        None => Ok(None),
    }
}

/// `1*HEXDIG [ ";" extensions ]`: no space, no sign, no `0x`.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (size, extensions) = line.split_at_checked(digits)?;
    let visible = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    let well_formed =
        extensions.is_empty() || (extensions.starts_with(b";") && extensions.iter().all(visible));
    if !(1..=MAX_SIZE_DIGITS).contains(&digits) || !well_formed {
        return None;
    }
    std::str::from_utf8(size).ok().and_then(|size| u64::from_str_radix(size, 16).ok())
}

/// The length of the trailer section, its empty line included, once it is there. The fields themselves mean nothing
/// to us; they must only not be another request in disguise.
fn whole_trailer(bytes: &[u8]) -> Result<Option<usize>, FramingError> {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..) {
        let Some(line) = whole_line(rest, MAX_TRAILER_BYTES, FramingError::TrailerTooLarge)? else { break };
        at += line.len() + CRLF.len();
        if at > MAX_TRAILER_BYTES {
            return Err(FramingError::TrailerTooLarge);
        }
        if line.is_empty() {
            return Ok(Some(at));
        }
        if !is_field(line) {
            return Err(FramingError::Trailer);
        }
    }
    if bytes.len() >= MAX_TRAILER_BYTES { Err(FramingError::TrailerTooLarge) } else { Ok(None) }
}

fn is_field(line: &[u8]) -> bool {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
    let (name, value) = line.split_at(colon);
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !name.is_empty()
        && name.iter().all(token)
        && value.iter().all(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f))
}
