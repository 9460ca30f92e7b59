//! When the service is asked to end.

use std::future::Future;
use std::io;

use crate::exit::Exit;
use crate::interrupt::Interrupts;

/// Ready at the first SIGINT or SIGTERM. The second one ends the program on the spot: what was acknowledged is durable.
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
