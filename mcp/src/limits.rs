//! Limits of the proxy: sizes, numbers, times.

use std::time::Duration;

/// Bytes of one message in either direction. A longer one from the client is refused; one from the server ends the session.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of a request's id.
pub(crate) const MAX_ID_BYTES: usize = 256;
/// Bytes of a method's name.
pub(crate) const MAX_METHOD_BYTES: usize = 256;
/// Bytes of a server's name, which goes into the names of its tools.
pub(crate) const MAX_SERVER_NAME_BYTES: usize = 64;
/// Bytes of a tool's name as calls name it: the vocabulary's limit of a name.
pub(crate) const MAX_TOOL_NAME_BYTES: usize = 256;
/// Messages of one batch of the server.
pub(crate) const MAX_BATCH_MESSAGES: usize = 100;
/// Requests of the client that wait for an answer.
pub(crate) const MAX_REQUESTS_IN_FLIGHT: usize = 1_024;
/// Calls of tools among them.
pub(crate) const MAX_CALLS_IN_FLIGHT: usize = 64;
/// Tools of one server whose definitions are remembered.
pub(crate) const MAX_TOOLS: usize = 2_000;
/// Pages of a list of tools that are asked for.
pub(crate) const MAX_LIST_PAGES: usize = 100;
/// Definitions of one session that are recorded as drifted.
pub(crate) const MAX_DRIFTS: usize = 1_000;
/// Pages of the registry, and of a server's recorded definitions, that are read.
pub(crate) const MAX_SERVICE_PAGES: usize = 200;
/// Messages of an upstream that wait to be handed on.
pub(crate) const MAX_WAITING_MESSAGES: usize = 4;
/// Requests to an upstream over HTTP at once: calls, other requests and notifications.
pub(crate) const MAX_UPSTREAM_REQUESTS: usize = 256;

/// The time in which a decision has to come.
pub(crate) const DECISION_PATIENCE: Duration = Duration::from_secs(5);
/// The time in which the service has to take an outcome.
pub(crate) const REPORT_PATIENCE: Duration = Duration::from_secs(2);
/// The longest hold of one question for an approval: the service's own limit is a little above.
pub(crate) const MAX_HOLD: Duration = Duration::from_secs(25);
/// The longest time for which a call that needs an approval is held.
pub const LONGEST_WAIT: Duration = Duration::from_secs(3_600);
/// The pause between two messages about the progress of a call that is held.
pub(crate) const PROGRESS_PAUSE: Duration = Duration::from_secs(5);
/// The time in which the server has to list its tools for the proxy.
pub(crate) const LIST_PATIENCE: Duration = Duration::from_secs(10);
/// The time in which calls that run may end after the client has left.
pub(crate) const END_PATIENCE: Duration = Duration::from_secs(5);
/// The time in which the server has to end after its input was closed, before it is killed.
pub(crate) const SERVER_END_PATIENCE: Duration = Duration::from_secs(2);
/// The time in which an upstream has to take a connection.
pub(crate) const UPSTREAM_CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// The time in which an upstream has to take a message that it does not answer.
pub(crate) const UPSTREAM_TAKE_PATIENCE: Duration = Duration::from_secs(10);
/// Times that a stream of answers is taken up again after it broke off.
pub(crate) const MAX_RESUMPTIONS: usize = 1_000;
/// The longest pause before that, also where the upstream asks for a longer one.
pub(crate) const LONGEST_STREAM_PAUSE: Duration = Duration::from_secs(60);
/// The pause before the stream of an upstream's own messages is opened again.
pub(crate) const STREAM_PAUSE: Duration = Duration::from_secs(2);

/// Bytes of the end of an output that go along with its outcome.
pub(crate) const OUTPUT_TAIL_BYTES: usize = 1_024;
/// Bytes of a reason that a client is given.
pub(crate) const MAX_REASON_BYTES: usize = 2_000;
