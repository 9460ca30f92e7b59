//! The destruction of subjects' keys, and the memory of those that are destroyed.

use std::collections::BTreeMap;
use std::io;

use bitacora_formats::Position;

use super::{Subjects, SubjectsError, damaged};

/// The ids of erased keys, each with the event that records its erasure.
pub(crate) type ErasedIds = BTreeMap<[u8; 16], Option<Position>>;

/// The id of a subject's key, and the name of the file that leads to it, if the subject's name is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamedKey {
    pub(crate) name: Option<[u8; 16]>,
    pub(crate) id: [u8; 16],
}

impl Subjects {
    /// Returns the key that a subject's name leads to, whether the key's file is there or not; `None` for a name that leads to none.
    pub(crate) fn named_key(&self, subject: &str) -> io::Result<Option<NamedKey>> {
        let name = self.keys.subject_name_key(subject);
        let Some(file) = self.by_name.read(&*self.environment.disk, &name)? else { return Ok(None) };
        let id = self.files.open_name(&name, &file).map_err(|what| damaged(&self.by_name, &name, what))?;
        Ok(Some(NamedKey { name: Some(name), id }))
    }

    /// Returns the erased keys that are known.
    pub(crate) fn erased(&self) -> ErasedIds {
        self.cached().erased.clone()
    }

    /// Returns the number of erased keys that are known.
    pub(crate) fn erased_count(&self) -> usize {
        self.cached().erased.len()
    }

    /// Returns the event that records the erasure of this key: `None` for a key that is not erased, `Some(None)` where the event is unknown.
    pub(crate) fn erasure_of(&self, id: &[u8; 16]) -> Option<Option<Position>> {
        self.cached().erased.get(id).copied()
    }

    /// From here on nothing is sealed or opened with these keys in this process, whatever files are there.
    pub(crate) fn bar(&self, erased: ErasedIds) {
        let mut cached = self.cached();
        cached.by_name.retain(|key| !erased.contains_key(&key.id));
        erased.keys().for_each(|id| cached.by_id.remove(id));
        cached.erased.extend(erased);
    }

    /// Destroys a key that is barred. Returned `Ok` ⇒ durable: no name leads to it, and its bytes are overwritten and unlinked. A crash before
    /// leaves both files or the key's alone. A name that leads to a newer key by now stays.
    pub(crate) fn destroy(&self, key: &NamedKey) -> io::Result<()> {
        let disk = &*self.environment.disk;
        if let Some(name) = &key.name {
            self.unlink_name(name, &key.id)?;
        }
        self.by_id.open(disk, &key.id)?.destroy(disk, &key.id)
    }

    /// Unlinks a name's file, unless it leads to another key. A damaged one leads to none.
    fn unlink_name(&self, name: &[u8; 16], id: &[u8; 16]) -> io::Result<()> {
        let disk = &*self.environment.disk;
        // Nobody gives the name another key while its folder is held.
        let mut key_folder = self.by_name.open(disk, name)?;
        let file = self.by_name.read(disk, name)?;
        let leads_to = file.and_then(|file| self.files.open_name(name, &file).ok());
        if leads_to.is_none_or(|found| found == *id) {
            key_folder.unlink(disk, name)?;
        }
        Ok(())
    }

    /// Returns `true` if the file of this key is there.
    pub(crate) fn has_file(&self, id: &[u8; 16]) -> io::Result<bool> {
        self.by_id.exists(&*self.environment.disk, id)
    }

    /// Returns the name under which a subject's key stands.
    pub(crate) fn name_of(&self, subject: &str) -> [u8; 16] {
        self.keys.subject_name_key(subject)
    }

    /// Destroys the erased keys that are there again: a copy brought them back, or a crash came before their destruction. Returns the number
    /// of them. Returned `Ok` ⇒ durable.
    pub(crate) fn destroy_again(&self) -> io::Result<usize> {
        let disk = &*self.environment.disk;
        let mut back = Vec::new();
        for id in self.erased().into_keys() {
            if self.by_id.exists(disk, &id)? {
                back.push(id);
            }
        }
        if back.is_empty() {
            return Ok(0);
        }
        // The names first: where only they are left, nothing tells the next opening to look for them.
        for name in self.by_name.names(disk)? {
            if self.leads_to_erased(&name)? {
                self.by_name.open(disk, &name)?.unlink(disk, &name)?;
            }
        }
        for id in &back {
            self.by_id.open(disk, id)?.destroy(disk, id)?;
        }
        Ok(back.len())
    }

    /// Returns `true` if any subject has a key here.
    pub(crate) fn has_keys(&self) -> io::Result<bool> {
        self.by_id.has_any(&*self.environment.disk)
    }

    /// Returns `true` if the file of this name leads to an erased key. A damaged one tells nothing, and stays.
    fn leads_to_erased(&self, name: &[u8; 16]) -> io::Result<bool> {
        let file = match self.by_name.read(&*self.environment.disk, name) {
            Err(error) if !SubjectsError::is_damage(&error) => return Err(error),
            file => file.unwrap_or_default(),
        };
        let id = file.and_then(|file| self.files.open_name(name, &file).ok());
        Ok(id.is_some_and(|id| self.erasure_of(&id).is_some()))
    }
}
