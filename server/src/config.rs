//! The configuration that a server starts with.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::anchored::UnlistedAnchor;
use crate::archiving::Archiving;
use crate::first_tokens::Admission;
use crate::ledgers::LedgersConfig;
use crate::limits::{
    DEFAULT_MAX_ANSWER_BYTES_IN_FLIGHT, DEFAULT_MAX_BODY_BYTES_IN_FLIGHT, DEFAULT_MAX_CONNECTIONS,
    DEFAULT_MAX_FOLLOW_BYTES_IN_FLIGHT, DEFAULT_MAX_FOLLOWERS, DEFAULT_MAX_INGESTS, DEFAULT_MAX_PAST_EVENTS,
    DEFAULT_MAX_POLICY_CACHE_DIMENSIONS, DEFAULT_MAX_READS, DEFAULT_MAX_UPLOAD_BYTES_IN_FLIGHT, Patience,
};
use crate::origin::Origin;
use crate::required_models::RequiredModel;
use crate::webhooks::NoticeTarget;

/// Everything a [`Server`](crate::Server) is told at its start.
pub struct ServerConfig {
    /// Addresses to listen on; port 0 takes a free one.
    pub addresses: Vec<SocketAddr>,
    /// A Unix socket to listen on, made with mode 0600.
    pub unix_socket: Option<PathBuf>,
    /// The rule for ledgers that have no tokens.
    pub admission: Admission,
    /// Origins of web pages that may act, with a token, and read answers.
    pub allowed_origins: Vec<Origin>,
    /// The folder of the ledgers, and the keys and options that open them.
    pub ledgers: LedgersConfig,
    /// An anchor that could not say which ledgers it remembers. The service asks it again.
    pub unlisted: Option<UnlistedAnchor>,
    /// The receiver of notices, if there is one.
    pub notices: Option<NoticeTarget>,
    /// The archiving in the background, if there is any.
    pub archiving: Option<Archiving>,
    /// Read models that every ledger has to answer from for the service to be ready.
    pub required_models: Vec<RequiredModel>,
    /// Bounds of memory, threads and patience.
    pub limits: ServerLimits,
}

/// Bounds of memory, threads and patience of a server.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// Connections served at once; one more is turned away with 503.
    pub max_connections: usize,
    /// Bytes of request bodies held at once, decompressed ones included; past it requests are refused with 503.
    pub max_body_bytes_in_flight: usize,
    /// Bytes that all uploads of any length hold at once; past it requests are refused with 503.
    pub max_upload_bytes_in_flight: usize,
    /// Bytes of events read for followers and not sent yet; past it they wait.
    pub max_follow_bytes_in_flight: usize,
    /// Bytes of pages of events held until they are sent; past it reads are refused with 503.
    pub max_answer_bytes_in_flight: usize,
    /// Reads of ledgers at once; past it requests are refused with 503.
    pub max_reads: usize,
    /// Followers at once; one more is refused with 503.
    pub max_followers: usize,
    /// Uploads of any length at once; one more is refused with 503.
    pub max_ingests: usize,
    /// Events that are folded at once for what a dimension had shown at an earlier position; past it that is refused.
    pub max_past_events: usize,
    /// Dimensions of a state that is handed out to be kept elsewhere; past it that is refused.
    pub max_policy_cache_dimensions: u64,
    /// The patience with peers.
    pub patience: Patience,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_connections: DEFAULT_MAX_CONNECTIONS,
            max_body_bytes_in_flight: DEFAULT_MAX_BODY_BYTES_IN_FLIGHT,
            max_upload_bytes_in_flight: DEFAULT_MAX_UPLOAD_BYTES_IN_FLIGHT,
            max_follow_bytes_in_flight: DEFAULT_MAX_FOLLOW_BYTES_IN_FLIGHT,
            max_answer_bytes_in_flight: DEFAULT_MAX_ANSWER_BYTES_IN_FLIGHT,
            max_reads: DEFAULT_MAX_READS,
            max_ingests: DEFAULT_MAX_INGESTS,
            max_followers: DEFAULT_MAX_FOLLOWERS,
            max_past_events: DEFAULT_MAX_PAST_EVENTS,
            max_policy_cache_dimensions: DEFAULT_MAX_POLICY_CACHE_DIMENSIONS,
            patience: Patience::default(),
        }
    }
}
