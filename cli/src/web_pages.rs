//! The console in the service: the pages of the one, over the interface of the other.

use std::sync::Arc;

use bitacora_console::{Console, InterfaceFuture, MAX_FORM_BYTES, PublicInterface};
use bitacora_server::{PageFuture, Pages, Server, ServiceInterface};
use hyper::Request;
use hyper::body::Bytes;

/// The console as a service's pages.
pub(crate) struct ConsolePages(pub(crate) Console);

impl Pages for ConsolePages {
    fn max_body_bytes(&self) -> usize {
        MAX_FORM_BYTES
    }

    fn answer(&self, request: Request<Bytes>) -> PageFuture<'_> {
        Box::pin(self.0.answer(request))
    }
}

/// A service's interface as the console asks it.
struct AskedInterface(ServiceInterface);

impl PublicInterface for AskedInterface {
    fn ask(&self, request: Request<Bytes>) -> InterfaceFuture<'_> {
        Box::pin(self.0.ask(request))
    }
}

/// Serves the console beside the interface.
pub(crate) fn serve_console(server: &mut Server) -> Arc<ConsolePages> {
    server.serve_pages(|interface| ConsolePages(Console::new(Arc::new(AskedInterface(interface)))))
}
