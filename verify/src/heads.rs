//! The tree heads beside one segment, checked against its frames and the stored bytes.
//!
//! Each is signed by the ledger, states the root of a frame of the segment, and is tied to the stored bytes by its
//! event.

mod read;
mod released;

use bitacora_formats::{
    ChainHash, ChainHead, Commitment, FrameHeader, Generation, LedgerId, LedgerName, Position, SegmentHeader,
    SegmentNumber, TreeHash,
};

use super::fault::{Fault, FaultKind, Gap};
use super::folder::shown_heads;
use super::head_faults::HeadFault;
use read::ReadHead;

pub(super) use read::ReadHeads;
pub(super) use released::{ReleasedHead, check_released};

/// The state of chain and tree at the end of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameEnd {
    pub(super) position: u64,
    pub(super) hash: ChainHash,
    pub(super) root: TreeHash,
}

/// The head that an event names in an earlier segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct EarlierHead {
    offset: u64,
    position: Position,
    pub(super) headed: ChainHead,
}

/// The heads of one segment, up to some frame, and the wanted ends of frames.
pub(super) struct SegmentHeads {
    read: ReadHeads,
    ledger: LedgerId,
    generation: Generation,
    first_position: Position,
    /// The positions at which the state of chain and tree is wanted, ascending.
    wanted: Vec<u64>,
    next_wanted: usize,
    ends: Vec<FrameEnd>,
    /// The first head whose event has not been in a frame yet.
    next_event: usize,
    /// Set when all of them were compared with the frames, and are valid.
    hold: bool,
}

/// The findings of a segment's heads.
#[derive(Default)]
pub(super) struct FoundHeads {
    /// The number of valid heads.
    pub(super) heads: u64,
    /// The number of those whose event is the one in the tree and names stored bytes that are there.
    pub(super) events: u64,
    /// The size of the last one.
    pub(super) last_size: Option<u64>,
    pub(super) named_before: Vec<EarlierHead>,
    /// The ends of frames that cosigned heads and the verifier's own ones name.
    pub(super) ends: Vec<FrameEnd>,
    pub(super) gap: Option<Gap>,
}

/// The expected values of every segment's heads.
#[derive(Clone, Copy)]
pub(super) struct HeadsExpected<'a> {
    pub(super) name: Option<&'a LedgerName>,
    /// The sizes of cosigned heads and of those that the verifier brought, ascending.
    pub(super) sizes: &'a [u64],
}

