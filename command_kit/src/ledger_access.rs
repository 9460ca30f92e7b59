//! The ways to a ledger: a service, or a folder of this machine.

pub mod access;
pub mod append_retry;
pub mod context;
pub mod each_line;
pub mod event_page;
pub mod in_process;
pub mod interrupt;
pub mod line;
pub mod merge_pages;
pub mod pages;
pub mod principal_names;
pub mod query;
pub mod read_failure;
pub mod service;
pub mod token_advice;
