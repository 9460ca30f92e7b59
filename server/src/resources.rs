//! The resources, one file each: extract, call, reply.

pub(crate) mod admin;
pub(crate) mod append;
pub(crate) mod approvals;
pub(crate) mod breakers;
pub(crate) mod decide;
pub(crate) mod decisions;
pub(crate) mod events;
pub(crate) mod grants;
pub(crate) mod head;
pub(crate) mod health;
pub(crate) mod ingest;
pub(crate) mod ledgers;
pub(crate) mod metrics;
pub(crate) mod mode;
pub(crate) mod openapi;
pub(crate) mod outcome;
pub(crate) mod policy;
pub(crate) mod projections;
pub(crate) mod proofs;
pub(crate) mod receipts;
pub(crate) mod schemas;
pub(crate) mod stops;
pub(crate) mod tiles;
pub(crate) mod tools;
pub(crate) mod tree_head;
pub(crate) mod trust;
