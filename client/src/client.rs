//! One ledger of a service, as an executor uses it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bitacora_api::paths::{self, percent_encoded};
use bitacora_api::{AppendAnswer, OutcomeAnswer};
use bitacora_formats::{Event, LedgerName, write_event_line};
use hyper::Method;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::answers::Decision;
use crate::backoff::Backoff;
use crate::call::{CallRequest, OutcomeReport};
use crate::checkpoints::Checkpoints;
use crate::connection::{Connection, Connector};
use crate::cursor::Cursor;
use crate::error::ClientError;
use crate::following::{FollowError, FollowStream};
use crate::ledger_doubt::LedgerDoubt;
use crate::policy_cache::{CacheDenial, CheckedDecision, PolicyCache, PolicyCacheOptions};
use crate::pool::Pool;
use crate::service_url::ServiceUrl;
use crate::token::Token;

/// The media type that events are sent as: one event a line.
const NDJSON: &str = "application/x-ndjson";
const JSON: &str = "application/json";

/// One ledger of a service. Copies share their connections.
#[derive(Clone)]
pub struct Client {
    pool: Arc<Pool>,
    ledger: LedgerName,
    backoff: Backoff,
}

impl Client {
    /// Returns the client of the ledger with this name at a service. It connects with the first request.
    #[must_use]
    pub fn new(url: ServiceUrl, ledger: LedgerName, token: Option<Token>) -> Self {
        Self { pool: Arc::new(Pool::new(url, token)), ledger, backoff: Backoff::default() }
    }

    /// Returns the client of a service in this process.
    #[must_use]
    pub fn within(service: Arc<dyn Connector>, ledger: LedgerName) -> Self {
        Self { pool: Arc::new(Pool::within(service)), ledger, backoff: Backoff::default() }
    }

    /// Returns the client with another retry policy.
    #[must_use]
    pub fn with_backoff(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    /// Returns what answers said against the ledger: where it has a reason, they rest on less than the ledger held.
    #[must_use]
    pub fn doubt(&self) -> &LedgerDoubt {
        self.pool.doubt()
    }

    /// Appends events, as one atomic request. Returned `Ok` ⇒ they are durable. A request that met a busy service, or
    /// whose outcome is unknown, is sent again unchanged: each event is taken once, by its source and id.
    ///
    /// # Errors
    /// [`ClientError`]; where it is not [`ClientError::Refused`] it is unknown whether they were appended, and the same
    /// events may be appended again.
    pub async fn append(&self, events: &[Event<'_>]) -> Result<AppendAnswer, ClientError> {
        let mut body = Vec::new();
        for event in events {
            write_event_line(event, &mut body);
            body.push(b'\n');
        }
        self.append_lines(body.into()).await
    }

    /// Appends events that are lines of NDJSON already.
    pub(crate) async fn append_lines(&self, lines: Bytes) -> Result<AppendAnswer, ClientError> {
        self.post(&self.path(paths::EVENTS, &[]), NDJSON, lines).await
    }

    /// Asks whether a call may begin now. A repeated request gets the first answer, so it is sent again where the
    /// answer was lost.
    ///
    /// # Errors
    /// [`ClientError`]: the call may not begin. [`ClientError::Strange`] if the answer is about another call, as a
    /// cache between client and service may return one.
    pub async fn decide(&self, call: &CallRequest) -> Result<Decision, ClientError> {
        let decision: Decision = self.post(&self.path(paths::DECIDE, &[]), JSON, self.json(call)?).await?;
        if decision.call == call.id() { Ok(decision) } else { Err(self.pool.take().strange()) }
    }

    /// Reports how a call ended. Returned `Ok` ⇒ it is durable.
    ///
    /// # Errors
    /// [`ClientError`]; the report may be sent again.
    pub async fn outcome(&self, outcome: &OutcomeReport) -> Result<OutcomeAnswer, ClientError> {
        self.post(&self.path(paths::OUTCOME, &[]), JSON, self.json(outcome)?).await
    }

    /// Follows the ledger from where the cursor stands, or from its first event on; `filters` is a query without `?`, like
    /// `type=decision.made&agent=coder`, with values that are percent-encoded. Nothing is connected yet.
    ///
    /// # Errors
    /// [`FollowError::Cursor`].
    pub fn follow(&self, filters: &str, cursor: Option<Cursor>) -> Result<FollowStream, FollowError> {
        FollowStream::new(self.pool.take().another(), &self.path(paths::EVENTS, &[]), filters, cursor)
    }

    /// Returns the checkpoints of threads of work.
    #[must_use]
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::new(self.clone())
    }

    /// Starts a policy cache of one executor's calls, kept fresh by a task of the current runtime. It answers in
    /// microseconds, and never allows: see [`PolicyCache`].
    #[must_use]
    pub fn policy_cache(&self, options: &PolicyCacheOptions) -> PolicyCache {
        PolicyCache::start(self, options)
    }

    /// Asks whether a call may begin now, unless the cache knows that it may not. The ledger is asked about everything
    /// that the cache cannot tell. Denials by the cache are not recorded. An executor that wants every denial in the
    /// ledger calls [`Self::decide`].
    ///
    /// # Errors
    /// [`ClientError`]: the call may not begin.
    pub async fn decide_unless_denied(
        &self,
        cache: &PolicyCache,
        call: &CallRequest,
    ) -> Result<CheckedDecision, ClientError> {
        if let Ok(predicted) = cache.predict(call)
            && predicted.denies()
        {
            return Ok(CheckedDecision::Denied(CacheDenial(predicted)));
        }
        self.decide(call).await.map(|decision| CheckedDecision::Decided(Box::new(decision)))
    }

    /// Returns a separate connection for a policy cache, and the path of its stream.
    pub(crate) fn policy_cache_stream(&self, agent: Option<&str>) -> (Connection, String) {
        let path = self.path(paths::POLICY_CACHE_WATCH, &[]);
        let path = match agent {
            Some(agent) => format!("{path}?agent={}", percent_encoded(agent)),
            None => path,
        };
        (self.pool.take().another(), path)
    }

    /// Posts a request that is safe to repeat, until its outcome is known or the retries are used up.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        kind: &str,
        body: Bytes,
    ) -> Result<T, ClientError> {
        let mut backoff = self.backoff.clone();
        loop {
            let mut connection = self.pool.take();
            let answer = connection.post(path, kind, body.clone()).await;
            match self.settled(connection, answer, &mut backoff) {
                AttemptResult::Done(done) => return done,
                AttemptResult::Again(pause) => tokio::time::sleep(pause).await,
            }
        }
    }

