//! Parts that several pages show.

mod address;
mod age;
mod amounts;
mod arguments;
mod badge;
mod budget;
mod chart;
mod diff;
mod dimension;
mod facts;
mod hidden_fields;
mod hours;
mod links;
mod not_told;
mod paging;
mod reason;
mod text;
mod time;

pub(crate) use self::age::{from_now, probed_from};
pub(crate) use self::amounts::{
    NOTHING, dollars, duration, exact_usd, grouped, in_order, mebibytes, micro_usd, short_usd, spent,
    time_between, unless_zero, whole,
};
pub(crate) use self::arguments::{OPAQUE, arguments, command_parts};
pub(crate) use self::badge::{
    Tone, badge, ledger_badge, mode_badge, mode_words, standing_badge, verdict_badge,
};
pub(crate) use self::budget::{BudgetUse, budget_badge, is_near_its_end, used_part, uses};
pub(crate) use self::chart::{Chart, ChartKind, Series, SeriesColour};
pub(crate) use self::diff::difference;
pub(crate) use self::dimension::{
    DIMENSION_PARTS, dimension_address, dimension_fields, dimension_of, dimension_parts, dimension_query,
    dimension_words, on_context,
};
pub(crate) use self::facts::{Fact, facts};
pub(crate) use self::hidden_fields::{ACT_FIELD, KEY_FIELD, SECRET_FIELD, act_fields};
pub(crate) use self::hours::{chosen_hours, hours_field};
pub(crate) use self::links::{approval_link, call_link, event_link, policy_link, run_link, session_link};
pub(crate) use self::not_told::{not_told, part_or_reason};
pub(crate) use self::paging::{filter_field, next_link};
pub(crate) use self::reason::reason;
pub(crate) use self::text::{
    clipped_name, code_name, code_text, long_text, name, plain_text, quoted, sentence, text,
};
pub(crate) use self::time::{moment, moment_cell};
