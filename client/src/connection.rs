//! One HTTP/1.1 connection to a service, for one request at a time.
//! It goes over TCP, TLS, a Unix socket or a pipe within this process.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bitacora_api::ProblemAnswer;
use bitacora_formats::body_digest;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::error::{ClientError, Refusal};
use crate::ledger_doubt::{LEDGER_DOUBT, LedgerDoubt};
use crate::limits::{ANSWER_PATIENCE, CONNECT_PATIENCE, ENDING_PATIENCE, MAX_ANSWER_BYTES};
use crate::request_id::request_id;
use crate::service_trust::ServiceTrust;
use crate::service_url::ServiceUrl;
use crate::signature_fields::{AskedRequest, CONTENT_DIGEST, SignatureFields};
use crate::tls::{self, TlsFailure};
use crate::token::Token;

/// A byte stream in both directions.
pub trait Pipe: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Pipe for T {}

/// A pipe that is being made.
pub type ConnectFuture<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn Pipe>>> + Send + 'a>>;

/// Makes connections to a service that has no address: one of this process.
pub trait Connector: Send + Sync {
    /// Opens a new connection, which speaks HTTP/1.1.
    fn connect(&self) -> ConnectFuture<'_>;
}

/// Sends requests to one service. A broken connection is made anew for the next request, never within one. The caller
/// then has to find out whether the service did what was asked.
pub struct Connection {
    url: ServiceUrl,
    token: Option<Token>,
    within: Option<Arc<dyn Connector>>,
    /// Made with the first connection over TLS, since the system's issuers are many, and again after one that failed: the files of
    /// issuers and of the client's certificate may have been renewed.
    tls: Arc<Mutex<Option<TlsConnector>>>,
    connection: Option<Link>,
    doubt: LedgerDoubt,
}

/// A connection that is open, and the task that moves its bytes.
struct Link {
    sender: SendRequest<Full<Bytes>>,
    task: JoinHandle<hyper::Result<()>>,
}

/// An answer whose body comes piece by piece.
pub struct Pieces {
    url: ServiceUrl,
    ledger_id: Option<String>,
    body: Incoming,
}

impl Connection {
    /// Returns a connection to the service at this address. It connects with the first request.
    #[must_use]
    pub fn new(url: ServiceUrl, token: Option<Token>) -> Self {
        let doubt = LedgerDoubt::default();
        Self { url, token, within: None, tls: Arc::default(), connection: None, doubt }
    }

    /// Returns a connection to a service in this process. It needs no token: this process has the folder itself.
    pub fn within(service: Arc<dyn Connector>) -> Self {
        let (url, doubt) = (ServiceUrl::Within, LedgerDoubt::default());
        Self { url, token: None, within: Some(service), tls: Arc::default(), connection: None, doubt }
    }

    /// Returns the connection with the doubt of its answers noted there.
    #[must_use]
    pub fn noting(self, doubt: &LedgerDoubt) -> Self {
        Self { doubt: doubt.clone(), ..self }
    }

    /// Returns where the doubt of its answers is noted.
    #[must_use]
    pub fn doubt(&self) -> &LedgerDoubt {
        &self.doubt
    }

    /// Returns another connection to the same service.
    pub fn another(&self) -> Self {
        let (url, token) = (self.url.clone(), self.token.clone());
        let (within, tls, doubt) = (self.within.clone(), Arc::clone(&self.tls), self.doubt.clone());
        Self { url, token, within, tls, connection: None, doubt }
    }

    /// Posts a body and takes the whole answer.
    pub async fn post(&mut self, path: &str, content_type: &str, body: Bytes) -> Result<Bytes, ClientError> {
        let request = Request::builder().method(Method::POST).uri(path).header(CONTENT_TYPE, content_type);
        self.ask(request, body).await?.whole().await
    }

    /// Posts a body and takes the whole answer, if the holder of this Ed25519 key signed it for this request and this token. A refusal
    /// is believed on the same condition.
    pub async fn post_signed(
        &mut self,
        path: &str,
        content_type: &str,
        body: Bytes,
        key: &[u8; 32],
    ) -> Result<Bytes, ClientError> {
        let request = Request::builder().method(Method::POST).header(CONTENT_TYPE, content_type);
        self.ask_signed(&Method::POST, path, request, body, key).await
    }

    /// Gets a resource, and takes the whole answer on the condition of [`Self::post_signed`].
    pub async fn get_signed(&mut self, path: &str, key: &[u8; 32]) -> Result<Bytes, ClientError> {
        let request = Request::builder().header(ACCEPT, "application/json");
        self.ask_signed(&Method::GET, path, request, Bytes::new(), key).await
    }

