//! The header that begins a segment and certifies its keys.
//!
//! Layout: `docs/formats/segment.md`.

use aes_gcm::{AeadInOut, Aes256Gcm, KeyInit, Nonce};
use ed25519_dalek::SigningKey;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::chain::{self, ChainTip};
use crate::fields::{Fields, ShortField};
use crate::frame::{CRC_BYTES, SIGNATURE_BYTES, TAG_BYTES};
use crate::ids::{
    ChainHash, Epoch, Generation, LedgerId, Micros, Position, Secret, SegmentNumber, Signature, TreeHash,
};
use crate::kdf::{KeyUse, chain_hasher, derive};
use crate::keyring::{KekId, Keyring};
use crate::sealer::FrameSealer;
use crate::tree::Frontier;

/// The magic that a segment begins with.
pub const SEGMENT_MAGIC: [u8; 8] = *b"BITACSEG";
/// The one segment format that is written, and the one that can be read.
pub const SEGMENT_FORMAT: u16 = 1;
/// Bytes of a header up to the wrapped key, all of which its tag authenticates.
const WRAP_AAD_BYTES: usize = 96;
/// Bytes of a wrapped data key with its tag.
const WRAPPED_KEY_BYTES: usize = 32 + TAG_BYTES;
/// Bytes of a header up to the frontier's hashes.
const FIXED_BYTES: usize = 340;
/// Bytes of the least header, whose frontier is empty.
pub const MIN_SEGMENT_HEADER_BYTES: usize = FIXED_BYTES + SIGNATURE_BYTES + CRC_BYTES;
/// Bytes of the largest header.
pub const MAX_SEGMENT_HEADER_BYTES: usize = MIN_SEGMENT_HEADER_BYTES + Frontier::MAX_PEAKS * 32;

/// An error in a segment's header, or in obtaining its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Fewer bytes than the header has.
    #[error("found {found} bytes of a segment header before the end, expected {needed}")]
    Truncated {
        /// Bytes needed, as far as is known.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// No segment begins here.
    #[error("found {}, expected a segment's first bytes", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error("found segment format {found}, expected {SEGMENT_FORMAT}; a newer version may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// A length that no header has.
    #[error(
        "found a segment header of {found} bytes, expected {MIN_SEGMENT_HEADER_BYTES} to {MAX_SEGMENT_HEADER_BYTES}"
    )]
    HeaderBytes {
        /// The length there is.
        found: u32,
    },
    /// The checksum is not that of the bytes.
    #[error("found segment header checksum {found:08x}, expected {expected:08x}")]
    Crc {
        /// The checksum stored with the bytes.
        expected: u32,
        /// The checksum that the bytes have.
        found: u32,
    },
    /// A field that contradicts the others.
    #[error("found {field} {found}, expected {expected}")]
    Contradiction {
        /// The field's name in the layout.
        field: &'static str,
        /// The value that follows from the other fields.
        expected: u64,
        /// The value of the field.
        found: u64,
    },
    /// The ledger's signing key did not sign this header.
    #[error("the segment header's certificate does not hold")]
    Certificate,
    /// The keyring lacks the key-encryption key.
    #[error("the keyring holds no key {id}; use the keyring that this ledger was written with")]
    KeyMissing {
        /// The key's id.
        id: KekId,
    },
    /// The key-encryption key was moved into an offline keyring.
    #[error("key {id} was retired; bring it back with `bitacora keys restore`")]
    KeyRetired {
        /// The key's id.
        id: KekId,
    },
    /// The keyring's key of that id does not unwrap the data key.
    #[error(
        "key {id} of the keyring does not open this segment; use the keyring that this ledger was written with"
    )]
    WrongKey {
        /// The key's id.
        id: KekId,
    },
}

/// The header of a segment. Every byte of the layout is a field, so that encoding gives back what was parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The ledger that the segment is of.
    pub ledger: LedgerId,
    /// The ledger's generation.
    pub generation: Generation,
    /// The opening that wrote the segment.
    pub epoch: Epoch,
    /// The segment's number in its ledger.
    pub number: SegmentNumber,
    /// The index of the key in the ledger's signing chain that certifies the header.
    pub signing_key_index: u32,
    /// The position of the segment's first event.
    pub first_position: Position,
    /// The time at which the segment was begun, by the writer's clock.
    pub created: Micros,
    /// The tree before the segment's first event.
    pub frontier: Frontier,
    /// The id of the key-encryption key that wraps the data key.
    pub kek: KekId,
    /// Makes the wrapping key one of its own.
    pub wrap_salt: [u8; 16],
    /// The data key, encrypted, with its tag.
    pub wrapped_key: [u8; WRAPPED_KEY_BYTES],
    /// A value that only the data key itself gives.
    pub key_commitment: [u8; 32],
    /// The tip of the chain before the segment.
    pub previous: ChainTip,
    /// The public half of the key that signs the segment's frames.
    pub ephemeral_public: [u8; 32],
    /// The public half of the ledger's signing key. The caller must know if it is the ledger's.
    pub signing_public: [u8; 32],
    /// The ledger's signature over all of the above.
    pub certificate: Signature,
}

