//! The events that archives hold as expired, found again by position and commitment.

use std::collections::BTreeSet;

use bitacora_archive_format::{ArchiveError, ArchiveRange, ColumnRow};
use bitacora_formats::{Commitment, Expired, Keyring, LedgerKeys, Position, Record, encode_record};

use crate::error::ArchiverError;
use crate::expiry::expired_rows::{expired_record, record_of};
use crate::stored_archive::StoredArchive;
use crate::throttle::{ArchivePace, ArchiveProgress};
use crate::verification::Verification;

/// The events of a range that some archives hold as expired.
pub(crate) struct ExpiredPositions {
    keys: LedgerKeys,
    range: ArchiveRange,
    /// In order, once all were taken in: the position, the commitment, and the event that set the policy.
    events: Vec<(Position, [u8; 32], Position)>,
}

impl ExpiredPositions {
    /// Those that these archives hold as expired, in this range.
    ///
    /// # Errors
    /// An [`ArchiverError`] of one of the archives.
    pub(crate) fn read(
        archives: &[&StoredArchive],
        (range, keyring): (ArchiveRange, &Keyring),
        (pace, progress): (ArchivePace, &ArchiveProgress),
    ) -> Result<Option<Self>, ArchiverError> {
        let Some(first) = archives.first() else { return Ok(None) };
        let ledger = first.outline().manifest().manifest().origin.ledger;
        let mut events = BTreeSet::new();
        for archive in archives {
            let verification = Verification::new(archive, pace, progress);
            verification.contents(keyring, |first, rows| {
                for (index, row) in (0..).zip(rows.iter()) {
                    let Some(position) = first.plus(index).filter(|position| range.contains(*position))
                    else {
                        continue;
                    };
                    let record = record_of(position, &row)
                        .map_err(|error| ArchiverError::from(archive.wrong(error)))?;
                    if let Some(Expired { policy, commitment: Commitment(commitment) }) = record.expired() {
                        events.insert((position, *commitment, *policy));
                    }
                }
                Ok::<_, ArchiverError>(())
            })?;
        }
        let events: Vec<_> = events.into_iter().collect();
        Ok((!events.is_empty()).then(|| Self { keys: LedgerKeys::new(keyring, ledger), range, events }))
    }

    /// Keeps those for whose position and policy `is_wanted` returns `true`. Returns `None` if there is none.
    pub(crate) fn only(mut self, is_wanted: impl Fn(Position, Position) -> bool) -> Option<Self> {
        self.events.retain(|(position, _, policy)| is_wanted(*position, *policy));
        (!self.events.is_empty()).then_some(self)
    }

    /// The range in which they were looked for.
    pub(crate) fn range(&self) -> ArchiveRange {
        self.range
    }

    /// Returns the latest policy under which one of them expired.
    pub(crate) fn policy(&self) -> Position {
        self.events.iter().map(|(_, _, policy)| *policy).max().unwrap_or(Position::FIRST)
    }

    /// Returns the event that set the policy under which the event of this record expired; `None` if it did not, or if the record holds
    /// nothing that expires.
    pub(crate) fn policy_of(&self, position: Position, record: &Record<'_>) -> Option<Position> {
        let from = self.events.partition_point(|(of, ..)| *of < position);
        let mut here = self.events.get(from..)?.iter().take_while(|(of, ..)| *of == position).peekable();
        if here.peek().is_none() || record.expired().is_some() {
            return None;
        }
        let bytes = encode_record(record).ok()?;
        let Commitment(own) = self.keys.commitment_of(record, &bytes);
        here.find(|(_, commitment, _)| *commitment == own).map(|(.., policy)| *policy)
    }

    /// Returns what is left of a row whose event expired; `None` for others.
    pub(crate) fn left_of(
        &self,
        position: Position,
        row: &ColumnRow<'_>,
    ) -> Result<Option<Vec<u8>>, ArchiveError> {
        let record = record_of(position, row)?;
        let Some(policy) = self.policy_of(position, &record) else { return Ok(None) };
        expired_record(&self.keys, (position, row), record, policy).map(Some)
    }
}
