//! Requests to a ledger: to read and to act, with the lists and lines that answer them.

pub(crate) mod act;
pub(crate) mod answer_tiers;
pub(crate) mod binary_mode;
pub(crate) mod listing;
pub(crate) mod ndjson_answer;
pub(crate) mod parallel_pages;
pub(crate) mod read_model_query;
pub(crate) mod read_request;
pub(crate) mod service_event;
pub(crate) mod time_spans;
