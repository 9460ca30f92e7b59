//! The files of the store of subject keys.
//!
//! Layout: `docs/formats/subjects.md`.
//!
//! A subject has two: one under its name, which holds the random id of its key, and one under that id, which holds the
//! key. Records know only the id. Once both files are gone, nothing leads from a record back to its subject.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce, Tag};
use zeroize::Zeroizing;

use crate::fields::{Fields, ShortField};
use crate::{KeyUse, LedgerId, Secret, derive};

/// The magic that a file of the store begins with.
pub const SUBJECT_MAGIC: [u8; 8] = *b"BITACSUB";
/// The one format that is written, and the one that can be read.
pub const SUBJECT_FORMAT: u16 = 1;
/// Bytes of a nonce: random, because a file may be made again under the same name.
pub const SUBJECT_NONCE_BYTES: usize = 12;
/// Bytes of a file that holds a key.
pub const SUBJECT_KEY_FILE_BYTES: usize = HEADER_BYTES + KEY_BYTES + TAG_BYTES;
/// Bytes of a file that holds the id of a key.
pub const SUBJECT_NAME_FILE_BYTES: usize = HEADER_BYTES + ID_BYTES + TAG_BYTES;

/// Everything before the ciphertext: authenticated, not secret.
const HEADER_BYTES: usize = 56;
const ID_BYTES: usize = 16;
const KEY_BYTES: usize = 32;
const TAG_BYTES: usize = 16;

/// An error in a file of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubjectFileError {
    /// Every file of a kind is of one length.
    #[error("found {found} bytes, expected {expected}")]
    Length {
        /// Bytes of such a file.
        expected: usize,
        /// Bytes there are.
        found: usize,
    },
    /// No file of the store begins so.
    #[error("found {}, expected the first bytes of a subject's file", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error("found format {found}, expected {SUBJECT_FORMAT}; a newer version may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// A key's file where a name's should be, or the other way round, or neither.
    #[error("found file of kind {found}, expected {expected}")]
    Kind {
        /// The kind asked for.
        expected: u8,
        /// The kind there is.
        found: u8,
    },
    /// The reserved byte of format 1 is zero.
    #[error("found reserved byte {found}, expected 0")]
    Reserved {
        /// The byte there is.
        found: u8,
    },
    /// The file of another ledger.
    #[error("found a file of ledger {found}, expected {expected}")]
    Ledger {
        /// The ledger asked for.
        expected: LedgerId,
        /// The ledger it is of.
        found: LedgerId,
    },
    /// The file of another name or id, renamed.
    #[error("the file of {} expected, of {} found", hex::encode(.expected), hex::encode(.found))]
    Name {
        /// The name or id asked for.
        expected: [u8; 16],
        /// The one it was made for.
        found: [u8; 16],
    },
    /// Sealed under another key, or changed since.
    #[error("it does not open: sealed with another keyring, or its bytes have changed")]
    NotAuthentic,
}

impl From<ShortField> for SubjectFileError {
    fn from(ended: ShortField) -> Self {
        let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        Self::Length { expected: bytes(ended.needed), found: bytes(ended.found) }
    }
}

/// The kind of a file's contents, which also determines its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The subject's key, under its id.
    Key,
    /// The id of the subject's key, under the keyed hash of the subject's name.
    Name,
}

impl Kind {
    const fn byte(self) -> u8 {
        match self {
            Self::Key => 1,
            Self::Name => 2,
        }
    }
}

/// Seals and opens the files of one ledger's store.
#[derive(Debug)]
pub struct SubjectFiles {
    ledger: LedgerId,
    wrapping: Secret,
}

impl SubjectFiles {
    /// The files of `ledger`, sealed under keys derived from its derived-state key
    /// ([`LedgerKeys::index_key`](crate::LedgerKeys::index_key)).
    #[must_use]
    pub fn new(ledger: LedgerId, derived_state_key: Secret) -> Self {
        Self { ledger, wrapping: derived_state_key }
    }

    /// The file of a subject's key, to stand under `id`. The nonce must be random.
    #[must_use]
    pub fn seal_key(
        &self,
        id: &[u8; 16],
        key: &Secret,
        nonce: &[u8; SUBJECT_NONCE_BYTES],
    ) -> [u8; SUBJECT_KEY_FILE_BYTES] {
        self.seal(Kind::Key, id, key.expose(), nonce)
    }

    /// The subject's key that stands under `id`.
    ///
    /// # Errors
    ///
    /// [`SubjectFileError`] for any bytes but those that [`Self::seal_key`] made for this ledger and id.
    pub fn open_key(&self, id: &[u8; 16], file: &[u8]) -> Result<Secret, SubjectFileError> {
        let mut key = self.open::<KEY_BYTES>(Kind::Key, id, file)?;
        Ok(Secret::take(&mut key))
    }

