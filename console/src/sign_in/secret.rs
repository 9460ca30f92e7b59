//! Random texts that nobody guesses.

use subtle::ConstantTimeEq as _;

use crate::limits::SECRET_BYTES;

/// The system gives no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes: {0}")]
pub(crate) struct NoRandomness(getrandom::Error);

/// Returns random bytes.
pub(crate) fn random_bits() -> Result<[u8; SECRET_BYTES], NoRandomness> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(NoRandomness)?;
    Ok(bytes)
}

/// Returns a random text of letters and digits.
pub(crate) fn random_secret() -> Result<String, NoRandomness> {
    Ok(hex::encode(random_bits()?))
}

/// Compares a secret with what was sent, in a time that does not depend on where they differ.
pub(crate) fn equal(secret: &str, sent: &str) -> bool {
    secret.as_bytes().ct_eq(sent.as_bytes()).into()
}
