//! A ledger of a service, as its admin asks it.

use bitacora_api::HeadAnswer;
use bitacora_client::{ClientError, Connection};
use bitacora_formats::LedgerName;
use hyper::Method;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A ledger of a service, asked with an admin's token.
pub struct ConnectedLedger {
    pub(crate) service: Connection,
    pub(crate) ledger: LedgerName,
}

impl ConnectedLedger {
    /// The ledger with this name at the service at the other end.
    #[must_use]
    pub fn new(service: Connection, ledger: LedgerName) -> Self {
        Self { service, ledger }
    }

    /// Returns another connection to its service.
    #[must_use]
    pub fn connection(&self) -> Connection {
        self.service.another()
    }

    /// Returns its head.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn head(&mut self) -> Result<HeadAnswer, ClientError> {
        self.read(Method::GET, "head", None).await
    }

    /// Sends JSON, and returns the answer.
    pub(crate) async fn send<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let json = serde_json::to_string(body).map_err(|_| self.service.strange())?;
        self.read(method, path, Some(&json)).await
    }

    /// Sends a JSON text, or nothing, and returns the answer.
    pub(crate) async fn read<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        json: Option<&str>,
    ) -> Result<T, ClientError> {
        let path = format!("/v1/ledgers/{}/{path}", self.ledger);
        let json = json.map(|json| Bytes::copy_from_slice(json.as_bytes()));
        let answer = self.service.exchange(&method, &path, json, None).await?;
        serde_json::from_slice(&answer).map_err(|_| self.service.strange())
    }
}
