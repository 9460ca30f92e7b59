//! The removals of expired content that opened events record, and the expired records that were found.

use std::collections::{BTreeMap, BTreeSet};

use bitacora_formats::{Generation, Position, Record, RecordData};
use bitacora_vocabulary::{ArchiveSealed, EventData, RetentionExpired, Sha256Text};
use serde::de::DeserializeOwned;

use super::declared::{begins_after_loss, begun_generation};

/// Events behind one another whose expired records are noted together.
const NOTED_TOGETHER: u64 = 256;

/// Removals by the retention policy: those that `retention.expired` records, and the expired records that were found.
#[derive(Debug, Default, Clone)]
pub(super) struct Removals {
    /// By the first and the last event of the range.
    pub(super) recorded: BTreeMap<(Position, Position), RecordedRemovals>,
    /// The first and the last expired record of some events, by these and the event of the policy.
    pub(super) found: BTreeMap<(u64, Position), (Position, Position)>,
    /// The digests of the manifests that `archive.sealed` names. A later revision is sealed once its manifest is kept.
    pub(super) sealed: BTreeSet<[u8; 32]>,
    /// The last event before each generation that begins with a declared loss.
    pub(super) losses: BTreeMap<Generation, u64>,
}

/// The removals of one range that events record.
#[derive(Debug, Default, Clone)]
pub(super) struct RecordedRemovals {
    /// The revisions of each generation's archive, in the order of their events.
    pub(super) revisions: BTreeMap<Generation, BTreeSet<RecordedRevision>>,
    /// The events that set the policies.
    pub(super) policies: BTreeSet<Position>,
}

/// A revision of an archive as an event records it; the latest event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordedRevision {
    pub(super) event: Position,
    pub(super) number: u64,
    pub(super) manifest_sha256: [u8; 32],
}

impl Removals {
    /// Returns `true` if an event says something of a removal.
    pub(super) fn concern(record: &Record<'_>) -> bool {
        record.expired().is_some()
            || [RetentionExpired::KIND, ArchiveSealed::KIND].contains(&&*record.kind)
            || begins_after_loss(record)
    }

    /// Takes in an opened event.
    pub(super) fn note(&mut self, position: Position, record: &Record<'_>) {
        if let Some(expired) = record.expired() {
            let noted = (position.get() / NOTED_TOGETHER, expired.policy);
            let (first, last) = self.found.entry(noted).or_insert((position, position));
            (*first, *last) = ((*first).min(position), (*last).max(position));
        } else if record.kind == RetentionExpired::KIND {
            if let Some(removal) = data_of(record) {
                self.note_removal(position, &removal);
            }
        } else if record.kind == ArchiveSealed::KIND {
            let sealed = data_of::<ArchiveSealed>(record);
            self.sealed.extend(sealed.and_then(|sealed| digest_of(&sealed.manifest_sha256)));
        } else if begins_after_loss(record)
            && let Some(generation) = begun_generation(record)
        {
            self.losses.insert(generation, position.get() - 1);
        }
    }

    fn note_removal(&mut self, event: Position, removal: &RetentionExpired) {
        let Some(manifest_sha256) = digest_of(&removal.manifest_sha256) else { return };
        let number = removal.revision.get();
        let (first, last) = (removal.first.get(), removal.last.get());
        let of_range = self.recorded.entry((first, last)).or_default();
        of_range.policies.insert(removal.policy.get());
        let Some(generation) = generation_of(removal.archive.as_str()) else { return };
        let revision = RecordedRevision { event, number, manifest_sha256 };
        of_range.revisions.entry(generation).or_default().insert(revision);
    }

    /// Takes in what other events record and hold.
    pub(super) fn add(&mut self, other: Self) {
        for (noted, (first, last)) in other.found {
            let known = self.found.entry(noted).or_insert((first, last));
            *known = (known.0.min(first), known.1.max(last));
        }
        for (range, other) in other.recorded {
            let of_range = self.recorded.entry(range).or_default();
            of_range.policies.extend(other.policies);
            for (generation, revisions) in other.revisions {
                of_range.revisions.entry(generation).or_default().extend(revisions);
            }
        }
        self.sealed.extend(other.sealed);
        self.losses.extend(other.losses);
    }
}

/// The data of an event, if it is what its type says.
fn data_of<T: DeserializeOwned>(record: &Record<'_>) -> Option<T> {
    let RecordData::Json(json) = &record.data else { return None };
    serde_json::from_slice(json.as_bytes()).ok()
}

fn digest_of(text: &Sha256Text) -> Option<[u8; 32]> {
    hex::decode(text.as_str()).ok()?.try_into().ok()
}

/// Returns the generation in the name of an archive: `<ledger id>/g<generation>/<first>-<last>.bca`.
fn generation_of(archive: &str) -> Option<Generation> {
    let generation = archive.split('/').nth(1)?.strip_prefix('g')?;
    generation.parse().ok().map(Generation)
}
