//! The keys of data subjects: each in two small files apart from the log, so that it can be erased.
//! Layout: `docs/formats/subjects.md`.
//!
//! The one mutable store of a ledger, and the only copy of these keys. So nothing here replaces what stands there: a
//! file that is damaged, or a name whose key is missing, is an error until somebody restores or erases it.

pub(crate) mod destruction;
mod key_files;
mod recent;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::sync::Arc;

use bitacora_formats::{LedgerKeys, Secret, SubjectFileError, SubjectFiles};

use self::destruction::ErasedIds;
use self::key_files::{KeyFiles, KeyFolder, SyncFailure};
use self::recent::RecentEntries;
use crate::host::environment::Environment;
use crate::host::lock_order::{LockRank, OrderedMutex, OrderedMutexGuard};
use crate::limits::MAX_CACHED_SUBJECT_KEYS;

/// The key of a data subject, and the random id that records know it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SubjectKey {
    pub(crate) id: [u8; 16],
    pub(crate) secret: Arc<Secret>,
}

/// The reasons for which a subject's key cannot be had. They reach callers inside an [`io::Error`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SubjectsError {
    /// A file of the store is not what was written.
    #[error("{file}: {what}; restore the file from a copy")]
    Damaged { file: String, what: SubjectFileError },
    /// A name leads to a key that is not there.
    #[error(
        "{file} leads to the key {id}, which is missing; restore it from a copy, or finish erasing the subject"
    )]
    KeyMissing { file: String, id: String },
    /// The files behind a failed sync: they cannot be known to be durable.
    #[error(
        "subjects: a folder could not be synced before, what it shows is not known to be durable; restart the service"
    )]
    Doubtful,
}

impl SubjectsError {
    /// Returns `true` for an error that says that a key's file is there and is not what was written: asking again gives the same.
    pub(crate) fn is_damage(error: &io::Error) -> bool {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>());
        // The disk opens regular files alone: anything else in the place of one is no key.
        matches!(inner, Some(Self::Damaged { .. })) || error.kind() == io::ErrorKind::InvalidInput
    }

    /// Returns `true` for an error that asking again gives again: a file that is no key, or a name that leads to none.
    pub(crate) fn is_lasting(error: &io::Error) -> bool {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>());
        Self::is_damage(error) || matches!(inner, Some(Self::KeyMissing { .. }))
    }
}

