//! The service as the command line sees it: one HTTP/1.1 connection over TCP, a Unix socket or a pipe within this process,
//! one request at a time.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bitacora_server::InProcess;
use bitacora_server::answers::ProblemAnswer;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::exit::Exit;
use crate::token::Token;

/// How long a connection may take to be made.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How long the service may take to begin an answer, and between two pieces of it.
const ANSWER_PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of an answer that is taken as a whole: receipts of the largest request, several times.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Where a service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServiceUrl {
    /// Host and port.
    Tcp(String),
    Unix(PathBuf),
    /// In this process, for the ledger of a folder. No text is parsed as it.
    Within,
}

/// The text is not the address of a service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the address of a service: http://HOST:PORT or unix:PATH")]
pub(crate) struct NotAServiceUrl;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("{url}: {source}; is the service running?")]
    Connect { url: ServiceUrl, source: io::Error },
    #[error("{url}: the connection broke: {what}")]
    Broken { url: ServiceUrl, what: String },
    #[error("{url}: nothing came for {} s", ANSWER_PATIENCE.as_secs())]
    Late { url: ServiceUrl },
    #[error("{url}: an answer that is not what a bitacora service says; check the address")]
    Strange { url: ServiceUrl },
    #[error("{0}")]
    Refused(#[from] Refusal),
}

/// The service's own no.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{} ({}, HTTP {})", problem.detail, problem.code, problem.status)]
pub(crate) struct Refusal {
    pub(crate) problem: Box<ProblemAnswer>,
    /// When to ask again.
    pub(crate) retry_after: Option<Duration>,
}

impl ClientError {
    /// Whether the same question will be answered in a while.
    pub(crate) fn is_behind(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.problem.code == "projection-behind")
    }

    /// What the program's end says of it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Refused(Refusal { problem, .. }) if !problem.retryable => {
                // What is not there refuses nothing.
                if problem.status == 404 || problem.status >= 500 { Exit::Failed } else { Exit::Refused }
            }
            _ => Exit::Failed,
        }
    }
}

impl FromStr for ServiceUrl {
    type Err = NotAServiceUrl;

    fn from_str(text: &str) -> Result<Self, NotAServiceUrl> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err(NotAServiceUrl) } else { Ok(Self::Unix(path.into())) };
        }
        let uri: Uri = text.parse().map_err(|_| NotAServiceUrl)?;
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        match (uri.scheme_str(), authority, uri.path_and_query().map(hyper::http::uri::PathAndQuery::as_str))
        {
            (Some("http"), Some(authority), None | Some("/")) => {
                let port = authority.port_u16().unwrap_or(80);
                Ok(Self::Tcp(format!("{}:{port}", authority.host())))
            }
            _ => Err(NotAServiceUrl),
        }
    }
}

impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host) => write!(f, "http://{host}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Within => f.write_str("the ledger's folder"),
        }
    }
}

/// Asks one service. A connection that broke is made anew for the next request, never within one: whether the service did
/// what was asked is then for the caller to find out.
pub(crate) struct Client {
    url: ServiceUrl,
    token: Option<Token>,
    within: Option<Arc<InProcess>>,
    connection: Option<SendRequest<Full<Bytes>>>,
}

/// An answer whose body comes piece by piece.
pub(crate) struct Pieces {
    url: ServiceUrl,
    ledger_id: Option<String>,
    body: Incoming,
}

impl Client {
    pub(crate) fn new(url: ServiceUrl, token: Option<Token>) -> Self {
        Self { url, token, within: None, connection: None }
    }

    /// Asks a service of this process. Who has the folder needs no token.
    pub(crate) fn within(service: Arc<InProcess>) -> Self {
        Self { url: ServiceUrl::Within, token: None, within: Some(service), connection: None }
    }

    /// Another one for the same service, with a connection of its own.
    pub(crate) fn another(&self) -> Self {
        let (url, token) = (self.url.clone(), self.token.clone());
        Self { url, token, within: self.within.clone(), connection: None }
    }

