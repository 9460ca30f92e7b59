//! `…/policy:dry-run` and `…/replay?policy=`: verdicts of another policy on recorded calls.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Position, format_time, parse_time};
use bitacora_governance::{DryRun, Policy, RecordedCall, Registry, StepsVerdict, WhatIf};
use bitacora_ledger::{Filter, ReadFrom, ReadQuery, StoredEvent};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{DecisionMade, EventData, Name, ToolRequested};

use crate::api::Api;
use crate::http::query::{Query, bad_query};
use crate::json::raw_json;
use crate::limits::{
    DEFAULT_WHAT_IF_CALLS, MAX_WHAT_IF_CALLS, MAX_WHAT_IF_EXAMPLES, MAX_WHAT_IF_READ, WHAT_IF_PAGE_EVENTS,
};
use crate::problem::Problem;
use crate::requests::listing::take_limit;
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::{data_of, governance, json_bytes};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::resources::govern::policy::{compiled, published};
use crate::resources::govern::what_if_groups::TriedGroups;
use bitacora_api::{ChangedCall, ChangedVerdict, PolicyRequest, StepsAnswer, WhatIfAnswer, paths};

/// The part of an RFC 3339 time that names the day.
const DAY_CHARS: usize = 10;

#[utoipa::path(
    post,
    path = paths::POLICY_DRY_RUN,
    tag = "governance",
    operation_id = "tryPolicy",
    params(
        InLedger,
        ("limit" = Option<usize>, Query, description = "Tried on this many calls, the newest: 1,000 without it, up to 5,000"),
        ("tool" = Option<String>, Query, description = "Tried on calls of this tool alone; the newest 20,000 decisions are looked through for them"),
        AtLeast,
    ),
    request_body(content = PolicyRequest),
    responses(
        (status = 200, description = "What would be said otherwise. Nothing is recorded", body = WhatIfAnswer),
        Refusals,
    )
)]
pub(crate) async fn dry_run(
    State(api): State<Arc<Api>>,
    question: ReadRequest,
    body: Body,
) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let asked = ReplayParams::take(&mut query)?;
    query.finish()?;
    governance(&question.ledger)?;
    let body = json_bytes(&api, &question.caller, &question.headers, body).await?;
    answer(&api, &question, asked, None, move || Ok(compiled(body.as_slice())?.1)).await
}

#[utoipa::path(
    get,
    path = paths::REPLAY,
    tag = "governance",
    operation_id = "replayUnderPolicy",
    params(
        InLedger,
        ("policy" = u64, Query, description = "The published version that is tried"),
        ("limit" = Option<usize>, Query, description = "Tried on this many calls, the newest: 1,000 without it, up to 5,000"),
        ("tool" = Option<String>, Query, description = "Tried on calls of this tool alone; the newest 20,000 decisions are looked through for them"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "What that version would have said otherwise", body = WhatIfAnswer),
        Refusals,
    )
)]
pub(crate) async fn replay(State(api): State<Arc<Api>>, question: ReadRequest) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let asked = ReplayParams::take(&mut query)?;
    let version = query.take_parsed::<u64>("policy", "a version")?;
    query.finish()?;
    let version = version.ok_or_else(|| bad_query("policy", "is missing"))?;
    let ledger = question.ledger.clone();
    answer(&api, &question, asked, Some(version), move || published(&ledger, version)).await
}

/// The calls that are asked for.
struct ReplayParams {
    limit: usize,
    tool: Option<Name>,
}

impl ReplayParams {
    fn take(query: &mut Query<'_>) -> Result<Self, Problem> {
        let limit = take_limit(query, DEFAULT_WHAT_IF_CALLS, MAX_WHAT_IF_CALLS)?;
        let tool = query.take("tool")?.map(Name::new).transpose();
        Ok(Self { limit, tool: tool.map_err(|error| bad_query("tool", &error.to_string()))? })
    }
}

async fn answer(
    api: &Api,
    question: &ReadRequest,
    asked: ReplayParams,
    version: Option<u64>,
    policy: impl FnOnce() -> Result<Policy, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let head = question.state(api).await?;
    let ledger = question.ledger.clone();
    let answer = api.read(move || {
        let policy = policy()?;
        Trial::of(&policy, &ledger, &asked, head.position)?.answer(&policy, version)
    });
    json_answer(&head, &answer.await?)
}

/// The result of trying a policy.
#[derive(Default)]
struct Trial {
    run: DryRun,
    unjudged: u64,
    oldest: Option<Position>,
    complete: bool,
    examples: Vec<Example>,
    by_tool: TriedGroups,
    by_agent: TriedGroups,
    by_day: TriedGroups,
}

struct Example {
    position: Position,
    call: Name,
    agent: Option<String>,
    found: WhatIf,
}

/// The facts that calls are judged with beside the policy.
struct Ground<'a> {
    policy: &'a Policy,
    ledger: &'a IndexedLedger,
    tools: Registry,
    /// `true` if any rule looks at arguments, so that requests have to be read.
    asks_arguments: bool,
}

