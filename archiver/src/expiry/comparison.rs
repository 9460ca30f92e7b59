//! The comparison of two revisions of an archive: the later one must be the earlier one without the content of some events.
//!
//! The policy in force is asked again of each of these events, unless the log records their removal: the revision may be from a run under
//! another one.

use std::collections::BTreeMap;

use bitacora_archive_format::{ArchiveError, ArchivedState, ColumnRow, Manifest};
use bitacora_formats::{Keyring, LedgerKeys, Position};
use bitacora_ledger::HoldsInForce;
use sha2::{Digest, Sha256};

use super::expired_rows::{expired_record, record_of, without_content};
use super::{CoveredRetention, RetainedEvent, Retention, StateCover};
use crate::error::ArchiverError;
use crate::later_revision::is_same_but_for_expiry;
use crate::stored_archive::StoredArchive;
use crate::throttle::{ArchivePace, ArchiveProgress};
use crate::verification::Verification;

/// Two revisions of one archive.
pub(crate) struct RevisionComparison<'a> {
    pub(crate) earlier: &'a StoredArchive,
    pub(crate) later: &'a StoredArchive,
    /// The policy under which events expired with the later one, where its run is this one.
    pub(crate) policy: Option<Position>,
    /// The reason for which events expired: no other ones may have.
    pub(crate) grounds: ExpiryGrounds<'a>,
    /// The holds in force: no event that they cover may have expired.
    pub(crate) holds: &'a HoldsInForce,
    pub(crate) keyring: &'a Keyring,
    pub(crate) pace: ArchivePace,
    pub(crate) progress: &'a ArchiveProgress,
}

/// The reasons for which events may have expired.
#[derive(Clone, Copy)]
pub(crate) enum ExpiryGrounds<'a> {
    /// The policy in force.
    Policy(&'a CoveredRetention<'a>),
    /// The log records the removal: whatever the policy is by now, a state has to stand behind what decisions rest on.
    Recorded(&'a StateCover),
}

impl ExpiryGrounds<'_> {
    /// Returns the reason for which the content of this event stays; `None` if it may go.
    fn keep(self, event: &RetainedEvent<'_>) -> Option<&'static str> {
        match self {
            Self::Policy(retention) if retention.expires(event) => None,
            Self::Policy(_) => Some("it has not expired by the rules in force"),
            Self::Recorded(cover) if cover.allows(event) => None,
            Self::Recorded(_) => Some("decisions rest on it, and no state stands behind it"),
        }
    }
}

/// The expired events of a revision: a bit for each of its positions.
struct ExpiredEvents {
    first: Position,
    bits: Vec<u64>,
    /// The policies under which events expired, and how many under each.
    policies: BTreeMap<Position, u64>,
}

/// The events that expired with the later revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewlyExpired {
    /// The number of events.
    pub(crate) events: u64,
    /// The event that set the policy.
    pub(crate) policy: Position,
}

