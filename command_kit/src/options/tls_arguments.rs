//! Options for TLS of the service.

use std::path::PathBuf;

use bitacora_server::TlsFiles;
use clap::Args;

const CERTIFICATE: &str = "--tls-certificate";
const KEY: &str = "--tls-key";
const CLIENT_CA: &str = "--tls-client-ca";

/// An option for TLS without another one that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("found {found} alone, expected {expected} too; the service would speak plain text")]
pub struct TlsArgumentError {
    found: &'static str,
    expected: &'static str,
}

/// Options for TLS of the service.
#[derive(Debug, Args)]
pub struct TlsArguments {
    /// Speak TLS, with this certificate and those of its issuers, in PEM. The file is read again when it changes.
    #[arg(long, value_name = "FILE")]
    tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM; nobody but its owner may read the file.
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Take connections only from clients with a certificate of these issuers, in PEM. Tokens are needed all the same.
    #[arg(long, value_name = "FILE")]
    tls_client_ca: Option<PathBuf>,
    /// Listen without TLS where other machines can connect. Tokens and events then cross the network as plain text.
    #[arg(long)]
    pub allow_remote: bool,
}

impl TlsArguments {
    /// Returns the files of the certificate, if there is one.
    ///
    /// # Errors
    /// One option without another that it needs, which each may come from a source of its own.
    pub fn files(&self) -> Result<Option<TlsFiles>, TlsArgumentError> {
        match (&self.tls_certificate, &self.tls_key, &self.tls_client_ca) {
            (Some(certificate), Some(key), client_ca) => {
                let (certificate, key) = (certificate.clone(), key.clone());
                Ok(Some(TlsFiles { certificate, key, client_ca: client_ca.clone() }))
            }
            (Some(_), None, _) => Err(TlsArgumentError { found: CERTIFICATE, expected: KEY }),
            (None, Some(_), _) => Err(TlsArgumentError { found: KEY, expected: CERTIFICATE }),
            (None, None, Some(_)) => Err(TlsArgumentError { found: CLIENT_CA, expected: CERTIFICATE }),
            (None, None, None) => Ok(None),
        }
    }
}
