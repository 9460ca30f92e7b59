//! The questions to the service, and the events that it is given. All with the connection's own token.

use std::collections::{HashMap, HashSet};
use std::future::Future;

use bitacora_api::paths::percent_encoded;
use bitacora_api::{CallAnswer, CallList, GapAnswer, GapList};
use bitacora_client::{ClientError, Connection as ServiceConnection};
use bitacora_connect::{Connection, is_final};
use bitacora_import::EventDraft;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::error::WatchError;
use crate::evidence::{GapEvidence, MISSING_DECISION, args_key, request_of};
use crate::followed::SeenCall;
use crate::limits::{ANSWER_PATIENCE, EVENTS_OF_A_REQUEST, MAX_PAGES, PAGE_CALLS};
use crate::matching::SessionRequests;

/// The type of a batch of events.
const BATCH: &str = "application/cloudevents-batch+json";
/// The code of a refusal because the id stands for another event.
const ID_REUSED: &str = "id-reused";
/// The status of an event that is new.
const CREATED: &str = "created";

/// The service, as a watch speaks with it.
pub(crate) struct Gate {
    pub(crate) service: ServiceConnection,
    pub(crate) answer_key: [u8; 32],
    pub(crate) ledger: String,
    /// The agent of the connection.
    agent: String,
}

/// The fate of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// It is new.
    New,
    /// It was there before.
    Before,
    /// Another event has its id.
    Taken,
    /// The service will never take it.
    Refused(String),
}

#[derive(Deserialize)]
struct Appended {
    results: Vec<AppendedEvent>,
}

#[derive(Deserialize)]
struct AppendedEvent {
    status: String,
}

#[derive(Deserialize)]
struct RequestPage {
    events: Vec<StoredRequest>,
    next: Option<String>,
    head: PageHead,
}

#[derive(Deserialize)]
struct PageHead {
    position: String,
}

#[derive(Deserialize)]
struct StoredRequest {
    event: RequestEvent,
}

#[derive(Deserialize)]
struct RequestEvent {
    data: Box<RawValue>,
}

/// Marks a request that was recorded elsewhere.
#[derive(Deserialize)]
struct RequestMark {
    assurance: Option<String>,
}

impl Gate {
    pub(crate) fn of(connection: &Connection) -> Result<Self, WatchError> {
        let service = ServiceConnection::new(connection.service()?, Some(connection.token()?));
        Ok(Self {
            service,
            answer_key: connection.answer_key()?,
            ledger: connection.ledger.clone(),
            agent: connection.agent.clone(),
        })
    }

    /// Returns the recorded calls of the connection's agent among these of one session, by id.
    pub(crate) async fn recorded(
        &mut self,
        session: &str,
        calls: &HashSet<String>,
    ) -> Result<HashMap<String, CallAnswer>, WatchError> {
        let path = format!("calls?session={}&limit={PAGE_CALLS}", percent_encoded(session));
        let newest: CallList = self.get(&path).await?;
        let mut found: HashMap<String, CallAnswer> = HashMap::new();
        for call in newest.calls {
            if self.asked(&call) && calls.contains(&call.call) {
                found.entry(call.call.clone()).or_insert(call);
            }
        }
        for call in calls {
            if !found.contains_key(call)
                && let Some(recorded) = self.call(call).await?
            {
                found.insert(call.clone(), recorded);
            }
        }
        Ok(found)
    }

    /// Returns a call by its id, whatever session it was recorded in.
    async fn call(&mut self, call: &str) -> Result<Option<CallAnswer>, WatchError> {
        let found: CallList = self.get(&format!("calls?call={}&limit=10", percent_encoded(call))).await?;
        Ok(found.calls.into_iter().find(|call| self.asked(call)))
    }

    /// Returns `true` if the connection's agent asked the gate for the call: another agent may take the id of one that dodged it.
    fn asked(&self, call: &CallAnswer) -> bool {
        !call.imported && self.is_own(call.agent.as_deref())
    }

    /// Returns `true` for the connection's agent and its subagents. No other agent can write under this name.
    fn is_own(&self, agent: Option<&str>) -> bool {
        let agent = agent.unwrap_or_default();
        agent == self.agent || agent.split_once('/').is_some_and(|(of, _)| of == self.agent)
    }

