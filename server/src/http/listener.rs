//! The addresses that the service listens on: TCP and a Unix socket.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener, UnixSocket};

/// Connections that the system keeps for us until they are accepted.
const BACKLOG: u32 = 1_024;
/// Only the service's own user may connect to its Unix socket.
const SOCKET_MODE: u32 = 0o600;

/// The reason for which the service cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Neither an address nor a socket was given.
    #[error("no address and no unix socket to listen on; name at least one")]
    Nowhere,
    /// The address can be reached from other machines, and callers would need no token.
    #[error(
        "{0} is not a loopback address; without tokens a service listens on 127.0.0.1 or [::1] alone, so that no other machine is admin"
    )]
    NotLoopback(SocketAddr),
    /// The address can be reached from other machines, and they would speak without TLS.
    #[error(
        "other machines reach {0}, and tokens would cross the network as plain text. Give the service a certificate \
         (--tls-certificate and --tls-key), or listen on 127.0.0.1 behind a proxy with TLS on this machine, or say --allow-remote if \
         the network in between is encrypted"
    )]
    Unencrypted(SocketAddr),
    /// The system refused the address.
    #[error("cannot listen on {address}: {source}")]
    Address {
        /// The address asked for.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The path is taken by something that is not a socket, or by a socket that is in use.
    #[error("{} is in use; stop the other service or choose another path", .0.display())]
    SocketInUse(PathBuf),
    /// The system refused the socket.
    #[error("cannot listen on the unix socket {}: {source}", path.display())]
    Socket {
        /// The path asked for.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The protection of what callers send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerProtection {
    /// `true` if ledgers without tokens are open to everybody.
    pub is_open: bool,
    /// `true` if the addresses speak TLS.
    pub has_tls: bool,
    /// `true` if the operator takes callers of other machines without TLS.
    pub allows_remote: bool,
}

impl CallerProtection {
    /// Refuses an address that other machines reach, where it is not protected.
    ///
    /// # Errors
    /// The address, and the way to protect it.
    pub fn admit(self, address: SocketAddr) -> Result<(), ListenError> {
        match self {
            _ if !is_reached(&address) => Ok(()),
            Self { is_open: true, .. } => Err(ListenError::NotLoopback(address)),
            Self { has_tls: false, allows_remote: false, .. } => Err(ListenError::Unencrypted(address)),
            _ => Ok(()),
        }
    }
}

/// Checks that a service can listen there, before anything is made for it. An address that other machines reach needs tokens, and TLS
/// or the operator's word.
///
/// # Errors
/// As its start would say.
pub fn may_listen(address: SocketAddr, protection: CallerProtection) -> Result<(), ListenError> {
    protection.admit(address)?;
    let tried = std::net::TcpListener::bind(address);
    tried.map(drop).map_err(|source| ListenError::Address { address, source })
}

/// Returns `true` if other machines may reach it.
fn is_reached(address: &SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
}

/// Listens on an address.
pub(crate) fn listen_tcp(address: SocketAddr) -> Result<TcpListener, ListenError> {
    let listen = || {
        let socket = match address {
            SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4(),
            SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6(),
        }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    listen().map_err(|source| ListenError::Address { address, source })
}

/// The name of a listening Unix socket, removed when dropped unless another socket has it by then.
pub(crate) struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    fn identity(path: &Path) -> io::Result<(u64, u64)> {
        std::fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if Self::identity(&self.path).is_ok_and(|found| found == self.identity) {
            let _already_gone = std::fs::remove_file(&self.path).is_err();
        }
    }
}

/// Listens on a Unix socket that only this user may connect to. A socket left by a service that is gone is replaced.
pub(crate) async fn listen_unix(path: &Path) -> Result<(UnixListener, SocketFile), ListenError> {
    let failed = |source| ListenError::Socket { path: path.to_owned(), source };
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => {
            if tokio::net::UnixStream::connect(path).await.is_ok() {
                return Err(ListenError::SocketInUse(path.to_owned()));
            }
            std::fs::remove_file(path).map_err(failed)?;
        }
        Ok(_) => return Err(ListenError::SocketInUse(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (),
        Err(error) => return Err(failed(error)),
    }
    let listen = || {
        let socket = UnixSocket::new_stream()?;
        socket.bind(path)?;
        let file = SocketFile { path: path.to_owned(), identity: SocketFile::identity(path)? };
        // Before listening: nobody can have connected under wider permissions.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(SOCKET_MODE))?;
        Ok((socket.listen(BACKLOG)?, file))
    };
    listen().map_err(failed)
}
