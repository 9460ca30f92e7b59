//! Limits of the hook process: times, sizes, numbers.

use std::time::Duration;

/// The most bytes that a hook reads from its harness. The service takes fewer; what lies between is answered as too large.
pub(crate) const MAX_INPUT_BYTES: u64 = 16 * 1024 * 1024;
/// The time in which a decision has to come, besides the wait for an approval.
pub(crate) const DECISION_PATIENCE: Duration = Duration::from_secs(5);
/// The time in which the service has to take what asks for nothing.
pub(crate) const REPORT_PATIENCE: Duration = Duration::from_secs(2);
/// The time for reading the input, the connection and the transcript.
pub(crate) const PREPARE_PATIENCE: Duration = Duration::from_secs(4);
/// The time for the end of a hook behind the service's: spooling, and the output.
pub(crate) const END_PATIENCE: Duration = Duration::from_secs(3);
/// The longest hold of one request by the service: its own limit of `wait`.
pub(crate) const MAX_HOLD: Duration = Duration::from_secs(50);
/// The time by which a harness's timeout of the hook lies above the hook's own, so that the hook always ends first.
pub(crate) const HARNESS_MARGIN: Duration = Duration::from_secs(10);

/// The most files in a spool.
pub(crate) const MAX_SPOOL_FILES: usize = 10_000;
/// The most bytes in a spool.
pub(crate) const MAX_SPOOL_BYTES: u64 = 64 * 1024 * 1024;
/// The most spooled inputs that one hook delivers before its own.
pub(crate) const DELIVERIES_OF_A_HOOK: usize = 64;
/// The time that a hook spends on delivering what was spooled.
pub(crate) const DELIVERY_TIME: Duration = Duration::from_millis(500);

/// The bytes at a transcript's end in which the model's name is looked for.
pub(crate) const TRANSCRIPT_TAIL_BYTES: u64 = 64 * 1024;
/// The most bytes of a connection's file.
pub(crate) const MAX_CONNECTION_BYTES: u64 = 4 * 1024 * 1024;
/// The most bytes of a unit of systemd.
pub(crate) const MAX_UNIT_BYTES: u64 = 64 * 1024;
/// The most files of connections that are listed.
pub(crate) const MAX_CONNECTIONS: usize = 1_000;
/// The most bytes of a settings file.
pub(crate) const MAX_SETTINGS_BYTES: u64 = 1024 * 1024;
/// The time that `connect` waits for another one to end.
pub(crate) const LOCK_PATIENCE: Duration = Duration::from_secs(30);
/// The time between two looks at a lock or a process.
pub(crate) const LOCK_POLL: Duration = Duration::from_millis(25);
/// The time in which a program has to answer its version or settings.
pub(crate) const VERSION_PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of such an answer that are read.
pub(crate) const MAX_OUTPUT_BYTES: u64 = 64 * 1024;
/// The most bytes of a note of a token that is being made.
pub(crate) const MAX_NOTE_BYTES: u64 = 64 * 1024;
/// The most bytes of an input that are read for its digest, if it is too long to be posted.
pub(crate) const MAX_COUNTED_BYTES: u64 = 256 * 1024 * 1024;
/// The most characters of a name in the trace of an input.
pub(crate) const MAX_TRACE_NAME_CHARS: usize = 100;
/// The most marks of lost inputs.
pub(crate) const MAX_LOSSES: usize = 10_000;
/// The most bytes of a report of losses.
pub(crate) const MAX_REPORT_BYTES: u64 = 1024 * 1024;
/// The most reports of losses that one delivery tells of: all marks, and one report that was under way.
pub(crate) const REPORTS_OF_A_DELIVERY: usize = MAX_LOSSES / LOSSES_OF_AN_EVENT + 1;
/// The most texts of one input that a delivery offers to the service: the input, one under another id, and traces of it.
pub(crate) const OFFERS_OF_AN_INPUT: usize = 4;
/// The most marks that one event tells of.
pub(crate) const LOSSES_OF_AN_EVENT: usize = 1_000;
/// The time in which a hook that ends by its deadline marks that.
pub(crate) const MARK_PATIENCE: Duration = Duration::from_millis(200);
