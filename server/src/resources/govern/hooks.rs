//! `POST …/hooks/{harness}`: what a coding agent's harness tells its hooks, and the verdict in the harness's own words.
//!
//! A call before it runs is decided like one at `POST …/decide`. A call that ended is an outcome. Sessions, turns and
//! subagents become events. Everything else is taken and not recorded, because harnesses add hooks with each version.

mod harness_events;
mod options;

use std::time::Duration;

use axum::response::Response;
use bitacora_governance::ApprovalStatus;
use bitacora_harness::{
    Dialect, HookError, HookEvent, HookInput, HookVerdict, NO_OPINION, ToolCall, decide_request,
    outcome_request,
};
use bitacora_ledger::{AppendReceipt, Head};
use bitacora_vocabulary::{Name, ReasonCode, Verdict};
use serde::Serialize;

use self::harness_events::record_event;
use self::options::HookOptions;
use crate::http::media::JSON;
use crate::problem::{Code, Problem};
use crate::requests::act::{Act, no_such_verb};
use crate::requests::read_request::{NO_STORE, answer_at};
use crate::requests::service_event::ServiceEvent;
use crate::resources::description::{InLedger, Refusals};
use crate::resources::govern::approvals::{found, resolved};
use crate::resources::govern::decide::{DecideContext, DecisionLink, read_aside, read_request};
use crate::resources::govern::outcome::read_outcome;
use crate::strict_object::ObjectMembers;
use bitacora_api::paths;

#[utoipa::path(
    post,
    path = paths::HOOK,
    tag = "governance",
    operation_id = "runHook",
    params(
        InLedger,
        ("harness" = String, Path, description = "`claude`, `codex`, `gemini` or `cursor`"),
        ("call" = Option<String>, Query, description = "The call's id, for harnesses whose hooks name none"),
        ("model" = Option<String>, Query, description = "The model, for harnesses whose hooks name none"),
        ("interactive" = Option<bool>, Query, description = "Whether the harness's user is there to be asked"),
        ("wait" = Option<String>, Query, description = "How long a call that needs an approval is held, such as `30s`"),
        ("failure" = Option<String>, Query, description = "`deny`: a call that cannot be decided is answered as denied, not with an error"),
        ("delivery" = Option<String>, Query, description = "An id of this hook's run: sent again under it, an event is recorded once"),
        ("occurred" = Option<u64>, Query, description = "When the hook ran by its own clock, microseconds since 1970: the `time` of what is told later"),
    ),
    request_body(content = Object, description = "The JSON that the harness writes to its hook"),
    responses(
        (status = 200, description = "The output that the harness expects from its hook", body = Object),
        Refusals,
    )
)]
pub(crate) async fn run(mut act: Act) -> Result<Response, Problem> {
    let dialect: Dialect = act.named().parse().map_err(|error| no_such_verb(&format!("{error}")))?;
    let options = act.query(HookOptions::take)?;
    let (context, body) = DecideContext::without_explanation(act).await?;
    let input = read_aside(body, move |body| dialect.read(body).map_err(unreadable)).await?;
    let hook = Hook { dialect, options, context };
    let (head, output) = match &input.event {
        HookEvent::BeforeTool(call) => hook.verdict(&input, call).await?,
        HookEvent::AfterTool(_) => hook.outcome(&input).await?,
        _ => (record_event(&hook, &input).await?, NO_OPINION.to_owned()),
    };
    Ok(answer_at(&head, JSON, NO_STORE, output.into()))
}

/// One run of a hook, and its ledger.
struct Hook {
    dialect: Dialect,
    options: HookOptions,
    context: DecideContext,
}

impl Hook {
    /// Returns the verdict about a call, in the harness's words.
    async fn verdict(&self, input: &HookInput, call: &ToolCall) -> Result<(Head, String), Problem> {
        match self.decided(input, call).await {
            Ok(last) => {
                let output = self.dialect.answer(&self.hook_verdict(&last));
                Ok((last.head, output))
            }
            Err(problem) if self.options.denies_on_failure => {
                let reason = format!("The call could not be decided, so it is denied: {}", problem.detail());
                let output = self.dialect.answer(&HookVerdict::Deny { reason: &reason });
                Ok((self.context.ledger.head(), output))
            }
            Err(problem) => Err(problem),
        }
    }

