//! The data key of one archive: its wrapping, and the sealing of parts under it.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce, Tag};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::error::ArchiveError;
use super::header::ArchiveHeader;
use super::manifest::{Manifest, WrappedKey};
use super::range::ArchiveRange;
use super::table::PartEntry;
use super::term::ArchiveTerms;
use bitacora_formats::derive;
use bitacora_formats::{Codec, Decompressor, Generation, KekId, KeyUse, Keyring, LedgerId, Secret};

/// Bytes that sealing adds to a part: `siv` and tag.
pub const SEALED_OVERHEAD_BYTES: usize = SIV_BYTES + TAG_BYTES;

const SIV_BYTES: usize = 32;
const TAG_BYTES: usize = 16;

/// The keys that follow from one archive's data key.
pub struct ArchiveKey {
    siv: Secret,
    part: Secret,
    terms: ArchiveTerms,
    header: ArchiveHeader,
}

impl ArchiveKey {
    /// The keys of the archive that begins with this header.
    #[must_use]
    pub fn new(data_key: &Secret, header: ArchiveHeader) -> Self {
        let key = data_key.expose();
        Self {
            siv: derive(KeyUse::ArchiveSiv, key, &[]),
            part: derive(KeyUse::ArchivePart, key, &[]),
            terms: ArchiveTerms::new(data_key),
            header,
        }
    }

    /// The keys of the archive with this manifest.
    ///
    /// # Errors
    /// [`ArchiveError::KeyMissing`] if the keyring lacks the key-encryption key, [`ArchiveError::WrongKey`] if its key of that
    /// id is another.
    pub fn unwrap(manifest: &Manifest, keyring: &Keyring) -> Result<Self, ArchiveError> {
        let data_key = manifest.key.unwrap(
            manifest.origin.ledger,
            manifest.origin.generation,
            manifest.range,
            keyring,
        )?;
        Ok(Self::new(&data_key, ArchiveHeader::of(manifest)))
    }

    /// Returns the names of labels' values in the index.
    #[must_use]
    pub fn terms(&self) -> &ArchiveTerms {
        &self.terms
    }

    /// Seals compressed contents for the place that the entry names. The entry's stored bytes must be those of the result.
    pub(super) fn seal(&self, entry: &PartEntry, packed: &[u8]) -> Result<Vec<u8>, ArchiveError> {
        let place = self.place(entry);
        let siv = self.siv(&place, packed);
        let mut stored = Vec::with_capacity(packed.len() + SEALED_OVERHEAD_BYTES);
        stored.extend_from_slice(&siv);
        stored.extend_from_slice(packed);
        let (_, contents) = stored.split_at_mut(SIV_BYTES);
        let tag = self
            .cipher(&place, &siv)
            .encrypt_inout_detached(&Nonce::default(), &[], contents.into())
            .map_err(|_| ArchiveError::NotAuthentic { number: entry.number })?;
        stored.extend_from_slice(&tag);
        Ok(stored)
    }

    /// Opens a sealed part and returns its contents, which are still compressed.
    fn open(&self, entry: &PartEntry, stored: &[u8]) -> Result<Zeroizing<Vec<u8>>, ArchiveError> {
        let forged = ArchiveError::NotAuthentic { number: entry.number };
        let split = stored.split_first_chunk::<SIV_BYTES>();
        let split = split.and_then(|(siv, rest)| Some((siv, rest.split_last_chunk::<TAG_BYTES>()?)));
        let Some((siv, (sealed, tag))) = split else { return Err(forged) };
        let place = self.place(entry);
        let mut packed = Zeroizing::new(sealed.to_vec());
        let opened = self.cipher(&place, siv).decrypt_inout_detached(
            &Nonce::default(),
            &[],
            packed.as_mut_slice().into(),
            &Tag::from(*tag),
        );
        // AES-GCM does not commit to its key; the `siv` does.
        if opened.is_err() || !bool::from(self.siv(&place, &packed).ct_eq(siv)) {
            return Err(forged);
        }
        Ok(packed)
    }

    /// Encodes the place of a part; no two parts of any two archives have the same.
    fn place(&self, entry: &PartEntry) -> Vec<u8> {
        [&self.header.encode()[..], &entry.number.to_le_bytes(), &entry.head()].concat()
    }

    fn siv(&self, place: &[u8], packed: &[u8]) -> [u8; SIV_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(self.siv.expose());
        *hasher.update(place).update(packed).finalize().as_bytes()
    }

