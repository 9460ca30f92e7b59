//! Events that the service writes for its callers, and those that the reactor derives from them.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bitacora_formats::limits::MAX_ID_BYTES;
use bitacora_formats::{Data, Event, Json, JsonError};
use bitacora_governance::{DerivedValue, Governance};
use bitacora_ledger::{
    AppendError, AppendReceipt, AppendRequest, DerivedReceipt, PendingAppend, StoredEvent,
};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{BoundedText, EventData, Name};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::errors::code_named;
use crate::http::body::BufferedBody;
use crate::http::media::media_type;
use crate::limits::{INLINE_BODY_BYTES, MOVED_RETRIES, MOVED_WAIT};
use crate::problem::{Code, FaultLocation, Problem, SideEffects};
use crate::strict_object::ObjectMembers;

/// The source of requests for calls, and of their outcomes.
pub(crate) const DECIDE_SOURCE: &str = "urn:bitacora:decide";
/// The source of operators' acts.
const ACT_SOURCE: &str = "urn:bitacora:act";

/// A session, a run, an agent: with its prefix it has to fit a stream's name.
pub(crate) type PlaceName = BoundedText<500>;

/// An event that a request becomes. It can be sent more than once: its contents do not change.
#[derive(Debug, Clone)]
pub(crate) struct ServiceEvent {
    pub(crate) id: String,
    pub(crate) source: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) stream: String,
    pub(crate) actor: String,
    /// The time that its sender's clock showed, in RFC 3339, for what is told later than it was.
    pub(crate) time: Option<String>,
    pub(crate) about: CallContext,
    pub(crate) data: Json<'static>,
}

/// The call, agent, session and run that an event belongs to.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallContext {
    pub(crate) call: Option<Name>,
    pub(crate) agent: Option<PlaceName>,
    pub(crate) session: Option<PlaceName>,
    pub(crate) run: Option<PlaceName>,
}

impl CallContext {
    /// Takes the members that every request about a call may have. An agent's token speaks for that agent alone.
    pub(crate) fn take(
        call: Name,
        members: &mut ObjectMembers<'_>,
        caller: &Caller,
    ) -> Result<Self, Problem> {
        let named: Option<PlaceName> = members.take("agent")?;
        let agent = caller.agent_for(named.as_deref())?.map(PlaceName::new).transpose();
        Ok(Self {
            call: Some(call),
            agent: agent.map_err(|error| members.bad("agent", &error))?,
            session: members.take("session")?,
            run: members.take("run")?,
        })
    }

    /// The stream of a call: its session's, else its run's, else its agent's, else one for all others.
    pub(crate) fn stream(&self) -> String {
        match (&self.session, &self.run, &self.agent) {
            (Some(session), _, _) => format!("session/{session}"),
            (None, Some(run), _) => format!("run/{run}"),
            (None, None, Some(agent)) => format!("agent/{agent}"),
            (None, None, None) => "calls".to_owned(),
        }
    }
}

impl ServiceEvent {
    /// An operator's act. No two have the same id: the head grows with each opening of the ledger.
    pub(crate) fn act<T: EventData>(
        ledger: &IndexedLedger,
        caller: &Caller,
        stream: &'static str,
        data: &T,
    ) -> Result<Self, Problem> {
        Ok(Self {
            id: act_id(ledger),
            source: ACT_SOURCE,
            kind: T::KIND,
            stream: stream.to_owned(),
            actor: caller.actor().to_owned(),
            time: None,
            about: CallContext::default(),
            data: event_data(data)?,
        })
    }

