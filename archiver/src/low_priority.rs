//! Work that yields to all other work of the machine.

use std::panic::resume_unwind;
use std::thread;

/// Of all priorities the lowest.
#[cfg(target_os = "linux")]
const LOWEST_NICENESS: i32 = 19;

/// Does the work on a thread that gets the processor when nobody else wants it, and waits for it. The threads that the work starts
/// are as patient. A panic of the work goes on in the caller.
///
/// A thread of its own, since none may raise its priority again: what the caller starts or does later is as urgent as before.
pub(crate) fn at_low_priority<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let worked = thread::scope(|scope| {
        let patient = scope.spawn(|| {
            yield_to_others();
            work()
        });
        patient.join()
    });
    worked.unwrap_or_else(|panic| resume_unwind(panic))
}

/// On Linux a thread has a niceness of its own, and gives it to the threads that it starts; `setpriority` of "this process" means
/// this thread there. Elsewhere it would mean all of the process, appends included: so it is left alone.
#[cfg(target_os = "linux")]
fn yield_to_others() {
    if let Err(error) = rustix::process::setpriority_process(None, LOWEST_NICENESS) {
        tracing::warn!(%error, "the system refuses a low priority; archiving takes turns with appends");
    }
}

#[cfg(not(target_os = "linux"))]
fn yield_to_others() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_work_and_its_threads_yield_and_nobody_else_does() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let before = niceness();
        let (own, of_its_threads) = at_low_priority(|| {
            let started = thread::scope(|scope| scope.spawn(niceness).join().unwrap());
            (niceness(), started)
        });
        assert_eq!((own, of_its_threads), (LOWEST_NICENESS, LOWEST_NICENESS));
        assert_eq!(niceness(), before);
    }

    #[test]
    fn a_defect_goes_on_in_the_caller() {
        let caught = std::panic::catch_unwind(|| at_low_priority(|| panic!("on purpose")));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"on purpose"));
    }
}
