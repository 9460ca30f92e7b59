//! The sealed part of an event that names a data subject.
//!
//! Layout: `docs/formats/part.md`.
//!
//! Sealing is a function of its inputs alone: a retried request gives the same record and so the same commitment. Once
//! the subject's key is erased the record stays unchanged, and only the part opens no more.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce, Tag};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::limits::MAX_PART_BYTES;
use crate::{KeyUse, LedgerId, Secret, derive};

/// Bytes that sealing adds to a part: the AES-GCM tag.
pub const PART_TAG_BYTES: usize = 16;

/// An error in sealing or opening a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// More bytes than a part can have.
    #[error("sealed part of {bytes} bytes; at most {MAX_PART_BYTES} are taken")]
    TooLong {
        /// Bytes of the sealed part.
        bytes: usize,
    },
    /// Fewer bytes than the tag alone.
    #[error("sealed part of {bytes} bytes; the tag alone takes {PART_TAG_BYTES}")]
    Truncated {
        /// Bytes of the sealed part.
        bytes: usize,
    },
    /// The key, the ledger, the seal and the bytes do not belong together.
    #[error("the sealed part does not open: another subject's key, another ledger, or changed bytes")]
    NotAuthentic,
    /// It opens, but to other bytes than the record's seal was made of.
    #[error("the sealed part opens to bytes that its record's seal was not made of; do not trust them")]
    SealMismatch,
}

/// Seals `plaintext` under the subject's key. Returns the seal `S` that the record holds, and the ciphertext followed
/// by its tag.
///
/// # Errors
///
/// [`PartError::TooLong`] if the sealed part would be longer than [`MAX_PART_BYTES`].
pub fn seal_part(
    subject_key: &Secret,
    ledger: LedgerId,
    plaintext: &[u8],
) -> Result<([u8; 32], Vec<u8>), PartError> {
    let too_long = PartError::TooLong { bytes: plaintext.len().saturating_add(PART_TAG_BYTES) };
    if plaintext.len() > MAX_PART_BYTES - PART_TAG_BYTES {
        return Err(too_long);
    }
    let seal = seal_of(subject_key, ledger, plaintext);
    let mut sealed = Vec::with_capacity(plaintext.len() + PART_TAG_BYTES);
    sealed.extend_from_slice(plaintext);
    let tag = cipher(subject_key, ledger, &seal)
        .encrypt_inout_detached(&Nonce::default(), &seal, sealed.as_mut_slice().into())
        .map_err(|_| too_long)?;
    sealed.extend_from_slice(&tag);
    Ok((seal, sealed))
}

/// Returns the stand-in for the action of a call whose arguments are sealed under this subject's key.
///
/// It is the same for the same action in the same folder. After the key is erased, nobody can test a guess of what it
/// was made of.
#[must_use]
pub fn sealed_action(subject_key: &Secret, ledger: LedgerId, digest: &str, folder: &str) -> [u8; 32] {
    let fields: &[&[u8]] = &[&ledger.0, digest.as_bytes(), folder.as_bytes()];
    *derive(KeyUse::SubjectAction, subject_key.expose(), fields).expose()
}