    pub(crate) fn event(&self) -> Event<'_> {
        let mut event = Event::new(&*self.id, self.source, self.kind, &*self.stream);
        event.actor = Some(self.actor.as_str().into());
        event.time = self.time.as_deref().map(Into::into);
        event.call = self.about.call.as_deref().map(Into::into);
        event.agent = self.about.agent.as_deref().map(Into::into);
        event.session = self.about.session.as_deref().map(Into::into);
        event.run = self.about.run.as_deref().map(Into::into);
        event.data = Data::Json(self.data.borrowed());
        event
    }

    /// Appends it and waits until it is durable, with all events that it caused. A request whose ground has just moved is asked once more.
    pub(crate) async fn append(self, api: &Api, ledger: &IndexedLedger) -> Result<AppendReceipt, Problem> {
        Arc::new(self).append_shared(api, ledger).await
    }

    /// Does the same for a caller that may have to send it once more under another id.
    pub(crate) async fn append_shared(
        self: &Arc<Self>,
        api: &Api,
        ledger: &IndexedLedger,
    ) -> Result<AppendReceipt, Problem> {
        append_all(self, api, ledger).await
    }

    /// Appends several together: all of them are there afterwards, or none.
    pub(crate) async fn append_together(
        events: Vec<Self>,
        api: &Api,
        ledger: &IndexedLedger,
    ) -> Result<AppendReceipt, Problem> {
        append_all(&Arc::new(events), api, ledger).await
    }
}

/// The events of one request to the ledger.
trait RequestEvents: Send + Sync + 'static {
    fn all(&self) -> &[ServiceEvent];
}

impl RequestEvents for ServiceEvent {
    fn all(&self) -> &[ServiceEvent] {
        std::slice::from_ref(self)
    }
}

impl RequestEvents for Vec<ServiceEvent> {
    fn all(&self) -> &[ServiceEvent] {
        self
    }
}

async fn append_all(
    events: &Arc<impl RequestEvents>,
    api: &Api,
    ledger: &IndexedLedger,
) -> Result<AppendReceipt, Problem> {
    let mut moves = 0;
    loop {
        let before = ledger.head().position;
        match submit(events, ledger).await {
            Err(AppendError::Reactor { code, .. }) if code.is_passing() && moves < MOVED_RETRIES => {
                moves += 1;
                let next = before.next().unwrap_or(before);
                api.wait_for_head(ledger.ledger(), next, Instant::now() + MOVED_WAIT).await;
            }
            done => {
                let appended = done?;
                api.metrics.count_append(ledger.ledger(), &appended);
                return Ok(appended);
            }
        }
    }
}

/// Sends them on their way, where that may take as long as it takes, and waits for the disk.
async fn submit(
    events: &Arc<impl RequestEvents>,
    ledger: &IndexedLedger,
) -> Result<AppendReceipt, AppendError> {
    let bytes: usize = events.all().iter().map(|event| event.data.as_bytes().len()).sum();
    let pending = if bytes <= INLINE_BODY_BYTES {
        send(&**events, ledger)
    } else {
        let (events, ledger) = (Arc::clone(events), ledger.clone());
        // A task that is lost has sent nothing, or something that is accepted once.
        let sent = tokio::task::spawn_blocking(move || send(&*events, &ledger)).await;
        sent.unwrap_or(Err(AppendError::Unknown))
    };
    pending?.await
}

fn send(events: &impl RequestEvents, ledger: &IndexedLedger) -> Result<PendingAppend, AppendError> {
    ledger.append_ahead(AppendRequest::of(events.all().iter().map(ServiceEvent::event).collect()))
}

/// An id that no other act has.
pub(crate) fn act_id(ledger: &IndexedLedger) -> String {
    static ACTS: AtomicU64 = AtomicU64::new(1);
    format!("{}.{}", ledger.head().position, ACTS.fetch_add(1, Ordering::Relaxed))
}

/// Returns the governance of the ledger.
pub(crate) fn governance(ledger: &IndexedLedger) -> Result<&Arc<Governance>, Problem> {
    ledger.ledger().governance().ok_or_else(|| {
        Problem::new(Code::NotGoverned, "the ledger was opened as a log alone; nothing decides about it")
    })
}

