//! The list of a ledger's erased keys: the keys of data subjects that are destroyed, and must not be used where a copy brings them back.
//!
//! Layout: `docs/formats/erased_keys.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::Secret;
use crate::control_file::{ControlFile, ControlFileError, ControlSeal};
use crate::ids::{After, Generation, Position};
use crate::limits::{MAX_ERASED_KEYS, MAX_ERASED_KEYS_BYTES};

/// The first line of the list: the format that is written, and the one that can be read.
pub const ERASED_KEYS_FORMAT: &str = "bitacora-erased-keys v1";

/// The text in the place of a position that no event has.
const UNRECORDED: &str = "-";
/// Hexadecimal digits of a key's id.
const ID_DIGITS: usize = 32;

/// The keys of one ledger's data subjects that are erased, as far as the log was read for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasedKeys {
    /// The generation in which the log was read so far. In another one, positions mean other events.
    pub generation: Generation,
    /// Erasures after this event are not in the list.
    pub through: After,
    /// The ids of the keys, each with the event that records its erasure; `None` where the anchor alone remembers it.
    pub keys: BTreeMap<[u8; 16], Option<Position>>,
}

/// An error in the bytes of a list of erased keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ErasedKeysError {
    /// More bytes than a list can have.
    #[error("found {bytes} bytes, expected at most {MAX_ERASED_KEYS_BYTES}")]
    TooLong {
        /// Bytes there are.
        bytes: usize,
    },
    /// The seal is missing or another one.
    #[error(transparent)]
    Seal(#[from] ControlFileError),
    /// The format is another one.
    #[error("found a list of another format, expected '{ERASED_KEYS_FORMAT}'")]
    Format,
    /// A line is not in its form, or out of order.
    #[error("line {line}: expected {expected}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The form that it must have.
        expected: &'static str,
    },
}

impl ErasedKeys {
    /// The empty list, for which nothing of the log was read.
    #[must_use]
    pub const fn new(generation: Generation) -> Self {
        Self { generation, through: After::START, keys: BTreeMap::new() }
    }

