//! A loss whose declaration has begun and is not in the log yet.
//!
//! Layout: `docs/formats/declared_loss.md`.

use serde::{Deserialize, Serialize};

use crate::Secret;
use crate::control_file::{ControlFile, ControlFileError};
use crate::ids::{Generation, Position, TreeHash};
use crate::limits::{MAX_DECLARED_LOSS_BYTES, MAX_NOTE_BYTES};

/// The format that is written, and the one that can be read.
pub const DECLARED_LOSS_FORMAT: &str = "bitacora-declared-loss v2";

/// A tree head whose events are lost, or others by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostHead {
    /// The number of events it covers.
    pub size: u64,
    /// The root over their leaves; `None` where only a witness remembers the head, which tells its size alone.
    pub root: Option<TreeHash>,
    /// The signed note, where it is known.
    pub note: Option<String>,
}

/// A loss that an owner has declared. It is resumed until the log records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossDeclaration {
    /// The generation that is to begin, from 2.
    pub generation: Generation,
    /// The last event that was left.
    pub retained: Position,
    /// The newest tree head that is not reached any more, if one is known.
    pub lost: Option<LostHead>,
    /// The note that the anchor held, from which it is to be moved on.
    pub anchored: Option<String>,
    /// `true`: the ledger was made again of its archives, and the events after them are unknown.
    pub restored: bool,
}

