//! The state machine that follows a connection's bytes from request to request.

use crate::chunked_body::ChunkedBody;
use crate::head::{BodyFraming, checked_head};
use crate::{FramingError, MAX_HEAD_BYTES};

/// Follows the bytes of one connection from request to request. Pure: bytes in, a decision out.
pub struct RequestFraming {
    state: State,
    heads: u64,
}

enum State {
    /// In or before a head, whose first `scanned` bytes hold no end.
    Head { scanned: usize },
    /// In a body with this many bytes to come.
    Sized { remaining: u64 },
    /// In a chunked body.
    Chunked(ChunkedBody),
}

/// The part of a request that the connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPart {
    /// A request head, or the first byte of one.
    Head,
    /// The rest of a body.
    Body,
}

impl Default for RequestFraming {
    fn default() -> Self {
        Self::new()
    }
}

impl RequestFraming {
    /// Starts before the first byte of a connection.
    #[must_use]
    pub fn new() -> Self {
        Self { state: State::Head { scanned: 0 }, heads: 0 }
    }

    /// Returns the number of pending bytes, from the front, that may be passed on. 0: more bytes are needed; present the same ones again
    /// with those that follow them.
    ///
    /// # Errors
    /// A [`FramingError`], only for the bytes at the very front, and again when asked again.
    pub fn admit(&mut self, pending: &[u8]) -> Result<usize, FramingError> {
        let mut admitted = 0;
        while let Some(rest) = pending.get(admitted..).filter(|rest| !rest.is_empty()) {
            match self.admit_one(rest) {
                Ok(0) => break,
                Ok(bytes) => admitted += bytes,
                Err(error) if admitted == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(admitted)
    }

    /// Returns the part of a request that is due next.
    #[must_use]
    pub fn awaited(&self) -> RequestPart {
        match self.state {
            State::Head { .. } => RequestPart::Head,
            State::Sized { .. } | State::Chunked(_) => RequestPart::Body,
        }
    }

    /// Returns the number of heads that have been admitted.
    #[must_use]
    pub fn heads(&self) -> u64 {
        self.heads
    }

    fn admit_one(&mut self, rest: &[u8]) -> Result<usize, FramingError> {
        match &mut self.state {
            State::Head { scanned } => {
                let (head, framing) = match end_of_head(rest, *scanned)? {
                    Some(end) if end > MAX_HEAD_BYTES => return Err(FramingError::HeadTooLarge),
                    Some(end) => {
                        let head = rest.get(..end).unwrap_or_default();
                        (head, checked_head(head)?)
                    }
                    None if rest.len() >= MAX_HEAD_BYTES => return Err(FramingError::HeadTooLarge),
                    None => {
                        *scanned = rest.len();
                        return Ok(0);
                    }
                };
                self.heads += 1;
                self.state = match framing {
                    BodyFraming::Sized(0) => State::Head { scanned: 0 },
                    BodyFraming::Sized(bytes) => State::Sized { remaining: bytes },
                    BodyFraming::Chunked => State::Chunked(ChunkedBody::new()),
                };
                Ok(head.len())
            }
            State::Sized { remaining } => {
                let bytes =
                    usize::try_from(*remaining).map_or(rest.len(), |remaining| remaining.min(rest.len()));
                *remaining -= bytes as u64;
                if *remaining == 0 {
                    self.state = State::Head { scanned: 0 };
                }
                Ok(bytes)
            }
            State::Chunked(chunked) => {
                let bytes = chunked.admit(rest)?;
                if chunked.is_over() {
                    self.state = State::Head { scanned: 0 };
                }
                Ok(bytes)
            }
        }
    }
}

/// Returns the end of the head (past its empty line), if it is there. Bytes before `scanned` are known to hold no end.
fn end_of_head(bytes: &[u8], scanned: usize) -> Result<Option<usize>, FramingError> {
    // One step back: the line feed may have been the first byte that was missing.
    let mut at = scanned.saturating_sub(1);
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n')) {
        let line_feed = at + found;
        let before = bytes.get(..line_feed).unwrap_or_default();
        if !before.ends_with(b"\r") {
            return Err(FramingError::BareLineFeed);
        }
        if before.len() == 1 {
            return Err(FramingError::EmptyLineBeforeRequest);
        }
        if before.ends_with(b"\r\n\r") {
            return Ok(Some(line_feed + 1));
        }
        at = line_feed + 1;
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
