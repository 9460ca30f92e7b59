//! The thread that talks to a store; callers wait for it on their own threads.

use std::future::Future;
use std::io;
use std::sync::mpsc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// An event loop of its own: an anchor is asked by threads without one, and by threads that run one and must not run another.
#[derive(Debug)]
pub(crate) struct StoreThread {
    handle: Handle,
    /// Ends the thread when it is dropped.
    _stop: oneshot::Sender<()>,
}

impl StoreThread {
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        thread::Builder::new().name("bitacora-store".to_owned()).spawn(move || {
            // Nobody sends: the other end is dropped.
            let _dropped = runtime.block_on(stopped).is_err();
            // Looking up a name cannot be interrupted, and nobody waits for it any more.
            runtime.shutdown_background();
        })?;
        Ok(Self { handle, _stop: stop })
    }

    /// Waits until the thread has done it.
    ///
    /// # Errors
    /// It panicked.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        what: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        let (reply, outcome) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            // The caller waits for it.
            let _gone = reply.send(what.await).is_err();
        });
        outcome.recv().map_err(|_| io::Error::other("talking to the store ended in a defect"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_an_event_loop_may_ask_too() {
        let thread = StoreThread::start().unwrap();
        for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
            let runtime = builder.worker_threads(1).build().unwrap();
            assert_eq!(runtime.block_on(async { thread.run(async { 7 }).unwrap() }), 7);
        }
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async move { drop(thread) });
    }

    #[test]
    fn a_defect_is_an_error_for_who_asked() {
        let thread = StoreThread::start().unwrap();
        let asked: io::Result<()> = thread.run(async { panic!("on purpose") });
        assert!(asked.is_err());
        assert_eq!(thread.run(async { 1 }).unwrap(), 1);
    }
}
