//! Limits of the console: sizes, times, numbers.

use std::time::Duration;

/// The most bytes of a form that a page sends: a policy with room around it.
pub const MAX_FORM_BYTES: usize = 2 * 1024 * 1024;
/// The most bytes of an answer of the interface that a page is made of.
pub(crate) const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// The longest life of a session.
pub(crate) const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// The most sessions of all viewers.
pub(crate) const MAX_SESSIONS: usize = 10_000;
/// The most sessions of one token; the oldest ends for another one.
pub(crate) const MAX_SESSIONS_OF_A_TOKEN: usize = 32;
/// The life of a link that signs in once.
pub(crate) const LINK_LIFE: Duration = Duration::from_secs(10 * 60);
/// The most links that nobody has used yet.
pub(crate) const MAX_LINKS: usize = 256;
/// The most links of one token; the oldest ends for another one.
pub(crate) const MAX_LINKS_OF_A_TOKEN: usize = 8;
/// Random bytes of a session's id, a form's token and a link's code.
pub(crate) const SECRET_BYTES: usize = 32;

/// Rows of a page.
pub(crate) const PAGE_ROWS: usize = 100;
/// Rows of a file of comma-separated values.
pub(crate) const CSV_ROWS: usize = 100_000;
/// Rows that are asked for at once for such a file.
pub(crate) const CSV_PAGE_ROWS: usize = 1_000;
/// Characters of a text that are shown before it is folded.
pub(crate) const SHOWN_CHARS: usize = 2_000;
/// The most characters of a text that a page holds at all.
pub(crate) const MAX_SHOWN_CHARS: usize = 100_000;