impl Trial {
    /// Tries a policy on decisions up to this position, the newest first.
    fn of(
        policy: &Policy,
        ledger: &IndexedLedger,
        asked: &ReplayParams,
        last: Position,
    ) -> Result<Self, Problem> {
        let tools = governance(ledger)?.read(|state| state.tools().clone());
        let asks_arguments = policy.rules().any(|rule| rule.matches.arguments.is_some());
        let ground = Ground { policy, ledger, tools, asks_arguments };
        let mut trial = Self::default();
        let (mut judged, mut read) = (0, 0);
        let mut from = Some(ReadFrom::Before(last.next()));
        while let Some(next) = from.filter(|_| judged < asked.limit && read < MAX_WHAT_IF_READ) {
            let most = if asked.tool.is_some() { MAX_WHAT_IF_READ - read } else { asked.limit - judged };
            let filter = Filter { kinds: vec![DecisionMade::KIND.into()], ..Filter::default() };
            let limit = most.min(WHAT_IF_PAGE_EVENTS);
            let page = ledger.read(&ReadQuery { from: next, until: None, limit, filter })?;
            from = page.next;
            for (index, stored) in page.events.iter().enumerate() {
                read += 1;
                trial.oldest = Some(stored.position);
                judged += usize::from(trial.judge(&ground, stored, asked.tool.as_ref())?);
                if judged == asked.limit {
                    trial.complete = from.is_none() && index + 1 == page.events.len();
                    return Ok(trial);
                }
            }
        }
        trial.complete = from.is_none();
        Ok(trial)
    }

    /// Judges the call of a decision, if it is meant.
    fn judge(
        &mut self,
        ground: &Ground<'_>,
        stored: &StoredEvent<'_>,
        tool: Option<&Name>,
    ) -> Result<bool, Problem> {
        let Ok(decision) = data_of::<DecisionMade>(stored) else {
            self.unjudged += 1;
            return Ok(false);
        };
        if tool.is_some_and(|tool| tool.as_str() != decision.inputs.dimension.tool()) {
            return Ok(false);
        }
        let request = if ground.asks_arguments { ground.request(stored)? } else { None };
        let call = RecordedCall { decision: &decision, request: request.as_ref(), time: stored.time };
        let Some(found) = WhatIf::of(ground.policy, &ground.tools, &call) else {
            self.unjudged += 1;
            return Ok(true);
        };
        let verdicts = (found.recorded.verdict, found.otherwise.verdict);
        self.run.count(stored.position.get(), verdicts, found.certain);
        let agent = stored.event.agent.as_deref();
        self.by_tool.count(&found.tool, verdicts);
        self.by_agent.count(agent.unwrap_or("-"), verdicts);
        self.by_day.count(&day_of(stored), verdicts);
        if verdicts.0 != verdicts.1 && self.examples.len() < MAX_WHAT_IF_EXAMPLES {
            let agent = agent.map(str::to_owned);
            self.examples.push(Example { position: stored.position, call: decision.call, agent, found });
        }
        Ok(true)
    }

    fn answer(&self, policy: &Policy, version: Option<u64>) -> Result<WhatIfAnswer, Problem> {
        let changes = &self.run.changes;
        let changed = changes.iter().filter(|change| change.earlier != change.later);
        let verdicts = changes.iter().map(|change| ChangedVerdict {
            before: change.earlier.as_str().to_owned(),
            after: change.later.as_str().to_owned(),
            calls: change.calls,
            uncertain: change.uncertain,
            examples: change.examples.iter().map(ToString::to_string).collect(),
        });
        Ok(WhatIfAnswer {
            version: version.map(|version| version.to_string()),
            digest: policy.digest().to_string(),
            warnings: policy.warnings().iter().map(raw_json).collect::<Result<_, _>>()?,
            calls: changes.iter().map(|change| change.calls).sum(),
            changed: changed.map(|change| change.calls).sum(),
            uncertain: changes.iter().map(|change| change.uncertain).sum(),
            unjudged: self.unjudged,
            oldest: self.oldest.map(|oldest| oldest.to_string()),
            complete: self.complete,
            verdicts: verdicts.collect(),
            by_tool: self.by_tool.most_changed(),
            by_agent: self.by_agent.most_changed(),
            by_day: self.by_day.newest(),
            examples: self.examples.iter().map(Example::answer).collect(),
        })
    }
}

impl Ground<'_> {
    /// The request that a decision answers, where it can still be read.
    fn request(&self, decision: &StoredEvent<'_>) -> Result<Option<ToolRequested>, Problem> {
        let cause = decision.event.id.split_once('.').and_then(|(cause, _)| cause.parse::<Position>().ok());
        let Some(cause) = cause.filter(|cause| *cause < decision.position) else { return Ok(None) };
        let stored = self.ledger.event(cause)?;
        Ok(if stored.event.kind == ToolRequested::KIND { data_of(&stored).ok() } else { None })
    }
}

/// Returns the day that a decision was made on, UTC: its own where it was made elsewhere.
fn day_of(stored: &StoredEvent<'_>) -> String {
    let own = stored.event.time.as_deref().and_then(|time| parse_time(time).ok());
    let mut day = format_time(own.unwrap_or(stored.time));
    day.truncate(DAY_CHARS);
    day
}

impl Example {
    fn answer(&self) -> ChangedCall {
        ChangedCall {
            position: self.position.to_string(),
            call: self.call.to_string(),
            tool: self.found.tool.to_string(),
            agent: self.agent.clone(),
            before: steps_answer(&self.found.recorded),
            after: steps_answer(&self.found.otherwise),
            certain: self.found.certain,
        }
    }
}

fn steps_answer(steps: &StepsVerdict) -> StepsAnswer {
    StepsAnswer {
        verdict: steps.verdict.as_str().to_owned(),
        reason_code: steps.code.as_str(),
        rule: steps.rule.as_ref().map(ToString::to_string),
    }
}
