//! Seals and signatures of what a service says about the ledger: its control files, and its answers.

use std::path::Path;

use bitacora_formats::{AnswerSigner, ControlFile, ControlFileError};

use crate::host::environment::Environment;
use crate::ledger::Ledger;

impl Ledger {
    /// Returns the environment for files of `folder`. For the ledger's folder and those in it, its disk is the ledger's own: both stay in
    /// one folder, whatever is moved. Otherwise it is the given one.
    #[must_use]
    pub fn environment_of(&self, folder: &Path, environment: &Environment) -> Environment {
        let shared = self.shared();
        let is_own = folder.starts_with(&shared.folder);
        if is_own { shared.environment.clone() } else { environment.clone() }
    }

    /// Returns the text of a control file with this ledger's seal.
    #[must_use]
    pub fn seal(&self, file: ControlFile, text: &str) -> String {
        file.seal(self.shared().write.preparer.keys().index_key(), text)
    }

    /// Returns the text of a control file before its seal.
    ///
    /// # Errors
    /// A [`ControlFileError`] where this ledger did not seal it; nothing of such a file may be acted on.
    pub fn unseal<'a>(&self, file: ControlFile, bytes: &'a [u8]) -> Result<&'a str, ControlFileError> {
        file.unseal(self.shared().write.preparer.keys().index_key(), bytes)
    }

    /// Returns the signer of a service's answers about this ledger.
    #[must_use]
    pub fn answer_signer(&self) -> AnswerSigner {
        AnswerSigner::new(self.shared().write.preparer.keys().index_key())
    }
}
