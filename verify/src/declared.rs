//! The event `ledger.recovered`, the first of a generation: the lost tree head, and the retained head.

use bitacora_formats::{
    ChainHash, Generation, LedgerId, Position, Record, RecordData, SigningChain, TreeHash,
    UnverifiedTreeHead, service_source,
};
use serde::Deserialize;

use super::fault::FaultKind;
use super::ledger_head::Head;

/// The event's type.
const RECOVERED_KIND: &str = "ledger.recovered";

/// A declared loss, as the ledger itself records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredLoss {
    /// The last tree head that is not reached any more; `None` where none was known.
    pub lost: Option<LostHead>,
    /// The head that the generation went on from, with the chain hash of the last frame at that time.
    pub retained: Head,
    /// Set when the same events, under the same root, are in other frames now. Archives keep events and no frames, so
    /// that a ledger restored from them has another chain hash there.
    pub in_other_frames: bool,
}

/// A tree head whose events are lost or replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostHead {
    /// The number of events that it covers.
    pub size: u64,
    /// The root over their leaves; `None` where only a witness knew the head.
    pub root: Option<TreeHash>,
    /// The note and its signer; `None` where only a witness knew the head.
    pub note: Option<LostHeadNote>,
}

/// The note of a lost head; its signature is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostHeadNote {
    /// The note's signed text.
    pub text: String,
    /// The generation that it was signed in.
    pub generation: Generation,
    /// The number of the ledger's signing key that signed it.
    pub signing_key: u32,
}

impl DeclaredLoss {
    /// Returns the first and the last position that are known to be lost. `None` where no head shows it, or where other
    /// events took their places.
    #[must_use]
    pub fn lost_positions(&self) -> Option<(u64, u64)> {
        let last = self.lost.as_ref()?.size;
        (last > self.retained.position).then(|| (self.retained.position.saturating_add(1), last))
    }
}

/// The event as it stands in its record, not compared with anything yet.
pub(super) struct UncheckedLoss {
    generation: Generation,
    lost: Option<(u64, Option<TreeHash>, Option<String>)>,
    retained: Head,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecoveredData {
    generation: u32,
    lost_head: Option<RecoveredHead>,
    retained: RetainedMembers,
}

#[derive(Deserialize)]
struct RecoveredHead {
    size: String,
    root: Option<String>,
    note: Option<String>,
}

#[derive(Deserialize)]
struct RetainedMembers {
    size: String,
    root: String,
    hash: String,
}

impl UncheckedLoss {
    /// Reads the declared loss of a record, if the record is such an event.
    pub(super) fn read(record: &Record<'_>, ledger: LedgerId) -> Result<Option<Self>, FaultKind> {
        if record.kind != RECOVERED_KIND || record.source != service_source(ledger) {
            return Ok(None);
        }
        let recovered: Option<RecoveredData> = match &record.data {
            RecordData::Json(json) => serde_json::from_slice(json.as_bytes()).ok(),
            _ => None,
        };
        let read = recovered.and_then(Self::of);
        read.map(Some)
            .ok_or_else(|| wrong("data", "that names generation, lostHead and retained", "other data"))
    }

    fn of(recovered: RecoveredData) -> Option<Self> {
        let RecoveredData { generation, lost_head, retained } = recovered;
        let lost = match lost_head {
            Some(RecoveredHead { size, root, note }) => {
                let root = root.map(|root| root.parse()).transpose().ok()?;
                Some((size.parse::<Position>().ok()?.get(), root, note))
            }
            None => None,
        };
        let retained = Head {
            position: retained.size.parse::<Position>().ok()?.get(),
            hash: retained.hash.parse::<ChainHash>().ok()?,
            tree_root: retained.root.parse().ok()?,
        };
        Some(Self { generation: Generation(generation), lost, retained })
    }

