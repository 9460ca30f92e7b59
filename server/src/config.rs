//! The configuration that a server starts with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use crate::background::archiving::ArchiveSettings;
use crate::background::warm_bound::WarmBound;
use crate::background::webhooks::NoticeTarget;
use crate::http::origin::Origin;
use crate::http::tls::ServiceTls;
use crate::ledgers::LedgersConfig;
use crate::ledgers::anchor_list::UnlistedAnchor;
use crate::ledgers::first_tokens::Admission;
use crate::ledgers::required_models::RequiredModel;
use crate::server_limits::ServerLimits;

/// Everything a [`Server`](crate::Server) is told at its start.
pub struct ServerConfig {
    /// Addresses to listen on; port 0 takes a free one.
    pub addresses: Vec<SocketAddr>,
    /// TLS of these addresses. The Unix socket has none.
    pub tls: Option<Arc<ServiceTls>>,
    /// `true` if addresses that other machines reach are taken without TLS.
    pub allows_remote: bool,
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
    pub archiving: Option<ArchiveSettings>,
    /// The bound of warm data, if there is any.
    pub warm: Option<WarmBound>,
    /// Read models that every ledger has to answer from for the service to be ready.
    pub required_models: Vec<RequiredModel>,
    /// Bounds of memory, threads and patience.
    pub limits: ServerLimits,
}
