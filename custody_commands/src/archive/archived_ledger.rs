//! The archives that a ledger knows, and the keys to check them with.
//! The keys come from the keyring, or without one from the files in clear beside the segments.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_archive_format::{ArchiveError, SignedManifest};
use bitacora_archiver::{
    KnownArchives, ManifestFolderError, Objects, StoredArchive, StoredError, known_archives,
};
use bitacora_data_folder::archive_store;
use bitacora_formats::{LedgerId, Position, SigningChain, parse_signing_chain};
use bitacora_ledger::{Environment, KnownSegments};

use super::{ArchiveFailure, name_of};
use crate::error::CommandError;
use crate::ledger_access::access::{environment_of, ledger_folder};
use crate::options::global::Global;

/// The file with the ledger's signing keys in clear.
const NOTE: &str = "signing-keys.note";

/// A ledger, its signing keys, and the store of its archives.
pub(super) struct ArchivedLedger {
    pub(super) folder: PathBuf,
    pub(super) environment: Environment,
    pub(super) objects: Arc<dyn Objects>,
    ledger: LedgerId,
    signers: SigningChain,
}

impl ArchivedLedger {
    /// Opens the ledger with the keys of a keyring.
    pub(super) fn new(
        global: &Global,
        data: &Path,
        environment: &Environment,
        (ledger, signers): (LedgerId, &SigningChain),
    ) -> Self {
        Self {
            folder: ledger_folder(global, data),
            environment: environment.clone(),
            objects: archive_store(global.archive_place(data)),
            ledger,
            signers: signers.clone(),
        }
    }

    /// Opens the ledger with the keys that its folder names. An attacker who has the folder may have changed them, and
    /// all that they sign.
    pub(super) fn without_keys(global: &Global) -> Result<Self, CommandError> {
        let data = global.data()?;
        let environment = environment_of(global, data)?;
        let folder = ledger_folder(global, data);
        let segments = KnownSegments::read(&*environment.disk, &folder).unwrap_or_default();
        let none = || ArchiveFailure::NoLedger { path: folder.display().to_string() };
        let ledger = segments.ledger.ok_or_else(none)?;
        let signers = note(&folder.join(NOTE))?;
        Ok(Self::new(global, data, &environment, (ledger, &signers)))
    }

    /// Returns the archives that the ledger knows.
    pub(super) fn kept(&self) -> Result<KnownArchives, ArchiveFailure> {
        let store = (&self.objects, &*self.environment.disk);
        Ok(known_archives(store, &self.folder, self.ledger, &self.signers)?)
    }

    /// Returns the manifests of the archives that hold these positions. Without positions, returns all manifests, and the lost ranges.
    pub(super) fn kept_at(
        &self,
        positions: &[Position],
    ) -> Result<(Vec<SignedManifest>, Vec<ManifestFolderError>), ArchiveFailure> {
        let KnownArchives { archives, mut lost } = self.kept()?;
        let kept: Vec<SignedManifest> = archives.into_iter().map(|one| one.manifest).collect();
        if positions.is_empty() {
            return Ok((kept, lost));
        }
        let holds = |one: &SignedManifest, position: &Position| one.manifest().range.contains(*position);
        if let Some(position) = positions.iter().find(|position| !kept.iter().any(|one| holds(one, position)))
        {
            let why = lost.iter().position(|lost| lost.holds(*position)).map(|index| lost.swap_remove(index));
            return Err(why.map_or(ArchiveFailure::NotArchived(*position), ArchiveFailure::Kept));
        }
        let is_meant = |one: &SignedManifest| positions.iter().any(|position| holds(one, position));
        Ok((kept.into_iter().filter(is_meant).collect(), Vec::new()))
    }

    /// Opens the archive in the store, if it is the one whose manifest the ledger keeps.
    pub(super) fn open(&self, kept: &SignedManifest) -> Result<StoredArchive, StoredError> {
        let stored = StoredArchive::open(&self.objects, &name_of(kept), Some(&self.signers))?;
        if stored.outline().manifest() == kept {
            return Ok(stored);
        }
        let source = ArchiveError::Contents { what: "the manifest, which the ledger kept otherwise," };
        Err(StoredError::Archive { object: stored.shown(), source })
    }
}

fn note(path: &Path) -> Result<SigningChain, ArchiveFailure> {
    let text = fs::read_to_string(path)
        .map_err(|source| ArchiveFailure::Note { path: path.to_owned(), what: source.to_string() })?;
    parse_signing_chain(&text)
        .map_err(|error| ArchiveFailure::Note { path: path.to_owned(), what: error.to_string() })
}
