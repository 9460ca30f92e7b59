//! The coverage of a verification: the passed, failed and skipped numbers of each kind of evidence.

use serde_json::{Value, json};

use super::generations::{after_losses, why_unread};
use crate::{EvidenceKind, Report};

/// One kind of evidence.
pub(super) struct CoverageRow {
    what: &'static str,
    passed: u64,
    failed: u64,
    skipped: u64,
    /// The reason why some were skipped.
    why: Option<&'static str>,
    /// The claim that the passed ones prove.
    proves: &'static str,
}

impl CoverageRow {
    pub(super) fn line(&self) -> String {
        let mut line = format!("{:<13} {} passed", self.what, self.passed);
        if self.failed > 0 {
            line.push_str(&format!(", {} failed", self.failed));
        }
        if self.skipped > 0 {
            line.push_str(&format!(", {} skipped", self.skipped));
        }
        if let Some(why) = self.why {
            line.push_str(&format!(": {why}"));
        }
        line
    }

    pub(super) fn explanation(&self) -> String {
        format!("{}: {}", self.what, self.proves)
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { what, passed, failed, skipped, why, .. } = self;
        json!({ "what": what, "passed": passed, "failed": failed, "skipped": skipped, "why": why })
    }
}

/// Returns a row for each kind of evidence that there is.
pub(super) fn coverage(report: &Report, every_signature: bool) -> Vec<CoverageRow> {
    let failed =
        |checked| u64::from(report.fault.as_ref().is_some_and(|fault| fault.kind.checks() == checked));
    let behind = report.fault.is_some() || report.segments_passed < report.segments_planned;
    let behind = behind.then_some("what lies behind the first fault or gap was not looked at");
    let mut rows = vec![
        segments(report, failed(EvidenceKind::Segment), behind),
        CoverageRow {
            what: "frames",
            passed: report.frames,
            failed: 0,
            skipped: 0,
            why: behind,
            proves: "each is the next one after the frame before it, by number, position, time and chain hash",
        },
        signatures(report, every_signature, failed(EvidenceKind::SigningKeys)),
        leaves(report, failed(EvidenceKind::Leaf)),
        heads(report, failed(EvidenceKind::Head)),
        cosignatures(report, failed(EvidenceKind::Cosignature)),
        records(report, failed(EvidenceKind::Record)),
        parts(report),
    ];
    rows.extend(losses(report));
    rows.extend(archives(report, failed(EvidenceKind::Archive)));
    rows
}

fn segments(report: &Report, failed: u64, behind: Option<&'static str>) -> CoverageRow {
    CoverageRow {
        what: "segments",
        passed: report.segments_passed,
        failed,
        skipped: report.segments_planned.saturating_sub(report.segments_passed + failed),
        why: behind,
        proves: "every byte lies under a checksum and the hash chain or is a zero behind them, and each segment goes on from the end of the one before",
    }
}

fn signatures(report: &Report, every_signature: bool, failed: u64) -> CoverageRow {
    let looked_at = if every_signature { report.frames } else { 0 };
    let skipped = report.frames.saturating_sub(looked_at);
    CoverageRow {
        what: "signatures",
        passed: report.signatures,
        failed,
        skipped,
        why: (skipped > 0).then_some(
            "of frames that a later signature of their segment covers; --every-signature verifies these too",
        ),
        proves: "the ledger's signing key vouches for each segment's own key, and that one for all frames up to the last",
    }
}

fn leaves(report: &Report, failed: u64) -> CoverageRow {
    let passed = report.leaves.as_ref().map_or(0, |leaves| leaves.events);
    let skipped = report.events.saturating_sub(passed);
    let why = match &report.leaves {
        None => "--chain-only was given",
        Some(_) if failed > 0 => "of the frame with the fault, and behind it",
        Some(_) => "they are not there, or not yet",
    };
    CoverageRow {
        what: "leaves",
        passed,
        failed,
        skipped,
        why: (skipped > 0).then_some(why),
        proves: "positions, times and commitments, in this order and no other, make the tree root that each frame states under its signature",
    }
}