    /// Compares it with its place, in a generation that continues `before`, and verifies the signature of the head that it calls lost.
    pub(super) fn check(
        self,
        (ledger, generation): (LedgerId, Generation),
        before: &Head,
        chain: Option<&SigningChain>,
    ) -> Result<DeclaredLoss, FaultKind> {
        same("generation", &generation, &self.generation)?;
        same("retained size", &before.position, &self.retained.position)?;
        same("retained root", &before.tree_root, &self.retained.tree_root)?;
        // The root holds the events of before; the hash, which frames they stood in.
        let in_other_frames = before.hash != self.retained.hash;
        let lost = match self.lost {
            Some((size, root, note)) => {
                let note = match note {
                    Some(text) => Some(lost_note(text, (ledger, size, root), chain)?),
                    None => None,
                };
                Some(LostHead { size, root, note })
            }
            None => None,
        };
        Ok(DeclaredLoss { lost, retained: self.retained, in_other_frames })
    }
}

/// Returns `true` if an event is of the type that begins a generation after a loss. The ledger alone writes it.
pub(super) fn begins_after_loss(record: &Record<'_>) -> bool {
    record.kind == RECOVERED_KIND
}

/// Returns the generation that such an event begins.
pub(super) fn begun_generation(record: &Record<'_>) -> Option<Generation> {
    let RecordData::Json(json) = &record.data else { return None };
    let recovered = serde_json::from_slice::<RecoveredData>(json.as_bytes()).ok()?;
    Some(Generation(recovered.generation))
}

/// Returns the fault of a missing declaration at the beginning of a generation after the first.
pub(super) fn undeclared(generation: Generation) -> FaultKind {
    wrong("first event", format!("of generation {generation}"), "another event")
}

/// Checks that a note called lost is one that the ledger signed, of the size and root that are named beside it.
fn lost_note(
    text: String,
    (ledger, size, root): (LedgerId, u64, Option<TreeHash>),
    chain: Option<&SigningChain>,
) -> Result<LostHeadNote, FaultKind> {
    let of_the_ledger = "of a head that the ledger signed";
    let refused = |why: &dyn std::fmt::Display| wrong("lost note", of_the_ledger, why);
    let chain = chain.ok_or_else(|| refused(&"no key to verify it with"))?;
    let head = UnverifiedTreeHead::parse(&text).and_then(|head| head.verify_with_chain(chain));
    let head = head.map_err(|error| refused(&error))?;
    let signing_key = head.signing_key(chain).ok_or_else(|| refused(&"another signer"))?;
    let origin = &head.head().origin;
    same("lost note of ledger", &ledger, &origin.ledger)?;
    same("lost note of size", &size, &head.head().size)?;
    root.map_or(Ok(()), |root| same("lost note of root", &root, &head.head().root))?;
    Ok(LostHeadNote { generation: origin.generation, signing_key, text })
}

fn same<T: PartialEq + std::fmt::Display>(
    what: &'static str,
    expected: &T,
    found: &T,
) -> Result<(), FaultKind> {
    if expected == found { Ok(()) } else { Err(wrong(what, expected, found)) }
}

fn wrong(what: &'static str, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> FaultKind {
    let found = found.to_string().escape_debug().to_string();
    FaultKind::Recovered { what, expected: expected.to_string(), found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positions_behind_what_is_left_are_lost() {
        let head = |position| Head { position, hash: ChainHash([1; 32]), tree_root: TreeHash([2; 32]) };
        for (size, lost_positions) in [(6, None), (7, None), (8, Some((8, 8))), (9, Some((8, 9)))] {
            let lost = Some(LostHead { size, root: None, note: None });
            let declared = DeclaredLoss { lost, retained: head(7), in_other_frames: false };
            assert_eq!(declared.lost_positions(), lost_positions, "a head of {size}");
        }
        let unknown = DeclaredLoss { lost: None, retained: head(7), in_other_frames: false };
        assert_eq!(unknown.lost_positions(), None);
    }
}
