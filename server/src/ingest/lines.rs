//! The lines of an upload, gathered until they are worth an append.

use axum::body::Bytes;
use bitacora_formats::limits::MAX_REQUEST_BYTES;

use crate::limits::{INGEST_AHEAD_BYTES, INGEST_CHUNK_BYTES, INGEST_CHUNK_LINES};

/// Bytes that have come and were not taken yet. Every byte is looked at a fixed number of times, and nothing is held for a line
/// beside its bytes: empty lines cost what their bytes cost.
#[derive(Default)]
pub(super) struct LineBuffer {
    bytes: Vec<u8>,
    /// Bytes at the front that were taken; moved away once they are half of all.
    start: usize,
    /// Bytes that were looked at for line feeds.
    scanned: usize,
    /// The end of the last whole line, its line feed included.
    whole: usize,
    /// Whole lines that were not taken, and how many of them hold something.
    lines: u64,
    events: usize,
    /// `true` where the line that has begun holds something.
    has_text: bool,
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
    /// The number of its lines that hold something.
    pub(super) events: usize,
}

/// `true` for bytes that a line without an event may hold.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

impl LineBuffer {
    /// Returns the buffer that more is to be written to.
    pub(super) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Looks for lines in what was written.
    pub(super) fn scan(&mut self) {
        for (at, byte) in self.bytes.iter().enumerate().skip(self.scanned) {
            self.has_text |= !is_blank(*byte);
            if *byte == b'\n' {
                self.whole = at + 1;
                self.lines += 1;
                self.events += usize::from(std::mem::take(&mut self.has_text));
            }
        }
        self.scanned = self.bytes.len();
    }

    /// Takes the rest after the last line feed as the last line.
    pub(super) fn end(&mut self) {
        if self.whole < self.bytes.len() {
            self.whole = self.bytes.len();
            self.lines += 1;
            self.events += usize::from(std::mem::take(&mut self.has_text));
        }
    }

    /// Bytes that it takes in memory.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns `true` if more may be read before something is taken.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() - self.start < INGEST_AHEAD_BYTES || !self.has_lines()
    }

    pub(super) fn has_lines(&self) -> bool {
        self.lines > 0
    }

    /// Returns `true` if the first lines fill a chunk.
    pub(super) fn has_chunk(&self) -> bool {
        self.events >= INGEST_CHUNK_LINES || self.whole - self.start >= INGEST_CHUNK_BYTES
    }

    /// The number of the line that has begun and is longer than any event may be.
    pub(super) fn endless_line(&self) -> Option<u64> {
        (self.bytes.len() - self.whole > MAX_REQUEST_BYTES).then(|| self.taken + self.lines + 1)
    }

    /// The first lines, as many as one append takes.
    pub(super) fn take(&mut self) -> Option<Chunk> {
        let whole = self.bytes.get(self.start..self.whole).unwrap_or_default();
        let (mut end, mut count, mut events) = (0, 0, 0);
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            let holds = usize::from(holds_event(line));
            if count > 0 && (end + line.len() > INGEST_CHUNK_BYTES || events + holds > INGEST_CHUNK_LINES) {
                break;
            }
            (end, count, events) = (end + line.len(), count + 1, events + holds);
        }
        let bytes = Bytes::copy_from_slice(whole.get(..end).filter(|lines| !lines.is_empty())?);
        let first = self.taken + 1;
        self.start += end;
        self.lines -= count;
        self.events -= events;
        self.taken += count;
        self.move_up();
        Some(Chunk { bytes, first, count, events })
    }

    /// Moves the rest to the front once it is no more than what was taken, so that each byte moves once or twice.
    fn move_up(&mut self) {
        let left = self.bytes.len() - self.start;
        if left > self.start {
            return;
        }
        self.bytes.drain(..self.start);
        self.whole -= self.start;
        self.scanned -= self.start;
        self.start = 0;
        // A line that was longer than usual leaves no room behind.
        if self.bytes.capacity() > 2 * INGEST_AHEAD_BYTES {
            self.bytes.shrink_to(INGEST_AHEAD_BYTES);
        }
    }
}

fn holds_event(line: &[u8]) -> bool {
    !line.iter().all(|byte| is_blank(*byte))
}

impl Chunk {
    /// The number of its last line in the upload.
    pub(super) fn last(&self) -> u64 {
        self.first + self.count - 1
    }

