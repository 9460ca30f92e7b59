//! The lines of an upload, gathered until they are worth an append.

use std::collections::VecDeque;

use axum::body::Bytes;
use bitacora_formats::limits::MAX_REQUEST_BYTES;

use crate::limits::{INGEST_AHEAD_BYTES, INGEST_CHUNK_BYTES, INGEST_CHUNK_LINES};

/// Bytes that have come and were not taken yet.
#[derive(Default)]
pub(super) struct Gathered {
    bytes: Vec<u8>,
    /// Where each whole line ends, its line feed included.
    ends: VecDeque<usize>,
    /// Bytes that were looked at for line feeds.
    scanned: usize,
    /// Lines that were taken.
    taken: u64,
}

/// Whole lines that follow each other.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub(super) bytes: Bytes,
    /// The number of its first line in the upload, from 1.
    pub(super) first: u64,
    pub(super) count: u64,
}

impl Gathered {
    /// Where more is to be written.
    pub(super) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Looks for lines in what was written.
    pub(super) fn scan(&mut self) {
        let new = self.bytes.get(self.scanned..).unwrap_or_default();
        let line_feeds = new.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        self.ends.extend(line_feeds.map(|(at, _)| self.scanned + at + 1));
        self.scanned = self.bytes.len();
    }

