//! The filters that reads do not know: by tool and by verdict.

use crate::call_facts::CallFacts;

/// A filter over the data of events; every list that is not empty must hold the event's value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowFilter {
    /// Tools of calls, decisions and outcomes.
    pub tools: Vec<String>,
    /// Verdicts of decisions.
    pub verdicts: Vec<String>,
}

impl RowFilter {
    /// Returns `true` if every event passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.verdicts.is_empty()
    }

    pub(crate) fn passes(&self, facts: &CallFacts<'_>) -> bool {
        let holds = |list: &[String], value: Option<&str>| {
            list.is_empty() || value.is_some_and(|value| list.iter().any(|item| item == value))
        };
        holds(&self.verdicts, facts.verdict().as_deref()) && holds(&self.tools, facts.tool().as_deref())
    }
}
