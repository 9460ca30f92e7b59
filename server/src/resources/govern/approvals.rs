//! `…/approvals`: calls that wait for a person, and the answers to them.

mod approval_view;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use bitacora_governance::{Approval, ApprovalStatus, CompiledTool, examine};
use bitacora_ledger::Head;
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{
    ApprovalAbout, ApprovalResolved, CallArguments, MAX_EDITED_ARGUMENTS_BYTES, Name, Note, PathText,
    Resolution, Sha256Text,
};
use tokio::time::Instant;

pub(super) use self::approval_view::run_of;
use self::approval_view::{ApprovalView, is_over, request_event, request_of};
use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::phase::Phase;
use crate::json::json_of;
use crate::limits::{APPROVAL_PACE, MAX_WAIT};
use crate::problem::{Code, Problem, quoted};
use crate::requests::act::{Act, no_such_verb};
use crate::requests::listing::{PageParams, page_answer};
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use crate::strict_object::ObjectMembers;
use bitacora_api::{ApprovalAnswer, ApprovalList, ResolutionRequest, paths};

/// The stream of people's answers to calls.
const STREAM: &str = "governance/approvals";

#[utoipa::path(
    get,
    path = paths::APPROVALS,
    tag = "governance",
    operation_id = "listApprovals",
    params(
        InLedger,
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Those that wait for a person, the oldest first", body = ApprovalList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, question: ReadRequest) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let paging = PageParams::<u64>::take(&mut query)?;
    query.finish()?;
    let head = question.state(&api).await?;
    let copy = governance(&question.ledger)?.copy();
    let ledger = question.ledger.clone();
    let bytes = api
        .read(move || {
            let waiting = copy.state.pending_approvals(head.time, paging.after.unwrap_or_default());
            let page = paging.page(waiting.into_iter(), |approval| approval.position);
            let read = |approval: &Approval| ApprovalView::read(&ledger, approval.clone()).listed(&head);
            let approvals = page.items.into_iter().map(read).collect::<Result<_, _>>()?;
            json_of(&ApprovalList { approvals, next: page.next })
        })
        .await?;
    Ok(page_answer(&question, &head, bytes))
}

#[utoipa::path(
    get,
    path = paths::APPROVAL,
    tag = "governance",
    operation_id = "showApproval",
    params(
        InLedger,
        ("approval" = String, Path, description = "Its id"),
        ("wait" = Option<String>, Query, description = "How long an approval that waits is waited for, such as `30s`"),
        AtLeast,
    ),
    responses(
        (status = 200, description = "What has become of it; `pending` where nobody has answered", body = ApprovalAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, question: ReadRequest) -> Result<Response, Problem> {
    let mut query = question.query()?;
    let wait = query.take_duration("wait", MAX_WAIT)?;
    query.finish()?;
    let id = approval_id(question.names.named.as_deref().unwrap_or_default())?;
    question.state(&api).await?;
    let (approval, head) = match wait {
        None => found(&question.ledger, &id)?,
        Some(wait) => resolved(&api, &question.caller, &question.ledger, &id, wait).await?,
    };
    approval_answer(&api, &question.ledger, approval, &head).await
}

#[utoipa::path(
    post,
    path = paths::APPROVAL,
    tag = "governance",
    operation_id = "resolveApproval",
    params(
        InLedger,
        ("approval" = String, Path, description = "Its id, and what is said of it: `a17:approve`, `:reject`, `:edit` or `:withdraw`"),
    ),
    request_body(content = ResolutionRequest, description = "May be left out, but for `:edit`"),
    responses(
        (status = 200, description = "Recorded; the first answer holds", body = ApprovalAnswer),
        Refusals,
    )
)]
pub(crate) async fn resolve(mut act: Act) -> Result<Response, Problem> {
    let (id, verb) = act.named_verb();
    let resolution = resolution_of(verb)?;
    let id = approval_id(id)?;
    let said = act.read_if_any(read_said).await?.unwrap_or_default();
    let (action_digest, args, cwd) = match (resolution, said.edit) {
        (Resolution::Edited, Some(edit)) => {
            refuse_sealed(&act.api, &act.ledger, &id).await?;
            let digest = edited_digest(&act.api, &act.ledger, &id, &edit).await?;
            (Some(digest), edit.args, edit.cwd)
        }
        (Resolution::Edited, None) => {
            let detail = "an edit sends the arguments that are approved, as `args`, or their `actionDigest`";
            return Err(Problem::new(Code::BadBody, detail));
        }
        (_, Some(_)) => {
            return Err(Problem::new(Code::BadBody, "other arguments go with `:edit` alone"));
        }
        (_, None) => (None, None, None),
    };
    let by = act.caller.actor_text();
    let resolved =
        ApprovalResolved { approval: id.clone(), resolution, by, note: said.note, action_digest, args, cwd };
    let recorded = act.record(STREAM, &resolved).await?;
    let (approval, _) = found(&act.ledger, &id)?;
    approval_answer(&act.api, &act.ledger, approval, &recorded.0.head).await
}

