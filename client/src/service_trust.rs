//! The files by which a client trusts a service with TLS, and a service its client.

use std::path::PathBuf;

/// The files that a service with TLS is trusted by, and that the client proves itself with. All are PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceTrust {
    /// The issuers whose certificates are trusted, in place of the system's. `None` trusts the system's.
    pub ca_file: Option<PathBuf>,
    /// The client's own certificate, for a service that asks for one.
    pub identity: Option<ClientIdentity>,
}

/// The certificate of a client, and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The certificate, and behind it those of its issuers that the service does not have.
    pub certificate: PathBuf,
    /// Its private key, which nobody but the owner of the file may read.
    pub key: PathBuf,
}
