//! The client of every store, which takes a bounded part of each answer, error answers included.

use std::future::Future;
use std::pin::Pin;

use http_body_util::{BodyExt, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService, ReqwestConnector,
};

/// Makes such clients.
#[derive(Debug)]
pub(crate) struct BoundedConnector {
    /// The most bytes taken of any answer.
    pub(crate) max_answer_bytes: usize,
}

impl HttpConnector for BoundedConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(BoundedClient { client, max_answer_bytes: self.max_answer_bytes }))
    }
}

#[derive(Debug)]
struct BoundedClient {
    client: HttpClient,
    max_answer_bytes: usize,
}

/// An answer, or why there is none.
type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>;

impl HttpService for BoundedClient {
    fn call<'service, 'answer>(&'service self, request: HttpRequest) -> ResponseFuture<'answer>
    where
        'service: 'answer,
        Self: 'answer,
    {
        Box::pin(async move {
            let (head, body) = self.client.execute(request).await?.into_parts();
            let body = Limited::new(body, self.max_answer_bytes);
            let body = body.map_err(|error| HttpError::new_boxed(HttpErrorKind::Decode, error));
            Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
        })
    }
}
