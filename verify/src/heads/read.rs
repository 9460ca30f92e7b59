//! A file of heads, read before its segment.
//! So the frames of a head that is written meanwhile are there first.

use std::io::{self, Read};

use bitacora_formats::limits::MAX_HEADS_BYTES;
use bitacora_formats::{
    ChainHead, Commitment, Generation, HeadEntry, HeadStep, HeadsError, HeadsHeader, HeadsWalk, LedgerId,
    LedgerOrigin, Position, SegmentNumber, SigningChain, TreeHash, UnverifiedTreeHead, commitment,
};

use super::{HeadFault, head_fault};
use crate::fault::{Fault, Gap};
use crate::folder::{LedgerFolder, shown_heads};

/// One head with a valid signature, and its event.
pub(crate) struct ReadHead {
    /// The offset of its entry in the file.
    pub(super) offset: u64,
    /// The position of its event.
    pub(super) position: Position,
    pub(super) origin: LedgerOrigin,
    pub(super) size: u64,
    pub(super) root: TreeHash,
    /// The commitment from blind and record of the event.
    pub(super) commitment: Commitment,
    /// The contents of that record.
    pub(super) headed: ChainHead,
    /// The commitment that the tree holds at the position, once that is known.
    pub(super) in_tree: Option<Commitment>,
}

/// The heads of a segment.
pub(crate) struct ReadHeads {
    pub(super) number: SegmentNumber,
    pub(super) header: Option<HeadsHeader>,
    /// The heads in order, up to the first fault.
    pub(super) heads: Vec<ReadHead>,
    pub(super) fault: Option<Fault>,
    pub(crate) gap: Option<Gap>,
}

impl ReadHeads {
    /// Returns no heads: nobody asked, or there is nothing to verify them with.
    pub(crate) fn none(number: SegmentNumber) -> Self {
        Self { number, header: None, heads: Vec::new(), fault: None, gap: None }
    }

    /// Reads the file of heads beside a segment, if there is one, and verifies every signature.
    pub(crate) fn read(folder: &LedgerFolder<'_>, number: SegmentNumber, chain: &SigningChain) -> Self {
        let mut read = Self::none(number);
        match load(folder, number) {
            Ok(bytes) => read.take(&bytes, chain),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                read.gap = Some(Gap::Heads { file: shown_heads(number), what: error.to_string() });
            }
        }
        read
    }

    /// Returns a fault for the first head beyond the ledger's end. Such a head covers more than `last`, the last position in
    /// this generation, or is of a later generation.
    pub(crate) fn first_lost(&self, ledger: LedgerId, generation: Generation, last: u64) -> Option<Fault> {
        let is_lost = |head: &&ReadHead| {
            let LedgerOrigin { ledger: of, generation: in_generation, .. } = &head.origin;
            *of == ledger && (*in_generation > generation || *in_generation == generation && head.size > last)
        };
        let head = self.heads.iter().find(is_lost)?;
        Some(head_fault(self.number, head.offset, head.position, HeadFault::Size { size: head.size }))
    }

    fn take(&mut self, bytes: &[u8], chain: &SigningChain) {
        let header = match HeadsHeader::parse(bytes) {
            Ok(header) => header,
            Err(error @ HeadsError::Unwritten { .. }) => {
                self.fault_at(0, Position::FIRST, error.into());
                return self.may_be_torn();
            }
            Err(error) => return self.fault_at(0, Position::FIRST, error.into()),
        };
        self.header = Some(header);
        let mut walk = HeadsWalk::new(bytes);
        loop {
            let offset = walk.offset() as u64;
            let last = self.heads.last().map_or(Position::FIRST, |head| head.position);
            match walk.step() {
                HeadStep::Entry(entry) => match read_head(&entry, offset, header.ledger, chain) {
                    Ok(head) => self.heads.push(head),
                    Err(kind) => return self.fault_at(offset, entry.position, kind),
                },
                HeadStep::End => return,
                HeadStep::Torn(error) => {
                    self.fault_at(offset, last, error.into());
                    return self.may_be_torn();
                }
                HeadStep::Corrupt(error) => return self.fault_at(offset, last, error.into()),
            }
        }
    }

    /// Marks the fault as one that a write cut short can explain: an opening sets it aside.
    fn may_be_torn(&mut self) {
        self.fault.iter_mut().for_each(|fault| fault.torn = true);
    }

    fn fault_at(&mut self, offset: u64, position: Position, kind: HeadFault) {
        self.fault = Some(head_fault(self.number, offset, position, kind));
    }
}

fn read_head(
    entry: &HeadEntry,
    offset: u64,
    ledger: LedgerId,
    chain: &SigningChain,
) -> Result<ReadHead, HeadFault> {
    let signed = UnverifiedTreeHead::parse(&entry.note)?.verify_with_chain(chain)?;
    let head = signed.head();
    // It is compared with the commitment in the tree once the frame of that position is read.
    let commitment = commitment(&entry.blind, &entry.record);
    Ok(ReadHead {
        offset,
        position: entry.position,
        origin: head.origin.clone(),
        size: head.size,
        root: head.root,
        commitment,
        headed: entry.headed(ledger, &commitment)?,
        in_tree: None,
    })
}

fn load(folder: &LedgerFolder<'_>, number: SegmentNumber) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    folder.open_heads(number)?.take(MAX_HEADS_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_HEADS_BYTES {
        return Err(io::Error::other(format!("more than {MAX_HEADS_BYTES} bytes")));
    }
    Ok(bytes)
}
