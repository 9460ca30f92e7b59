//! The seal of a control file, by which an opening knows that a holder of the keyring wrote it.
//!
//! A control file is one that an opening acts on. Layout: `docs/formats/control_file.md`.

use std::fmt;

use crate::{KeyUse, Secret, derive};

/// The beginning of the last line; the seal follows in hexadecimal digits.
const SEAL: &str = "seal ";

/// The control files. The seal of each covers its kind, so that one in the place of another is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ControlFile {
    /// The file `declared-loss` of a ledger.
    DeclaredLoss,
    /// The name of bytes in quarantine that the log does not tell of yet.
    TornCut,
    /// The name of frames in quarantine that the disk did not have.
    UnwrittenFrames,
    /// The file `notices` of a ledger.
    Notices,
    /// The file `LEDGERS` of a data folder.
    Ledgers,
    /// The file `erased-keys` of a ledger.
    ErasedKeys,
    /// The name under which an anchor remembers the erasure of one key.
    ErasedKey,
}

/// The reason why bytes are not a control file that this keyring sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ControlFileError {
    /// No UTF-8 text that ends in a seal.
    #[error("found no seal at its end")]
    Missing,
    /// The seal is of other bytes, of another file, or under another keyring.
    #[error("found a seal that this keyring did not make of these bytes")]
    Other,
}

impl ControlFile {
    /// Returns its word in seals.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::DeclaredLoss => "declared loss",
            Self::TornCut => "torn cut",
            Self::UnwrittenFrames => "unwritten frames",
            Self::Notices => "notices",
            Self::Ledgers => "ledgers",
            Self::ErasedKeys => "erased keys",
            Self::ErasedKey => "erased key",
        }
    }

    /// Appends the seal to a text, as the last line of the file.
    #[must_use]
    pub fn seal(self, key: &Secret, text: &str) -> String {
        format!("{text}{SEAL}{}\n", ControlSeal::of(self, key, text.as_bytes()))
    }

    /// Returns the text before the seal.
    ///
    /// # Errors
    /// A [`ControlFileError`]; nothing of such a file may be acted on.
    pub fn unseal<'a>(self, key: &Secret, bytes: &'a [u8]) -> Result<&'a str, ControlFileError> {
        let text = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_suffix('\n'));
        let text = text.ok_or(ControlFileError::Missing)?;
        let (before, last) = text.split_at(text.rfind('\n').map_or(0, |newline| newline + 1));
        let found = last.strip_prefix(SEAL).ok_or(ControlFileError::Missing)?;
        match ControlSeal::of(self, key, before.as_bytes()).is(found) {
            true => Ok(before),
            false => Err(ControlFileError::Other),
        }
    }
}

/// A keyed hash over a control file.
#[derive(Clone, Copy)]
pub struct ControlSeal([u8; 32]);

impl ControlSeal {
    /// Hashes these bytes of such a file under the ledger's `DerivedState` key; for `LEDGERS` under the derived-state key.
    #[must_use]
    pub fn of(file: ControlFile, key: &Secret, bytes: &[u8]) -> Self {
        Self(*derive(KeyUse::ControlFile, key.expose(), &[file.word().as_bytes(), bytes]).expose())
    }

    /// `true`: these are its digits. The comparison takes the same time for any digits.
    #[must_use]
    pub fn is(self, digits: &str) -> bool {
        let mut found = [0; 32];
        hex::decode_to_slice(digits, &mut found).is_ok()
            && digits.bytes().all(|digit| !digit.is_ascii_uppercase())
            && blake3::Hash::from_bytes(found) == blake3::Hash::from_bytes(self.0)
    }
}

impl fmt::Display for ControlSeal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ControlFile; 7] = [
        ControlFile::DeclaredLoss,
        ControlFile::TornCut,
        ControlFile::UnwrittenFrames,
        ControlFile::Notices,
        ControlFile::Ledgers,
        ControlFile::ErasedKeys,
        ControlFile::ErasedKey,
    ];

    fn key(byte: u8) -> Secret {
        Secret::take(&mut [byte; 32])
    }

    #[test]
    fn a_sealed_text_is_read_under_its_key_as_its_file_alone() {
        for file in ALL {
            for text in ["", "a line\n", "two\nlines\n", "seal \n"] {
                let sealed = file.seal(&key(1), text);
                assert_eq!(file.unseal(&key(1), sealed.as_bytes()), Ok(text));
                assert_eq!(file.unseal(&key(2), sealed.as_bytes()), Err(ControlFileError::Other));
                for other in ALL.into_iter().filter(|other| *other != file) {
                    assert_eq!(other.unseal(&key(1), sealed.as_bytes()), Err(ControlFileError::Other));
                }
            }
        }
    }

    #[test]
    fn no_changed_byte_and_no_cut_goes_unseen() {
        let sealed = ControlFile::Notices.seal(&key(1), "a line\n").into_bytes();
        for at in 0..sealed.len() {
            for bit in 0..8 {
                let mut changed = sealed.clone();
                changed[at] ^= 1 << bit;
                assert!(ControlFile::Notices.unseal(&key(1), &changed).is_err(), "byte {at}, bit {bit}");
            }
            assert!(ControlFile::Notices.unseal(&key(1), &sealed[..at]).is_err(), "cut at {at}");
        }
        let behind = [&sealed[..], b"\n"].concat();
        assert!(ControlFile::Notices.unseal(&key(1), &behind).is_err());
        assert_eq!(ControlFile::Notices.unseal(&key(1), b"a line\n"), Err(ControlFileError::Missing));
    }
}
