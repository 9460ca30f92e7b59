//! The list of ledgers that have stood in a data folder.
//! With it a missing ledger is noticed, and not made anew.
//!
//! The file `LEDGERS` in the data folder holds the line `bitacora-ledgers v2`, each ledger's name on a line of its own,
//! and the seal. A list without the keyring is no authority: the anchor names the ledgers that it remembers, and those
//! are missed too. No file lists the ledgers that are given up: an old copy of it would hide one that came back.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::{ControlFile, Keyring, LedgerName, undo_one_flip};
use bitacora_ledger::{Anchor, AnchorError};
use bitacora_server::{AnchoredLedgers, DataFolder};

/// The file's name in the data folder.
const FILE: &str = "LEDGERS";
/// The name of a damaged list, beside the one that was written again.
const DAMAGED_FILE: &str = "LEDGERS.damaged";
/// The size limit of a list.
const MAX_LIST_BYTES: usize = 64 * 1024;
const FIRST_LINE: &str = "bitacora-ledgers v2";
/// The largest list, in bytes, in which a changed bit is searched for: the names of as many ledgers as a service has.
const MAX_MENDED_BYTES: usize = 32 * 1024;
/// The first line of an unsealed list.
const UNSEALED_FIRST_LINE: &str = "bitacora-ledgers v1";

/// The reason why the ledgers of the folder are unknown, or why the service does not start without some of them.
#[derive(Debug, thiserror::Error)]
pub enum KnownLedgersError {
    /// The disk gave an error.
    #[error("{}: {source}; nothing was changed", path.display())]
    Disk {
        /// The list's file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file holds no list.
    #[error("{}: not a list of ledgers ('{FIRST_LINE}', one name a line, and a seal); restore it, or remove it if every ledger is there", .0.display())]
    Malformed(PathBuf),
    /// The list is under the seal of another keyring, or was changed.
    #[error("{}: found a list that this keyring did not seal; restore it, or remove it if every ledger is there", .0.display())]
    Foreign(PathBuf),
    /// A ledger is missing that the anchor remembers.
    #[error(
        "{}: the anchor remembers the ledger {name}, which is missing; restore it, or start with `--without-ledger {name}`, each time, if it is given up or stands in another data folder",
        data.display()
    )]
    Anchored {
        /// The data folder.
        data: PathBuf,
        /// The ledger.
        name: LedgerName,
    },
    /// The anchor does not list its ledgers.
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    /// A ledger is missing that the list names.
    #[error(
        "{}: the ledger {name} was here and is missing; restore it, or start with `--without-ledger {name}` to give it up",
        data.display()
    )]
    Missing {
        /// The data folder.
        data: PathBuf,
        /// The ledger.
        name: LedgerName,
    },
    /// A ledger is there that was given up.
    #[error(
        "{}: found the ledger {name}, which `--without-ledger` names; move its folder away, or leave the option out",
        data.display()
    )]
    Present {
        /// The data folder.
        data: PathBuf,
        /// The ledger.
        name: LedgerName,
    },
}

/// The ledgers that have stood in a data folder.
pub struct KnownLedgers {
    folder: DataFolder,
    file: PathBuf,
    names: BTreeSet<LedgerName>,
    /// The ledgers that may be missing at this start.
    given_up: BTreeSet<LedgerName>,
    /// The bytes of a list that claims a seal, or that cannot be parsed.
    sealed: Option<Vec<u8>>,
    /// Set when the file has to be written again.
    is_mended: bool,
    /// Set when a ledger was given up, and the file still lists it.
    is_changed: bool,
}

impl KnownLedgers {
    /// Reads the list in this folder; `data` is the folder's path.
    pub(crate) fn read(folder: &DataFolder, data: &Path) -> Result<Self, KnownLedgersError> {
        let (folder, file) = (folder.clone(), data.join(FILE));
        let bytes = folder.read(FILE, MAX_LIST_BYTES + 1);
        let bytes = bytes.map_err(|source| KnownLedgersError::Disk { path: file.clone(), source })?;
        let Some(bytes) = bytes else {
            return Ok(Self::of(folder, file, BTreeSet::new(), None));
        };
        let text = std::str::from_utf8(&bytes).ok().filter(|text| text.len() <= MAX_LIST_BYTES);
        let parsed = text.and_then(parse);
        let is_sealed = parsed.as_ref().is_none_or(|(_, is_sealed)| *is_sealed);
        let names = parsed.map(|(names, _)| names).unwrap_or_default();
        Ok(Self::of(folder, file, names, is_sealed.then_some(bytes)))
    }

