//! TLS: the service's certificate, its renewal, and the handshake of a connection.

mod certificate;
mod files;
mod handshake;
mod service_tls;

pub use files::{TlsFileError, TlsFiles};
pub use service_tls::ServiceTls;

pub(crate) use certificate::CertificateTimes;
pub(crate) use handshake::{HandshakeDesk, HandshakeEnd};
