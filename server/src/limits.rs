//! Every limit of the HTTP side, with its unit; limits of events are in `bitacora-formats`.

use std::time::Duration;

use bitacora_formats::Micros;
use bitacora_formats::limits::{MAX_REQUEST_BYTES, MAX_REQUEST_EVENTS};
use bitacora_http_guard::{MAX_CHUNK_LINE_BYTES, MAX_HEAD_BYTES, MAX_TRAILER_BYTES};
use bitacora_ledger::limits::MAX_PAGE_BYTES;

/// The read-ahead of a connection's guard, bytes: one whole head, or a piece of a body.
pub(crate) const READ_BUFFER_BYTES: usize = 16 * 1024;
/// The buffer that hyper may hold for a connection, bytes.
pub(crate) const HTTP_BUFFER_BYTES: usize = 64 * 1024;

/// Connections that are served at once, when the configuration does not say.
pub const DEFAULT_MAX_CONNECTIONS: usize = 2_048;
/// Places past the connections that only callers on the Unix socket take.
pub(crate) const UNIX_CONNECTIONS: usize = 64;
/// Connections that wait for a place at once, and how long each does.
pub(crate) const MAX_WAITING_CONNECTIONS: usize = 64;
pub(crate) const CONNECTION_WAIT: Duration = Duration::from_secs(2);
/// The time that a connection's peer may let it wait while others need its place.
pub(crate) const CONNECTION_STALL: Duration = Duration::from_secs(1);
/// The time that a connection keeps its place while others need it, if no request on it showed a token that was taken.
pub(crate) const NAMELESS_STALL: Duration = Duration::from_millis(500);
/// The time in which a connection that gave way lets its peer hear the reason.
pub(crate) const GIVING_WAY_LINGER: Duration = Duration::from_millis(100);

/// TLS handshakes at once, over all addresses.
pub(crate) const MAX_HANDSHAKES: usize = 256;
/// The time that a handshake keeps its turn while others wait for one.
pub(crate) const HANDSHAKE_STALL: Duration = Duration::from_millis(500);
/// The most bytes of a file of certificates or of a key.
pub(crate) const MAX_CERTIFICATE_FILE_BYTES: u64 = 256 * 1024;
/// The pause between two looks at the files of the service's certificate.
pub(crate) const CERTIFICATE_PAUSE: Duration = Duration::from_secs(60);
/// The time before a certificate's end from which the service warns of it.
pub(crate) const CERTIFICATE_NOTICE: Duration = Duration::from_secs(14 * 24 * 3600);
/// The pause between two such warnings.
pub(crate) const CERTIFICATE_NOTICE_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// Bytes of request bodies held at once over all connections, decompressed ones included.
pub const DEFAULT_MAX_BODY_BYTES_IN_FLIGHT: usize = 128 * 1024 * 1024;
/// A body that stops agents, or is of no other lane, moves to the lane for large ones past this, bytes.
pub(crate) const MAX_SMALL_BODY_BYTES: usize = 64 * 1024;
/// The same of a body that asks for decisions or reports outcomes.
pub(crate) const MAX_DECISION_BODY_BYTES: usize = 256 * 1024;
/// The same of other acts.
pub(crate) const MAX_ACT_BODY_BYTES: usize = MAX_REQUEST_BYTES;
/// The time that a body waits for others to give way before it is refused.
pub(crate) const BODY_ROOM_WAIT: Duration = Duration::from_secs(2);
/// The time that a body may be behind the pace below while others need its room.
pub(crate) const BODY_HEAD_START: Duration = Duration::from_secs(1);
/// The pace at which a body keeps its room while others need it.
pub(crate) const BODY_YIELD_BYTES_PER_S: u64 = 64 * 1024;
/// Bytes that all uploads of any length hold at once.
pub const DEFAULT_MAX_UPLOAD_BYTES_IN_FLIGHT: usize = 256 * 1024 * 1024;
/// Bytes of events read for followers and not sent yet.
pub const DEFAULT_MAX_FOLLOW_BYTES_IN_FLIGHT: usize = 128 * 1024 * 1024;
/// The time that an upload, a follower or a read with `wait` waits for others to give way before it is refused.
pub(crate) const PLACE_WAIT: Duration = Duration::from_secs(1);
/// The time that an upload's peer may let it wait while others need its place.
pub(crate) const UPLOAD_STALL: Duration = Duration::from_secs(2);
/// Bytes of pages of events held at once over all connections, until they are sent.
pub const DEFAULT_MAX_ANSWER_BYTES_IN_FLIGHT: usize = 256 * 1024 * 1024;
/// Reads of ledgers at once, each on a blocking thread.
pub const DEFAULT_MAX_READS: usize = 16;

