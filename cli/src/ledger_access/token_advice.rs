//! Advice on a missing or refused token.

use bitacora_client::{ClientError, Refusal};

/// Returns the advice that follows an error, if it is about the token.
pub(crate) fn token_advice(error: &ClientError) -> &'static str {
    match error {
        ClientError::Refused(Refusal { problem, .. }) if problem.status == 401 => {
            "; name one with --token-file or in BITACORA_TOKEN (`bitacora token create` makes one; the first admin's lies beside the keyring)"
        }
        _ => "",
    }
}
