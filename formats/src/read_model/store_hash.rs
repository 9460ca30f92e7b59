//! A keyed hash over the files of a store, by which a properly closed store is recognised.

use crate::Secret;
use crate::kdf::{KeyUse, derive};

/// The magic of the note that a store of read models was closed.
const MAGIC: [u8; 8] = *b"BITACMDC";
/// The format of that note.
const FORMAT: u16 = 1;
/// Bytes of the note.
pub const STORE_NOTE_BYTES: usize = 8 + 2 + 32;

/// The keyed hash over a store's files, which are fed in the order of their paths.
pub struct StoreHash(blake3::Hasher);

impl StoreHash {
    /// Of the store of the ledger whose derived-state key this is.
    #[must_use]
    pub fn new(derived_state_key: &Secret) -> Self {
        let fields: [&[u8]; 2] = [b"-", &0_u32.to_le_bytes()];
        let key = derive(KeyUse::ReadModelRow, derived_state_key.expose(), &fields);
        Self(blake3::Hasher::new_keyed(key.expose()))
    }

    /// The next file, whose bytes follow: its path, with `/`, and how many bytes it has.
    pub fn file(&mut self, path: &str, bytes: u64) {
        self.0.update(&u32::try_from(path.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.0.update(path.as_bytes()).update(&bytes.to_le_bytes());
    }

    /// The next bytes of that file.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The note that says so.
    #[must_use]
    pub fn note(&self) -> [u8; STORE_NOTE_BYTES] {
        let mut note = [0; STORE_NOTE_BYTES];
        let hash = self.0.finalize();
        let parts = MAGIC.into_iter().chain(FORMAT.to_le_bytes()).chain(*hash.as_bytes());
        for (byte, value) in note.iter_mut().zip(parts) {
            *byte = value;
        }
        note
    }
}
