//! The room of HTTP: one resource a file, extract, call, reply.
//!
//! This crate may not know: files, but for its own sockets and certificates; the formats' bytes; the time at which something is durable. It asks the ledger
//! and passes its answer on. It is the only crate that knows axum.

mod access;
mod api;
mod background;
mod config;
mod errors;
mod event_stream;
mod evidence_bundle;
mod exports;
mod followers;
mod http;
mod in_process;
mod ingest;
mod json;
mod ledgers;
mod limits;
mod live_settings;
mod log_pace;
mod metrics;
mod micro_usd;
mod page;
mod pages;
mod problem;
mod requests;
mod resources;
mod router;
mod server;
mod server_limits;
mod strict_object;
mod tiers;
mod turns;
mod verifications;
mod witnesses;

pub use self::http::listener::{CallerProtection, ListenError, may_listen};
pub use self::http::origin::{Origin, OriginError};
pub use self::http::tls::{ServiceTls, TlsFileError, TlsFiles};
pub use background::archiving::{ArchivePauses, ArchiveSettings};
pub use background::warm_bound::{WarmBound, WarmBoundError};
pub use background::webhooks::{NoticeTarget, NoticeTargetError};
pub use config::ServerConfig;
pub use in_process::InProcess;
pub use ledgers::anchor_list::{AnchoredLedgers, UnlistedAnchor};
pub use ledgers::data_folder::{DataError, DataFolder};
pub use ledgers::first_tokens::{Admission, FirstToken, FirstTokenError, FirstTokens};
pub use ledgers::required_models::{NoSuchModel, RequiredModel};
pub use ledgers::{CloseFailures, LedgersConfig, MAX_LEDGERS};
pub use limits::{
    ConnectionTimeouts, DEFAULT_MAX_ANSWER_BYTES_IN_FLIGHT, DEFAULT_MAX_BODY_BYTES_IN_FLIGHT,
    DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_FOLLOW_BYTES_IN_FLIGHT, DEFAULT_MAX_FOLLOWERS, DEFAULT_MAX_INGESTS,
    DEFAULT_MAX_PAST_EVENTS, DEFAULT_MAX_POLICY_CACHE_DIMENSIONS, DEFAULT_MAX_READS,
    DEFAULT_MAX_UPLOAD_BYTES_IN_FLIGHT,
};
pub use live_settings::{LiveSettings, ReloadOutcome};
pub use pages::{BrowserAddress, FormSender, PageBody, PageFuture, Pages, ServiceInterface};
pub use resources::operate::openapi::openapi_json;
pub use server::{Server, StartError};
pub use server_limits::ServerLimits;
pub use witnesses::{WitnessesError, http_witnesses};
