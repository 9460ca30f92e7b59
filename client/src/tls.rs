//! TLS to a service: whom the client trusts, and the reason why it does not.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{AlertDescription, CertificateError, ClientConfig, OtherError, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::limits::MAX_CERTIFICATE_FILE_BYTES;
use crate::service_trust::ServiceTrust;

/// The one protocol inside TLS.
const PROTOCOL: &[u8] = b"http/1.1";
/// The mode bits that give anybody but the file's owner access.
const OTHERS_BITS: u32 = 0o077;
const SECONDS_PER_HOUR: u64 = 3_600;

/// The reason why client and service do not come to speak TLS. Nothing of a request was sent.
#[derive(Debug, thiserror::Error)]
pub enum TlsFailure {
    /// A file of certificates or keys cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file does not hold what it is named for.
    #[error("{}: {fault}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The fault.
        fault: String,
    },
    /// Others may read the client's key.
    #[error("others may read {}: its mode is {mode:o}; run `chmod 600`, and get a new key if somebody may have read it", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The system trusts nobody.
    #[error(
        "this machine has no trusted issuers of certificates; install ca-certificates, or name the service's CA with --ca-file"
    )]
    NoRoots,
    /// The certificate has expired.
    #[error(
        "the service's certificate expired {hours} hours ago; renew it there, or set this machine's clock"
    )]
    Expired {
        /// Whole hours since then.
        hours: u64,
    },
    /// The certificate is of a later time.
    #[error(
        "the service's certificate is valid only in {hours} hours; set this machine's clock, or the issuer's"
    )]
    NotYetValid {
        /// Whole hours until then.
        hours: u64,
    },
    /// The certificate is another service's.
    #[error(
        "the service's certificate is for {names}; ask it under such a name, or give it a certificate for this one"
    )]
    OtherName {
        /// The names in it.
        names: String,
    },
    /// No trusted issuer signed it.
    #[error(
        "no issuer that is trusted here signed the service's certificate; name its CA with --ca-file or BITACORA_CA_FILE, or check the address"
    )]
    UnknownIssuer,
    /// The certificate is that of a CA.
    #[error(
        "the service's certificate is that of a CA; issue one with basicConstraints CA:FALSE, signed by that CA, and name the CA with --ca-file"
    )]
    OwnCa,
    /// The certificate has another fault.
    #[error("the service's certificate is not taken: {0}")]
    Certificate(String),
    /// The service wants a certificate of its clients.
    #[error(
        "the service takes only clients with a certificate of its CA ({0}); name a valid one with --client-certificate and --client-key"
    )]
    ClientRefused(String),
    /// The service does not speak TLS.
    #[error("the service does not speak TLS; ask it with http://, or check the port")]
    NotTls,
    /// The two do not agree on a version or a cipher, or one of them breaks the protocol.
    #[error("no TLS with the service: {0}")]
    Protocol(String),
}

/// Returns what makes TLS connections with this trust.
pub(crate) fn connector(trust: &ServiceTrust) -> Result<TlsConnector, TlsFailure> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(&[&TLS13, &TLS12]);
    let builder = builder.map_err(|error| TlsFailure::Protocol(error.to_string()))?;
    let builder = builder.with_root_certificates(roots(trust.ca_file.as_deref())?);
    let mut config = match &trust.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            must_be_private(&identity.key)?;
            let malformed = |error: &dyn ToString| malformed(&identity.key, error);
            let key = PrivateKeyDer::from_pem_slice(&contents(&identity.key)?)
                .map_err(|error| malformed(&error))?;
            let chain = certificates(&identity.certificate)?;
            builder.with_client_auth_cert(chain, key).map_err(|error| malformed(&error))?
        }
    };
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Shakes hands with the service at this authority. An error of the connection itself is one of the inner result.
pub(crate) async fn shake_hands(
    connector: &TlsConnector,
    authority: &str,
    stream: TcpStream,
) -> Result<io::Result<TlsStream<TcpStream>>, TlsFailure> {
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host).trim_matches(['[', ']']);
    let name =
        ServerName::try_from(host.to_owned()).map_err(|error| TlsFailure::Certificate(error.to_string()))?;
    match connector.connect(name, stream).await {
        Ok(stream) => Ok(Ok(stream)),
        Err(error) => match TlsFailure::behind(&error) {
            Some(failure) => Err(failure),
            None => Ok(Err(error)),
        },
    }
}