    fn of(folder: DataFolder, file: PathBuf, names: BTreeSet<LedgerName>, sealed: Option<Vec<u8>>) -> Self {
        Self { folder, file, names, given_up: BTreeSet::new(), sealed, is_mended: false, is_changed: false }
    }

    /// Returns `true` if no ledger has stood here.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.sealed.is_none()
    }

    /// Returns the ledgers of a list that this keyring sealed.
    pub(crate) fn sealed_names(&self, keyring: &Keyring) -> Option<Vec<LedgerName>> {
        self.sealed
            .as_deref()
            .and_then(|bytes| unsealed(bytes, keyring))
            .map(|names| names.into_iter().collect())
    }

    /// Returns the ledgers that may be missing at this start.
    pub(crate) fn given_up(&self) -> Vec<LedgerName> {
        self.given_up.iter().cloned().collect()
    }

    /// Gives up these ledgers for this start: the operator declares them lost, or in another data folder.
    /// [`Self::check`] does not miss them, and [`Self::note`] no longer lists them. None of them may be here.
    pub(crate) fn give_up(
        &mut self,
        data: &Path,
        present: &[LedgerName],
        names: &[LedgerName],
    ) -> Result<(), KnownLedgersError> {
        if let Some(name) = names.iter().find(|name| present.contains(name)) {
            return Err(KnownLedgersError::Present { data: data.to_owned(), name: name.clone() });
        }
        self.is_changed = !names.is_empty();
        self.given_up.extend(names.iter().cloned());
        Ok(())
    }

    /// Refuses to go on with a list that this keyring did not seal, or without one of the ledgers. Where one bit of the list has changed,
    /// the seal shows the old list. A list damaged otherwise gives way to the ledgers that are there, if the anchor remembers exactly
    /// these.
    pub(crate) fn check(
        &mut self,
        data: &Path,
        present: &[LedgerName],
        keyring: &Keyring,
        anchor: Option<&dyn Anchor>,
    ) -> Result<(), KnownLedgersError> {
        if let Some(bytes) = self.sealed.as_ref().filter(|bytes| unsealed(bytes, keyring).is_none()) {
            let Some(names) = mended(bytes, keyring).or_else(|| anchored(anchor, present, keyring)) else {
                let is_list = std::str::from_utf8(bytes).is_ok_and(|text| parse(text).is_some());
                let file = self.file.clone();
                return Err(match is_list {
                    true => KnownLedgersError::Foreign(file),
                    false => KnownLedgersError::Malformed(file),
                });
            };
            (self.names, self.is_mended) = (names, true);
        }
        self.names.retain(|name| !self.given_up.contains(name));
        match self.names.iter().find(|name| !present.contains(name)) {
            None => Ok(()),
            Some(name) => Err(KnownLedgersError::Missing { data: data.to_owned(), name: name.clone() }),
        }
    }

    /// Adds these ledgers to the list, under this keyring's seal. Returned `Ok` ⇒ durable.
    ///
    /// # Errors
    /// An error of the disk.
    pub fn note(&mut self, present: &[LedgerName], keyring: &Keyring) -> Result<(), KnownLedgersError> {
        let known = self.names.len();
        self.names.extend(present.iter().cloned());
        if self.names.len() == known && self.sealed.is_some() && !self.is_mended && !self.is_changed {
            return Ok(());
        }
        let text = self.text();
        let sealed = ControlFile::Ledgers.seal(keyring.derived_state_key(), &text).into_bytes();
        let failed = |source| KnownLedgersError::Disk { path: self.file.clone(), source };
        if let Some(damaged) = self.sealed.as_ref().filter(|_| self.is_mended) {
            self.folder.replace(DAMAGED_FILE, damaged).map_err(failed)?;
            tracing::warn!(
                file = %self.file.display(), damaged = DAMAGED_FILE,
                "the list of ledgers was damaged; it was written again, and the damaged one is kept"
            );
        }
        self.folder.replace(FILE, &sealed).map_err(failed)?;
        (self.sealed, self.is_mended, self.is_changed) = (Some(sealed), false, false);
        Ok(())
    }

    /// Returns the list without its seal.
    fn text(&self) -> String {
        let names = self.names.iter().map(|name| format!("{name}\n"));
        std::iter::once(format!("{FIRST_LINE}\n")).chain(names).collect()
    }
}