/// The most events of an evidence bundle.
pub(crate) const MAX_BUNDLE_EVENTS: usize = 50_000;
/// The most bytes of its members. It is made in memory.
pub(crate) const MAX_BUNDLE_BYTES: usize = 64 * 1024 * 1024;
/// Bundles that are made at once.
pub(crate) const MAX_BUNDLES: usize = 2;
/// The time for which a caller waits for a place among them: one of the largest bundles is made within it.
pub(crate) const BUNDLE_WAIT: Duration = Duration::from_secs(15);
/// The most events that are read for a list of principals: the newest ones.
pub(crate) const MAX_PRINCIPAL_EVENTS: usize = 20_000;
/// The pace of a verification by the service, bytes per second: appends have the disk and the cores.
pub(crate) const VERIFICATION_BYTES_PER_S: u64 = 64 * 1024 * 1024;
/// The shortest time from one verification of a ledger to the next.
pub(crate) const VERIFICATION_PAUSE: Duration = Duration::from_secs(10);
/// Verifications of a ledger that are remembered.
pub(crate) const MAX_VERIFICATIONS: usize = 8;

/// The time for which the measured size of a deciding state is shown.
pub(crate) const STATE_SIZE_AGE: Duration = Duration::from_secs(60);
/// The most pages of events that one question about tiers reads to count archives. The next question goes on.
pub(crate) const MAX_TIER_PAGES: usize = 32;
/// The most ranges of archives that an answer about tiers lists.
pub(crate) const MAX_TIER_RANGES: usize = 100;

/// The time until archiving in the background looks for due events for the first time: by then the log is proven in most ledgers.
pub(crate) const FIRST_ARCHIVE_PAUSE: Duration = Duration::from_secs(10);
/// The pause before it looks again.
pub(crate) const ARCHIVE_PAUSE: Duration = Duration::from_secs(60);
/// The pause between two looks for expired events of a ledger.
pub(crate) const RETENTION_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest pause of a ledger whose archiving failed again and again. The pause is twice as long after each failure, up to that.
pub(crate) const MAX_ARCHIVE_PAUSE: Duration = Duration::from_secs(60 * 60);

/// The time that a read waits for a free place before it is refused.
pub(crate) const READ_QUEUE_WAIT: Duration = Duration::from_secs(2);
/// The longest wait for another collection of metrics to end.
pub(crate) const COLLECTION_WAIT: Duration = Duration::from_secs(5);
/// The least time between two messages that keys of data subjects fail.
pub(crate) const KEY_FAILURE_PACE: Duration = Duration::from_secs(60);
/// The time that an answer waits for the state that `Ledger-Min-Position` asks for.
pub(crate) const MIN_POSITION_WAIT: Duration = Duration::from_secs(5);

