//! The examination of a request for a call, with the registry and the policy as they are published.

use std::sync::Arc;

use bitacora_formats::{Event, Micros, parse_time};
use bitacora_vocabulary::{BoundedText, Dimension, DimensionPart, Name, ToolRequested};

use crate::command::{is_imported, read};
use crate::decide::session_folder::folder_digest;
use crate::policy::policies::Policies;
use crate::policy::zones::LocalSource;
use crate::policy::{ArgumentMatches, Policy};
use crate::reactor::examination::CallFacts;
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::tools::arguments::{
    ArgumentFindings, PlaceText, examine, examine_digest, examine_nothing, examine_unregistered,
    examine_unregistered_digest, recorded_context,
};
use crate::tools::compiled_cache::CompiledCache;
use crate::tools::compiled_tool::CompiledTool;
use crate::tools::registry::{RegisteredTool, Registry, qualified_name};
use crate::version::REACTOR_VERSION;

/// The role of a caller without one: the least of all.
const LEAST_ROLE: &str = "agent";

/// The compiled tools, by tool and server.
pub(crate) type CompiledTools = CompiledCache<(Name, Option<Name>), CompiledTool>;

/// The registry and the policies that a request is examined with.
pub(crate) struct Precheck<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) policies: &'a Policies,
    pub(crate) compiled: &'a CompiledTools,
}

impl Precheck<'_> {
    fn compiled(&self, tool: &RegisteredTool) -> Option<Arc<CompiledTool>> {
        let document = &tool.document;
        let key = (document.tool.clone(), document.server.clone());
        self.compiled.get(key, tool.revision, || CompiledTool::new(document).ok())
    }

    /// Finds the facts that decide about a call.
    pub(crate) fn call(&self, event: &Event<'_>) -> Result<CallFacts, ReactorRefusal> {
        let request: ToolRequested = read(event)?;
        let imported = is_imported(event);
        if !imported && request.args.is_some() == request.args_digest.is_some() {
            return Err(invalid("args", &"a request has either its arguments or `args_digest`"));
        }
        let tool = self.registry.get(&request.tool, request.server.as_deref());
        let compiled = tool.and_then(|tool| self.compiled(tool));
        let examined = match tool {
            None if !imported => Some(examined_unregistered(&request)),
            _ => compiled.as_deref().map(|compiled| examined_registered(compiled, &request)),
        };
        let context = context(&request, compiled.as_deref(), examined.as_ref(), imported);
        let policy = self.policies.active();
        let matches = policy.map_or_else(ArgumentMatches::hidden, |policy| matches_of(policy, &request));
        let guarded = policy
            .zip(examined.as_ref())
            .map(|(policy, found)| policy.guard(found, request.cwd.as_deref()))
            .unwrap_or_default();
        let is_waiting = |found: &ArgumentFindings| policy.is_some_and(|policy| policy.waits(found));
        let poll = tool.is_some_and(|tool| tool.document.polls) || examined.as_ref().is_some_and(is_waiting);
        let actor = text(event.actor.as_deref(), "actor")?;
        // The sender of a recording did not make its calls.
        let caller = actor.as_deref().filter(|_| !imported).and_then(|actor| actor.split_once(':'));
        let role = caller.map_or(LEAST_ROLE, |(role, _)| role);
        Ok(CallFacts {
            dimension: dimension(&request, context.as_deref())?
                .in_workspace(self.policies.workspace_of(request.cwd.as_deref()).as_ref()),
            role: Name::new(role).map_err(|error| invalid("actor", &error))?,
            agent: text(event.agent.as_deref(), "agent")?,
            folder: request.cwd.as_deref().and_then(folder_digest),
            cwd: request.cwd,
            session: text(event.session.as_deref(), "session")?,
            run: text(event.run.as_deref().or(request.run.as_deref()), "run")?,
            actor,
            tool_revision: tool.map(|tool| tool.revision),
            policy_version: self.policies.active_version(),
            call: request.call,
            tool: request.tool,
            server: request.server,
            model: request.model,
            task_type: request.task_type,
            idempotency_key: request.idempotency_key,
            approval: request.approval,
            drawn_approval: None,
            blast_radius: request.blast_radius,
            estimated_cost: request.estimated_cost,
            deadline_ms: request.deadline_ms,
            examined,
            poll,
            matches,
            guarded,
            imported,
            imported_time: imported_time(event).filter(|_| imported),
            local_times: LocalSource::Zones,
            reactor_version: REACTOR_VERSION,
        })
    }
}

/// Examines the arguments of a call of a registered tool. A digest stands for arguments that stay with the caller; an imported call
/// may have neither.
fn examined_registered(compiled: &CompiledTool, request: &ToolRequested) -> ArgumentFindings {
    match (&request.args, &request.args_digest) {
        (Some(args), _) => examine(compiled, args.as_json().as_bytes(), request.cwd.as_deref()),
        (None, Some(digest)) => examine_digest(compiled, digest),
        (None, None) => examine_nothing(),
    }
}

fn examined_unregistered(request: &ToolRequested) -> ArgumentFindings {
    match &request.args {
        Some(args) => examine_unregistered(args.as_json().as_bytes()),
        None => examine_unregistered_digest(),
    }
}

/// Returns the context of a call. Of imported arguments that do not fit their schema, as much is read as can be: the call happened, and
/// its context is part of what it taught.
fn context(
    request: &ToolRequested,
    compiled: Option<&CompiledTool>,
    examined: Option<&ArgumentFindings>,
    imported: bool,
) -> Option<PlaceText> {
    match &request.args {
        Some(args) if imported && examined.is_none_or(|found| found.refusal.is_some()) => {
            Some(recorded_context(compiled, args.as_json().as_bytes(), request.cwd.as_deref()))
        }
        _ => examined.map(|found| found.context.clone()),
    }
}

fn imported_time(event: &Event<'_>) -> Option<Micros> {
    event.time.as_deref().and_then(|time| parse_time(time).ok())
}

/// Returns the conditions on arguments that a request meets.
pub(crate) fn matches_of(policy: &Policy, request: &ToolRequested) -> ArgumentMatches {
    match &request.args {
        Some(args) => policy.match_arguments(&request.tool, args.as_json().as_bytes()),
        None => ArgumentMatches::hidden(),
    }
}

fn dimension(request: &ToolRequested, context: Option<&str>) -> Result<Dimension, ReactorRefusal> {
    let part = |what: &'static str, text: Option<&str>| {
        let text = text.unwrap_or(DimensionPart::UNKNOWN);
        DimensionPart::new(text).map_err(|error| invalid(what, &error))
    };
    Ok(Dimension::of([
        &part("tool", Some(&qualified_name(&request.tool, request.server.as_deref())))?,
        &part("context", context)?,
        &part("model", request.model.as_deref())?,
        &part("task_type", request.task_type.as_deref())?,
    ]))
}

fn text(text: Option<&str>, what: &'static str) -> Result<Option<BoundedText<1024>>, ReactorRefusal> {
    text.map(BoundedText::new).transpose().map_err(|error| invalid(what, &error))
}

fn invalid(what: &str, error: &dyn std::fmt::Display) -> ReactorRefusal {
    ReactorRefusal::new(RefusalCode::InvalidData, format!("{what}: {error}"))
}
