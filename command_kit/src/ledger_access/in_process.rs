//! The connections to a service in this process, which has no address.

use std::sync::Arc;

use bitacora_client::{ConnectFuture, Connector, Pipe};
use bitacora_server::InProcess;

/// A connector to the service.
pub struct Connections(pub Arc<InProcess>);

impl Connector for Connections {
    fn connect(&self) -> ConnectFuture<'_> {
        Box::pin(async { Ok(Box::new(self.0.connect()) as Box<dyn Pipe>) })
    }
}
