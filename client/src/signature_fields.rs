//! The fields by which an answer is signed for one request.

use bitacora_formats::{AnswerSignature, AnswerSignatureError, SignedExchange, verify_answer};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};

/// The digest of a body (RFC 9530).
pub(crate) const CONTENT_DIGEST: &str = "content-digest";

/// The fields of an answer, unverified. A missing one is empty, and verifies nothing.
pub(crate) struct SignatureFields {
    digest: String,
    signature: AnswerSignature,
}

impl SignatureFields {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let field = |name: &str| {
            let mut values = headers.get_all(name).iter();
            let first = values.next().filter(|_| values.next().is_none());
            first.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        Self {
            digest: field(CONTENT_DIGEST),
            signature: AnswerSignature { input: field("signature-input"), signature: field("signature") },
        }
    }

    /// Checks that the holder of the key signed this answer to the request.
    pub(crate) fn verify(
        &self,
        key: &[u8; 32],
        request: &AskedRequest<'_>,
        status: StatusCode,
        body: &[u8],
    ) -> Result<(), AnswerSignatureError> {
        let (path, query) = request.path.split_once('?').unwrap_or((request.path, ""));
        let exchange = SignedExchange {
            method: request.method.as_str(),
            path,
            query,
            request_digest: request.digest,
            authorization: request.authorization.and_then(|value| value.to_str().ok()),
            status: status.as_u16(),
            answer_digest: &self.digest,
        };
        verify_answer(key, &exchange, body, &self.signature)
    }
}

/// The parts of a request that the signature of its answer covers.
pub(crate) struct AskedRequest<'a> {
    pub(crate) method: &'a Method,
    /// Path and query.
    pub(crate) path: &'a str,
    pub(crate) digest: &'a str,
    pub(crate) authorization: Option<&'a HeaderValue>,
}
