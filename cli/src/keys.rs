//! Keys and tokens: their files, generation and passphrases.

pub(crate) mod admin_token;
pub(crate) mod key_generation;
pub(crate) mod keyring_file;
pub(crate) mod named_token;
pub(crate) mod passphrase;
pub(crate) mod token;
