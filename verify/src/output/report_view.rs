//! The output of a verification: lines for people, one JSON object for programs.

use std::time::Duration;

use bitacora_formats::{LedgerName, format_time};
use serde_json::{Value, json};

use super::CheckResult;
use super::assurance;
use super::coverage::{CoverageRow, coverage};
use super::generations;
use crate::{ArchivesChecked, CosignedChecked, Fault, HeadsChecked, LeavesChecked, Report, Verdict};

/// A report and its context.
#[derive(Clone, Copy)]
pub struct ReportView<'a> {
    /// The ledger's name.
    pub name: &'a LedgerName,
    /// The report.
    pub report: &'a Report,
    /// Set when the signature of every frame was asked for.
    pub every_signature: bool,
    /// Set when the meaning of each kind of evidence is shown to people.
    pub explain: bool,
}

impl CheckResult for ReportView<'_> {
    fn verdict(&self) -> Verdict {
        self.report.verdict()
    }

    fn to_json(&self) -> Value {
        let Report { bytes, segments, frames, events, signatures, elapsed, .. } = self.report;
        let time = |time: Option<_>| time.map(format_time);
        let head = self.report.head.map(|head| {
            json!({
                "position": head.position.to_string(),
                "hash": head.hash.to_string(),
                "treeRoot": head.tree_root.to_string(),
            })
        });
        let contents = self.report.contents.map(|contents| {
            json!({
                "events": contents.events,
                "streams": contents.streams,
                "partsOpened": contents.parts.opened,
                "partsWithoutKey": contents.parts.without_key,
            })
        });
        let leaves = self.report.leaves.as_ref().map(leaves_json);
        let heads = self.report.heads.as_ref().map(heads_json);
        let cosigned = self.report.cosigned.as_ref().map(cosigned_json);
        let gaps: Vec<String> = self.report.gaps.iter().map(ToString::to_string).collect();
        let notices: Vec<String> = self.report.notices.iter().map(ToString::to_string).collect();
        json!({
            "name": self.name.as_str(),
            "ledger": self.report.ledger.map(|id| id.to_string()),
            "generation": self.report.generation.map(|generation| generation.0),
            "generations": generations::to_json(self.report),
            "verdict": self.verdict_text(),
            "exitCode": self.verdict().exit_code(),
            "bytes": bytes,
            "segments": segments,
            "releasedSegments": self.report.released_segments,
            "archives": self.report.archives.map(archives_json),
            "blankSegments": self.report.blank_segments,
            "otherFiles": self.report.other_files,
            "frames": frames,
            "events": events,
            "signatures": signatures,
            "elapsedMs": u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            "eventsPerSecond": rate(*events, *elapsed),
            "bytesPerSecond": rate(*bytes, *elapsed),
            "firstTime": time(self.report.first_time),
            "lastTime": time(self.report.last_time),
            "head": head,
            "leaves": leaves,
            "treeHeads": heads,
            "cosignedHeads": cosigned,
            "contents": contents,
            "coverage": coverage(self.report, self.every_signature).iter().map(CoverageRow::to_json).collect::<Vec<_>>(),
            "firstKey": self.report.first_key,
            "integrity": self.integrity(),
            "assurance": assurance::to_json(&self.report.assurance, self.report),
            "checked": self.checked(),
            "notProven": self.not_proven(),
            "fault": self.report.fault.as_ref().map(fault_json),
            "gaps": gaps,
            "notices": notices,
        })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |label: &str, text: String| lines.push(format!("{label:<11} {text}"));
        line(
            "ledger",
            self.report.ledger.map_or_else(|| self.name.to_string(), |id| format!("{} {id}", self.name)),
        );
        for (index, generation) in generations::lines(self.report).into_iter().enumerate() {
            line(if index == 0 { "generation" } else { "" }, generation);
        }
        line("read", self.counts());
        if let (Some(first), Some(last)) = (self.report.first_time, self.report.last_time) {
            line("times", format!("{} to {}", format_time(first), format_time(last)));
        }
        if let Some(head) = self.report.head {
            line("head", format!("position {}", head.position));
            line("", format!("hash {}", head.hash));
            line("", format!("root {}", head.tree_root));
        }
        let coverage = coverage(self.report, self.every_signature);
        for (index, row) in coverage.iter().enumerate() {
            line(if index == 0 { "coverage" } else { "" }, row.line());
        }
        for row in coverage.iter().filter(|_| self.explain) {
            line("proves", row.explanation());
        }
        if let Some(key) = &self.report.first_key {
            line("first key", key.clone());
        }
        line("integrity", self.integrity().to_owned());
        for (index, assured) in assurance::lines(&self.report.assurance, self.report).into_iter().enumerate()
        {
            line(if index == 0 { "assurance" } else { "" }, assured);
        }
        if self.holds() {
            for (index, checked) in self.checked().into_iter().enumerate() {
                line(if index == 0 { "checked" } else { "" }, checked);
            }
            for (index, not_proven) in self.not_proven().into_iter().enumerate() {
                line(if index == 0 { "not proven" } else { "" }, not_proven);
            }
        }
        for notice in &self.report.notices {
            line("notice", notice.to_string());
        }
        for gap in &self.report.gaps {
            line("incomplete", gap.to_string());
        }
        if let Some(fault) = &self.report.fault {
            line("fault", fault.to_string());
            line("remedy", fault.remedy().to_owned());
        }
        line("verdict", format!("{} (exit code {})", self.verdict_text(), self.verdict().exit_code()));
        lines
    }
}

