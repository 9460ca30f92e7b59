//! Interruptions of the program: SIGINT and SIGTERM.

use std::io;
use std::process;
use std::thread;
use std::time::Duration;

use bitacora_import::Interruption;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CommandFailure;
use crate::exit::Exit;
use crate::ledger_access::access::event_loop;

/// The time that a command that only shows things has to end by itself.
const PATIENCE: Duration = Duration::from_millis(500);

/// A listener for SIGINT and SIGTERM. From its creation on they no longer end the program by themselves.
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

/// The end of a command that the user or the system interrupted.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct InterruptError;

impl CommandFailure for InterruptError {
    fn exit(&self) -> Exit {
        Exit::Interrupted
    }
}

impl Interrupts {
    /// Creates the listener. Must be called within an event loop.
    pub fn listen() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next interruption.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}

/// Has the program end soon after an interruption, for a command that changes nothing. That holds even while its output
/// blocks because nobody reads it.
pub fn end_soon_after_one() -> io::Result<()> {
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

impl Interruption for Interrupts {
    async fn next(&mut self) {
        self.next().await;
    }
}
