//! Delivery of one request into the ledger, with retries until its outcome is known.

use std::fmt;
use std::time::Duration;

use bitacora_api::{AppendAnswer, ReceiptState};
use bitacora_formats::{BodyForm, LedgerName, parse_events};
use bitacora_ledger::{AppendError, AppendReceipt, AppendRequest, ErrorKind, Ledger, ReceiptStatus};
use hyper::body::Bytes;

use crate::exit::Exit;
use crate::ledger_access::access::Access;
use crate::ledger_access::token_advice::token_advice;
use bitacora_client::percent_encoded;
use bitacora_client::{Backoff, ClientError, Connection, Refusal};
use bitacora_import::{Acknowledgement, AppendChannel, AppendMiss};

/// A channel to the ledger for one request at a time.
pub struct Delivery {
    way: AppendRoute,
    stream: Option<String>,
    /// The number of requests that were sent again.
    pub retries: u64,
    /// Set when the service has answered before: only then is it worth waiting for.
    has_answered: bool,
    /// The retries of one request.
    backoff: Backoff,
}

enum AppendRoute {
    Folder(Ledger),
    Service { client: Connection, path: String },
}

/// The result of an append, through the service or in a folder.
#[derive(Debug)]
pub struct AppendOutcome {
    /// The receipts of the events, in their order.
    pub receipts: Vec<EventReceipt>,
    /// The number of events that the ledger added.
    pub derived: usize,
    /// The position of the head that the answer rests on.
    pub head_position: String,
    /// The chain hash of that head.
    pub head_hash: String,
}

/// The place of one event in the ledger.
#[derive(Debug)]
pub struct EventReceipt {
    /// The event's id.
    pub id: String,
    /// The event's position.
    pub position: String,
    /// The event's number in its stream.
    pub stream_version: String,
    /// The event's commitment.
    pub commitment: String,
    /// `false` for an event that was in the ledger already.
    pub is_new: bool,
}

/// The reason why a request was not acknowledged.
#[derive(Debug)]
pub enum Miss {
    /// The ledger in the folder refuses it.
    Ledger(AppendError),
    /// The service refuses it, or does not answer.
    Client(ClientError),
}

impl Delivery {
    /// Returns a sender to this ledger; a `stream` is that of every event.
    pub fn new(access: &Access, ledger: &LedgerName, stream: Option<&str>) -> Self {
        let way = match access {
            Access::Folder(folder) => AppendRoute::Folder(folder.ledger.clone()),
            Access::Service(client) => {
                let stream = stream.map(|stream| format!("/streams/{}", percent_encoded(stream)));
                let path = format!("/v1/ledgers/{ledger}{}/events", stream.unwrap_or_default());
                AppendRoute::Service { client: client.another(), path }
            }
        };
        let stream = stream.map(str::to_owned);
        Self { way, stream, retries: 0, has_answered: false, backoff: Backoff::default() }
    }

    /// Sets whether the service is known to be there: if it is gone later, it may come back.
    pub fn known_to_answer(self, has_answered: bool) -> Self {
        Self { has_answered, ..self }
    }

    /// Sets the number of retries.
    pub fn with_retries(self, max_retries: u32) -> Self {
        Self { backoff: Backoff::with_retries(max_retries), ..self }
    }

    /// Delivers the events of a body. Returned `Ok` ⇒ they are acknowledged. A request that met a busy ledger, or whose
    /// outcome is unknown, is sent again unchanged, since each event is accepted once.
    pub async fn deliver(&mut self, form: BodyForm, body: &Bytes) -> Result<AppendOutcome, Miss> {
        let mut backoff = self.backoff.clone();
        loop {
            let miss = match self.send(form, body).await {
                Err(miss) if miss.is_worth_a_retry(self.has_answered) => miss,
                settled => return settled,
            };
            let Some(pause) = backoff.pause(miss.asked_pause()) else { return Err(miss) };
            tokio::time::sleep(pause).await;
            self.retries += 1;
        }
    }