    /// Sends a query that is safe to repeat, likewise. If a position is given, the answer rests on it.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        method: &Method,
        path: &str,
        json: Option<Bytes>,
        at_least: Option<&str>,
    ) -> Result<T, ClientError> {
        let mut backoff = self.backoff.clone();
        loop {
            let mut connection = self.pool.take();
            let answer = connection.exchange(method, path, json.clone(), at_least).await;
            match self.settled(connection, answer, &mut backoff) {
                AttemptResult::Done(done) => return done,
                AttemptResult::Again(pause) => tokio::time::sleep(pause).await,
            }
        }
    }

    /// Returns the answer that ends a request, or the pause before its retry.
    fn settled<T: DeserializeOwned>(
        &self,
        connection: Connection,
        answer: Result<Bytes, ClientError>,
        backoff: &mut Backoff,
    ) -> AttemptResult<T> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if error.is_passing() => {
                return match backoff.pause(error.requested_pause()) {
                    Some(pause) => AttemptResult::Again(pause),
                    None => AttemptResult::Done(Err(error)),
                };
            }
            Err(error) => return AttemptResult::Done(Err(error)),
        };
        let read = serde_json::from_slice(&answer).map_err(|_| connection.strange());
        self.pool.put_back(connection);
        AttemptResult::Done(read)
    }

    pub(crate) fn json(&self, value: &impl Serialize) -> Result<Bytes, ClientError> {
        let json = serde_json::to_vec(value);
        json.map(Bytes::from).map_err(|_| self.strange())
    }

    /// Returns the error for an answer that was not understood.
    pub(crate) fn strange(&self) -> ClientError {
        self.pool.take().strange()
    }

    /// Returns the path of a template below the ledger with these parameters.
    pub(crate) fn path(&self, template: &str, parameters: &[&str]) -> String {
        let mut values = vec![self.ledger.as_str()];
        values.extend_from_slice(parameters);
        paths::path(template, &values)
    }

    /// Gets any other resource under the ledger: `runs?limit=10`. There is no retry.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn get<T: DeserializeOwned>(&self, resource: &str) -> Result<T, ClientError> {
        let mut connection: Connection = self.pool.take();
        let path = format!("{}/{resource}", self.path(paths::LEDGER, &[]));
        let answer = connection.exchange(&Method::GET, &path, None, None).await?;
        let read = serde_json::from_slice(&answer).map_err(|_| connection.strange());
        self.pool.put_back(connection);
        read
    }
}

/// The next step of a request: its result, or a retry after a pause.
enum AttemptResult<T> {
    Done(Result<T, ClientError>),
    Again(Duration),
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.ledger.as_str()).finish()
    }
}
