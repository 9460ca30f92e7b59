//! Calls that fail on purpose.

use std::path::{Path, PathBuf};

/// The calls of a disk, as faults, holds and counts name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the method of that name")]
pub enum DiskCall {
    /// Opening an existing file.
    Open,
    /// Opening with `CreateNew`, and a lock's making of its file.
    CreateNew,
    Read,
    Write,
    SyncData,
    SyncAll,
    SetLen,
    /// Length and identity of an open file, identity, existence and mode of a path.
    Stat,
    List,
    CreateFolder,
    Rename,
    RemoveFile,
    RemoveFolder,
    SyncFolder,
    Lock,
    /// Not a call: something other than the ledger touched the disk (rot, a replaced file).
    Outside,
}

/// The part of a failing call that happens all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing. A sync that fails so leaves its writes unsynced *and clean*: they can be read, a crash takes them, and
    /// the next sync says OK without having written them.
    Without,
    /// All of it: only the answer is wrong.
    With,
    /// Half of a write; any sectors of a sync, the others as in [`Effect::Without`]; nothing of other calls.
    Partly,
}

/// A call that is going to fail.
#[derive(Debug, Clone)]
pub struct DiskFault {
    calls: Vec<DiskCall>,
    /// So many matching calls still go well.
    spared: u64,
    errno: i32,
    effect: Effect,
    path_part: Option<PathBuf>,
    is_lasting: bool,
}

impl DiskFault {
    /// The `nth` such call from now (1 is the next one) fails once, without effect, with this error number of
    /// [`super::errno`].
    #[must_use]
    pub fn on(call: DiskCall, nth: u64, errno: i32) -> Self {
        let spared = nth.saturating_sub(1);
        Self { calls: vec![call], spared, errno, effect: Effect::Without, path_part: None, is_lasting: false }
    }

    /// Counts and fails calls of this kind as well.
    #[must_use]
    pub fn or(mut self, call: DiskCall) -> Self {
        self.calls.push(call);
        self
    }

    /// Sets the part that happens all the same.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Only counts and fails calls whose path (for an open file: the one it was opened by) contains this text.
    #[must_use]
    pub fn where_path_has(mut self, text: impl Into<PathBuf>) -> Self {
        self.path_part = Some(text.into());
        self
    }

    /// Fails every matching call from the nth on, until [`super::SimulatedDisk::clear_faults`].
    #[must_use]
    pub fn lasting(mut self) -> Self {
        self.is_lasting = true;
        self
    }

    fn matches(&self, call: DiskCall, path: &Path) -> bool {
        let is_on_path = self
            .path_part
            .as_ref()
            .is_none_or(|part| path.to_string_lossy().contains(part.to_string_lossy().as_ref()));
        self.calls.contains(&call) && is_on_path
    }
}

/// The failure that one call is to suffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiskFailure {
    pub(super) errno: i32,
    pub(super) effect: Effect,
}

#[derive(Debug, Default)]
pub(super) struct Faults(Vec<DiskFault>);

impl Faults {
    pub(super) fn add(&mut self, fault: DiskFault) {
        self.0.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn pending(&self) -> usize {
        self.0.iter().filter(|fault| !fault.is_lasting).count()
    }

    /// Counts the call in every fault that waits for its like; the first that is due strikes.
    pub(super) fn strike(&mut self, call: DiskCall, path: &Path) -> Option<DiskFailure> {
        let mut due = None;
        for (index, fault) in self.0.iter_mut().enumerate().filter(|(_, fault)| fault.matches(call, path)) {
            if fault.spared > 0 {
                fault.spared -= 1;
            } else if due.is_none() {
                due = Some(index);
            }
        }
        let index = due?;
        let fault = &self.0[index];
        let failure = DiskFailure { errno: fault.errno, effect: fault.effect };
        if !fault.is_lasting {
            self.0.remove(index);
        }
        Some(failure)
    }
}
