//! When the service is asked to end.

use std::future::Future;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;

/// Ready at the first SIGINT or SIGTERM. The second one ends the program on the spot: what was acknowledged is durable.
pub(super) fn asked() -> io::Result<impl Future<Output = ()>> {
    let mut signals =
        Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? };
    Ok(async move {
        signals.next().await;
        tracing::info!("ending; a second signal ends at once");
        tokio::spawn(async move {
            signals.next().await;
            std::process::exit(Exit::Failed.code().into());
        });
    })
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}
