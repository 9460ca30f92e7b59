//! The findings about a call as its decision keeps them: without those that the decision says already.

use std::borrow::Cow;

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    BlastRadius, BoundedText, DecisionInputs, DecisionMade, DimensionPart, FactsError, FactsText, MicroUsd,
    Milliseconds, Name,
};
use serde::{Deserialize, Serialize};

use crate::decide::session_folder::folder_digest;
use crate::policy::zones::LocalSource;
use crate::policy::{ArgumentMatches, FileGuardResult};
use crate::reactor::examination::CallFacts;
use crate::tools::arguments::{ArgumentFindings, ArgumentsRefusal, PlaceText, Reach};
use crate::tools::compiled_schema::Violation;

/// [`CallFacts`] without the facts that stand in the decision's inputs.
#[derive(Serialize, Deserialize)]
struct RecordedFacts<'a> {
    /// The tool, where its dimension is not called so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Cow<'a, Name>>,
    /// The model, where its dimension's is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Cow<'a, Name>>,
    /// The task type, where its dimension's is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_type: Option<Cow<'a, Name>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<Cow<'a, BoundedText<1024>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor: Option<Cow<'a, BoundedText<1024>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<Cow<'a, BoundedText<4096>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Cow<'a, BoundedText<1024>>>,
    /// The approval that it brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval: Option<Cow<'a, Name>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blast_radius: Option<BlastRadius>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimated_cost: Option<MicroUsd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<Milliseconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    examined: Option<RecordedExamined<'a>>,
    matches: Cow<'a, ArgumentMatches>,
    #[serde(default, skip_serializing_if = "is_unguarded")]
    guarded: FileGuardResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_revision: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy_version: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    imported_time: Option<Micros>,
}

/// [`ArgumentFindings`] without the findings that stand in the decision's inputs.
#[derive(Serialize, Deserialize)]
struct RecordedExamined<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refusal: Option<ArgumentsRefusal>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    violations: Cow<'a, [Violation]>,
    /// The context, where its dimension's is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Cow<'a, PlaceText>>,
    /// The parts, where the context is not the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parts: Option<Cow<'a, [PlaceText]>>,
    #[serde(default, skip_serializing_if = "is_false")]
    opaque: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reach: Option<Cow<'a, Reach>>,
    #[serde(default, skip_serializing_if = "is_false")]
    unlisted: bool,
}

/// Returns the text of the facts that a decision with these inputs keeps.
pub(crate) fn facts_text(facts: &CallFacts, inputs: &DecisionInputs) -> Result<FactsText, FactsError> {
    let dimension = &inputs.dimension;
    FactsText::of(&RecordedFacts {
        tool: unless_same(Some(&facts.tool), Some(dimension.tool())),
        model: unless_same(facts.model.as_ref(), known(dimension.model())),
        task_type: unless_same(facts.task_type.as_ref(), known(dimension.task_type())),
        agent: facts.agent.as_ref().map(Cow::Borrowed),
        actor: facts.actor.as_ref().map(Cow::Borrowed),
        cwd: facts.cwd.as_ref().map(Cow::Borrowed),
        session: facts.session.as_ref().map(Cow::Borrowed),
        approval: facts.approval.as_ref().map(Cow::Borrowed),
        blast_radius: facts.blast_radius,
        estimated_cost: facts.estimated_cost,
        deadline_ms: facts.deadline_ms,
        examined: facts.examined.as_ref().map(|examined| examined_text(examined, inputs)),
        matches: Cow::Borrowed(&facts.matches),
        guarded: facts.guarded,
        tool_revision: facts.tool_revision,
        policy_version: facts.policy_version,
        imported_time: facts.imported_time,
    })
}