    /// The file of a subject's name, to stand under its keyed hash. The nonce must be random.
    #[must_use]
    pub fn seal_name(
        &self,
        name: &[u8; 16],
        id: &[u8; 16],
        nonce: &[u8; SUBJECT_NONCE_BYTES],
    ) -> [u8; SUBJECT_NAME_FILE_BYTES] {
        self.seal(Kind::Name, name, id, nonce)
    }

    /// The id of the key of the subject whose name has this keyed hash.
    ///
    /// # Errors
    ///
    /// [`SubjectFileError`] for any bytes but those that [`Self::seal_name`] made for this ledger and name.
    pub fn open_name(&self, name: &[u8; 16], file: &[u8]) -> Result<[u8; 16], SubjectFileError> {
        self.open::<ID_BYTES>(Kind::Name, name, file).map(|id| *id)
    }

    fn seal<const CONTENT: usize, const FILE: usize>(
        &self,
        kind: Kind,
        name: &[u8; 16],
        content: &[u8; CONTENT],
        nonce: &[u8; SUBJECT_NONCE_BYTES],
    ) -> [u8; FILE] {
        const { assert!(FILE == HEADER_BYTES + CONTENT + TAG_BYTES) };
        let mut file = [0; FILE];
        let (header, rest) = file.split_at_mut(HEADER_BYTES);
        let (body, tag) = rest.split_at_mut(CONTENT);
        let fields: [&[u8]; 7] = [
            &SUBJECT_MAGIC,
            &SUBJECT_FORMAT.to_le_bytes(),
            &[kind.byte()],
            &[0],
            &self.ledger.0,
            name,
            nonce,
        ];
        header.copy_from_slice(&fields.concat());
        body.copy_from_slice(content);
        // AES-GCM refuses nothing shorter than 64 GiB.
        if let Ok(made) =
            self.cipher(kind, name).encrypt_inout_detached(&Nonce::from(*nonce), header, body.into())
        {
            tag.copy_from_slice(&made);
        }
        file
    }

    fn open<const CONTENT: usize>(
        &self,
        kind: Kind,
        name: &[u8; 16],
        file: &[u8],
    ) -> Result<Zeroizing<[u8; CONTENT]>, SubjectFileError> {
        let length =
            SubjectFileError::Length { expected: HEADER_BYTES + CONTENT + TAG_BYTES, found: file.len() };
        let (header, rest) = file.split_first_chunk::<HEADER_BYTES>().ok_or(length)?;
        let (body, rest) = rest.split_first_chunk::<CONTENT>().ok_or(length)?;
        let tag: &[u8; TAG_BYTES] = rest.try_into().map_err(|_| length)?;
        let nonce = self.check_header(kind, name, header)?;
        let mut content = Zeroizing::new(*body);
        self.cipher(kind, name)
            .decrypt_inout_detached(
                &Nonce::from(nonce),
                header,
                content.as_mut_slice().into(),
                &Tag::from(*tag),
            )
            .map_err(|_| SubjectFileError::NotAuthentic)?;
        Ok(content)
    }

    fn check_header(
        &self,
        kind: Kind,
        name: &[u8; 16],
        header: &[u8; HEADER_BYTES],
    ) -> Result<[u8; SUBJECT_NONCE_BYTES], SubjectFileError> {
        let mut fields = Fields::new(header);
        let found = fields.bytes()?;
        if found != SUBJECT_MAGIC {
            return Err(SubjectFileError::Magic { found });
        }
        let found = fields.u16()?;
        if found != SUBJECT_FORMAT {
            return Err(SubjectFileError::Format { found });
        }
        let found = fields.u8()?;
        if found != kind.byte() {
            return Err(SubjectFileError::Kind { expected: kind.byte(), found });
        }
        let found = fields.u8()?;
        if found != 0 {
            return Err(SubjectFileError::Reserved { found });
        }
        let found = LedgerId(fields.bytes()?);
        if found != self.ledger {
            return Err(SubjectFileError::Ledger { expected: self.ledger, found });
        }
        let found = fields.bytes()?;
        if found != *name {
            return Err(SubjectFileError::Name { expected: *name, found });
        }
        Ok(fields.bytes()?)
    }

