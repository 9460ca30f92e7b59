//! The signature of an answer: RFC 9421 (HTTP message signatures) with Ed25519, over the answer and the request that it answers.
//!
//! A hook process obeys an answer only if the ledger signed it, so no other program can take the service's port and allow
//! calls. The request's token is covered, so nobody hands on an answer that another caller got. Layout: `docs/formats/answer_signature.md`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::{KeyUse, Secret, derive};

/// The label of the signature in both fields.
const LABEL: &str = "ledger=";
/// The tag of the application that signs.
const TAG: &str = "bitacora-answer";
/// The most bytes of a `Signature-Input` field that is read.
const MAX_INPUT_BYTES: usize = 512;

/// An answer that the ledger did not sign for this request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerSignatureError {
    /// One of the three fields is missing, or is not of the form that the service writes.
    #[error("found no signature of the ledger")]
    Missing,
    /// The signature names another key.
    #[error("found a signature of another key than the connection's")]
    OtherKey,
    /// The body is not the one that the signature covers.
    #[error("found another body than the signed one")]
    Body,
    /// The signature is of another answer, or was made for another request.
    #[error("found a signature that does not fit the answer and the request")]
    Signature,
    /// The expected key is no Ed25519 key.
    #[error("found no usable key to verify answers with")]
    Key,
}

/// A request and the answer to it, as the signature covers them.
#[derive(Clone, Copy)]
pub struct SignedExchange<'a> {
    /// The request's method.
    pub method: &'a str,
    /// The path, with its percent-encoding.
    pub path: &'a str,
    /// The query without `?`; empty where there is none.
    pub query: &'a str,
    /// The request's `Content-Digest` field, [`body_digest`] of its body.
    pub request_digest: &'a str,
    /// The request's `Authorization` field, if it has one. It is hashed, and not sent with the answer.
    pub authorization: Option<&'a str>,
    /// The answer's status.
    pub status: u16,
    /// The answer's `Content-Digest` field.
    pub answer_digest: &'a str,
}

impl SignedExchange<'_> {
    /// Returns the covered components, in the order in which they are signed.
    fn components(&self) -> &'static str {
        match self.authorization {
            Some(_) => {
                r#"("@status" "content-digest" "@method";req "@path";req "@query";req "content-digest";req "authorization";req)"#
            }
            None => {
                r#"("@status" "content-digest" "@method";req "@path";req "@query";req "content-digest";req)"#
            }
        }
    }

    /// Returns the signature base, the bytes that are signed.
    fn base(&self, parameters: &str) -> Zeroizing<String> {
        let Self { method, path, query, request_digest, authorization, status, answer_digest } = self;
        let mut base = Zeroizing::new(format!(
            "\"@status\": {status}\n\"content-digest\": {answer_digest}\n\"@method\";req: {method}\n\"@path\";req: {path}\n\"@query\";req: ?{query}\n\"content-digest\";req: {request_digest}\n"
        ));
        if let Some(authorization) = authorization {
            base.push_str(&format!("\"authorization\";req: {authorization}\n"));
        }
        base.push_str(&format!("\"@signature-params\": {parameters}"));
        base
    }
}

/// The fields of a signed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerSignature {
    /// The value of `Signature-Input`.
    pub input: String,
    /// The value of `Signature`.
    pub signature: String,
}

/// Signs the answers of one ledger.
pub struct AnswerSigner(SigningKey);

impl AnswerSigner {
    /// Returns the signer under a ledger's `DerivedState` key. Its key never rotates, because clients remember it.
    #[must_use]
    pub fn new(index_key: &Secret) -> Self {
        Self(SigningKey::from_bytes(derive(KeyUse::AnswerSigning, index_key.expose(), &[]).expose()))
    }

    /// Returns the public key, by which clients verify answers.
    #[must_use]
    pub fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    /// Returns the public key in hexadecimal digits, as `keyid` has it.
    #[must_use]
    pub fn key_id(&self) -> String {
        hex::encode(self.public())
    }

    /// Signs an answer, at this time in seconds of the Unix epoch.
    #[must_use]
    pub fn sign(&self, exchange: &SignedExchange<'_>, created: u64) -> AnswerSignature {
        let parameters = format!("{}{}", exchange.components(), parameters(created, &self.public()));
        let signature = self.0.sign(exchange.base(&parameters).as_bytes());
        AnswerSignature {
            input: format!("{LABEL}{parameters}"),
            signature: format!("{LABEL}:{}:", BASE64.encode(signature.to_bytes())),
        }
    }
}

/// Checks that the holder of `key` signed this answer to this request. The fields have to be exactly as the service writes
/// them: a client that takes other forms may be told to cover less.
///
/// # Errors
/// An [`AnswerSignatureError`]; nothing of such an answer may be acted on.
pub fn verify_answer(
    key: &[u8; 32],
    exchange: &SignedExchange<'_>,
    body: &[u8],
    fields: &AnswerSignature,
) -> Result<(), AnswerSignatureError> {
    use AnswerSignatureError::{Body, Key, Missing, OtherKey, Signature as Unfit};
    let public = VerifyingKey::from_bytes(key).map_err(|_| Key)?;
    let parameters =
        fields.input.strip_prefix(LABEL).filter(|_| fields.input.len() <= MAX_INPUT_BYTES).ok_or(Missing)?;
    let rest = parameters.strip_prefix(exchange.components()).ok_or(Missing)?;
    let created = rest.strip_prefix(";created=").and_then(|rest| rest.split_once(';')).ok_or(Missing)?.0;
    let created: u64 = created.parse().map_err(|_| Missing)?;
    if rest != self::parameters(created, key) {
        return Err(OtherKey);
    }
    let signature = fields.signature.strip_prefix(LABEL).and_then(|signature| {
        let bytes = BASE64.decode(signature.strip_prefix(':')?.strip_suffix(':')?).ok()?;
        Signature::from_slice(&bytes).ok()
    });
    public
        .verify_strict(exchange.base(parameters).as_bytes(), &signature.ok_or(Missing)?)
        .map_err(|_| Unfit)?;
    if body_digest(body) == exchange.answer_digest { Ok(()) } else { Err(Body) }
}

/// Returns the value of `Content-Digest` (RFC 9530) of a body.
#[must_use]
pub fn body_digest(body: &[u8]) -> String {
    format!("sha-256=:{}:", BASE64.encode(Sha256::digest(body)))
}

fn parameters(created: u64, public: &[u8; 32]) -> String {
    format!(";created={created};keyid=\"{}\";alg=\"ed25519\";tag=\"{TAG}\"", hex::encode(public))
}

#[cfg(test)]
mod tests;
