//! The signals that end the service.

use std::future::Future;
use std::io;

use crate::exit::Exit;
use crate::ledger_access::interrupt::Interrupts;

/// Returns a future of the first SIGINT or SIGTERM. The second one ends the program at once: acknowledged events are durable.
pub(super) fn asked() -> io::Result<impl Future<Output = ()>> {
    let mut interrupts = Interrupts::listen()?;
    Ok(async move {
        interrupts.next().await;
        tracing::info!("ending; a second signal ends at once");
        tokio::spawn(async move {
            interrupts.next().await;
            std::process::exit(Exit::Interrupted.code().into());
        });
    })
}