impl From<SubjectsError> for io::Error {
    fn from(error: SubjectsError) -> Self {
        let kind = match error {
            SubjectsError::Damaged { .. } | SubjectsError::KeyMissing { .. } => io::ErrorKind::InvalidData,
            SubjectsError::Doubtful => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// The keys of one ledger's data subjects. Shared by all callers.
#[derive(Debug)]
pub(crate) struct Subjects {
    environment: Environment,
    keys: LedgerKeys,
    files: SubjectFiles,
    by_name: KeyFiles,
    by_id: KeyFiles,
    cached: OrderedMutex<CachedKeys>,
}

#[derive(Debug)]
struct CachedKeys {
    /// Only keys whose files are durable.
    by_name: RecentEntries<SubjectKey>,
    by_id: RecentEntries<Arc<Secret>>,
    /// Keys whose files were found damaged and told of.
    damaged: RecentEntries<()>,
    /// Keys that are erased. None of them is in the other members, nor used if its file comes back.
    erased: ErasedIds,
}

impl Subjects {
    /// The store in the folder of a ledger. Its folders are made when the first subject is.
    pub(crate) fn of_ledger(environment: Environment, ledger: &Path, keys: &LedgerKeys) -> Self {
        let sync_failed = SyncFailure::default();
        Self {
            environment,
            keys: keys.clone(),
            files: SubjectFiles::new(keys.ledger(), keys.index_key().clone()),
            by_name: KeyFiles::new(ledger, ("by-name", LockRank::KeyFolderByName), &sync_failed),
            by_id: KeyFiles::new(ledger, ("by-id", LockRank::KeyFolderById), &sync_failed),
            cached: OrderedMutex::inner(CachedKeys {
                by_name: RecentEntries::new(MAX_CACHED_SUBJECT_KEYS),
                by_id: RecentEntries::new(MAX_CACHED_SUBJECT_KEYS),
                damaged: RecentEntries::new(MAX_CACHED_SUBJECT_KEYS),
                erased: ErasedIds::new(),
            }),
        }
    }

    /// The key of this subject, made if there is none. Returned `Ok` ⇒ durable, under its id and under the name.
    ///
    /// A crash before leaves nothing, both files, or a key that no name leads to. Callers of one subject get one key.
    pub(crate) fn key_for(&self, subject: &str) -> io::Result<SubjectKey> {
        let name = self.keys.subject_name_key(subject);
        if let Some(key) = self.cached().by_name.get(&name) {
            return Ok(key);
        }
        let disk = &*self.environment.disk;
        let mut key_folder = self.by_name.open(disk, &name)?;
        let held = match self.by_name.read(disk, &name)? {
            Some(file) => self.follow(&name, &file)?,
            None => None,
        };
        let key = match held {
            Some(key) => key,
            None => self.make(&mut key_folder, &name)?,
        };
        let mut cached = self.cached();
        if !cached.erased.contains_key(&key.id) {
            cached.by_name.put(name, key.clone());
            cached.by_id.put(key.id, Arc::clone(&key.secret));
        }
        Ok(key)
    }

    /// The key with this id; `None` if it was erased, or never was.
    pub(crate) fn key_by_id(&self, id: &[u8; 16]) -> io::Result<Option<SubjectKey>> {
        let cached = self.cached().by_id.get(id);
        let secret = match cached {
            Some(secret) => secret,
            None => {
                if self.erasure_of(id).is_some() {
                    return Ok(None);
                }
                let Some(secret) = self.load(id)? else { return Ok(None) };
                let mut cached = self.cached();
                // It may have been erased since.
                if cached.erased.contains_key(id) {
                    return Ok(None);
                }
                cached.by_id.put(*id, Arc::clone(&secret));
                secret
            }
        };
        Ok(Some(SubjectKey { id: *id, secret }))
    }

    /// The key that a name's file leads to; `None` where that key is erased.
    fn follow(&self, name: &[u8; 16], file: &[u8]) -> io::Result<Option<SubjectKey>> {
        let id = self.files.open_name(name, file).map_err(|what| damaged(&self.by_name, name, what))?;
        if self.erasure_of(&id).is_some() {
            return Ok(None);
        }
        let missing =
            || SubjectsError::KeyMissing { file: self.by_name.file_name(name), id: hex::encode(id) };
        let secret = self.load(&id)?.ok_or_else(missing)?;
        Ok(Some(SubjectKey { id, secret }))
    }

    fn load(&self, id: &[u8; 16]) -> io::Result<Option<Arc<Secret>>> {
        let Some(file) = self.by_id.read(&*self.environment.disk, id)? else { return Ok(None) };
        let secret = self.files.open_key(id, &file).map_err(|what| {
            let error = damaged(&self.by_id, id, what);
            self.report_once(id, &error);
            error
        })?;
        Ok(Some(Arc::new(secret)))
    }

    /// Says once of a key that its file is damaged, however many events are asked for that it would open.
    fn report_once(&self, id: &[u8; 16], error: &SubjectsError) {
        let mut cached = self.cached();
        if cached.damaged.get(id).is_none() {
            cached.damaged.put(*id, ());
            tracing::error!(%error, "what is sealed under a data subject's key is unreadable");
        }
    }

    /// Makes a key. Its own file is durable before a name leads to it.
    fn make(&self, key_folder: &mut KeyFolder<'_>, name: &[u8; 16]) -> io::Result<SubjectKey> {
        let disk = &*self.environment.disk;
        let (id, mut secret) = (self.random::<16>()?, self.random::<32>()?);
        let key = SubjectKey { id, secret: Arc::new(Secret::take(&mut secret)) };
        let key_file = self.files.seal_key(&id, &key.secret, &self.random()?);
        let name_file = self.files.seal_name(name, &id, &self.random()?);
        self.by_id.open(disk, &id)?.write(disk, &id, &key_file)?;
        key_folder.write(disk, name, &name_file)?;
        Ok(key)
    }

    fn random<const N: usize>(&self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.environment.entropy.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn cached(&self) -> OrderedMutexGuard<'_, CachedKeys> {
        self.cached.lock()
    }
}

fn damaged(files: &KeyFiles, name: &[u8; 16], what: SubjectFileError) -> SubjectsError {
    SubjectsError::Damaged { file: files.file_name(name), what }
}
