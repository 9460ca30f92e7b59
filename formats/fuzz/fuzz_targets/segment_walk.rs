//! Any bytes are a segment file, and a walk accounts for all of them.
//!
//! Every byte of a sound file is accounted for. A file whose torn end is cut off is sound. A walk that knows the
//! segment before gives the same answers as one that does not. Exactly the sound files pass.
#![no_main]

use bitacora_formats::limits::MAX_FRAME_BYTES;
use bitacora_formats::{
    Damage, DamageKind, FRAME_MAGIC, FRAME_OVERHEAD_BYTES, HeaderStep, LedgerId, Micros, PassStep, Position,
    SegmentEnd, SegmentFooter, SegmentHeader, SegmentNumber, SegmentPass, SegmentWalk, Step, StoredFrame,
    WalkedFrame, genesis_tip, is_all_zeros,
};
use bitacora_formats_fuzz::{assert_one_line, mend};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    mend::segment(&mut data[..size], seed);
    size
});

fuzz_target!(|bytes: &[u8]| {
    let (walk, header) = match SegmentWalk::start(bytes, None) {
        Err(step) => {
            assert!(passed(bytes).is_none());
            return check_unread(bytes, step);
        }
        Ok(started) => started,
    };
    let found = WalkOutput::of(walk, bytes);
    found.check(&header, bytes);
    let is_sound = found.last == LastStep::End && !found.frames.is_empty();
    assert_eq!(passed(bytes), is_sound.then_some((found.end, found.frames.len() as u64)));

    let (walk, _) = SegmentWalk::start(bytes, None).unwrap();
    let strict = WalkOutput::of(walk.every_signature(true), bytes);
    if strict.last == LastStep::End {
        assert_eq!(strict, found);
    }
    if let Some(before) = end_before(&header) {
        let (walk, _) = SegmentWalk::start(bytes, Some(&before)).unwrap();
        assert_eq!(WalkOutput::of(walk, bytes), found);
        check_other_ends(bytes, before);
    }
});

/// Returns the end and the number of frames of a segment that passes when it is given in pieces.
fn passed(bytes: &[u8]) -> Option<(SegmentEnd, u64)> {
    let (mut pass, _) = SegmentPass::start(bytes, false)?;
    let piece_bytes = 1 + bytes.len() % 1_000;
    let mut needed = piece_bytes;
    loop {
        let rest = &bytes[usize::try_from(pass.offset()).unwrap()..];
        match pass.step(&rest[..needed.min(rest.len())]) {
            PassStep::Frame(frame) => {
                assert!(pass.offset() > frame.offset);
                needed = piece_bytes;
            }
            PassStep::More { needed: more } if more <= rest.len() => {
                assert!(more > needed);
                needed = more;
            }
            PassStep::More { .. } | PassStep::Zeros => break,
            PassStep::Doubt => return None,
        }
    }
    let rest = &bytes[usize::try_from(pass.offset()).unwrap()..];
    let passed = pass.finish(bytes.len() as u64).filter(|_| is_all_zeros(rest))?;
    Some((passed.end, passed.frames))
}

/// The last step of a walk.
#[derive(Debug, PartialEq, Eq)]
enum LastStep {
    End,
    Torn(Damage),
    Corrupt(Damage),
}

/// All that a walk gave out.
#[derive(Debug, PartialEq, Eq)]
struct WalkOutput {
    /// The offset of each frame, and its bytes.
    frames: Vec<(u64, Vec<u8>)>,
    footer: Option<SegmentFooter>,
    last: LastStep,
    /// The offset at which the walk stopped.
    offset: u64,
    end: SegmentEnd,
}

impl WalkOutput {
    fn of(mut walk: SegmentWalk<'_>, bytes: &[u8]) -> Self {
        let (mut frames, mut footer) = (Vec::new(), None);
        let last = loop {
            let offset = walk.offset();
            match walk.next_step() {
                Step::Frame(WalkedFrame { offset: at, stored, tip }) => {
                    assert_eq!((at, tip), (offset, walk.end().tip));
                    frames.push((at, stored.bytes().to_vec()));
                    assert!(frames.len() <= bytes.len() / FRAME_OVERHEAD_BYTES && footer.is_none());
                }
                Step::Footer(found) => assert!(footer.replace(found).is_none()),
                Step::End => break LastStep::End,
                Step::Torn(damage) => break LastStep::Torn(damage),
                Step::Corrupt(damage) => break LastStep::Corrupt(damage),
            }
            assert!(walk.offset() > offset);
        };
        // The last step is repeated for ever.
        match (&last, walk.next_step()) {
            (LastStep::End, Step::End) => {}
            (LastStep::Torn(one), Step::Torn(other)) | (LastStep::Corrupt(one), Step::Corrupt(other)) => {
                assert_eq!(*one, other);
                assert_one_line(&other);
                assert_eq!(other.offset, walk.offset());
            }
            (_, step) => panic!("{last:?}, then {step:?}"),
        }
        Self { frames, footer, last, offset: walk.offset(), end: *walk.end() }
    }

    fn check(&self, header: &SegmentHeader, bytes: &[u8]) {
        self.check_dense(header);
        assert!(self.footer.is_none() || self.last == LastStep::End);
        match self.last {
            LastStep::End => assert_eq!(self.encoded(header, bytes.len()), bytes),
            LastStep::Torn(damage) => self.check_torn(damage, bytes),
            LastStep::Corrupt(damage) => assert!(damage.offset <= bytes.len() as u64),
        }
    }