impl ReportView<'_> {
    fn counts(&self) -> String {
        let Report { bytes, segments, frames, events, elapsed, blank_segments, other_files, .. } =
            self.report;
        let mut text = format!(
            "{bytes} bytes, {segments} segments, {frames} frames, {events} events in {:.3} s ({} events/s, {} MB/s)",
            elapsed.as_secs_f64(),
            rate(*events, *elapsed),
            rate(*bytes, *elapsed) / 1_000_000,
        );
        if *blank_segments > 0 {
            text.push_str(&format!(", {blank_segments} blank segments"));
        }
        if *other_files > 0 {
            text.push_str(&format!(", {other_files} other files not looked at"));
        }
        text
    }

    fn verdict_text(&self) -> &'static str {
        match self.report.verdict() {
            Verdict::Confirmed => "verified, by a key and a tree head that were brought",
            Verdict::Alone if !assurance::is_brought(&self.report.assurance) => {
                "verified, nothing external to compare with"
            }
            Verdict::Alone => "verified, but not by all that it takes from outside",
            Verdict::Diverged => "not the history that is remembered",
            Verdict::Invalid => "invalid",
            Verdict::Incomplete => "incomplete",
        }
    }

    /// Returns `true` if the folder's contents are valid.
    fn holds(&self) -> bool {
        matches!(self.report.verdict(), Verdict::Confirmed | Verdict::Alone)
    }

    /// Describes what the bytes of the folder prove by themselves.
    fn integrity(&self) -> &'static str {
        match self.report.verdict() {
            Verdict::Invalid => "broken: something is not what it must be",
            Verdict::Incomplete => "not known: something that had to be checked could not be",
            Verdict::Diverged if !self.report.gaps.is_empty() => {
                "not known: something that had to be checked could not be"
            }
            Verdict::Confirmed | Verdict::Alone | Verdict::Diverged => {
                "holds: all that is here fits together, under the keys of signing-keys.note"
            }
        }
    }

    /// Lists the claims that hold for the whole ledger; empty where something does not.
    fn checked(&self) -> Vec<String> {
        if !self.holds() {
            return Vec::new();
        }
        let signatures = self.report.signatures;
        let which = if self.every_signature { "every frame" } else { "the last frame of each segment" };
        let mut checked = vec![
            "every byte of every segment, under checksum and hash chain; positions, times and segments without a gap".to_owned(),
            format!("{signatures} signatures: certificates, footers and {which}, under the keys of signing-keys.note"),
        ];
        if let Some(leaves) = self.report.leaves.as_ref().filter(|leaves| leaves.events > 0) {
            checked.push(format!(
                "the leaves of {} events beside the segments: with the times of their frames, they make the tree root in each",
                leaves.events
            ));
        }
        if let Some(heads) = self.report.heads.filter(|heads| heads.heads > 0) {
            checked.push(format!(
                "{} signed tree heads, the last of size {}: of roots that frames state, {} of them tied to the stored bytes",
                heads.heads, heads.last_size, heads.events
            ));
        }
        if let Some(cosigned) = self.report.cosigned.filter(|cosigned| cosigned.heads > 0) {
            checked.push(format!(
                "{} heads that witnesses are said to have cosigned: signed by the ledger, of roots that frames state; {} cosignatures of witnesses that you named",
                cosigned.heads, cosigned.cosignatures
            ));
        }
        if let Some(contents) = self.report.contents {
            checked.push(format!(
                "the contents of {} events in {} streams: opened, committed to, in the tree, versions without a gap",
                contents.events, contents.streams
            ));
            checked.push(format!("{} sealed parts opened", contents.parts.opened));
        }
        checked
    }

    /// Describes the events that no signed tree head covers.
    fn heads_not_there(&self) -> Option<String> {
        let (heads, last) = (self.report.heads?, self.report.head?.position);
        match last.saturating_sub(heads.last_size) {
            0 => None,
            _ if heads.heads == 0 => Some("anything by signed tree heads: none is there".to_owned()),
            behind => Some(format!(
                "the last {behind} events by a signed tree head: none covers them yet, or it is lost"
            )),
        }
    }

    /// Lists the claims that this run cannot prove.
    fn not_proven(&self) -> Vec<String> {
        let mut not_proven = Vec::new();
        if let Some(leaves) = &self.report.leaves {
            not_proven.extend(absent_lines(leaves));
        }
        match (self.report.contents, &self.report.leaves) {
            (None, None) => not_proven.push("contents, and the tree: --chain-only was given".to_owned()),
            (None, Some(_)) => not_proven
                .push("that contents match the commitments in the leaves: it needs --with-keys".to_owned()),
            (Some(contents), _) if contents.parts.without_key > 0 => not_proven.push(format!(
                "{} sealed parts: their subjects' keys are erased or elsewhere",
                contents.parts.without_key
            )),
            (Some(_), _) => {}
        }
        if generations::after_losses(self.report).any(|begun| begun.declared.is_none()) {
            let why = generations::why_unread(self.report);
            not_proven.push(format!("what was lost before a generation began: {why}"));
        }
        not_proven.extend(self.heads_not_there());
        not_proven.extend(assurance::not_proven(&self.report.assurance, self.report));
        not_proven
    }
}