/// Reads the answer to an approval from the verb of the path.
fn resolution_of(verb: &str) -> Result<Resolution, Problem> {
    match verb {
        "approve" => Ok(Resolution::Approved),
        "reject" => Ok(Resolution::Rejected),
        "edit" => Ok(Resolution::Edited),
        "withdraw" => Ok(Resolution::Withdrawn),
        _ => {
            Err(no_such_verb("what is said of an approval is `:approve`, `:reject`, `:edit` or `:withdraw`"))
        }
    }
}

fn approval_id(text: &str) -> Result<Name, Problem> {
    Name::new(text).map_err(|_| no_such_approval(text))
}

fn no_such_approval(id: &str) -> Problem {
    let detail = format!("there is no approval {}; list those that wait", quoted(id));
    Problem::new(Code::NoSuchApproval, detail)
}

/// The body of an answer to an approval.
#[derive(Default)]
struct ApprovalBody {
    note: Option<Note>,
    edit: Option<Edit>,
}

/// The arguments that are approved in the place of those asked for.
struct Edit {
    /// The arguments; without them, their digest is there.
    args: Option<CallArguments>,
    digest: Option<Sha256Text>,
    /// The folder that they are relative to, where it is another one.
    cwd: Option<PathText>,
}

fn read_said(members: &mut ObjectMembers<'_>) -> Result<ApprovalBody, Problem> {
    let note = members.take("note")?;
    let args: Option<CallArguments> = members.take("args")?;
    let cwd: Option<PathText> = members.take("cwd")?;
    let digest: Option<Sha256Text> = members.take("actionDigest")?;
    if args.is_some() && digest.is_some() {
        return Err(members.bad("actionDigest", &"either the arguments or their digest are sent"));
    }
    if cwd.is_some() && args.is_none() && digest.is_none() {
        return Err(members.bad("cwd", &"a folder goes with the arguments that are relative to it"));
    }
    if args.as_ref().is_some_and(|args| args.as_json().len() > MAX_EDITED_ARGUMENTS_BYTES) {
        let fault = format!("more than {MAX_EDITED_ARGUMENTS_BYTES} bytes; send their `actionDigest`");
        return Err(members.bad("args", &fault));
    }
    let edit = (args.is_some() || digest.is_some()).then_some(Edit { args, digest, cwd });
    Ok(ApprovalBody { note, edit })
}

/// Refuses an edit of a call whose arguments are sealed: it would record a data subject's arguments in clear, for good. No call could use
/// it, since the digest under the subject's key is another.
async fn refuse_sealed(api: &Api, ledger: &IndexedLedger, id: &Name) -> Result<(), Problem> {
    let (approval, _) = found(ledger, id)?;
    if approval.request.about != ApprovalAbout::Call {
        return Ok(());
    }
    let ledger = ledger.clone();
    let request = api.read(move || request_event(&ledger, &approval)).await?;
    if request.erased || request.unreadable || request.event.datasubject.is_some() {
        let detail = "the arguments are sealed under a data subject's key, and an edit would record others in clear; reject the call, and have the agent ask for another one";
        return Err(Problem::new(Code::SubjectSealed, detail));
    }
    Ok(())
}

