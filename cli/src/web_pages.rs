//! The console in the service: the pages of the one, over the interface of the other.

use std::path::Path;
use std::sync::Arc;

use bitacora_api::SignInLink;
use bitacora_console::{Console, InterfaceFuture, PublicInterface};
use bitacora_data_folder::read_admin_token;
use bitacora_server::{BrowserAddress, FormSender, PageFuture, Pages, Server, ServiceInterface};
use hyper::Request;
use hyper::body::Bytes;
use hyper::http::request::Parts;

/// The console as a service's pages.
pub(crate) struct ConsolePages(pub(crate) Console);

impl Pages for ConsolePages {
    fn form_sender(&self, head: &Parts) -> FormSender {
        let bitacora_console::FormSender { max_form_bytes, viewer, may_govern } = self.0.form_sender(head);
        FormSender { max_form_bytes, viewer, may_govern }
    }

    fn answer(&self, request: Request<Bytes>, from: BrowserAddress) -> PageFuture<'_> {
        Box::pin(self.0.answer(request, from.0))
    }
}

/// A service's interface as the console asks it.
struct AskedInterface(ServiceInterface);

impl PublicInterface for AskedInterface {
    fn ask(&self, request: Request<Bytes>) -> InterfaceFuture<'_> {
        Box::pin(self.0.ask(request))
    }
}

impl ConsolePages {
    /// Returns a link that signs in once with the token in this file. `None` if there is no such file, if its token is of no ledger
    /// that is served, or if it may not be read: then a person signs in with a token.
    pub(crate) async fn admin_link(&self, token: &Path, data: &Path) -> Option<SignInLink> {
        let token = read_admin_token(token, Some(data)).ok()??;
        self.0.sign_in_link(token.reveal()).await
    }
}

/// Returns the line of a link for the terminal of a person.
pub(crate) fn link_line(url: &str, link: &SignInLink) -> String {
    let SignInLink { path, actor, role, seconds } = link;
    format!("{url}{path} (signs in as {actor}, {role}, once, within {} minutes)", seconds / 60)
}

/// Serves the console beside the interface.
pub(crate) fn serve_console(server: &mut Server) -> Arc<ConsolePages> {
    server.serve_pages(|interface| ConsolePages(Console::new(Arc::new(AskedInterface(interface)))))
}