/// The time that a question to a read model waits for it to come to the ledger's head. After that it is answered from the position that the
/// model has.
pub(crate) const MODEL_WAIT: Duration = Duration::from_millis(100);
/// The time that a question to a read model waits for rows that left this disk to be folded again.
pub(crate) const RECALL_WAIT: Duration = Duration::from_secs(2);
/// The pause between two looks at the bound of warm data.
pub(crate) const WARM_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);
/// The time from a start to the first one.
pub(crate) const FIRST_WARM_PAUSE: Duration = Duration::from_secs(60);
/// The time that a receipt waits for a signed tree head over its event; one is signed each second.
pub(crate) const HEAD_WAIT: Duration = Duration::from_secs(3);
/// The pause between two looks.
pub(crate) const HEAD_POLL: Duration = Duration::from_millis(20);
/// The deadline of a connection to a witness.
pub(crate) const WITNESS_CONNECT_DEADLINE: Duration = Duration::from_secs(3);
/// The deadline of a witness's answer, all in all; less than the ledger waits for it.
pub(crate) const WITNESS_DEADLINE: Duration = Duration::from_secs(10);
/// Characters of a witness's refusal that are shown.
pub(crate) const MAX_WITNESS_REFUSAL_CHARACTERS: usize = 200;
/// The deadline of a connection to the receiver of notices.
pub(crate) const NOTICE_CONNECT_DEADLINE: Duration = Duration::from_secs(3);
/// The deadline of its answer, all in all.
pub(crate) const NOTICE_DEADLINE: Duration = Duration::from_secs(10);
/// The time that an append waits for a signed or witnessed answer that it prefers, unless it names one.
pub(crate) const PREFERENCE_WAIT: Duration = Duration::from_secs(10);
/// The longest such wait.
pub(crate) const MAX_PREFERENCE_WAIT: Duration = Duration::from_secs(60);
/// The pause between two looks for it.
pub(crate) const PREFERENCE_POLL: Duration = Duration::from_millis(20);
/// The time for which a notice is tried before it is given up; by then approvals have ended too.
pub(crate) const NOTICE_LIFE: Duration = Duration::from_secs(24 * 3600);
/// The pause after a notice could not be delivered, doubled each time up to [`MAX_NOTICE_PAUSE`].
pub(crate) const MIN_NOTICE_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between two tries.
pub(crate) const MAX_NOTICE_PAUSE: Duration = Duration::from_secs(60);
/// Events that are read at once to be told of.
pub(crate) const NOTICES_AT_ONCE: usize = 100;
/// The time for which a ledger takes no appends before that is told: a hiccup is no notice.
pub(crate) const IMPAIRED_PATIENCE: Duration = Duration::from_secs(5);
/// The longest `wait` a client may ask for.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(60);
/// Events of a page, when the client names no limit.
pub(crate) const DEFAULT_PAGE_EVENTS: usize = 100;
/// Bodies up to this size are parsed and sealed where they arrive; larger ones would hold up other connections, bytes.
pub(crate) const INLINE_BODY_BYTES: usize = 32 * 1024;
/// Pages of an NDJSON answer that may wait for a slow reader.
pub(crate) const LINES_AHEAD: usize = 1;
/// Pieces of an NDJSON answer that are read at once. More than one only while others leave half of the places for reads, and of the memory
/// for answers, free.
pub(crate) const PIECES_AT_ONCE: usize = 3;
/// Events of such a piece, but for the rest of its last frame.
pub(crate) const PIECE_EVENTS: u64 = 1_000;
/// Pieces that are planned at once.
pub(crate) const PIECES_PLANNED: usize = 32;

/// Items of a page of a ledger's state, when the client names no limit.
pub(crate) const DEFAULT_LISTED: usize = 100;
/// The most of them.
pub(crate) const MAX_LISTED: usize = 1_000;
/// Tools of a page: each may be some kilobytes.
pub(crate) const MAX_PAGE_TOOLS: usize = 100;
/// Requests for calls that are decided one behind the other for one answer.
pub(crate) const MAX_BATCH_REQUESTS: usize = 100;
/// The retries of a request whose ground has just moved.
pub(crate) const MOVED_RETRIES: u32 = 3;
/// The wait for the move before each retry.
pub(crate) const MOVED_WAIT: Duration = Duration::from_millis(50);
/// The pause between two looks of a request that waits for an approval.
pub(crate) const APPROVAL_PACE: Duration = Duration::from_millis(10);

