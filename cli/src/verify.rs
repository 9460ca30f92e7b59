//! Verification of a ledger's folder with the formats alone: nothing of the crate that wrote it is asked.
//!
//! The folder may be a copy or one that a service is writing to. Without keys every byte of the segments is proven to be
//! what the ledger's signing keys vouch for; with keys every frame is opened too, and the tree made again of its records.
//! What an empty end of the log once held, neither can tell.

mod archive;
mod archives;
mod assurance;
mod checks;
mod cosigned;
mod declared;
mod fault;
mod folder;
mod frames;
mod gap;
mod genesis;
mod heads;
mod heads_past_end;
mod helpers;
mod history;
mod leaves;
mod level;
mod parts;
mod pipeline;
mod plan;
mod released;
mod report;
mod segment;
mod segment_check;
mod segment_join;
mod signers;
mod streams;
mod tree;
mod window;
mod work_queue;

use std::num::NonZero;
use std::path::Path;
use std::time::{Duration, Instant};

use bitacora_formats::{Keyring, VerifierKey, WitnessPolicy};

pub use archive::{ArchiveProblem, CheckedArchive};
pub use archives::ArchivesChecked;
pub use assurance::{Assurance, Divergence, KnownHead};
pub use cosigned::{CosignedChecked, CosignedFault, WitnessedHead};
pub use declared::{DeclaredLoss, LostHead, LostNote};
pub use fault::{Checked, Fault, FaultKind, Gap};
pub(crate) use folder::LedgerFolder;
pub use heads::HeadFault;
pub use parts::PartCounts;
pub(crate) use parts::{FoundParts, Parts};
pub use report::{BegunGeneration, ContentsChecked, Head, HeadsChecked, LeavesChecked, Report, Verdict};

/// How a ledger is verified.
#[derive(Clone, Copy)]
pub struct VerifyOptions<'a> {
    /// Verify the signature of every frame, not only of the last one of each segment.
    pub every_signature: bool,
    /// Open every frame with these keys.
    pub keyring: Option<&'a Keyring>,
    /// The name that the ledger should have; its first event tells, to whom has the keys.
    pub name: Option<&'a str>,
    /// What of the leaves beside the segments is looked at.
    pub leaves: LeavesWanted,
    /// Threads that check, a segment each and the frames of the last ones together; as many as the machine has cores where it is not told.
    pub threads: Option<NonZero<usize>>,
    /// Keys that the verifier knows to be the ledger's.
    pub trusted: &'a [VerifierKey],
    /// Tree heads that the verifier has kept.
    pub known_heads: &'a [KnownHead],
    /// Witnesses that the verifier knows, and how many of them must have cosigned a head; its logs are keys that it knows.
    pub witnesses: Option<&'a WitnessPolicy>,
    /// The folder that the ledger's archives lie in, by their names in a store; it is needed where segments were released.
    pub archives: Option<&'a Path>,
    /// How long a write in progress is waited for.
    pub patience: Patience,
    /// Who is told how far it is.
    pub progress: Option<&'a dyn Progress>,
}

impl Default for VerifyOptions<'_> {
    fn default() -> Self {
        Self {
            every_signature: false,
            keyring: None,
            name: None,
            leaves: LeavesWanted::WhereThere,
            threads: None,
            trusted: &[],
            known_heads: &[],
            witnesses: None,
            archives: None,
            patience: Patience::LIVE,
            progress: None,
        }
    }
}

/// What of the leaves beside the segments is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeavesWanted {
    /// Nothing: the chain and its signatures alone, and with keys the tree of the records.
    None,
    /// Those that are there; that others are not is told.
    WhereThere,
    /// All of them: without one the verification is incomplete.
    All,
}

/// How often and after which pause the end of a ledger is read again before it is called damaged: a service may be in the
/// middle of writing there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Readings after the first one.
    pub retries: u32,
    /// The pause before each of them.
    pub pause: Duration,
}

impl Patience {
    /// For a folder that may be written to.
    pub const LIVE: Self = Self { retries: 6, pause: Duration::from_millis(50) };
    /// For a folder that nobody writes to.
    pub const NONE: Self = Self { retries: 0, pause: Duration::ZERO };
}

/// Who is told how far a verification is; called from several threads.
pub trait Progress: Sync {
    /// How many bytes there are to check.
    fn expect(&self, bytes: u64);
    /// So many more are checked.
    fn advance(&self, bytes: u64);
}

/// Verifies the ledger in `folder`, which holds `segments/` and `signing-keys.note`.
///
/// It stops at the first fault, in the order of positions. The folder is only read.
#[must_use]
pub fn verify_ledger(folder: &Path, options: &VerifyOptions<'_>) -> Report {
    let began = Instant::now();
    let mut report = pipeline::run(&LedgerFolder::new(folder), options);
    report.elapsed = began.elapsed();
    report
}
