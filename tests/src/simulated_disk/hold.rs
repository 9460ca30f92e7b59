//! Calls that are made to wait, so that a test can look at what the rest of the program does meanwhile.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use super::SimulatedDisk;
use super::fault::DiskCall;
use super::machine::SimulatedMachine;

/// Calls of one kind wait before they do anything, until this value is dropped.
#[derive(Debug)]
pub struct Hold {
    disk: SimulatedDisk,
    call: DiskCall,
}

impl Hold {
    /// Waits until at least so many calls wait; false if that takes longer than `at_most`.
    #[must_use]
    pub fn wait_for(&self, calls: u64, at_most: Duration) -> bool {
        let is_too_few = |machine: &mut SimulatedMachine| {
            machine.waiting.get(&self.call).copied().unwrap_or_default() < calls
        };
        let waited = self.disk.holds_changed.wait_timeout_while(self.disk.machine(), at_most, is_too_few);
        let (_machine, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        !waited.timed_out()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut machine = self.disk.machine();
        if let Some(holds) = machine.held.get_mut(&self.call) {
            *holds = holds.saturating_sub(1);
        }
        drop(machine);
        self.disk.holds_changed.notify_all();
    }
}

impl SimulatedDisk {
    /// From now on calls of this kind wait, until the returned value is dropped.
    #[must_use]
    pub fn hold(&self, call: DiskCall) -> Hold {
        *self.machine().held.entry(call).or_default() += 1;
        Hold { disk: self.clone(), call }
    }

    /// Every call begins here: it waits while its kind is held.
    pub(super) fn enter(&self, call: DiskCall) -> MutexGuard<'_, SimulatedMachine> {
        let mut machine = self.machine();
        let is_held =
            |machine: &mut SimulatedMachine| machine.held.get(&call).is_some_and(|holds| *holds > 0);
        if !is_held(&mut machine) {
            return machine;
        }
        *machine.waiting.entry(call).or_default() += 1;
        self.holds_changed.notify_all();
        let mut machine =
            self.holds_changed.wait_while(machine, is_held).unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = machine.waiting.get_mut(&call) {
            *waiting -= 1;
        }
        machine
    }
}
