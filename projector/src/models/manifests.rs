//! The check of a store's manifests against their checksums.
//!
//! fjall 3.1 notes a checksum of each tree's manifest beside it and does not compare the two. A flipped bit in a count there
//! has it ask for gigabytes, which ends the process, and would again at each start.

use std::io;
use std::path::Path;

use bitacora_ledger::{Disk, OpenMode};
use xxhash_rust::xxh3::xxh3_128;

/// The folder of the trees in a store.
const TREES: &str = "keyspaces";
/// The note of a tree: the number of its manifest (u64), its XXH3 with 128 bits, and the kind of checksum.
const CURRENT: &str = "current";
const CURRENT_BYTES: usize = 8 + 16 + 1;
/// Manifests that are longer are none.
const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// Returns `true` if each tree's manifest is the one that is noted. If that cannot be told, it is left to the store.
pub(crate) fn are_whole(disk: &dyn Disk, store: &Path) -> bool {
    let trees = store.join(TREES);
    let Ok(entries) = disk.list(&trees) else { return true };
    entries.iter().all(|entry| match is_whole(disk, &trees.join(&entry.name)) {
        Ok(is_whole) => is_whole,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    })
}

fn is_whole(disk: &dyn Disk, tree: &Path) -> io::Result<bool> {
    let note = disk.open(&tree.join(CURRENT), OpenMode::Read)?;
    if note.identity()?.bytes != CURRENT_BYTES as u64 {
        return Ok(false);
    }
    let mut bytes = [0; CURRENT_BYTES];
    note.read_exact_at(&mut bytes, 0)?;
    let (number, rest) = bytes.split_first_chunk().unwrap_or((&[0; 8], &[]));
    let (noted, kind) = rest.split_first_chunk().unwrap_or((&[0; 16], &[]));
    let manifest = disk.open(&tree.join(format!("v{}", u64::from_le_bytes(*number))), OpenMode::Read)?;
    let length = manifest.identity()?.bytes;
    if kind != [0] || length > MAX_MANIFEST_BYTES {
        return Ok(false);
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    manifest.read_exact_at(&mut bytes, 0)?;
    Ok(xxh3_128(&bytes) == u128::from_le_bytes(*noted))
}
