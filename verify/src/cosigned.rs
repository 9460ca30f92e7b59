//! Cosigned tree heads beside the segments, checked against the frames and the known witnesses.
//!
//! Each is signed by the ledger and states the root of a frame of its segment. For a verifier that knows witnesses, it
//! is cosigned by enough of them or not.

use std::io::{self, Read};

use bitacora_formats::limits::MAX_NOTE_BYTES;
use bitacora_formats::{
    Cosignature, Generation, NoteSignature, Position, SegmentNumber, SignedTreeHead, SigningChain, TreeHead,
    UnverifiedTreeHead, WitnessKey, WitnessPolicy,
};

use super::assurance::{ClaimedIdentity, on_history};
use super::fault::{Fault, FaultKind, Gap};
use super::folder::{LedgerFolder, TREE, shown_cosigned};
use super::head_faults::{CosignedFault, HeadFault};
use super::heads::FrameEnd;
use super::ledger_head::Head;
use super::report::Report;

/// The cosigned heads beside the segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CosignedChecked {
    /// The heads that one of the ledger's keys signed, with the root that a frame of the segment states.
    pub heads: u64,
    /// The cosignatures on them by known witnesses.
    pub cosignatures: u64,
    /// The other lines on them, beside the ledger's own.
    pub others: u64,
    /// Set when the verifier knows any witnesses.
    pub asked: bool,
}

/// The largest head that enough witnesses cosigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessedHead {
    /// The file of the head.
    pub file: String,
    /// Its size.
    pub size: u64,
    /// The cosignatures, each with its witness and time.
    pub by: Vec<Cosignature>,
}

/// The end of a wanted frame, and its segment.
pub(super) struct FrameEndLocation {
    pub(super) segment: SegmentNumber,
    pub(super) generation: Generation,
    pub(super) end: FrameEnd,
}

/// The cosigned heads, read before the segments: the frames of a head that is cosigned meanwhile are there first.
#[derive(Default)]
pub(super) struct CosignedHeads {
    files: Vec<(SegmentNumber, Result<ReadCosigned, CosignedFault>)>,
    asked: bool,
}

/// A head whose signatures hold.
struct ReadCosigned {
    head: TreeHead,
    /// The number of the key that signed it.
    signed_by: Option<u32>,
    by: Vec<Cosignature>,
    /// The number of lines by others than the ledger and these witnesses.
    others: u64,
    /// Set when the verifier's policy is met.
    meets: bool,
}

