//! Several frames opened side by side: where a reader knows beforehand which ones it needs.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::host::threads::LedgerThread;
use crate::limits::FRAME_OPENERS;
use crate::read::log_reader::{FrameLocation, LogReader};
use crate::read_error::ReadError;
use crate::segments::recent_frames::OpenFrame;
use crate::shared_state::SharedState;

/// Opens all of them, on this thread and on some that end with the call. The results are in the same order.
pub(crate) fn open_all(shared: &SharedState, found: &[FrameLocation]) -> Vec<Result<OpenFrame, ReadError>> {
    for found in found {
        found.expect_read();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut reader = LogReader::new(shared);
        let mut opened = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(found) = found.get(index) else { return opened };
            opened.push((index, reader.open_found(found)));
        }
    };
    let mut opened = thread::scope(|scope| {
        let helper = || LedgerThread::FrameOpener.builder().spawn_scoped(scope, work);
        // Where the system has no thread to give, this one does it alone.
        let helpers: Vec<_> = (1..found.len().min(FRAME_OPENERS)).map_while(|_| helper().ok()).collect();
        let mut opened = work();
        for helper in helpers {
            opened.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        opened
    });
    opened.sort_unstable_by_key(|(index, _)| *index);
    opened.into_iter().map(|(_, frame)| frame).collect()
}
