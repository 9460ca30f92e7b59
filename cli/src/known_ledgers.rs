//! Which ledgers have stood in a data folder, so that one that is gone is missed and not made anew.
//!
//! The file `LEDGERS` in the data folder: the line `bitacora-ledgers v2`, each ledger's name on a line of its own, and the seal. A list
//! without the keyring is no authority: the anchor names the ledgers that it remembers, and those are missed too.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::{ControlFile, Keyring, LedgerName, UnverifiedTreeHead};
use bitacora_ledger::{Anchor, AnchorError};
use bitacora_server::DataFolder;

/// Its name in the data folder.
const FILE: &str = "LEDGERS";
/// Bytes of the longest list that is read.
const MAX_LIST_BYTES: usize = 64 * 1024;
const FIRST_LINE: &str = "bitacora-ledgers v2";
/// The first line of a list that has no seal.
const UNSEALED_FIRST_LINE: &str = "bitacora-ledgers v1";

/// Why it is not known which ledgers there were, or why the service does not start without them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KnownLedgersError {
    #[error("{}: {source}; nothing was changed", path.display())]
    Disk { path: PathBuf, source: io::Error },
    #[error("{}: not a list of ledgers ('{FIRST_LINE}', one name a line, and a seal); restore it, or remove it if every ledger is there", .0.display())]
    Malformed(PathBuf),
    #[error("{}: found a list that this keyring did not seal; restore it, or remove it if every ledger is there", .0.display())]
    Foreign(PathBuf),
    #[error(
        "{}: the anchor remembers the ledger {name}, which is missing; restore it, or pass --new-anchor if it stands in another data folder",
        data.display()
    )]
    Anchored { data: PathBuf, name: LedgerName },
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    #[error(
        "{}: the ledger {name} was here and is missing; restore it, or take its line out of {}",
        data.display(), file.display()
    )]
    Missing { data: PathBuf, name: LedgerName, file: PathBuf },
}

/// The ledgers that have stood in a data folder.
pub(crate) struct KnownLedgers {
    folder: DataFolder,
    file: PathBuf,
    names: BTreeSet<LedgerName>,
    /// The bytes of a list that says to be sealed.
    sealed: Option<Vec<u8>>,
}

impl KnownLedgers {
    /// Reads the list in this folder, and remembers there: `data` is where it stands.
    pub(crate) fn read(folder: &DataFolder, data: &Path) -> Result<Self, KnownLedgersError> {
        let (folder, file) = (folder.clone(), data.join(FILE));
        let bytes = folder.read(FILE, MAX_LIST_BYTES + 1);
        let bytes = bytes.map_err(|source| KnownLedgersError::Disk { path: file.clone(), source })?;
        let Some(bytes) = bytes else {
            return Ok(Self { folder, file, names: BTreeSet::new(), sealed: None });
        };
        let text = std::str::from_utf8(&bytes).ok().filter(|text| text.len() <= MAX_LIST_BYTES);
        let list = text.and_then(parse);
        let (names, is_sealed) = list.ok_or_else(|| KnownLedgersError::Malformed(file.clone()))?;
        Ok(Self { folder, file, names, sealed: is_sealed.then_some(bytes) })
    }

    /// Whether any ledger has stood here.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Refuses to go on with a list that this keyring did not seal, or without one of the ledgers.
    pub(crate) fn check(
        &self,
        data: &Path,
        present: &[LedgerName],
        keyring: &Keyring,
    ) -> Result<(), KnownLedgersError> {
        if let Some(bytes) = &self.sealed {
            let unsealed = ControlFile::Ledgers.unseal(keyring.derived_state_key(), bytes);
            unsealed.map_err(|_| KnownLedgersError::Foreign(self.file.clone()))?;
        }
        match self.names.iter().find(|name| !present.contains(name)) {
            None => Ok(()),
            Some(name) => Err(KnownLedgersError::Missing {
                data: data.to_owned(),
                name: name.clone(),
                file: self.file.clone(),
            }),
        }
    }