    /// Gets a resource as [`Self::get_signed`] does, and takes no answer to an earlier request: the query has a new nonce, which the
    /// signature covers.
    pub async fn get_fresh(&mut self, path: &str, key: &[u8; 32]) -> Result<Bytes, ClientError> {
        let mark = if path.contains('?') { '&' } else { '?' };
        self.get_signed(&format!("{path}{mark}nonce={}", request_id()), key).await
    }

    async fn ask_signed(
        &mut self,
        method: &Method,
        path: &str,
        request: Builder,
        body: Bytes,
        key: &[u8; 32],
    ) -> Result<Bytes, ClientError> {
        let digest = body_digest(&body);
        let authorization = self.token.as_ref().and_then(Token::header);
        let answer = self.send(request.uri(path).header(CONTENT_DIGEST, &digest), body).await?;
        let (status, retry_after) = (answer.status(), retry_after(&answer));
        let signature = SignatureFields::of(answer.headers());
        let body = self.pieces(answer).whole().await?;
        let asked = AskedRequest { method, path, digest: &digest, authorization: authorization.as_ref() };
        let verified = signature.verify(key, &asked, status, &body);
        verified.map_err(|why| ClientError::Unsigned { url: self.url.clone(), why })?;
        if status.is_success() { Ok(body) } else { Err(refusal_of(&self.url, status, retry_after, &body)) }
    }

    /// Sends a request, with a JSON body if there is one, and returns the whole answer. If a position is given, the
    /// answer rests on it.
    pub async fn exchange(
        &mut self,
        method: &Method,
        path: &str,
        json: Option<Bytes>,
        at_least: Option<&str>,
    ) -> Result<Bytes, ClientError> {
        let request = Request::builder().method(method).uri(path);
        let request = match at_least {
            Some(position) => request.header("ledger-min-position", position),
            None => request,
        };
        let request = match &json {
            Some(_) => request.header(CONTENT_TYPE, "application/json"),
            None => request,
        };
        self.ask(request, json.unwrap_or_default()).await?.whole().await
    }

    /// Follows a ledger, past the last seen id if there is one.
    pub async fn follow(&mut self, path: &str, last_id: Option<&str>) -> Result<Pieces, ClientError> {
        // An answer without an end keeps its connection to itself, also after it was given up.
        self.connection = None;
        let request = Request::builder().uri(path).header(ACCEPT, "text/event-stream");
        let request = match last_id {
            Some(id) => request.header("last-event-id", id),
            None => request,
        };
        self.ask(request, Bytes::new()).await
    }

    /// Gets a resource piece by piece.
    pub async fn get(&mut self, path: &str, accept: &str) -> Result<Pieces, ClientError> {
        self.ask(Request::builder().uri(path).header(ACCEPT, accept), Bytes::new()).await
    }

    async fn ask(&mut self, request: Builder, body: Bytes) -> Result<Pieces, ClientError> {
        let answer = self.send(request, body).await?;
        let (status, retry_after) = (answer.status(), retry_after(&answer));
        let pieces = self.pieces(answer);
        if status.is_success() { Ok(pieces) } else { Err(pieces.refusal(status, retry_after).await) }
    }

    /// Sends a request, and returns the head of its answer.
    async fn send(&mut self, request: Builder, body: Bytes) -> Result<Response<Incoming>, ClientError> {
        let host = match &self.url {
            ServiceUrl::Tcp(host) | ServiceUrl::Tls { authority: host, .. } => host,
            ServiceUrl::Unix(_) | ServiceUrl::Within => "localhost",
        };
        let request = match self.token.as_ref().and_then(Token::header) {
            Some(token) => request.header(AUTHORIZATION, token),
            None => request,
        };
        let request =
            request.header(HOST, host).body(Full::new(body)).map_err(|error| self.broken(&error))?;
        let mut connection = match self.connection.take().filter(|link| !link.sender.is_closed()) {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let exchange = async {
            connection.sender.ready().await?;
            connection.sender.send_request(request).await
        };
        let answer = timeout(ANSWER_PATIENCE, exchange).await.map_err(|_| self.late())?;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Err(self.ended(&error, connection).await),
        };
        self.connection = Some(connection);
        if let Some(Ok(reason)) = answer.headers().get(LEDGER_DOUBT).map(HeaderValue::to_str) {
            self.doubt.note(reason.to_owned());
        }
        Ok(answer)
    }

    fn pieces(&self, answer: Response<Incoming>) -> Pieces {
        let ledger_id = answer.headers().get("ledger-id").and_then(|id| Some(id.to_str().ok()?.to_owned()));
        Pieces { url: self.url.clone(), ledger_id, body: answer.into_body() }
    }

