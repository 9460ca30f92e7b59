//! Rows of read models: their names, seals and sum, and the cursor of a model.
//!
//! Layout: `docs/formats/read_model.md`.
//!
//! Nothing here is evidence: a model is folded from the log, and folded again where any of this is in doubt.

mod cursor;
mod store_hash;
mod sum;
#[cfg(test)]
mod tests;

use std::hash::Hasher as _;

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
use siphasher::sip128::{Hasher128 as _, SipHasher24};

use crate::Secret;
use crate::kdf::{KeyUse, derive};

pub use cursor::{CURSOR_KEY, CutState, ModelCursor, READ_MODEL_FORMAT, READ_MODEL_MAGIC};
pub use store_hash::{STORE_NOTE_BYTES, StoreHash};
pub use sum::RowSum;

/// Bytes of a row's key at most: table, group, and two numbers that order the rows of a group.
pub const MAX_ROW_KEY_BYTES: usize = 1 + ROW_GROUP_BYTES + 16;
/// Bytes in front of the content of a row that may leave the store: the position of the event that wrote it last, little-endian. A row
/// with nothing behind them has left.
pub const ROW_HEADER_BYTES: usize = 8;
/// Bytes that sealing adds to the content of a row; none if it has no content.
pub const ROW_SEAL_BYTES: usize = NONCE_BYTES + TAG_BYTES;

/// Bytes of a group: the stand-in for values in keys.
pub const ROW_GROUP_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;

/// An error in the bytes of a row. Whatever the reason, the model can be folded again from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// Sealed under another key or for another row, or changed since.
    #[error("a row does not open")]
    NotAuthentic,
    /// Authentic, but not as this version writes it.
    #[error("a row holds what is never written")]
    Malformed,
    /// Written by a later version, or an earlier one that is not read any more.
    #[error("found read model format {found}, expected {READ_MODEL_FORMAT}")]
    Format {
        /// The format there is.
        found: u16,
    },
}

/// The hash that one row adds to the sum of its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHash(pub(crate) [u8; 32]);

/// Names, seals and opens the rows of one version of one model of one ledger.
pub struct RowKeys {
    names: SipHasher24,
    rows: Secret,
    cipher: Aes256Gcm,
}

impl RowKeys {
    /// The keys of the model of this name and version, in the ledger whose derived-state key this is.
    #[must_use]
    pub fn new(derived_state_key: &Secret, model: &str, version: u32) -> Self {
        let version = version.to_le_bytes();
        let of = |purpose| derive(purpose, derived_state_key.expose(), &[model.as_bytes(), &version]);
        let names = of(KeyUse::ReadModelName);
        let (half, _) = names.expose().split_first_chunk().unwrap_or((&[0; 16], &[]));
        Self {
            names: SipHasher24::new_with_key(half),
            rows: of(KeyUse::ReadModelRow),
            cipher: Aes256Gcm::new(of(KeyUse::ReadModelSeal).expose().into()),
        }
    }

    /// Returns the name of these values in keys. It is the same for the same values in the same table, and does not reveal them.
    #[must_use]
    pub fn group(&self, table: u8, values: &[&[u8]]) -> [u8; ROW_GROUP_BYTES] {
        let mut hasher = self.names;
        hasher.write(&[table]);
        for value in values {
            // No value comes near 4 GiB; the clamp keeps the function total.
            hasher.write(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_le_bytes());
            hasher.write(value);
        }
        let hash = hasher.finish128();
        let mut group = [0; ROW_GROUP_BYTES];
        let (low, high) = group.split_at_mut(ROW_GROUP_BYTES / 2);
        low.copy_from_slice(&hash.h1.to_le_bytes());
        high.copy_from_slice(&hash.h2.to_le_bytes());
        group
    }

    /// Seals `content` under `key`; returns the stored bytes and the hash that the row adds to its model's sum.
    ///
    /// A row without content is stored without any.
    #[must_use]
    pub fn seal(&self, key: &[u8], content: &[u8]) -> (Vec<u8>, RowHash) {
        let (hash, nonce) = self.hash(key, content);
        if content.is_empty() {
            return (Vec::new(), hash);
        }
        let mut stored = Vec::with_capacity(ROW_SEAL_BYTES + content.len());
        stored.extend_from_slice(&nonce);
        stored.extend_from_slice(content);
        let body = stored.get_mut(NONCE_BYTES..).unwrap_or_default();
        // It fails for 64 GiB and more alone; what is then stored does not open, as it should not.
        let tag = self.cipher.encrypt_inout_detached(&Nonce::from(nonce), key, body.into());
        stored.extend_from_slice(&tag.unwrap_or_default());
        (stored, hash)
    }

    /// Opens the content that was sealed under `key`.
    ///
    /// # Errors
    /// [`RowError::NotAuthentic`] for anything but what [`Self::seal`] made of this key.
    pub fn open(&self, key: &[u8], stored: &[u8]) -> Result<(Vec<u8>, RowHash), RowError> {
        if stored.is_empty() {
            return Ok((Vec::new(), self.hash(key, &[]).0));
        }
        let (nonce, rest) = stored.split_first_chunk::<NONCE_BYTES>().ok_or(RowError::NotAuthentic)?;
        let (body, tag) = rest.split_last_chunk::<TAG_BYTES>().ok_or(RowError::NotAuthentic)?;
        let mut content = body.to_vec();
        self.cipher
            .decrypt_inout_detached(
                &Nonce::from(*nonce),
                key,
                content.as_mut_slice().into(),
                &Tag::from(*tag),
            )
            .map_err(|_| RowError::NotAuthentic)?;
        let (hash, expected) = self.hash(key, &content);
        // AES-GCM alone does not commit to its key, and an empty row has no seal to change.
        if expected != *nonce || content.is_empty() {
            return Err(RowError::NotAuthentic);
        }
        Ok((content, hash))
    }

    /// The keyed hash of a row, and the nonce that follows from it: another row or content has another one.
    fn hash(&self, key: &[u8], content: &[u8]) -> (RowHash, [u8; NONCE_BYTES]) {
        let mut hasher = blake3::Hasher::new_keyed(self.rows.expose());
        hasher.update(&[u8::try_from(key.len()).unwrap_or(u8::MAX)]);
        hasher.update(key).update(content);
        let mut output = [0; 32 + NONCE_BYTES];
        hasher.finalize_xof().fill(&mut output);
        let (hash, nonce) = output.split_first_chunk().unwrap_or((&[0; 32], &[]));
        (RowHash(*hash), nonce.try_into().unwrap_or_default())
    }
}
