//! Budgets: limits on spending by scope and period, and the amounts that were spent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentName, BoundedText, Count, DimensionPart, EventData, MicroUsd, Milliseconds, Name, Tokens};

/// `budget.configured`: a budget has these limits from here on. Without any it is lifted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetConfigured {
    /// Its name.
    pub budget: Name,
    /// The spending that it limits.
    pub scope: BudgetScope,
    /// The limits.
    pub limits: SpendLimits,
    /// The period in which it may be spent.
    pub period: BudgetPeriod,
    /// The consequence once it is spent.
    pub on_exceed: OnExceed,
    /// The holders for each of whom it is counted separately; without it, all spend it together.
    #[serde(default, skip_serializing_if = "BudgetCount::is_together")]
    pub counted: BudgetCount,
}

/// The way a budget is counted: for each agent anew, or for all together.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BudgetCount {
    /// Everybody spends it together, so that one agent can leave nothing of it to the others. Budgets of runs and
    /// sessions belong to each agent even so, because any agent can use the name of a run.
    #[default]
    Together,
    /// Each agent has it anew.
    EachAgent,
}

impl BudgetCount {
    fn is_together(&self) -> bool {
        *self == Self::Together
    }
}

/// The scope of a budget: everything that has all of these; without any, everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct BudgetScope {
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
    /// The role of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Name>,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Name>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// The kind of task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<Name>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Name>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Name>,
    /// The project, as the workspace in the dimension of decisions shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<DimensionPart>,
}

/// Limits on spending. An amount that is not named is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpendLimits {
    /// Money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
    /// Tokens of models, read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Count>,
    /// Steps of runs that came to their end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Count>,
    /// Time that calls and answers of models took, one after the other or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Milliseconds>,
}

impl SpendLimits {
    /// Returns `true` if nothing is limited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The time that a budget is for. Days are those of UTC, today included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetPeriod {
    /// Each run has it anew.
    Run,
    /// Each session has it anew.
    Session,
    /// Today.
    Day,
    /// The last seven days.
    SevenDays,
    /// The last thirty days.
    ThirtyDays,
}

/// The consequence of a spent budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExceed {
    /// Calls wait for a person.
    Pause,
    /// Calls are denied.
    Deny,
    /// The run is aborted, and its calls are denied. Budgets that each run has anew have it alone.
    Abort,
}

/// `budget.charged`: a call's estimate was reserved, settled by its outcome, or given back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetCharged {
    /// The budget.
    pub budget: Name,
    /// The call.
    pub call: Name,
    /// The run or session whose amounts these are, where each has the budget anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<BoundedText<1024>>,
    /// The agent whose amounts these are, where each has the budget anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The kind of charge.
    pub charge: Charge,
    /// The amounts.
    pub amounts: SpendLimits,
}

/// The kind of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Charge {
    /// Held back for a call that was requested.
    Reserved,
    /// Spent: the outcome's amounts take the place of the reserved ones.
    Settled,
    /// Given back: the call's time was over.
    Released,
}

/// `budget.exceeded`: a budget is spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetExceeded {
    /// The budget.
    pub budget: Name,
    /// The spending that it limits.
    pub scope: BudgetScope,
    /// The run or session that spent it, where each has it anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<BoundedText<1024>>,
    /// The agent that spent it, where each has it anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The limits.
    pub limits: SpendLimits,
    /// The amounts that were spent, with those that are reserved.
    pub amounts: SpendLimits,
    /// The consequence.
    pub on_exceed: OnExceed,
    /// Wall-clock time since the beginning of the run, where the budget limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<Milliseconds>,
    /// The call that met the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Name>,
}

impl EventData for BudgetConfigured {
    const KIND: &'static str = "budget.configured";
    const VERSION: u32 = 1;
}

impl EventData for BudgetCharged {
    const KIND: &'static str = "budget.charged";
    const VERSION: u32 = 1;
}

impl EventData for BudgetExceeded {
    const KIND: &'static str = "budget.exceeded";
    const VERSION: u32 = 1;
}
