//! The preparation of a start: the data folder, keyring and ledgers, created where they are asked for.

use std::path::{Path, PathBuf};

use bitacora_formats::{Keyring, LedgerName};
use bitacora_ledger::{Anchor, CreateError, Environment, Ledger, Options};
use bitacora_server::{DataError, DataFolder, UnlistedAnchor};

use crate::anchor;
use crate::keys::keyring_file::location::refuse_in_data;
use crate::keys::keyring_file::{KeyringFile, KeyringFileError};
use crate::keys::passphrase::PassphraseSource;
use crate::known_ledgers::{KnownLedgers, KnownLedgersError, check_anchored};

/// The places of the data folder and keyring, and the settings for their creation.
pub struct LedgerSetup<'a> {
    /// The disk, the clock and the archives.
    pub environment: &'a Environment,
    /// The data folder's path.
    pub data: &'a Path,
    /// The keyring's path.
    pub keyring: &'a Path,
    /// The source of the keyring's passphrase.
    pub passphrase: PassphraseSource,
    /// The options that ledgers are created with.
    pub options: &'a Options,
    /// Ledgers that are given up, or are in another data folder. They are not missed here.
    pub without: &'a [LedgerName],
}

/// The keyring, the list of ledgers and the data folder that a service starts with.
pub struct PreparedFolder {
    /// The keyring.
    pub keyring: Keyring,
    /// The list of ledgers that have stood in the folder.
    pub known: KnownLedgers,
    /// The data folder.
    pub folder: DataFolder,
    /// The anchor, where it could not list the ledgers that it remembers.
    pub unlisted: Option<UnlistedAnchor>,
}

