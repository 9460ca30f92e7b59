//! Recorded decisions judged again: by the rules that were in force, or by other ones.

pub(crate) mod recorded_decision;
pub(crate) mod recorded_facts;
pub(crate) mod reevaluation;
pub(crate) mod what_if;