    async fn send(&mut self, form: BodyForm, body: &Bytes) -> Result<AppendOutcome, Miss> {
        match &mut self.way {
            AppendRoute::Folder(ledger) => {
                append(ledger, form, body, self.stream.as_deref()).await.map_err(Miss::Ledger)
            }
            AppendRoute::Service { client, path } => {
                let answer = client.post(path, content_type(form), body.clone()).await;
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

async fn append(
    ledger: &Ledger,
    form: BodyForm,
    body: &Bytes,
    stream: Option<&str>,
) -> Result<AppendOutcome, AppendError> {
    // It was checked before; what would fail here fails as an empty request.
    let events = parse_events(body, form, stream).unwrap_or_default();
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

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ledger(error) => error.fmt(f),
            Self::Client(error) => write!(f, "{error}{}", token_advice(error)),
        }
    }
}

impl Miss {
    /// Returns the exit code of the program.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Ledger(error) if error.kind() == ErrorKind::Refused => Exit::Refused,
            Self::Client(error) => error.into(),
            Self::Ledger(_) => Exit::Failed,
        }
    }

    fn is_worth_a_retry(&self, has_answered: bool) -> bool {
        match self {
            Self::Ledger(error) => error.kind() == ErrorKind::Retry,
            Self::Client(ClientError::Connect { .. }) => has_answered,
            Self::Client(error) => error.is_passing(),
        }
    }

    fn asked_pause(&self) -> Option<Duration> {
        match self {
            Self::Ledger(AppendError::QueueFull { retry_after_s }) => {
                Some(Duration::from_secs(*retry_after_s))
            }
            Self::Client(error) => error.requested_pause(),
            Self::Ledger(_) => None,
        }
    }
}

impl AppendMiss for Miss {
    fn code(&self) -> &str {
        match self {
            Self::Ledger(error) => error.code(),
            Self::Client(ClientError::Refused(refusal)) => &refusal.problem.code,
            Self::Client(_) => "",
        }
    }

    fn refused_event(&self) -> Option<usize> {
        match self {
            Self::Ledger(
                AppendError::Invalid { index, .. }
                | AppendError::Schema { index, .. }
                | AppendError::Unencodable { index, .. }
                | AppendError::ReservedType { index, .. }
                | AppendError::IdReused { index, .. }
                | AppendError::RepeatedId { index, .. },
            ) => Some(*index),
            Self::Client(ClientError::Refused(Refusal { problem, .. })) if !problem.retryable => {
                problem.errors.first()?.pointer.as_deref()?.split('/').nth(1)?.parse().ok()
            }
            _ => None,
        }
    }

    fn is_about_size(&self) -> bool {
        matches!(self.code(), "request-too-large" | "too-many-events")
    }
}

impl AppendChannel for Delivery {
    type Miss = Miss;

    async fn append(&mut self, events: Vec<u8>) -> Result<Acknowledgement, Miss> {
        Ok(self.deliver(BodyForm::Batch, &events.into()).await?.into())
    }

    fn retries(&self) -> u64 {
        self.retries
    }
}

impl From<AppendOutcome> for Acknowledgement {
    fn from(appended: AppendOutcome) -> Self {
        let created = appended.receipts.iter().filter(|receipt| receipt.is_new).count();
        Self {
            created: created as u64,
            duplicates: (appended.receipts.len() - created) as u64,
            derived: appended.derived as u64,
            head_position: appended.head_position,
            head_hash: appended.head_hash,
        }
    }
}

impl From<AppendReceipt> for AppendOutcome {
    fn from(appended: AppendReceipt) -> Self {
        let receipts = appended.results.into_iter().map(|result| EventReceipt {
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

impl From<AppendAnswer> for AppendOutcome {
    fn from(answer: AppendAnswer) -> Self {
        let receipts = answer.results.into_iter().map(|result| EventReceipt {
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
