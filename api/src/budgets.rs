//! Budgets: limits, and the amounts spent against them.

use std::fmt;

use bitacora_vocabulary::{BudgetScope, Name};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Budgets, and what is left of them.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetList {
    /// The ledger's time that they are of.
    pub evaluated_at: String,
    /// By their names; of a budget that each run or session has anew, one for each that spent anything.
    pub budgets: Vec<BudgetAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A budget, and how it stands.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetAnswer {
    /// Its name.
    #[schema(example = "coders")]
    pub budget: String,
    /// The scope of the budget; without any member, everything.
    pub scope: BudgetScopeAnswer,
    /// The limits.
    pub limits: SpendAnswer,
    /// `run`, `session`, `day`, `seven_days` or `thirty_days`.
    #[schema(example = "thirty_days")]
    pub period: String,
    /// `pause`, so that calls wait for a person, `deny`, or `abort`, which ends the run too.
    #[schema(example = "pause")]
    pub on_exceed: String,
    /// `each_agent` where each agent has it anew, or `together`. Budgets of runs and sessions each agent has anew in any case.
    #[schema(example = "each_agent")]
    pub counted: String,
    /// The agent that this is of, where each has it anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The run or session that this is of, where each has it anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// The amount that was spent and counts.
    pub spent: SpendAnswer,
    /// The amount reserved for calls that have no outcome.
    pub reserved: SpendAnswer,
    /// The amount that is left, in the units that are limited.
    pub left: SpendAnswer,
    /// `true` if nothing is left in one of them: the next call meets the limit.
    pub exhausted: bool,
    /// The time at which the first spent amount counts no more; only of a budget for days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<String>,
}

/// The scope of a budget: everything that has all of these members.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct BudgetScopeAnswer {
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The role of the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The tool, with its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The kind of task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The project, as the workspace of a decision's dimension shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

impl From<&BudgetScope> for BudgetScopeAnswer {
    fn from(scope: &BudgetScope) -> Self {
        let BudgetScope { agent, role, tool, model, task_type, session, run, workspace } = scope;
        let text = |name: &Option<Name>| name.as_ref().map(ToString::to_string);
        Self {
            agent: text(agent),
            role: text(role),
            tool: text(tool),
            model: text(model),
            task_type: text(task_type),
            session: text(session),
            run: text(run),
            workspace: workspace.as_ref().map(ToString::to_string),
        }
    }
}

/// The scope in a line: `agent ci, tool fs.write`.
impl fmt::Display for BudgetScopeAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, role, tool, model, task_type, session, run, workspace } = self;
        let members = [
            ("agent", agent),
            ("role", role),
            ("tool", tool),
            ("model", model),
            ("task", task_type),
            ("session", session),
            ("run", run),
            ("workspace", workspace),
        ];
        write_members(out, &members, "everything")
    }
}

/// Writes the members that are set, each with its name; other words where none is.
pub(crate) fn write_members(
    out: &mut fmt::Formatter<'_>,
    members: &[(&str, &Option<String>)],
    none: &str,
) -> fmt::Result {
    let set = members.iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_deref()?)));
    let set: Vec<_> = set.collect();
    out.write_str(if set.is_empty() { none.to_owned() } else { set.join(", ") }.as_str())
}

/// Amounts; one that is not there is none, or of limits not limited.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpendAnswer {
    /// Money, in US dollars.
    #[schema(example = "50")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// Tokens of models, read and written, from caches too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Calls of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Steps of runs that came to their end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Time that calls and answers of models took, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// The body that sets a budget, or lifts it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetRequest {
    /// Its name.
    #[schema(example = "coders")]
    pub budget: String,
    /// The scope of the budget; left out, everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<BudgetScopeAnswer>,
    /// The limits; left out, the budget is lifted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<SpendAnswer>,
    /// `run`, `session`, `day`, `seven_days` or `thirty_days`; needed with limits.
    #[schema(example = "thirty_days")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    /// `pause`, `deny` or, of a budget that each run has anew, `abort`; needed with limits.
    #[schema(example = "pause")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_exceed: Option<String>,
    /// `each_agent` or `together`. Left out, a budget whose scope names an agent or a workspace is spent together, and each agent has
    /// any other one anew.
    #[schema(example = "each_agent")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<String>,
}

/// The answer where a budget was set or lifted.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetSetAnswer {
    /// The position of its event.
    #[schema(example = "17")]
    pub position: String,
    /// `true` if the amount spent already leaves nothing, for all or for some run or session: the next call meets the limit.
    pub exhausted: bool,
    /// `true` if the amount spent before counts no more: the budget had another scope or period.
    #[serde(default)]
    pub begun_anew: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_names_what_it_is_limited_to() {
        let scope = |json| serde_json::from_str::<BudgetScopeAnswer>(json).unwrap().to_string();
        assert_eq!(scope(r#"{"tool":"fs.write","agent":"ci"}"#), "agent ci, tool fs.write");
        assert_eq!(scope("{}"), "everything");
    }
}
