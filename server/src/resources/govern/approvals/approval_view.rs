//! An approval as a person sees it: with the action, so that nobody approves a mere digest.

use bitacora_formats::{After, Micros, Position, format_time};
use bitacora_governance::{Approval, ApprovalStatus};
use bitacora_ledger::{Filter, Head, ReadError, ReadFrom, ReadQuery, StoredEvent};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{
    ApprovalAbout, ApprovalResolved, CallArguments, Count, EventData, ToolBlocked, ToolCompleted, ToolFailed,
    ToolRequested,
};

use crate::json::{raw_json, word_of};
use crate::problem::{Code, Problem};
use crate::requests::service_event::data_of;
use bitacora_api::{ApprovalAnswer, ConsumedAnswer, ResolutionAnswer};

/// Bytes of arguments that are shown of one approval alone.
const SHOWN_ARGS_BYTES: usize = 256 * 1024;
/// Bytes of arguments that are shown of each approval in a list.
const LISTED_ARGS_BYTES: usize = 2 * 1024;

/// Outcomes that are looked at for the one of an approval's call: more under its id are of recordings, or told by others.
const OUTCOMES_LOOKED_AT: usize = 16;

/// An approval with the arguments that were asked for, as they are recorded: without the secrets that were found in them.
pub(super) struct ApprovalView {
    pub(super) approval: Approval,
    args: Option<CallArguments>,
    /// `true` if it waits though its call has its outcome.
    call_ended: bool,
    /// The reason for which the log's record of its call could not be read.
    unread: Option<String>,
}

impl ApprovalView {
    /// Reads the record of its call from the log. Arguments that are sealed or were not sent are not shown. If the log cannot be read, that
    /// is told, so that nobody takes it for an approval of a call without arguments. Other approvals are shown all the same.
    pub(super) fn read(ledger: &IndexedLedger, approval: Approval) -> Self {
        let (mut args, mut call_ended, mut unread) = (None, false, None);
        match of_call(ledger, &approval) {
            Ok(found) => (args, call_ended) = found,
            Err(problem) => unread = Some(problem.detail().to_owned()),
        }
        Self { args, approval, call_ended, unread }
    }

    /// The approval as one of a list.
    pub(super) fn listed(self, head: &Head) -> Result<ApprovalAnswer, Problem> {
        self.answer(head, LISTED_ARGS_BYTES)
    }

    /// The approval as an answer of its own.
    pub(super) fn alone(self, head: &Head) -> Result<ApprovalAnswer, Problem> {
        self.answer(head, SHOWN_ARGS_BYTES)
    }

    fn answer(self, head: &Head, most: usize) -> Result<ApprovalAnswer, Problem> {
        let Self { approval, args, call_ended, unread } = self;
        let status = status_name(&approval, head).to_owned();
        let (resolution, consumed) = match &approval.status {
            ApprovalStatus::Pending => (None, None),
            ApprovalStatus::Resolved { resolution, at } => {
                (Some(resolution_answer(resolution, Some(*at))?), None)
            }
            ApprovalStatus::Consumed { call, resolution, at } => {
                let consumed = ConsumedAnswer { call: call.to_string(), at: format_time(*at) };
                (Some(resolution_answer(resolution, None)?), Some(consumed))
            }
        };
        let request = approval.request;
        let args_bytes = args.as_ref().map(|args| args.as_json().len());
        let args = args.filter(|args| args.as_json().len() <= most);
        Ok(ApprovalAnswer {
            id: request.approval.to_string(),
            status,
            about: Some(word_of(&request.about)?),
            call: request.call.to_string(),
            call_ended: call_ended.then_some(true),
            unread,
            tool: request.tool.to_string(),
            server: text(request.server.as_ref()),
            cwd: text(request.cwd.as_ref()),
            context: request.dimension.as_ref().map(|dimension| dimension.context().to_owned()),
            destinations: texts(request.destinations.as_deref()),
            parts: texts(request.parts.as_deref()),
            more_parts: request.more_parts.map(Count::get),
            args_bytes: args_bytes.filter(|_| args.is_none()).map(|bytes| bytes as u64),
            args: args.as_ref().map(raw_json).transpose()?,
            action_digest: request.action_digest.map(|digest| digest.as_str().to_owned()),
            policy_version: text(request.policy_version.as_ref()),
            approvers: request.approvers.iter().map(ToString::to_string).collect(),
            requested_by: text(request.requested_by.as_ref()),
            agent: text(request.agent.as_ref()),
            reason_codes: request.reason_codes.map(|codes| codes.iter().map(|code| code.as_str()).collect()),
            contract: text(request.contract.as_ref()),
            asked: format_time(approval.asked),
            expires: format_time(Micros(request.expires)),
            at_end: request.at_end.as_ref().map(word_of).transpose()?,
            resolution,
            consumed,
            position: approval.position.to_string(),
        })
    }
}

