//! Bytes and values of Bitacora: every persisted layout, and nothing that touches a disk, a clock or a network.
//!
//! What this crate may not know: files, threads, time, randomness, HTTP. Every decoder is total: any input gives
//! a value or a typed error, never a panic, and never an allocation past a named limit. Each layout is stated once,
//! with a worked example, in `docs/formats/`.

mod ids;
mod kdf;
mod keyring;
mod keys;
mod tree;
#[cfg(test)]
mod worked_example;

pub use ids::{
    After, ChainHash, Commitment, Epoch, EventKey, Generation, IdError, LedgerId, LedgerName, Micros,
    Position, Secret, SegmentNumber, Signature, StreamKey, StreamVersion, TreeHash,
};
pub use kdf::{KeyInput, KeyUse, chain_hasher, derive};
pub use keyring::{
    ActiveSigner, KekId, Keyring, KeyringError, LineProblem, MAX_KEYRING_BYTES, MAX_KEYS, SigningChain,
    SigningChainError, parse_signing_chain,
};
pub use keys::{LedgerKeys, commitment};
pub use tree::{Frontier, leaf_hash};
