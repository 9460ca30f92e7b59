//! The room of HTTP: one resource a file, extract, call, reply.
//!
//! This crate may not know: files, but for its own sockets; the formats' bytes; the time at which something is durable. It asks the ledger
//! and passes its answer on. It is the only crate that knows axum.

mod access;
mod act;
mod anchored;
pub mod answers;
mod api;
mod archiving;
mod binary_mode;
mod body;
mod config;
mod connection;
mod contents;
mod data_folder;
mod decision_json;
mod doubt;
mod errors;
mod expiry;
mod first_tokens;
mod following;
mod framing;
mod identity;
mod in_process;
mod ingest;
mod json;
mod lanes;
mod ledgers;
mod limits;
mod lines;
mod listener;
mod listing;
mod media;
mod memory;
mod metrics;
mod micro_usd;
mod model_metrics;
mod origin;
mod outgoing;
mod paced;
mod page;
mod parallel_pages;
mod path;
mod pending_anchors;
mod pool;
mod preconditions;
mod preferences;
mod problem;
mod query;
mod read_model_query;
mod read_request;
mod recorded_between;
mod required_models;
mod resources;
mod resume;
mod server;
mod service_event;
mod strict_object;
mod suggestion_job;
mod tile_path;
mod webhooks;
mod witnesses;

pub use anchored::{Remembered, UnlistedAnchor};
pub use archiving::{ArchivePauses, Archiving};
pub use config::{ServerConfig, ServerLimits};
pub use data_folder::{DataError, DataFolder};
pub use first_tokens::{Admission, FirstToken, FirstTokenError, FirstTokens};
pub use in_process::InProcess;
pub use ledgers::{CloseFailures, LedgersConfig, MAX_LEDGERS};
pub use limits::{
    DEFAULT_MAX_ANSWER_BYTES_IN_FLIGHT, DEFAULT_MAX_BODY_BYTES_IN_FLIGHT, DEFAULT_MAX_CONNECTIONS,
    DEFAULT_MAX_FOLLOW_BYTES_IN_FLIGHT, DEFAULT_MAX_FOLLOWERS, DEFAULT_MAX_INGESTS, DEFAULT_MAX_PAST_EVENTS,
    DEFAULT_MAX_POLICY_CACHE_DIMENSIONS, DEFAULT_MAX_READS, DEFAULT_MAX_UPLOAD_BYTES_IN_FLIGHT, Patience,
};
pub use listener::{ListenError, may_listen};
pub use origin::{NotAnOrigin, Origin};
pub use required_models::{NoSuchModel, RequiredModel};
pub use resources::openapi::openapi_json;
pub use server::{Server, StartError};
pub use webhooks::{NoticeTarget, NoticeTargetError};
pub use witnesses::{WitnessesError, http_witnesses};
