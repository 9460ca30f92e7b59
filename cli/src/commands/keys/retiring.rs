//! `keys retire` and `keys restore`: old encryption keys into an offline keyring, and back.
//!
//! A key is in the offline keyring's file, durable and read back, before the keyring is written without it. A crash in between leaves it in
//! both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_archiver::{ManifestFolderError, known_archives};
use bitacora_formats::{KekId, Keyring, LedgerName, OfflineKeys, RetirementError};
use bitacora_ledger::{Anchor, Environment, KnownSegments, Ledger, OpenError, Options, ReactorChoice};
use bitacora_server::{DataError, DataFolder};

use super::{KeyringView, Keys, KeysError};
use crate::data_folder::anchor::AnchorTrust;
use crate::data_folder::archives;
use crate::data_folder::known_ledgers::{KnownLedgers, KnownLedgersError, check_anchored};
use crate::error::CommandError;
use crate::keys::keyring_file::{self, offline_file};
use crate::ledger_access::access::environment_of;
use crate::options::global::Global;

/// A refusal to retire keys or to bring them back. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RetireFailure {
    #[error("{}: {source}", data.display())]
    Data { data: PathBuf, source: Box<DataError> },
    #[error("{}: no data folder with a ledger; name it with --data", .0.display())]
    NoData(PathBuf),
    #[error("ledger {ledger}: {source}; nothing was changed")]
    Disk { ledger: LedgerName, source: std::io::Error },
    #[error("ledger {ledger}: {source}; nothing was changed")]
    Archives { ledger: LedgerName, source: Box<ManifestFolderError> },
    #[error("ledger {ledger}: without the retired keys it does not open: {source}; nothing was changed")]
    Opens { ledger: LedgerName, source: Box<OpenError> },
    #[error("ledger {ledger}: {doubt}; recover it first, nothing was changed")]
    Doubt { ledger: LedgerName, doubt: String },
    #[error("key {id} is still needed: {need}; nothing was changed")]
    Needed { id: KekId, need: KeyNeed },
    #[error("no key to retire: {}", .0.as_ref().map_or_else(|| "the keyring holds one alone; rotate first".to_owned(), |(id, need)| format!("key {id} is still needed: {need}")))]
    Nothing(Option<(KekId, KeyNeed)>),
    /// A ledger that was here may need the keys.
    #[error("{0}; no key was retired")]
    Ledgers(Box<KnownLedgersError>),
    #[error(transparent)]
    Keys(#[from] RetirementError),
}

impl From<KnownLedgersError> for RetireFailure {
    fn from(error: KnownLedgersError) -> Self {
        Self::Ledgers(Box::new(error))
    }
}

/// A ledger's need of a key.
#[derive(Debug, Clone)]
pub(crate) enum KeyNeed {
    /// The ledger's segments that need the key begin at this position.
    Segment { ledger: LedgerName, first: u64 },
    /// The ledger's newest archive that needs the key begins at this position.
    Archive { ledger: LedgerName, first: u64 },
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

/// Parses the id of a key, as a command line names it.
pub(super) fn kek_id(text: &str) -> Result<KekId, String> {
    let mut id = [0; 8];
    match hex::decode_to_slice(text, &mut id) {
        Ok(()) => Ok(KekId(id)),
        Err(_) => Err("16 hexadecimal digits expected, as `keys show` prints them".to_owned()),
    }
}

impl Keys<'_> {
    pub(super) fn retire(
        &self,
        global: &Global,
        into: &Path,
        named: &[KekId],
        without: &[LedgerName],
    ) -> Result<KeyringView, CommandError> {
        let data = global.data()?;
        keyring_file::refuse_in_data(into, Some(data))?;
        let environment = environment_of(global, data)?;
        let failed =
            |source| KeysError::from(RetireFailure::Data { data: data.to_owned(), source: Box::new(source) });
        let folder = DataFolder::find(&environment, data).map_err(failed)?;
        let folder = folder.ok_or_else(|| KeysError::from(RetireFailure::NoData(data.to_owned())))?;
        // A service seals under the key that it began with.
        let _alone = folder.lock().map_err(failed)?;
        let ledgers = Ledgers { global, data, environment: &environment, folder: &folder };
        let trust = AnchorTrust { required: true, is_new: false };
        let heads = global.anchor()?.options(&environment, trust)?.heads;
        let anchor = heads.as_ref().and_then(|heads| heads.anchor.as_deref());
        self.change(|loaded| {
            let missed = ledgers.refuse_missing(&loaded.keyring, anchor, without);
            missed.map_err(KeysError::from)?;
            let ids = ledgers.may_go(&loaded.keyring, named).map_err(KeysError::from)?;
            let mut offline = OfflineKeys::default();
            loaded
                .keyring
                .retire(&ids, &mut offline)
                .map_err(RetireFailure::from)
                .map_err(KeysError::from)?;
            ledgers.open_without(&loaded.keyring).map_err(KeysError::from)?;
            offline_file::make(into, &offline, loaded.passphrase.as_ref())?;
            Ok(())
        })
    }

