//! The certificate that the service has now. Its files may be renewed while the service runs.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::NoServerSessionStorage;
use rustls::sign::SingleCertAndKey;
use rustls::version::{TLS12, TLS13};
use tokio_rustls::TlsAcceptor;

use super::certificate::CertificateTimes;
use super::files::{Credentials, TlsFileError, TlsFiles};

/// The one protocol inside TLS. The guard, the lanes and the patience are of HTTP/1.1 (docs/decisions/0062).
const PROTOCOL: &[u8] = b"http/1.1";

/// The TLS side of a service: its files, and what was read from them last.
pub struct ServiceTls {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    now: ArcSwap<Present>,
    /// The digest of the contents that were tried last, good or bad.
    tried: Mutex<[u8; 32]>,
}

/// The TLS configuration of new connections.
struct Present {
    config: Arc<rustls::ServerConfig>,
    times: CertificateTimes,
    names: Vec<String>,
}

impl ServiceTls {
    /// Reads the files and checks them.
    ///
    /// # Errors
    /// [`TlsFileError`]. An expired certificate is taken: the service warns of it, and clients refuse it.
    pub fn load(files: TlsFiles) -> Result<Self, TlsFileError> {
        let provider = Arc::new(ring::default_provider());
        let contents = files.read()?;
        let present = Present::new(files.check(&contents, &provider)?, &provider)?;
        let tried = Mutex::new(contents.digest());
        Ok(Self { files, provider, now: ArcSwap::from_pointee(present), tried })
    }

    /// Reads the files again. New connections get the new certificate; those that are open keep theirs. Returns `true` if the files had
    /// changed since they were read last.
    ///
    /// # Errors
    /// [`TlsFileError`]; the certificate stays as it is. The same bad contents are reported once: after that the answer is `false`.
    pub fn reload(&self) -> Result<bool, TlsFileError> {
        let contents = self.files.read()?;
        let digest = contents.digest();
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if *tried == digest {
            return Ok(false);
        }
        *tried = digest;
        let present = Present::new(self.files.check(&contents, &self.provider)?, &self.provider)?;
        self.now.store(Arc::new(present));
        Ok(true)
    }

    /// Returns the times between which the present certificate is valid.
    pub(crate) fn times(&self) -> CertificateTimes {
        self.now.load().times
    }

    /// Returns `true` for a host that the present certificate names.
    pub(crate) fn names(&self, host: &str) -> bool {
        self.now.load().names.iter().any(|name| name.eq_ignore_ascii_case(host))
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.now.load().config).into()
    }
}

impl fmt::Debug for ServiceTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServiceTls").field(&self.files).finish()
    }
}

impl Present {
    fn new(credentials: Credentials, provider: &Arc<CryptoProvider>) -> Result<Self, TlsFileError> {
        let Credentials { key, clients, times, names } = credentials;
        let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(provider));
        let builder = builder.with_protocol_versions(&[&TLS13, &TLS12]).map_err(TlsFileError::Versions)?;
        let asks_clients = clients.is_some();
        let builder = match clients {
            Some(clients) => builder.with_client_cert_verifier(clients),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        if asks_clients {
            // A session that is taken up again does not show its certificate again, which may have expired.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Self { config: Arc::new(config), times, names })
    }
}
