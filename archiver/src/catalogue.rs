//! The archives of a ledger that a reader knows, and those of them that it has opened.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bitacora_archive_format::{ArchiveError, ArchiveKey, ArchiveRange, GroupTimes, Manifest, SignedManifest};
use bitacora_formats::{Keyring, Position};
use bitacora_ledger::ArchiveTierError;
use sha2::{Digest, Sha256};

use crate::archive_store::Objects;
use crate::archives::unavailable;
use crate::error::StoredError;
use crate::later_revision::later_revision;
use crate::manifest_folder::{ManifestSet, holding};
use crate::manifest_recovery::RecoveredManifests;
use crate::stored_archive::StoredArchive;

/// Those whose manifests were there when it was last looked.
#[derive(Default)]
pub(crate) struct Catalogue {
    manifests: Vec<SignedManifest>,
    /// For each of them, once it was asked for something.
    opened: Vec<Mutex<Option<Arc<OpenArchive>>>>,
    /// Positions of which the folder has lost the manifest, and the store has not given it: the first, the last, and why.
    lost: Vec<(u64, u64, String)>,
}

/// An archive that was asked for something.
pub(crate) struct OpenArchive {
    pub(crate) stored: StoredArchive,
    pub(crate) key: ArchiveKey,
    /// The identity that tells it from every other archive, also from another of the same positions.
    pub(crate) identity: ArchiveIdentity,
    /// From when to when its groups are, once that was asked for.
    pub(crate) times: OnceLock<GroupTimes>,
    /// The lock under which groups are narrowed for a filter, one question at a time.
    pub(crate) narrowing: Mutex<()>,
}

/// SHA-256 of an archive's signed manifest.
pub(crate) type ArchiveIdentity = [u8; 32];

impl Catalogue {
    /// Builds the catalogue of the present archives; those that were opened before stay open.
    pub(crate) fn new(kept: ManifestSet, recovered: &RecoveredManifests, before: &Self) -> Self {
        let opened = kept.manifests.iter().map(|one| Mutex::new(before.opened_already(one))).collect();
        let lost = kept.lost.iter().map(|lost| {
            let told = recovered.still_lost.iter().find(|told| told.is_of(lost.first));
            let what = told.map_or_else(|| lost.error.to_string(), ToString::to_string);
            (lost.first, lost.last, what)
        });
        Self { lost: lost.collect(), opened, manifests: kept.manifests }
    }

    fn opened_already(&self, manifest: &SignedManifest) -> Option<Arc<OpenArchive>> {
        let index = holding(&self.manifests, manifest.manifest().range.first())?;
        let is_same = self.manifests.get(index) == Some(manifest);
        let opened = self.opened.get(index).filter(|_| is_same)?;
        opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns `true` if another revision holds the position here than there.
    pub(crate) fn has_other_revision(&self, before: &Self, position: Position) -> bool {
        let revision = |catalogue: &Self| {
            let one = catalogue.manifests.get(catalogue.holding(position)?)?;
            Some(one.manifest().object_name())
        };
        revision(self) != revision(before)
    }

    /// The identities of opened archives that are not among the later ones.
    pub(crate) fn identities_not_in(&self, later: &Self) -> Vec<ArchiveIdentity> {
        let opened =
            self.manifests.iter().zip(&self.opened).filter(|(one, _)| !later.manifests.contains(one));
        let identity = |opened: &Mutex<Option<Arc<OpenArchive>>>| {
            opened.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|opened| opened.identity)
        };
        opened.filter_map(|(_, opened)| identity(opened)).collect()
    }

    /// In the order of their positions.
    pub(crate) fn manifests(&self) -> impl DoubleEndedIterator<Item = &Manifest> + ExactSizeIterator {
        self.manifests.iter().map(SignedManifest::manifest)
    }

    /// The place of the one that holds a position.
    pub(crate) fn holding(&self, position: Position) -> Option<usize> {
        holding(&self.manifests, position)
    }

    pub(crate) fn range_of(&self, position: Position) -> Option<ArchiveRange> {
        let index = self.holding(position)?;
        self.manifests.get(index).map(|manifest| manifest.manifest().range)
    }

    /// Returns `true` if it is known what stands at a position that no archive held before.
    pub(crate) fn goes_on_at(&self, position: Position) -> bool {
        self.range_of(position).is_some() || self.begins_behind(position)
    }

    /// Returns `true` if an archive ends before this position, and a frame begins there, in whatever is behind it.
    pub(crate) fn begins_behind(&self, position: Position) -> bool {
        let before = Position::new(position.get() - 1).and_then(|before| self.holding(before));
        let before = before.and_then(|before| self.manifests.get(before));
        before.is_some_and(|before| before.manifest().chain_after.position == position)
    }

    /// Returns the error for a position that no archive here holds; `folder` is the folder of manifests.
    pub(crate) fn lacking(&self, position: Position, folder: &std::path::Path) -> ArchiveTierError {
        let lost = self.lost.iter().find(|(first, last, _)| (*first..=*last).contains(&position.get()));
        let Some((first, last, what)) = lost else {
            let what = format!("no manifest of an archive that holds it in {}", folder.display());
            return unavailable(position, position, what);
        };
        let at = |number: &u64| Position::new(*number).unwrap_or(position);
        unavailable(at(first), at(last), what.clone())
    }

    /// The archive at a place, opened once: what the store has must be what the ledger kept the manifest of.
    pub(crate) fn open(
        &self,
        index: usize,
        objects: &Arc<dyn Objects>,
        keyring: &Keyring,
    ) -> Result<Arc<OpenArchive>, StoredError> {
        let Some((kept, opened)) = self.manifests.get(index).zip(self.opened.get(index)) else {
            let source = ArchiveError::Contents { what: "the catalogue" };
            return Err(StoredError::Archive { object: objects.shown(""), source });
        };
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*opened {
            return Ok(Arc::clone(open));
        }
        let manifest = kept.manifest();
        let name = manifest.object_name();
        let signers = keyring.signing_chain();
        let stored = match StoredArchive::open(objects, &name, Some(signers)) {
            Err(error) if error.is_missing() => later_revision(objects, manifest, signers).ok_or(error)?,
            stored => {
                let stored = stored?;
                if stored.outline().manifest() != kept {
                    let what = "the manifest, which the ledger kept,";
                    return Err(stored.wrong(ArchiveError::Contents { what }));
                }
                stored
            }
        };
        let of_stored = stored.outline().manifest();
        let key = ArchiveKey::unwrap(of_stored.manifest(), keyring).map_err(|error| stored.wrong(error))?;
        let identity = Sha256::digest(of_stored.note().to_string().as_bytes()).into();
        let (times, narrowing) = (OnceLock::new(), Mutex::default());
        let open = Arc::new(OpenArchive { stored, key, identity, times, narrowing });
        *opened = Some(Arc::clone(&open));
        Ok(open)
    }
}
