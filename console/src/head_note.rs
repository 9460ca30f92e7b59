//! A signed tree head as its note shows it (c2sp.org/signed-note, c2sp.org/tlog-checkpoint). Nothing of it is verified here.

use crate::page_error::PageError;
use crate::visit::Visit;

/// The code of a ledger that has signed no tree head yet.
const NO_TREE_HEAD: &str = "no-tree-head";

/// A tree head and its signers.
pub(crate) struct HeadNote {
    pub(crate) note: String,
    pub(crate) origin: String,
    /// The events that it covers.
    pub(crate) size: String,
    pub(crate) root: String,
    signers: Vec<String>,
}

impl HeadNote {
    /// Asks for the head at this path; `None` where none is signed yet.
    pub(crate) async fn of(visit: &Visit, template: &str) -> Result<Option<Self>, PageError> {
        match visit.interface.get_text(&visit.api(template, &[], "")).await {
            Ok(answered) => Ok(Self::parse(answered.value)),
            Err(error) if error.is(NO_TREE_HEAD) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn parse(note: String) -> Option<Self> {
        let (body, signatures) = note.split_once("\n\n")?;
        let mut lines = body.lines().map(str::to_owned);
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let signers = signatures
            .lines()
            .filter_map(|line| line.strip_prefix("— ")?.split(' ').next().map(str::to_owned));
        let signers = signers.collect();
        Some(Self { origin, size, root, signers, note })
    }

    /// Returns those who signed beside the ledger itself.
    pub(crate) fn cosigners(&self) -> impl Iterator<Item = &str> {
        self.signers.iter().map(String::as_str).filter(|signer| *signer != self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_shows_its_head_and_who_signed_it() {
        let note = "main/a0/g1\n2\nmobQ=\n\n— main/a0/g1 jhnp\n— witness.example/w1 abcd\n".to_owned();
        let head = HeadNote::parse(note).unwrap();
        assert_eq!(
            (head.origin.as_str(), head.size.as_str(), head.root.as_str()),
            ("main/a0/g1", "2", "mobQ=")
        );
        assert_eq!(head.cosigners().collect::<Vec<_>>(), ["witness.example/w1"]);
        for none in ["", "main\n2\n", "main\n\n— x y", "a\nb\n\n"] {
            assert!(HeadNote::parse(none.to_owned()).is_none(), "{none:?}");
        }
    }
}
