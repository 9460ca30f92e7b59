//! One batch into the ledger, as often as it takes to know that it is there.

use std::time::Duration;

use bitacora_formats::{BodyForm, LedgerName, parse_events};
use bitacora_ledger::{AppendError, AppendRequest, Appended, ErrorKind, Ledger, ReceiptStatus};
use bitacora_server::answers::{AppendAnswer, ProblemAnswer, ReceiptState};
use hyper::body::Bytes;

use super::AppendFailure;
use super::input::Batch;
use crate::access::{Access, OpenFolder};
use crate::client::{Client, ClientError, Refusal};
use crate::percent::percent_encoded;

/// Tries of one batch after the first one.
const MAX_RETRIES: u32 = 10;
/// The pause before the first of them; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// No pause is longer, whatever the service asks for.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Where batches go.
pub(super) struct Delivery {
    way: Way,
    stream: Option<String>,
    pub(super) retries: u64,
    /// Whether the service has answered before: only then is it worth waiting for.
    has_answered: bool,
}

enum Way {
    Folder(OpenFolder),
    Service { client: Client, path: String },
}

/// What a batch's append has come to, whichever way it went.
pub(super) struct Delivered {
    pub(super) receipts: Vec<Receipt>,
    pub(super) derived: usize,
    pub(super) head_position: String,
    pub(super) head_hash: String,
}

/// Where one event stands.
pub(super) struct Receipt {
    pub(super) id: String,
    pub(super) position: String,
    pub(super) stream_version: String,
    pub(super) commitment: String,
    pub(super) is_new: bool,
}

/// Why a batch was not acknowledged.
enum Miss {
    Ledger(AppendError),
    Client(ClientError),
}

impl Delivery {
    pub(super) fn new(access: Access, ledger: &LedgerName, stream: Option<&str>) -> Self {
        let way = match access {
            Access::Folder(folder) => Way::Folder(folder),
            Access::Service(client) => {
                let stream = stream.map(|stream| format!("/streams/{}", percent_encoded(stream)));
                let path = format!("/v1/ledgers/{ledger}{}/events", stream.unwrap_or_default());
                Way::Service { client, path }
            }
        };
        Self { way, stream: stream.map(str::to_owned), retries: 0, has_answered: false }
    }

    /// Delivers the batch: acknowledged when this returns `Ok`. What is busy, or whose outcome is unknown, is sent again
    /// as it was, since each event is accepted once.
    pub(super) async fn deliver(&mut self, batch: &Batch) -> Result<Delivered, AppendFailure> {
        let body = Bytes::copy_from_slice(&batch.bytes);
        let mut pause = FIRST_PAUSE;
        for _ in 0..MAX_RETRIES {
            match self.send(batch, &body).await {
                Ok(delivered) => return Ok(delivered),
                Err(miss) if !miss.is_worth_a_retry(self.has_answered) => {
                    return Err(miss.into_failure(batch));
                }
                Err(miss) => {
                    tokio::time::sleep(miss.asked_pause().unwrap_or_default().max(pause).min(MAX_PAUSE))
                        .await;
                    pause = (pause * 2).min(MAX_PAUSE);
                    self.retries += 1;
                }
            }
        }
        self.send(batch, &body).await.map_err(|miss| miss.into_failure(batch))
    }

    /// Ends the ledger in a folder: its last segment gets its footer.
    pub(super) fn end(self) -> Result<(), AppendFailure> {
        match self.way {
            Way::Folder(folder) => Ok(folder.ledger.close()?),
            Way::Service { .. } => Ok(()),
        }
    }

    async fn send(&mut self, batch: &Batch, body: &Bytes) -> Result<Delivered, Miss> {
        match &mut self.way {
            Way::Folder(folder) => {
                append(&folder.ledger, batch, self.stream.as_deref()).await.map_err(Miss::Ledger)
            }
            Way::Service { client, path } => {
                let answer = client.post(path, content_type(batch.form), body.clone()).await;
                self.has_answered |= !matches!(answer, Err(ClientError::Connect { .. }));
                let answer = answer.map_err(Miss::Client)?;
                match serde_json::from_slice::<AppendAnswer>(&answer) {
                    Ok(answer) => Ok(answer.into()),
                    Err(_) => Err(Miss::Client(client.strange())),
                }
            }
        }
    }
}

async fn append(ledger: &Ledger, batch: &Batch, stream: Option<&str>) -> Result<Delivered, AppendError> {
    // It was checked before; what would fail here fails as an empty request.
    let events = parse_events(&batch.bytes, batch.form, stream).unwrap_or_default();
    Ok(ledger.append(AppendRequest::of(events))?.await?.into())
}

fn content_type(form: BodyForm) -> &'static str {
    match form {
        BodyForm::Structured => "application/cloudevents+json",
        BodyForm::Batch => "application/cloudevents-batch+json",
        BodyForm::Ndjson => "application/x-ndjson",
        BodyForm::Json => "application/json",
    }
}

impl Miss {
    fn is_worth_a_retry(&self, has_answered: bool) -> bool {
        match self {
            Self::Ledger(error) => error.kind() == ErrorKind::Retry,
            Self::Client(ClientError::Connect { .. }) => has_answered,
            Self::Client(ClientError::Broken { .. } | ClientError::Late { .. }) => true,
            Self::Client(ClientError::Strange { .. }) => false,
            Self::Client(ClientError::Refused(Refusal { problem, .. })) => problem.retryable,
        }
    }

    fn asked_pause(&self) -> Option<Duration> {
        match self {
            Self::Ledger(AppendError::QueueFull { retry_after_s }) => {
                Some(Duration::from_secs(*retry_after_s))
            }
            Self::Client(ClientError::Refused(refusal)) => refusal.retry_after,
            _ => None,
        }
    }

    fn into_failure(self, batch: &Batch) -> AppendFailure {
        match self {
            Self::Ledger(source) => AppendFailure::Ledger { place: batch.place(), source: Box::new(source) },
            Self::Client(source) => {
                let named = match &source {
                    ClientError::Refused(refusal) => place_of(&refusal.problem, batch),
                    _ => None,
                };
                AppendFailure::Service { place: named.unwrap_or_else(|| batch.place()), source }
            }
        }
    }
}

/// The first place that the service names, as it stands in the input.
fn place_of(problem: &ProblemAnswer, batch: &Batch) -> Option<String> {
    problem
        .errors
        .iter()
        .find_map(|fault| batch.place_of(fault.line, fault.pointer.as_deref().unwrap_or_default()))
}

impl From<Appended> for Delivered {
    fn from(appended: Appended) -> Self {
        let receipts = appended.results.into_iter().map(|result| Receipt {
            id: result.id,
            position: result.position.to_string(),
            stream_version: result.stream_version.to_string(),
            commitment: result.commitment.to_string(),
            is_new: result.status == ReceiptStatus::Created,
        });
        Self {
            receipts: receipts.collect(),
            derived: appended.derived.len(),
            head_position: appended.head.position.to_string(),
            head_hash: appended.head.hash.to_string(),
        }
    }
}

impl From<AppendAnswer> for Delivered {
    fn from(answer: AppendAnswer) -> Self {
        let receipts = answer.results.into_iter().map(|result| Receipt {
            id: result.id,
            position: result.position,
            stream_version: result.stream_version,
            commitment: result.commitment,
            is_new: result.status == ReceiptState::Created,
        });
        Self {
            receipts: receipts.collect(),
            derived: answer.derived.len(),
            head_position: answer.head.position,
            head_hash: answer.head.hash,
        }
    }
}
