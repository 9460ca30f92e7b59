//! An anchor that cannot be reached.

use std::io;

use bitacora_formats::LedgerName;
use bitacora_ledger::{Anchor, AnchorError};

/// An anchor that takes nothing.
#[derive(Debug)]
pub(crate) struct RefusingAnchor;

impl Anchor for RefusingAnchor {
    fn load(&self, _: &LedgerName) -> Result<Option<String>, AnchorError> {
        Ok(None)
    }

    fn swap(&self, _: &LedgerName, _: Option<&str>, _: &str) -> Result<(), AnchorError> {
        Err(AnchorError::Unreachable { anchor: "silent".to_owned(), source: io::Error::other("on purpose") })
    }

    fn ledgers(&self) -> Result<Vec<LedgerName>, AnchorError> {
        Ok(Vec::new())
    }

    fn remember_erased(&self, _: &LedgerName, _: &str) -> Result<(), AnchorError> {
        Ok(())
    }

    fn erased(&self, _: &LedgerName) -> Result<Vec<String>, AnchorError> {
        Ok(Vec::new())
    }
}
