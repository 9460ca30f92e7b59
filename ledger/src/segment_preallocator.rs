//! The next segment, made ahead: a thread writes and syncs a file of zeros in small slices.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar};
use std::time::Duration;

use bitacora_formats::SegmentNumber;

use crate::host::disk::{Disk, DiskFile, OpenMode};
use crate::host::lock_order::{OrderedMutex, OrderedMutexGuard};
use crate::limits::{FILE_RETRY_MS, FILL_SLICE_BYTES};
use crate::segments::{segment_file_name, segments_folder};
use crate::submission::inbox::Inbox;
use crate::writer_state::ReadOnlyReason;

/// A segment file of zeros whose bytes and name are durable.
pub(crate) struct BlankSegment {
    pub(crate) number: SegmentNumber,
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) bytes: u64,
}

/// Makes one segment ahead of need. A refusal for space is told, and tried again until it succeeds.
pub(crate) struct SegmentPreallocator {
    state: OrderedMutex<State>,
    wake: Condvar,
    folder: PathBuf,
    segment_bytes: u64,
}

struct State {
    stage: PreallocationStage,
    closing: bool,
}

enum PreallocationStage {
    Making(SegmentNumber),
    Ready(BlankSegment),
    Failed(SegmentNumber, ReadOnlyReason),
}

/// The segment that the sequencer can count on.
pub(crate) enum NextSegment {
    Ready,
    Making,
    Failed(ReadOnlyReason),
}

impl SegmentPreallocator {
    /// Begins with the segment of this number; [`SegmentPreallocator::run`] does the work.
    pub(crate) fn new(ledger: &Path, first: SegmentNumber, segment_bytes: u64) -> Self {
        let state = OrderedMutex::inner(State { stage: PreallocationStage::Making(first), closing: false });
        Self { state, wake: Condvar::new(), folder: segments_folder(ledger), segment_bytes }
    }

    fn lock(&self) -> OrderedMutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn outlook(&self) -> NextSegment {
        match &self.lock().stage {
            PreallocationStage::Making(_) => NextSegment::Making,
            PreallocationStage::Ready(_) => NextSegment::Ready,
            PreallocationStage::Failed(_, reason) => NextSegment::Failed(reason.clone()),
        }
    }

    /// Hands out the segment if it is ready, and begins to make the one after it.
    pub(crate) fn take(&self) -> Option<BlankSegment> {
        let mut state = self.lock();
        let PreallocationStage::Ready(blank) = &state.stage else { return None };
        let next = PreallocationStage::Making(blank.number.next()?);
        let PreallocationStage::Ready(blank) = std::mem::replace(&mut state.stage, next) else { return None };
        drop(state);
        self.wake.notify_one();
        Some(blank)
    }

    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.wake.notify_one();
    }

    /// The body of the preallocator's thread. At its end an unused segment is removed.
    pub(crate) fn run(&self, disk: &dyn Disk, inbox: &Inbox) {
        while let Some(number) = self.next_to_make() {
            let made = self.make(disk, number);
            let mut state = self.lock();
            let failed_before = matches!(state.stage, PreallocationStage::Failed(..));
            state.stage = match made {
                Ok(blank) => PreallocationStage::Ready(blank),
                Err(error) => PreallocationStage::Failed(number, reason_of(&error)),
            };
            let failed = matches!(state.stage, PreallocationStage::Failed(..));
            drop(state);
            if !(failed && failed_before) {
                inbox.segment_has_news();
            }
        }
        self.remove_unused(disk);
    }

    /// Waits for a number to make; after a failure for the time between two tries. `None` at the end.
    fn next_to_make(&self) -> Option<SegmentNumber> {
        let mut state = self.lock();
        loop {
            if state.closing {
                return None;
            }
            match state.stage {
                PreallocationStage::Making(number) => return Some(number),
                PreallocationStage::Ready(_) => {
                    state = state.wait(&self.wake);
                }
                PreallocationStage::Failed(number, _) => {
                    let pause = Duration::from_millis(FILE_RETRY_MS);
                    let (guard, has_passed) = state.wait_timeout(&self.wake, pause);
                    state = guard;
                    if has_passed {
                        return Some(number);
                    }
                }
            }
        }
    }

    /// Returned `Ok` ⇒ the file is all zeros, and its bytes and name are durable. On an error nothing is left of it.
    fn make(&self, disk: &dyn Disk, number: SegmentNumber) -> io::Result<BlankSegment> {
        let path = self.folder.join(segment_file_name(number));
        let file = disk.open(&path, OpenMode::CreateNew)?;
        match self.fill(&*file).and_then(|()| disk.sync_folder(&self.folder)) {
            Ok(()) => Ok(BlankSegment { number, path, file, bytes: self.segment_bytes }),
            Err(error) => {
                if let Err(left) = self.remove_own(disk, &path, &*file) {
                    tracing::warn!(path = %path.display(), %left, "an unfinished segment could not be removed");
                }
                Err(error)
            }
        }
    }

    fn fill(&self, file: &dyn DiskFile) -> io::Result<()> {
        let zeros = vec![0; FILL_SLICE_BYTES];
        let mut offset = 0;
        while offset < self.segment_bytes {
            let length = (self.segment_bytes - offset).min(FILL_SLICE_BYTES as u64);
            let slice = zeros.get(..usize::try_from(length).unwrap_or(FILL_SLICE_BYTES)).unwrap_or(&zeros);
            file.write_all_at(slice, offset)?;
            file.sync_data()?;
            offset += length;
            if self.lock().closing {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        file.sync_all()
    }

    fn remove_unused(&self, disk: &dyn Disk) {
        let state = self.lock();
        if let PreallocationStage::Ready(blank) = &state.stage
            && let Err(error) = self.remove_own(disk, &blank.path, &*blank.file)
        {
            tracing::warn!(path = %blank.path.display(), %error, "an unused segment could not be removed");
        }
    }

    /// Removes a segment that nothing was written to: the file under its name is the one that was made, and all zeros. Returned
    /// `Ok` ⇒ durable.
    ///
    /// Syscalls: `openat`, two `statx`, `pread64`, `unlinkat`, `fsync` of the folder.
    fn remove_own(&self, disk: &dyn Disk, path: &Path, made: &dyn DiskFile) -> io::Result<()> {
        let there = disk.open(path, OpenMode::Read)?;
        if !there.identity()?.is_same_file(&made.identity()?) {
            return Err(io::Error::other("another file than the one that was made has its name; it stays"));
        }
        if !is_blank(&*there)? {
            return Err(io::Error::other("somebody has written to it; it stays"));
        }
        disk.remove_file(path)?;
        disk.sync_folder(&self.folder)
    }
}

/// `true`: the file holds nothing but zeros.
fn is_blank(file: &dyn DiskFile) -> io::Result<bool> {
    let mut slice = vec![0; FILL_SLICE_BYTES];
    let mut offset = 0;
    loop {
        let read = file.read_at(&mut slice, offset)?;
        if slice.get(..read).unwrap_or_default().iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        if read == 0 {
            return Ok(true);
        }
        offset += read as u64;
    }
}

fn reason_of(error: &io::Error) -> ReadOnlyReason {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ReadOnlyReason::DiskFull,
        _ => ReadOnlyReason::NoSegment(error.to_string()),
    }
}
