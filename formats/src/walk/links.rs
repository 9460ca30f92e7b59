//! The state of a walk over the frames so far, against which every next link is checked.

use super::{SegmentEnd, ensure, ensure_time};
use crate::chain::ChainTip;
use crate::damage::DamageKind;
use crate::footer::{FOOTER_BYTES, SegmentFooter};
use crate::frame::FrameHeader;
use crate::ids::{Micros, Position};
use crate::segment::SegmentHeader;

/// The links of one segment, up to some place in it.
pub(super) struct Links {
    /// The place at which the next link is looked for, in bytes from the start of the file.
    pub(super) offset: usize,
    /// The end with which the next segment goes on, if this one ends here.
    pub(super) end: SegmentEnd,
    pub(super) every_signature: bool,
    ephemeral_public: [u8; 32],
    first_position: Position,
    first_time: Option<Micros>,
    frames: u64,
    /// The last frame, while its signature is not verified.
    unproven: Option<LastFrame>,
}

#[derive(Clone, Copy)]
struct LastFrame {
    offset: usize,
    last_position: Position,
    before: SegmentEnd,
}

/// A last frame whose signature does not hold.
pub(super) struct UnsignedFrame {
    pub(super) kind: DamageKind,
    pub(super) last_position: Position,
}

impl Links {
    /// The links after a header; no frame's time lies before `time`.
    pub(super) fn after(header: &SegmentHeader, time: Micros) -> Self {
        Self {
            offset: header.stored_bytes(),
            ephemeral_public: header.ephemeral_public,
            every_signature: false,
            first_position: header.first_position,
            first_time: None,
            frames: 0,
            end: SegmentEnd {
                ledger: header.ledger,
                generation: header.generation,
                epoch: header.epoch,
                number: header.number,
                next_position: header.first_position,
                time,
                tree_size: header.frontier.size(),
                tree_root: header.frontier.root(),
                tip: header.tip(),
            },
            unproven: None,
        }
    }

    pub(super) fn first_time(&self) -> Option<Micros> {
        self.first_time
    }

    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// Checks that the frame goes on from the one before.
    pub(super) fn check_next(&self, header: &FrameHeader) -> Result<(), DamageKind> {
        let (expected, found) = (self.frames + 1, header.number);
        ensure(expected == found, DamageKind::FrameNumber { expected, found })?;
        let (expected, found) = (self.end.next_position, header.first_position);
        ensure(expected == found, DamageKind::FirstPosition { expected, found })?;
        let (expected, found) = (self.end.tip.hash, header.previous);
        ensure(expected == found, DamageKind::PreviousHash { expected, found })?;
        let (expected, found) = (self.end.tree_size.saturating_add(header.count.into()), header.tree_size);
        ensure(expected == found, DamageKind::TreeSize { expected, found })?;
        ensure_time(self.end.time, header.time)
    }

    /// Takes in a frame that goes on from the one before and makes this tip of it.
    pub(super) fn take(&mut self, header: &FrameHeader, tip: ChainTip) -> Result<(), UnsignedFrame> {
        let last = LastFrame { offset: self.offset, last_position: header.last_position(), before: self.end };
        self.offset += header.stored_bytes();
        self.frames += 1;
        self.first_time.get_or_insert(header.time);
        self.unproven = Some(last);
        self.end = SegmentEnd {
            // `FrameHeader::check` has seen that this position exists.
            next_position: header.last_position().next().unwrap_or(self.end.next_position),
            time: header.time,
            tree_size: header.tree_size,
            tree_root: header.tree_root,
            tip,
            ..self.end
        };
        if self.every_signature { self.verify_last_signature() } else { Ok(()) }
    }

    /// Takes in the footer if it is the one over all frames, signed by the segment's key.
    pub(super) fn take_footer(&mut self, footer: &SegmentFooter) -> Result<(), DamageKind> {
        self.check_footer(footer)?;
        let tip = ChainTip { hash: footer.hash_after(&self.end.tip), signature: footer.signature };
        ensure(tip.is_signed_by(&self.ephemeral_public), DamageKind::Signature { hash: tip.hash })?;
        // The footer's signature covers the chain hash, which covers the last frame's signature.
        self.unproven = None;
        self.offset += FOOTER_BYTES;
        self.end.tip = tip;
        Ok(())
    }

    fn check_footer(&self, footer: &SegmentFooter) -> Result<(), DamageKind> {
        let (expected, found) = (self.frames, u64::from(footer.frames));
        ensure(expected == found, DamageKind::FrameCount { expected, found })?;
        let (expected, found) = (self.first_position, footer.first_position);
        ensure(expected == found, DamageKind::FirstPosition { expected, found })?;
        let (expected, found) = (self.end.next_position.get() - 1, footer.last_position);
        ensure(expected == found.get(), DamageKind::LastPosition { expected, found })?;
        let (expected, found) = (self.end.tip.hash, footer.previous);
        ensure(expected == found, DamageKind::PreviousHash { expected, found })?;
        let (expected, found) = (self.end.tree_size, footer.tree_size);
        ensure(expected == found, DamageKind::TreeSize { expected, found })?;
        let (expected, found) = (self.end.tree_root, footer.tree_root);
        ensure(expected == found, DamageKind::TreeRoot { expected, found })?;
        let (expected, found) = (self.first_time.map_or(0, |time| time.0), footer.first_time.0);
        ensure(expected == found, DamageKind::Time { what: "a first time", expected, found })?;
        let (expected, found) = (self.end.time.0, footer.last_time.0);
        ensure(expected == found, DamageKind::Time { what: "a last time", expected, found })
    }

    /// Verifies the last frame's signature; afterwards everything up to it is proven to be the segment's own. A frame whose
    /// signature does not hold is taken back.
    pub(super) fn verify_last_signature(&mut self) -> Result<(), UnsignedFrame> {
        let Some(last) = self.unproven.take() else { return Ok(()) };
        let tip = self.end.tip;
        if tip.is_signed_by(&self.ephemeral_public) {
            return Ok(());
        }
        self.offset = last.offset;
        self.frames -= 1;
        self.end = last.before;
        Err(UnsignedFrame {
            kind: DamageKind::Signature { hash: tip.hash },
            last_position: last.last_position,
        })
    }
}
