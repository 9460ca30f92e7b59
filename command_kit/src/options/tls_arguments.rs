//! Options for TLS of the service.

use std::path::PathBuf;

use bitacora_server::TlsFiles;
use clap::Args;

/// Options for TLS of the service.
#[derive(Debug, Args)]
pub struct TlsArguments {
    /// Speak TLS, with this certificate and those of its issuers, in PEM. The file is read again when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM; nobody but its owner may read the file.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Take connections only from clients with a certificate of these issuers, in PEM. Tokens are needed all the same.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_client_ca: Option<PathBuf>,
    /// Listen without TLS where other machines can connect. Tokens and events then cross the network as plain text.
    #[arg(long)]
    pub allow_remote: bool,
}

impl TlsArguments {
    /// Returns the files of the certificate, if there is one.
    pub fn files(&self) -> Option<TlsFiles> {
        let (certificate, key) = (self.tls_certificate.clone()?, self.tls_key.clone()?);
        Some(TlsFiles { certificate, key, client_ca: self.tls_client_ca.clone() })
    }
}