/// Returns the names of a list that this keyring sealed.
fn unsealed(bytes: &[u8], keyring: &Keyring) -> Option<BTreeSet<LedgerName>> {
    ControlFile::Ledgers.unseal(keyring.derived_state_key(), bytes).ok()?;
    std::str::from_utf8(bytes)
        .ok()
        .and_then(parse)
        .filter(|(_, is_sealed)| *is_sealed)
        .map(|(names, _)| names)
}

/// Returns the names of such a list of which one bit has changed since.
fn mended(bytes: &[u8], keyring: &Keyring) -> Option<BTreeSet<LedgerName>> {
    let bytes = Some(bytes).filter(|bytes| bytes.len() <= MAX_MENDED_BYTES)?;
    undo_one_flip(bytes, |bytes| unsealed(bytes, keyring)).map(|(names, _)| names)
}

/// Returns the ledgers that are here, where they are exactly those of this keyring that the anchor remembers.
fn anchored(
    anchor: Option<&dyn Anchor>,
    present: &[LedgerName],
    keyring: &Keyring,
) -> Option<BTreeSet<LedgerName>> {
    let here: BTreeSet<_> = present.iter().cloned().collect();
    let AnchoredLedgers { names, failure } = AnchoredLedgers::ask(anchor?, keyring);
    (!here.is_empty() && failure.is_none() && names == here).then_some(here)
}

/// Refuses to go on without a ledger of this keyring that the anchor remembers: a thief takes its line out of the list,
/// too. Returns `true` if it remembers one.
pub(crate) fn check_anchored(
    anchor: &dyn Anchor,
    data: &Path,
    present: &[LedgerName],
    keyring: &Keyring,
) -> Result<bool, KnownLedgersError> {
    let AnchoredLedgers { names, failure } = AnchoredLedgers::ask(anchor, keyring);
    if let Some(name) = names.iter().find(|name| !present.contains(name)) {
        return Err(KnownLedgersError::Anchored { data: data.to_owned(), name: name.clone() });
    }
    failure.map_or(Ok(!names.is_empty()), |failure| Err(failure.into()))
}