    /// Reads the requests of a session that came since the last time, and at the first time its gaps.
    pub(crate) async fn requests(
        &mut self,
        session: &str,
        known: &mut SessionRequests,
    ) -> Result<(), WatchError> {
        let named = percent_encoded(session);
        if !known.knows_gaps() {
            let gaps = self.gaps(session).await?;
            known.add_recorded_gaps(gaps.into_iter().map(|gap| gap.call));
        }
        for _ in 0..MAX_PAGES {
            let after = known.after.as_ref().map(|after| format!("&after={after}")).unwrap_or_default();
            let path = format!("events?type=tool.requested&session={named}&limit=500{after}");
            let page: RequestPage = self.get(&path).await?;
            for stored in &page.events {
                let data = stored.event.data.get();
                let is_own =
                    serde_json::from_str::<RequestMark>(data).is_ok_and(|mark| mark.assurance.is_none());
                if let Some((tool, args)) = request_of(data).filter(|_| is_own) {
                    known.add(args_key(&tool, &args));
                }
            }
            let is_last = page.next.is_none();
            known.after = Some(page.next.unwrap_or(page.head.position));
            if is_last {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the gaps of a session that the connection's agent recorded.
    async fn gaps(&mut self, session: &str) -> Result<Vec<GapAnswer>, WatchError> {
        let session = percent_encoded(session);
        let (mut gaps, mut after) = (Vec::new(), String::new());
        for _ in 0..MAX_PAGES {
            let page: GapList = self.get(&format!("gaps?session={session}&limit=1000{after}")).await?;
            gaps.extend(page.gaps.into_iter().filter(|gap| self.is_own(gap.agent.as_deref())));
            match page.next {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        Ok(gaps)
    }

    /// Returns `true` if a recorded gap says of the call what one of these evidences says. A gap that says anything else is no
    /// record: the agent itself may have written it.
    pub(crate) async fn has_gap(
        &mut self,
        call: &SeenCall,
        evidence: &[&GapEvidence],
    ) -> Result<bool, WatchError> {
        let says_so = |gap: &GapAnswer| {
            gap.call == call.call
                && gap.missing == MISSING_DECISION
                && evidence.iter().any(|evidence| evidence.is_told_by(&gap.evidence))
        };
        Ok(self.gaps(&call.session).await?.iter().any(says_so))
    }

    /// Records events, each once. What the service refuses for good is told; anything else fails as a whole and may be repeated.
    pub(crate) async fn append(&mut self, events: &[EventDraft]) -> Result<Vec<Recorded>, WatchError> {
        let mut recorded = Vec::with_capacity(events.len());
        for batch in events.chunks(EVENTS_OF_A_REQUEST) {
            match self.append_batch(batch).await {
                Ok(done) => recorded.extend(done),
                Err(WatchError::Client(ClientError::Refused(refusal))) if is_final(&refusal.problem) => {
                    // The request is refused whole. One by one shows which event it was.
                    for event in batch {
                        recorded.push(self.append_one(event).await?);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(recorded)
    }

    async fn append_one(&mut self, event: &EventDraft) -> Result<Recorded, WatchError> {
        match self.append_batch(std::slice::from_ref(event)).await {
            Ok(done) => done.into_iter().next().ok_or(WatchError::Answer),
            Err(WatchError::Client(ClientError::Refused(refusal))) if is_final(&refusal.problem) => {
                let is_taken = refusal.problem.code == ID_REUSED;
                Ok(if is_taken { Recorded::Taken } else { Recorded::Refused(refusal.to_string()) })
            }
            Err(error) => Err(error),
        }
    }

    async fn append_batch(&mut self, batch: &[EventDraft]) -> Result<Vec<Recorded>, WatchError> {
        let events: Vec<String> = batch.iter().map(EventDraft::to_json).collect();
        let body = format!("[{}]", events.join(","));
        let path = format!("/v1/ledgers/{}/events", self.ledger);
        let answer = in_time(self.service.post_signed(&path, BATCH, body.into(), &self.answer_key)).await?;
        let appended: Appended = serde_json::from_slice(&answer).map_err(|_| WatchError::Answer)?;
        if appended.results.len() != batch.len() {
            return Err(WatchError::Answer);
        }
        let is_new = |event: AppendedEvent| event.status == CREATED;
        let outcome = |event| if is_new(event) { Recorded::New } else { Recorded::Before };
        Ok(appended.results.into_iter().map(outcome).collect())
    }

    async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, WatchError> {
        let path = format!("/v1/ledgers/{}/{path}", self.ledger);
        let answer = in_time(self.service.get_signed(&path, &self.answer_key)).await?;
        serde_json::from_slice(&answer).map_err(|_| WatchError::Answer)
    }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, ClientError>>) -> Result<T, WatchError> {
    Ok(timeout(ANSWER_PATIENCE, asked).await.map_err(|_| WatchError::Late)??)
}
