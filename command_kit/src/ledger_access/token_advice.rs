//! Advice on a missing or refused token.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bitacora_client::{ClientError, Refusal};

/// The places in which an admin's token was looked for in vain.
static LOOKED_AT: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Notes the places in which an admin's token was looked for in vain. A process looks once.
pub fn note_places(places: Vec<PathBuf>) {
    let _known = LOOKED_AT.set(places);
}

/// Returns the advice that follows an error, if it is about the token.
pub fn token_advice(error: &ClientError) -> String {
    match error {
        ClientError::Refused(Refusal { problem, .. }) if problem.status == 401 => {
            let places = LOOKED_AT.get().map(|places| looked_at(places)).unwrap_or_default();
            format!(
                "; name one with --token-file or in BITACORA_TOKEN (`bitacora token create` makes one; the first admin's lies beside the keyring, which --keyring names{places})"
            )
        }
        _ => String::new(),
    }
}

fn looked_at(places: &[PathBuf]) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let places: Vec<String> = places.iter().map(|path| absolute(path).display().to_string()).collect();
    format!("; found none at {}", places.join(" and "))
}
