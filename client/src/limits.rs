//! How long a service is waited for, and how much is taken from it.

use std::time::Duration;

/// How long a connection may take to be made.
pub(crate) const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How long the service may take to begin an answer, and between two pieces of it.
pub(crate) const ANSWER_PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of an answer that is taken as a whole: receipts of the largest request, several times; a checkpoint with the largest document.
pub(crate) const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of one message of a ledger that is followed.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// The pause before a request is sent again for the first time; each is twice the one before.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// No pause is longer, whatever the service asks for.
pub(crate) const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Tries of one request after the first one.
pub(crate) const MAX_RETRIES: u32 = 10;
/// Connections that are kept for the next requests.
pub(crate) const MAX_IDLE_CONNECTIONS: usize = 16;
/// Events of one request.
pub(crate) const MAX_REQUEST_EVENTS: usize = 1_000;
/// Bytes of one request: less than the service takes, for what is around the events.
pub(crate) const MAX_REQUEST_BYTES: usize = 4 * 1024 * 1024 - 64 * 1024;
/// Bytes of a content that are sent ahead at once.
pub(crate) const CONTENT_PART_BYTES: usize = 4 * 1024 * 1024;
/// How old what a policy cache knows may be, where nobody says otherwise.
pub(crate) const DEFAULT_STALE_AFTER: Duration = Duration::from_secs(3);
/// It is never less than this: the service speaks every half second.
pub(crate) const LEAST_STALE_AFTER: Duration = Duration::from_secs(1);
/// How long the service that keeps a policy cache fresh may be silent.
pub(crate) const NEWS_PATIENCE: Duration = Duration::from_secs(5);
/// Dimensions that a policy cache holds; the service hands out fewer.
pub(crate) const MAX_STATE_DIMENSIONS: usize = 300_000;
/// Pieces of one change that are held until the last has come.
pub(crate) const MAX_PIECES: usize = 256;