impl TlsFailure {
    /// Returns the failure that an error comes from, if TLS is the reason.
    pub(crate) fn behind(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            let found = error.downcast_ref().or_else(|| inner.and_then(|inner| inner.downcast_ref()));
            if let Some(found) = found {
                return Some(Self::of(found));
            }
            cause = error.source();
        }
        None
    }

    fn of(error: &rustls::Error) -> Self {
        use CertificateError as Fault;
        match error {
            rustls::Error::InvalidCertificate(fault) => match fault {
                Fault::ExpiredContext { time, not_after } => Self::Expired {
                    hours: time.as_secs().saturating_sub(not_after.as_secs()) / SECONDS_PER_HOUR,
                },
                Fault::NotValidYetContext { time, not_before } => Self::NotYetValid {
                    hours: not_before.as_secs().saturating_sub(time.as_secs()) / SECONDS_PER_HOUR,
                },
                Fault::NotValidForNameContext { presented, .. } if presented.is_empty() => {
                    Self::OtherName { names: "no name at all (subjectAltName)".to_owned() }
                }
                Fault::NotValidForNameContext { presented, .. } => {
                    Self::OtherName { names: presented.join(", ") }
                }
                // A signature that fails is that of another CA with the same name.
                Fault::UnknownIssuer | Fault::BadSignature => Self::UnknownIssuer,
                Fault::Other(other) if is_own_ca(other) => Self::OwnCa,
                fault => Self::Certificate(fault.to_string()),
            },
            rustls::Error::AlertReceived(
                alert @ (AlertDescription::CertificateRequired
                | AlertDescription::BadCertificate
                // Its signature does not verify: another CA has the same name.
                | AlertDescription::DecryptError
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied),
            ) => Self::ClientRefused(format!("{alert:?}")),
            rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => Self::NotTls,
            error => Self::Protocol(error.to_string()),
        }
    }
}

/// Returns `true` for the fault of a CA's certificate that a service shows as its own.
fn is_own_ca(fault: &OtherError) -> bool {
    matches!(fault.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// Returns the issuers that are trusted: those of the file, or else the system's.
fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, TlsFailure> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| malformed(path, &error))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() { Err(TlsFailure::NoRoots) } else { Ok(roots) }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFailure> {
    let pem = contents(path)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let read = read.map_err(|error| malformed(path, &error))?;
    if read.is_empty() { Err(malformed(path, &"no certificate in PEM")) } else { Ok(read) }
}

/// Returns the bytes of a file. It is looked at before it is opened: a pipe has perhaps no writer.
fn contents(path: &Path) -> Result<Vec<u8>, TlsFailure> {
    let failed = |source| TlsFailure::File { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(malformed(path, &"not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .map_err(failed)?
        .take(MAX_CERTIFICATE_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_CERTIFICATE_FILE_BYTES {
        return Err(malformed(path, &format!("more than {MAX_CERTIFICATE_FILE_BYTES} bytes")));
    }
    Ok(bytes)
}

fn must_be_private(path: &Path) -> Result<(), TlsFailure> {
    let metadata = fs::metadata(path).map_err(|source| TlsFailure::File { path: path.to_owned(), source })?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & OTHERS_BITS == 0 { Ok(()) } else { Err(TlsFailure::Exposed { path: path.to_owned(), mode }) }
}

fn malformed(path: &Path, fault: &dyn ToString) -> TlsFailure {
    TlsFailure::Malformed { path: path.to_owned(), fault: fault.to_string() }
}