    /// What comes after the last line feed is the last line.
    pub(super) fn end(&mut self) {
        if self.ends.back().copied().unwrap_or_default() < self.bytes.len() {
            self.ends.push_back(self.bytes.len());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether more may be read before something is taken.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() < INGEST_AHEAD_BYTES || self.ends.is_empty()
    }

    pub(super) fn has_lines(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Whether the first lines fill a chunk.
    pub(super) fn has_chunk(&self) -> bool {
        self.ends.len() >= INGEST_CHUNK_LINES
            || self.ends.back().is_some_and(|end| *end >= INGEST_CHUNK_BYTES)
    }

    /// The number of the line that has begun and is longer than any event may be.
    pub(super) fn endless_line(&self) -> Option<u64> {
        let begun = self.bytes.len() - self.ends.back().copied().unwrap_or_default();
        (begun > MAX_REQUEST_BYTES).then(|| self.taken + self.ends.len() as u64 + 1)
    }

    /// The first lines, as many as one append takes.
    pub(super) fn take(&mut self) -> Option<Chunk> {
        let within = self.ends.iter().take(INGEST_CHUNK_LINES).take_while(|end| **end <= INGEST_CHUNK_BYTES);
        let count = within.count().max(1).min(self.ends.len());
        let end = *self.ends.get(count.checked_sub(1)?)?;
        self.ends.drain(..count);
        let rest = self.bytes.split_off(end);
        let bytes = std::mem::replace(&mut self.bytes, rest).into();
        self.ends.iter_mut().for_each(|later| *later -= end);
        self.scanned -= end;
        let first = self.taken + 1;
        self.taken += count as u64;
        Some(Chunk { bytes, first, count: count as u64 })
    }
}

impl Chunk {
    /// The number of its last line in the upload.
    pub(super) fn last(&self) -> u64 {
        self.first + self.count - 1
    }

    /// Its first lines and the others.
    pub(super) fn split(&self, lines: u64) -> (Self, Self) {
        let count = lines.min(self.count);
        let line_feeds = self.bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let end = match count.checked_sub(1) {
            None => 0,
            Some(before) => {
                let nth = usize::try_from(before).unwrap_or(usize::MAX);
                line_feeds.map(|(at, _)| at + 1).nth(nth).unwrap_or(self.bytes.len())
            }
        };
        let head = Self { bytes: self.bytes.slice(..end), first: self.first, count };
        let rest =
            Self { bytes: self.bytes.slice(end..), first: self.first + count, count: self.count - count };
        (head, rest)
    }

    /// The same lines in chunks of so many, the first ones first.
    pub(super) fn pieces(self, lines: u64) -> Vec<Self> {
        let (mut pieces, mut rest) = (Vec::new(), self);
        while rest.count > lines.max(1) {
            let (piece, behind) = rest.split(lines.max(1));
            pieces.push(piece);
            rest = behind;
        }
        pieces.push(rest);
        pieces
    }

    /// How many lines come before the one that holds its event of this index.
    pub(super) fn lines_before_event(&self, index: usize) -> u64 {
        self.lines_before_events().get(index).map_or(self.count, |before| u64::from(*before))
    }

    /// How many lines come before the one of each event; empty lines hold none.
    pub(super) fn lines_before_events(&self) -> Vec<u32> {
        let lines = (0_u32..).zip(self.bytes.split(|byte| *byte == b'\n'));
        let holds_event = |line: &[u8]| !line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        lines.filter(|(_, line)| holds_event(line)).map(|(before, _)| before).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(text: &str) -> Gathered {
        let mut gathered = Gathered::default();
        gathered.bytes_mut().extend_from_slice(text.as_bytes());
        gathered.scan();
        gathered
    }

    #[test]
    fn whole_lines_are_taken_and_the_rest_waits() {
        let mut lines = gathered("a\n\nbc\nd");
        assert!(lines.has_lines() && !lines.has_chunk());
        let chunk = lines.take().unwrap();
        assert_eq!((&chunk.bytes[..], chunk.first, chunk.count, chunk.last()), (&b"a\n\nbc\n"[..], 1, 3, 3));
        assert!(lines.take().is_none());
        lines.bytes_mut().extend_from_slice(b"e\nf");
        lines.scan();
        assert_eq!(&lines.take().unwrap().bytes[..], b"de\n");
        lines.end();
        let last = lines.take().unwrap();
        assert_eq!((&last.bytes[..], last.first, last.count), (&b"f"[..], 5, 1));
        lines.end();
        assert!(lines.take().is_none() && lines.len() == 0);
    }

    #[test]
    fn a_chunk_is_bounded_by_lines_and_by_bytes() {
        let mut lines = gathered(&"x\n".repeat(INGEST_CHUNK_LINES + 1));
        assert!(lines.has_chunk());
        assert_eq!(lines.take().unwrap().count, INGEST_CHUNK_LINES as u64);
        assert_eq!(lines.take().unwrap().first, INGEST_CHUNK_LINES as u64 + 1);
        let long = "y".repeat(INGEST_CHUNK_BYTES);
        let mut lines = gathered(&format!("a\nb\n{long}\nc\n"));
        assert_eq!(lines.take().unwrap().count, 2);
        assert_eq!(lines.take().unwrap().bytes.len(), long.len() + 1, "one line may be more");
        assert_eq!(lines.take().unwrap().first, 4);
        let endless = gathered(&format!("a\n{}", "z".repeat(MAX_REQUEST_BYTES + 1)));
        assert_eq!((endless.endless_line(), endless.has_room()), (Some(2), false));
    }

    #[test]
    fn a_chunk_is_divided_between_its_lines() {
        let chunk = gathered("a\n \r\nb\nc\n").take().unwrap();
        assert_eq!(chunk.lines_before_event(0), 0);
        assert_eq!(chunk.lines_before_event(1), 2);
        assert_eq!(chunk.lines_before_event(2), 3);
        let (head, rest) = chunk.split(2);
        assert_eq!(
            (&head.bytes[..], head.last(), &rest.bytes[..], rest.first),
            (&b"a\n \r\n"[..], 2, &b"b\nc\n"[..], 3)
        );
        let (none, all) = chunk.split(0);
        assert_eq!((none.bytes.len(), none.count, all.count), (0, 0, 4));
        let pieces = chunk.clone().pieces(3);
        let shown: Vec<_> = pieces.iter().map(|piece| (&piece.bytes[..], piece.first, piece.count)).collect();
        assert_eq!(shown, [(&b"a\n \r\nb\n"[..], 1, 3), (&b"c\n"[..], 4, 1)]);
        assert_eq!(chunk.pieces(4).len(), 1);
    }
}
