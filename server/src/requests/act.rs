//! An operator's act: its caller and ledger, the event that it becomes, and its answer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bitacora_api::ActAnswer;
use bitacora_formats::LedgerName;
use bitacora_governance::Governance;
use bitacora_ledger::AppendReceipt;
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{BoundedText, EventData};
use serde::Serialize;
use tokio::sync::OwnedMutexGuard;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::body::BufferedBody;
use crate::http::path::PathNames;
use crate::http::query::Query;
use crate::problem::{Code, Problem};
use crate::requests::read_request::json_answer;
use crate::requests::service_event::{ServiceEvent, governance, json_bytes, optional_body};
use crate::strict_object::ObjectMembers;

/// A request to act on the ledger that its path names. A resource reads what is said and records what that comes to; what it leaves
/// unread of the query is refused then.
pub(crate) struct Act {
    pub(crate) api: Arc<Api>,
    pub(crate) caller: Caller,
    pub(crate) ledger: IndexedLedger,
    pub(crate) headers: HeaderMap,
    governance: Arc<Governance>,
    name: Option<LedgerName>,
    named: String,
    parameters: Option<String>,
    body: Body,
}

impl FromRequest<Arc<Api>> for Act {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Arc<Api>) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let caller = Caller::from_request_parts(&mut parts, api).await?;
        let names = PathNames::from_request_parts(&mut parts, api).await?;
        let ledger = api.ledger_of(&names)?;
        let governance = Arc::clone(governance(&ledger)?);
        let parameters = parts.uri.query().map(str::to_owned);
        Ok(Self {
            api: Arc::clone(api),
            caller,
            ledger,
            headers: parts.headers,
            governance,
            name: names.ledger,
            named: names.named.unwrap_or_default(),
            parameters,
            body,
        })
    }
}

impl Act {
    /// Returns the governance of the ledger.
    pub(crate) fn governance(&self) -> &Governance {
        &self.governance
    }

    /// Returns the name behind the ledger in the path, as it came.
    pub(crate) fn named(&self) -> &str {
        &self.named
    }

    /// The same in two: `a17:approve` names an approval, and what is done to it.
    pub(crate) fn named_verb(&self) -> (&str, &str) {
        self.named.rsplit_once(':').unwrap_or((&self.named, ""))
    }

    /// Reads the query, which an act has none of unless it asks here.
    pub(crate) fn query<T>(
        &mut self,
        read: impl FnOnce(&mut Query<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let parameters = self.parameters.take();
        let mut query = Query::parse(parameters.as_deref())?;
        let read = read(&mut query)?;
        query.finish()?;
        Ok(read)
    }

    /// The body, which is JSON.
    pub(crate) async fn body(&mut self) -> Result<BufferedBody, Problem> {
        json_bytes(&self.api, &self.caller, &self.headers, std::mem::take(&mut self.body)).await
    }

    /// The body as it is.
    pub(crate) async fn bytes(&mut self) -> Result<BufferedBody, Problem> {
        self.api
            .bodies
            .read(self.caller.lane(), self.caller.key(), &self.headers, std::mem::take(&mut self.body))
            .await
    }

    /// Reads the body, a JSON object, and refuses what is left of it.
    pub(crate) async fn read<T>(
        &mut self,
        read: impl FnOnce(&mut ObjectMembers<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let body = self.body().await?;
        read_members(&body, read)
    }

    /// The same where the body may be left out.
    pub(crate) async fn read_if_any<T>(
        &mut self,
        read: impl FnOnce(&mut ObjectMembers<'_>) -> Result<T, Problem>,
    ) -> Result<Option<T>, Problem> {
        let body =
            optional_body(&self.api, &self.caller, &self.headers, std::mem::take(&mut self.body)).await?;
        let body = body.filter(|body| !body.as_slice().is_empty());
        body.map(|body| read_members(&body, read)).transpose()
    }

    /// The one thing that many acts say beside themselves: why.
    pub(crate) async fn note<const MAX: usize>(
        &mut self,
        member: &'static str,
    ) -> Result<Option<BoundedText<MAX>>, Problem> {
        Ok(self.read_if_any(|members| members.take(member)).await?.flatten())
    }

    /// Waits for its turn in the ledger. An act that rests on what stands there, such as the number of the next version, holds it until
    /// it is recorded.
    pub(crate) async fn turn(&mut self) -> OwnedMutexGuard<()> {
        self.api.turns.of(self.name.as_ref()).await
    }

    /// Waits for the changes of holds and retention policies of the ledger that came before.
    pub(crate) async fn custody_turn(&mut self) -> OwnedMutexGuard<()> {
        self.api.custody.of(self.name.as_ref()).await
    }

    /// Waits for the erasures of the ledger that came before.
    pub(crate) async fn erasure_turn(&mut self) -> OwnedMutexGuard<()> {
        self.api.erasures.of(self.name.as_ref()).await
    }

    /// Records the act, and waits until it is durable. A caller whose token has ended meanwhile acts no more: a body may have been on its
    /// way for minutes.
    pub(crate) async fn record<T: EventData>(
        &mut self,
        stream: &'static str,
        data: &T,
    ) -> Result<RecordedAct, Problem> {
        let event = ServiceEvent::act(&self.ledger, &self.caller, stream, data)?;
        self.record_together(vec![event]).await
    }

    /// An act under an id that follows from what it is about, so that there is one such act.
    pub(crate) fn event<T: EventData>(
        &self,
        id: String,
        stream: &'static str,
        data: &T,
    ) -> Result<ServiceEvent, Problem> {
        Ok(ServiceEvent { id, ..ServiceEvent::act(&self.ledger, &self.caller, stream, data)? })
    }

    /// Records several acts as one: all of them, or none.
    pub(crate) async fn record_together(
        &mut self,
        events: Vec<ServiceEvent>,
    ) -> Result<RecordedAct, Problem> {
        Query::parse(self.parameters.as_deref())?.finish()?;
        self.caller.still_holds(&self.api.authenticator)?;
        Ok(RecordedAct(ServiceEvent::append_together(events, &self.api, &self.ledger).await?))
    }
}

fn read_members<T>(
    body: &BufferedBody,
    read: impl FnOnce(&mut ObjectMembers<'_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let mut members = ObjectMembers::of_body(body.as_slice())?;
    let said = read(&mut members)?;
    members.finish()?;
    Ok(said)
}

/// Returns the problem of a path that names an unknown verb or thing.
pub(crate) fn no_such_verb(detail: &str) -> Problem {
    Problem::new(Code::NoSuchResource, detail)
}

/// An act that is durable.
pub(crate) struct RecordedAct(pub(crate) AppendReceipt);

impl RecordedAct {
    /// Answers with the position of the act's event.
    pub(crate) fn answer(&self) -> Result<Response, Problem> {
        self.answer_as(StatusCode::OK, |position| ActAnswer { position })
    }

    /// Answers with more than the position of the act's event.
    pub(crate) fn answer_as<T: Serialize>(
        &self,
        status: StatusCode,
        answer: impl FnOnce(String) -> T,
    ) -> Result<Response, Problem> {
        let mut response = json_answer(&self.0.head, &answer(self.0.first.to_string()))?;
        *response.status_mut() = status;
        Ok(response)
    }
}
