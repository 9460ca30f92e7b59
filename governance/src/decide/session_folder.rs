//! The folder of a session: the one in which its agent's first call worked.
//! Rules can hold a call to it.
//!
//! An agent may enter a folder that others made, such as a repository among the project's dependencies. Programs read such a
//! folder, as git reads the repository's configuration, and this can run other programs. The folder that a session began in was
//! chosen by a person.

use bitacora_vocabulary::Sha256Text;
use sha2::{Digest, Sha256};

use crate::reactor::examination::CallFacts;
use crate::state::State;
use crate::tools::arguments::clean_folder;
use crate::version::is_isolated;

/// Returns the digest by which a working folder is compared; `None` where it is no folder from the root on.
pub(crate) fn folder_digest(cwd: &str) -> Option<Sha256Text> {
    let folder = clean_folder(cwd)?;
    Some(Sha256Text::of_digest(&Sha256::digest(folder.as_bytes()).into()))
}

impl State {
    /// Returns the folder of a call's session. It is the call's own where the session has none yet.
    pub(crate) fn session_folder(&self, facts: &CallFacts) -> Option<Sha256Text> {
        let has_one = is_isolated(facts.reactor_version) && !facts.imported && facts.session.is_some();
        let known = has_one.then(|| self.loop_guard.session_folder(&facts.round_question(None)))?;
        known.or(facts.folder.as_ref()).cloned()
    }
}

impl CallFacts {
    /// Returns whether the call works in the folder of its session. `None` where that is not known, or only a part of a command works
    /// there.
    pub(crate) fn is_in(&self, session_folder: Option<&Sha256Text>) -> Option<bool> {
        let is_in = self.folder.as_ref()? == session_folder?;
        let reach = self.examined.as_ref().and_then(|found| found.reach.as_ref());
        (!is_in || !reach.is_some_and(|reach| reach.acts_elsewhere)).then_some(is_in)
    }
}
