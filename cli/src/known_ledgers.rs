//! Which ledgers have stood in a data folder, so that one that is gone is missed and not made anew.
//!
//! The file `LEDGERS` in the data folder: the line `bitacora-ledgers v2`, each ledger's name on a line of its own, and the seal. A list
//! without the keyring is no authority: the anchor names the ledgers that it remembers, and those are missed too.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::{ControlFile, Keyring, LedgerName, UnverifiedTreeHead};
use bitacora_ledger::{Anchor, AnchorError};

use crate::durable_file;

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
    file: PathBuf,
    names: BTreeSet<LedgerName>,
    /// The bytes of a list that says to be sealed.
    sealed: Option<Vec<u8>>,
}

impl KnownLedgers {
    pub(crate) fn read(data: &Path) -> Result<Self, KnownLedgersError> {
        let file = data.join("LEDGERS");
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { file, names: BTreeSet::new(), sealed: None });
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(KnownLedgersError::Malformed(file));
            }
            Err(source) => return Err(KnownLedgersError::Disk { path: file, source }),
        };
        let (names, is_sealed) = parse(&text).ok_or_else(|| KnownLedgersError::Malformed(file.clone()))?;
        Ok(Self { file, names, sealed: is_sealed.then(|| text.into_bytes()) })
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
        durable_file::replace(&self.file, &sealed).map_err(failed)?;
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
    use std::sync::Arc;

    use bitacora_formats::{Generation, LedgerId, Origin, TreeHash, TreeHead};
    use bitacora_ledger::{FolderAnchor, RealDisk};

    use super::*;

    fn names(names: &[&str]) -> Vec<LedgerName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn a_ledger_that_was_noted_is_missed() {
        let data = tempfile::tempdir().unwrap();
        let mut known = KnownLedgers::read(data.path()).unwrap();
        assert!(known.is_empty());
        let keyring = keyring(1);
        known.check(data.path(), &names(&["main"]), &keyring).unwrap();
        known.note(&names(&["main", "other"]), &keyring).unwrap();
        known.note(&names(&["other"]), &keyring).unwrap();

        let known = KnownLedgers::read(data.path()).unwrap();
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
        fs::write(&file, "bitacora-ledgers v1\nmain\n").unwrap();
        let mut known = KnownLedgers::read(data.path()).unwrap();
        assert!(known.check(data.path(), &[], &keyring(1)).is_err(), "its ledgers are missed");
        known.check(data.path(), &names(&["main"]), &keyring(1)).unwrap();
        known.note(&names(&["main"]), &keyring(1)).unwrap();
        let sealed = fs::read_to_string(&file).unwrap();
        for text in [sealed.replace("main\n", ""), sealed.replace("main", "other")] {
            fs::write(&file, text).unwrap();
            let known = KnownLedgers::read(data.path()).unwrap();
            let refused = known.check(data.path(), &names(&["main", "other"]), &keyring(1)).unwrap_err();
            assert!(matches!(refused, KnownLedgersError::Foreign(_)), "{refused}");
        }
        fs::write(&file, sealed).unwrap();
        let known = KnownLedgers::read(data.path()).unwrap();
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
    fn a_list_that_is_none_is_refused() {
        let data = tempfile::tempdir().unwrap();
        for text in
            ["", "main\n", "bitacora-ledgers v2\n", "bitacora-ledgers v1\n../x\n", "bitacora-ledgers v1"]
        {
            fs::write(data.path().join("LEDGERS"), text).unwrap();
            assert!(
                matches!(KnownLedgers::read(data.path()), Err(KnownLedgersError::Malformed(_))),
                "{text:?}"
            );
        }
    }
}
