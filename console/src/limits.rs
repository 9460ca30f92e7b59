//! Limits of the console: sizes, times, numbers.

use std::time::Duration;

/// The most bytes of a form of a viewer: a policy with room around it.
pub(crate) const MAX_FORM_BYTES: usize = 2 * 1024 * 1024;
/// The most bytes of a form of somebody who has not signed in: a token or a link's code, and the page to go to.
pub(crate) const MAX_UNKNOWN_FORM_BYTES: usize = 8 * 1024;
/// The most fields of a form or a query.
pub(crate) const MAX_FORM_FIELDS: usize = 256;
/// The most bytes of an answer of the interface that a page is made of.
pub(crate) const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// The longest life of a session.
pub(crate) const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// The most sessions of all viewers.
pub(crate) const MAX_SESSIONS: usize = 10_000;
/// The most sessions of one token; the oldest ends for another one.
pub(crate) const MAX_SESSIONS_OF_A_TOKEN: usize = 32;
/// The most streams of changes of a session: one for all tabs of a browser, or one a tab, and those of pages left a few seconds ago.
pub(crate) const MAX_STREAMS_OF_A_SESSION: usize = 32;
/// The most sessions without a token, each of another address; a further one is refused.
pub(crate) const MAX_OPEN_SESSIONS: usize = 256;
/// The most acts of a session that are being done at once.
pub(crate) const MAX_RUNNING_ACTS: usize = 32;
/// The time for which a form that is sent twice waits for the end of what the first one does.
pub(crate) const ACT_WAIT: Duration = Duration::from_secs(10);
/// The life of a link that signs in once.
pub(crate) const LINK_LIFE: Duration = Duration::from_secs(10 * 60);
/// The most links that nobody has used yet.
pub(crate) const MAX_LINKS: usize = 256;
/// The most links of one token; the oldest ends for another one.
pub(crate) const MAX_LINKS_OF_A_TOKEN: usize = 8;
/// Random bytes of a session's id, a form's token and a link's code.
pub(crate) const SECRET_BYTES: usize = 32;

/// The time between two messages to browsers that follow.
pub(crate) const CHANGES_EVERY: Duration = Duration::from_millis(250);
/// The most types of events that one message names.
pub(crate) const TYPES_OF_A_CHANGE: usize = 32;
/// The time after which an open page asks again on a busy ledger: the shortest one, one more for each browser that follows, the longest.
pub(crate) const SHORTEST_PACE: Duration = Duration::from_secs(5);
pub(crate) const PACE_PER_BROWSER: Duration = Duration::from_millis(100);
pub(crate) const LONGEST_PACE: Duration = Duration::from_secs(60);
/// Open pages that are made anew at once.
pub(crate) const REFRESHES_AT_ONCE: usize = 1;
/// The longest wait for a turn: after it a page is made all the same, so that a slow one keeps nobody's from being made.
pub(crate) const REFRESH_WAIT: Duration = Duration::from_secs(2);
/// Messages that wait for the slowest browser; one that is slower is told that it missed some.
pub(crate) const WAITING_CHANGES: usize = 64;
/// Messages on their way to one browser.
pub(crate) const WAITING_MESSAGES: usize = 4;
/// The time between two looks at whether a browser's viewer may still read; each is a sign of life too.
pub(crate) const LOOK_AGAIN_EVERY: Duration = Duration::from_secs(5);

/// The fewest bytes of a page or a file that is compressed: shorter ones fit into a packet or two.
pub(crate) const MIN_COMPRESSED_BYTES: u64 = 1_024;
/// The most bytes of one: longer ones would keep a thread of the service for too long.
pub(crate) const MAX_COMPRESSED_BYTES: u64 = 1024 * 1024;

/// Rows of a page.
pub(crate) const PAGE_ROWS: usize = 100;
/// Rows of a file of comma-separated values.
pub(crate) const CSV_ROWS: usize = 100_000;
/// Rows that are asked for at once for such a file.
pub(crate) const CSV_PAGE_ROWS: usize = 250;
/// Parts of all such files that are made at once. Those who want files take turns part by part, however many each wants, and pages do not wait
/// for them.
pub(crate) const CSV_PARTS_AT_ONCE: usize = 1;
/// Characters of a text that are shown before it is folded.
pub(crate) const SHOWN_CHARS: usize = 2_000;
/// The most characters of a text that a page holds at all.
pub(crate) const MAX_SHOWN_CHARS: usize = 100_000;
