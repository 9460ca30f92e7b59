"""Limits of the client: timeouts, retries, and sizes of requests and answers."""

from typing import Final

CONNECT_PATIENCE_S: Final = 5.0
"""The timeout of a connection attempt."""
ANSWER_PATIENCE_S: Final = 60.0
"""The timeout for the beginning of an answer, between two pieces of it, and for a whole answer."""
WAIT_MARGIN_S: Final = 10.0
"""The time that an answer may take beyond the wait that its request asks for."""
MAX_WAIT_S: Final = 60
"""The longest wait that one request asks the service for."""
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""Bytes of an answer that is taken as a whole."""
MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
"""Bytes of one message of a ledger that is followed."""
FIRST_PAUSE_S: Final = 0.1
"""The pause before a request is sent again for the first time; each is twice the one before."""
MAX_PAUSE_S: Final = 5.0
"""The longest pause before a retry, also where the service asks for a longer one."""
MAX_RETRIES: Final = 10
"""Tries of one request after the first one."""
RETRY_PATIENCE_S: Final = 60.0
"""The time after a request's first failure in which its retries begin."""
APPROVAL_PAUSE_S: Final = 1.0
"""The least time between two questions about an approval that waits, also where the service does not hold them back."""
EXIT_PATIENCE_S: Final = 10.0
"""The time for which the end of the program waits for the events of an appender that nobody closed."""
MAX_CONNECTIONS: Final = 64
"""Connections of one client that are open at once."""
MAX_IDLE_CONNECTIONS: Final = 16
"""Connections that are kept for the next requests."""
MAX_KNOWN_PATHS: Final = 256
"""Addresses of requests that are kept parsed."""
SPLICED_BYTES: Final = 4_096
"""The least size of a content whose base64 is put into the JSON of its request as it is, since it needs no escapes."""
IDLE_S: Final = 60.0
"""The time for which an idle connection is kept; the service ends one after 75 s."""
MAX_REQUEST_EVENTS: Final = 1_000
"""Events of one request."""
MAX_REQUEST_BYTES: Final = 4 * 1024 * 1024 - 64 * 1024
"""Bytes of one request: less than the service takes, for what is around the events."""
QUEUE_EVENTS: Final = 10_000
"""Events that wait in an appender, beside those on their way."""
PAGE_EVENTS: Final = 1_000
"""Events of one page."""
MAX_CONTENT_BYTES: Final = 64 * 1024 * 1024
"""Bytes of one content of a checkpoint."""
CONTENT_PART_BYTES: Final = 4 * 1024 * 1024
"""Bytes of a content that are sent ahead at once."""
MAX_CURSOR_BYTES: Final = 4_096
"""Bytes of a cursor's file that are read at all."""
MAX_TOKEN_FILE_BYTES: Final = 4_096
"""Bytes of a token's file that are read at all."""
REVIEW_PATIENCE_S: Final = 300.0
"""The time for which a guarded call waits for a person, by default."""
MAX_REASKS: Final = 8
"""Approvals that one guarded call waits for: each may be outgrown by a newer reason for a review."""
REPORT_PATIENCE_S: Final = 5.0
"""The time for which the end of a cancelled call is reported, before the cancellation goes on."""
MAX_HEAD_BYTES: Final = 64 * 1024
"""Bytes of an answer's status and headers."""
MAX_INTERIM_ANSWERS: Final = 8
"""Interim answers (1xx) before the answer to a request."""
RECEIVED_BYTES: Final = 128 * 1024
"""Bytes that are taken from a connection at once."""