impl SegmentHeads {
    /// Begins with the heads that were read before the segment was.
    pub(super) fn begin(read: ReadHeads, header: &SegmentHeader, sizes: &[u64]) -> Self {
        let of_heads = read.heads.iter().flat_map(|head| [head.size, head.headed.size.get()]);
        let mut wanted: Vec<u64> = of_heads.chain(sizes.iter().copied()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        Self {
            read,
            ledger: header.ledger,
            generation: header.generation,
            first_position: header.first_position,
            wanted,
            next_wanted: 0,
            ends: Vec::new(),
            next_event: 0,
            hold: false,
        }
    }

    /// Takes in the next frame, with the chain hash after it.
    pub(super) fn frame(&mut self, header: &FrameHeader, hash: ChainHash) {
        let last = header.last_position().get();
        while let Some(position) = self.wanted.get(self.next_wanted).filter(|wanted| **wanted <= last) {
            if *position == last {
                self.ends.push(FrameEnd { position: last, hash, root: header.tree_root });
            }
            self.next_wanted += 1;
        }
    }

    /// Takes in the commitments of the next frame's events, as the tree holds them, by their number in the frame.
    pub(super) fn leaves(&mut self, header: &FrameHeader, commitment: impl Fn(usize) -> Option<Commitment>) {
        let (first, last) = (header.first_position, header.last_position());
        while let Some(head) = self.read.heads.get_mut(self.next_event).filter(|head| head.position <= last) {
            let number = head.position.get().checked_sub(first.get());
            head.in_tree = number.and_then(|number| commitment(usize::try_from(number).ok()?));
            self.next_event += 1;
        }
    }

    /// Ends after the last frame: every head is compared with the frames.
    pub(super) fn end(&mut self, expected: HeadsExpected<'_>) -> Result<(), Fault> {
        self.check_file()?;
        let mut before = self.first_position.get() - 1;
        for head in &self.read.heads {
            self.check(head, before, expected.name).map_err(|kind| self.fault(head, kind))?;
            before = head.size;
        }
        if let Some(fault) = self.read.fault.take() {
            return Err(fault);
        }
        self.hold = true;
        Ok(())
    }

    pub(super) fn found(mut self, expected: HeadsExpected<'_>) -> FoundHeads {
        if !self.hold {
            self.read.heads.clear();
        }
        let proven = |head: &&ReadHead| head.in_tree.is_some();
        let earlier = self.read.heads.iter().filter(proven).filter(|head| self.is_before(head));
        let named_before = earlier.map(|head| EarlierHead {
            offset: head.offset,
            position: head.position,
            headed: head.headed,
        });
        let known = |end: &&FrameEnd| expected.sizes.binary_search(&end.position).is_ok();
        FoundHeads {
            heads: self.read.heads.len() as u64,
            events: self.read.heads.iter().filter(proven).count() as u64,
            last_size: self.read.heads.last().map(|head| head.size),
            named_before: named_before.collect(),
            ends: self.ends.iter().filter(known).copied().collect(),
            gap: self.read.gap,
        }
    }

    fn check_file(&self) -> Result<(), Fault> {
        let Some(header) = &self.read.header else { return Ok(()) };
        let same = |what, expected: String, found: String| {
            if expected == found { Ok(()) } else { Err(HeadFault::Of { what, expected, found }) }
        };
        let ledger = same("ledger", self.ledger.to_string(), header.ledger.to_string());
        let number = same("segment", self.read.number.to_string(), header.segment.to_string());
        ledger.and(number).map_err(|kind| head_fault(self.read.number, 0, self.first_position, kind))
    }

    /// Checks a head's own claims, and that it follows the one before it.
    fn check_place(&self, head: &ReadHead, before: u64, name: Option<&LedgerName>) -> Result<(), HeadFault> {
        let ReadHead { origin, position, size, .. } = head;
        let name = name.unwrap_or(&origin.name);
        if (&origin.name, origin.ledger, origin.generation) != (name, self.ledger, self.generation) {
            let expected = format!("{name}/{}/g{}", self.ledger, self.generation);
            return Err(HeadFault::Origin { expected, found: origin.to_string() });
        }
        if position.get() <= before || *size < position.get() {
            return Err(HeadFault::Order { position: position.get(), before, size: *size });
        }
        Ok(())
    }

    fn check(&self, head: &ReadHead, before: u64, name: Option<&LedgerName>) -> Result<(), HeadFault> {
        self.check_place(head, before, name)?;
        let ReadHead { size, root, .. } = head;
        let end = self.end_at(*size).ok_or(HeadFault::Size { size: *size })?;
        if end.root != *root {
            return Err(HeadFault::Root { expected: end.root, found: *root });
        }
        match head.in_tree {
            Some(expected) if expected != head.commitment => {
                Err(HeadFault::Commitment { expected, found: head.commitment })
            }
            Some(_) if !self.is_before(head) => {
                let end = self.end_at(head.headed.size.get());
                check_hash(&head.headed, end.map(|end| end.hash))
            }
            _ => Ok(()),
        }
    }

    /// Returns `true` if its event names a frame of an earlier segment.
    fn is_before(&self, head: &ReadHead) -> bool {
        head.headed.size < self.first_position
    }

    fn end_at(&self, position: u64) -> Option<&FrameEnd> {
        let place = self.ends.binary_search_by_key(&position, |end| end.position);
        self.ends.get(place.ok()?)
    }

    fn fault(&self, head: &ReadHead, kind: HeadFault) -> Fault {
        head_fault(self.read.number, head.offset, head.position, kind)
    }
}

impl EarlierHead {
    /// Compares the named chain hash with the one there.
    pub(super) fn check(&self, number: SegmentNumber, found: Option<ChainHash>) -> Result<(), Fault> {
        let compared = check_hash(&self.headed, found);
        compared.map_err(|kind| head_fault(number, self.offset, self.position, kind))
    }
}

fn check_hash(headed: &ChainHead, in_chain: Option<ChainHash>) -> Result<(), HeadFault> {
    if in_chain == Some(headed.hash) {
        return Ok(());
    }
    let expected = in_chain.map_or_else(|| "of a frame that ends".to_owned(), |hash| hash.to_string());
    Err(HeadFault::Hash { size: headed.size.get(), expected, found: headed.hash })
}

/// Returns the fault of a head, by the position of its event.
pub(super) fn head_fault(number: SegmentNumber, offset: u64, position: Position, kind: HeadFault) -> Fault {
    Fault::at(shown_heads(number), offset, position, Some(position), FaultKind::Head(kind))
}
