//! The ways to a ledger: a service, or a folder of this machine.

pub(crate) mod access;
pub(crate) mod append_retry;
pub(crate) mod context;
pub(crate) mod event_page;
pub(crate) mod in_process;
pub(crate) mod interrupt;
pub(crate) mod merge_pages;
pub(crate) mod pages;
pub(crate) mod principal_names;
pub(crate) mod query;
pub(crate) mod service;
pub(crate) mod token_advice;