    /// Posts a body and takes the whole answer.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Bytes, ClientError> {
        let request = Request::builder().method(Method::POST).uri(path).header(CONTENT_TYPE, content_type);
        self.ask(request, body).await?.whole().await
    }

    /// Asks with JSON, if there is something to say, for what rests on a position, if there is one, and takes the whole answer.
    pub(crate) async fn exchange(
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

    /// Follows a ledger, past the last id that was seen if there is one.
    pub(crate) async fn follow(&mut self, path: &str, last_id: Option<&str>) -> Result<Pieces, ClientError> {
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
    pub(crate) async fn get(&mut self, path: &str, accept: &str) -> Result<Pieces, ClientError> {
        self.ask(Request::builder().uri(path).header(ACCEPT, accept), Bytes::new()).await
    }

    async fn ask(&mut self, request: Builder, body: Bytes) -> Result<Pieces, ClientError> {
        let host = match &self.url {
            ServiceUrl::Tcp(host) => host,
            ServiceUrl::Unix(_) | ServiceUrl::Within => "localhost",
        };
        let request = match self.token.as_ref().and_then(Token::header) {
            Some(token) => request.header(AUTHORIZATION, token),
            None => request,
        };
        let request =
            request.header(HOST, host).body(Full::new(body)).map_err(|error| self.broken(&error))?;
        let mut connection = match self.connection.take().filter(|connection| !connection.is_closed()) {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let exchange = async {
            connection.ready().await?;
            connection.send_request(request).await
        };
        let answer = timeout(ANSWER_PATIENCE, exchange).await.map_err(|_| self.late())?;
        let answer = answer.map_err(|error| self.broken(&error))?;
        self.connection = Some(connection);
        let (status, retry_after) = (answer.status(), retry_after(&answer));
        let ledger_id = answer.headers().get("ledger-id").and_then(|id| Some(id.to_str().ok()?.to_owned()));
        let pieces = Pieces { url: self.url.clone(), ledger_id, body: answer.into_body() };
        if status.is_success() { Ok(pieces) } else { Err(pieces.refusal(status, retry_after).await) }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let failed = |source| ClientError::Connect { url: self.url.clone(), source };
        let connected = timeout(CONNECT_PATIENCE, async {
            match &self.url {
                ServiceUrl::Tcp(host) => {
                    let stream = TcpStream::connect(host).await?;
                    stream.set_nodelay(true)?;
                    Ok(shake_hands(stream).await)
                }
                ServiceUrl::Unix(path) => Ok(shake_hands(UnixStream::connect(path).await?).await),
                ServiceUrl::Within => match &self.within {
                    Some(service) => Ok(shake_hands(service.connect()).await),
                    None => Err(io::ErrorKind::NotConnected.into()),
                },
            }
        });
        let connected = connected.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        connected.map_err(failed)?.map_err(|error| self.broken(&error))
    }

    /// What to say of an answer that was taken and not understood.
    pub(crate) fn strange(&self) -> ClientError {
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
    /// Which ledger answers, where the answer says so.
    pub(crate) fn ledger_id(&self) -> Option<&str> {
        self.ledger_id.as_deref()
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
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

    /// All of it, if it is not too long.
    pub(crate) async fn whole(mut self) -> Result<Bytes, ClientError> {
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await? {
            if whole.len() + piece.len() > MAX_ANSWER_BYTES {
                return Err(ClientError::Strange { url: self.url });
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.into())
    }

    /// What the service says against it, or what its status says where nobody else does.
    async fn refusal(self, status: StatusCode, retry_after: Option<Duration>) -> ClientError {
        let url = self.url.clone();
        let body = match self.whole().await {
            Ok(body) => body,
            Err(error) => return error,
        };
        let Ok(mut problem) = serde_json::from_slice::<ProblemAnswer>(&body) else {
            return ClientError::Strange { url };
        };
        // It goes to a terminal.
        problem.detail = crate::output::printable(&problem.detail);
        problem.code = crate::output::printable(&problem.code);
        problem.status = status.as_u16();
        Refusal { problem: Box::new(problem), retry_after }.into()
    }
}

fn retry_after(answer: &Response<Incoming>) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

async fn shake_hands(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> hyper::Result<SendRequest<Full<Bytes>>> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // The sender hears of its end.
        let _told = connection.await.is_err();
    });
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_named_by_host_and_port_or_by_its_socket() {
        let url = |text: &str| text.parse::<ServiceUrl>();
        assert_eq!(url("http://127.0.0.1:7717"), Ok(ServiceUrl::Tcp("127.0.0.1:7717".into())));
        assert_eq!(url("http://[::1]:7717/"), Ok(ServiceUrl::Tcp("[::1]:7717".into())));
        assert_eq!(url("http://localhost"), Ok(ServiceUrl::Tcp("localhost:80".into())));
        assert_eq!(url("unix:/run/bitacora"), Ok(ServiceUrl::Unix("/run/bitacora".into())));
        for text in [
            "",
            "unix:",
            "https://x",
            "127.0.0.1:7717",
            "http://",
            "http://x/y",
            "http://x?y",
            "http://a@b",
            "ftp://x",
        ] {
            assert_eq!(url(text), Err(NotAServiceUrl), "{text:?}");
        }
    }
}
