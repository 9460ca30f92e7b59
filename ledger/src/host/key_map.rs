//! Maps by keyed hashes: their keys are hashed already, under a key that no client has.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are keyed hashes of 16 bytes, as [`EventKey`](bitacora_formats::EventKey) and
/// [`StreamKey`](bitacora_formats::StreamKey) are. Nobody without the keyring can choose keys that collide in it.
pub(crate) type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<FirstBytes>>;

/// Takes the first 8 bytes of what is hashed for its hash.
#[derive(Default)]
pub(crate) struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    /// The length of the array that follows, which is always the same.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{EventKey, StreamKey};

    use super::*;

    #[test]
    fn the_hash_is_the_first_bytes_of_the_key() {
        let mut key = [7; 16];
        key[..8].copy_from_slice(&0x0123_4567_89ab_cdef_u64.to_le_bytes());
        let build = BuildHasherDefault::<FirstBytes>::default();
        let hash_of = |value: &dyn Fn(&mut FirstBytes)| {
            let mut hasher = std::hash::BuildHasher::build_hasher(&build);
            value(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash_of(&|hasher| std::hash::Hash::hash(&EventKey(key), hasher)), 0x0123_4567_89ab_cdef);
        assert_eq!(hash_of(&|hasher| std::hash::Hash::hash(&StreamKey(key), hasher)), 0x0123_4567_89ab_cdef);
    }
}
