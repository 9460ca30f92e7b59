/** Timeouts, retries and sizes. Every wait ends by one of these bounds, or by the caller's `AbortSignal`. */

/** The longest wait for the beginning of an answer, and between two pieces of it. */
export const ANSWER_TIMEOUT_MS = 30_000;
/** The longest time of one request with all its retries. */
export const REQUEST_TIMEOUT_MS = 60_000;
/** The pause before the first retry; each further pause is twice as long. */
export const FIRST_PAUSE_MS = 100;
/** The longest pause before a retry, also if the service asks for a longer one. */
export const MAX_PAUSE_MS = 5_000;
/** Retries of one request. */
export const MAX_RETRIES = 10;

/** The longest wait for a person's answer to an approval. */
export const APPROVAL_WAIT_MS = 300_000;
/** The time for which the service holds one question about an approval. */
export const APPROVAL_POLL_S = 20;
/** The time by which the service may answer a held question early, without being asked less often. */
export const HOLD_MARGIN_MS = 1_000;
/** The longest run of a guarded tool whose registration sets no timeout. */
export const CALL_TIMEOUT_MS = 600_000;
/** The longest time in which a guarded tool's outcome is reported, with all retries. */
export const OUTCOME_TIMEOUT_MS = 15_000;

/** The longest silence of a followed ledger before its connection is made again; the service sends a heartbeat every 15 s. */
export const FOLLOW_SILENCE_MS = 60_000;
/** The longest time for which a follower tries to reach a service that is gone. */
export const FOLLOW_AWAY_MS = 600_000;

/** Bytes of an answer that is read as a whole. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Characters of one message of a followed ledger. */
export const MAX_MESSAGE_CHARACTERS = 16 * 1024 * 1024;
/** Events of one request. */
export const MAX_REQUEST_EVENTS = 1_000;
/** Bytes of one request: the service's limit, less room for the request's own members. */
export const MAX_REQUEST_BYTES = 4 * 1024 * 1024 - 64 * 1024;
/** Events that wait in an appender, besides those on their way. */
export const MAX_QUEUED_EVENTS = 10_000;
/** Bytes of a content that are sent ahead at once. */
export const CONTENT_PART_BYTES = 4 * 1024 * 1024;
/** Bytes of one content. */
export const MAX_CONTENT_BYTES = 64 * 1024 * 1024;
