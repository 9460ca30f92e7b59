//! The server: bind, accept, serve, drain, end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::api::{Api, router};
use crate::archiving::{self, Archiving};
use crate::config::ServerConfig;
use crate::connection::{ConnectionContext, Peer, Phase, serve_connection};
use crate::data_folder::DataError;
use crate::expiry;
use crate::first_tokens::{Admission, Admittance, FirstTokenError};
use crate::learning;
use crate::ledgers::{CloseFailures, Ledgers};
use crate::limits::{ACCEPT_PAUSE, SHUTDOWN_GRACE};
use crate::listener::{ListenError, SocketFile, is_reached, listen_tcp, listen_unix};
use crate::notices::{self, NoticeTarget};
use crate::origin::WebRules;
use crate::problem::{Code, Problem};
use crate::waiting::open_when_anchored;

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The data folder cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A ledger has no tokens, and its first one cannot be made or read.
    #[error(transparent)]
    FirstToken(#[from] FirstTokenError),
}

/// A service that listens but does not accept yet.
pub struct Server {
    listeners: Vec<Listener>,
    socket_file: Option<SocketFile>,
    api: Arc<Api>,
    phase: watch::Sender<Phase>,
    notices: Option<NoticeTarget>,
    archiving: Option<Archiving>,
    max_connections: usize,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Server {
    /// Opens every ledger of the data folder and listens. A ledger that does not open is served as unavailable.
    pub async fn bind(config: ServerConfig) -> Result<Self, StartError> {
        let ServerConfig {
            addresses,
            unix_socket,
            admission,
            allowed_origins,
            ledgers,
            notices,
            archiving,
            required_models,
            limits,
        } = config;
        let first_tokens = match admission {
            Admission::Tokens(first_tokens) => Some(first_tokens),
            Admission::Open => None,
        };
        let is_open = first_tokens.is_none();
        if let Some(address) = addresses.iter().copied().find(is_reached).filter(|_| is_open) {
            return Err(ListenError::NotLoopback(address).into());
        }
        let web = WebRules::new(allowed_origins, &addresses);
        if addresses.is_empty() && unix_socket.is_none() {
            return Err(ListenError::Nowhere.into());
        }
        // First, so that a second service on the same address does not touch the data folder.
        let mut listeners = Vec::new();
        for address in addresses {
            listeners.push(Listener::Tcp(listen_tcp(address)?));
        }
        let mut socket_file = None;
        if let Some(path) = &unix_socket {
            let (listener, file) = listen_unix(path).await?;
            listeners.push(Listener::Unix(listener));
            socket_file = Some(file);
        }
        let ledgers = Arc::new(Ledgers::open(ledgers, first_tokens).await?);
        if let Err(error) = ledgers.give_first_admins().await {
            // The reason why it does not start is told; what closing could add to it is not.
            let _closed = ledgers.close_all().await.is_ok();
            return Err(error.into());
        }
        ledgers.say_outdated_starters();
        if is_open {
            say_what_open_means(&ledgers);
        }
        let (phase, phase_seen) = watch::channel(Phase::Serving);
        let max_connections = limits.max_connections;
        let api =
            Arc::new(Api::new(ledgers, required_models, Admittance { is_open, web }, limits, phase_seen));
        Ok(Self { listeners, socket_file, api, phase, notices, archiving, max_connections })
    }

    /// The first TCP address that is listened on: the one with its port where port 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.listeners.iter().find_map(|listener| match listener {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(_) => None,
        })
    }

    /// Serves until `shutdown` is ready or an operator drains the service; then stops accepting, finishes the requests in flight (for a bounded time),
    /// and closes every ledger: what was acknowledged is synced and sealed when this returns.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), CloseFailures> {
        let Self { listeners, socket_file, api, phase, notices, archiving, max_connections } = self;
        let slots = Arc::new(Semaphore::new(max_connections));
        tokio::spawn(open_when_anchored(Arc::clone(&api.ledgers), phase.subscribe()));
        let context = ConnectionContext {
            router: router(Arc::clone(&api)),
            metrics: Arc::clone(&api.metrics),
            patience: api.limits.patience.clone(),
            phase: phase.subscribe(),
        };
        tokio::spawn(expiry::run(Arc::clone(&api)));
        tokio::spawn(learning::run(Arc::clone(&api)));
        if let Some(target) = notices {
            tokio::spawn(notices::run(Arc::clone(&api), target));
        }
        if let Some(archiving) = archiving
            && let Err(error) = archiving::start(&api, archiving)
        {
            tracing::error!(%error, "no thread to archive on; nothing is archived");
        }
        for listener in listeners {
            tokio::spawn(accept_all(listener, context.clone(), Arc::clone(&slots)));
        }
        tokio::select! {
            () = shutdown => (),
            () = api.drained() => (),
        }

        phase.send_replace(Phase::Draining);
        drop(socket_file);
        let all = u32::try_from(max_connections).unwrap_or(u32::MAX);
        if tokio::time::timeout(SHUTDOWN_GRACE, slots.acquire_many(all)).await.is_err() {
            tracing::warn!("requests are still in flight after the grace; their connections are cut");
        }
        phase.send_replace(Phase::Cut);
        api.ledgers.close_all().await
    }
}

async fn accept_all(listener: Listener, mut context: ConnectionContext, slots: Arc<Semaphore>) {
    let refusal = too_many_connections();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = context.phase.changed() => return,
        };
        match accepted {
            Ok(stream) => match Arc::clone(&slots).try_acquire_owned() {
                Ok(slot) => {
                    tokio::spawn(serve(stream, context.clone(), slot));
                }
                Err(_) => {
                    context.metrics.connections_refused.inc();
                    stream.refuse(&refusal);
                }
            },
            Err(error) if is_of_one_connection(&error) => (),
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections; trying again");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(stream: Stream, context: ConnectionContext, slot: OwnedSemaphorePermit) {
    let metrics = Arc::clone(&context.metrics);
    metrics.connections.inc();
    match stream {
        Stream::Tcp(stream) => {
            let is_near = stream.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback());
            serve_connection(stream, if is_near { Peer::Tcp } else { Peer::Remote }, context).await;
        }
        Stream::Unix(stream) => serve_connection(stream, Peer::Unix, context).await,
    }
    metrics.connections.dec();
    drop(slot);
}

/// Tells the operator of an open service, at every start, what it lets everybody do.
fn say_what_open_means(ledgers: &Ledgers) {
    let open = ledgers.without_tokens();
    for name in &open {
        tracing::warn!(
            ledger = %name,
            "the service is open: every program and every user on this machine is admin of this ledger without a token, agents \
             included; each may approve calls, change the policy and end the service. Start without --open to close it"
        );
    }
    if open.is_empty() {
        tracing::warn!("the service is open, and every ledger has tokens: none is opened by that");
    }
}

/// The peer was gone before it was accepted; the next one is not the worse for it.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// The whole answer to a connection that is one too many, made once.
fn too_many_connections() -> Vec<u8> {
    let body = Problem::new(Code::Overloaded, "too many connections are open; try again").to_json();
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\
         retry-after: 1\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}

impl Listener {
    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // An answer is one write: waiting for more to send with it only delays it.
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Self::Unix(listener) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

impl Stream {
    /// Says why and hangs up, without waiting: a peer that cannot take the answer at once goes without.
    fn refuse(self, answer: &[u8]) {
        let _best_effort = match self {
            Self::Tcp(stream) => stream.try_write(answer).is_ok(),
            Self::Unix(stream) => stream.try_write(answer).is_ok(),
        };
    }
}
