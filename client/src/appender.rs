//! Events of many callers in few requests: while one request is on its way, the next one is filled.

use std::fmt;
use std::sync::Arc;

use bitacora_api::{AppendAnswer, AppendReceipt, ProblemCode};
use bitacora_formats::{Event, write_event_line};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::error::{ClientError, Refusal};
use crate::limits::{MAX_REQUEST_BYTES, MAX_REQUEST_EVENTS};

/// The batch and queue sizes of an appender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppenderOptions {
    /// Events of one request at most; up to 1,000.
    pub request_events: usize,
    /// Events that wait at most, beside those on their way. A caller that appends more waits for room.
    pub queue_events: usize,
}

impl Default for AppenderOptions {
    fn default() -> Self {
        Self { request_events: MAX_REQUEST_EVENTS, queue_events: 10_000 }
    }
}

/// The reason why an event was not acknowledged.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendFailure {
    /// The service refused the event, or could not be reached any longer. In the second case it is unknown whether the
    /// event was appended, and it may be appended again.
    #[error(transparent)]
    Failed(Arc<ClientError>),
    /// The appender ended before the event was sent.
    #[error("the appender ended before the event was sent")]
    Ended,
}

/// Appends the events of many callers, in the order in which they were given, one request after the other. Clones share
/// one appender. It ends with the last clone, after everything was sent.
#[derive(Clone)]
pub struct Appender {
    queue: mpsc::Sender<QueuedEvent>,
}

/// A waiting event, as its line of NDJSON, and the channel to its caller.
struct QueuedEvent {
    line: Vec<u8>,
    reply: oneshot::Sender<Result<AppendReceipt, AppendFailure>>,
}

impl Appender {
    /// Starts an appender on the current runtime. The handle is of its task, which ends once all clones of the appender
    /// are gone and everything was sent.
    #[must_use]
    pub fn start(client: Client, options: AppenderOptions) -> (Self, JoinHandle<()>) {
        let (queue, waiting) = mpsc::channel(options.queue_events.max(1));
        let at_once = options.request_events.clamp(1, MAX_REQUEST_EVENTS);
        (Self { queue }, tokio::spawn(send_all(client, waiting, at_once)))
    }

    /// Appends an event. Returned `Ok` ⇒ it is durable. Events that one task gives before it waits for the answer of any are in the
    /// ledger in that order: see [`Self::queue`].
    ///
    /// # Errors
    /// [`AppendFailure`].
    pub async fn append(&self, event: &Event<'_>) -> Result<AppendReceipt, AppendFailure> {
        self.queue(event).await?.await.unwrap_or(Err(AppendFailure::Ended))
    }

    /// Puts an event behind those that wait, once there is room. The returned receiver yields its receipt or its error.
    ///
    /// # Errors
    /// [`AppendFailure::Ended`].
    pub async fn queue(
        &self,
        event: &Event<'_>,
    ) -> Result<oneshot::Receiver<Result<AppendReceipt, AppendFailure>>, AppendFailure> {
        let mut line = Vec::new();
        write_event_line(event, &mut line);
        line.push(b'\n');
        let (reply, answer) = oneshot::channel();
        self.queue.send(QueuedEvent { line, reply }).await.map_err(|_| AppendFailure::Ended)?;
        Ok(answer)
    }
}

impl fmt::Debug for Appender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Appender")
    }
}

async fn send_all(client: Client, mut waiting: mpsc::Receiver<QueuedEvent>, at_once: usize) {
    let mut left = None;
    loop {
        let first = match left.take() {
            Some(first) => first,
            None => match waiting.recv().await {
                Some(first) => first,
                None => return,
            },
        };
        let mut bytes = first.line.len();
        let mut batch = vec![first];
        while batch.len() < at_once {
            let Ok(next) = waiting.try_recv() else { break };
            if bytes + next.line.len() > MAX_REQUEST_BYTES {
                left = Some(next);
                break;
            }
            bytes += next.line.len();
            batch.push(next);
        }
        send(&client, batch).await;
    }
}

/// Sends events together. Where the service refuses them for what may be one event's fault, halves are sent separately,
/// so that only the faulty event fails.
async fn send(client: &Client, batch: Vec<QueuedEvent>) {
    let mut parts = vec![batch];
    while let Some(mut part) = parts.pop() {
        let lines: Vec<u8> = part.iter().flat_map(|waiting| waiting.line.iter().copied()).collect();
        match client.append_lines(lines.into()).await {
            Ok(appended) => send_receipts(part, appended),
            Err(ClientError::Refused(refusal)) if part.len() > 1 && may_be_of_one_event(&refusal) => {
                let second = part.split_off(part.len() / 2);
                parts.extend([second, part]);
            }
            Err(error) => {
                let error = Arc::new(error);
                for waiting in part {
                    // A caller that dropped its receiver needs no answer.
                    let _unheard = waiting.reply.send(Err(AppendFailure::Failed(Arc::clone(&error))));
                }
            }
        }
    }
}

/// Returns `true` if the refusal may be one event's fault. It is not where the service knows neither the ledger nor the
/// caller.
fn may_be_of_one_event(refusal: &Refusal) -> bool {
    use ProblemCode::{LedgerNotFound, MethodNotAllowed, Unauthorized};
    let code = ProblemCode::named(&refusal.problem.code);
    !refusal.problem.retryable && !matches!(code, Some(Unauthorized | LedgerNotFound | MethodNotAllowed))
}

fn send_receipts(part: Vec<QueuedEvent>, appended: AppendAnswer) {
    for (waiting, receipt) in part.into_iter().zip(appended.results) {
        let _unheard = waiting.reply.send(Ok(receipt));
    }
}
