//! Approvals: the calls that wait for a person.

mod acts;
mod address;
mod answers;
pub(super) mod arguments;
mod background;
mod card;
mod consent;
mod diff;
mod inbox;
mod members;
mod policy;
pub(super) mod pretty;
mod reasons;
mod sight;
mod story;
mod verdicts;

pub(crate) use self::acts::resolve;
pub(crate) use self::inbox::list;
pub(crate) use self::story::one;
