//! The retirement of encryption keys into an offline keyring, and their restoration.
//!
//! A key is in the offline keyring's file, durable and read back, before the keyring is written without it. A crash in
//! between leaves it in both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_archiver::{ManifestFolderError, Objects, known_archives};
use bitacora_formats::{KekId, Keyring, LedgerName, OfflineKeys, RetirementError};
use bitacora_ledger::{Anchor, Environment, KnownSegments, Ledger, OpenError, Options, ReactorChoice};
use bitacora_server::DataError;

use crate::keys::keyring_file::{KeyringFile, KeyringFileError, LoadedKeyring, offline_file};
use crate::known_ledgers::{KnownLedgers, KnownLedgersError, check_anchored};
use crate::locked_folder::LockedFolder;

/// A refusal to retire keys or to bring them back. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum KeyRetirementError {
    /// The folder is not used as data folder.
    #[error("{}: {source}", data.display())]
    Data {
        /// The data folder.
        data: PathBuf,
        /// The reason.
        source: Box<DataError>,
    },
    /// There is no data folder.
    #[error("{}: no data folder with a ledger; name it with --data", .0.display())]
    NoData(PathBuf),
    /// The ledger's folder could not be read.
    #[error("ledger {ledger}: {source}; nothing was changed")]
    Disk {
        /// The ledger.
        ledger: LedgerName,
        /// The system's error.
        source: std::io::Error,
    },
    /// The ledger's archives are not known.
    #[error("ledger {ledger}: {source}; nothing was changed")]
    Archives {
        /// The ledger.
        ledger: LedgerName,
        /// The reason.
        source: Box<ManifestFolderError>,
    },
    /// The ledger does not open with the rest of the keyring.
    #[error("ledger {ledger}: without the retired keys it does not open: {source}; nothing was changed")]
    Opens {
        /// The ledger.
        ledger: LedgerName,
        /// The error of the opening.
        source: Box<OpenError>,
    },
    /// The ledger opens and is in doubt.
    #[error("ledger {ledger}: {doubt}; recover it first, nothing was changed")]
    Doubt {
        /// The ledger.
        ledger: LedgerName,
        /// The reason for the doubt.
        doubt: String,
    },
    /// A ledger needs a key that is to be retired.
    #[error("key {id} is still needed: {need}; nothing was changed")]
    Needed {
        /// The key.
        id: KekId,
        /// The need.
        need: KeyNeed,
    },
    /// No key can be retired; the first that is needed, if there is one.
    #[error("no key to retire: {}", .0.as_ref().map_or_else(|| "the keyring holds one alone; rotate first".to_owned(), |(id, need)| format!("key {id} is still needed: {need}")))]
    Nothing(Option<(KekId, KeyNeed)>),
    /// A ledger that was here may need the keys.
    #[error("{0}; no key was retired")]
    Ledgers(Box<KnownLedgersError>),
    /// The keyring does not give up these keys, or does not take them.
    #[error(transparent)]
    Keys(#[from] RetirementError),
    /// The keyring's file, or the offline keyring's, is not used or written.
    #[error(transparent)]
    File(#[from] KeyringFileError),
}

impl From<KnownLedgersError> for KeyRetirementError {
    fn from(error: KnownLedgersError) -> Self {
        Self::Ledgers(Box::new(error))
    }
}

/// A ledger's need of a key.
#[derive(Debug, Clone)]
pub enum KeyNeed {
    /// The ledger's segments that need the key begin at this position.
    Segment {
        /// The ledger.
        ledger: LedgerName,
        /// The position.
        first: u64,
    },
    /// The ledger's newest archive that needs the key begins at this position.
    Archive {
        /// The ledger.
        ledger: LedgerName,
        /// The position.
        first: u64,
    },
}

impl std::fmt::Display for KeyNeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Segment { ledger, first } => write!(
                f,
                "a segment of ledger {ledger} from position {first} on is under it; archive it and let it go (`bitacora archive run`) first"
            ),
            Self::Archive { ledger, first } => write!(
                f,
                "the newest archive of ledger {ledger}, from position {first} on, is under it, and later archives go on from its state; \
                 archive more under the key in use first"
            ),
        }
    }
}

impl KeyringFile<'_> {
    /// Copies the keys of an offline keyring back into the keyring.
    ///
    /// # Errors
    /// A file that holds no offline keys, or keys that the keyring does not take.
    pub fn restore(&self, from: &Path) -> Result<LoadedKeyring, KeyRetirementError> {
        let offline: OfflineKeys = offline_file::load(from, self.data, self.passphrase)?;
        self.change(|loaded| {
            loaded.keyring.restore(&offline)?;
            Ok(())
        })
    }
}

/// The retirement of keys that no ledger of a data folder needs. A service would seal under the key that it began with,
/// so none may have the folder.
pub struct KeyRetirement<'a> {
    /// The data folder.
    pub folder: &'a LockedFolder,
    /// The store of its ledgers' archives.
    pub archives: &'a Arc<dyn Objects>,
    /// The anchor, which remembers ledgers that may be missing.
    pub anchor: Option<&'a dyn Anchor>,
    /// Missing ledgers that are not asked.
    pub without: &'a [LedgerName],
}