    pub(super) fn restore(&self, from: &Path) -> Result<KeyringView, CommandError> {
        let offline: OfflineKeys = offline_file::load(from, self.data, self.passphrase)?;
        self.change(|loaded| {
            let restored = loaded.keyring.restore(&offline);
            restored.map(drop).map_err(RetireFailure::from).map_err(KeysError::from)?;
            Ok(())
        })
    }
}

/// The ledgers of a data folder, none of which another process has open.
struct Ledgers<'a> {
    global: &'a Global,
    data: &'a Path,
    environment: &'a Environment,
    folder: &'a DataFolder,
}

impl Ledgers<'_> {
    fn names(&self) -> Result<Vec<LedgerName>, RetireFailure> {
        let failed = |source| RetireFailure::Data { data: self.data.to_owned(), source: Box::new(source) };
        self.folder.ledger_names().map_err(failed)
    }

    /// Refuses to go on without a ledger that the list or the anchor remembers: it may need the keys.
    fn refuse_missing(
        &self,
        keyring: &Keyring,
        anchor: Option<&dyn Anchor>,
        without: &[LedgerName],
    ) -> Result<(), RetireFailure> {
        let mut present = self.names()?;
        let mut known = KnownLedgers::read(self.folder, self.data)?;
        known.give_up(self.data, &present, without)?;
        known.check(self.data, &present, keyring, anchor)?;
        present.extend(without.iter().cloned());
        if let Some(anchor) = anchor {
            check_anchored(anchor, self.data, &present, keyring)?;
        }
        Ok(())
    }

    /// Returns the keys to retire. Each named key must be one that no ledger needs. Without names, all such keys are returned.
    fn may_go(&self, keyring: &Keyring, named: &[KekId]) -> Result<Vec<KekId>, RetireFailure> {
        let mut needs = Vec::new();
        for ledger in self.names()? {
            self.add_needs(&ledger, keyring, &mut needs)?;
        }
        let need = |id: &KekId| needs.iter().find(|(needed, _)| needed == id).map(|(_, need)| need.clone());
        if let Some((id, need)) = named.iter().find_map(|id| Some((*id, need(id)?))) {
            return Err(RetireFailure::Needed { id, need });
        }
        if !named.is_empty() {
            return Ok(named.to_vec());
        }
        let active = keyring.active_kek().0;
        let (kept, free): (Vec<_>, Vec<_>) =
            keyring.kek_ids().filter(|id| *id != active).partition(|id| need(id).is_some());
        match free.is_empty() {
            true => Err(RetireFailure::Nothing(kept.first().and_then(|id| Some((*id, need(id)?))))),
            false => Ok(free),
        }
    }

    fn add_needs(
        &self,
        ledger: &LedgerName,
        keyring: &Keyring,
        needs: &mut Vec<(KekId, KeyNeed)>,
    ) -> Result<(), RetireFailure> {
        let (folder, disk) = (self.folder.ledger(ledger), &*self.environment.disk);
        let failed = |source| RetireFailure::Disk { ledger: ledger.clone(), source };
        let known = KnownSegments::read(disk, &folder).map_err(failed)?;
        for segment in known.segments.iter().filter(|segment| !segment.is_released) {
            let first = segment.start.first_position.get();
            needs.push((segment.kek, KeyNeed::Segment { ledger: ledger.clone(), first }));
        }
        let Some(id) = known.ledger else { return Ok(()) };
        let objects = archives::store_at(self.global.archive_place(self.data));
        let kept = known_archives((&objects, disk), &folder, id, keyring.signing_chain());
        let failed = |source| RetireFailure::Archives { ledger: ledger.clone(), source: Box::new(source) };
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
    fn open_without(&self, left: &Keyring) -> Result<(), RetireFailure> {
        for ledger in self.names()? {
            let keyring = Keyring::parse(&left.to_text()).map(Arc::new);
            let Ok(keyring) = keyring else { continue };
            let options = Options { heads: None, governing: ReactorChoice::Governance, ..Options::default() };
            let folder = self.folder.ledger(&ledger);
            let opened = Ledger::open_for_questions(self.environment, &folder, &keyring, &ledger, &options);
            let opened = opened.map_err(|source| RetireFailure::Opens {
                ledger: ledger.clone(),
                source: Box::new(source),
            })?;
            if let Some(doubt) = opened.doubt() {
                return Err(RetireFailure::Doubt { ledger, doubt: doubt.to_string() });
            }
        }
        Ok(())
    }
}