    /// A key for each file, so that no nonce can ever meet the key of another one.
    fn cipher(&self, kind: Kind, name: &[u8; 16]) -> Aes256Gcm {
        let key = derive(KeyUse::SubjectWrap, self.wrapping.expose(), &[&[kind.byte()], name]);
        Aes256Gcm::new(key.expose().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitacora_testkit::hex_block;

    const DOCUMENT: &str = include_str!("../../docs/formats/subjects.md");
    const ID: [u8; 16] = [0xb1; 16];
    const NAME: [u8; 16] = [0xc2; 16];
    const NONCE: [u8; SUBJECT_NONCE_BYTES] = [0xd3; SUBJECT_NONCE_BYTES];

    fn secret(byte: u8) -> Secret {
        Secret::take(&mut [byte; 32])
    }

    fn files() -> SubjectFiles {
        SubjectFiles::new(
            LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap())),
            secret(0x11),
        )
    }

    #[test]
    fn the_worked_examples_open_and_seal_to_the_same_bytes() {
        let (key_file, name_file) = (hex_block(DOCUMENT, 0), hex_block(DOCUMENT, 1));
        assert_eq!(hex::encode(files().seal_key(&ID, &secret(0x5a), &NONCE)), hex::encode(&key_file));
        assert_eq!(hex::encode(files().seal_name(&NAME, &ID, &NONCE)), hex::encode(&name_file));
        assert_eq!(files().open_key(&ID, &key_file), Ok(secret(0x5a)));
        assert_eq!(files().open_name(&NAME, &name_file), Ok(ID));
    }

    #[test]
    fn every_changed_byte_and_every_other_length_is_refused() {
        let key_file = files().seal_key(&ID, &secret(0x5a), &NONCE);
        let name_file = files().seal_name(&NAME, &ID, &NONCE);
        for at in 0..key_file.len() {
            for bit in 0..8 {
                let mut changed = key_file;
                changed[at] ^= 1 << bit;
                assert!(files().open_key(&ID, &changed).is_err(), "key file, byte {at}, bit {bit}");
            }
            assert!(files().open_key(&ID, &key_file[..at]).is_err(), "key file cut at {at}");
        }
        for at in 0..name_file.len() {
            let mut changed = name_file;
            changed[at] ^= 1;
            assert!(files().open_name(&NAME, &changed).is_err(), "name file, byte {at}");
        }
        let longer = [&key_file[..], &[0]].concat();
        let length = SubjectFileError::Length { expected: SUBJECT_KEY_FILE_BYTES, found: longer.len() };
        assert_eq!(files().open_key(&ID, &longer), Err(length));
    }

    #[test]
    fn a_file_opens_only_as_what_it_was_made_as() {
        let key_file = files().seal_key(&ID, &secret(0x5a), &NONCE);
        let other_name = SubjectFileError::Name { expected: NAME, found: ID };
        assert_eq!(files().open_key(&NAME, &key_file), Err(other_name), "renamed");
        let mut as_name = files().seal_name(&ID, &ID, &NONCE);
        let kind = SubjectFileError::Kind { expected: 1, found: 2 };
        let padded = [&as_name[..], &[0; 16]].concat();
        assert_eq!(files().open_key(&ID, &padded), Err(kind), "the other kind");
        as_name[10] = 1;
        let relabelled = [&as_name[..], &[0; 16]].concat();
        assert_eq!(files().open_key(&ID, &relabelled), Err(SubjectFileError::NotAuthentic), "relabelled");
        let other_keyring = SubjectFiles::new(files().ledger, secret(0x12));
        assert_eq!(
            other_keyring.open_key(&ID, &key_file),
            Err(SubjectFileError::NotAuthentic),
            "other keyring"
        );
        let other_ledger = SubjectFiles::new(LedgerId([0; 16]), secret(0x11));
        let ledger = SubjectFileError::Ledger { expected: LedgerId([0; 16]), found: files().ledger };
        assert_eq!(other_ledger.open_key(&ID, &key_file), Err(ledger), "other ledger");
    }

    #[test]
    fn a_header_field_that_is_wrong_is_named() {
        let broken = |at: usize, byte: u8| {
            let mut file = files().seal_key(&ID, &secret(0x5a), &NONCE);
            file[at] = byte;
            files().open_key(&ID, &file).unwrap_err()
        };
        assert_eq!(broken(0, b'X'), SubjectFileError::Magic { found: *b"XITACSUB" });
        assert_eq!(broken(8, 2), SubjectFileError::Format { found: 2 });
        assert_eq!(broken(10, 9), SubjectFileError::Kind { expected: 1, found: 9 });
        assert_eq!(broken(11, 1), SubjectFileError::Reserved { found: 1 });
        assert_eq!(broken(55, 0), SubjectFileError::NotAuthentic);
    }
}