    /// Its first lines and the others.
    pub(super) fn split(&self, lines: u64) -> (Self, Self) {
        let count = lines.min(self.count);
        let (mut end, mut events) = (0, 0);
        let first_lines = self.bytes.split_inclusive(|byte| *byte == b'\n');
        for line in first_lines.take(usize::try_from(count).unwrap_or(usize::MAX)) {
            end += line.len();
            events += usize::from(holds_event(line));
        }
        let head = Self { bytes: self.bytes.slice(..end), first: self.first, count, events };
        let rest = Self {
            bytes: self.bytes.slice(end..),
            first: self.first + count,
            count: self.count - count,
            events: self.events - events,
        };
        (head, rest)
    }

    /// The same lines in pieces that begin after so many lines each, ascending.
    pub(super) fn cut(self, lines: &[u64]) -> Vec<Self> {
        let (mut pieces, mut rest) = (Vec::new(), self);
        let (start, end) = (rest.first, rest.last());
        for after in lines.iter().map(|lines| start + lines) {
            if after > rest.first && after <= end {
                let (piece, behind) = rest.split(after - rest.first);
                pieces.push(piece);
                rest = behind;
            }
        }
        pieces.push(rest);
        pieces
    }

    /// After how many lines it is cut so that no piece has more than so many events.
    pub(super) fn cuts(&self, events: usize) -> Vec<u64> {
        self.lines_before_events()
            .iter()
            .skip(events)
            .step_by(events.max(1))
            .map(|lines| (*lines).into())
            .collect()
    }

    /// Returns the number of lines before the one that holds its event of this index.
    pub(super) fn lines_before_event(&self, index: usize) -> u64 {
        self.lines_before_events().get(index).map_or(self.count, |before| u64::from(*before))
    }

    /// Returns the number of lines before the one of each event; empty lines hold none.
    pub(super) fn lines_before_events(&self) -> Vec<u32> {
        let lines = (0_u32..).zip(self.bytes.split(|byte| *byte == b'\n'));
        lines.filter(|(_, line)| holds_event(line)).map(|(before, _)| before).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(text: &str) -> LineBuffer {
        let mut buffer = LineBuffer::default();
        buffer.bytes_mut().extend_from_slice(text.as_bytes());
        buffer.scan();
        buffer
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
        assert!(lines.take().is_none() && !lines.has_lines() && lines.bytes.is_empty());
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

    /// The cost of an upload goes with its bytes and its events, however many lines there are.
    #[test]
    fn empty_lines_cost_what_their_bytes_cost() {
        const BYTES: usize = 16 * 1024 * 1024;
        let (mut buffer, mut chunks, mut lines, mut given) = (LineBuffer::default(), 0, 0, 0);
        let began = std::time::Instant::now();
        while given < BYTES || buffer.has_lines() {
            while given < BYTES && buffer.has_room() {
                buffer.bytes_mut().extend_from_slice(&[b'\n'; 32 * 1024]);
                buffer.scan();
                given += 32 * 1024;
            }
            let chunk = buffer.take().unwrap();
            assert_eq!(chunk.events, 0);
            (chunks, lines) = (chunks + 1, lines + chunk.count);
            assert!(buffer.capacity() <= 2 * INGEST_AHEAD_BYTES, "{}", buffer.capacity());
        }
        assert_eq!(lines, BYTES as u64);
        assert!(chunks <= BYTES / INGEST_CHUNK_BYTES + 1, "{chunks}");
        // 60 times as long where each take looks at all that waits.
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
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
        assert_eq!((chunk.events, head.events, rest.events), (3, 1, 2));
        assert_eq!((chunk.cuts(1), chunk.cuts(2), chunk.cuts(3)), (vec![2, 3], vec![3], vec![]));
        let pieces = chunk.clone().cut(&[3]);
        let shown: Vec<_> = pieces.iter().map(|piece| (&piece.bytes[..], piece.first, piece.count)).collect();
        assert_eq!(shown, [(&b"a\n \r\nb\n"[..], 1, 3), (&b"c\n"[..], 4, 1)]);
        let of_the_rest: Vec<_> = rest.cut(&[1]).iter().map(|piece| (piece.first, piece.count)).collect();
        assert_eq!(of_the_rest, [(3, 1), (4, 1)]);
        assert_eq!(chunk.cut(&[0, 4, 9]).len(), 1);
    }
}
