//! Approvals: the calls that wait for a person.

mod acts;
mod answers;
mod background;
mod card;
mod consent;
mod inbox;
mod policy;
mod reasons;
mod sight;
mod story;
mod verdicts;

pub(crate) use self::acts::resolve;
pub(crate) use self::inbox::list;
pub(crate) use self::story::one;
pub(crate) use self::verdicts::outcome;
