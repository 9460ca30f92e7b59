//! Options for a service with TLS: whom to trust, and the client's own certificate.

use std::path::{Path, PathBuf};

use bitacora_client::{ClientIdentity, ServiceTrust};
use clap::Args;

/// Options for a service with TLS.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct TrustOptions {
    /// The CA of a service at https://, in PEM. [default: those that the system trusts]
    #[arg(long, global = true, env = "BITACORA_CA_FILE", value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// The certificate to show a service that asks for one, in PEM; needs --client-key.
    #[arg(
        long,
        global = true,
        env = "BITACORA_CLIENT_CERTIFICATE",
        value_name = "FILE",
        requires = "client_key"
    )]
    client_certificate: Option<PathBuf>,
    /// The private key of that certificate, in PEM.
    #[arg(
        long,
        global = true,
        env = "BITACORA_CLIENT_KEY",
        value_name = "FILE",
        requires = "client_certificate"
    )]
    client_key: Option<PathBuf>,
}

impl TrustOptions {
    /// Returns the files, by paths that name them from any folder.
    pub fn trust(&self) -> ServiceTrust {
        let identity = self.client_certificate.as_deref().zip(self.client_key.as_deref());
        let identity = identity.map(|(certificate, key)| ClientIdentity {
            certificate: absolute(certificate),
            key: absolute(key),
        });
        ServiceTrust { ca_file: self.ca_file.as_deref().map(absolute), identity }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