/// Parses the names of a list; `true`: it has to be sealed.
fn parse(text: &str) -> Option<(BTreeSet<LedgerName>, bool)> {
    let text = text.strip_suffix('\n')?;
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let is_sealed = match first {
        FIRST_LINE => true,
        UNSEALED_FIRST_LINE => false,
        _ => return None,
    };
    let mut lines: Vec<_> = rest.lines().collect();
    if is_sealed {
        lines.pop()?;
    }
    let names: Option<_> = lines.into_iter().map(|line| line.parse().ok()).collect();
    Some((names?, is_sealed))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use bitacora_formats::{Generation, LedgerId, LedgerOrigin, TreeHash, TreeHead};
    use bitacora_ledger::{Environment, FolderAnchor, RealDisk};

    use super::*;

    fn names(names: &[&str]) -> Vec<LedgerName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn read(data: &Path) -> Result<KnownLedgers, KnownLedgersError> {
        let folder = DataFolder::open_or_begin(&Environment::real(), data).unwrap();
        KnownLedgers::read(&folder, data)
    }

    #[test]
    fn a_ledger_that_was_noted_is_missed() {
        let data = tempfile::tempdir().unwrap();
        let mut known = read(data.path()).unwrap();
        assert!(known.is_empty());
        let keyring = keyring(1);
        known.check(data.path(), &names(&["main"]), &keyring, None).unwrap();
        known.note(&names(&["main", "other"]), &keyring).unwrap();
        known.note(&names(&["other"]), &keyring).unwrap();

        let mut known = read(data.path()).unwrap();
        let text = fs::read_to_string(&known.file).unwrap();
        assert!(text.starts_with("bitacora-ledgers v2\nmain\nother\nseal "), "{text}");
        known.check(data.path(), &names(&["a", "main", "other"]), &keyring, None).unwrap();
        let missing = known.check(data.path(), &names(&["other"]), &keyring, None).unwrap_err();
        assert!(matches!(&missing, KnownLedgersError::Missing { name, .. } if name.as_str() == "main"));
    }

    #[test]
    fn a_ledger_is_given_up_by_its_name_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (data, own) = (folder.path().join("data"), keyring(1));
        let data = data.as_path();
        let file = data.join(FILE);
        let mut known = read(data).unwrap();
        known.check(data, &names(&["main", "other"]), &own, None).unwrap();
        known.note(&names(&["main", "other"]), &own).unwrap();
        let older = fs::read(&file).unwrap();
        let check = |without: &[&str], present: &[&str]| {
            let (mut known, present) = (read(data).unwrap(), names(present));
            known.give_up(data, &present, &names(without))?;
            known.check(data, &present, &own, None)?;
            known.note(&present, &own)?;
            Ok::<_, KnownLedgersError>(known.given_up())
        };
        let missing = check(&[], &["main"]).unwrap_err().to_string();
        assert!(missing.contains("start with `--without-ledger other`"), "{missing}");
        assert!(check(&["main"], &["main"]).is_err(), "it is here");
        assert!(check(&["another"], &["main"]).is_err(), "the other one is missed");
        assert_eq!(fs::read(&file).unwrap(), older);
        assert_eq!(check(&["other"], &["main"]).unwrap(), names(&["other"]));
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("bitacora-ledgers v2\nmain\nseal "), "it is listed no more: {text}");
        assert!(check(&[], &["main"]).unwrap().is_empty());
        assert!(check(&[], &[]).is_err(), "one that was not given up is missed");
        // An older list misses it again, and one that is back is listed.
        fs::write(&file, &older).unwrap();
        assert!(matches!(check(&[], &["main"]), Err(KnownLedgersError::Missing { .. })));
        fs::write(&file, &text).unwrap();
        assert!(check(&[], &["main", "other"]).unwrap().is_empty());
        assert_eq!(fs::read(&file).unwrap(), older);
    }

    #[test]
    fn a_list_that_a_thief_wrote_is_refused_and_one_from_before_seals_is_sealed() {
        let data = tempfile::tempdir().unwrap();
        let file = data.path().join("LEDGERS");
        assert!(read(data.path()).unwrap().is_empty());
        fs::write(&file, "bitacora-ledgers v1\nmain\n").unwrap();
        let mut known = read(data.path()).unwrap();
        assert!(known.check(data.path(), &[], &keyring(1), None).is_err(), "its ledgers are missed");
        known.check(data.path(), &names(&["main"]), &keyring(1), None).unwrap();
        known.note(&names(&["main"]), &keyring(1)).unwrap();
        let sealed = fs::read_to_string(&file).unwrap();
        for text in [sealed.replace("main\n", ""), sealed.replace("main", "other")] {
            fs::write(&file, text).unwrap();
            let mut known = read(data.path()).unwrap();
            let refused =
                known.check(data.path(), &names(&["main", "other"]), &keyring(1), None).unwrap_err();
            assert!(matches!(refused, KnownLedgersError::Foreign(_)), "{refused}");
        }
        fs::write(&file, sealed).unwrap();
        let mut known = read(data.path()).unwrap();
        assert!(known.check(data.path(), &names(&["main"]), &keyring(2), None).is_err(), "another keyring's");
    }

    #[test]
    fn a_ledger_that_the_anchor_remembers_is_missed_whatever_the_list_says() {
        let folder = tempfile::tempdir().unwrap();
        let (data, own) = (folder.path(), keyring(1));
        let anchor = FolderAnchor::new(Arc::new(RealDisk), &data.join("anchors"));
        check_anchored(&anchor, data, &[], &own).unwrap();
        let remember = |name: &str, keyring: &Keyring| {
            let name: LedgerName = name.parse().unwrap();
            let origin =
                LedgerOrigin { name: name.clone(), ledger: LedgerId([1; 16]), generation: Generation::FIRST };
            let note = TreeHead { origin, size: 1, root: TreeHash([2; 32]) }.sign(keyring).to_string();
            anchor.swap(&name, None, &note).unwrap();
        };
        remember("main", &own);
        remember("foreign", &keyring(2));
        check_anchored(&anchor, data, &names(&["main"]), &own).unwrap();
        let missing = check_anchored(&anchor, data, &names(&["other"]), &own).unwrap_err();
        assert!(matches!(&missing, KnownLedgersError::Anchored { name, .. } if name.as_str() == "main"));
    }

    fn keyring(first: u8) -> Keyring {
        let mut draw = first;
        Keyring::generate(&mut |bytes| {
            draw = draw.wrapping_add(11);
            bytes.fill(draw);
        })
    }

    #[test]
    fn a_list_of_which_one_bit_changed_is_what_its_seal_says() {
        let data = tempfile::tempdir().unwrap();
        let (file, keyring) = (data.path().join("LEDGERS"), keyring(1));
        read(data.path()).unwrap().note(&names(&["main", "other"]), &keyring).unwrap();
        let whole = fs::read(&file).unwrap();
        for offset in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[offset] ^= 1 << (offset % 8);
            fs::write(&file, &damaged).unwrap();
            let mut known = read(data.path()).unwrap();
            assert!(!known.is_empty());
            let missing = known.check(data.path(), &names(&["main"]), &keyring, None).unwrap_err();
            // The first line can become that of a list without a seal, with a line that names no ledger.
            let is_missed =
                matches!(&missing, KnownLedgersError::Missing { name, .. } if name.as_str() == "other");
            assert!(is_missed, "byte {offset}: {missing}");
            known.check(data.path(), &names(&["main", "other"]), &keyring, None).unwrap();
            known.note(&names(&["main", "other"]), &keyring).unwrap();
            assert_eq!(fs::read(&file).unwrap(), whole, "byte {offset}");
            assert_eq!(fs::read(file.with_extension("damaged")).unwrap(), damaged);
        }
    }

    #[test]
    fn a_damaged_list_is_what_is_here_where_the_anchor_remembers_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (data, own) = (folder.path().join("data"), keyring(1));
        let data = data.as_path();
        let anchor = FolderAnchor::new(Arc::new(RealDisk), &folder.path().join("anchors"));
        assert!(read(data).unwrap().is_empty());
        fs::write(data.join("LEDGERS"), "bitacora-le\u{0}\u{0}gers v2\nmain\n").unwrap();
        let check = |present: &[&str]| {
            let mut known = read(data).unwrap();
            known.check(data, &names(present), &own, Some(&anchor)).map(|()| known)
        };
        assert!(check(&["main"]).is_err(), "nobody remembers it");
        let name: LedgerName = "main".parse().unwrap();
        let origin =
            LedgerOrigin { name: name.clone(), ledger: LedgerId([1; 16]), generation: Generation::FIRST };
        let note = TreeHead { origin, size: 1, root: TreeHash([2; 32]) }.sign(&own).to_string();
        anchor.swap(&name, None, &note).unwrap();
        assert!(check(&["main", "other"]).is_err() && check(&["other"]).is_err() && check(&[]).is_err());
        check(&["main"]).unwrap().note(&names(&["main"]), &own).unwrap();
        assert_eq!(read(data).unwrap().sealed_names(&own), Some(names(&["main"])));
    }

    #[test]
    fn a_list_is_written_into_the_folder_that_was_opened_and_not_into_a_copy_in_its_place() {
        let below = tempfile::tempdir().unwrap();
        let (data, away) = (below.path().join("data"), below.path().join("away"));
        let mut known = read(&data).unwrap();
        known.note(&names(&["main"]), &keyring(1)).unwrap();
        fs::rename(&data, &away).unwrap();
        fs::create_dir(&data).unwrap();
        let list = fs::read(away.join(FILE)).unwrap();
        fs::write(data.join(FILE), &list).unwrap();
        fs::write(data.join("LEDGERS.new"), "of another service").unwrap();
        known.note(&names(&["other"]), &keyring(1)).unwrap();
        assert_eq!(fs::read(data.join(FILE)).unwrap(), list);
        assert_eq!(fs::read(data.join("LEDGERS.new")).unwrap(), b"of another service");
        assert!(fs::read_to_string(away.join(FILE)).unwrap().contains("\nother\n"));
    }

    #[test]
    fn a_list_that_is_none_is_refused() {
        let data = tempfile::tempdir().unwrap();
        assert!(read(data.path()).unwrap().is_empty());
        for text in
            ["", "main\n", "bitacora-ledgers v2\n", "bitacora-ledgers v1\n../x\n", "bitacora-ledgers v1"]
        {
            fs::write(data.path().join("LEDGERS"), text).unwrap();
            let mut known = read(data.path()).unwrap();
            let refused = known.check(data.path(), &names(&["main"]), &keyring(1), None);
            assert!(matches!(refused, Err(KnownLedgersError::Malformed(_))), "{text:?}");
        }
    }
}