impl SegmentHeader {
    /// Reads the header that the bytes begin with and checks checksum and fields; more may follow it.
    ///
    /// # Errors
    /// A [`SegmentError`] for the first thing that is wrong. The certificate is not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Self, SegmentError> {
        let mut fields = Fields::new(bytes);
        let found = fields.bytes()?;
        if found != SEGMENT_MAGIC {
            return Err(SegmentError::Magic { found });
        }
        let found = fields.u16()?;
        if found != SEGMENT_FORMAT {
            return Err(SegmentError::Format { found });
        }
        let flags = fields.u16()?;
        let header_bytes = fields.u32()?;
        check_crc(bytes, header_bytes)?;
        agrees("segment flags", 0, flags.into())?;

        let ledger = LedgerId(fields.bytes()?);
        let generation = Generation(fields.u32()?);
        let epoch = Epoch(fields.u32()?);
        let number = SegmentNumber(fields.u32()?);
        let signing_key_index = fields.u32()?;
        let first_position = fields.u64()?;
        let created = Micros(fields.u64()?);
        let tree_size = fields.u64()?;
        let kek = KekId(fields.bytes()?);
        let wrap_salt = fields.bytes()?;
        let wrapped_key = fields.bytes()?;
        let key_commitment = fields.bytes()?;
        let previous = ChainTip { hash: ChainHash(fields.bytes()?), signature: Signature(fields.bytes()?) };
        let ephemeral_public = fields.bytes()?;
        let signing_public = fields.bytes()?;

