//! The fields by which an answer is signed for one request.

use bitacora_formats::{AnswerSignature, AnswerSignatureError, SignedExchange, verify_answer};
use hyper::header::HeaderMap;
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

    /// Checks that the holder of the key signed this answer to a POST of a body with this digest.
    pub(crate) fn verify(
        &self,
        key: &[u8; 32],
        path_and_query: &str,
        request_digest: &str,
        status: StatusCode,
        body: &[u8],
    ) -> Result<(), AnswerSignatureError> {
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let exchange = SignedExchange {
            method: Method::POST.as_str(),
            path,
            query,
            request_digest: Some(request_digest),
            status: status.as_u16(),
            answer_digest: &self.digest,
        };
        verify_answer(key, &exchange, body, &self.signature)
    }
}
