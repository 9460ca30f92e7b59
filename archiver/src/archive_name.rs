//! What an archive is called in every store: by the ledger, its generation, and the positions that it holds.

use std::fmt;
use std::str::FromStr;

use bitacora_formats::{Generation, LedgerId, Position};

/// What a file of an archive ends with.
const ENDING: &str = ".bca";
/// Digits of a position: as many as the largest has, so that names sort as positions do.
const DIGITS: usize = 20;

/// The name of an archive: `<ledger id>/g<generation>/<first>-<last>.bca`, positions in 20 digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArchiveName {
    /// The ledger.
    pub ledger: LedgerId,
    /// The life of the ledger that its last events are of.
    pub generation: Generation,
    /// The first position.
    pub first: Position,
    /// The last position.
    pub last: Position,
}

/// A text that is no archive's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of an archive: LEDGER/gGENERATION/FIRST-LAST{ENDING}, positions in {DIGITS} digits")]
pub struct ArchiveNameError;

impl ArchiveName {
    /// The folder that it lies in.
    #[must_use]
    pub fn folder(&self) -> String {
        Self::folder_of(self.ledger, self.generation)
    }

    /// The folder of all archives of a generation.
    #[must_use]
    pub fn folder_of(ledger: LedgerId, generation: Generation) -> String {
        format!("{ledger}/g{}", generation.0)
    }

    /// What says which positions, without folder and ending.
    #[must_use]
    pub fn range(&self) -> String {
        format!("{:0DIGITS$}-{:0DIGITS$}", self.first.get(), self.last.get())
    }
}

impl fmt::Display for ArchiveName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}{ENDING}", self.folder(), self.range())
    }
}

impl FromStr for ArchiveName {
    type Err = ArchiveNameError;

    fn from_str(text: &str) -> Result<Self, ArchiveNameError> {
        let parsed = || {
            let mut parts = text.split('/');
            let (ledger, generation, file) = (parts.next()?, parts.next()?, parts.next()?);
            let (first, last) = file.strip_suffix(ENDING)?.split_once('-')?;
            let generation = generation.strip_prefix('g')?.parse().ok()?;
            let position = |text: &str| Position::new(text.parse().ok()?);
            Some(Self {
                ledger: ledger.parse().ok()?,
                generation: Generation(generation),
                first: position(first)?,
                last: position(last)?,
            })
        };
        // One archive has one name: no other digits, no other ending, nothing behind it.
        parsed().filter(|name| name.first <= name.last && name.to_string() == text).ok_or(ArchiveNameError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_and_which_positions() {
        let name = ArchiveName {
            ledger: LedgerId([0xab; 16]),
            generation: Generation(2),
            first: Position::FIRST,
            last: Position::new(512).unwrap(),
        };
        let text = "abababababababababababababababab/g2/00000000000000000001-00000000000000000512.bca";
        assert_eq!(name.to_string(), text);
        assert_eq!(text.parse(), Ok(name));
    }

    #[test]
    fn every_other_text_is_refused() {
        let whole = "abababababababababababababababab/g2/00000000000000000001-00000000000000000512.bca";
        for (from, to) in [
            ("g2", "2"),
            ("g2", "g02"),
            ("g2", "g+2"),
            ("/g2", ""),
            ("ab/", "/"),
            ("0001-", "001-"),
            ("0001-", "0000-"),
            ("0001-", "0600-"),
            ("-", "_"),
            (".bca", ""),
            (".bca", ".bca/x"),
            (".bca", ".BCA"),
            ("abab", "AbAb"),
        ] {
            let text = whole.replacen(from, to, 1);
            assert_ne!(text, whole);
            assert_eq!(text.parse::<ArchiveName>(), Err(ArchiveNameError), "{text}");
        }
        assert_eq!("".parse::<ArchiveName>(), Err(ArchiveNameError));
    }
}
