//! A keyring's file under a passphrase: scrypt derives the key, and AES-256-GCM seals the text.
//!
//! Layout: `docs/formats/passphrase.md`.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce, Tag};
use scrypt::Params;
use zeroize::Zeroizing;

use crate::Secret;
use crate::fields::{Fields, ShortField};
use crate::limits::{MAX_KEYRING_BYTES, MAX_SCRYPT_LOG_N, MAX_SCRYPT_PASSES, MIN_SCRYPT_LOG_N};

/// The magic that a file under a passphrase begins with.
pub const PASSPHRASE_MAGIC: [u8; 8] = *b"BITACPWD";
/// The one format that is written, and the one that can be read.
pub const PASSPHRASE_FORMAT: u16 = 1;
/// Bytes that such a file has beyond the text in it.
pub const PASSPHRASE_OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;
/// Bytes of the salt and the nonce together. Both are random in each file.
pub const PASSPHRASE_RANDOM_BYTES: usize = SALT_BYTES + NONCE_BYTES;

/// scrypt's block size `r`, in units of 128 bytes.
const BLOCK_SIZE: u8 = 8;
/// Everything before the ciphertext: authenticated, not secret.
const HEADER_BYTES: usize = 42;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
const MAX_FILE_BYTES: usize = MAX_KEYRING_BYTES + PASSPHRASE_OVERHEAD_BYTES;

/// The cost of one derivation, within the limits that a reader accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScryptCost {
    log_n: u8,
    passes: u8,
}

impl ScryptCost {
    /// The cost of new files: 256 MiB and about a second. It is twice the least that OWASP advises for scrypt.
    pub const DEFAULT: Self = Self { log_n: 18, passes: 1 };
    /// The least cost that is read, for tests: 1 MiB.
    pub const MIN: Self = Self { log_n: MIN_SCRYPT_LOG_N, passes: 1 };

    /// Returns the cost with these parameters.
    ///
    /// # Errors
    /// [`PassphraseFileError::Cost`] outside the limits.
    pub const fn new(log_n: u8, block_size: u8, passes: u8) -> Result<Self, PassphraseFileError> {
        let (memory, time) =
            (MIN_SCRYPT_LOG_N <= log_n && log_n <= MAX_SCRYPT_LOG_N, passes <= MAX_SCRYPT_PASSES);
        match memory && time && passes > 0 && block_size == BLOCK_SIZE {
            true => Ok(Self { log_n, passes }),
            false => Err(PassphraseFileError::Cost { log_n, block_size, passes }),
        }
    }

    /// Derives a key from a passphrase. The salt's length is free, so that published vectors pass through here.
    fn derive_key(self, passphrase: &[u8], salt: &[u8]) -> Result<Secret, PassphraseFileError> {
        let refused =
            PassphraseFileError::Cost { log_n: self.log_n, block_size: BLOCK_SIZE, passes: self.passes };
        let params = Params::new(self.log_n, BLOCK_SIZE.into(), self.passes.into()).map_err(|_| refused)?;
        let mut key = [0; 32];
        scrypt::scrypt(passphrase, salt, &params, &mut key).map_err(|_| refused)?;
        Ok(Secret::take(&mut key))
    }
}

/// The reason why bytes are not a file under this passphrase. Never holds a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassphraseFileError {
    /// Shorter than a header and a tag, or longer than a keyring can be.
    #[error("found {found} bytes, expected {PASSPHRASE_OVERHEAD_BYTES} to {max}")]
    Length {
        /// Bytes there are.
        found: usize,
        /// The limit.
        max: usize,
    },
    /// No file under a passphrase begins so.
    #[error("found {}, expected the first bytes of a file under a passphrase", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error("found format {found}, expected {PASSPHRASE_FORMAT}; a newer version may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// Parameters outside the limits.
    #[error(
        "found scrypt with log N {log_n}, r {block_size}, p {passes}; expected log N {MIN_SCRYPT_LOG_N} to {MAX_SCRYPT_LOG_N}, r {BLOCK_SIZE}, p 1 to {MAX_SCRYPT_PASSES}"
    )]
    Cost {
        /// The binary logarithm of scrypt's `N`.
        log_n: u8,
        /// scrypt's `r`.
        block_size: u8,
        /// scrypt's `p`.
        passes: u8,
    },
    /// The reserved byte of format 1 is zero.
    #[error("found reserved byte {found}, expected 0")]
    Reserved {
        /// The byte there is.
        found: u8,
    },
    /// Sealed under another passphrase, or changed since.
    #[error("the passphrase does not open it, or its bytes have changed")]
    NotAuthentic,
}

impl From<ShortField> for PassphraseFileError {
    fn from(ended: ShortField) -> Self {
        Self::Length { found: usize::try_from(ended.found).unwrap_or(usize::MAX), max: MAX_FILE_BYTES }
    }
}