        let wrong_first_position = SegmentError::Contradiction {
            field: "first position",
            expected: tree_size.saturating_add(1),
            found: first_position,
        };
        let first_position = Position::new(first_position).ok_or(wrong_first_position)?;
        if first_position.get() - 1 != tree_size {
            return Err(wrong_first_position);
        }
        let peak_count = Frontier::peak_count(tree_size);
        agrees("frontier count", peak_count as u64, fields.u32()?.into())?;
        agrees("header bytes", stored_bytes(peak_count) as u64, header_bytes.into())?;
        let peaks = (0..peak_count).map(|_| fields.bytes().map(TreeHash)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            ledger,
            generation,
            epoch,
            number,
            signing_key_index,
            first_position,
            created,
            frontier: Frontier::from_parts(tree_size, &peaks).ok_or(wrong_first_position)?,
            kek,
            wrap_salt,
            wrapped_key,
            key_commitment,
            previous,
            ephemeral_public,
            signing_public,
            certificate: Signature(fields.bytes()?),
        })
    }

    /// Appends the header's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.encode_certified(out);
        out.extend_from_slice(&self.certificate.0);
        let crc = crc32fast::hash(out.split_at(start).1);
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// Bytes of the stored header: where the first frame begins.
    #[must_use]
    pub fn stored_bytes(&self) -> usize {
        stored_bytes(self.frontier.peaks().len())
    }

    /// Returns the tip of the chain after the header, on which the first frame builds.
    #[must_use]
    pub fn tip(&self) -> ChainTip {
        let mut linked = Vec::with_capacity(self.stored_bytes());
        self.encode_certified(&mut linked);
        linked.extend_from_slice(&self.certificate.0);
        let hash = chain::finish(chain_hasher(KeyUse::SegmentChain).update(&linked));
        ChainTip { hash, signature: self.certificate }
    }

    /// Checks the certificate under the signing key that the header itself names.
    ///
    /// That this key is the ledger's, and the one of its index, only the ledger's signing chain can say.
    ///
    /// # Errors
    /// [`SegmentError::Certificate`].
    pub fn verify_certificate(&self) -> Result<(), SegmentError> {
        let certificate = ChainTip { hash: self.certified_hash(), signature: self.certificate };
        if certificate.is_signed_by(&self.signing_public) { Ok(()) } else { Err(SegmentError::Certificate) }
    }

    /// The segment's data key.
    ///
    /// # Errors
    /// [`SegmentError::KeyMissing`] if the keyring lacks the key-encryption key, [`SegmentError::KeyRetired`] if it was retired, [`SegmentError::WrongKey`] if its key of
    /// that id is another.
    pub fn unwrap_key(&self, keyring: &Keyring) -> Result<Secret, SegmentError> {
        let id = self.kek;
        let kek = keyring.kek(id).ok_or_else(|| match keyring.is_retired(id) {
            true => SegmentError::KeyRetired { id },
            false => SegmentError::KeyMissing { id },
        })?;
        let (mut aad, mut key) = (Vec::with_capacity(WRAP_AAD_BYTES), Zeroizing::new([0; 32]));
        self.encode_wrap_aad(&mut aad);
        let (encrypted, tag) =
            self.wrapped_key.split_last_chunk::<TAG_BYTES>().ok_or(SegmentError::WrongKey { id })?;
        key.copy_from_slice(encrypted);
        self.wrapping_cipher(kek)
            .decrypt_inout_detached(&Nonce::default(), &aad, key.as_mut_slice().into(), tag.into())
            .map_err(|_| SegmentError::WrongKey { id })?;
        let key = Secret::take(&mut key);
        let same: bool = key_commitment(&key).ct_eq(&self.key_commitment).into();
        if same { Ok(key) } else { Err(SegmentError::WrongKey { id }) }
    }

    fn wrap_key(&mut self, kek: &Secret, key: &Secret) -> Result<(), SegmentError> {
        let mut aad = Vec::with_capacity(WRAP_AAD_BYTES);
        self.encode_wrap_aad(&mut aad);
        let mut encrypted = Zeroizing::new(*key.expose());
        let tag = self
            .wrapping_cipher(kek)
            .encrypt_inout_detached(&Nonce::default(), &aad, encrypted.as_mut_slice().into())
            .map_err(|_| SegmentError::WrongKey { id: self.kek })?;
        for (byte, sealed) in self.wrapped_key.iter_mut().zip(encrypted.iter().chain(&tag)) {
            *byte = *sealed;
        }
        self.key_commitment = key_commitment(key);
        Ok(())
    }

    /// The cipher of this one wrapping: salted, so that its nonce can be zero.
    fn wrapping_cipher(&self, kek: &Secret) -> Aes256Gcm {
        let generation = self.generation.0.to_le_bytes();
        let epoch = self.epoch.0.to_le_bytes();
        let number = self.number.0.to_le_bytes();
        let fields: [&[u8]; 5] = [&self.ledger.0, &generation, &epoch, &number, &self.wrap_salt];
        let key = derive(KeyUse::SegmentWrap, kek.expose(), &fields);
        Aes256Gcm::new(key.expose().into())
    }

    fn certified_hash(&self) -> ChainHash {
        let mut certified = Vec::with_capacity(self.stored_bytes());
        self.encode_certified(&mut certified);
        chain::finish(chain_hasher(KeyUse::SegmentCertificate).update(&certified))
    }

    /// All that comes before the wrapped key.
    fn encode_wrap_aad(&self, out: &mut Vec<u8>) {
        // At most `MAX_SEGMENT_HEADER_BYTES`, far below 4 GiB.
        let header_bytes = u32::try_from(self.stored_bytes()).unwrap_or(u32::MAX);
        out.extend_from_slice(&SEGMENT_MAGIC);
        out.extend_from_slice(&SEGMENT_FORMAT.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&header_bytes.to_le_bytes());
        out.extend_from_slice(&self.ledger.0);
        out.extend_from_slice(&self.generation.0.to_le_bytes());
        out.extend_from_slice(&self.epoch.0.to_le_bytes());
        out.extend_from_slice(&self.number.0.to_le_bytes());
        out.extend_from_slice(&self.signing_key_index.to_le_bytes());
        out.extend_from_slice(&self.first_position.get().to_le_bytes());
        out.extend_from_slice(&self.created.0.to_le_bytes());
        out.extend_from_slice(&self.frontier.size().to_le_bytes());
        out.extend_from_slice(&self.kek.0);
        out.extend_from_slice(&self.wrap_salt);
    }

    /// All that comes before the certificate.
    fn encode_certified(&self, out: &mut Vec<u8>) {
        self.encode_wrap_aad(out);
        out.extend_from_slice(&self.wrapped_key);
        out.extend_from_slice(&self.key_commitment);
        out.extend_from_slice(&self.previous.hash.0);
        out.extend_from_slice(&self.previous.signature.0);
        out.extend_from_slice(&self.ephemeral_public);
        out.extend_from_slice(&self.signing_public);
        out.extend_from_slice(&self.frontier.size().count_ones().to_le_bytes());
        for peak in self.frontier.peaks() {
            out.extend_from_slice(&peak.0);
        }
    }
}

