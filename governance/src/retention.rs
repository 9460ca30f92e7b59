//! The retention of events: the policy that says how long they are kept, and the holds that win over it.

pub(crate) mod expirable_types;
pub(crate) mod holds;
pub(crate) mod named_run;
pub(crate) mod retention_policy;
pub(crate) mod unfinished_acts;