/// The last time that events hold as a number of microseconds, since readers of JSON round what is past 2^53: in June 2255.
pub(crate) const MAX_TOLD_TIME: Micros = Micros((1 << 53) - 1);

/// Bytes of contents that the answer about one checkpoint has in it; what is past that is named by its pieces' positions.
pub(crate) const MAX_SHOWN_CONTENT_BYTES: u64 = 2 * 1024 * 1024;
/// Bytes of the pieces that are recorded in one append, so that others wait no longer for the disk than they have to.
pub(crate) const CONTENT_APPEND_BYTES: usize = 2 * 1024 * 1024;

/// Recorded calls that another policy is tried on, when the client names no limit.
pub(crate) const DEFAULT_WHAT_IF_CALLS: usize = 1_000;
/// The most that it is tried on at once.
pub(crate) const MAX_WHAT_IF_CALLS: usize = 5_000;
/// The most decisions that are read for that, where only those of one tool are meant.
pub(crate) const MAX_WHAT_IF_READ: usize = 20_000;
/// Decisions of those that are in memory at once.
pub(crate) const WHAT_IF_PAGE_EVENTS: usize = 256;
/// Calls of a changed verdict that are shown with their changes.
pub(crate) const MAX_WHAT_IF_EXAMPLES: usize = 50;
/// Tools, and agents, that are named with their changed verdicts.
pub(crate) const MAX_WHAT_IF_GROUPS: usize = 50;
/// Days that are.
pub(crate) const MAX_WHAT_IF_DAYS: usize = 92;

/// Outcomes of a dimension in one answer, when the client names no limit.
pub(crate) const DEFAULT_OUTCOMES: usize = 100;
/// The most of them.
pub(crate) const MAX_OUTCOMES: usize = 1_000;
/// Events about trust that are looked through for one answer; what is older is in the next.
pub(crate) const MAX_HISTORY_READ: usize = 20_000;
/// Events that are folded for what a dimension had shown at a position, when the configuration does not say.
pub const DEFAULT_MAX_PAST_EVENTS: usize = 100_000;
/// The deadline of that.
pub(crate) const MAX_PAST_TIME: Duration = Duration::from_secs(5);
/// Events of both that are in memory at once.
pub(crate) const HISTORY_PAGE_EVENTS: usize = 256;

/// Followers at once, when the configuration does not say; as many connections are left to others.
pub const DEFAULT_MAX_FOLLOWERS: usize = 1_024;
/// Messages for a follower that wait for its connection.
pub(crate) const MESSAGES_AHEAD: usize = 1;
/// Bytes that a follower takes before it reads a page: the page and its messages. It gives back the rest then.
pub(crate) const FOLLOW_PAGE_BYTES: usize = 2 * MAX_PAGE_BYTES;
/// The same of a policy cache before its next piece is made, bytes.
pub(crate) const WATCH_PIECE_BYTES: usize = 4 * 1024 * 1024;
/// The time for which a follower may leave a message untaken before others take its place, or its memory, if they need it.
pub(crate) const FOLLOW_STALL: Duration = Duration::from_secs(1);
/// The bytes that a follower's connection is given at once; one event may be more.
pub(crate) const FOLLOW_CHUNK_BYTES: usize = 64 * 1024;
/// Events that a follower who is behind reads from the log at once.
pub(crate) const FOLLOW_PAGE_EVENTS: usize = 256;
/// The pause before a follower should come back.
pub(crate) const FOLLOW_RETRY: Duration = Duration::from_secs(1);
/// The newest events of a ledger that its followers share, as messages in memory, bytes.
pub(crate) const TAIL_RING_BYTES: usize = 8 * 1024 * 1024;
/// The size that an event of the tail counts on top of its message, bytes.
pub(crate) const TAIL_EVENT_BYTES: usize = 512;
/// The tail rests this long for each of its followers before it wakes them again.
pub(crate) const TAIL_PACE_PER_FOLLOWER: Duration = Duration::from_micros(20);
/// And at least this long: reading each small frame by itself takes a tenth of the time that appending it took. The first event after a
/// rest is told at once.
pub(crate) const TAIL_REST: Duration = Duration::from_millis(25);

