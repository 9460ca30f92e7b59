//! Verification of a ledger's folder with the formats alone, without the crate that wrote it.
//!
//! The folder may be a copy, or one that a service is writing to. Without keys, every byte of the segments is proven to
//! be what the ledger's signing keys vouch for. With keys, every frame is opened too, and the tree is rebuilt from its
//! records. Neither can tell what stood at the end of a log that was cut.

mod archive;
mod archive_report;
mod archive_store;
mod archives;
mod assurance;
mod bundle;
mod checks;
mod cosigned;
mod declared;
mod fault;
mod folder;
mod frames;
mod gap;
mod genesis;
mod head_faults;
mod head_standing;
mod heads;
mod heads_past_end;
mod helpers;
mod history;
pub mod input_file;
mod inputs;
mod leaves;
mod ledger_folders;
mod ledger_head;
mod level;
mod notice;
mod options;
mod output;
mod parts;
mod pipeline;
mod plan;
mod proof_check;
mod proving;
mod released;
mod removal_check;
mod removals;
mod report;
mod segment;
mod segment_check;
mod segment_join;
mod signers;
mod streams;
mod tree;
mod window;
mod work_queue;

use std::path::Path;
use std::time::Instant;

pub use archive::{ArchiveProblem, CheckedArchive};
pub use archive_report::{ArchiveReport, check_archives};
pub use archive_store::{ArchiveBytes, ArchiveFolder, ArchiveStore};
pub use archives::ArchivesChecked;
pub use assurance::{Assurance, Divergence};
pub use bundle::{BundleCheck, BundleError, MAX_BUNDLE_BYTES, check_bundle};
pub use cosigned::{CosignedChecked, WitnessedHead};
pub use declared::{DeclaredLoss, LostHead, LostHeadNote};
pub use fault::{EvidenceKind, Fault, FaultKind, Gap};
use folder::LedgerFolder;
pub use head_faults::{CosignedFault, HeadFault};
pub use inputs::{InputError, parse_known_head, read_known_head, read_witness_policy};
pub use ledger_folders::{LedgerLocation, LedgerSelection, find_ledgers};
pub use ledger_head::Head;
pub use notice::Notice;
pub use options::{KnownHead, LeafCheck, Progress, TailRetries, VerifyOptions};
pub use output::{CheckResult, ReportView};
pub use parts::{FoundParts, PartCounts, SubjectKeyStore};
pub use proof_check::{ProofCheck, check_proof};
pub use proving::{DisclosedPart, EntryError, ProofSource, ProveError, receipt_text};
pub use report::{ContentsChecked, GenerationStart, HeadsChecked, LeavesChecked, Report, Verdict};

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
