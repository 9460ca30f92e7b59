//! Bounds of memory, threads and patience that a server is configured with.

use crate::limits::{
    ConnectionTimeouts, DEFAULT_MAX_ANSWER_BYTES_IN_FLIGHT, DEFAULT_MAX_BODY_BYTES_IN_FLIGHT,
    DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_FOLLOW_BYTES_IN_FLIGHT, DEFAULT_MAX_FOLLOWERS, DEFAULT_MAX_INGESTS,
    DEFAULT_MAX_PAST_EVENTS, DEFAULT_MAX_POLICY_CACHE_DIMENSIONS, DEFAULT_MAX_READS,
    DEFAULT_MAX_UPLOAD_BYTES_IN_FLIGHT,
};

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
    pub patience: ConnectionTimeouts,
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
            patience: ConnectionTimeouts::default(),
        }
    }
}