    /// Has a call decided, with the approval that a person gave to it before or gives while it is held.
    async fn decided(&self, input: &HookInput, call: &ToolCall) -> Result<DecisionLink, Problem> {
        let HookOptions { call: id, model, interactive, .. } = &self.options;
        let named = HookInput { model: input.model.clone().or_else(|| model.clone()), ..input.clone() };
        let mut request = decide_request(&named, call, id.as_deref(), *interactive).map_err(unreadable)?;
        let first = self.request_event(&request)?;
        let before = self.context.approval_for(&first).await?;
        let first = match before {
            None => first,
            Some(approval) => {
                request.approval = Some(approval.to_string());
                self.request_event(&request)?
            }
        };
        let last = self.decided_once(first).await?;
        let Some(approval) = awaited_approval(&last) else { return Ok(last) };
        if !self.is_answered(&approval).await? {
            return Ok(last);
        }
        request.approval = Some(approval.to_string());
        self.decided_once(self.request_event(&request)?).await
    }

    /// Has a request decided, under the time at which the hook ran. One that came before, without that time, is the same request.
    async fn decided_once(&self, request: ServiceEvent) -> Result<DecisionLink, Problem> {
        let (timed, plain) = self.timed(request);
        match (self.context.decided(timed).await, plain) {
            (Err(problem), Some(plain)) if problem.is(Code::IdReused) => self.context.decided(plain).await,
            (decided, _) => decided,
        }
    }

    /// Records an event in the same way.
    async fn append_once(&self, event: ServiceEvent) -> Result<AppendReceipt, Problem> {
        let (timed, plain) = self.timed(event);
        match (self.context.append(timed).await, plain) {
            (Err(problem), Some(plain)) if problem.is(Code::IdReused) => self.context.append(plain).await,
            (appended, _) => appended,
        }
    }

    /// Returns an event with the time at which the hook ran, and without it, where the query names one.
    fn timed(&self, event: ServiceEvent) -> (ServiceEvent, Option<ServiceEvent>) {
        match &self.options.occurred {
            None => (event, None),
            Some(occurred) => (ServiceEvent { time: Some(occurred.clone()), ..event.clone() }, Some(event)),
        }
    }

    /// Waits for the answer to an approval, as long as the caller asks. Returns `false` where it still waits, or where a person gave
    /// other arguments than the call's: those belong to another call.
    async fn is_answered(&self, approval: &Name) -> Result<bool, Problem> {
        let DecideContext { api, caller, ledger, .. } = &self.context;
        let (found, _) = match self.options.wait {
            Duration::ZERO => found(ledger, approval)?,
            wait => resolved(api, caller, ledger, approval, wait).await?,
        };
        Ok(
            matches!(&found.status, ApprovalStatus::Resolved { resolution, .. } if resolution.action_digest.is_none()),
        )
    }

    fn hook_verdict<'a>(&self, last: &'a DecisionLink) -> HookVerdict<'a> {
        let decision = &last.decision;
        let reason = decision.reason.as_str();
        let approval = decision.approval.as_deref();
        match (decision.effective_verdict(), approval) {
            (Verdict::Allow, Some(approval)) if decision.reason_code == ReasonCode::Approved => {
                HookVerdict::Approved { approval }
            }
            (Verdict::Allow, _) => HookVerdict::Allow,
            (Verdict::Review, approval) => {
                HookVerdict::Review { reason, approval, interactive: self.options.interactive }
            }
            (Verdict::Deny, _) => HookVerdict::Deny { reason },
        }
    }

    /// Reports how a call ended.
    async fn outcome(&self, input: &HookInput) -> Result<(Head, String), Problem> {
        let HookEvent::AfterTool(end) = &input.event else {
            return Ok((self.context.ledger.head(), NO_OPINION.to_owned()));
        };
        let report = outcome_request(input, end, self.options.call.as_deref()).map_err(unreadable)?;
        let event = read_outcome(&body_of(&report)?, &self.context.caller)?;
        let appended = self.append_once(event).await?;
        Ok((appended.head, NO_OPINION.to_owned()))
    }

    /// The request as the event that it becomes, by the rules of `POST …/decide`.
    fn request_event(&self, request: &impl Serialize) -> Result<ServiceEvent, Problem> {
        let body = body_of(request)?;
        read_request(ObjectMembers::of_body(&body)?, &self.context.caller)
    }
}

/// Returns the approval that a call waits for.
fn awaited_approval(last: &DecisionLink) -> Option<Name> {
    let decision = &last.decision;
    let waits = decision.effective_verdict() == Verdict::Review;
    decision.approval.clone().filter(|_| waits)
}

fn body_of(request: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(request)
        .map_err(|error| Problem::new(Code::BadBody, format!("the hook's input cannot be read: {error}")))
}

/// The problem of input that is not the harness's.
#[expect(clippy::needless_pass_by_value, reason = "an error that is mapped is taken")]
fn unreadable(error: HookError) -> Problem {
    Problem::new(Code::BadBody, error.to_string())
}