/// The digest of other arguments, made as it is for a call of the same tool.
async fn edited_digest(
    api: &Api,
    ledger: &IndexedLedger,
    id: &Name,
    edit: &Edit,
) -> Result<Sha256Text, Problem> {
    if let Some(digest) = &edit.digest {
        return Ok(digest.clone());
    }
    let (Some(args), cwd) = (edit.args.clone(), edit.cwd.clone()) else {
        return Err(Problem::new(Code::BadBody, "an edit sends the arguments that are approved"));
    };
    let (approval, _) = found(ledger, id)?;
    let ledger = ledger.clone();
    api.read(move || {
        let request = request_of(&ledger, &approval)?;
        let server = request.server.as_deref();
        let tool = governance(&ledger)?
            .read(|state| state.tools().get(&request.tool, server).cloned())
            .ok_or_else(|| {
                let detail = format!("tool {} is not registered any more", quoted(&request.tool));
                Problem::new(Code::NoSuchGoverned, detail)
            })?;
        let unfit = |why: &dyn std::fmt::Display| {
            let detail = format!("the arguments do not fit tool {}: {why}", quoted(&request.tool));
            Problem::new(Code::Schema, detail)
        };
        let compiled = CompiledTool::new(&tool.document).map_err(|error| unfit(&error))?;
        let cwd = cwd.as_deref().or(request.cwd.as_deref());
        let examined = examine(&compiled, args.as_json().as_bytes(), cwd);
        if let Some(refusal) = examined.refusal {
            let place = examined.violations.first();
            let words = place.map(|place| format!("{refusal} (`{}` at `{}`)", place.keyword, place.pointer));
            return Err(unfit(&words.unwrap_or_else(|| refusal.to_string())));
        }
        examined.action_digest.ok_or_else(|| unfit(&"they have no digest"))
    })
    .await
}

/// An approval, and a head that it is not older than.
pub(super) fn found(ledger: &IndexedLedger, id: &Name) -> Result<(Approval, Head), Problem> {
    let head = ledger.head();
    let approval = governance(ledger)?.read(|state| state.approval(id).cloned());
    approval.map(|approval| (approval, head)).ok_or_else(|| no_such_approval(id))
}

/// Waits until somebody has answered, or the time is over, or the service ends.
pub(super) async fn resolved(
    api: &Api,
    caller: &Caller,
    ledger: &IndexedLedger,
    id: &Name,
    wait: Duration,
) -> Result<(Approval, Head), Problem> {
    let until = Instant::now() + wait;
    let mut place = api.place_to_wait(caller).await?;
    let mut heads = ledger.watch_head();
    let mut phase = api.phase();
    loop {
        heads.mark_unchanged();
        let (approval, head) = found(ledger, id)?;
        let waits = approval.status == ApprovalStatus::Pending && !is_over(&approval, &head);
        if !waits || Instant::now() >= until || api.is_ending() {
            return Ok((approval, head));
        }
        tokio::select! {
            changed = heads.changed() => if changed.is_err() { return Ok((approval, head)) },
            _ = phase.wait_for(|phase| *phase > Phase::Serving) => (),
            // A caller that gives way is answered as if the time were over.
            () = place.give_way_requested() => return Ok((approval, head)),
            () = tokio::time::sleep_until(until) => (),
        }
        // Many heads a second are one look.
        tokio::time::sleep(APPROVAL_PACE).await;
    }
}

async fn approval_answer(
    api: &Api,
    ledger: &IndexedLedger,
    approval: Approval,
    head: &Head,
) -> Result<Response, Problem> {
    let ledger = ledger.clone();
    let view = api.read(move || Ok(ApprovalView::read(&ledger, approval))).await?;
    json_answer(head, &view.alone(head)?)
}
