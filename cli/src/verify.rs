//! Verification of a ledger's folder with the formats alone, without the crate that wrote it.
//!
//! The folder may be a copy, or one that a service is writing to. Without keys, every byte of the segments is proven to
//! be what the ledger's signing keys vouch for. With keys, every frame is opened too, and the tree is rebuilt from its
//! records. Neither can tell what stood at the end of a log that was cut.

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
mod head_faults;
mod heads;
mod heads_past_end;
mod helpers;
mod history;
mod leaves;
mod ledger_head;
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
pub use cosigned::{CosignedChecked, WitnessedHead};
pub use declared::{DeclaredLoss, LostHead, LostNote};
pub use fault::{Checked, Fault, FaultKind, Gap};
pub(crate) use folder::LedgerFolder;
pub use head_faults::{CosignedFault, HeadFault};
pub use ledger_head::Head;
pub use parts::PartCounts;
pub(crate) use parts::{FoundParts, Parts};
pub use report::{BegunGeneration, ContentsChecked, HeadsChecked, LeavesChecked, Report, Verdict};

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
    pub leaves: LeavesWanted,
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
    pub patience: Patience,
    /// The listener for the progress.
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

/// The leaves beside the segments that are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeavesWanted {
    /// None: only the chain and its signatures, and with keys the tree of the records.
    None,
    /// Those that are there; absent ones are reported.
    WhereThere,
    /// All of them: without one the verification is incomplete.
    All,
}

/// The retries for the end of a ledger before it counts as damaged: a service may be writing there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// The number of retries.
    pub retries: u32,
    /// The pause before each retry.
    pub pause: Duration,
}

impl Patience {
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
