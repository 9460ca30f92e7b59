//! Parts that several pages show.

mod age;
mod badge;
mod chart;
mod facts;
mod hidden_fields;
mod not_told;
mod paging;
mod text;
mod time;

pub(crate) use self::age::from_now;
pub(crate) use self::badge::{Tone, badge, verdict_badge};
pub(crate) use self::chart::{Chart, ChartKind, Series, SeriesColour, dollars, whole};
pub(crate) use self::facts::{Fact, facts};
pub(crate) use self::hidden_fields::{ACT_FIELD, SECRET_FIELD, act_fields};
pub(crate) use self::not_told::{not_told, part_or_reason};
pub(crate) use self::paging::{filter_field, next_link};
pub(crate) use self::text::{code_lines, code_text, long_code, long_text, name, plain_text, text};
pub(crate) use self::time::{moment, moment_cell};