    /// Remembers these too, under this keyring's seal. Returned `Ok` ⇒ durable.
    pub(crate) fn note(
        &mut self,
        present: &[LedgerName],
        keyring: &Keyring,
    ) -> Result<(), KnownLedgersError> {
        let known = self.names.len();
        self.names.extend(present.iter().cloned());
        if self.names.len() == known && self.sealed.is_some() {
            return Ok(());
        }
        let lines = self.names.iter().map(LedgerName::as_str);
        let text: String = std::iter::once(FIRST_LINE).chain(lines).flat_map(|line| [line, "\n"]).collect();
        let sealed = ControlFile::Ledgers.seal(keyring.derived_state_key(), &text).into_bytes();
        let failed = |source| KnownLedgersError::Disk { path: self.file.clone(), source };
        self.folder.replace(FILE, &sealed).map_err(failed)?;
        self.sealed = Some(sealed);
        Ok(())
    }
}

/// Refuses to go on without a ledger of this keyring that the anchor remembers: a thief takes its line out of the list, too.
pub(crate) fn check_anchored(
    anchor: &dyn Anchor,
    data: &Path,
    present: &[LedgerName],
    keyring: &Keyring,
) -> Result<(), KnownLedgersError> {
    for name in anchor.ledgers()?.into_iter().filter(|name| !present.contains(name)) {
        let Some(note) = anchor.recall(&name)? else { continue };
        let head = UnverifiedTreeHead::parse(&note).ok();
        if head.is_some_and(|head| head.verify_with_chain(keyring.signing_chain()).is_ok()) {
            return Err(KnownLedgersError::Anchored { data: data.to_owned(), name });
        }
    }
    Ok(())
}

/// The names of a list; `true`: it is to be sealed.
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
    Some((lines.into_iter().map(|name| name.parse().ok()).collect::<Option<_>>()?, is_sealed))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use bitacora_formats::{Generation, LedgerId, Origin, TreeHash, TreeHead};
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
        known.check(data.path(), &names(&["main"]), &keyring).unwrap();
        known.note(&names(&["main", "other"]), &keyring).unwrap();
        known.note(&names(&["other"]), &keyring).unwrap();

        let known = read(data.path()).unwrap();
        let text = fs::read_to_string(&known.file).unwrap();
        assert!(text.starts_with("bitacora-ledgers v2\nmain\nother\nseal "), "{text}");
        known.check(data.path(), &names(&["a", "main", "other"]), &keyring).unwrap();
        let missing = known.check(data.path(), &names(&["other"]), &keyring).unwrap_err();
        assert!(matches!(&missing, KnownLedgersError::Missing { name, .. } if name.as_str() == "main"));
    }

    #[test]
    fn a_list_that_a_thief_wrote_is_refused_and_one_from_before_seals_is_sealed() {
        let data = tempfile::tempdir().unwrap();
        let file = data.path().join("LEDGERS");
        assert!(read(data.path()).unwrap().is_empty());
        fs::write(&file, "bitacora-ledgers v1\nmain\n").unwrap();
        let mut known = read(data.path()).unwrap();
        assert!(known.check(data.path(), &[], &keyring(1)).is_err(), "its ledgers are missed");
        known.check(data.path(), &names(&["main"]), &keyring(1)).unwrap();
        known.note(&names(&["main"]), &keyring(1)).unwrap();
        let sealed = fs::read_to_string(&file).unwrap();
        for text in [sealed.replace("main\n", ""), sealed.replace("main", "other")] {
            fs::write(&file, text).unwrap();
            let known = read(data.path()).unwrap();
            let refused = known.check(data.path(), &names(&["main", "other"]), &keyring(1)).unwrap_err();
            assert!(matches!(refused, KnownLedgersError::Foreign(_)), "{refused}");
        }
        fs::write(&file, sealed).unwrap();
        let known = read(data.path()).unwrap();
        assert!(known.check(data.path(), &names(&["main"]), &keyring(2)).is_err(), "another keyring's");
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
                Origin { name: name.clone(), ledger: LedgerId([1; 16]), generation: Generation::FIRST };
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
            assert!(matches!(read(data.path()), Err(KnownLedgersError::Malformed(_))), "{text:?}");
        }
    }
}