impl CosignedHeads {
    /// Reads the heads of the segments that are here, and those behind the last one, and verifies every signature of a known key.
    pub(super) fn read(
        folder: &LedgerFolder<'_>,
        (first, last): (SegmentNumber, SegmentNumber),
        claimed: &ClaimedIdentity<'_>,
        policy: Option<&WitnessPolicy>,
        gaps: &mut Vec<Gap>,
    ) -> Self {
        let mut read = Self { files: Vec::new(), asked: policy.is_some() };
        let Some(chain) = claimed.chain else { return read };
        let keys = policy.map(WitnessPolicy::witness_keys).unwrap_or_default();
        let behind = match folder.cosigned_behind(last) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                gaps.push(Gap::Heads { file: TREE.to_owned(), what: error.to_string() });
                Vec::new()
            }
            listed => listed.unwrap_or_default(),
        };
        for number in (first.0..=last.0).map(SegmentNumber).chain(behind) {
            match load(folder, number) {
                Ok(bytes) => read.files.push((number, read_head(&bytes, (claimed, chain), policy, &keys))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    gaps.push(Gap::Heads { file: shown_cosigned(number), what: error.to_string() });
                }
            }
        }
        read
    }

    /// Returns the sizes of these heads and of others, ascending.
    pub(super) fn sizes_with(&self, others: &[u64]) -> Vec<u64> {
        let own = self.files.iter().filter_map(|(_, read)| Some(read.as_ref().ok()?.head.size));
        let mut sizes: Vec<u64> = own.chain(others.iter().copied()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Compares them with a ledger that was read to its end. A head that enough witnesses cosigned counts as one that
    /// the verifier kept: if the ledger does not continue it, the ledger is another one. Any other head that does not
    /// fit is a fault.
    pub(super) fn hold(
        self,
        folder: &LedgerFolder<'_>,
        last: (Head, Generation),
        ends: &[FrameEndLocation],
        report: &mut Report,
    ) {
        let mut checked = CosignedChecked { asked: self.asked, ..CosignedChecked::default() };
        let (mut largest, mut most) = (None::<WitnessedHead>, 0);
        let last_segment = report.last_segment();
        for (number, read) in self.files {
            if number > last_segment && !tells_of_a_loss(folder, number, &read, last) {
                continue;
            }
            let held = read.and_then(|read| {
                let file = shown_cosigned(number);
                let diverged = read.meets.then(|| on_history(&file, &read.head, last, ends)).flatten();
                if let Some(divergence) = diverged {
                    report.assurance.divergences.push(divergence);
                    return Ok(None);
                }
                read.check(number, ends)?;
                Ok(Some((file, read)))
            });
            let (file, read) = match held {
                Ok(Some(held)) => held,
                Ok(None) => continue,
                Err(kind) => {
                    report.cosigned = Some(checked);
                    report.fault = Some(cosigned_fault(number, kind));
                    return;
                }
            };
            checked.heads += 1;
            checked.cosignatures += read.by.len() as u64;
            checked.others += read.others;
            most = most.max(read.by.len());
            report.assurance.know(read.signed_by.filter(|_| read.meets));
            if read.meets && largest.as_ref().is_none_or(|before| before.size < read.head.size) {
                largest = Some(WitnessedHead { file, size: read.head.size, by: read.by });
            }
        }
        report.cosigned = Some(checked);
        if self.asked && largest.is_none() && report.assurance.divergences.is_empty() {
            report.gaps.push(Gap::NotWitnessed { heads: checked.heads, most });
        }
        report.assurance.witnessed = largest;
    }
}

impl ReadCosigned {
    /// Checks that it is of a frame of this segment.
    fn check(&self, number: SegmentNumber, ends: &[FrameEndLocation]) -> Result<(), HeadFault> {
        let TreeHead { origin, size, root } = &self.head;
        let placed = ends.iter().find(|placed| placed.end.position == *size);
        let FrameEndLocation { segment, generation, end } = placed.ok_or(HeadFault::Size { size: *size })?;
        if *segment != number {
            let (expected, found) = (number.to_string(), segment.to_string());
            return Err(HeadFault::Of { what: "segment", expected, found });
        }
        if *generation != origin.generation {
            let expected = format!("{}/{}/g{generation}", origin.name, origin.ledger);
            return Err(HeadFault::Origin { expected, found: origin.to_string() });
        }
        if end.root == *root { Ok(()) } else { Err(HeadFault::Root { expected: end.root, found: *root }) }
    }
}

/// Returns `true` if a head behind the last segment covers missing events. If a segment was written since, its frames are there.
fn tells_of_a_loss(
    folder: &LedgerFolder<'_>,
    number: SegmentNumber,
    read: &Result<ReadCosigned, CosignedFault>,
    (last, generation): (Head, Generation),
) -> bool {
    let Ok(ReadCosigned { head: TreeHead { origin, size, .. }, .. }) = read else { return false };
    let is_lost = origin.generation > generation || origin.generation == generation && *size > last.position;
    is_lost && folder.holds_nothing(number)
}

fn read_head(
    bytes: &[u8],
    (claimed, chain): (&ClaimedIdentity<'_>, &SigningChain),
    policy: Option<&WitnessPolicy>,
    keys: &[WitnessKey],
) -> Result<ReadCosigned, CosignedFault> {
    let text = std::str::from_utf8(bytes).map_err(|_| CosignedFault::NoText)?;
    let signed = verify(text, claimed, chain)?;
    let by = signed.note().cosigned_by(keys)?;
    let name = signed.head().origin.to_string();
    let is_other = |line: &&NoteSignature| {
        let made_it = |one: &Cosignature| one.key.id() == line.key() && one.key.name() == line.name();
        line.name() != name && !by.iter().any(made_it)
    };
    let others = signed.note().signatures().iter().filter(is_other).count() as u64;
    let meets = policy.is_some_and(|policy| {
        policy.asks_for_witnesses() && policy.is_met(by.iter().map(|cosignature| &cosignature.key))
    });
    let signed_by = signed.signing_key(chain);
    Ok(ReadCosigned { head: signed.head().clone(), signed_by, by, others, meets })
}

fn verify(
    text: &str,
    claimed: &ClaimedIdentity<'_>,
    chain: &SigningChain,
) -> Result<SignedTreeHead, HeadFault> {
    let signed = UnverifiedTreeHead::parse(text)?.verify_with_chain(chain)?;
    let origin = &signed.head().origin;
    let name = claimed.name.unwrap_or(&origin.name);
    if (&origin.name, origin.ledger) == (name, claimed.ledger) {
        return Ok(signed);
    }
    let expected = format!("{name}/{}/g{}", claimed.ledger, origin.generation);
    Err(HeadFault::Origin { expected, found: origin.to_string() })
}

/// Reads the file. One byte more than a note can have is enough to refuse it.
fn load(folder: &LedgerFolder<'_>, number: SegmentNumber) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    folder.open_cosigned(number)?.take(MAX_NOTE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the fault of the file, which is one note; it touches no position by itself.
fn cosigned_fault(number: SegmentNumber, kind: CosignedFault) -> Fault {
    let first = match &kind {
        CosignedFault::Head(HeadFault::Size { size }) => Position::new(*size),
        _ => None,
    };
    let file = shown_cosigned(number);
    Fault::at(file, 0, first.unwrap_or(Position::FIRST), None, FaultKind::Cosigned(kind))
}