/// The longest that who keeps a replica hears nothing: it tells by that how old the replica is.
pub(crate) const POLICY_CACHE_HEARTBEAT: Duration = Duration::from_millis(500);
/// Between two pieces of news for one replica, so that each frame of a busy ledger does not cost one.
pub(crate) const POLICY_CACHE_PACE: Duration = Duration::from_millis(10);
/// Dimensions of a state that is handed out to be kept elsewhere, when the configuration does not say; each takes about 400 bytes on
/// its way.
pub const DEFAULT_MAX_POLICY_CACHE_DIMENSIONS: u64 = 250_000;
/// Uploads of any length at once, when the configuration does not say.
pub const DEFAULT_MAX_INGESTS: usize = 64;
/// Lines that an upload appends at once.
pub(crate) const INGEST_CHUNK_LINES: usize = MAX_REQUEST_EVENTS;
/// Lines that it appends at once where events follow from them: a few kilobytes from each are taken for one request.
pub(crate) const INGEST_GOVERNED_LINES: usize = 64;
/// Bytes that an upload appends at once; one line may be more.
pub(crate) const INGEST_CHUNK_BYTES: usize = 512 * 1024;
/// The size of lines that an upload holds before it stops reading, bytes, beside those that are being appended.
pub(crate) const INGEST_AHEAD_BYTES: usize = 512 * 1024;
/// Bytes of a parsed event of a chunk, beside its text.
pub(crate) const INGEST_EVENT_BYTES: usize = 1024;
/// Bytes of its receipt.
pub(crate) const INGEST_RECEIPT_BYTES: usize = 256;
/// Chunks of an upload that may wait for the disk.
pub(crate) const INGEST_CHUNKS_AHEAD: usize = 8;
/// The part of an upload that is decompressed before others have their turn, bytes.
pub(crate) const INGEST_STEP_BYTES: usize = 32 * 1024;
/// The pause before a chunk is sent again to a ledger whose queue is full; each is twice the one before.
pub(crate) const INGEST_FIRST_PAUSE: Duration = Duration::from_millis(5);
/// Events that an export of OpenTelemetry appends at once.
pub(crate) const EXPORT_CHUNK_EVENTS: usize = MAX_REQUEST_EVENTS;
/// Bytes of data that an export appends at once; one event may be more.
pub(crate) const EXPORT_CHUNK_BYTES: usize = 512 * 1024;
/// Chunks of an export that may wait for the disk.
pub(crate) const EXPORT_CHUNKS_AHEAD: usize = 4;
/// Bytes that the buffer of an export's body begins with.
pub(crate) const EXPORT_FIRST_BUFFER_BYTES: usize = 64 * 1024;
/// The pause before a chunk of an export is sent again to a ledger whose queue is full; each is twice the one before.
pub(crate) const EXPORT_FIRST_PAUSE: Duration = Duration::from_millis(5);
/// The time that a chunk of an export waits for a ledger whose queue is full. An exporter's own patience is 10 seconds.
pub(crate) const EXPORT_QUEUE_WAIT: Duration = Duration::from_secs(5);
/// Bytes of a problem that is told in the words of OTLP.
pub(crate) const MAX_EXPORT_PROBLEM_BYTES: usize = 64 * 1024;
/// The time that an upload waits at once for a ledger whose queue is full.
pub(crate) const INGEST_QUEUE_WAIT: Duration = Duration::from_secs(30);