    /// Returns the bytes of the file, with its seal.
    #[must_use]
    pub fn to_file(&self, key: &Secret) -> String {
        let mut text = format!(
            "{ERASED_KEYS_FORMAT}\ngeneration {}\nthrough {}\n",
            self.generation.0,
            self.through.get()
        );
        for (id, position) in self.keys.iter().take(MAX_ERASED_KEYS) {
            let position = position.map_or_else(|| UNRECORDED.to_owned(), |position| position.to_string());
            // A string takes every text.
            let _written = writeln!(text, "{} {position}", hex::encode(id)).is_ok();
        }
        ControlFile::ErasedKeys.seal(key, &text)
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// An [`ErasedKeysError`]; nothing of such a file may be acted on.
    pub fn of_file(key: &Secret, bytes: &[u8]) -> Result<Self, ErasedKeysError> {
        if bytes.len() > MAX_ERASED_KEYS_BYTES {
            return Err(ErasedKeysError::TooLong { bytes: bytes.len() });
        }
        let mut lines = (1..).zip(ControlFile::ErasedKeys.unseal(key, bytes)?.split_terminator('\n'));
        let mut next = |expected| lines.next().ok_or(ErasedKeysError::Line { line: 0, expected });
        if next("the format")?.1 != ERASED_KEYS_FORMAT {
            return Err(ErasedKeysError::Format);
        }
        let generation = Generation(number(next("a generation")?, "generation ")?);
        let through = After::new(number(next("a position")?, "through ")?);
        let mut list = Self { generation, through, keys: BTreeMap::new() };
        for (line, text) in lines {
            let (id, position) = erased_key(text).ok_or(ErasedKeysError::Line {
                line,
                expected: "32 hexadecimal digits, a blank, and a position or '-'",
            })?;
            if list.keys.last_key_value().is_some_and(|(last, _)| *last >= id) {
                return Err(ErasedKeysError::Line { line, expected: "an id above the one before" });
            }
            list.keys.insert(id, position);
        }
        Ok(list)
    }
}

fn number<N: std::str::FromStr + ToString>(
    (line, text): (usize, &str),
    word: &'static str,
) -> Result<N, ErasedKeysError> {
    let digits = text.strip_prefix(word);
    let number = digits.and_then(|digits| digits.parse().ok().filter(|n: &N| n.to_string() == digits));
    number.ok_or(ErasedKeysError::Line { line, expected: "a word and a number" })
}

fn erased_key(line: &str) -> Option<([u8; 16], Option<Position>)> {
    let (id, position) = line.split_once(' ')?;
    let position = match position {
        UNRECORDED => None,
        digits => Some(digits.parse::<u64>().ok().filter(|number| number.to_string() == digits)?),
    };
    let position = match position {
        None => None,
        Some(position) => Some(Position::new(position)?),
    };
    Some((key_id(id)?, position))
}

fn key_id(digits: &str) -> Option<[u8; 16]> {
    let mut id = [0; 16];
    let is_lower = digits.len() == ID_DIGITS && digits.bytes().all(|digit| !digit.is_ascii_uppercase());
    (is_lower && hex::decode_to_slice(digits, &mut id).is_ok()).then_some(id)
}

/// Returns the name under which an anchor remembers that this key is erased: its id and a seal.
#[must_use]
pub fn erased_key_name(key: &Secret, id: &[u8; 16]) -> String {
    let id = hex::encode(id);
    format!("{id}-{}", ControlSeal::of(ControlFile::ErasedKey, key, id.as_bytes()))
}

/// Returns the id of the erased key that an anchor remembers under this name; `None` for a name that this ledger did not seal.
#[must_use]
pub fn erased_key_of(key: &Secret, name: &str) -> Option<[u8; 16]> {
    let (digits, seal) = name.split_once('-')?;
    let id = key_id(digits)?;
    ControlSeal::of(ControlFile::ErasedKey, key, digits.as_bytes()).is(seal).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../docs/formats/erased_keys.md");

    fn key(byte: u8) -> Secret {
        Secret::take(&mut [byte; 32])
    }

    fn sample() -> ErasedKeys {
        let keys = [([0xb1; 16], Position::new(918_200)), ([0xc2; 16], None)];
        ErasedKeys {
            generation: Generation(1),
            through: After::new(918_275),
            keys: keys.into_iter().collect(),
        }
    }

    #[test]
    fn the_page_shows_a_file_and_a_name() {
        let file = sample().to_file(&key(0x11));
        assert!(DOCUMENT.contains(&file), "the page lacks this example:\n{file}");
        let name = erased_key_name(&key(0x11), &[0xb1; 16]);
        assert!(DOCUMENT.contains(&name), "the page lacks this name:\n{name}");
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        for list in [ErasedKeys::new(Generation(2)), sample()] {
            assert_eq!(ErasedKeys::of_file(&key(1), list.to_file(&key(1)).as_bytes()), Ok(list));
        }
        let other = ErasedKeys::of_file(&key(2), sample().to_file(&key(1)).as_bytes());
        assert_eq!(other, Err(ErasedKeysError::Seal(ControlFileError::Other)));
    }

    #[test]
    fn what_is_sealed_and_is_no_list_is_refused_with_its_line() {
        let read = |text: &str| {
            ErasedKeys::of_file(&key(1), ControlFile::ErasedKeys.seal(&key(1), text).as_bytes()).unwrap_err()
        };
        let id = "b1".repeat(16);
        let head = format!("{ERASED_KEYS_FORMAT}\ngeneration 1\nthrough 5\n");
        assert_eq!(read("bitacora-erased-keys v2\ngeneration 1\nthrough 5\n"), ErasedKeysError::Format);
        for (text, at) in [
            (String::new(), 0),
            (format!("{ERASED_KEYS_FORMAT}\ngeneration 01\nthrough 5\n"), 2),
            (format!("{ERASED_KEYS_FORMAT}\ngeneration 1\nthrough x\n"), 3),
            (format!("{head}{id}\n"), 4),
            (format!("{head}{id} 0\n"), 4),
            (format!("{head}{id} 07\n"), 4),
            (format!("{head}{} 7\n", id.to_uppercase()), 4),
            (format!("{head}{id}00 7\n"), 4),
            (format!("{head}{id} 7\n{id} 8\n"), 5),
        ] {
            assert!(
                matches!(read(&text), ErasedKeysError::Line { line, .. } if line == at),
                "{text}: {}",
                read(&text)
            );
        }
        let long = vec![b'x'; MAX_ERASED_KEYS_BYTES + 1];
        assert_eq!(
            ErasedKeys::of_file(&key(1), &long),
            Err(ErasedKeysError::TooLong { bytes: MAX_ERASED_KEYS_BYTES + 1 })
        );
    }

    #[test]
    fn a_name_is_of_one_id_and_one_ledger() {
        let name = erased_key_name(&key(1), &[0xb1; 16]);
        assert_eq!(erased_key_of(&key(1), &name), Some([0xb1; 16]));
        assert_eq!(erased_key_of(&key(2), &name), None, "sealed under another key");
        let moved = name.replace("b1b1", "b2b2");
        for wrong in [moved.as_str(), &name[..40], &name.to_uppercase(), "", "-", &name[33..]] {
            assert_eq!(erased_key_of(&key(1), wrong), None, "{wrong}");
        }
    }

    #[test]
    fn lines_end_with_a_line_feed_alone() {
        let text = "bitacora-erased-keys v1\ngeneration 1\r\nthrough 9\n";
        let sealed = ControlFile::ErasedKeys.seal(&key(0x11), text);
        assert!(ErasedKeys::of_file(&key(0x11), sealed.as_bytes()).is_err());
    }
}
