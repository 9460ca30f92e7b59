//! The refusals that stay: the service would refuse the same body at any later time.

use bitacora_api::ProblemAnswer;

/// The codes of refusals that speak of the body, once the service has read it and compared it with the digest that the signature
/// binds to the answer. `request-too-large` is none: whoever stands between can lengthen a request.
const FINAL_CODES: [&str; 23] = [
    "bad-body",
    "not-json",
    "truncated-json",
    "duplicate-key",
    "too-deep",
    "number-range",
    "lone-surrogate",
    "nul-character",
    "not-an-event",
    "missing-attribute",
    "empty-attribute",
    "attribute-too-long",
    "too-many-attributes",
    "bad-attribute",
    "bad-event",
    "data-too-large",
    "schema",
    "secret-name",
    "id-reused",
    "no-such-call",
    "call-reused",
    "call-taken",
    "key-reused",
];

/// Returns `true` if the service would refuse the same body at any later time. Every other refusal may be about what stood between,
/// such as a header that was changed on the way, and the input is kept.
#[must_use]
pub fn is_final(problem: &ProblemAnswer) -> bool {
    FINAL_CODES.contains(&problem.code.as_str())
}
