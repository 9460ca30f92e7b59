//! An approval as a person sees it: with the action, so that nobody approves a mere digest.

use bitacora_formats::{After, Micros, Position, format_time};
use bitacora_governance::{Approval, ApprovalStatus};
use bitacora_ledger::{Filter, Head, ReadError, ReadFrom, ReadQuery, StoredEvent};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{
    ApprovalAbout, ApprovalResolved, CallArguments, EventData, ToolBlocked, ToolCompleted, ToolFailed,
    ToolRequested,
};

use crate::json::JsonWriter;
use crate::problem::{Code, Problem};
use crate::requests::service_event::data_of;

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

    /// Writes it as one of a list.
    pub(super) fn write_listed(&self, head: &Head, json: &mut JsonWriter) {
        self.write(head, LISTED_ARGS_BYTES, json);
    }

    /// Writes it as an answer of its own.
    pub(super) fn write_alone(&self, head: &Head, json: &mut JsonWriter) {
        self.write(head, SHOWN_ARGS_BYTES, json);
    }

    fn write(&self, head: &Head, most: usize, json: &mut JsonWriter) {
        let approval = &self.approval;
        let request = &approval.request;
        json.begin_object();
        json.text_member("id", &request.approval);
        json.text_member("status", status_name(approval, head));
        json.serialized_member("about", &request.about);
        json.text_member("call", &request.call);
        if self.call_ended {
            json.bool_member("callEnded", true);
        }
        if let Some(why) = &self.unread {
            json.text_member("unread", why);
        }
        self.write_action(most, json);
        if let Some(version) = request.policy_version {
            json.place_member("policyVersion", version);
        }
        json.serialized_member("approvers", &request.approvers);
        if let Some(by) = &request.requested_by {
            json.text_member("requestedBy", by);
        }
        if let Some(agent) = &request.agent {
            json.text_member("agent", agent);
        }
        if let Some(codes) = &request.reason_codes {
            json.serialized_member("reasonCodes", codes);
        }
        if let Some(contract) = &request.contract {
            json.text_member("contract", contract);
        }
        json.text_member("asked", &format_time(approval.asked));
        json.text_member("expires", &format_time(Micros(request.expires)));
        if let Some(end) = &request.at_end {
            json.serialized_member("atEnd", end);
        }
        match &approval.status {
            ApprovalStatus::Pending => (),
            ApprovalStatus::Resolved { resolution, at } => write_resolution(resolution, Some(*at), json),
            ApprovalStatus::Consumed { call, resolution, at } => {
                write_resolution(resolution, None, json);
                json.key("consumed");
                json.begin_object();
                json.text_member("call", call);
                json.text_member("at", &format_time(*at));
                json.end_object();
            }
        }
        json.place_member("position", approval.position);
        json.end_object();
    }

    /// Writes the action of the call, its place, and the digest that it is bound to.
    fn write_action(&self, most: usize, json: &mut JsonWriter) {
        let request = &self.approval.request;
        json.text_member("tool", &request.tool);
        if let Some(server) = &request.server {
            json.text_member("server", server);
        }
        if let Some(cwd) = &request.cwd {
            json.text_member("cwd", cwd);
        }
        if let Some(dimension) = &request.dimension {
            json.text_member("context", dimension.context());
        }
        if let Some(destinations) = &request.destinations {
            json.serialized_member("destinations", destinations);
        }
        if let Some(parts) = &request.parts {
            json.serialized_member("parts", parts);
        }
        if let Some(more) = request.more_parts {
            json.number_member("moreParts", more.get());
        }
        match &self.args {
            Some(args) if args.as_json().len() <= most => json.serialized_member("args", args),
            Some(args) => json.number_member("argsBytes", args.as_json().len() as u64),
            None => (),
        }
        if let Some(digest) = &request.action_digest {
            json.text_member("actionDigest", digest.as_str());
        }
    }
}

/// The request that an approval was asked for on: it caused the decision, and with it the approval.
pub(super) fn request_of(ledger: &IndexedLedger, approval: &Approval) -> Result<ToolRequested, Problem> {
    data_of(&request_event(ledger, approval)?)
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

fn request_event(ledger: &IndexedLedger, approval: &Approval) -> Result<StoredEvent<'static>, Problem> {
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

fn write_resolution(resolution: &ApprovalResolved, at: Option<Micros>, json: &mut JsonWriter) {
    json.key("resolution");
    json.begin_object();
    json.text_member("resolution", resolution.resolution.as_str());
    json.text_member("by", &resolution.by);
    if let Some(note) = &resolution.note {
        json.text_member("note", note);
    }
    if let Some(digest) = &resolution.action_digest {
        json.text_member("actionDigest", digest.as_str());
    }
    if let Some(args) = &resolution.args {
        json.serialized_member("args", args);
    }
    if let Some(cwd) = &resolution.cwd {
        json.text_member("cwd", cwd);
    }
    if let Some(at) = at {
        json.text_member("at", &format_time(at));
    }
    json.end_object();
}

fn status_name(approval: &Approval, head: &Head) -> &'static str {
    match &approval.status {
        ApprovalStatus::Pending if is_over(approval, head) => "expired",
        ApprovalStatus::Pending => "pending",
        ApprovalStatus::Resolved { resolution, .. } => resolution.resolution.as_str(),
        ApprovalStatus::Consumed { .. } => "consumed",
    }
}
