//! The ledger's service, as the proxy asks it: each question within a time, and the same question again where its answer was lost.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bitacora_api::paths;
use bitacora_client::{ClientError, Connection, ServiceUrl, Token};
use bitacora_connect::DeliveryPlace;
use bitacora_formats::LedgerName;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use crate::error::ServiceFailure;

/// The type of what is posted.
const JSON: &str = "application/json";
/// The type of an event that is appended.
const CLOUD_EVENT: &str = "application/cloudevents+json";
/// Tries of one question after the first.
const RETRIES: u32 = 2;
/// The pause before each.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Connections that are kept for the next questions.
const MAX_IDLE: usize = 8;

/// One ledger of a service, and the agent's token for it.
pub struct Service {
    first: Connection,
    idle: Mutex<Vec<Connection>>,
    ledger: LedgerName,
    answer_key: Option<[u8; 32]>,
}

impl Service {
    /// Returns the ledger at a service. Nothing is connected yet. With a key, no answer is believed that its holder did not sign.
    #[must_use]
    pub fn new(
        url: ServiceUrl,
        ledger: LedgerName,
        token: Option<Token>,
        answer_key: Option<[u8; 32]>,
    ) -> Self {
        Self { first: Connection::new(url, token), idle: Mutex::default(), ledger, answer_key }
    }

    /// Returns the place that spooled inputs are delivered to.
    pub(crate) fn place(&self) -> DeliveryPlace<'_> {
        DeliveryPlace { ledger: self.ledger.as_str(), answer_key: self.answer_key.as_ref() }
    }

    /// Returns the path of a resource below the ledger.
    pub(crate) fn path(&self, template: &str, values: &[&str]) -> String {
        let mut all = vec![self.ledger.as_str()];
        all.extend_from_slice(values);
        paths::path(template, &all)
    }

    /// Returns a connection of its own.
    pub(crate) fn connection(&self) -> Connection {
        self.first.another()
    }

    /// Posts a body that may be posted twice, and reads the answer.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        patience: Duration,
    ) -> Result<T, ServiceFailure> {
        let body = serde_json::to_vec(body).map_err(|_| ServiceFailure::Answer)?;
        self.asked(path, Some((JSON, body)), patience).await
    }

    /// Appends an event, which is taken once however often it is sent.
    pub(crate) async fn append<T: DeserializeOwned>(
        &self,
        path: &str,
        event: &impl Serialize,
        patience: Duration,
    ) -> Result<T, ServiceFailure> {
        let body = serde_json::to_vec(event).map_err(|_| ServiceFailure::Answer)?;
        self.asked(path, Some((CLOUD_EVENT, body)), patience).await
    }

    /// Gets a resource.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<T, ServiceFailure> {
        self.asked(path, None, patience).await
    }

    async fn asked<T: DeserializeOwned>(
        &self,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
        patience: Duration,
    ) -> Result<T, ServiceFailure> {
        let asked = timeout(patience, self.ask(path, body)).await;
        asked.map_err(|_| ServiceFailure::Late(patience.as_secs()))?
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<T, ServiceFailure> {
        let mut left = RETRIES;
        loop {
            let mut connection = self.take();
            let answered = match (&body, &self.answer_key) {
                (Some((kind, body)), Some(key)) => {
                    connection.post_signed(path, kind, body.clone().into(), key).await
                }
                (Some((kind, body)), None) => connection.post(path, kind, body.clone().into()).await,
                (None, Some(key)) => connection.get_signed(path, key).await,
                (None, None) => connection.exchange(&reqwest::Method::GET, path, None, None).await,
            };
            match answered {
                Ok(answer) => {
                    self.put_back(connection);
                    return serde_json::from_slice(&answer).map_err(|_| ServiceFailure::Answer);
                }
                Err(error) if left > 0 && error.is_passing() => {
                    left -= 1;
                    sleep(RETRY_PAUSE).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn take(&self) -> Connection {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop().unwrap_or_else(|| self.first.another())
    }

    fn put_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
    }
}

impl ServiceFailure {
    /// Returns `true` if the service says that it has no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Client(ClientError::Refused(refusal)) if refusal.problem.status == 404)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use serde_json::{Value, json};

    use super::*;

    /// Answers every request on a port of its own with an allow that nobody signed.
    fn impostor() -> ServiceUrl {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let body = r#"{"verdict":"allow"}"#;
                let _read = stream.read(&mut [0; 4096]).unwrap();
                let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        url.parse().unwrap()
    }

    #[tokio::test]
    async fn with_a_key_no_answer_of_another_program_is_believed() {
        let ledger = "main".parse::<LedgerName>().unwrap();
        let patience = Duration::from_secs(5);
        let service = Service::new(impostor(), ledger.clone(), None, Some([9; 32]));
        for answered in [
            service.post::<Value>("/v1/ledgers/main/decide", &json!({}), patience).await,
            service.append("/v1/ledgers/main/events", &json!({}), patience).await,
            service.get("/v1/ledgers/main/mode", patience).await,
        ] {
            assert!(
                matches!(answered, Err(ServiceFailure::Client(ClientError::Unsigned { .. }))),
                "{answered:?}"
            );
        }
        let trusting = Service::new(impostor(), ledger, None, None);
        assert!(trusting.get::<Value>("/v1/ledgers/main/mode", patience).await.is_ok());
    }
}
