//! Rows of an archive without the content that expired.

use bitacora_archive_format::{ArchiveError, ColumnRow};
use bitacora_formats::{Expired, LedgerKeys, Position, Record, decode_record, encode_record};

/// The record of a row.
pub(crate) fn record_of<'a>(position: Position, row: &ColumnRow<'a>) -> Result<Record<'a>, ArchiveError> {
    decode_record(row.record).map_err(|source| ArchiveError::Record { position, source })
}

/// The bytes of the record without what expires, under the policy that the event at `policy` set.
pub(crate) fn expired_record(
    keys: &LedgerKeys,
    (position, row): (Position, &ColumnRow<'_>),
    record: Record<'_>,
    policy: Position,
) -> Result<Vec<u8>, ArchiveError> {
    let commitment = keys.commitment_of(&record, row.record);
    let left = record.expire(Expired { policy, commitment });
    encode_record(&left).map_err(|source| ArchiveError::Record { position, source })
}

/// The row with this record, and no sealed part.
pub(crate) fn without_content<'a>(row: &ColumnRow<'_>, record: &'a [u8]) -> ColumnRow<'a> {
    ColumnRow {
        time: row.time,
        begins_frame: row.begins_frame,
        begins_request: row.begins_request,
        derived: row.derived,
        stream_version: row.stream_version,
        record,
        part: None,
    }
}