fn examined_text<'a>(examined: &'a ArgumentFindings, inputs: &DecisionInputs) -> RecordedExamined<'a> {
    let ArgumentFindings { refusal, violations, context, parts, opaque, reach, unlisted, .. } = examined;
    RecordedExamined {
        refusal: *refusal,
        violations: Cow::Borrowed(violations),
        context: unless_same(Some(context), Some(inputs.dimension.context())),
        parts: (parts != std::slice::from_ref(context)).then_some(Cow::Borrowed(parts)),
        opaque: *opaque,
        reach: reach.as_ref().map(Cow::Borrowed),
        unlisted: *unlisted,
    }
}

impl CallFacts {
    /// Returns the facts that a decision rests on; `None` where they were not kept or cannot be read.
    pub(crate) fn of(decision: &DecisionMade) -> Option<Self> {
        let inputs = &decision.inputs;
        let dimension = &inputs.dimension;
        let kept: RecordedFacts<'_> = serde_json::from_str(decision.examined.as_ref()?.as_json()).ok()?;
        Some(Self {
            call: decision.call.clone(),
            tool: or_the(kept.tool, Some(dimension.tool()))?,
            server: inputs.server.clone(),
            dimension: dimension.clone(),
            model: or_the(kept.model, known(dimension.model())),
            task_type: or_the(kept.task_type, known(dimension.task_type())),
            agent: kept.agent.map(Cow::into_owned),
            actor: kept.actor.map(Cow::into_owned),
            role: inputs.role.clone(),
            folder: kept.cwd.as_deref().and_then(|cwd| folder_digest(cwd)),
            cwd: kept.cwd.map(Cow::into_owned),
            session: kept.session.map(Cow::into_owned),
            run: inputs.run.clone(),
            idempotency_key: inputs.idempotency_key.clone(),
            approval: kept.approval.map(Cow::into_owned),
            drawn_approval: None,
            blast_radius: kept.blast_radius,
            estimated_cost: kept.estimated_cost,
            deadline_ms: kept.deadline_ms,
            examined: match kept.examined {
                Some(examined) => Some(examined.whole(inputs)?),
                None => None,
            },
            poll: inputs.poll,
            matches: kept.matches.into_owned(),
            guarded: kept.guarded,
            tool_revision: kept.tool_revision,
            policy_version: kept.policy_version,
            imported: inputs.imported,
            imported_time: kept.imported_time,
            local_times: LocalSource::Recorded(inputs.local_times.clone()),
            reactor_version: inputs.reactor_version,
        })
    }
}

impl RecordedExamined<'_> {
    fn whole(self, inputs: &DecisionInputs) -> Option<ArgumentFindings> {
        let context = or_the(self.context, Some(inputs.dimension.context()))?;
        Some(ArgumentFindings {
            refusal: self.refusal,
            violations: self.violations.into_owned(),
            parts: self.parts.map_or_else(|| vec![context.clone()], Cow::into_owned),
            context,
            opaque: self.opaque,
            destinations: inputs.destinations.clone(),
            reach: self.reach.map(Cow::into_owned),
            unlisted: self.unlisted,
            action_digest: inputs.action_digest.clone(),
            args_digest: inputs.args_digest.clone(),
        })
    }
}

/// Returns a part of a dimension, where it is known.
fn known(part: &str) -> Option<&str> {
    Some(part).filter(|part| *part != DimensionPart::UNKNOWN)
}

fn unless_same<'a, const MAX: usize>(
    text: Option<&'a BoundedText<MAX>>,
    other: Option<&str>,
) -> Option<Cow<'a, BoundedText<MAX>>> {
    text.filter(|text| Some(text.as_str()) != other).map(Cow::Borrowed)
}

fn or_the<const MAX: usize>(
    kept: Option<Cow<'_, BoundedText<MAX>>>,
    other: Option<&str>,
) -> Option<BoundedText<MAX>> {
    kept.map(Cow::into_owned).or_else(|| BoundedText::new(other?).ok())
}

fn is_unguarded(guarded: &FileGuardResult) -> bool {
    *guarded == FileGuardResult::default()
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests;
