//! Resources that operate the service.

pub(crate) mod admin;
pub(crate) mod bulk_exports;
pub(crate) mod caller;
pub(crate) mod erasures;
pub(crate) mod health;
pub(crate) mod holds;
pub(crate) mod keys;
pub(crate) mod ledgers;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod principals;
pub(crate) mod projections;
pub(crate) mod retention;
pub(crate) mod sign_in;
pub(crate) mod tiers;
pub(crate) mod verifications;