fn heads(report: &Report, failed: u64) -> CoverageRow {
    let heads = report.heads.unwrap_or_default();
    let why = match &report.heads {
        None => Some("without the note of signing keys nobody knows who may sign them"),
        Some(_) if failed > 0 => Some("those of the segment with the fault, and behind it, were not counted"),
        Some(heads) if heads.heads == 0 => Some("none is there"),
        Some(heads) if heads.events < heads.heads => {
            Some("some without their events, whose leaves are not there: these tie them to the stored bytes")
        }
        Some(_) => None,
    };
    CoverageRow {
        what: "tree heads",
        passed: heads.heads,
        failed,
        skipped: 0,
        why,
        proves: "the ledger's signing key states the size and root that a frame has, and an event in that tree names the chain hash of the stored bytes before it",
    }
}

fn cosignatures(report: &Report, failed: u64) -> CoverageRow {
    let checked = report.cosigned.unwrap_or_default();
    let why = match &report.cosigned {
        None => Some(
            "cosigned heads were not looked at: nobody knows who may sign them, or what they are of was not read",
        ),
        Some(_) if failed > 0 => Some("those of the segment with the fault, and behind it, were not counted"),
        Some(checked) if checked.heads == 0 => Some("no cosigned head is there"),
        Some(checked) if !checked.asked && checked.others > 0 => {
            Some("whose they are is not known; --witnesses names a policy that says it")
        }
        Some(checked) if checked.others > 0 => Some("of others than the witnesses that you named"),
        Some(_) => None,
    };
    CoverageRow {
        what: "cosignatures",
        passed: checked.cosignatures,
        failed,
        skipped: checked.others,
        why,
        proves: "at the time it gives, a witness that you named had seen no larger head of this ledger, and none of another history",
    }
}

fn records(report: &Report, failed: u64) -> CoverageRow {
    let passed = report.contents.map_or(0, |contents| contents.events);
    let skipped = report.events.saturating_sub(passed);
    let why = match report.contents {
        None => "they are encrypted; --with-keys opens them",
        Some(_) => "of the frame with the fault or gap, and behind it",
    };
    CoverageRow {
        what: "records",
        passed,
        failed,
        skipped,
        why: (skipped > 0).then_some(why),
        proves: "each opens, is what its commitment in the tree says, and is the next one of its stream",
    }
}

fn parts(report: &Report) -> CoverageRow {
    let parts = report.contents.map(|contents| contents.parts).unwrap_or_default();
    CoverageRow {
        what: "sealed parts",
        passed: parts.opened,
        failed: 0,
        skipped: parts.without_key,
        why: match report.contents {
            None => Some("they are encrypted; --with-keys opens them"),
            Some(_) => (parts.without_key > 0).then_some("their subjects' keys are erased or elsewhere"),
        },
        proves: "what an event says of a data subject is what its record was sealed with",
    }
}

/// Returns the row of archives, if any are known.
fn archives(report: &Report, failed: u64) -> Option<CoverageRow> {
    let checked = report.archives.or_else(|| (failed > 0).then(Default::default))?;
    let skipped = checked.manifests.saturating_sub(checked.archives + failed);
    Some(CoverageRow {
        what: "archives",
        passed: checked.archives,
        failed,
        skipped,
        why: (skipped > 0).then_some("their events are still in segments, or they are not there"),
        proves: "every byte lies under the signature of the ledger's manifest; its leaves make the tree between the segments that were let go and those that are here, and chain and tree go on from each archive to the next",
    })
}

/// Returns the row of declared losses, if there are any.
fn losses(report: &Report) -> Option<CoverageRow> {
    let declared = after_losses(report).map(|begun| begun.declared.is_some());
    let (read, unread): (Vec<bool>, Vec<bool>) = declared.partition(|read| *read);
    (read.len() + unread.len() > 0).then_some(CoverageRow {
        what: "losses",
        passed: read.len() as u64,
        failed: 0,
        skipped: unread.len() as u64,
        why: (!unread.is_empty()).then_some(why_unread(report)),
        proves: "the first event of the generation names what it goes on from, which is what stands before it, and the last tree head that is not reached any more, if one was known, under the ledger's own signature; what that head did not cover is lost unseen",
    })
}
