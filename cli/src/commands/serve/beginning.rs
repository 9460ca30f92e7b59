//! What must be there before the service starts, and what of it is made when it is told to.

use std::io;
use std::path::Path;

use bitacora_formats::{Keyring, LedgerName};
use bitacora_ledger::{Anchor, Environment, Ledger, Options};
use bitacora_server::{DataError, DataFolder};

use super::ServeError;
use crate::anchor;
use crate::commands::keys;
use crate::error::CommandError;
use crate::keyring_file::{self, KeyringFileError};
use crate::known_ledgers::{KnownLedgers, KnownLedgersError, check_anchored};
use crate::passphrase::PassphraseSource;

/// Where everything is, or is to be.
pub(in crate::commands) struct Beginning<'a> {
    pub(in crate::commands) environment: &'a Environment,
    pub(in crate::commands) data: &'a Path,
    pub(in crate::commands) keyring: &'a Path,
    /// How ledgers are made.
    pub(in crate::commands) options: &'a Options,
}

impl Beginning<'_> {
    /// Makes what is missing of the data folder, the keyring and the ledgers in `create`, and reads the keyring.
    ///
    /// A keyring is made for the first ledger only: the ones after it need the one they were written with. A ledger that
    /// has stood here is never made anew.
    pub(in crate::commands) fn run(
        &self,
        create: &[LedgerName],
    ) -> Result<(Keyring, KnownLedgers), CommandError> {
        keyring_file::refuse_in_data(self.keyring, Some(self.data))?;
        let mut known = KnownLedgers::read(self.data).map_err(ServeError::from)?;
        self.mend_mark(&known)?;
        let is_first = known.is_empty() && self.present()?.is_empty();
        if is_first && create.is_empty() {
            return Err(ServeError::NotBegun(self.data.to_owned()).into());
        }
        let folder = DataFolder::open_or_begin(self.environment, self.data).map_err(ServeError::from)?;
        let _alone = self.lock()?;
        let keyring = self.keyring(is_first)?;
        let mut present = self.present()?;
        known.check(self.data, &present, &keyring, self.anchor()).map_err(ServeError::from)?;
        // Of one that is to be made the anchor is asked when it is.
        self.check_anchored(&[&present[..], create].concat(), &keyring)?;
        for name in create {
            if present.contains(name) {
                continue;
            }
            let made = Ledger::create(self.environment, &folder.ledger(name), name, &keyring, self.options);
            made.map_err(|source| ServeError::Create { name: name.clone(), source })?;
            tracing::info!(ledger = %name, "made a ledger");
            present.push(name.clone());
        }
        known.note(&present, &keyring).map_err(ServeError::from)?;
        Ok((keyring, known))
    }

    /// Writes the mark of the data folder again, where it is lost and the sealed list is of just the ledgers that are there.
    fn mend_mark(&self, known: &KnownLedgers) -> Result<(), CommandError> {
        let is_marked = DataFolder::is_marked(self.environment, self.data).map_err(ServeError::from)?;
        if is_marked || known.is_empty() {
            return Ok(());
        }
        let Ok(keyring) = keyring_file::load(self.keyring, Some(self.data), PassphraseSource::User) else {
            return Ok(());
        };
        let Some(listed) = known.sealed_names(&keyring.keyring) else { return Ok(()) };
        if DataFolder::mend_mark(self.environment, self.data, &listed).map_err(ServeError::from)? {
            tracing::warn!(data = %self.data.display(), "the data folder's FORMAT was damaged or missing; it was written again");
        }
        Ok(())
    }

    /// The anchor, unless it is said to be a new one for this folder.
    fn anchor(&self) -> Option<&dyn Anchor> {
        self.options.heads.as_ref().filter(|heads| !heads.anchor_is_new)?.anchor.as_deref()
    }

    /// Refuses to go on without a ledger that the anchor remembers, unless it is said to be a new one for this folder.
    fn check_anchored(&self, present: &[LedgerName], keyring: &Keyring) -> Result<(), CommandError> {
        let Some(anchor) = self.anchor() else { return Ok(()) };
        match check_anchored(anchor, self.data, present, keyring) {
            // Ledgers wait for an anchor that has to answer; one that is missing is missed by the next start.
            Err(KnownLedgersError::Anchor(error)) => {
                tracing::error!(%error, "the service starts without being told which ledgers the anchor remembers");
                Ok(())
            }
            checked => {
                if checked.map_err(ServeError::from)?
                    && let Err(error) = anchor::note_used(self.keyring)
                {
                    tracing::warn!(%error, "it could not be noted beside the keyring that an anchor is used");
                }
                Ok(())
            }
        }
    }

    /// Whether any of these ledgers is not there yet.
    pub(super) fn makes(&self, create: &[LedgerName]) -> Result<bool, CommandError> {
        let present = self.present()?;
        Ok(create.iter().any(|name| !present.contains(name)))
    }

    /// The ledgers that stand in the data folder; none where there is no data folder yet.
    pub(in crate::commands) fn present(&self) -> Result<Vec<LedgerName>, CommandError> {
        let mark = self.data.join("FORMAT");
        match self.environment.disk.exists(&mark) {
            Ok(true) => {}
            Ok(false) => return Ok(Vec::new()),
            Err(source) => return Err(ServeError::Data(DataError::Disk { path: mark, source }).into()),
        }
        let folder = DataFolder::open_or_begin(self.environment, self.data);
        let names = folder.and_then(|folder| folder.ledger_names(self.environment));
        Ok(names.map_err(ServeError::from)?)
    }

    fn keyring(&self, may_make: bool) -> Result<Keyring, CommandError> {
        match keyring_file::load(self.keyring, Some(self.data), PassphraseSource::User) {
            Err(KeyringFileError::Missing(_)) if may_make => {
                let keyring = keys::generate()?;
                keyring_file::create(self.keyring, Some(self.data), &keyring, None)?;
                tracing::info!(keyring = %self.keyring.display(), "made a keyring; keep a copy apart from the data");
                Ok(keyring)
            }
            loaded => Ok(loaded?.keyring),
        }
    }

    /// As the service does while it serves: two beginnings, or one beside a service, do not happen at once.
    fn lock(&self) -> Result<Box<dyn bitacora_ledger::FolderLock>, CommandError> {
        let path = self.data.join("lock");
        let locked = self.environment.disk.lock(&path).map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock => DataError::InUse(self.data.to_owned()),
            _ => DataError::Disk { path, source },
        });
        Ok(locked.map_err(ServeError::from)?)
    }
}