/// The reason why the data folder, the keyring or a ledger is not there to start with.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is no data folder with a ledger, and none is to be created.
    #[error("{}: no data folder with a ledger; begin one with `--create main`", .0.display())]
    NotBegun(PathBuf),
    /// The folder is not used as data folder.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The ledgers of the folder are unknown, or one of them is missing.
    #[error(transparent)]
    Known(#[from] KnownLedgersError),
    /// The keyring is not used or created.
    #[error(transparent)]
    Keyring(#[from] KeyringFileError),
    /// A ledger was not created.
    #[error("ledger {name}: {source}")]
    Create {
        /// The ledger.
        name: LedgerName,
        /// The reason.
        source: CreateError,
    },
}

impl LedgerSetup<'_> {
    /// Creates the missing ones of the data folder, the keyring and the ledgers in `create`, and reads the keyring.
    ///
    /// A keyring is created for the first ledger only: later ones need the keyring that they were written with. A
    /// ledger that has stood here is never created anew.
    ///
    /// # Errors
    /// A ledger that is missing, a keyring that is not this folder's, or a folder of something else.
    pub fn run(&self, create: &[LedgerName]) -> Result<PreparedFolder, SetupError> {
        refuse_in_data(self.keyring, Some(self.data))?;
        self.mend_mark()?;
        let found = self.find()?;
        let is_first = found.as_ref().map_or(Ok(true), |folder| self.is_first(folder))?;
        if is_first && create.is_empty() {
            return Err(SetupError::NotBegun(self.data.to_owned()));
        }
        let folder = match found {
            Some(folder) => folder,
            None => DataFolder::open_or_begin(self.environment, self.data)?,
        };
        // As the service does while it serves: two beginnings, or one beside a service, do not happen at once.
        let _alone = folder.lock()?;
        let mut known = KnownLedgers::read(&folder, self.data)?;
        let keyring = self.keyring(is_first)?;
        let mut present = folder.ledger_names()?;
        known.give_up(self.data, &present, self.without)?;
        for ledger in self.without {
            tracing::warn!(%ledger, "starts without this ledger, as --without-ledger says");
        }
        known.check(self.data, &present, &keyring, self.anchor())?;
        // Of one that is to be made the anchor is asked when it is.
        let given_up = known.given_up();
        let said = self.check_anchored(&[&present[..], create, &given_up].concat(), &keyring)?;
        let unlisted = said.map(|said| UnlistedAnchor { answer: said, given_up });
        for name in create {
            if present.contains(name) {
                continue;
            }
            let made =
                Ledger::create(folder.environment(), &folder.ledger(name), name, &keyring, self.options);
            made.map_err(|source| SetupError::Create { name: name.clone(), source })?;
            tracing::info!(ledger = %name, "made a ledger");
            present.push(name.clone());
        }
        known.note(&present, &keyring)?;
        Ok(PreparedFolder { keyring, known, folder, unlisted })
    }

    fn keyring_file(&self) -> KeyringFile<'_> {
        KeyringFile { path: self.keyring, data: Some(self.data), passphrase: self.passphrase }
    }

    /// Returns the data folder, if there is one.
    fn find(&self) -> Result<Option<DataFolder>, SetupError> {
        Ok(DataFolder::find(self.environment, self.data)?)
    }

    /// Returns `true` if no ledger has ever stood there.
    fn is_first(&self, folder: &DataFolder) -> Result<bool, SetupError> {
        let known = KnownLedgers::read(folder, self.data)?;
        Ok(known.is_empty() && folder.ledger_names()?.is_empty())
    }

    /// Restores the mark of the data folder, where it is lost and the sealed list is of exactly the ledgers that are there.
    fn mend_mark(&self) -> Result<(), SetupError> {
        let listed = |folder: &DataFolder| {
            let known = KnownLedgers::read(folder, self.data).ok().filter(|known| !known.is_empty())?;
            let keyring = self.keyring_file().load().ok()?;
            known.sealed_names(&keyring.keyring)
        };
        if DataFolder::mend_mark(self.environment, self.data, listed)? {
            tracing::warn!(data = %self.data.display(), "the data folder's FORMAT was damaged or missing; it was written again");
        }
        Ok(())
    }

    /// Returns the anchor, unless it is declared a new one for this folder.
    fn anchor(&self) -> Option<&dyn Anchor> {
        self.options.heads.as_ref().filter(|heads| !heads.anchor_is_new)?.anchor.as_deref()
    }

    /// Refuses to go on without a ledger that the anchor remembers. A new anchor that remembers a ledger of this
    /// keyring is refused as well. Returns the anchor's fault where it could not list its ledgers.
    fn check_anchored(
        &self,
        present: &[LedgerName],
        keyring: &Keyring,
    ) -> Result<Option<String>, SetupError> {
        let anchor = self.options.heads.as_ref().and_then(|heads| heads.anchor.as_deref());
        let Some(anchor) = anchor else { return Ok(None) };
        match check_anchored(anchor, self.data, present, keyring) {
            // Ledgers wait for an anchor that has to answer; the service asks it again for those that are missing.
            Err(KnownLedgersError::Anchor(error)) => {
                tracing::error!(%error, "the service starts without being told which ledgers the anchor remembers; it is asked again");
                Ok(Some(error.to_string()))
            }
            checked => {
                if checked? && let Err(error) = anchor::note_used(self.keyring) {
                    tracing::warn!(%error, "it could not be noted beside the keyring that an anchor is used");
                }
                Ok(None)
            }
        }
    }

    /// Returns `true` if any of these ledgers does not exist yet.
    ///
    /// # Errors
    /// A folder that is not used as data folder.
    pub fn makes(&self, create: &[LedgerName]) -> Result<bool, SetupError> {
        if create.is_empty() {
            return Ok(false);
        }
        self.mend_mark()?;
        let present = self.present()?;
        Ok(create.iter().any(|name| !present.contains(name)))
    }

    /// Returns the ledgers in the data folder; none where there is no data folder yet.
    fn present(&self) -> Result<Vec<LedgerName>, SetupError> {
        let names = self.find()?.map_or(Ok(Vec::new()), |folder| folder.ledger_names());
        Ok(names?)
    }

    fn keyring(&self, may_make: bool) -> Result<Keyring, SetupError> {
        match self.keyring_file().load() {
            Err(KeyringFileError::Missing(_)) if may_make => {
                let keyring = self.keyring_file().generate(false)?.keyring;
                tracing::info!(keyring = %self.keyring.display(), "made a keyring; keep a copy apart from the data");
                Ok(keyring)
            }
            loaded => Ok(loaded?.keyring),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use bitacora_formats::{Generation, LedgerId, LedgerOrigin, TreeHash, TreeHead};
    use bitacora_ledger::{FolderAnchor, HeadOptions, RealDisk};

    use super::*;

    #[test]
    fn only_its_name_gives_up_a_ledger_that_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let (data, keyring) = (folder.path().join("data"), folder.path().join("keyring"));
        let anchor: Arc<dyn Anchor> =
            Arc::new(FolderAnchor::new(Arc::new(RealDisk), &folder.path().join("anchors")));
        let [main, other] = ["main", "other"].map(|name| name.parse::<LedgerName>().unwrap());
        let begin = |create: &[LedgerName], is_new: bool, without: &[LedgerName]| {
            let heads = HeadOptions {
                anchor: Some(Arc::clone(&anchor)),
                anchor_is_new: is_new,
                ..HeadOptions::default()
            };
            let options = Options { heads: Some(heads), ..Options::small() };
            let environment = Environment::real();
            let setup = LedgerSetup {
                environment: &environment,
                data: &data,
                keyring: &keyring,
                passphrase: PassphraseSource::Given("never asked for"),
                options: &options,
                without,
            };
            setup.run(create).map_err(|error| error.to_string())
        };
        let begun = begin(&[main.clone(), other.clone()], false, &[]).unwrap();
        let origin =
            LedgerOrigin { name: other.clone(), ledger: LedgerId([1; 16]), generation: Generation::FIRST };
        let note = TreeHead { origin, size: 1, root: TreeHash([2; 32]) }.sign(&begun.keyring).to_string();
        anchor.swap(&other, None, &note).unwrap();
        fs::remove_dir_all(data.join("ledgers/other")).unwrap();

        let is_missed = |begun: Result<PreparedFolder, String>| {
            let why = begun.map(|_| ()).unwrap_err();
            assert!(why.contains("start with `--without-ledger other`"), "{why}");
        };
        for is_new in [false, true] {
            is_missed(begin(&[], is_new, &[]));
        }
        // A thief takes the list away, too.
        fs::remove_file(data.join("LEDGERS")).unwrap();
        for is_new in [false, true] {
            is_missed(begin(&[], is_new, &[]));
        }
        begin(&[], false, std::slice::from_ref(&other)).unwrap();
        // No file says it for the next start: an old copy of that file would hide a ledger that came back.
        is_missed(begin(&[], false, &[]));
        assert!(begin(std::slice::from_ref(&other), false, &[]).is_err(), "the anchor remembers another one");
        assert!(anchor.load(&other).unwrap().is_some());
        assert!(begin(&[], false, std::slice::from_ref(&main)).is_err(), "it is here");
    }
}
