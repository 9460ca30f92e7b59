//! A server that is reached over streamable HTTP, in the protocol's versions with sessions and without.
//!
//! Each message is a request of its own. Its answers come as JSON or as a stream of events. With a session the server has one more
//! stream for messages of its own. A stream that breaks off is taken up at its last event, where the server names its events.

mod exchange;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use self::exchange::Exchange;
use crate::error::McpError;
use crate::frame::Id;
use crate::json_text::read;
use crate::limits::{
    MAX_UPSTREAM_REQUESTS, MAX_WAITING_MESSAGES, SERVER_END_PATIENCE, UPSTREAM_CONNECT_PATIENCE,
};
use crate::proxy::UpstreamEvent;

/// The notification behind which the server's own stream is opened.
const INITIALIZED: &str = "notifications/initialized";
/// The notification that cancels a request. Without sessions, the request's stream is closed instead.
const CANCELLED: &str = "notifications/cancelled";

/// The address of an upstream, and the token for it.
#[derive(Clone)]
pub struct UpstreamUrl {
    url: Url,
    authorization: Option<HeaderValue>,
}

impl UpstreamUrl {
    /// Takes an address, and a bearer token if the upstream wants one.
    ///
    /// # Errors
    /// [`McpError::Address`].
    pub fn new(text: &str, token: Option<&str>) -> Result<Self, McpError> {
        let bad = || McpError::Address { url: text.to_owned() };
        let url: Url = text.parse().map_err(|_| bad())?;
        let is_plain = url.username().is_empty() && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !is_plain {
            return Err(bad());
        }
        let header = |token: &str| {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(|_| bad())?;
            value.set_sensitive(true);
            Ok::<_, McpError>(value)
        };
        Ok(Self { url, authorization: token.map(header).transpose()? })
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// A proxy would look for it on its own machine.
    fn is_loopback(&self) -> bool {
        let host = self.host().trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Debug for UpstreamUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UpstreamUrl").field(&self.url.as_str()).finish()
    }
}

/// The session with an upstream.
pub(crate) struct HttpUpstream {
    shared: Arc<Shared>,
    /// One permit a message under way.
    room: Arc<Semaphore>,
}

/// The state that the requests of one session share.
struct Shared {
    client: Client,
    address: UpstreamUrl,
    tell: mpsc::Sender<UpstreamEvent>,
    state: Mutex<SessionState>,
}

#[derive(Default)]
struct SessionState {
    /// The session that the server named.
    session: Option<HeaderValue>,
    /// The version of the protocol that was agreed on.
    version: Option<HeaderValue>,
    /// The requests under way, for their cancellation.
    running: HashMap<Id, AbortHandle>,
    /// The task that reads the server's own stream.
    listening: Option<AbortHandle>,
}

/// The members of a message that its request is made of.
struct Routing {
    method: Option<String>,
    id: Option<Id>,
    /// The name or the address that it is about.
    target: Option<String>,
    /// The version of a message that belongs to no session.
    stateless: Option<String>,
    /// The request that it cancels.
    cancels: Option<Id>,
}

#[derive(Deserialize)]
struct MessageMembers<'a> {
    method: Option<String>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct ParamsMembers<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestId")]
    request_id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct MetaMembers {
    #[serde(default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

impl Routing {
    fn of(message: &str) -> Option<Self> {
        let members: MessageMembers<'_> = serde_json::from_str(message).ok()?;
        let params: ParamsMembers<'_> = members.params.and_then(read).unwrap_or_default();
        let meta: MetaMembers = params.meta.and_then(read).unwrap_or_default();
        let text = |raw: Option<&RawValue>| raw.and_then(read::<String>);
        Some(Self {
            id: members.id.filter(|_| members.method.is_some()).and_then(Id::read),
            method: members.method,
            target: text(params.name).or_else(|| text(params.uri)),
            stateless: meta.version,
            cancels: params.request_id.and_then(Id::read),
        })
    }
}

impl HttpUpstream {
    /// Makes a session. Nothing is connected yet.
    pub(crate) fn open(address: UpstreamUrl) -> Result<(Self, mpsc::Receiver<UpstreamEvent>), McpError> {
        // Another room may have installed it before.
        let _is_installed = rustls::crypto::ring::default_provider().install_default().is_err();
        let client = Client::builder()
            // The answer of another address is not the word of the one that was named.
            .redirect(Policy::none())
            .connect_timeout(UPSTREAM_CONNECT_PATIENCE)
            .user_agent(concat!("bitacora/", env!("CARGO_PKG_VERSION")));
        let client = if address.is_loopback() { client.no_proxy() } else { client };
        let client = client.build().map_err(McpError::Upstream)?;
        let (tell, told) = mpsc::channel(MAX_WAITING_MESSAGES);
        let shared = Arc::new(Shared { client, address, tell, state: Mutex::default() });
        Ok((Self { shared, room: Arc::new(Semaphore::new(MAX_UPSTREAM_REQUESTS)) }, told))
    }

    /// Sends a message. A request is answered by events; everything else is taken before this returns, so that messages keep their
    /// order.
    pub(crate) async fn send(&self, message: &str) -> io::Result<()> {
        let routing = Routing::of(message).ok_or(io::ErrorKind::InvalidData)?;
        let is_cancelled = routing.method.as_deref() == Some(CANCELLED);
        let cancelled = routing.cancels.as_ref().filter(|_| is_cancelled);
        let has_session = self.shared.state().version.is_some();
        let running = cancelled.and_then(|id| self.shared.state().running.remove(id));
        if let (Some(running), false) = (running, has_session) {
            running.abort();
            return Ok(());
        }
        let exchange = Exchange::new(&self.shared, message, &routing);
        match routing.id {
            Some(id) => {
                let permit = Arc::clone(&self.room).acquire_owned().await.map_err(io::Error::other)?;
                let (shared, of) = (Arc::clone(&self.shared), id.clone());
                // The task ends only after it was noted, since it takes the same lock.
                let mut state = self.shared.state();
                let task = tokio::spawn(async move {
                    exchange.answered(&of).await;
                    shared.state().running.remove(&of);
                    drop(permit);
                });
                state.running.insert(id, task.abort_handle());
                Ok(())
            }
            None => {
                exchange.taken().await?;
                if routing.method.as_deref() == Some(INITIALIZED) {
                    self.listen();
                }
                Ok(())
            }
        }
    }

    /// Opens the server's own stream, once.
    fn listen(&self) {
        let mut state = self.shared.state();
        if state.listening.is_none() {
            let shared = Arc::clone(&self.shared);
            state.listening =
                Some(tokio::spawn(async move { exchange::listen(&shared).await }).abort_handle());
        }
    }

    /// Ends the session at the server.
    pub(crate) async fn end(&self) {
        let (tasks, has_session) = {
            let mut state = self.shared.state();
            let mut tasks: Vec<AbortHandle> = state.running.drain().map(|(_, task)| task).collect();
            tasks.extend(state.listening.take());
            (tasks, state.session.is_some())
        };
        for task in tasks {
            task.abort();
        }
        if has_session {
            let ended = self.shared.request(reqwest::Method::DELETE).send();
            let _gone = timeout(SERVER_END_PATIENCE, ended).await;
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a request with the headers of the session.
    fn request(&self, method: reqwest::Method) -> reqwest::RequestBuilder {
        let mut request = self.client.request(method, self.address.url.clone());
        if let Some(token) = &self.address.authorization {
            request = request.header(AUTHORIZATION, token.clone());
        }
        let state = self.state();
        if let Some(session) = &state.session {
            request = request.header(exchange::SESSION_ID, session.clone());
        }
        if let Some(version) = &state.version {
            request = request.header(exchange::PROTOCOL_VERSION, version.clone());
        }
        request
    }
}
