//! The removals that opened events record, compared with what the files hold: content that the retention policy removed, and erased keys.

use std::collections::{BTreeMap, BTreeSet};

use bitacora_archive_format::SignedManifest;
use bitacora_formats::{Generation, Position, Record, RecordData};
use bitacora_vocabulary::{EventData, RetentionExpired};
use sha2::{Digest as _, Sha256};

use super::fault::{Fault, FaultKind};
use super::folder::{SHOWN_ARCHIVES, shown_manifest};

/// Events behind one another whose expired records are noted together.
const NOTED_TOGETHER: u64 = 256;

/// Removals by the retention policy: those that `retention.expired` records, and the expired records that were found.
#[derive(Debug, Default, Clone)]
pub(super) struct Removals {
    /// By the first and the last event of the range.
    recorded: BTreeMap<(Position, Position), RecordedRemovals>,
    /// The first and the last expired record of some events, by these and the event of the policy.
    found: BTreeMap<(u64, Position), (Position, Position)>,
}

/// The removals of one range that events record.
#[derive(Debug, Default, Clone)]
struct RecordedRemovals {
    /// The latest revision of each generation's archive.
    latest: BTreeMap<Generation, RecordedRevision>,
    /// The events that set the policies.
    policies: BTreeSet<Position>,
}

/// A revision of an archive as an event records it; the latest event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RecordedRevision {
    event: Position,
    number: u64,
    manifest_sha256: [u8; 32],
}

impl Removals {
    /// Returns `true` if an event says something of a removal.
    pub(super) fn concern(record: &Record<'_>) -> bool {
        record.expired().is_some() || record.kind == RetentionExpired::KIND
    }

    /// Takes in an opened event.
    pub(super) fn note(&mut self, position: Position, record: &Record<'_>) {
        if let Some(expired) = record.expired() {
            let noted = (position.get() / NOTED_TOGETHER, expired.policy);
            let (first, last) = self.found.entry(noted).or_insert((position, position));
            (*first, *last) = ((*first).min(position), (*last).max(position));
        } else if record.kind == RetentionExpired::KIND
            && let RecordData::Json(json) = &record.data
            && let Ok(removal) = serde_json::from_slice(json.as_bytes())
        {
            self.note_removal(position, &removal);
        }
    }

    fn note_removal(&mut self, event: Position, removal: &RetentionExpired) {
        let digest = hex::decode(removal.manifest_sha256.as_str()).unwrap_or_default();
        let Ok(manifest_sha256) = digest.try_into() else { return };
        let number = removal.revision.get();
        let (first, last) = (removal.first.get(), removal.last.get());
        let of_range = self.recorded.entry((first, last)).or_default();
        of_range.policies.insert(removal.policy.get());
        let Some(generation) = generation_of(removal.archive.as_str()) else { return };
        let revision = RecordedRevision { event, number, manifest_sha256 };
        let latest = of_range.latest.entry(generation).or_insert(revision);
        *latest = (*latest).max(revision);
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
            for (generation, revision) in other.latest {
                let latest = of_range.latest.entry(generation).or_insert(revision);
                *latest = (*latest).max(revision);
            }
        }
    }

    /// Compares what was found with the kept manifests. Where `all` events were opened, each removal must be recorded.
    pub(super) fn check(&self, manifests: &[SignedManifest], all: bool) -> Result<(), Fault> {
        for manifest in manifests {
            let range = manifest.manifest().range;
            self.check_manifest(manifest, all).map_err(|kind| {
                Fault::at(shown_manifest(range), 0, range.first(), Some(range.last()), kind)
            })?;
        }
        let unrecorded = self.found.iter().find(|((_, policy), (first, last))| {
            [first, last].iter().any(|position| !self.is_recorded(**position, *policy))
        });
        match unrecorded.filter(|_| all) {
            Some(((_, policy), (first, last))) => {
                let kind = FaultKind::UnrecordedRemoval { policy: policy.get() };
                Err(Fault::at(SHOWN_ARCHIVES.to_owned(), 0, *first, Some(*last), kind))
            }
            None => Ok(()),
        }
    }

    /// Checks that a kept manifest is that of the latest recorded revision.
    fn check_manifest(&self, signed: &SignedManifest, all: bool) -> Result<(), FaultKind> {
        let manifest = signed.manifest();
        let range = (manifest.range.first(), manifest.range.last());
        let Some(of_range) = self.recorded.get(&range) else { return Ok(()) };
        let Some(latest) = of_range.latest.get(&manifest.origin.generation) else { return Ok(()) };
        let found: u64 = manifest.revision().get().into();
        let digest: [u8; 32] = Sha256::digest(signed.note().to_string().as_bytes()).into();
        // Where not all was opened, a later event may record a later revision.
        let is_later = !all && found > latest.number;
        if is_later || (found, digest) == (latest.number, latest.manifest_sha256) {
            return Ok(());
        }
        Err(FaultKind::ArchiveRevision { found, expected: latest.number, event: latest.event.get() })
    }

    /// Returns `true` if an event records that content at this position expired under this policy.
    fn is_recorded(&self, position: Position, policy: Position) -> bool {
        let ranges = self.recorded.iter().take_while(|((first, _), _)| *first <= position);
        ranges
            .into_iter()
            .any(|((_, last), of_range)| *last >= position && of_range.policies.contains(&policy))
    }
}

