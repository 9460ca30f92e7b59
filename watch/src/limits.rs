//! Limits of the watch: times, sizes, numbers.

use std::time::Duration;

/// The pause between two looks at the transcripts.
pub const POLL: Duration = Duration::from_secs(1);
/// The time that the gate has to record a call after its transcript shows it: a slow hook, and the delivery of its spool.
pub const GRACE: Duration = Duration::from_secs(20);
/// The pause between two searches for new transcripts.
pub(crate) const SEARCH_EVERY: Duration = Duration::from_secs(3);
/// The pause between two looks for connections that came, changed or went.
pub(crate) const RELOAD_EVERY: Duration = Duration::from_secs(5);
/// The pause between two writings of positions and status.
pub(crate) const SAVE_EVERY: Duration = Duration::from_secs(5);
/// The age at which a call without a result is decided like one that ran: its session was killed.
pub(crate) const UNFINISHED_AFTER: Duration = Duration::from_secs(3_600);
/// The time after which a transcript that does not grow is let go from memory.
pub(crate) const IDLE_AFTER: Duration = Duration::from_secs(900);
/// The age up to which a chat without ids of the gate's calls is read again from its beginning after a start.
pub(crate) const REREAD_WITHIN: Duration = Duration::from_secs(86_400);
/// The time in which the service has to answer one request.
pub(crate) const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// The first pause after a service that did not answer; it doubles up to [`LONGEST_PAUSE`].
pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause after a service that did not answer.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// The most bytes of a line. Longer ones are passed over.
pub(crate) const MAX_LINE_BYTES: u64 = 8 * 1024 * 1024;
/// The most bytes that are read of one transcript in one look.
pub(crate) const READ_BYTES: u64 = MAX_LINE_BYTES + 1;
/// The most bytes that are read of all transcripts of a connection in one look.
pub(crate) const READ_BYTES_OF_ALL: u64 = 64 * 1024 * 1024;
/// The bytes before a position by which a transcript is known again.
pub(crate) const ANCHOR_BYTES: u64 = 1_024;
/// The most bytes of a file of positions.
pub(crate) const MAX_STATE_BYTES: u64 = 16 * 1024 * 1024;

/// The most transcripts that are followed.
pub(crate) const MAX_TRANSCRIPTS: usize = 10_000;
/// The most entries of folders that are looked at in one search.
pub(crate) const MAX_ENTRIES: usize = 200_000;
/// The most folders below a root of transcripts.
pub(crate) const MAX_DEPTH: usize = 6;
/// The most bytes of a path that a harness wrote.
pub(crate) const MAX_PATH_BYTES: u64 = 4_096;
/// The most calls of one transcript that wait to be decided. It is read on when some are.
pub(crate) const MAX_OPEN_CALLS: usize = 2_000;
/// The most answers of models that wait to be recorded. The transcript is read on when some are.
pub(crate) const MAX_OPEN_ANSWERS: usize = 2_000;
/// The most lines that are taken to tell whether a transcript is of a known form.
pub(crate) const LINES_TO_KNOW: u64 = 200;
/// The most events of one request.
pub(crate) const EVENTS_OF_A_REQUEST: usize = 100;
/// The most calls that one page of the service lists.
pub(crate) const PAGE_CALLS: u32 = 200;
/// The most sessions whose requests are kept. Past them, those of transcripts that are not followed are let go.
pub(crate) const MAX_SESSIONS: usize = 1_000;
/// The most pages of calls that are read of one session.
pub(crate) const MAX_PAGES: usize = 100;
/// The most spooled inputs that are delivered in one look.
pub(crate) const DELIVERIES_OF_A_LOOK: usize = 500;
