//! The whole frames of a segment of which one frame is known to be damaged.
//! Each frame was opened. Behind one that does not open, the next one that does was looked for.

use bitacora_formats::{FRAME_MAGIC, FrameOpener, Micros, Position, StoredFrame};

use super::{FrameEntry, FrameOutline};
use crate::limits::SURVEY_TRIAL_BYTES;

/// The frames of a segment that open under its key. The tag covers a frame's claims of its place, so positions are authentic.
#[derive(Clone, Default)]
pub(super) struct FrameSurvey {
    frames: Vec<(u64, FrameOutline)>,
    /// The offset in the file at which the survey ended.
    until: u64,
}

/// Positions that no frame which opens holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PositionGap {
    /// The offset in the file at which the frames before it end.
    pub(super) offset: u64,
    pub(super) first: Position,
    /// The last one, where something behind it tells.
    pub(super) last: Option<Position>,
}

/// The side of a hole on which a time is looked for, since nobody knows the times in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GapSide {
    /// Before it: what may be of that time or later.
    Before,
    /// Behind it: what certainly is.
    Behind,
}

impl FrameSurvey {
    /// The offset behind everything that was looked at.
    pub(super) fn until(&self) -> u64 {
        self.until
    }

    /// Looks at more of the file: `bytes` are those from `from` on. Frames of positions before `first`, or before those seen already, are
    /// passed over.
    pub(super) fn extend(&mut self, from: u64, bytes: &[u8], first: Position, opener: &FrameOpener) {
        let (mut at, mut tried) = (0, 0);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty() && tried < SURVEY_TRIAL_BYTES) {
            let next = self.next_position().unwrap_or(first);
            let frame = StoredFrame::parse(rest).ok().filter(|frame| frame.header().first_position >= next);
            if let Some(frame) = frame {
                let header = frame.header();
                if opener.open(&frame).is_ok() {
                    self.frames.push((from + at as u64, FrameOutline::of(header)));
                    at += header.stored_bytes();
                    continue;
                }
                tried += header.stored_bytes();
            }
            let behind = rest.get(1..).unwrap_or_default();
            let further = behind.windows(FRAME_MAGIC.len()).position(|found| found == FRAME_MAGIC);
            at += 1 + further.unwrap_or(behind.len());
        }
        self.until = from + bytes.len() as u64;
    }

    fn next_position(&self) -> Option<Position> {
        self.frames.last().and_then(|(_, frame)| frame.last_position().next())
    }

    /// The frames that open, and where they stand.
    pub(super) fn frames(&self) -> &[(u64, FrameOutline)] {
        &self.frames
    }

    /// The frame with a position of a segment from `first` to `last`; `None` behind its end, where that is known.
    pub(super) fn find(
        &self,
        position: Position,
        (first, last): (Position, Option<Position>),
    ) -> Result<Option<FrameEntry>, PositionGap> {
        let at = self.frames.partition_point(|(_, frame)| frame.last_position() < position);
        match self.frames.get(at) {
            Some((offset, frame)) if frame.first_position <= position => {
                Ok(Some(FrameEntry { offset: *offset, header: *frame, body: None }))
            }
            None if last.is_none_or(|last| last < position) => Ok(None),
            _ => Err(self.hole_before(at, first, last)),
        }
    }

    /// Returns the first hole in what was looked at, which begins at `start` in the file.
    pub(super) fn first_hole(
        &self,
        start: u64,
        (first, last): (Position, Option<Position>),
    ) -> Option<PositionGap> {
        let mut end = start;
        for (at, (offset, frame)) in self.frames.iter().enumerate() {
            if *offset != end {
                return Some(self.hole_before(at, first, last));
            }
            end = offset + frame.stored_bytes;
        }
        (end < self.until).then(|| self.hole_before(self.frames.len(), first, last))
    }

    /// Returns the first position of the first frame at `time` or later. With [`GapSide::Before`] it is that of a hole which may hold such a
    /// time. `None` where the segment ends before.
    pub(super) fn first_at(
        &self,
        time: Micros,
        side: GapSide,
        (first, last): (Position, Option<Position>),
    ) -> Option<Position> {
        let at = self.frames.partition_point(|(_, frame)| frame.time < time);
        let hole = self.hole_before(at, first, last);
        let found = self.frames.get(at).map(|(_, frame)| frame.first_position);
        let is_hole = match found {
            Some(found) => hole.first < found,
            None => last.is_some_and(|last| hole.first <= last),
        };
        if is_hole && side == GapSide::Before { Some(hole.first) } else { found }
    }

    /// Returns the hole between a frame and the one before it.
    fn hole_before(&self, at: usize, first: Position, last: Option<Position>) -> PositionGap {
        let before = at.checked_sub(1).and_then(|before| self.frames.get(before));
        let next = self.frames.get(at).map(|(_, frame)| frame.first_position);
        PositionGap {
            offset: before.map_or(0, |(offset, frame)| offset + frame.stored_bytes),
            first: before.and_then(|(_, frame)| frame.last_position().next()).unwrap_or(first),
            last: next.and_then(|next| Position::new(next.get() - 1)).or(last),
        }
    }
}
