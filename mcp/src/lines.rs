//! Lines of a stream, each within a limit.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use crate::limits::MAX_MESSAGE_BYTES;

/// A line that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// A line that was longer than the limit. Its bytes were dropped.
    TooLong,
    /// Nothing comes any more. A last line without an end is dropped: nobody knows whether it is whole.
    End,
}

/// Reads the next line that is not blank.
pub(crate) async fn next_line(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Line> {
    loop {
        match read_line(stream, MAX_MESSAGE_BYTES).await? {
            Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => {}
            read => return Ok(read),
        }
    }
}

async fn read_line(stream: &mut (impl AsyncBufRead + Unpin), limit: usize) -> io::Result<Line> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let piece = stream.fill_buf().await?;
        if piece.is_empty() {
            return Ok(Line::End);
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let part = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
        is_too_long |= line.len().saturating_add(part.len()) > limit;
        if is_too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let taken = end.map_or(piece.len(), |end| end.saturating_add(1));
        stream.consume(taken);
        if end.is_some() {
            return Ok(if is_too_long { Line::TooLong } else { Line::Whole(line) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_whole_or_not_at_all() {
        let mut stream: &[u8] = b"one\ntwo-too-long\nthree\r\n\nlast";
        let mut read = Vec::new();
        loop {
            match read_line(&mut stream, 6).await.unwrap() {
                Line::End => break,
                line => read.push(line),
            }
        }
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(read, [whole("one"), Line::TooLong, whole("three\r"), whole("")]);
        let mut blank: &[u8] = b"\n \r\n{}\n";
        assert_eq!(next_line(&mut blank).await.unwrap(), whole("{}"));
    }
}
