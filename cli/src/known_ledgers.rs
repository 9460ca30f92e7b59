//! Which ledgers have stood in a data folder, so that one that is gone is missed and not made anew.
//!
//! The file `LEDGERS` in the data folder: the line `bitacora-ledgers v1`, then each ledger's name on a line of its own.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::LedgerName;

use crate::durable_file;

const FIRST_LINE: &str = "bitacora-ledgers v1";

/// Why it is not known which ledgers there were, or why the service does not start without them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KnownLedgersError {
    #[error("{}: {source}; nothing was changed", path.display())]
    Disk { path: PathBuf, source: io::Error },
    #[error("{}: not a list of ledgers ('{FIRST_LINE}', then one name a line); restore it, or remove it if every ledger is there", .0.display())]
    Malformed(PathBuf),
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
}

impl KnownLedgers {
    pub(crate) fn read(data: &Path) -> Result<Self, KnownLedgersError> {
        let file = data.join("LEDGERS");
        let names = match fs::read_to_string(&file) {
            Ok(text) => parse(&text).ok_or_else(|| KnownLedgersError::Malformed(file.clone()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(KnownLedgersError::Malformed(file));
            }
            Err(source) => return Err(KnownLedgersError::Disk { path: file, source }),
        };
        Ok(Self { file, names })
    }

    /// Whether any ledger has stood here.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Refuses to go on without one of them.
    pub(crate) fn check(&self, data: &Path, present: &[LedgerName]) -> Result<(), KnownLedgersError> {
        match self.names.iter().find(|name| !present.contains(name)) {
            None => Ok(()),
            Some(name) => Err(KnownLedgersError::Missing {
                data: data.to_owned(),
                name: name.clone(),
                file: self.file.clone(),
            }),
        }
    }

    /// Remembers these too. Returned `Ok` ⇒ durable.
    pub(crate) fn note(&mut self, present: &[LedgerName]) -> Result<(), KnownLedgersError> {
        let known = self.names.len();
        self.names.extend(present.iter().cloned());
        if self.names.len() == known {
            return Ok(());
        }
        let lines = self.names.iter().map(LedgerName::as_str);
        let text: String = std::iter::once(FIRST_LINE).chain(lines).flat_map(|line| [line, "\n"]).collect();
        let failed = |source| KnownLedgersError::Disk { path: self.file.clone(), source };
        durable_file::replace(&self.file, text.as_bytes()).map_err(failed)
    }
}

fn parse(text: &str) -> Option<BTreeSet<LedgerName>> {
    let mut lines = text.strip_suffix('\n')?.split('\n');
    (lines.next() == Some(FIRST_LINE)).then(|| lines.map(|name| name.parse().ok()).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<LedgerName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn a_ledger_that_was_noted_is_missed() {
        let data = tempfile::tempdir().unwrap();
        let mut known = KnownLedgers::read(data.path()).unwrap();
        assert!(known.is_empty());
        known.check(data.path(), &names(&["main"])).unwrap();
        known.note(&names(&["main", "other"])).unwrap();
        known.note(&names(&["other"])).unwrap();

        let known = KnownLedgers::read(data.path()).unwrap();
        assert_eq!(fs::read_to_string(&known.file).unwrap(), "bitacora-ledgers v1\nmain\nother\n");
        known.check(data.path(), &names(&["a", "main", "other"])).unwrap();
        let missing = known.check(data.path(), &names(&["other"])).unwrap_err();
        assert!(matches!(&missing, KnownLedgersError::Missing { name, .. } if name.as_str() == "main"));
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
