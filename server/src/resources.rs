//! The resources, one file each: extract, call, reply.

pub(crate) mod admin;
pub(crate) mod append;
pub(crate) mod events;
pub(crate) mod head;
pub(crate) mod health;
pub(crate) mod ingest;
pub(crate) mod ledgers;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod projections;
pub(crate) mod proofs;
pub(crate) mod receipts;
pub(crate) mod tiles;
pub(crate) mod tree_head;
