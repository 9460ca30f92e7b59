//! Ends by time: of approvals, calls without an outcome, tokens, and the patience with runs.
//! Each becomes an event; the reactor never looks at a clock itself.

use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::{Data, Event, Json, Micros};
use bitacora_governance::{OpenCall, OverdueRun, SCHEDULER_SOURCE};
use bitacora_ledger::{AppendRequest, Ledger};
use bitacora_vocabulary::{
    ApprovalResolved, EventData, Name, PrincipalCreated, PrincipalExpired, RunOverdue, ToolFailed,
};
use serde_json::{Value, json};

use crate::api::Api;
use crate::background::ticks::{Ticks, open_ledgers};

/// The pause between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// The actor of these events, whose source says that they came by time alone.
const ACTOR: &str = "service:scheduler";
/// The stream of approvals that ended with their time.
const APPROVALS: &str = "approvals";
/// The stream of runs that have told no end.
const RUNS: &str = "runs";
/// The stream of principals, as the command line writes it.
const PRINCIPALS: &str = "principals";

/// Records what has ended, in every ledger, until the service does.
pub(crate) async fn run(api: Arc<Api>) {
    let mut ticks = Ticks::new(&api, Duration::ZERO, EVERY);
    while ticks.next().await {
        for (_, ledger) in open_ledgers(&api) {
            record_ended(ledger.ledger(), api.ledgers.time_in(ledger.ledger())).await;
        }
    }
}

/// Records the ends that are due. An end that cannot be recorded now is found again the next time. By a clock that jumped nothing ends.
async fn record_ended(ledger: &Ledger, now: Micros) {
    let Some(governance) = ledger.governance() else { return };
    let (calls, approvals, principals, runs) = governance.read(|state| {
        if state.clock_trust().jump().is_some() {
            return Default::default();
        }
        (
            state.overdue_calls(now),
            state.expired_approvals(now),
            state.principals().expired(now),
            state.overdue_runs(now),
        )
    });
    let ended = calls.iter().filter_map(|(call, open)| timed_out(call, open));
    for event in ended
        .chain(approvals.iter().filter_map(expired))
        .chain(principals.iter().filter_map(over))
        .chain(runs.iter().filter_map(overdue))
    {
        let kind = event.kind.to_string();
        let recorded = match ledger.append(AppendRequest::of(vec![event])) {
            Ok(pending) => pending.await.map(|_| ()),
            Err(error) => Err(error),
        };
        if let Err(error) = recorded {
            // Its outcome may have come meanwhile.
            tracing::debug!(kind, %error, "an end could not be recorded");
        }
    }
}

fn timed_out(call: &Name, open: &OpenCall) -> Option<Event<'static>> {
    let data = json!({"call": call, "status": "timeout", "error_type": "deadline"});
    // A call whose time ends twice was decided twice: by its decision's position each has an id of its own.
    let id = format!("{call}#timeout#{}", open.position);
    let mut event = event(id, ToolFailed::KIND, open.stream.clone(), &data)?;
    event.call = Some(call.to_string().into());
    event.agent = open.agent.clone().map(Into::into);
    Some(event)
}

fn expired(approval: &Name) -> Option<Event<'static>> {
    let data = json!({"approval": approval, "resolution": "expired", "by": ACTOR});
    event(format!("{approval}#expired"), ApprovalResolved::KIND, APPROVALS.to_owned(), &data)
}

/// An id may be given again to another principal, but hardly one that ends at the same time.
fn over(principal: &PrincipalCreated) -> Option<Event<'static>> {
    let id = format!("{}#expired#{}", principal.principal, principal.expires?);
    let data = json!({"principal": principal.principal});
    event(id, PrincipalExpired::KIND, PRINCIPALS.to_owned(), &data)
}

fn overdue(run: &OverdueRun) -> Option<Event<'static>> {
    let OverdueRun { run, agent, began } = run;
    let data = json!({"run": run, "began": began.0});
    let mut event = event(format!("{run}#overdue#{}", began.0), RunOverdue::KIND, RUNS.to_owned(), &data)?;
    event.run = Some(run.clone().into());
    event.agent = agent.clone().map(Into::into);
    Some(event)
}

fn event(id: String, kind: &'static str, stream: String, data: &Value) -> Option<Event<'static>> {
    let mut event = Event::new(id, SCHEDULER_SOURCE, kind, stream);
    event.actor = Some(ACTOR.into());
    event.data = Data::Json(Json::check(data.to_string().into_bytes()).ok()?);
    Some(event)
}
