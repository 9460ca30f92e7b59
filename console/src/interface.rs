//! The public interface, as the console asks it.

use std::pin::Pin;
use std::sync::Arc;

use bitacora_api::ProblemAnswer;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits::MAX_ANSWER_BYTES;

/// The position that an answer's state stands at.
const LEDGER_POSITION: HeaderName = HeaderName::from_static("ledger-position");

/// The cause of a body's early end.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// The body of an answer of the interface.
pub type InterfaceBody = UnsyncBoxBody<Bytes, BoxError>;
/// An answer of the interface that is on its way.
pub type InterfaceFuture<'a> = Pin<Box<dyn Future<Output = Response<InterfaceBody>> + Send + 'a>>;

/// The public interface of a service. It authenticates each request by its headers, as any other.
pub trait PublicInterface: Send + Sync + 'static {
    /// Asks. The request has the extensions of the viewer's request.
    fn ask(&self, request: Request<Bytes>) -> InterfaceFuture<'_>;
}

/// The reason for which the interface gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InterfaceError {
    /// It refused.
    #[error("{}", .0.detail)]
    Refused(Box<ProblemAnswer>),
    /// Its answer is not what it promises.
    #[error("the service's answer cannot be read: {0}")]
    Unreadable(String),
}

/// The interface, asked with one viewer's rights.
#[derive(Clone)]
pub(crate) struct InterfaceClient {
    interface: Arc<dyn PublicInterface>,
    token: Option<HeaderValue>,
    extensions: Extensions,
}

/// A value, and the position of the state that it rests on.
#[derive(Debug)]
pub(crate) struct Answered<T> {
    pub(crate) value: T,
    pub(crate) position: Option<u64>,
}

impl InterfaceClient {
    /// Asks with this token, for the peer that the extensions tell of.
    pub(crate) fn new(
        interface: Arc<dyn PublicInterface>,
        token: Option<&str>,
        extensions: Extensions,
    ) -> Self {
        let token = token.and_then(|token| HeaderValue::try_from(format!("Bearer {token}")).ok());
        let token = token.map(|mut token| {
            token.set_sensitive(true);
            token
        });
        Self { interface, token, extensions }
    }

    /// Asks for a value at a path, which may have a query.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Answered<T>, InterfaceError> {
        read(self.send(Method::GET, path, None, None).await?).await
    }

    /// Asks for a text that is no JSON.
    pub(crate) async fn get_text(&self, path: &str) -> Result<Answered<String>, InterfaceError> {
        let (position, bytes) = whole(self.send(Method::GET, path, None, None).await?).await?;
        let value = String::from_utf8(bytes.into());
        let value = value.map_err(|error| InterfaceError::Unreadable(error.to_string()))?;
        Ok(Answered { value, position })
    }

    /// Sends a body, and reads what became of it.
    pub(crate) async fn send_json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answered<T>, InterfaceError> {
        let body = serde_json::to_vec(body).map_err(|error| InterfaceError::Unreadable(error.to_string()))?;
        read(self.send(method, path, Some(body.into()), None).await?).await
    }

    /// Sends a body where nothing is answered but that it was taken.
    pub(crate) async fn send_only(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<(), InterfaceError> {
        let body = serde_json::to_vec(body).map_err(|error| InterfaceError::Unreadable(error.to_string()))?;
        self.send(method, path, Some(body.into()), None).await.map(|_| ())
    }

    /// Asks for an answer, or for its head alone, as it comes, with the media type that is wanted.
    pub(crate) async fn open(
        &self,
        method: Method,
        path: &str,
        accept: &'static str,
    ) -> Result<Response<InterfaceBody>, InterfaceError> {
        self.send(method, path, None, Some(accept)).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
        accept: Option<&'static str>,
    ) -> Result<Response<InterfaceBody>, InterfaceError> {
        let mut request = Request::new(body.clone().unwrap_or_default());
        *request.method_mut() = method;
        *request.uri_mut() =
            path.parse().map_err(|error| InterfaceError::Unreadable(format!("{path}: {error}")))?;
        let headers = request.headers_mut();
        if let Some(token) = &self.token {
            headers.insert(AUTHORIZATION, token.clone());
        }
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(accept) = accept {
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
        }
        *request.extensions_mut() = self.extensions.clone();
        let response = self.interface.ask(request).await;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refusal(response).await)
    }
}

async fn read<T: DeserializeOwned>(response: Response<InterfaceBody>) -> Result<Answered<T>, InterfaceError> {
    let (position, bytes) = whole(response).await?;
    let value =
        serde_json::from_slice(&bytes).map_err(|error| InterfaceError::Unreadable(error.to_string()))?;
    Ok(Answered { value, position })
}

async fn whole(response: Response<InterfaceBody>) -> Result<(Option<u64>, Bytes), InterfaceError> {
    let position = position_of(response.headers());
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| InterfaceError::Unreadable(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > MAX_ANSWER_BYTES {
            return Err(InterfaceError::Unreadable(format!("it has more than {MAX_ANSWER_BYTES} bytes")));
        }
        bytes.extend_from_slice(&data);
    }
    Ok((position, bytes.into()))
}

fn position_of(headers: &HeaderMap) -> Option<u64> {
    headers.get(LEDGER_POSITION)?.to_str().ok()?.parse().ok()
}

async fn refusal(response: Response<InterfaceBody>) -> InterfaceError {
    let status = response.status();
    match read(response).await {
        Ok(answered) => InterfaceError::Refused(Box::new(answered.value)),
        Err(_) => InterfaceError::Unreadable(format!("status {status} without a problem document")),
    }
}

impl InterfaceError {
    /// The status of the refusal.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Refused(problem) => {
                StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
            Self::Unreadable(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns `true` for a refusal with this code.
    pub(crate) fn is(&self, code: &str) -> bool {
        matches!(self, Self::Refused(problem) if problem.code == code)
    }
}