impl KeyRetirement<'_> {
    /// Locks a data folder for a retirement.
    ///
    /// # Errors
    /// A folder that is no data folder, or that a service has.
    pub fn lock(environment: &Environment, data: &Path) -> Result<LockedFolder, KeyRetirementError> {
        let failed = |source| KeyRetirementError::Data { data: data.to_owned(), source: Box::new(source) };
        let folder = LockedFolder::find(environment, data).map_err(failed)?;
        folder.ok_or_else(|| KeyRetirementError::NoData(data.to_owned()))
    }

    /// Moves keys of a keyring into a new offline keyring: those that are named, else every one that no ledger needs but
    /// the one in use. Returned ⇒ both files are durable.
    ///
    /// # Errors
    /// A key that a ledger needs, or a ledger that is missing or does not open. Nothing was changed.
    pub fn run(
        &self,
        keyring: &KeyringFile,
        into: &Path,
        named: &[KekId],
    ) -> Result<LoadedKeyring, KeyRetirementError> {
        keyring.change(|loaded| {
            self.refuse_missing(&loaded.keyring)?;
            let ids = self.may_go(&loaded.keyring, named)?;
            let mut offline = OfflineKeys::default();
            loaded.keyring.retire(&ids, &mut offline)?;
            self.open_without(&loaded.keyring)?;
            offline_file::make(into, &offline, loaded.passphrase.as_ref())?;
            Ok(())
        })
    }

    fn names(&self) -> Result<Vec<LedgerName>, KeyRetirementError> {
        let data = || self.folder.path.clone();
        let failed = |source| KeyRetirementError::Data { data: data(), source: Box::new(source) };
        self.folder.folder.ledger_names().map_err(failed)
    }

    /// Refuses to go on without a ledger that the list or the anchor remembers: it may need the keys.
    fn refuse_missing(&self, keyring: &Keyring) -> Result<(), KeyRetirementError> {
        let (data, without) = (&self.folder.path, self.without);
        let mut present = self.names()?;
        let mut known = KnownLedgers::read(&self.folder.folder, data)?;
        known.give_up(data, &present, without)?;
        known.check(data, &present, keyring, self.anchor)?;
        present.extend(without.iter().cloned());
        if let Some(anchor) = self.anchor {
            check_anchored(anchor, data, &present, keyring)?;
        }
        Ok(())
    }

    /// Returns the keys to retire. Each named key must be one that no ledger needs. Without names, all such keys are returned.
    fn may_go(&self, keyring: &Keyring, named: &[KekId]) -> Result<Vec<KekId>, KeyRetirementError> {
        let mut needs = Vec::new();
        for ledger in self.names()? {
            self.add_needs(&ledger, keyring, &mut needs)?;
        }
        let need = |id: &KekId| needs.iter().find(|(needed, _)| needed == id).map(|(_, need)| need.clone());
        if let Some((id, need)) = named.iter().find_map(|id| Some((*id, need(id)?))) {
            return Err(KeyRetirementError::Needed { id, need });
        }
        if !named.is_empty() {
            return Ok(named.to_vec());
        }
        let active = keyring.active_kek().0;
        let (kept, free): (Vec<_>, Vec<_>) =
            keyring.kek_ids().filter(|id| *id != active).partition(|id| need(id).is_some());
        match free.is_empty() {
            true => Err(KeyRetirementError::Nothing(kept.first().and_then(|id| Some((*id, need(id)?))))),
            false => Ok(free),
        }
    }

    fn add_needs(
        &self,
        ledger: &LedgerName,
        keyring: &Keyring,
        needs: &mut Vec<(KekId, KeyNeed)>,
    ) -> Result<(), KeyRetirementError> {
        let (folder, disk) = (self.folder.folder.ledger(ledger), &*self.folder.environment.disk);
        let failed = |source| KeyRetirementError::Disk { ledger: ledger.clone(), source };
        let known = KnownSegments::read(disk, &folder).map_err(failed)?;
        for segment in known.segments.iter().filter(|segment| !segment.is_released) {
            let first = segment.start.first_position.get();
            needs.push((segment.kek, KeyNeed::Segment { ledger: ledger.clone(), first }));
        }
        let Some(id) = known.ledger else { return Ok(()) };
        let kept = known_archives((self.archives, disk), &folder, id, keyring.signing_chain());
        let failed =
            |source| KeyRetirementError::Archives { ledger: ledger.clone(), source: Box::new(source) };
        let kept = kept.map_err(failed)?;
        if let Some(source) = kept.lost.into_iter().next() {
            return Err(failed(source));
        }
        if let Some(newest) = kept.archives.last() {
            let manifest = newest.manifest.manifest();
            let first = manifest.range.first().get();
            needs.push((manifest.key.kek, KeyNeed::Archive { ledger: ledger.clone(), first }));
        }
        Ok(())
    }

    /// Opens every ledger for reading, with the rest of the keyring. Nothing of them is changed.
    fn open_without(&self, left: &Keyring) -> Result<(), KeyRetirementError> {
        for ledger in self.names()? {
            let keyring = Keyring::parse(&left.to_text()).map(Arc::new);
            let Ok(keyring) = keyring else { continue };
            let options = Options { heads: None, governing: ReactorChoice::Governance, ..Options::default() };
            let folder = self.folder.folder.ledger(&ledger);
            let opened =
                Ledger::open_for_questions(&self.folder.environment, &folder, &keyring, &ledger, &options);
            let opened = opened.map_err(|source| KeyRetirementError::Opens {
                ledger: ledger.clone(),
                source: Box::new(source),
            })?;
            if let Some(doubt) = opened.doubt() {
                return Err(KeyRetirementError::Doubt { ledger, doubt: doubt.to_string() });
            }
        }
        Ok(())
    }
}
