//! The fingerprint of the key that a ledger signs its answers with, short enough to be compared by eye.

use sha2::{Digest, Sha256};

/// The bytes of the digest that are shown: nobody finds another key with the same ones.
const SHOWN_BYTES: usize = 16;
/// The bytes of a group.
const GROUP_BYTES: usize = 2;

/// Returns the fingerprint of a key in hexadecimal digits: the first 128 bits of its SHA-256, in groups. `None`: it is no key.
#[must_use]
pub fn key_fingerprint(key: &str) -> Option<String> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(key, &mut bytes).ok()?;
    let groups: Vec<String> = Sha256::digest(bytes).chunks(GROUP_BYTES).map(hex::encode).collect();
    let shown: Vec<String> = groups.into_iter().take(SHOWN_BYTES / GROUP_BYTES).collect();
    Some(shown.join("-"))
}