/// The time that a request in flight may go on after the shutdown began.
pub(crate) const SHUTDOWN_GRACE: Duration = Duration::from_secs(20);
/// The pause of accepting after the system refused a connection (no file descriptors left, for one).
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The least time between two messages about that.
pub(crate) const ACCEPT_FAILURE_PACE: Duration = Duration::from_secs(60);

/// The patience of a connection with its peer. Only time spent waiting for the peer counts.
#[derive(Debug, Clone)]
pub struct ConnectionTimeouts {
    /// For a TLS handshake, from the connection's start to its end.
    pub handshake: Duration,
    /// From the first byte of a request head to its last.
    pub head: Duration,
    /// Between two requests, and from the connection's start to its first byte.
    pub idle: Duration,
    /// Between two pieces of a body.
    pub body_pause: Duration,
    /// Between two pieces of an upload of any length.
    pub upload_pause: Duration,
    /// For a body, in all; its bytes earn at `body_bytes_per_s` what was waited for them, and nothing ahead.
    pub body_grace: Duration,
    /// The slowest body rate that is waited for once the grace is used up, bytes a second.
    pub body_bytes_per_s: u64,
    /// For the peer to take of an answer what there is, in all; what it takes earns at `answer_bytes_per_s`.
    pub write_pause: Duration,
    /// The slowest rate at which an answer is taken that is waited for, bytes a second.
    pub answer_bytes_per_s: u64,
    /// Between two signs of life on an event stream that has nothing to tell.
    pub heartbeat: Duration,
    /// For a follower to make room for what is next, before it is told that it lagged.
    pub lag: Duration,
    /// For the peer to hear a refusal while it is still sending, before the connection is cut.
    pub linger: Duration,
}

impl Default for ConnectionTimeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            body_pause: Duration::from_secs(10),
            upload_pause: Duration::from_secs(300),
            body_grace: Duration::from_secs(30),
            body_bytes_per_s: 16 * 1024,
            write_pause: Duration::from_secs(30),
            answer_bytes_per_s: 4 * 1024,
            heartbeat: Duration::from_secs(15),
            lag: Duration::from_secs(10),
            linger: Duration::from_secs(3),
        }
    }
}

const _: () = assert!(MAX_HEAD_BYTES <= READ_BUFFER_BYTES, "a whole head must fit the read buffer");
const _: () = assert!(MAX_CHUNK_LINE_BYTES <= READ_BUFFER_BYTES && MAX_TRAILER_BYTES <= READ_BUFFER_BYTES);
const _: () =
    assert!(FOLLOW_CHUNK_BYTES <= TAIL_RING_BYTES && DEFAULT_MAX_FOLLOWERS < DEFAULT_MAX_CONNECTIONS);
const _: () = assert!(INGEST_CHUNK_BYTES <= MAX_REQUEST_BYTES, "a chunk is appended as one request");
const _: () = assert!(READ_BUFFER_BYTES <= HTTP_BUFFER_BYTES, "what the guard passes, hyper can hold");

/// The pause before a ledger that waits for its anchor is tried again. Each pause is twice the one before.
pub(crate) const FIRST_ANCHOR_PAUSE: Duration = Duration::from_secs(1);
/// The longest of these pauses.
pub(crate) const MAX_ANCHOR_PAUSE: Duration = Duration::from_secs(30);
/// The time for which the anchor of a ledger may not answer before the service is not ready.
pub(crate) const MAX_UNANCHORED: Duration = Duration::from_secs(60);

/// Events that a required read model may be behind its ledger's head before the service is not ready.
pub(crate) const MAX_REQUIRED_LAG: u64 = 100_000;

/// The pause before a ledger's history is looked through for suggestions again.
pub(crate) const LEARN_PAUSE: Duration = Duration::from_secs(3_600);
/// Suggestions that one look makes.
pub(crate) const MAX_SUGGESTIONS_MADE: usize = 100;

/// The last acts on a thread among which one is looked for that is sent again.
pub(crate) const REPEATED_REQUESTS: usize = 100;
