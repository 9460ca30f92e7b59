//! When whoever runs the program wants it to end.

use std::io;
use std::process;
use std::thread;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::access::event_loop;
use crate::exit::Exit;

/// How long a command that only shows things has to end by itself.
const PATIENCE: Duration = Duration::from_millis(500);

/// SIGINT and SIGTERM. From its making on they no longer end the program by themselves.
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Must be called within an event loop.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}

/// For a command that changes nothing and only shows things: it ends soon after an interruption even where whoever should
/// take what it shows takes nothing, so that it never hears of one.
pub(crate) fn end_soon_after_one() -> io::Result<()> {
    let wait = || {
        // Without an event loop of its own the program hears what the command hears.
        let Ok(own) = event_loop() else { return };
        own.block_on(async {
            let Ok(mut interrupts) = Interrupts::listen() else { return };
            interrupts.next().await;
            tokio::time::sleep(PATIENCE).await;
            process::exit(i32::from(Exit::Interrupted.code()));
        });
    };
    thread::Builder::new().name("interrupts".to_owned()).spawn(wait).map(drop)
}
