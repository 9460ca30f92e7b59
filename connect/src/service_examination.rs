//! The examination of a connection's service. It concludes from answers alone that the ledger signed just now for this connection:
//! a program that takes the service's port may repeat answers that it recorded.

use bitacora_api::{HeadAnswer, ModeAnswer, StoredEventPage};
use bitacora_client::{ClientError, Connection as ServiceConnection, Refusal, percent_encoded};
use bitacora_formats::{AnswerSignatureError, Micros, format_time};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::connection::Connection;
use crate::error::ConnectionError;

/// The events that come of hooks alone. A watch and a reactor write others under the same agent.
const OF_HOOKS: [&str; 8] = [
    "session.started",
    "session.ended",
    "turn.started",
    "turn.ended",
    "run.started",
    "tool.requested",
    "tool.completed",
    "tool.failed",
];

/// The status of a refusal because the token is unknown.
const UNKNOWN_TOKEN: u16 = 401;

/// The answers of a ledger about a connection.
#[derive(Debug)]
pub struct ServiceExamination {
    /// The ledger's head.
    pub head: HeadAnswer,
    /// The modes.
    pub mode: Result<ModeAnswer, ClientError>,
    /// The newest event of a hook since the connection was made.
    pub last_event: Result<Option<LastEvent>, ClientError>,
}

/// The newest event of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastEvent {
    /// Its type.
    pub kind: String,
    /// The time at which it was recorded.
    pub recorded: String,
}

/// The reason why nothing is known of the service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceFault {
    /// The connection cannot be used.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The token is not taken by the program that answers. No signature covers that.
    #[error("not taken, says an answer that nobody signed: {0}")]
    Token(Refusal),
    /// The program that answers is not the ledger, or repeats what the ledger said before.
    #[error("not signed by this connection's ledger: {0}")]
    Unsigned(AnswerSignatureError),
    /// The service does not answer, or refuses.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// The type of an event.
#[derive(Deserialize)]
struct EventType {
    #[serde(rename = "type")]
    kind: String,
}

/// Asks a connection's service, with the connection's token, for everything that shows whether its hooks are governed.
///
/// # Errors
/// The service does not answer, or not as the connection's ledger.
pub async fn examine_service(connection: &Connection) -> Result<ServiceExamination, ServiceFault> {
    let key = connection.answer_key()?;
    let service = ServiceConnection::new(connection.service()?, Some(connection.token()?));
    let mut ledger = FreshLedger { service, key, path: ledger_path(connection) };
    let head = match ledger.get("/head").await {
        Err(ClientError::Unsigned { why, .. }) => return Err(ledger.unsigned(why).await),
        head => head?,
    };
    let mode = ledger.get("/mode").await;
    let kinds: String = OF_HOOKS.iter().map(|kind| format!("&type={kind}")).collect();
    let agent = percent_encoded(&connection.agent);
    let since = connection.connected.map(|since| format!("&since={}", format_time(Micros(since))));
    let path = format!("/events?agent={agent}&dir=backward&limit=1{kinds}{}", since.unwrap_or_default());
    let page: Result<StoredEventPage, ClientError> = ledger.get(&path).await;
    Ok(ServiceExamination { head, mode, last_event: page.map(|page| last_event(&page)) })
}

fn ledger_path(connection: &Connection) -> String {
    format!("/v1/ledgers/{}", percent_encoded(&connection.ledger))
}

fn last_event(page: &StoredEventPage) -> Option<LastEvent> {
    let stored = page.events.first()?;
    let EventType { kind } = serde_json::from_str(stored.event.get()).ok()?;
    Some(LastEvent { kind, recorded: stored.recorded_at.clone() })
}

/// A ledger whose answers are signed for requests of now.
struct FreshLedger {
    service: ServiceConnection,
    key: [u8; 32],
    path: String,
}

impl FreshLedger {
    async fn get<T: DeserializeOwned>(&mut self, resource: &str) -> Result<T, ClientError> {
        let answer = self.service.get_fresh(&format!("{}{resource}", self.path), &self.key).await?;
        serde_json::from_slice(&answer).map_err(|_| self.service.strange())
    }

    /// Tells a service that does not know the token from another program. It signs for nobody that it does not know.
    async fn unsigned(&mut self, why: AnswerSignatureError) -> ServiceFault {
        let path = format!("{}/head", self.path);
        match self.service.get(&path, "application/json").await {
            Err(ClientError::Refused(refusal)) if refusal.problem.status == UNKNOWN_TOKEN => {
                ServiceFault::Token(refusal)
            }
            _ => ServiceFault::Unsigned(why),
        }
    }
}
