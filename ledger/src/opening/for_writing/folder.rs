//! The first steps of an opening for writing: the folder is locked, and its keyring is the right one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::{Decompressor, Keyring};

use crate::host::disk::{Disk, FolderLock};
use crate::host::environment::Environment;
use crate::loss::LossPolicy;
use crate::open_error::OpenError;
use crate::opening::creation::LOCK;
use crate::options::Options;
use crate::replay::{Replay, ReplayedLog, refuse_wrong_keyring};
use crate::signing::known_heads::KnownHeads;

/// The input that all steps of an opening share. It holds the lock for as long as it lives.
pub(super) struct OpeningContext<'a> {
    /// The environment that the caller gave. Its disk is not bound to the folder.
    pub(super) outside: &'a Environment,
    /// The same, with a disk that stays in the locked folder.
    pub(super) environment: Environment,
    pub(super) folder: &'a Path,
    pub(super) keyring: Arc<Keyring>,
    pub(super) options: Options,
    pub(super) loss_policy: LossPolicy,
    pub(super) lock: Box<dyn FolderLock>,
}

impl OpeningContext<'_> {
    pub(super) fn disk(&self) -> &dyn Disk {
        &*self.environment.disk
    }

    /// Returns the error of a step that the disk refused.
    pub(super) fn failed(&self, what: &str) -> impl FnOnce(io::Error) -> OpenError + use<> {
        in_step(self.folder, what)
    }

    /// Reads the log, with the ledger's tables or with those of another folder.
    pub(super) fn replay(&self, tables: Option<PathBuf>) -> Result<ReplayedLog, OpenError> {
        let decompressor = Decompressor::new().map_err(io::Error::other);
        let decompressor = decompressor.map_err(self.failed("preparing to read"))?;
        let replay = Replay::new(&self.environment, self.folder, &self.keyring, decompressor);
        match tables {
            Some(tables) => replay.with_tables(tables).run(),
            None => replay.run(),
        }
    }

    /// Refuses the folder where it is another ledger than the one that is asked for, as far as files tell that no key opens. It explains a
    /// keyring that does not fit.
    pub(super) fn refuse_foreign(&self) -> Result<(), OpenError> {
        KnownHeads::refuse_foreign(self.disk(), self.folder, &self.keyring, &self.options)
    }
}

fn in_step(folder: &Path, what: &str) -> impl FnOnce(io::Error) -> OpenError + use<> {
    let what = format!("{what} of {}", folder.display());
    move |source| OpenError::Disk { what, source }
}

/// A ledger's folder that no other process writes to.
pub(super) struct LockedFolder<'a>(OpeningContext<'a>);

impl<'a> LockedFolder<'a> {
    pub(super) fn lock(
        outside: &'a Environment,
        folder: &'a Path,
        keyring: Arc<Keyring>,
        options: Options,
        loss_policy: LossPolicy,
    ) -> Result<Self, OpenError> {
        if !outside.disk.exists(folder).map_err(in_step(folder, "looking for the folder"))? {
            return Err(OpenError::Missing(folder.display().to_string()));
        }
        // The folder is opened first, and the lock is taken in it: the file that is locked is the one of the folder that is written to.
        let environment = outside.within(folder).map_err(in_step(folder, "opening the folder"))?;
        let lock = environment.disk.lock(&folder.join(LOCK)).map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock => OpenError::Locked(folder.display().to_string()),
            _ => in_step(folder, "taking the lock")(source),
        })?;
        Ok(Self(OpeningContext { outside, environment, folder, keyring, options, loss_policy, lock }))
    }
}

/// A locked folder whose first or last segment the keyring opens.
pub(super) struct KeyedFolder<'a>(OpeningContext<'a>);

impl<'a> KeyedFolder<'a> {
    pub(super) fn check(LockedFolder(context): LockedFolder<'a>) -> Result<Self, OpenError> {
        if let Err(error) = refuse_wrong_keyring(context.disk(), context.folder, &context.keyring) {
            context.refuse_foreign()?;
            return Err(error);
        }
        Ok(Self(context))
    }

    pub(super) fn into_context(self) -> OpeningContext<'a> {
        self.0
    }
}