fn archives_json(archives: ArchivesChecked) -> Value {
    json!({
        "manifests": archives.manifests,
        "last": archives.last.to_string(),
        "releasedThrough": archives.released_through.to_string(),
        "archives": archives.archives,
        "events": archives.events,
        "bytes": archives.bytes,
        "opened": archives.opened,
    })
}

fn heads_json(heads: &HeadsChecked) -> Value {
    let HeadsChecked { heads, events, segments_without, last_size } = heads;
    json!({
        "heads": heads,
        "events": events,
        "segmentsWithout": segments_without,
        "lastSize": last_size.to_string(),
    })
}

fn cosigned_json(cosigned: &CosignedChecked) -> Value {
    let CosignedChecked { heads, cosignatures, others, asked } = cosigned;
    json!({ "heads": heads, "cosignatures": cosignatures, "others": others, "asked": asked })
}

/// The most ranges of absent leaves that are shown to people one by one.
const SHOWN_RANGES: usize = 3;

fn absent_lines(leaves: &LeavesChecked) -> Vec<String> {
    let mut lines = Vec::new();
    for (first, last) in leaves.absent.iter().take(SHOWN_RANGES) {
        lines.push(format!(
            "leaves of positions {first} to {last}: not there, or not yet; opening the ledger with its keyring makes them again"
        ));
    }
    if leaves.absent.len() > SHOWN_RANGES {
        lines.push(format!("the leaves of {} events in all: not there", leaves.absent_events));
    }
    if leaves.bytes_ahead > 0 {
        lines.push(format!("{} bytes of leaves behind the last frame", leaves.bytes_ahead));
    }
    lines
}

fn leaves_json(leaves: &LeavesChecked) -> Value {
    let absent = |(first, last): &(u64, u64)| json!({ "firstPosition": first.to_string(), "lastPosition": last.to_string() });
    json!({
        "events": leaves.events,
        "absentEvents": leaves.absent_events,
        "absent": leaves.absent.iter().map(absent).collect::<Vec<_>>(),
        "bytesAhead": leaves.bytes_ahead,
    })
}

fn fault_json(fault: &Fault) -> Value {
    json!({
        "file": fault.file,
        "offset": fault.offset,
        "firstPosition": fault.first_position.to_string(),
        "lastPosition": fault.last_position.map(|position| position.to_string()),
        "what": fault.kind.to_string(),
        "torn": fault.torn,
        "remedy": fault.remedy(),
    })
}

fn rate(count: u64, elapsed: Duration) -> u64 {
    let nanos = elapsed.as_nanos().max(1);
    u64::try_from(u128::from(count) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
}