/// Opens a part that [`seal_part`] sealed and checks it against `seal`.
///
/// # Errors
///
/// [`PartError`] for any other key, ledger, seal or bytes; nothing of the part is returned then.
pub fn open_part(
    subject_key: &Secret,
    ledger: LedgerId,
    seal: &[u8; 32],
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, PartError> {
    if sealed.len() > MAX_PART_BYTES {
        return Err(PartError::TooLong { bytes: sealed.len() });
    }
    let (ciphertext, tag) = sealed.split_last_chunk().ok_or(PartError::Truncated { bytes: sealed.len() })?;
    let tag: &[u8; PART_TAG_BYTES] = tag;
    let mut plaintext = Zeroizing::new(ciphertext.to_vec());
    cipher(subject_key, ledger, seal)
        .decrypt_inout_detached(&Nonce::default(), seal, plaintext.as_mut_slice().into(), &Tag::from(*tag))
        .map_err(|_| PartError::NotAuthentic)?;
    // AES-GCM does not commit to its key: who holds two keys can make bytes that open under both. The seal commits.
    let matches = seal_of(subject_key, ledger, &plaintext).ct_eq(seal);
    if bool::from(matches) { Ok(plaintext) } else { Err(PartError::SealMismatch) }
}

/// Returns the key of the keyed hashes by which a subject's parts are compared with their seals.
///
/// A holder of this key can check any part against a record, for all parts of this subject. The key opens no part.
#[must_use]
pub fn part_blind(subject_key: &Secret, ledger: LedgerId) -> Secret {
    derive(KeyUse::SubjectBlind, subject_key.expose(), &[&ledger.0])
}

/// Checks an opened part against the seal in its record, by the blind alone.
///
/// # Errors
///
/// [`PartError::SealMismatch`] for any other part or blind.
pub fn check_part(blind: &Secret, seal: &[u8; 32], plaintext: &[u8]) -> Result<(), PartError> {
    let found = blake3::keyed_hash(blind.expose(), plaintext);
    if bool::from(found.as_bytes().ct_eq(seal)) { Ok(()) } else { Err(PartError::SealMismatch) }
}

/// `S`: keyed with a key of the subject's, so that it tells nothing of a guessable part and dies with the key.
fn seal_of(subject_key: &Secret, ledger: LedgerId, plaintext: &[u8]) -> [u8; 32] {
    let blind = part_blind(subject_key, ledger);
    *blake3::keyed_hash(blind.expose(), plaintext).as_bytes()
}

/// The cipher of one part. Its key depends on the part through `S`, so no key meets two plaintexts and the nonce can
/// stay zero.
fn cipher(subject_key: &Secret, ledger: LedgerId, seal: &[u8; 32]) -> Aes256Gcm {
    let key = derive(KeyUse::SubjectPart, subject_key.expose(), &[&ledger.0, seal]);
    Aes256Gcm::new(key.expose().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitacora_testkit::hex_block;

    const DOCUMENT: &str = include_str!("../../docs/formats/part.md");
    const PLAINTEXT: &[u8] = b"person/9 said: call me on 555-0100";

    fn subject_key(byte: u8) -> Secret {
        Secret::take(&mut [byte; 32])
    }

    fn ledger() -> LedgerId {
        LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap()))
    }

    #[test]
    fn the_worked_example_opens_and_seals_to_the_same_bytes() {
        let seal: [u8; 32] = hex_block(DOCUMENT, 1).try_into().unwrap();
        let sealed = hex_block(DOCUMENT, 2);
        let (new_seal, new_sealed) = seal_part(&subject_key(0x5a), ledger(), PLAINTEXT).unwrap();
        assert_eq!(
            (hex::encode(new_seal), hex::encode(&new_sealed)),
            (hex::encode(seal), hex::encode(&sealed))
        );
        assert_eq!(hex_block(DOCUMENT, 0), PLAINTEXT);
        assert_eq!(open_part(&subject_key(0x5a), ledger(), &seal, &sealed).unwrap().as_slice(), PLAINTEXT);
    }

    #[test]
    fn sealing_again_gives_the_same_bytes_and_other_inputs_give_others() {
        let first = seal_part(&subject_key(1), ledger(), PLAINTEXT).unwrap();
        assert_eq!(first, seal_part(&subject_key(1), ledger(), PLAINTEXT).unwrap());
        let others = [
            seal_part(&subject_key(2), ledger(), PLAINTEXT).unwrap(),
            seal_part(&subject_key(1), LedgerId([0; 16]), PLAINTEXT).unwrap(),
            seal_part(&subject_key(1), ledger(), &PLAINTEXT[1..]).unwrap(),
        ];
        assert!(others.iter().all(|other| other.0 != first.0 && other.1 != first.1));
    }

    #[test]
    fn a_blind_checks_a_part_and_no_other() {
        let (seal, _) = seal_part(&subject_key(1), ledger(), PLAINTEXT).unwrap();
        let blind = part_blind(&subject_key(1), ledger());
        assert_eq!(check_part(&blind, &seal, PLAINTEXT), Ok(()));
        assert_eq!(check_part(&blind, &seal, &PLAINTEXT[1..]), Err(PartError::SealMismatch));
        for other in [part_blind(&subject_key(2), ledger()), part_blind(&subject_key(1), LedgerId([0; 16]))] {
            assert_eq!(check_part(&other, &seal, PLAINTEXT), Err(PartError::SealMismatch));
        }
    }

    #[test]
    fn two_parts_of_one_subject_share_no_keystream() {
        let (_, first) = seal_part(&subject_key(1), ledger(), &[0; 32]).unwrap();
        let (_, second) = seal_part(&subject_key(1), ledger(), &[1; 32]).unwrap();
        assert!(first[..32].iter().zip(&second[..32]).any(|(one, other)| one ^ other != 1));
    }

    #[test]
    fn it_opens_with_nothing_but_what_sealed_it() {
        let (seal, sealed) = seal_part(&subject_key(1), ledger(), PLAINTEXT).unwrap();
        let refused = |key, ledger, seal: &[u8; 32], sealed: &[u8]| {
            open_part(&subject_key(key), ledger, seal, sealed).map(|_| ()).unwrap_err()
        };
        assert_eq!(refused(2, ledger(), &seal, &sealed), PartError::NotAuthentic, "another subject's key");
        assert_eq!(refused(1, LedgerId([0; 16]), &seal, &sealed), PartError::NotAuthentic, "another ledger");
        for at in 0..32 {
            let mut changed = seal;
            changed[at] ^= 1;
            assert_eq!(refused(1, ledger(), &changed, &sealed), PartError::NotAuthentic, "seal, byte {at}");
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 0x80;
            assert_eq!(refused(1, ledger(), &seal, &changed), PartError::NotAuthentic, "part, byte {at}");
            assert!(open_part(&subject_key(1), ledger(), &seal, &sealed[..at]).is_err(), "cut at {at}");
        }
        assert_eq!(refused(1, ledger(), &seal, &[0; 15]), PartError::Truncated { bytes: 15 });
        let long = vec![0; MAX_PART_BYTES + 1];
        assert_eq!(refused(1, ledger(), &seal, &long), PartError::TooLong { bytes: long.len() });
    }

    #[test]
    fn a_part_sealed_under_the_right_key_for_another_seal_is_refused() {
        // A forgery that a holder of the subject's key could make: the seal chosen first, other bytes sealed under it.
        let seal = [7; 32];
        let mut forged = PLAINTEXT.to_vec();
        let tag = cipher(&subject_key(1), ledger(), &seal)
            .encrypt_inout_detached(&Nonce::default(), &seal, forged.as_mut_slice().into())
            .unwrap();
        forged.extend_from_slice(&tag);
        let opened = open_part(&subject_key(1), ledger(), &seal, &forged);
        assert_eq!(opened.map(|_| ()), Err(PartError::SealMismatch));
    }

    #[test]
    fn the_longest_part_seals_and_opens_and_one_byte_more_does_not() {
        let longest = vec![3; MAX_PART_BYTES - PART_TAG_BYTES];
        let (seal, sealed) = seal_part(&subject_key(1), ledger(), &longest).unwrap();
        assert_eq!(sealed.len(), MAX_PART_BYTES);
        assert_eq!(*open_part(&subject_key(1), ledger(), &seal, &sealed).unwrap(), longest);
        let over = vec![3; longest.len() + 1];
        assert_eq!(
            seal_part(&subject_key(1), ledger(), &over),
            Err(PartError::TooLong { bytes: MAX_PART_BYTES + 1 })
        );
        let (seal, sealed) = seal_part(&subject_key(1), ledger(), b"").unwrap();
        assert_eq!(open_part(&subject_key(1), ledger(), &seal, &sealed).unwrap().as_slice(), b"");
    }
}