fn text(value: Option<&impl ToString>) -> Option<String> {
    value.map(ToString::to_string)
}

fn texts(values: Option<&[impl ToString]>) -> Option<Vec<String>> {
    values.map(|values| values.iter().map(ToString::to_string).collect())
}

/// The request that an approval was asked for on: it caused the decision, and with it the approval.
pub(super) fn request_of(ledger: &IndexedLedger, approval: &Approval) -> Result<ToolRequested, Problem> {
    data_of(&request_event(ledger, approval)?)
}

/// The run whose call an approval was asked for; `None` where it had none.
pub(in crate::resources::govern) fn run_of(
    ledger: &IndexedLedger,
    approval: &Approval,
) -> Result<Option<String>, Problem> {
    Ok(request_event(ledger, approval)?.event.run.map(|run| run.to_string()))
}

/// The arguments of the call that an approval waits for, and whether it has its outcome though the approval waits.
fn of_call(ledger: &IndexedLedger, approval: &Approval) -> Result<(Option<CallArguments>, bool), Problem> {
    if approval.request.about != ApprovalAbout::Call {
        return Ok((None, false));
    }
    let request = data_of::<ToolRequested>(&request_event(ledger, approval)?).ok();
    let call_ended = approval.status == ApprovalStatus::Pending && has_ended(ledger, approval)?;
    Ok((request.and_then(|request| request.args), call_ended))
}

/// The event of that request.
pub(super) fn request_event(
    ledger: &IndexedLedger,
    approval: &Approval,
) -> Result<StoredEvent<'static>, Problem> {
    let position = Position::new(approval.position)
        .ok_or_else(|| Problem::new(Code::Internal, "an approval stands at position 0"))?;
    let asked = ledger.event(position)?;
    let cause = asked.event.causationid.as_deref().and_then(|cause| cause.parse::<Position>().ok());
    let cause = cause.ok_or_else(|| {
        Problem::new(Code::Internal, format!("the approval at position {position} has no cause"))
    })?;
    Ok(ledger.event(cause)?)
}

/// Returns `true` if the outcome of its call was told since it was asked for.
fn has_ended(ledger: &IndexedLedger, approval: &Approval) -> Result<bool, ReadError> {
    let kinds = [ToolCompleted::KIND, ToolFailed::KIND, ToolBlocked::KIND].map(str::to_owned).to_vec();
    let call = Some(approval.request.call.to_string());
    let query = ReadQuery {
        from: ReadFrom::After(After::new(approval.position)),
        until: None,
        limit: OUTCOMES_LOOKED_AT,
        filter: Filter { kinds, call, ..Filter::default() },
    };
    let is_its = |stored: &StoredEvent<'_>| {
        let agent = stored.event.agent.as_deref();
        (agent.is_none() || agent == approval.request.agent.as_deref()) && !is_recorded_elsewhere(stored)
    };
    Ok(ledger.read(&query)?.events.iter().any(is_its))
}

fn is_recorded_elsewhere(stored: &StoredEvent<'_>) -> bool {
    data_of::<serde_json::Value>(stored).is_ok_and(|data| data.get("assurance").is_some())
}

/// Returns `true` if its time is over, by the time of the ledger.
pub(super) fn is_over(approval: &Approval, head: &Head) -> bool {
    approval.status == ApprovalStatus::Pending && head.time.0 >= approval.request.expires
}

fn resolution_answer(resolved: &ApprovalResolved, at: Option<Micros>) -> Result<ResolutionAnswer, Problem> {
    let ApprovalResolved { approval: _, resolution, by, note, action_digest, args, cwd } = resolved;
    Ok(ResolutionAnswer {
        resolution: resolution.as_str().to_owned(),
        by: by.to_string(),
        note: text(note.as_ref()),
        action_digest: action_digest.as_ref().map(|digest| digest.as_str().to_owned()),
        args: args.as_ref().map(raw_json).transpose()?,
        cwd: text(cwd.as_ref()),
        at: at.map(format_time),
    })
}

fn status_name(approval: &Approval, head: &Head) -> &'static str {
    match &approval.status {
        ApprovalStatus::Pending if is_over(approval, head) => "expired",
        ApprovalStatus::Pending => "pending",
        ApprovalStatus::Resolved { resolution, .. } => resolution.resolution.as_str(),
        ApprovalStatus::Consumed { .. } => "consumed",
    }
}
