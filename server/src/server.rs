//! The server: bind, accept, serve, drain, end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::Admittance;
use crate::api::Api;
use crate::background::archiving::{self, ArchiveSettings};
use crate::background::certificate_renewal;
use crate::background::expiry;
use crate::background::pending_anchors::open_when_anchored;
use crate::background::suggestion_job;
use crate::background::warm_bound::{self, WarmBound};
use crate::background::webhooks::{self, NoticeTarget};
use crate::config::ServerConfig;
use crate::http::connection::{ConnectionContext, serve_connection};
use crate::http::listener::{CallerProtection, ListenError, SocketFile, listen_tcp, listen_unix};
use crate::http::origin::WebRules;
use crate::http::peer::Peer;
use crate::http::phase::Phase;
use crate::http::pool::{CallerKey, Pool, PoolPart, PoolRefusal};
use crate::http::tls::{HandshakeDesk, HandshakeEnd, ServiceTls};
use crate::ledgers::data_folder::DataError;
use crate::ledgers::first_tokens::{Admission, FirstTokenError};
use crate::ledgers::{CloseFailures, Ledgers};
use crate::limits::{
    ACCEPT_FAILURE_PACE, ACCEPT_PAUSE, CONNECTION_WAIT, MAX_WAITING_CONNECTIONS, SHUTDOWN_GRACE,
    UNIX_CONNECTIONS,
};
use crate::live_settings::LiveSettings;
use crate::log_pace::LogPace;
use crate::metrics::Metrics;
use crate::pages::{Pages, ServiceInterface, with_pages};
use crate::problem::{Code, Problem};
use crate::router::router;

/// The reason for which the service does not start.
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
    router: Router,
    tls: Option<Arc<ServiceTls>>,
    phase: watch::Sender<Phase>,
    notices: Option<Arc<ArcSwap<NoticeTarget>>>,
    archiving: Option<Arc<ArcSwap<ArchiveSettings>>>,
    warm: Option<WarmBound>,
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
            tls,
            allows_remote,
            unix_socket,
            admission,
            allowed_origins,
            ledgers,
            unlisted,
            notices,
            archiving,
            warm,
            required_models,
            limits,
        } = config;
        let first_tokens = match admission {
            Admission::Tokens(first_tokens) => Some(first_tokens),
            Admission::Open => None,
        };
        let is_open = first_tokens.is_none();
        let protection = CallerProtection { is_open, has_tls: tls.is_some(), allows_remote };
        addresses.iter().try_for_each(|address| protection.admit(*address))?;
        let web = WebRules::new(allowed_origins, &addresses, tls.clone());
        let web = if is_open { web.of_open_service() } else { web };
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
        let ledgers = Arc::new(Ledgers::open(ledgers, first_tokens, unlisted).await?);
        if let Err(error) = ledgers.give_first_admins().await {
            // The reason why it does not start is told; what closing could add to it is not.
            let _closed = ledgers.close_all().await.is_ok();
            return Err(error.into());
        }
        ledgers.report_outdated_starters();
        if is_open {
            report_open_access(&ledgers);
        }
        let (phase, phase_seen) = watch::channel(Phase::Serving);
        let max_connections = limits.max_connections;
        let api =
            Arc::new(Api::new(ledgers, required_models, Admittance { is_open, web }, limits, phase_seen));
        api.metrics.reloads.read_at(api.ledgers.now());
        let router = router(Arc::clone(&api));
        let notices = notices.map(|target| Arc::new(ArcSwap::from_pointee(target)));
        let archiving = archiving.map(|settings| Arc::new(ArcSwap::from_pointee(settings)));
        Ok(Self {
            listeners,
            socket_file,
            api,
            router,
            tls,
            phase,
            notices,
            archiving,
            warm,
            max_connections,
        })
    }

    /// Serves pages for browsers too, below `/console`. What makes them gets the public interface to ask.
    pub fn serve_pages<P: Pages>(&mut self, make: impl FnOnce(ServiceInterface) -> P) -> Arc<P> {
        let pages = Arc::new(make(ServiceInterface::new(self.router.clone())));
        let interface = std::mem::take(&mut self.router);
        self.router = with_pages(interface, &self.api, Arc::<P>::clone(&pages));
        pages
    }

    /// The settings that may change while it serves.
    #[must_use]
    pub fn live_settings(&self) -> LiveSettings {
        LiveSettings::new(&self.api, self.notices.as_ref(), self.archiving.as_ref())
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
        let Self {
            listeners,
            socket_file,
            api,
            router,
            tls,
            phase,
            notices,
            archiving,
            warm,
            max_connections,
        } = self;
        let places = ConnectionSlots {
            all: Pool::new(max_connections),
            of_unix: Pool::new(UNIX_CONNECTIONS),
            waiting: Pool::new(MAX_WAITING_CONNECTIONS),
        };
        tokio::spawn(open_when_anchored(Arc::clone(&api.ledgers), phase.subscribe()));
        let context = ConnectionContext {
            router,
            metrics: Arc::clone(&api.metrics),
            patience: api.limits.patience.clone(),
            phase: phase.subscribe(),
        };
        tokio::spawn(expiry::run(Arc::clone(&api)));
        tokio::spawn(suggestion_job::run(Arc::clone(&api)));
        if let Some(bound) = warm {
            tokio::spawn(warm_bound::run(Arc::clone(&api), bound));
        }
        if let Some(target) = notices {
            tokio::spawn(webhooks::run(Arc::clone(&api), target));
        }
        if let Some(archiving) = archiving
            && let Err(error) = archiving::start(&api, archiving)
        {
            tracing::error!(%error, "no thread to archive on; nothing is archived");
        }
        if let Some(tls) = &tls {
            tokio::spawn(certificate_renewal::run(Arc::clone(tls)));
        }
        let desk = tls.map(HandshakeDesk::new);
        for listener in listeners {
            let desk = desk.clone().filter(|_| matches!(listener, Listener::Tcp(_)));
            tokio::spawn(accept_all(listener, Reception { context: context.clone(), desk }, places.clone()));
        }
        tokio::select! {
            () = shutdown => (),
            () = api.drained() => (),
        }

        phase.send_replace(Phase::Draining);
        drop(socket_file);
        let ended = async { tokio::join!(places.all.emptied(), places.of_unix.emptied()) };
        if tokio::time::timeout(SHUTDOWN_GRACE, ended).await.is_err() {
            tracing::warn!("requests are still in flight after the grace; their connections are cut");
        }
        phase.send_replace(Phase::Cut);
        api.ledgers.close_all().await
    }
}

