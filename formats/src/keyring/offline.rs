//! Retired key-encryption keys: the offline keyring's text, and moves out of a keyring and back.

use std::fmt;

use zeroize::Zeroizing;

use super::text::{self, KeyringLines};
use super::{KekId, Keyring, KeyringError, LineProblem};
use crate::Secret;
use crate::limits::{MAX_KEYRING_BYTES, MAX_KEYS};

/// An error in retiring keys, or in bringing them back. Never holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetirementError {
    /// New segments are sealed under it.
    #[error("key {id} is the one in use; rotate first, nothing was changed")]
    Active {
        /// The key's id.
        id: KekId,
    },
    /// The keyring does not have it.
    #[error("the keyring holds no key {id}; nothing was changed")]
    NotHere {
        /// The key's id.
        id: KekId,
    },
    /// It was never in this keyring.
    #[error("key {id} of the offline keyring was not retired from this keyring; nothing was changed")]
    Foreign {
        /// The key's id.
        id: KekId,
    },
    /// Two keys have one id.
    #[error("key {id} is another one here; bring the offline keyring of this keyring, nothing was changed")]
    Differs {
        /// The key's id.
        id: KekId,
    },
    /// There is no room for another key.
    #[error("the offline keyring holds {max} keys already; begin another one, nothing was changed")]
    Full {
        /// The limit.
        max: usize,
    },
}

/// Key-encryption keys apart from their keyring: they open what was sealed under them, and nothing else.
#[derive(Default)]
pub struct OfflineKeys {
    keys: Vec<(KekId, Secret)>,
}

impl OfflineKeys {
    /// Reads the text form, strictly: every line in its place, nothing else, and the check right.
    ///
    /// # Errors
    /// A [`KeyringError`].
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        if Keyring::is_age_file(text.as_bytes()) {
            return Err(KeyringError::AgeFile);
        }
        if text.len() > MAX_KEYRING_BYTES {
            return Err(KeyringError::TooLong { max_bytes: MAX_KEYRING_BYTES });
        }
        let mut lines = KeyringLines::new(text);
        if lines.peek() != Some(text::OFFLINE_FIRST_LINE) {
            return Err(KeyringError::NotOfflineKeys);
        }
        lines.advance();
        let keys = Self::parse_lines(&mut lines);
        keys.map_err(|problem| KeyringError::Line { line: lines.number(), problem })
    }

    fn parse_lines(lines: &mut KeyringLines<'_>) -> Result<Self, LineProblem> {
        let mut this = Self { keys: vec![text::parse_kek(lines.expect_line(text::ENCRYPTION)?)?] };
        lines.advance();
        while let Some(words) = lines.line_if(text::ENCRYPTION)? {
            let (id, key) = text::parse_kek(words)?;
            if this.key(id).is_some() {
                return Err(LineProblem::DuplicateId);
            }
            if this.keys.len() >= MAX_KEYS {
                return Err(LineProblem::TooMany { max: MAX_KEYS });
            }
            this.keys.push((id, key));
            lines.advance();
        }
        text::expect_check(lines)?;
        Ok(this)
    }

    /// The text form, erased from memory when dropped.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        text::write_offline(&self.keys)
    }

    /// The ids of the keys, oldest first.
    pub fn ids(&self) -> impl Iterator<Item = KekId> {
        self.keys.iter().map(|(id, _)| *id)
    }

    /// The key with this id.
    #[must_use]
    pub fn key(&self, id: KekId) -> Option<&Secret> {
        self.keys.iter().find(|(known, _)| *known == id).map(|(_, key)| key)
    }

    fn add(&mut self, id: KekId, key: &Secret) -> Result<(), RetirementError> {
        match self.key(id) {
            Some(same) if same == key => return Ok(()),
            Some(_) => return Err(RetirementError::Differs { id }),
            None => (),
        }
        if self.keys.len() >= MAX_KEYS {
            return Err(RetirementError::Full { max: MAX_KEYS });
        }
        self.keys.push((id, key.clone()));
        Ok(())
    }
}

impl fmt::Debug for OfflineKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

impl Keyring {
    /// Moves these keys into `offline`, and remembers their ids. Nothing that was sealed under them opens with this keyring from then on.
    /// An error leaves the keyring as it was.
    ///
    /// # Errors
    /// A [`RetirementError`].
    pub fn retire(&mut self, ids: &[KekId], offline: &mut OfflineKeys) -> Result<(), RetirementError> {
        for id in ids {
            if self.active_kek.0 == *id {
                return Err(RetirementError::Active { id: *id });
            }
            let key = self.kek(*id).ok_or(RetirementError::NotHere { id: *id })?;
            offline.add(*id, key)?;
        }
        self.retired_ids.extend(self.older_keks.iter().map(|(id, _)| *id).filter(|id| ids.contains(id)));
        self.older_keks.retain(|(id, _)| !ids.contains(id));
        Ok(())
    }

    /// Brings the keys of an offline keyring back. Returns the ids that were away. An error leaves the keyring as it was.
    ///
    /// # Errors
    /// A [`RetirementError`].
    pub fn restore(&mut self, offline: &OfflineKeys) -> Result<Vec<KekId>, RetirementError> {
        let mut brought = OfflineKeys::default();
        for (id, key) in &offline.keys {
            match self.kek(*id) {
                Some(same) if same == key => (),
                Some(_) => return Err(RetirementError::Differs { id: *id }),
                None if self.is_retired(*id) => brought.add(*id, key)?,
                None => return Err(RetirementError::Foreign { id: *id }),
            }
        }
        let ids: Vec<KekId> = brought.ids().collect();
        self.retired_ids.retain(|id| !ids.contains(id));
        self.older_keks.splice(0..0, brought.keys);
        Ok(ids)
    }

    /// `true`: the key with this id was moved into an offline keyring.
    #[must_use]
    pub fn is_retired(&self, id: KekId) -> bool {
        self.retired_ids.contains(&id)
    }

    /// The ids of the keys that were moved into an offline keyring.
    #[must_use]
    pub fn retired_ids(&self) -> &[KekId] {
        &self.retired_ids
    }

    /// The ids of the key-encryption keys that are here, oldest first; the last is the active one.
    pub fn kek_ids(&self) -> impl Iterator<Item = KekId> {
        self.keks().map(|(id, _)| *id)
    }
}
