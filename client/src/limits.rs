//! Limits of the client: timeouts, retries, and sizes of requests and answers.

use std::time::Duration;

/// The timeout of a connection attempt.
pub(crate) const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// The timeout for the reason of a connection that has ended.
pub(crate) const ENDING_PATIENCE: Duration = Duration::from_secs(1);
/// The timeout for the beginning of an answer, and between two pieces of it.
pub(crate) const ANSWER_PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of an answer that is taken as a whole: receipts of the largest request, several times; a checkpoint with the largest document.
pub(crate) const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// The most bytes of a file of certificates or of a key.
pub(crate) const MAX_CERTIFICATE_FILE_BYTES: u64 = 256 * 1024;
/// Bytes of one message of a ledger that is followed.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// The pause before a request is sent again for the first time; each is twice the one before.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause before a retry, also where the service asks for a longer one.
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
/// The age at which a policy cache counts as stale, by default.
pub(crate) const DEFAULT_STALE_AFTER: Duration = Duration::from_secs(3);
/// The least age that can be set for it: the service speaks every half second.
pub(crate) const LEAST_STALE_AFTER: Duration = Duration::from_secs(1);
/// The timeout between two messages of the service that keeps a policy cache fresh.
pub(crate) const NEWS_PATIENCE: Duration = Duration::from_secs(5);
/// Dimensions that a policy cache holds; the service hands out fewer.
pub(crate) const MAX_STATE_DIMENSIONS: usize = 300_000;
/// Pieces of one change that are held until the last has come.
pub(crate) const MAX_PIECES: usize = 256;
