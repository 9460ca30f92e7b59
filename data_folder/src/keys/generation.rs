//! The generation of keys from the system's random generator.

use std::io;

use bitacora_formats::Keyring;
use bitacora_ledger::{Entropy, SystemEntropy};

/// The reason why there are no new keys: the system gives no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes: {0}; nothing was changed")]
pub struct KeyGenerationError(io::Error);

/// Generates a keyring from the system's random generator.
pub(crate) fn generate() -> Result<Keyring, KeyGenerationError> {
    with_random(|random| Keyring::generate(random))
}

/// Runs `make` with the system's random bytes. The result is discarded if the system failed to give any of them.
pub(crate) fn with_random<T>(
    make: impl FnOnce(&mut dyn FnMut(&mut [u8])) -> T,
) -> Result<T, KeyGenerationError> {
    let mut failed = None;
    let made = make(&mut |bytes| {
        if let Err(error) = SystemEntropy.fill(bytes) {
            failed = Some(error);
        }
    });
    failed.map_or(Ok(made), |error| Err(KeyGenerationError(error)))
}
