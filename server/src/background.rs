//! Work in the background, from the start of the service to its end.

mod archive_scrubs;
pub(crate) mod archiving;
pub(crate) mod certificate_renewal;
pub(crate) mod expiry;
pub(crate) mod pending_anchors;
mod retention;
pub(crate) mod suggestion_job;
mod ticks;
pub(crate) mod warm_bound;
pub(crate) mod webhooks;
