//! The names of content pieces, each of which is kept once.

use bitacora_formats::{content_digest, subject_content_digest};

use crate::ledger::Ledger;
use crate::submission::append_error::AppendError;

impl Ledger {
    /// The digest that a piece of content is kept under: of a data subject's one that nobody else's has. Returned `Ok` ⇒ the subject's
    /// key, which it is made of, is durable.
    ///
    /// # Errors
    /// [`AppendError::SubjectKey`] and [`AppendError::SubjectKeyDamaged`] where the subject's key can neither be read nor made.
    pub fn content_digest(&self, subject: Option<&str>, piece: &[u8]) -> Result<[u8; 32], AppendError> {
        let preparer = &self.shared().write.preparer;
        let Some(subject) = subject else {
            return Ok(content_digest(preparer.keys().index_key(), piece));
        };
        let key = preparer.subjects().key_for(subject).map_err(AppendError::of_subject_key)?;
        Ok(subject_content_digest(&key.secret, self.id(), piece))
    }
}