impl RevisionComparison<'_> {
    /// Reads both revisions whole. Returned `Ok` ⇒ the later one holds every event of the earlier one, byte for byte but for those that
    /// expired, and the same state.
    pub(crate) fn check(&self) -> Result<NewlyExpired, ArchiverError> {
        let (earlier, later) = (manifest(self.earlier), manifest(self.later));
        if !is_same_but_for_expiry(earlier, later) {
            return self.differs(earlier.range.first(), "the manifest");
        }
        let (expired, later_digest, later_state) = self.read_later()?;
        let policy = self.policy.or_else(|| expired.policies.keys().next_back().copied());
        let Some(policy) = policy else { return self.differs(earlier.range.first(), "expired events") };
        let (newly, digest, state) = self.read_earlier(&expired, policy)?;
        if digest != later_digest {
            return self.differs(earlier.range.first(), "an event");
        }
        if state != later_state {
            return self.differs(earlier.range.last(), "the state that decides");
        }
        Ok(NewlyExpired { events: newly, policy })
    }

    fn read_later(&self) -> Result<(ExpiredEvents, RowDigest, Option<ArchivedState>), ArchiverError> {
        let range = manifest(self.later).range;
        let mut expired = ExpiredEvents::new(range.first(), range.events());
        let mut digest = RowHasher::default();
        let state = self.read(self.later, |position, row| {
            let record = record_of(position, row)?;
            if let Some(substitute) = record.expired() {
                expired.insert(position, substitute.policy);
            }
            digest.add(row);
            Ok(())
        })?;
        Ok((expired, digest.finish(), state))
    }

    /// Reads the earlier revision, as it would be without the content of these events.
    fn read_earlier(
        &self,
        expired: &ExpiredEvents,
        policy: Position,
    ) -> Result<(u64, RowDigest, Option<ArchivedState>), ArchiverError> {
        let keys = LedgerKeys::new(self.keyring, manifest(self.earlier).origin.ledger);
        let (mut newly, mut digest) = (0, RowHasher::default());
        let (mut held, mut staying) = (None, None);
        let state = self.read(self.earlier, |position, row| {
            let record = record_of(position, row)?;
            if expired.contains(position) && record.expired().is_none() {
                newly += 1;
                held = held.or(self.holds.cover(position, &record).then_some(position));
                let event = RetainedEvent { position, time: row.time, record: &record };
                staying = staying.or_else(|| Some((position, self.grounds.keep(&event)?)));
                let left = expired_record(&keys, (position, row), record, policy)?;
                digest.add(&without_content(row, &left));
            } else {
                digest.add(row);
            }
            Ok(())
        })?;
        if let Some(position) = held {
            return Err(ArchiverError::StaysForNow { position, why: "a legal hold covers it by now" });
        }
        if let Some((position, why)) = staying {
            return Err(ArchiverError::StaysForNow { position, why });
        }
        Ok((newly, digest.finish(), state))
    }

    fn read(
        &self,
        stored: &StoredArchive,
        mut take: impl FnMut(Position, &ColumnRow<'_>) -> Result<(), ArchiveError>,
    ) -> Result<Option<ArchivedState>, ArchiverError> {
        let verification = Verification::new(stored, self.pace, self.progress);
        verification.contents(self.keyring, |first, rows| {
            for (index, row) in (0..).zip(rows.iter()) {
                let position = first.plus(index).unwrap_or(first);
                take(position, &row).map_err(|error| ArchiverError::from(stored.wrong(error)))?;
            }
            Ok(())
        })
    }

    fn differs<T>(&self, position: Position, what: &'static str) -> Result<T, ArchiverError> {
        Err(ArchiverError::Differs { object: self.later.shown(), position, what })
    }
}

fn manifest(stored: &StoredArchive) -> &Manifest {
    stored.outline().manifest().manifest()
}

impl ExpiredEvents {
    fn new(first: Position, events: u64) -> Self {
        let words = usize::try_from(events.div_ceil(u64::BITS.into())).unwrap_or(usize::MAX);
        Self { first, bits: vec![0; words], policies: BTreeMap::new() }
    }

    fn place(&self, position: Position) -> Option<(usize, u64)> {
        let distance = position.get().checked_sub(self.first.get())?;
        let word = usize::try_from(distance / u64::from(u64::BITS)).ok()?;
        Some((word, 1 << (distance % u64::from(u64::BITS))))
    }

    fn insert(&mut self, position: Position, policy: Position) {
        let Some((word, bit)) = self.place(position) else { return };
        if let Some(word) = self.bits.get_mut(word) {
            *word |= bit;
        }
        *self.policies.entry(policy).or_default() += 1;
    }

    fn contains(&self, position: Position) -> bool {
        let place = self.place(position).and_then(|(word, bit)| Some((self.bits.get(word)?, bit)));
        place.is_some_and(|(word, bit)| word & bit != 0)
    }
}

type RowDigest = [u8; 32];

/// Hashes rows one after the other, each field behind its length.
#[derive(Default)]
struct RowHasher(Sha256);

impl RowHasher {
    fn add(&mut self, row: &ColumnRow<'_>) {
        let flags = [row.begins_frame, row.begins_request, row.derived, row.part.is_some()].map(u8::from);
        self.0.update(row.time.0.to_le_bytes());
        self.0.update(flags);
        self.0.update(row.stream_version.get().to_le_bytes());
        for bytes in [row.record, row.part.unwrap_or_default()] {
            self.0.update((bytes.len() as u64).to_le_bytes());
            self.0.update(bytes);
        }
    }

    fn finish(self) -> RowDigest {
        self.0.finalize().into()
    }
}
