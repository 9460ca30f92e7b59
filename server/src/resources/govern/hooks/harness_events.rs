//! Sessions, turns and subagents of a harness, as events.

use bitacora_formats::limits::MAX_ID_BYTES;
use bitacora_harness::{HookEvent, HookInput};
use bitacora_ledger::Head;
use bitacora_vocabulary::{
    Count, EventData, Name, PathText, PromptDigest, PromptSource, RunCompleted, RunOutcome, RunStarted,
    SessionEnded, SessionStarted, Sha256Text, TurnEnded, TurnStarted,
};
use sha2::{Digest, Sha256};

use super::Hook;
use crate::problem::{Code, Problem};
use crate::requests::service_event::{CallContext, PlaceName, ServiceEvent, act_id, event_data};

/// The source of what harnesses tell of sessions and turns.
const HOOK_SOURCE: &str = "urn:bitacora:hook";
/// The kind of a subagent whose harness names none.
const SUBAGENT: &str = "subagent";
/// The reason of a turn's end: hooks run when an agent ends its turn by itself.
const END_OF_TURN: &str = "end_turn";
/// The reason of a session's end where the harness names none.
const UNNAMED: &str = "unknown";

/// Records what happened, if it is something that is recorded.
pub(super) async fn record_event(hook: &Hook, input: &HookInput) -> Result<Head, Problem> {
    match harness_event(hook, input)? {
        Some(event) => Ok(hook.append_once(event).await?.head),
        None => Ok(hook.context.ledger.head()),
    }
}

fn harness_event(hook: &Hook, input: &HookInput) -> Result<Option<ServiceEvent>, Problem> {
    let event = HarnessEvent { hook, input };
    Ok(Some(match &input.event {
        HookEvent::SessionStarted => event.of("session-started", &event.session_started()?)?,
        HookEvent::SessionEnded(reason) => {
            let reason = if reason.is_empty() { UNNAMED } else { reason };
            event.of("session-ended", &SessionEnded { reason: name("reason", reason)?, totals: None })?
        }
        HookEvent::Prompted(prompt) => event.of("turn-started", &turn_started(prompt)?)?,
        HookEvent::TurnEnded => {
            let stop_reason = name("stop_reason", END_OF_TURN)?;
            event.of("turn-ended", &TurnEnded { stop_reason, duration_ms: None })?
        }
        HookEvent::SubagentStarted => match event.run_started()? {
            Some(started) => event.of("run-started", &started)?,
            None => return Ok(None),
        },
        HookEvent::SubagentEnded => match event.run_completed()? {
            Some(completed) => event.of("run-completed", &completed)?,
            None => return Ok(None),
        },
        HookEvent::BeforeTool(_) | HookEvent::AfterTool(_) | HookEvent::Other(_) => return Ok(None),
    }))
}

/// An event of a harness that is being made.
struct HarnessEvent<'a> {
    hook: &'a Hook,
    input: &'a HookInput,
}

impl HarnessEvent<'_> {
    fn session_started(&self) -> Result<SessionStarted, Problem> {
        let HookInput { model, cwd, .. } = self.input;
        let model = model.as_deref().or(self.hook.options.model.as_deref());
        Ok(SessionStarted {
            harness: name("harness", self.hook.dialect.harness())?,
            version: None,
            model: model.map(|model| name("model", model)).transpose()?,
            cwd: cwd.as_deref().map(PathText::new).transpose().map_err(|error| unfit("cwd", &error))?,
        })
    }

    fn run_started(&self) -> Result<Option<RunStarted>, Problem> {
        let Some(subagent) = &self.input.subagent else { return Ok(None) };
        Ok(Some(RunStarted {
            run: name("agent_id", &subagent.id)?,
            kind: name("agent_type", subagent.kind.as_deref().unwrap_or(SUBAGENT))?,
            graph: None,
            agent: None,
            case: None,
            subtask: None,
            budget: None,
            parent: None,
        }))
    }

    fn run_completed(&self) -> Result<Option<RunCompleted>, Problem> {
        let Some(subagent) = &self.input.subagent else { return Ok(None) };
        Ok(Some(RunCompleted {
            run: name("agent_id", &subagent.id)?,
            status: RunOutcome::Success,
            steps: None,
            tokens: None,
            cost_micro_usd: None,
            duration_ms: None,
        }))
    }

    /// The event, under an id that a repeated delivery has too.
    fn of<T: EventData>(&self, what: &str, data: &T) -> Result<ServiceEvent, Problem> {
        let Hook { context, options, .. } = self.hook;
        let session = place("session_id", &self.input.session)?;
        let delivery = match &options.delivery {
            Some(delivery) => delivery.to_string(),
            None => act_id(&context.ledger),
        };
        let id = format!("{session}#{what}#{delivery}");
        if id.len() > MAX_ID_BYTES {
            let detail = format!("found an event id of {} bytes; expected at most {MAX_ID_BYTES}", id.len());
            return Err(Problem::new(Code::BadBody, detail));
        }
        let agent = context.caller.agent_for(None)?.map(|agent| place("agent", agent)).transpose()?;
        let run = self.input.subagent.as_ref().map(|subagent| place("agent_id", &subagent.id)).transpose()?;
        let about = CallContext { call: None, agent, session: Some(session), run };
        Ok(ServiceEvent {
            id,
            source: HOOK_SOURCE,
            kind: T::KIND,
            stream: about.stream(),
            actor: context.caller.caller().to_owned(),
            time: None,
            about,
            data: event_data(data)?,
        })
    }
}

fn turn_started(prompt: &str) -> Result<TurnStarted, Problem> {
    Ok(TurnStarted {
        prompt: PromptDigest {
            sha256: Sha256Text::of_digest(&Sha256::digest(prompt.as_bytes()).into()),
            bytes: Count::new(prompt.len() as u64).map_err(|error| unfit("prompt", &error))?,
        },
        source: PromptSource::User,
    })
}

fn name(member: &str, text: &str) -> Result<Name, Problem> {
    Name::new(text).map_err(|error| unfit(member, &error))
}

fn place(member: &str, text: &str) -> Result<PlaceName, Problem> {
    PlaceName::new(text).map_err(|error| unfit(member, &error))
}

fn unfit(member: &str, error: &dyn std::fmt::Display) -> Problem {
    Problem::new(Code::BadBody, format!("the hook's `{member}` does not fit: {error}"))
}
