//! Bytes that were handed to the disk and not read back from it yet.
//! Of frames that the disk turns out not to have, they alone are left.

use std::collections::VecDeque;

use bitacora_formats::SegmentNumber;

use crate::host::lock_order::{OrderedMutex, OrderedMutexGuard};
use crate::limits::MAX_UNPROVEN_BYTES;

/// Bytes of one segment, from one place of it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenBytes {
    pub(crate) segment: SegmentNumber,
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

impl WrittenBytes {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// The newest writes to segments, up to [`MAX_UNPROVEN_BYTES`]; the oldest is let go where there are more.
pub(crate) struct UnprovenWrites {
    state: OrderedMutex<State>,
    /// Nobody reads back where no tree heads are signed.
    is_kept: bool,
}

#[derive(Default)]
struct State {
    writes: VecDeque<WrittenBytes>,
    bytes: usize,
    is_ended: bool,
}

/// The amount that waits to be read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnprovenBacklog {
    /// Less than half of what is kept; or more, and that was told already.
    Little,
    /// Half of it, with these bytes.
    Much,
}

/// Nothing more is written: the disk does not have what it was given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WritesEnded;

impl UnprovenWrites {
    pub(crate) fn new(is_kept: bool) -> Self {
        Self { state: OrderedMutex::default(), is_kept }
    }

    fn lock(&self) -> OrderedMutexGuard<'_, State> {
        self.state.lock()
    }

    /// These bytes are written next, right behind the ones before. Called before they are, so that [`Self::end`] has all that the
    /// disk was given.
    pub(crate) fn push(
        &self,
        segment: SegmentNumber,
        offset: u64,
        bytes: &[u8],
    ) -> Result<UnprovenBacklog, WritesEnded> {
        let mut state = self.lock();
        if state.is_ended {
            return Err(WritesEnded);
        }
        let mut waiting = UnprovenBacklog::Little;
        if self.is_kept {
            let before = state.bytes;
            state.bytes += bytes.len();
            if before < MAX_UNPROVEN_BYTES / 2 && state.bytes >= MAX_UNPROVEN_BYTES / 2 {
                waiting = UnprovenBacklog::Much;
            }
            state.writes.push_back(WrittenBytes { segment, offset, bytes: bytes.to_vec() });
            while state.bytes > MAX_UNPROVEN_BYTES
                && let Some(oldest) = state.writes.pop_front()
            {
                state.bytes -= oldest.bytes.len();
            }
        }
        Ok(waiting)
    }

    /// The disk has all bytes of earlier segments, and those of this one before `end`.
    pub(crate) fn is_on_disk(&self, segment: SegmentNumber, end: u64) {
        let mut state = self.lock();
        let is_proven =
            |write: &WrittenBytes| write.segment < segment || write.segment == segment && write.end() <= end;
        while let Some(oldest) = state.writes.pop_front_if(|write| is_proven(write)) {
            state.bytes -= oldest.bytes.len();
        }
    }

    /// Ends the writing. Returns the remaining bytes, joined as they lie in each segment.
    pub(crate) fn end(&self) -> Vec<WrittenBytes> {
        let mut state = self.lock();
        state.is_ended = true;
        let mut joined: Vec<WrittenBytes> = Vec::new();
        for write in state.writes.drain(..) {
            match joined.last_mut() {
                Some(last) if last.segment == write.segment && last.end() == write.offset => {
                    last.bytes.extend_from_slice(&write.bytes);
                }
                _ => joined.push(write),
            }
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(segment: u32, offset: u64, bytes: &[u8]) -> WrittenBytes {
        WrittenBytes { segment: SegmentNumber(segment), offset, bytes: bytes.to_vec() }
    }

    #[test]
    fn what_was_not_read_back_is_joined_as_it_lies_and_nothing_is_written_after() {
        let unproven = UnprovenWrites::new(true);
        let push = |segment, offset, bytes: &[u8]| unproven.push(SegmentNumber(segment), offset, bytes);
        push(2, 0, b"header one").unwrap();
        push(2, 10, b"two").unwrap();
        push(2, 13, b"three").unwrap();
        push(3, 0, b"next").unwrap();
        unproven.is_on_disk(SegmentNumber(2), 10);
        unproven.is_on_disk(SegmentNumber(2), 12);
        assert_eq!(unproven.end(), [written(2, 10, b"twothree"), written(3, 0, b"next")]);
        assert_eq!(push(3, 4, b"more"), Err(WritesEnded));
        assert_eq!(unproven.end(), []);
    }

    #[test]
    fn only_the_newest_are_kept_and_none_where_nobody_reads_back() {
        let unproven = UnprovenWrites::new(true);
        let big = vec![7; MAX_UNPROVEN_BYTES / 2];
        let push = |number: u64| unproven.push(SegmentNumber(2), number * big.len() as u64, &big).unwrap();
        assert_eq!(
            (0..3).map(push).collect::<Vec<_>>(),
            [UnprovenBacklog::Much, UnprovenBacklog::Little, UnprovenBacklog::Little]
        );
        let [left] = &unproven.end()[..] else { panic!("one stretch") };
        assert_eq!((left.offset, left.bytes.len()), (big.len() as u64, MAX_UNPROVEN_BYTES));
        let unproven = UnprovenWrites::new(false);
        unproven.push(SegmentNumber(2), 0, b"x").unwrap();
        assert_eq!(unproven.end(), []);
    }
}