    async fn connect(&self) -> Result<Link, ClientError> {
        let failed = |source| ClientError::Connect { url: self.url.clone(), source };
        if let ServiceUrl::Tls { authority, trust } = &self.url {
            return self.connect_with_tls(authority, trust).await;
        }
        let connected = timeout(CONNECT_PATIENCE, async {
            match &self.url {
                ServiceUrl::Tcp(host) => Ok(shake_hands(connect_tcp(host).await?).await),
                ServiceUrl::Unix(path) => Ok(shake_hands(UnixStream::connect(path).await?).await),
                ServiceUrl::Tls { .. } | ServiceUrl::Within => match &self.within {
                    Some(service) => Ok(shake_hands(service.connect().await?).await),
                    None => Err(io::ErrorKind::NotConnected.into()),
                },
            }
        });
        let connected = connected.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        connected.map_err(failed)?.map_err(|error| self.broken(&error))
    }

    fn tls(&self) -> MutexGuard<'_, Option<TlsConnector>> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect_with_tls(&self, authority: &str, trust: &ServiceTrust) -> Result<Link, ClientError> {
        let refused = |failure| ClientError::Tls { url: self.url.clone(), source: Box::new(failure) };
        let made = self.tls().clone();
        let connector = match made {
            Some(connector) => connector,
            None => {
                let made = tls::connector(trust).map_err(refused)?;
                self.tls().insert(made).clone()
            }
        };
        let connected = timeout(CONNECT_PATIENCE, async {
            match connect_tcp(authority).await {
                Ok(stream) => tls::shake_hands(&connector, authority, stream).await,
                Err(error) => Ok(Err(error)),
            }
        });
        let connected = connected.await.unwrap_or_else(|_| Ok(Err(io::ErrorKind::TimedOut.into())));
        let stream = connected.map_err(|failure| {
            *self.tls() = None;
            refused(failure)
        })?;
        let stream = stream.map_err(|source| ClientError::Connect { url: self.url.clone(), source })?;
        shake_hands(stream).await.map_err(|error| self.broken(&error))
    }

    /// Returns the error of a connection that ended. A service that refuses the client's certificate says so after the handshake, and only
    /// the task of the connection hears it.
    async fn ended(&self, error: &hyper::Error, link: Link) -> ClientError {
        let refused = match &self.url {
            ServiceUrl::Tls { .. } => {
                match (TlsFailure::behind(error), timeout(ENDING_PATIENCE, link.task).await) {
                    (None, Ok(Ok(Err(ended)))) => TlsFailure::behind(&ended),
                    (found, _) => found,
                }
            }
            _ => None,
        };
        match refused {
            Some(failure @ TlsFailure::ClientRefused(_)) => {
                *self.tls() = None;
                ClientError::Tls { url: self.url.clone(), source: Box::new(failure) }
            }
            _ => self.broken(error),
        }
    }

    /// Returns the error for an answer that was not understood.
    pub fn strange(&self) -> ClientError {
        ClientError::Strange { url: self.url.clone() }
    }

    fn broken(&self, error: &dyn fmt::Display) -> ClientError {
        ClientError::Broken { url: self.url.clone(), what: error.to_string() }
    }

    fn late(&self) -> ClientError {
        ClientError::Late { url: self.url.clone() }
    }
}

impl Pieces {
    /// Returns the id of the ledger that answers, where the answer names it.
    pub fn ledger_id(&self) -> Option<&str> {
        self.ledger_id.as_deref()
    }

    /// Returns the next piece; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            let frame = timeout(ANSWER_PATIENCE, self.body.frame()).await;
            let frame = frame.map_err(|_| ClientError::Late { url: self.url.clone() })?;
            let Some(frame) = frame else { return Ok(None) };
            let broken =
                |error: hyper::Error| ClientError::Broken { url: self.url.clone(), what: error.to_string() };
            if let Ok(data) = frame.map_err(broken)?.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// Returns the whole body, if it is not too long.
    pub async fn whole(mut self) -> Result<Bytes, ClientError> {
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await? {
            if whole.len() + piece.len() > MAX_ANSWER_BYTES {
                return Err(ClientError::Strange { url: self.url });
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.into())
    }

    /// Returns the service's refusal, or one made from the status where the body holds none.
    async fn refusal(self, status: StatusCode, retry_after: Option<Duration>) -> ClientError {
        let url = self.url.clone();
        match self.whole().await {
            Ok(body) => refusal_of(&url, status, retry_after, &body),
            Err(error) => error,
        }
    }
}

/// Returns the error for a refusal with this body.
fn refusal_of(
    url: &ServiceUrl,
    status: StatusCode,
    retry_after: Option<Duration>,
    body: &[u8],
) -> ClientError {
    let Ok(mut problem) = serde_json::from_slice::<ProblemAnswer>(body) else {
        return ClientError::Strange { url: url.clone() };
    };
    problem.status = status.as_u16();
    Refusal { problem: Box::new(problem), retry_after }.into()
}

fn retry_after(answer: &Response<Incoming>) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

async fn connect_tcp(authority: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(authority).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn shake_hands(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> hyper::Result<Link> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // The sender hears of its end.
    Ok(Link { sender, task: tokio::spawn(connection) })
}