/// An error in the bytes of a declared loss.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeclaredLossError {
    /// More bytes than one can have.
    #[error("not a declared loss: {bytes} bytes; at most {MAX_DECLARED_LOSS_BYTES} are taken")]
    TooLong {
        /// Bytes there are.
        bytes: usize,
    },
    /// Not an object of the members that it has.
    #[error("not a declared loss: {what}")]
    Form {
        /// The problem with the object.
        what: String,
    },
    /// The format is another one.
    #[error("found a declared loss of another format, expected '{DECLARED_LOSS_FORMAT}'")]
    Format,
    /// The seal is missing or another one.
    #[error("not a declared loss of this ledger: {0}")]
    Seal(#[from] ControlFileError),
    /// A member does not have its form.
    #[error("not a declared loss: its member '{member}' must be {form}")]
    Member {
        /// The member.
        member: &'static str,
        /// The form that it must have.
        form: &'static str,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[serde(expecting = "struct Text")]
struct DeclaredLossText {
    format: String,
    generation: u32,
    retained: String,
    lost_head: Option<LostText>,
    anchored: Option<String>,
    restored: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LostText {
    size: String,
    root: Option<String>,
    note: Option<String>,
}

impl LossDeclaration {
    /// Returns the file, sealed under the ledger's `DerivedState` key.
    #[must_use]
    pub fn to_file(&self, key: &Secret) -> String {
        ControlFile::DeclaredLoss.seal(key, &self.to_json())
    }

    /// Reads the file.
    ///
    /// # Errors
    /// A [`DeclaredLossError`] where this key did not seal it, or for the first thing that is not of its form.
    pub fn read_file(key: &Secret, bytes: &[u8]) -> Result<Self, DeclaredLossError> {
        if bytes.len() > MAX_DECLARED_LOSS_BYTES {
            return Err(DeclaredLossError::TooLong { bytes: bytes.len() });
        }
        Self::parse(ControlFile::DeclaredLoss.unseal(key, bytes)?.as_bytes())
    }

    /// Returns the text without its seal: JSON, ending in a newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        let lost_text = |lost: &LostHead| LostText {
            size: lost.size.to_string(),
            root: lost.root.map(|root| root.to_string()),
            note: lost.note.clone(),
        };
        let text = DeclaredLossText {
            format: DECLARED_LOSS_FORMAT.to_owned(),
            generation: self.generation.0,
            retained: self.retained.to_string(),
            lost_head: self.lost.as_ref().map(lost_text),
            anchored: self.anchored.clone(),
            restored: self.restored,
        };
        // Texts and a number: nothing in it cannot be written.
        let mut json = serde_json::to_string_pretty(&text).unwrap_or_default();
        json.push('\n');
        json
    }

    /// Reads the text without its seal.
    ///
    /// # Errors
    /// A [`DeclaredLossError`] for the first thing that is not of its form.
    pub fn parse(json: &[u8]) -> Result<Self, DeclaredLossError> {
        if json.len() > MAX_DECLARED_LOSS_BYTES {
            return Err(DeclaredLossError::TooLong { bytes: json.len() });
        }
        let text: DeclaredLossText = serde_json::from_slice(json).map_err(|error| {
            DeclaredLossError::Form { what: error.to_string().escape_debug().to_string() }
        })?;
        if text.format != DECLARED_LOSS_FORMAT {
            return Err(DeclaredLossError::Format);
        }
        if text.generation < 2 {
            return Err(member("generation", "a number from 2 on"));
        }
        Ok(Self {
            generation: Generation(text.generation),
            retained: parse_position("retained", &text.retained)?,
            lost: text.lost_head.map(parse_lost).transpose()?,
            anchored: check_note("anchored", text.anchored)?,
            restored: text.restored,
        })
    }
}

fn parse_lost(text: LostText) -> Result<LostHead, DeclaredLossError> {
    let root = text.root.map(|root| root.parse());
    Ok(LostHead {
        size: parse_position("size", &text.size)?.get(),
        root: root.transpose().map_err(|_| member("root", "64 lower-case hexadecimal digits"))?,
        note: check_note("note", text.note)?,
    })
}

/// A number in the one text that it has: without zeros before it.
fn parse_position(name: &'static str, text: &str) -> Result<Position, DeclaredLossError> {
    let position = text.parse().ok().filter(|position: &Position| position.to_string() == text);
    position.ok_or(member(name, "a decimal number from 1 on"))
}

fn check_note(name: &'static str, note: Option<String>) -> Result<Option<String>, DeclaredLossError> {
    match note {
        Some(note) if note.len() > MAX_NOTE_BYTES => Err(member(name, "a note, no longer than any is")),
        note => Ok(note),
    }
}

fn member(member: &'static str, form: &'static str) -> DeclaredLossError {
    DeclaredLossError::Member { member, form }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Keyring, LedgerId, LedgerKeys};
    use bitacora_testkit::text_block;

    const DOCUMENT: &str = include_str!("../../docs/formats/declared_loss.md");

    fn example() -> LossDeclaration {
        LossDeclaration {
            generation: Generation(2),
            retained: Position::new(17).unwrap(),
            lost: Some(LostHead {
                size: 21,
                root: Some(TreeHash([0x5a; 32])),
                note: Some("main/a0a1\n21\nWlpa\n".to_owned()),
            }),
            anchored: None,
            restored: false,
        }
    }

    #[test]
    fn the_worked_example_is_read_and_written() {
        let (text, key) = (text_block(DOCUMENT, 0), example_key());
        assert_eq!(LossDeclaration::read_file(&key, text.as_bytes()), Ok(example()));
        assert_eq!(example().to_file(&key), text);
    }

    #[test]
    fn a_file_that_this_ledger_did_not_seal_is_refused() {
        let (json, key) = (example().to_json(), example_key());
        let other = LedgerKeys::new(&keyring(), LedgerId([0; 16])).index_key().clone();
        let refused = |text: &str| LossDeclaration::read_file(&key, text.as_bytes()).unwrap_err();
        assert_eq!(refused(&json), DeclaredLossError::Seal(ControlFileError::Missing));
        assert_eq!(refused(&example().to_file(&other)), DeclaredLossError::Seal(ControlFileError::Other));
        let as_notices = ControlFile::Notices.seal(&key, &json);
        assert_eq!(refused(&as_notices), DeclaredLossError::Seal(ControlFileError::Other));
    }

    fn keyring() -> Keyring {
        Keyring::parse(text_block(include_str!("../../docs/formats/keyring.md"), 0)).unwrap()
    }

    /// The key of the ledger in the worked example.
    fn example_key() -> Secret {
        let id = LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap()));
        LedgerKeys::new(&keyring(), id).index_key().clone()
    }

    #[test]
    fn what_is_unknown_is_left_out_and_read_again() {
        let lost = LostHead { size: 1, root: None, note: None };
        for lost in [None, Some(lost)] {
            let declaration = LossDeclaration { lost, anchored: Some("note\n".to_owned()), ..example() };
            assert_eq!(LossDeclaration::parse(declaration.to_json().as_bytes()), Ok(declaration));
        }
    }

    #[test]
    fn what_is_not_of_its_form_is_refused() {
        let text = example().to_json();
        for (from, to) in [
            ("v2", "v1"),
            ("\"generation\": 2", "\"generation\": 1"),
            ("\"17\"", "\"017\""),
            ("\"17\"", "\"0\""),
            ("\"21\"", "\"0\""),
            ("5a5a", "5A5a"),
            ("\"anchored\"", "\"anchor\""),
            ("\"size\"", "\"root\": null, \"size\""),
            ("}\n", "}}\n"),
            ("null", "7"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            assert!(LossDeclaration::parse(changed.as_bytes()).is_err(), "{from} -> {to}");
        }
        for end in 0..text.len() - 1 {
            assert!(LossDeclaration::parse(&text.as_bytes()[..end]).is_err(), "cut at {end}");
        }
        let long = vec![b' '; MAX_DECLARED_LOSS_BYTES + 1];
        assert_eq!(
            LossDeclaration::parse(&long),
            Err(DeclaredLossError::TooLong { bytes: MAX_DECLARED_LOSS_BYTES + 1 })
        );
        let note = "x".repeat(MAX_NOTE_BYTES + 1);
        let declaration = LossDeclaration { anchored: Some(note), ..example() };
        assert!(LossDeclaration::parse(declaration.to_json().as_bytes()).is_err());
    }
}
