//! The state of a console: sessions, links, and streams of changes.

use std::sync::Arc;

use bitacora_api::SignInLink;
use http::Extensions;
use tokio::sync::Semaphore;

use crate::interface::PublicInterface;
use crate::limits::REFRESHES_AT_ONCE;
use crate::live::ChangeHubs;
use crate::sign_in::{Sessions, SignInLinks};

/// The sender of a form, as far as its head tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormSender {
    /// The most bytes of its form.
    pub max_form_bytes: usize,
    /// The name that a viewer's acts are recorded under; none for somebody who has not signed in.
    pub viewer: Option<String>,
    /// `true` if the viewer may govern agents.
    pub may_govern: bool,
}

/// The console of a service.
pub struct Console {
    pub(crate) interface: Arc<dyn PublicInterface>,
    pub(crate) sessions: Sessions,
    pub(crate) links: SignInLinks,
    pub(crate) changes: ChangeHubs,
    /// The turns of open pages that ask for themselves again. A change that all of them follow takes no more of the processor than that,
    /// and what a viewer opens does not wait for it.
    pub(crate) refreshes: Semaphore,
}

impl Console {
    /// A console that asks this interface.
    #[must_use]
    pub fn new(interface: Arc<dyn PublicInterface>) -> Self {
        Self {
            interface,
            sessions: Sessions::default(),
            links: SignInLinks::default(),
            changes: ChangeHubs::default(),
            refreshes: Semaphore::new(REFRESHES_AT_ONCE),
        }
    }

    /// Makes a link that signs in once as the holder of this token, for a few minutes. It is as secret as the token: it belongs on a
    /// terminal, and in no file that others read. `None` if no ledger takes the token, or the system gives no random bytes: the address
    /// without it serves as well.
    pub async fn sign_in_link(&self, token: &str) -> Option<SignInLink> {
        self.link(Some(token), Extensions::new()).await.ok()
    }
}
