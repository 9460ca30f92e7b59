//! Work that yields to all other work of the machine.

use std::panic::resume_unwind;
use std::thread;

/// Does the work on a thread that gets the processor when nobody else wants it, and waits for it. The threads that the work starts
/// are as patient. A panic of the work goes on in the caller.
///
/// It has a thread of its own, so that the caller's later work is as urgent as before. Work done like this should hold nothing that
/// others wait for: it may be kept from going on for long.
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

/// Has the current thread, and those that it starts, run when nobody else wants the processor, and give it up at once when
/// somebody does: a thread of low priority alone would keep it to the end of its turn, for milliseconds.
#[cfg(target_os = "linux")]
pub(crate) fn yield_to_others() {
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
        thread_native_id,
    };
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    if let Err(error) = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle) {
        tracing::warn!(?error, "the system refuses a low priority; archiving takes turns with appends");
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn yield_to_others() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_work_and_its_threads_yield_and_nobody_else_does() {
        use thread_priority::{NormalThreadSchedulePolicy, ThreadSchedulePolicy, thread_schedule_policy};
        let policy = || thread_schedule_policy().unwrap();
        let before = policy();
        let (own, of_its_threads) = at_low_priority(|| {
            let started = thread::scope(|scope| scope.spawn(policy).join().unwrap());
            (policy(), started)
        });
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        assert_eq!((own, of_its_threads), (idle, idle));
        assert!(policy() == before && before != idle);
    }

    #[test]
    fn a_defect_goes_on_in_the_caller() {
        let caught = std::panic::catch_unwind(|| at_low_priority(|| panic!("on purpose")));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"on purpose"));
    }
}