/// The plan of a new segment: its identity, and the tree and chain before it.
#[derive(Debug, Clone, Copy)]
pub struct SegmentPlan<'a> {
    /// The ledger.
    pub ledger: LedgerId,
    /// Its generation.
    pub generation: Generation,
    /// The opening that writes the segment.
    pub epoch: Epoch,
    /// The segment's number.
    pub number: SegmentNumber,
    /// The position of its first event: one more than the frontier's size.
    pub first_position: Position,
    /// The writer's clock.
    pub created: Micros,
    /// The tree before its first event.
    pub frontier: &'a Frontier,
    /// The tip of the chain before it.
    pub tip: ChainTip,
}

/// Makes the keys of a new segment, appends its certified header to `out` and returns the sealer of its frames.
///
/// `random` is asked, in this order, for the data key (32 bytes), the wrap salt (16) and the seed of the ephemeral signing
/// key (32); it must be unpredictable and never repeat.
///
/// # Errors
/// [`SegmentError::Contradiction`] if the first position does not follow the frontier; then nothing was appended.
pub fn seal_segment_header(
    plan: SegmentPlan<'_>,
    keyring: &Keyring,
    random: &mut dyn FnMut(&mut [u8]),
    out: &mut Vec<u8>,
) -> Result<FrameSealer, SegmentError> {
    agrees("tree size", plan.first_position.get() - 1, plan.frontier.size())?;
    let mut key = [0; 32];
    random(&mut key);
    let key = Secret::take(&mut key);
    let mut wrap_salt = [0; 16];
    random(&mut wrap_salt);
    let mut seed = Zeroizing::new([0; 32]);
    random(seed.as_mut_slice());
    let ephemeral = SigningKey::from_bytes(&seed);

    let (kek_id, kek) = keyring.active_kek();
    let signer = keyring.signing();
    let mut header = SegmentHeader {
        ledger: plan.ledger,
        generation: plan.generation,
        epoch: plan.epoch,
        number: plan.number,
        signing_key_index: signer.index,
        first_position: plan.first_position,
        created: plan.created,
        frontier: plan.frontier.clone(),
        kek: kek_id,
        wrap_salt,
        wrapped_key: [0; WRAPPED_KEY_BYTES],
        key_commitment: [0; 32],
        previous: plan.tip,
        ephemeral_public: ephemeral.verifying_key().to_bytes(),
        signing_public: signer.public,
        certificate: Signature([0; SIGNATURE_BYTES]),
    };
    header.wrap_key(kek, &key)?;
    header.certificate = chain::sign(signer.key, header.certified_hash()).signature;
    header.encode(out);
    Ok(FrameSealer::new(key, ephemeral, header.tip(), plan.first_position, plan.frontier.root()))
}

/// Derives the value that commits to the data key: AES-GCM alone does not commit to its key.
fn key_commitment(key: &Secret) -> [u8; 32] {
    *derive(KeyUse::SegmentKeyCommitment, key.expose(), &[]).expose()
}

fn stored_bytes(peak_count: usize) -> usize {
    MIN_SEGMENT_HEADER_BYTES + peak_count * 32
}

fn check_crc(bytes: &[u8], header_bytes: u32) -> Result<(), SegmentError> {
    let length = header_bytes as usize;
    if !(MIN_SEGMENT_HEADER_BYTES..=MAX_SEGMENT_HEADER_BYTES).contains(&length) {
        return Err(SegmentError::HeaderBytes { found: header_bytes });
    }
    let truncated = SegmentError::Truncated { needed: header_bytes.into(), found: bytes.len() as u64 };
    let (signed, crc) = bytes.get(..length).and_then(<[u8]>::split_last_chunk).ok_or(truncated)?;
    let (expected, found) = (u32::from_le_bytes(*crc), crc32fast::hash(signed));
    if expected == found { Ok(()) } else { Err(SegmentError::Crc { expected, found }) }
}

fn agrees(field: &'static str, expected: u64, found: u64) -> Result<(), SegmentError> {
    if expected == found { Ok(()) } else { Err(SegmentError::Contradiction { field, expected, found }) }
}

impl From<ShortField> for SegmentError {
    fn from(ended: ShortField) -> Self {
        Self::Truncated { needed: ended.needed.max(MIN_SEGMENT_HEADER_BYTES as u64), found: ended.found }
    }
}

#[cfg(test)]
mod tests;
