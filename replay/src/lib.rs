//! The replay of a log: the state that decides, folded again, compared, and tried with another policy.
//!
//! A replay reads a ledger and changes nothing in it. It repeats what the service did with the recorded events, by the
//! same rules of the crate `governance`. Reports come as lines, tables and JSON; the caller prints them.

mod cursor;
mod error;
mod expired_content;
mod fold;
mod live;
mod policy;
mod reevaluation;
mod state_report;
mod trial;
mod trial_json;
mod trial_text;
mod watched_calls;
mod what_if;

pub use cursor::{ReplayCursor, ReplayProgress, ReplayStop};
pub use error::ReplayError;
pub use expired_content::ExpiredContent;
pub use fold::{FoldOrigin, FoldResult, ReplayStart, fold_states};
pub use live::LiveComparison;
pub use policy::{parse_policy, published_policy};
pub use reevaluation::{ReevaluationResult, reevaluate, reevaluation_json, reevaluation_lines};
pub use state_report::{DifferenceReport, StateReport};
pub use trial::{Trial, TrialContext};
pub use trial_json::trial_json;
pub use trial_text::{TrialTable, TrialText};
pub use what_if::try_policy;
