//! The meaning of a service's answers, for people: sums of costs, and the report of what a ledger learned.
//!
//! Everything here is a pure function of answers and of a list of prices. The caller asks for the answers and prints.

mod costs;
mod learned;
mod prices;
mod section;
mod words;

pub use costs::{CostGroup, CostSums, cost_headings, costs_json, sum_costs};
pub use learned::LearnedAnswers;
pub use prices::{Estimate, Prices, PricesError};
pub use section::Section;
pub use words::{dimension_words, gapless_words, position_words, suggestion_subject};
