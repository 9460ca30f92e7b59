//! The background of a call that waits: its decision, the record of its dimension, the calls just before.

use bitacora_api::{ApprovalAnswer, CallAnswer, CallList, DecisionAnswer, DimensionAnswer};
use bitacora_api::{StoredEvent, StoredEventPage, TrustRecordAnswer, paths};
use serde::Deserialize;

use crate::components::dimension_query;
use crate::form::query;
use crate::page_error::PageError;
use crate::visit::Visit;

/// The type of the event that holds a decision.
const DECISION: &str = "decision.made";
/// The calls before the one that waits.
const CALLS_BEFORE: &str = "4";

/// A part that is known, or the reason for which it is not.
pub(super) type BackgroundPart<T> = Result<T, String>;

/// All that stands behind an approval. What cannot be had is told, and keeps nobody from answering.
pub(super) struct Background {
    pub(super) session: Option<String>,
    pub(super) run: Option<String>,
    /// The position of the event that has the arguments.
    pub(super) request: Option<String>,
    pub(super) decision: BackgroundPart<DecisionAnswer>,
    pub(super) trust: BackgroundPart<TrustRecordAnswer>,
    pub(super) before: BackgroundPart<Vec<CallAnswer>>,
}

/// The attributes of the event that asked.
#[derive(Default, Deserialize)]
struct AskingAttributes {
    session: Option<String>,
    run: Option<String>,
    causationid: Option<String>,
}

impl Background {
    pub(super) async fn load(visit: &Visit, approval: &ApprovalAnswer) -> Self {
        let (asked, decided) = tokio::join!(asked(visit, approval), decision(visit, approval));
        let asked = asked.unwrap_or_default();
        let dimension = decided.as_ref().ok().and_then(|decision| decision.dimension.clone());
        let (trust, before) =
            tokio::join!(trust(visit, dimension.as_ref()), before(visit, approval, asked.session.as_deref()));
        Self {
            session: asked.session,
            run: asked.run,
            request: asked.causationid,
            decision: told(decided),
            trust: told(trust),
            before: told(before),
        }
    }
}

fn told<T>(asked: Result<T, PageError>) -> BackgroundPart<T> {
    asked.map_err(|error| error.to_string())
}

async fn asked(visit: &Visit, approval: &ApprovalAnswer) -> Result<AskingAttributes, PageError> {
    let stored = visit.get::<StoredEvent>(paths::EVENT, &[&approval.position], "").await?.value;
    serde_json::from_str(stored.event.get()).map_err(|error| PageError::Field(error.to_string()))
}

/// Returns the decision that asked for the approval: the last one about its call up to there.
async fn decision(visit: &Visit, approval: &ApprovalAnswer) -> Result<DecisionAnswer, PageError> {
    let fields = [
        ("call", approval.call.as_str()),
        ("type", DECISION),
        ("until", &approval.position),
        ("dir", "backward"),
        ("limit", "1"),
    ];
    let page = visit.get::<StoredEventPage>(paths::EVENTS, &[], &query(fields.into_iter())).await?.value;
    let missing = || PageError::Field("no decision about the call is recorded".to_owned());
    let position = &page.events.first().ok_or_else(missing)?.position;
    Ok(visit.get(paths::DECISION, &[position], "").await?.value)
}

async fn trust(visit: &Visit, dimension: Option<&DimensionAnswer>) -> Result<TrustRecordAnswer, PageError> {
    let missing = || PageError::Field("the decision names no dimension".to_owned());
    let fields = dimension_query(dimension.ok_or_else(missing)?);
    Ok(visit.get(paths::TRUST_RECORD, &[], &fields).await?.value)
}

/// Returns the calls that this agent asked for just before in this session, as far as both are known: the newest first.
async fn before(
    visit: &Visit,
    approval: &ApprovalAnswer,
    session: Option<&str>,
) -> Result<Vec<CallAnswer>, PageError> {
    let Some(asked) = query_before(approval, session) else { return Ok(Vec::new()) };
    Ok(visit.get::<CallList>(paths::CALLS, &[], &asked).await?.value.calls)
}

/// Returns the query for those calls. Agents may share the name of a session, so it asks for both where both are known.
fn query_before(approval: &ApprovalAnswer, session: Option<&str>) -> Option<String> {
    let of = [("session", session), ("agent", approval.agent.as_deref())];
    let of: Vec<_> = of.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let page = [("recorded_before", approval.asked.as_str()), ("limit", CALLS_BEFORE)];
    (!of.is_empty()).then(|| query(of.into_iter().chain(page)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_another_agent_in_a_session_of_the_same_name_are_not_asked_for() {
        let approval = |agent: &str| -> ApprovalAnswer {
            let json = format!(
                r#"{{"id":"a1","status":"pending","call":"c1","tool":"deploy","approvers":[],"asked":"t","expires":"","position":"2"{agent}}}"#
            );
            serde_json::from_str(&json).unwrap()
        };
        let asked = |agent: &str, session| query_before(&approval(agent), session);
        let coder = r#","agent":"coder""#;
        let page = "recorded_before=t&limit=4";
        assert_eq!(asked(coder, Some("s")), Some(format!("?session=s&agent=coder&{page}")));
        assert_eq!(asked(coder, None), Some(format!("?agent=coder&{page}")));
        assert_eq!(asked("", Some("s")), Some(format!("?session=s&{page}")));
        assert_eq!(asked("", None), None);
    }
}
