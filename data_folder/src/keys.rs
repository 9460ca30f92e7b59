//! The keyring: its file, its passphrase, new keys, and the retirement of old ones.

pub(crate) mod generation;
pub(crate) mod keyring_file;
pub(crate) mod passphrase;
pub(crate) mod retirement;