/// Places for connections.
#[derive(Clone)]
struct ConnectionSlots {
    all: Pool,
    /// For programs of the service's own user, even if others take all the rest.
    of_unix: Pool,
    /// For those that wait until another one has given way.
    waiting: Pool,
}

impl ConnectionSlots {
    /// A place, or none now.
    fn try_take(&self, stream: &Stream, caller: &CallerKey) -> Option<PoolPart> {
        let spare = || matches!(stream, Stream::Unix(_)).then(|| self.of_unix.try_take(caller, 1)).flatten();
        self.all.try_take(caller, 1).or_else(spare)
    }
}

/// The context and the handshakes of one listener's connections.
#[derive(Clone)]
struct Reception {
    context: ConnectionContext,
    /// Of a listener that speaks TLS.
    desk: Option<HandshakeDesk>,
}

async fn accept_all(listener: Listener, mut reception: Reception, places: ConnectionSlots) {
    // Before its handshake a TLS connection cannot be told anything.
    let refusal = if reception.desk.is_some() { Vec::new() } else { too_many_connections() };
    let refusal: Arc<[u8]> = refusal.into();
    let pace = LogPace::new(ACCEPT_FAILURE_PACE);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = reception.context.phase.changed() => return,
        };
        match accepted {
            Ok(stream) => {
                let caller = stream.caller();
                if let Some(place) = places.try_take(&stream, &caller) {
                    tokio::spawn(serve(stream, reception.clone(), place));
                } else if let Some(mut turn) = places.waiting.take_or_displace(&caller, 1) {
                    let (reception, all, refusal) =
                        (reception.clone(), places.all.clone(), Arc::clone(&refusal));
                    tokio::spawn(async move {
                        let place = tokio::select! {
                            place = all.take(&caller, 1, CONNECTION_WAIT) => place,
                            () = turn.give_way_requested() => Err(PoolRefusal::GivesWay),
                        };
                        drop(turn);
                        match place {
                            Ok(place) => serve(stream, reception, place).await,
                            Err(_) => stream.refuse(&refusal, &reception.context.metrics),
                        }
                    });
                } else {
                    stream.refuse(&refusal, &reception.context.metrics);
                }
            }
            Err(error) if is_of_one_connection(&error) => (),
            Err(error) => {
                if let Some(failures) = pace.tells(Instant::now()) {
                    tracing::warn!(%error, failures, "cannot accept connections; trying again every 50 ms");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(stream: Stream, reception: Reception, place: PoolPart) {
    let Reception { context, desk } = reception;
    let metrics = Arc::clone(&context.metrics);
    metrics.connections.inc();
    let caller = stream.caller();
    match stream {
        Stream::Tcp(stream) => {
            let is_near = stream.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback());
            let peer = if is_near { Peer::Tcp } else { Peer::Remote };
            match desk {
                Some(desk) => serve_over_tls(stream, (peer, &caller), &desk, place, context).await,
                None => serve_connection(stream, peer, Some(place), context).await,
            }
        }
        Stream::Unix(stream) => serve_connection(stream, Peer::Unix, Some(place), context).await,
    }
    metrics.connections.dec();
}

/// Shakes hands, within the connection's place, and serves what comes of it.
async fn serve_over_tls(
    stream: TcpStream,
    (peer, caller): (Peer, &CallerKey),
    desk: &HandshakeDesk,
    mut place: PoolPart,
    mut context: ConnectionContext,
) {
    let within = context.patience.handshake;
    let shaken = tokio::select! {
        shaken = desk.shake_hands(stream, caller, &mut place, within) => shaken,
        // Its peer has asked for nothing yet.
        _ = context.phase.wait_for(|phase| *phase >= Phase::Draining) => return,
    };
    context.metrics.count_handshake(shaken.as_ref().err().map_or("done", HandshakeEnd::as_str));
    if let Ok(stream) = shaken {
        serve_connection(stream, peer, Some(place), context).await;
    }
}

/// Tells the operator of an open service, at every start, what it lets everybody do.
fn report_open_access(ledgers: &Ledgers) {
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
    /// As whom it has a share of the connections before its token is known.
    fn caller(&self) -> CallerKey {
        let address = match self {
            Self::Tcp(stream) => stream.peer_addr().map(|peer| peer.ip().to_canonical().to_string()).ok(),
            Self::Unix(_) => None,
        };
        CallerKey::new(address.as_deref().unwrap_or("unix"))
    }

    /// Says why and hangs up, without waiting: a peer that cannot take the answer at once goes without.
    fn refuse(self, answer: &[u8], metrics: &Metrics) {
        metrics.connections_refused.inc();
        let _best_effort = match self {
            Self::Tcp(stream) => stream.try_write(answer).is_ok(),
            Self::Unix(stream) => stream.try_write(answer).is_ok(),
        };
    }
}
