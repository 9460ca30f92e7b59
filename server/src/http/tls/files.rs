//! The files of certificates and keys: read with a bound, and checked before anything listens.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, RootCertStore};
use sha2::{Digest, Sha256};

use super::certificate::{CertificateTimes, host_names};
use crate::limits::MAX_CERTIFICATE_FILE_BYTES;

/// The mode bits that give anybody but the file's owner access.
const OTHERS_BITS: u32 = 0o077;

/// The files that the service takes its certificate from, all in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate, and behind it those of its issuers that clients do not have.
    pub certificate: PathBuf,
    /// Its private key, which nobody but the owner of the file may read.
    pub key: PathBuf,
    /// Issuers of clients' certificates. With it every connection needs a certificate of theirs.
    pub client_ca: Option<PathBuf>,
}

/// The fault of a file of certificates or keys.
#[derive(Debug, thiserror::Error)]
pub enum TlsFileError {
    /// The system does not give it.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is a folder, a pipe or a device.
    #[error("{} is not a file; name a file in PEM", .0.display())]
    NotAFile(PathBuf),
    /// It is larger than any chain of certificates.
    #[error("{} has more than {MAX_CERTIFICATE_FILE_BYTES} bytes; name a file with the certificates or the key alone", .0.display())]
    TooLarge(PathBuf),
    /// Others may read the key.
    #[error("others may read {}: its mode is {mode:o}; run `chmod 600`, and get a new key if somebody may have read it", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It has no certificate.
    #[error("{} has no certificate in PEM (-----BEGIN CERTIFICATE-----)", .0.display())]
    NoCertificate(PathBuf),
    /// It has no key that is read.
    #[error("{} has no private key in PEM; an encrypted key is not read", .0.display())]
    NoKey(PathBuf),
    /// It has several keys.
    #[error("{} has {keys} private keys; keep the certificate's alone", path.display())]
    SeveralKeys {
        /// The file.
        path: PathBuf,
        /// The number of keys.
        keys: usize,
    },
    /// Its PEM or what is in it is damaged, or of a kind that is not taken.
    #[error("{}: {fault}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The fault.
        fault: String,
    },
    /// The cryptography in this program knows none of the versions that are taken.
    #[error("no version of TLS that is taken: {0}")]
    Versions(rustls::Error),
    /// The key is another certificate's.
    #[error("the key {} is not of the first certificate in {}; name the pair that was issued together", key.display(), certificate.display())]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
}

/// The contents of the files at one time.
pub(super) struct TlsContents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

/// The service's certificate and key, and the check of clients' certificates.
pub(super) struct Credentials {
    pub(super) key: CertifiedKey,
    pub(super) clients: Option<Arc<dyn ClientCertVerifier>>,
    pub(super) times: CertificateTimes,
    pub(super) names: Vec<String>,
}

impl TlsFiles {
    pub(super) fn read(&self) -> Result<TlsContents, TlsFileError> {
        let certificate = contents(&self.certificate)?;
        let key = contents(&self.key)?;
        must_be_private(&self.key)?;
        let client_ca = self.client_ca.as_deref().map(contents).transpose()?;
        Ok(TlsContents { certificate, key, client_ca })
    }

    /// Checks that key and certificates are what they are named, and that they belong together.
    pub(super) fn check(
        &self,
        contents: &TlsContents,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Credentials, TlsFileError> {
        let chain = certificates(&self.certificate, &contents.certificate)?;
        let malformed = |path: &Path, fault: String| TlsFileError::Malformed { path: path.to_owned(), fault };
        let unread = |error: webpki::Error| {
            malformed(&self.certificate, format!("{error}; an X.509 certificate of version 3 is needed"))
        };
        let times = CertificateTimes::of_chain(&chain).map_err(unread)?;
        let names = chain.first().map_or(Ok(Vec::new()), host_names).map_err(unread)?;
        let key = private_key(&self.key, &contents.key)?;
        let key = CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsFileError::Mismatch { certificate: self.certificate.clone(), key: self.key.clone() }
            }
            error => malformed(&self.key, error.to_string()),
        })?;
        let clients = match (&self.client_ca, &contents.client_ca) {
            (Some(path), Some(bytes)) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path, bytes)? {
                    roots.add(certificate).map_err(|error| malformed(path, error.to_string()))?;
                }
                let built =
                    WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(provider)).build();
                Some(built.map_err(|error| malformed(path, error.to_string()))?)
            }
            _ => None,
        };
        Ok(Credentials { key, clients, times, names })
    }
}

impl TlsContents {
    /// Returns a digest that another content does not have.
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        let parts = [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref()];
        for part in parts.into_iter().flatten() {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        digest.finalize().into()
    }
}

/// Returns the bytes of a file. It is looked at before it is opened: a pipe has perhaps no writer.
fn contents(path: &Path) -> Result<Vec<u8>, TlsFileError> {
    let unreadable = |source| TlsFileError::Unreadable { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(TlsFileError::NotAFile(path.to_owned()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_CERTIFICATE_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_CERTIFICATE_FILE_BYTES {
        return Err(TlsFileError::TooLarge(path.to_owned()));
    }
    Ok(bytes)
}

fn must_be_private(path: &Path) -> Result<(), TlsFileError> {
    let metadata = fs::metadata(path);
    let metadata = metadata.map_err(|source| TlsFileError::Unreadable { path: path.to_owned(), source })?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & OTHERS_BITS == 0 { Ok(()) } else { Err(TlsFileError::Exposed { path: path.to_owned(), mode }) }
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read =
        read.map_err(|error| TlsFileError::Malformed { path: path.to_owned(), fault: error.to_string() })?;
    if read.is_empty() { Err(TlsFileError::NoCertificate(path.to_owned())) } else { Ok(read) }
}

fn private_key(path: &Path, pem: &[u8]) -> Result<PrivateKeyDer<'static>, TlsFileError> {
    let read: Result<Vec<_>, _> = PrivateKeyDer::pem_slice_iter(pem).collect();
    let mut read =
        read.map_err(|error| TlsFileError::Malformed { path: path.to_owned(), fault: error.to_string() })?;
    match (read.pop(), read.len()) {
        (Some(key), 0) => Ok(key),
        (Some(_), others) => Err(TlsFileError::SeveralKeys { path: path.to_owned(), keys: others + 1 }),
        (None, _) => Err(TlsFileError::NoKey(path.to_owned())),
    }
}
