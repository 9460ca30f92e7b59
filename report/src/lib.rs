//! The meaning of a service's answers, for people: sums of costs, reports of days, work, tools and reviews, and of what a ledger learned.
//!
//! Everything here is a pure function of answers and of a list of prices. The caller asks for the answers and prints.

mod costs;
mod day;
mod groups;
mod learned;
mod prices;
mod reviews;
mod section;
mod span;
mod table;
mod tools;
mod waits;
mod words;
mod work;

pub use costs::{CostGroup, CostSums, cost_headings, costs_json, sum_costs};
pub use day::{DayLists, DaySums};
pub use groups::MAX_REPORT_GROUPS;
pub use learned::LearnedAnswers;
pub use prices::{Estimate, Prices, PricesError};
pub use reviews::ReviewSums;
pub use section::Section;
pub use span::{ReportSpan, SpanError};
pub use table::{HistoryReport, ReportColumn, ReportTable};
pub use tools::ToolAnswers;
pub use words::{dimension_words, gapless_words, position_words, suggestion_subject};
pub use work::WorkSums;