    fn cipher(&self, place: &[u8], siv: &[u8; SIV_BYTES]) -> Aes256Gcm {
        let mut hasher = blake3::Hasher::new_keyed(self.part.expose());
        let key = bitacora_formats::finish_key(hasher.update(place).update(siv));
        Aes256Gcm::new(key.expose().into())
    }
}

/// Opens a sealed part: the bytes that it was made of, exactly as many as the table says.
///
/// # Errors
/// [`ArchiveError::Digest`] for other bytes than the table names, [`ArchiveError::NotAuthentic`] for another key or place,
/// [`ArchiveError::Compression`].
pub fn open_part(
    key: &ArchiveKey,
    entry: &PartEntry,
    stored: &[u8],
    decompressor: &mut Decompressor,
) -> Result<Zeroizing<Vec<u8>>, ArchiveError> {
    entry.check(stored)?;
    let packed = key.open(entry, stored)?;
    // Contents that are stored as they are have the table's length: the table was checked for it.
    if entry.codec == Codec::Stored {
        return Ok(packed);
    }
    let plain = decompressor.decompress(entry.codec, &packed, entry.plain_bytes as usize);
    plain.map(Zeroizing::new).map_err(|source| ArchiveError::Compression { number: entry.number, source })
}

impl WrappedKey {
    /// Wraps an archive's data key under the keyring's active key-encryption key.
    pub(super) fn wrap(
        data_key: &Secret,
        salt: [u8; 16],
        (ledger, generation, range): (LedgerId, Generation, ArchiveRange),
        keyring: &Keyring,
    ) -> Result<Self, ArchiveError> {
        let (kek, secret) = keyring.active_kek();
        let mut wrapped = Self { kek, salt, sealed: [0; 48], commitment: commitment(data_key) };
        let mut key = Zeroizing::new(*data_key.expose());
        let aad = wrapped.aad(ledger, generation, range);
        let tag = wrapped
            .cipher(secret, ledger, generation, range)
            .encrypt_inout_detached(&Nonce::default(), &aad, key.as_mut_slice().into())
            .map_err(|_| ArchiveError::WrongKey { id: kek })?;
        wrapped.sealed.iter_mut().zip(key.iter().chain(&tag)).for_each(|(byte, sealed)| *byte = *sealed);
        Ok(wrapped)
    }

    fn unwrap(
        &self,
        ledger: LedgerId,
        generation: Generation,
        range: ArchiveRange,
        keyring: &Keyring,
    ) -> Result<Secret, ArchiveError> {
        let id: KekId = self.kek;
        let secret = keyring.kek(id).ok_or_else(|| match keyring.is_retired(id) {
            true => ArchiveError::KeyRetired { id },
            false => ArchiveError::KeyMissing { id },
        })?;
        let wrong = ArchiveError::WrongKey { id };
        let Some((sealed, tag)) = self.sealed.split_last_chunk::<TAG_BYTES>() else { return Err(wrong) };
        let mut key = Zeroizing::new([0; 32]);
        key.copy_from_slice(sealed);
        let opened = self.cipher(secret, ledger, generation, range).decrypt_inout_detached(
            &Nonce::default(),
            &self.aad(ledger, generation, range),
            key.as_mut_slice().into(),
            &Tag::from(*tag),
        );
        let key = Secret::take(&mut key);
        let same = opened.is_ok() && bool::from(commitment(&key).ct_eq(&self.commitment));
        if same { Ok(key) } else { Err(wrong) }
    }

    fn cipher(
        &self,
        kek: &Secret,
        ledger: LedgerId,
        generation: Generation,
        range: ArchiveRange,
    ) -> Aes256Gcm {
        let (first, last) = (range.first().get().to_le_bytes(), range.last().get().to_le_bytes());
        let fields: [&[u8]; 5] = [&ledger.0, &generation.0.to_le_bytes(), &first, &last, &self.salt];
        let key = derive(KeyUse::ArchiveWrap, kek.expose(), &fields);
        Aes256Gcm::new(key.expose().into())
    }

    fn aad(&self, ledger: LedgerId, generation: Generation, range: ArchiveRange) -> Vec<u8> {
        let fields: [&[u8]; 6] = [
            &ledger.0,
            &generation.0.to_le_bytes(),
            &range.first().get().to_le_bytes(),
            &range.last().get().to_le_bytes(),
            &self.kek.0,
            &self.salt,
        ];
        fields.concat()
    }
}

/// Derives the value that commits to the data key: AES-GCM alone does not commit to its key.
fn commitment(key: &Secret) -> [u8; 32] {
    *derive(KeyUse::ArchiveKeyCommitment, key.expose(), &[]).expose()
}
