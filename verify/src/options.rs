//! The options of a verification.

use std::num::NonZero;
use std::path::Path;
use std::time::Duration;

use bitacora_formats::{Keyring, UnverifiedTreeHead, VerifierKey, WitnessPolicy};

/// The options of a verification.
#[derive(Clone, Copy)]
pub struct VerifyOptions<'a> {
    /// Set to verify the signature of every frame, not only of the last one of each segment.
    pub every_signature: bool,
    /// The keys to open every frame with.
    pub keyring: Option<&'a Keyring>,
    /// The name that the ledger should have; its first event holds it, for verifiers with the keys.
    pub name: Option<&'a str>,
    /// The leaves beside the segments to check.
    pub leaves: LeafCheck,
    /// The number of threads. They check a segment each, and share the frames of the last ones; by default as many as
    /// the machine has cores.
    pub threads: Option<NonZero<usize>>,
    /// The keys that the verifier knows to be the ledger's.
    pub trusted: &'a [VerifierKey],
    /// The tree heads that the verifier has kept.
    pub known_heads: &'a [KnownHead],
    /// The witnesses that the verifier knows, and how many of them must have cosigned a head. The policy's logs count as known keys.
    pub witnesses: Option<&'a WitnessPolicy>,
    /// The folder of the ledger's archives, by their names in a store; needed where segments were released.
    pub archives: Option<&'a Path>,
    /// The time that a write in progress is waited for.
    pub patience: TailRetries,
    /// The listener for the progress.
    pub progress: Option<&'a dyn Progress>,
}

impl Default for VerifyOptions<'_> {
    fn default() -> Self {
        Self {
            every_signature: false,
            keyring: None,
            name: None,
            leaves: LeafCheck::WhereThere,
            threads: None,
            trusted: &[],
            known_heads: &[],
            witnesses: None,
            archives: None,
            patience: TailRetries::LIVE,
            progress: None,
        }
    }
}

/// A tree head that the verifier has kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHead {
    /// The file that it was read from.
    pub file: String,
    /// The head.
    pub head: UnverifiedTreeHead,
}

/// The leaves beside the segments that are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeafCheck {
    /// None: only the chain and its signatures, and with keys the tree of the records.
    None,
    /// Those that are there; absent ones are reported.
    WhereThere,
    /// All of them: without one the verification is incomplete.
    All,
}

/// The retries for the end of a ledger before it counts as damaged: a service may be writing there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailRetries {
    /// The number of retries.
    pub retries: u32,
    /// The pause before each retry.
    pub pause: Duration,
}

impl TailRetries {
    /// The patience for a folder that may be written to.
    pub const LIVE: Self = Self { retries: 6, pause: Duration::from_millis(50) };
    /// The patience for a folder that nobody writes to.
    pub const NONE: Self = Self { retries: 0, pause: Duration::ZERO };
}

/// A listener for the progress of a verification; called from several threads.
pub trait Progress: Sync {
    /// Takes in the number of bytes to check.
    fn expect(&self, bytes: u64);
    /// Takes in the number of bytes checked since the last call.
    fn advance(&self, bytes: u64);
}