/// The header of a file under a passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassphraseHeader {
    cost: ScryptCost,
    salt: [u8; SALT_BYTES],
    nonce: [u8; NONCE_BYTES],
}

impl PassphraseHeader {
    /// Makes the header of a new file. The bytes must be random: they are the salt, then the nonce.
    #[must_use]
    pub fn new(cost: ScryptCost, random: &[u8; PASSPHRASE_RANDOM_BYTES]) -> Self {
        let (mut salt, mut nonce) = ([0; SALT_BYTES], [0; NONCE_BYTES]);
        let (first, last) = random.split_at(SALT_BYTES);
        salt.copy_from_slice(first);
        nonce.copy_from_slice(last);
        Self { cost, salt, nonce }
    }

    /// Returns `true` if a file begins with the magic.
    #[must_use]
    pub fn is_at(file: &[u8]) -> bool {
        file.starts_with(&PASSPHRASE_MAGIC)
    }

    /// Reads a file's header without deriving anything.
    ///
    /// # Errors
    /// A [`PassphraseFileError`]. Parameters outside the limits are refused here, before any memory is taken.
    pub fn decode(file: &[u8]) -> Result<Self, PassphraseFileError> {
        if !(PASSPHRASE_OVERHEAD_BYTES..=MAX_FILE_BYTES).contains(&file.len()) {
            return Err(PassphraseFileError::Length { found: file.len(), max: MAX_FILE_BYTES });
        }
        let mut fields = Fields::new(file);
        let found = fields.bytes()?;
        if found != PASSPHRASE_MAGIC {
            return Err(PassphraseFileError::Magic { found });
        }
        let found = fields.u16()?;
        if found != PASSPHRASE_FORMAT {
            return Err(PassphraseFileError::Format { found });
        }
        let cost = ScryptCost::new(fields.u8()?, fields.u8()?, fields.u8()?)?;
        let found = fields.u8()?;
        if found != 0 {
            return Err(PassphraseFileError::Reserved { found });
        }
        Ok(Self { cost, salt: fields.bytes()?, nonce: fields.bytes()? })
    }

    /// Returns the cost of opening the file.
    #[must_use]
    pub fn cost(&self) -> ScryptCost {
        self.cost
    }

    /// Returns the bytes that stand before the ciphertext.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let cost = [self.cost.log_n, BLOCK_SIZE, self.cost.passes, 0];
        let format = PASSPHRASE_FORMAT.to_le_bytes();
        let fields: [&[u8]; 5] = [&PASSPHRASE_MAGIC, &format, &cost, &self.salt, &self.nonce];
        fields.concat()
    }

    /// Seals a text under a passphrase, as a whole file.
    ///
    /// # Errors
    /// [`PassphraseFileError::Length`] for a text that is longer than a keyring.
    pub fn seal(&self, text: &[u8], passphrase: &str) -> Result<Vec<u8>, PassphraseFileError> {
        let found = text.len() + PASSPHRASE_OVERHEAD_BYTES;
        let too_long = PassphraseFileError::Length { found, max: MAX_FILE_BYTES };
        if found > MAX_FILE_BYTES {
            return Err(too_long);
        }
        let cipher = self.cipher(passphrase)?;
        let header = self.encode();
        // Erased if it is dropped before it is sealed.
        let mut body = Zeroizing::new(text.to_vec());
        let tag =
            cipher.encrypt_inout_detached(&Nonce::from(self.nonce), &header, body.as_mut_slice().into());
        let tag = tag.map_err(|_| too_long)?;
        Ok([header.as_slice(), &body, &tag].concat())
    }

    /// Opens a file; the text is erased from memory when dropped.
    ///
    /// # Errors
    /// A [`PassphraseFileError`] for any bytes but those that [`Self::seal`] made under this passphrase.
    pub fn open(file: &[u8], passphrase: &str) -> Result<Zeroizing<Vec<u8>>, PassphraseFileError> {
        let this = Self::decode(file)?;
        let short = PassphraseFileError::Length { found: file.len(), max: MAX_FILE_BYTES };
        let (header, sealed) = file.split_at_checked(HEADER_BYTES).ok_or(short)?;
        let (body, tag) = sealed.split_last_chunk::<TAG_BYTES>().ok_or(short)?;
        let cipher = this.cipher(passphrase)?;
        let mut text = Zeroizing::new(body.to_vec());
        let opened = cipher.decrypt_inout_detached(
            &Nonce::from(this.nonce),
            header,
            text.as_mut_slice().into(),
            &Tag::from(*tag),
        );
        opened.map(|()| text).map_err(|_| PassphraseFileError::NotAuthentic)
    }

    fn cipher(&self, passphrase: &str) -> Result<Aes256Gcm, PassphraseFileError> {
        let key = self.cost.derive_key(passphrase.as_bytes(), &self.salt)?;
        Ok(Aes256Gcm::new(key.expose().into()))
    }
}

#[cfg(test)]
mod tests;