    /// Every frame goes on where the one before has ended, and so does the end.
    fn check_dense(&self, header: &SegmentHeader) {
        let (mut next, mut tree_size) = (Some(header.first_position), header.frontier.size());
        let (mut time, mut tip) = (Micros(0), header.tip());
        for (number, frame) in (1..).zip(self.proven_frames()) {
            let stored = StoredFrame::parse(frame).unwrap();
            let frame = stored.header();
            assert_eq!((frame.number, Some(frame.first_position)), (number, next));
            assert_eq!((frame.previous, frame.tree_size), (tip.hash, tree_size + u64::from(frame.count)));
            assert!(frame.time >= time);
            (next, tree_size, time) = (frame.last_position().next(), frame.tree_size, frame.time);
            tip = stored.link(&tip).unwrap();
        }
        assert_eq!(
            (Some(self.end.next_position), self.end.tree_size, self.end.time),
            (next, tree_size, time)
        );
        let Some(footer) = self.footer else {
            // A footer that is sound in itself, but followed by something, is in the tip and not given out.
            let LastStep::Corrupt(Damage { kind: DamageKind::AfterFooter { .. }, .. }) = self.last else {
                return assert_eq!(self.end.tip, tip);
            };
            return;
        };
        assert_eq!(footer.frames as usize, self.frames.len());
        assert_eq!((footer.previous, footer.tree_size, footer.last_time), (tip.hash, tree_size, time));
        assert_eq!((footer.first_position, footer.last_position.next()), (header.first_position, next));
    }

    /// The frames but for a last one whose signature does not hold: it was given out, and then taken back.
    fn proven_frames(&self) -> impl Iterator<Item = &Vec<u8>> {
        let taken_back = self.frames.last().is_some_and(|(offset, _)| *offset >= self.offset);
        if taken_back {
            let LastStep::Corrupt(damage) = self.last else { panic!("{:?}", self.last) };
            assert!(matches!(damage.kind, DamageKind::Signature { .. }));
        }
        self.frames.iter().take(self.frames.len() - usize::from(taken_back)).map(|(_, frame)| frame)
    }

    /// Returns the file of this length that a writer of this header, these frames and this footer leaves.
    fn encoded(&self, header: &SegmentHeader, file_bytes: usize) -> Vec<u8> {
        let mut encoded = Vec::new();
        header.encode(&mut encoded);
        for (_, frame) in &self.frames {
            encoded.extend_from_slice(frame);
        }
        if let Some(footer) = &self.footer {
            footer.encode(&mut encoded);
        }
        encoded.resize(file_bytes, 0);
        encoded
    }

    /// Checks that a torn end can be overwritten with zeros, as an opening does, without a change to anything before it.
    fn check_torn(&self, damage: Damage, bytes: &[u8]) {
        let at = usize::try_from(damage.offset).unwrap();
        assert!(!is_all_zeros(&bytes[at..]));
        assert!(is_all_zeros(bytes.get(at + MAX_FRAME_BYTES..).unwrap_or_default()));
        assert_eq!(whole_frames(&bytes[at + 1..]), 0, "what anything valid follows is no torn write");
        let mut cut = bytes.to_vec();
        cut[at..].fill(0);
        let (walk, header) = SegmentWalk::start(&cut, None).unwrap();
        let again = Self::of(walk, &cut);
        assert_eq!((&again.frames, &again.last), (&self.frames, &LastStep::End));
        assert_eq!((again.offset, again.end), (self.offset, self.end));
        again.check(&header, &cut);
    }
}

/// Checks a file that has no header to begin with; a walk that knows the segment before sees none either.
fn check_unread(bytes: &[u8], step: HeaderStep) {
    assert_one_line(&step);
    assert_eq!(step == HeaderStep::Unwritten, is_all_zeros(bytes));
    let before = SegmentEnd::before_first(LedgerId([0; 16]));
    let expected = SegmentWalk::start(bytes, Some(&before)).err();
    assert_eq!(expected.is_some_and(|step| step == HeaderStep::Unwritten), step == HeaderStep::Unwritten);
    assert!(expected.is_some());
    if let HeaderStep::Torn(_) = step {
        assert!(whole_frames(bytes) <= 1, "a segment's first write is its header and one frame");
    }
}

/// Frames anywhere in the bytes whose checksum holds.
fn whole_frames(bytes: &[u8]) -> usize {
    let places = (0..bytes.len()).map(|at| &bytes[at..]).filter(|rest| rest.starts_with(&FRAME_MAGIC));
    places
        .filter_map(|rest| StoredFrame::parse(rest).ok())
        .filter(|frame| frame.link(&genesis_tip()).is_ok())
        .count()
}

/// The end of a segment that this header goes on from; none before the number 0.
fn end_before(header: &SegmentHeader) -> Option<SegmentEnd> {
    Some(SegmentEnd {
        ledger: header.ledger,
        generation: header.generation,
        epoch: header.epoch,
        number: SegmentNumber(header.number.0.checked_sub(1)?),
        next_position: header.first_position,
        time: Micros(0),
        tree_size: header.frontier.size(),
        tree_root: header.frontier.root(),
        tip: header.previous,
    })
}

/// The header goes on from no other end than its own.
fn check_other_ends(bytes: &[u8], own: SegmentEnd) {
    let mut other = [own; 8];
    other[0].ledger.0[0] ^= 1;
    other[1].number.0 ^= 1;
    other[2].next_position = own.next_position.next().unwrap_or(Position::FIRST);
    other[3].tree_size ^= 1;
    other[4].tree_root.0[31] ^= 1;
    other[5].tip.hash.0[0] ^= 1;
    other[6].tip.signature.0[63] ^= 1;
    // The last number of all: nothing goes on from it.
    other[7].number = SegmentNumber(u32::MAX);
    for end in other {
        let refused = SegmentWalk::start(bytes, Some(&end)).err();
        assert!(matches!(refused, Some(HeaderStep::Corrupt(_))), "{end:?}: {refused:?}");
    }
}
