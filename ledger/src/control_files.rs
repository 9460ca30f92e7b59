//! The seals of files that a service keeps in the ledger's folder and acts on.

use bitacora_formats::{ControlFile, ControlFileError};

use crate::ledger::Ledger;

impl Ledger {
    /// Returns the text of a control file with this ledger's seal.
    #[must_use]
    pub fn seal(&self, file: ControlFile, text: &str) -> String {
        file.seal(self.shared().preparer.keys().index_key(), text)
    }

    /// Returns the text of a control file before its seal.
    ///
    /// # Errors
    /// A [`ControlFileError`] where this ledger did not seal it; nothing of such a file may be acted on.
    pub fn unseal<'a>(&self, file: ControlFile, bytes: &'a [u8]) -> Result<&'a str, ControlFileError> {
        file.unseal(self.shared().preparer.keys().index_key(), bytes)
    }
}
