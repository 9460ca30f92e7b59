//! A service of this process, reached without an address.

use std::sync::Arc;

use bitacora_client::{Connecting, Connector, Pipe};
use bitacora_server::InProcess;

/// Connections to it.
pub(crate) struct Connections(pub(crate) Arc<InProcess>);

impl Connector for Connections {
    fn connect(&self) -> Connecting<'_> {
        Box::pin(async { Ok(Box::new(self.0.connect()) as Box<dyn Pipe>) })
    }
}