/// Data as it is recorded.
pub(crate) fn event_data<T: Serialize>(data: &T) -> Result<Json<'static>, Problem> {
    let bytes = serde_json::to_vec(data)
        .map_err(|error| Problem::new(Code::BadBody, format!("the body cannot be recorded: {error}")))?;
    Json::check(bytes).map_err(|error| unfit_json(&error))
}

/// JSON that readers would understand in several ways, or not at all.
fn unfit_json(error: &JsonError) -> Problem {
    Problem::new(code_named(error.kind.code()), error.to_string()).with_fault(
        FaultLocation::Body { line: None, pointer: error.pointer.clone() },
        error.kind.to_string(),
    )
}

/// An event's id made of a call's.
pub(crate) fn call_id(members: &ObjectMembers<'_>, id: String) -> Result<String, Problem> {
    if id.len() <= MAX_ID_BYTES {
        return Ok(id);
    }
    let fault = format!("the event's id would be {} bytes; at most {MAX_ID_BYTES} are taken", id.len());
    Err(members.bad("call", &fault))
}

/// The body of a request that is JSON.
pub(crate) async fn json_bytes(
    api: &Api,
    caller: &Caller,
    headers: &HeaderMap,
    body: Body,
) -> Result<BufferedBody, Problem> {
    if media_type(headers)? != "application/json" {
        return Err(Problem::new(Code::UnsupportedMediaType, "the body is application/json"));
    }
    api.bodies.read(caller.lane(), caller.key(), headers, body).await
}

/// Returns the data of a derived event. That of an event just appended is known. For an earlier event, or one that is recorded in other
/// words, the log is read.
pub(crate) async fn derived_data<'r, T: DeserializeOwned + Clone + 'r>(
    derived: &'r DerivedReceipt,
    known: impl FnOnce(&'r DerivedValue) -> Option<&'r T>,
    api: &Api,
    ledger: &IndexedLedger,
) -> Result<Cow<'r, T>, Problem> {
    if let Some(said) = derived.meaning.as_ref().and_then(known) {
        return Ok(Cow::Borrowed(said));
    }
    let (ledger, position) = (ledger.clone(), derived.position);
    let stored = api.read(move || Ok(ledger.event(position)?)).await;
    let data = stored.and_then(|stored| data_of(&stored));
    data.map(Cow::Owned).map_err(|problem| problem.with_side_effects(SideEffects::Committed))
}

/// The data of an event that was recorded.
pub(crate) fn data_of<T: DeserializeOwned>(stored: &StoredEvent<'_>) -> Result<T, Problem> {
    let position = stored.position;
    if let Some(policy) = stored.expired_by {
        let detail = format!(
            "the content of the event at position {position} expired under the policy of event {policy}"
        );
        return Err(Problem::new(Code::ContentExpired, detail).with("position", position));
    }
    if stored.erased {
        let detail =
            format!("the content of the event at position {position} was erased with its data subject");
        return Err(Problem::new(Code::ContentErased, detail).with("position", position));
    }
    let unreadable = |why: &dyn std::fmt::Display| {
        let detail = format!("the event at position {position} cannot be read: {why}");
        Problem::new(Code::Internal, detail).with_side_effects(SideEffects::None)
    };
    let Data::Json(json) = &stored.event.data else { return Err(unreadable(&"its data is not in clear")) };
    serde_json::from_slice(json.as_bytes()).map_err(|error| unreadable(&error))
}

/// A body that may be left out.
pub(crate) async fn optional_body(
    api: &Api,
    caller: &Caller,
    headers: &HeaderMap,
    body: Body,
) -> Result<Option<BufferedBody>, Problem> {
    if headers.contains_key(header::CONTENT_TYPE) {
        return json_bytes(api, caller, headers, body).await.map(Some);
    }
    let body = api.bodies.read(caller.lane(), caller.key(), headers, body).await?;
    if body.as_slice().is_empty() {
        return Ok(None);
    }
    Err(Problem::new(Code::UnsupportedMediaType, "the body is application/json"))
}