/// Returns the generation in the name of an archive: `<ledger id>/g<generation>/<first>-<last>.bca`.
fn generation_of(archive: &str) -> Option<Generation> {
    let generation = archive.split('/').nth(1)?.strip_prefix('g')?;
    generation.parse().ok().map(Generation)
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{Commitment, Data, Event, EventDraft, Expired, Json};

    use super::*;

    fn position(number: u64) -> Position {
        Position::new(number).unwrap()
    }

    fn record(kind: &'static str, data: String) -> Record<'static> {
        let mut event = Event::new("e", "urn:test", kind, "retention");
        event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
        match Record::draft(event, 0) {
            EventDraft::Clear(record) => record,
            EventDraft::Sensitive { .. } => panic!("it names nobody"),
        }
    }

    fn expired(policy: u64) -> Record<'static> {
        record("x.note", "{}".to_owned())
            .expire(Expired { policy: position(policy), commitment: Commitment([7; 32]) })
    }

    fn removal((first, last): (u64, u64), policy: u64) -> Record<'static> {
        let digest = "5a".repeat(32);
        record(
            RetentionExpired::KIND,
            format!(
                r#"{{"first":"{first}","last":"{last}","events":1,"archive":"a.r1.bca","revision":1,"manifest_sha256":"{digest}","policy":"{policy}"}}"#
            ),
        )
    }

    #[test]
    fn removed_content_needs_an_event_that_records_its_removal_under_its_policy() {
        let mut removals = Removals::default();
        removals.note(position(300), &expired(7));
        removals.note(position(310), &expired(7));
        assert!(removals.check(&[], false).is_ok(), "the rest was not opened");
        let unrecorded = |removals: &Removals| {
            let fault = removals.check(&[], true).unwrap_err();
            assert!(matches!(*fault.kind, FaultKind::UnrecordedRemoval { policy: 7 }), "{fault}");
            (fault.first_position, fault.last_position)
        };
        assert_eq!(unrecorded(&removals), (300, Some(310)));
        removals.note(position(900), &removal((300, 309), 7));
        removals.note(position(901), &removal((1, 400), 8));
        assert_eq!(unrecorded(&removals), (300, Some(310)), "one of them, and another policy");
        let mut whole = Removals::default();
        whole.note(position(902), &removal((1, 400), 7));
        whole.add(removals);
        assert!(whole.check(&[], true).is_ok());
    }
}
