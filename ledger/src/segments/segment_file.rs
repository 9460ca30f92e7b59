//! The file of a segment: its bytes, and the check that the keyring signed its header.

use std::io;
use std::path::Path;

use bitacora_formats::limits::MAX_SEGMENT_BYTES;
use bitacora_formats::{Keyring, SegmentHeader};

use crate::host::disk::{Disk, OpenMode};

/// Returns `true` if the header's signing key is the ledger's own: anyone can write a header that vouches for itself.
pub(crate) fn is_signed_by(keyring: &Keyring, header: &SegmentHeader) -> bool {
    let own = keyring.signing_chain().key(header.signing_key_index);
    own.is_some_and(|key| *key.as_bytes() == header.signing_public)
}

/// All bytes of a segment's file.
pub(crate) fn load_segment(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let file = disk.open(path, OpenMode::Read)?;
    let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    // One byte more than any segment has is enough for the walk to refuse it.
    let mut bytes = vec![0; length.min(MAX_SEGMENT_BYTES + 1)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}
