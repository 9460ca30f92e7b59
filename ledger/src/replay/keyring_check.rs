//! The check of a keyring against a ledger's first and last segment, before anything in its folder changes.

use std::path::Path;

use bitacora_formats::{Keyring, SegmentNumber};

use crate::blinding_key;
use crate::derived_key;
use crate::host::disk::Disk;
use crate::open_error::OpenError;
use crate::segment_list::{SegmentList, segment_header};
use crate::segments::segment_file::is_signed_by;
use crate::segments::{segment_file_name, segments_folder};

/// Refuses a keyring that opens neither the first segment nor the last one. It does so before anything in the folder is removed or made
/// anew that the right keyring would keep. A header that cannot be read is left to the replay.
///
/// Syscalls: `getdents64` of the segments; for each of both `openat`, `statx`, `pread64`.
pub(crate) fn refuse_wrong_keyring(
    disk: &dyn Disk,
    ledger: &Path,
    keyring: &Keyring,
) -> Result<(), OpenError> {
    /// Files of zeros that may lie behind the last segment, made ahead, and are passed over.
    const MADE_AHEAD: usize = 4;
    let folder = segments_folder(ledger);
    let numbers = SegmentList::read(disk, &folder)?.numbers;
    let header = |number: &SegmentNumber| {
        let header = segment_header(disk, &folder, *number).ok().flatten()?;
        Some((*number, header))
    };
    let first = numbers.first().and_then(header);
    let last = numbers.iter().rev().take(MADE_AHEAD).find_map(header);
    let mut refused = None;
    for (number, header) in first.into_iter().chain(last) {
        let what = match header.unwrap_key(keyring) {
            Ok(_) if is_signed_by(keyring, &header) => {
                blinding_key::refuse_another(disk, ledger, keyring, &header)?;
                return derived_key::refuse_another(disk, ledger, keyring, header.ledger);
            }
            Ok(_) => "the ledger's signing key is not its own".to_owned(),
            Err(error) => error.to_string(),
        };
        let file = format!("segments/{}", segment_file_name(number));
        refused.get_or_insert(OpenError::Keyring { file, what });
    }
    refused.map_or(Ok(()), Err)
}
