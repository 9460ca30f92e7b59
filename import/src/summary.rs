//! An import's summary: lines for people, one JSON object for programs.

use std::time::Duration;

use bitacora_formats::printable;
use serde_json::{Value, json};

use super::batches::RecordLocation;
use super::format::Format;
use super::lane::RejectedEvent;
use super::tally::ImportTally;
use super::totals::ImportTotals;

/// The most lines without an event, and rejected events, that are shown to people.
const SHOWN: usize = 10;

/// The contents of the summary.
pub struct ImportSummary<'a> {
    /// The tally of the files; `None` after an interruption.
    pub tally: Option<&'a ImportTally>,
    /// The ledger's answers.
    pub landed: &'a ImportTotals,
    /// The duration.
    pub elapsed: Duration,
    /// The file of the report.
    pub report: Option<String>,
}

/// Returns the failure of the import. Files that could not be read are a failure; files of an unknown format only where
/// nothing else was imported.
#[must_use]
pub fn fault(tally: &ImportTally) -> Option<String> {
    let faulty = || tally.sources.iter().filter_map(|source| Some((source, source.fault.as_ref()?)));
    let counts =
        faulty().any(|(source, _)| source.format.is_some() || source.bytes == 0) || tally.events == 0;
    let (first, why) = faulty().next().filter(|_| counts)?;
    let more = match faulty().count() - 1 {
        0 => String::new(),
        more => format!(" (and {more} files more)"),
    };
    Some(printable(&format!("{}: {why}{more}", first.name)))
}

impl ImportSummary<'_> {
    /// Returns the summary as an object for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let ImportTotals { created, duplicates, derived, rejected, requests, sent_bytes, retries, .. } =
            self.landed;
        let mut told = json!({
            "events": created + duplicates,
            "created": created,
            "duplicates": duplicates,
            "derived": derived,
            "rejected": {
                "count": rejected,
                "differing": self.landed.differing,
                "listed": self.landed.rejected_listed.iter().map(rejected_json).collect::<Vec<_>>(),
            },
            "requests": requests,
            "sentBytes": sent_bytes,
            "retries": retries,
            "unheard": self.landed.unheard,
            "storedBytes": self.landed.stored,
            "digest": self.landed.digest,
            "recorded": self.landed.recorded,
            "accepted": self.landed.accepted,
            "head": self.landed.head.as_ref().map(|(position, hash)| json!({"position": position, "hash": hash})),
            "elapsedMs": u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
        });
        if let (Some(tally), Some(members)) = (self.tally, told.as_object_mut()) {
            let files = tally.sources.iter().map(|source| {
                json!({
                    "name": source.name, "mapping": source.format.map(Format::mapping),
                    "sha256": hex::encode(source.sha256), "bytes": source.bytes, "lines": source.lines,
                    "events": source.events, "fault": source.fault,
                })
            });
            let listed: Vec<Value> =
                tally.listed.iter().map(|listed| line_json(&listed.location, &listed.reason)).collect();
            members.insert("files".to_owned(), files.collect());
            members.insert("lines".to_owned(), tally.records.into());
            members.insert("bytes".to_owned(), tally.bytes.into());
            members.insert("types".to_owned(), json!(tally.kinds));
            members.insert("withoutOutcome".to_owned(), tally.without_outcome.into());
            members.insert("passedOver".to_owned(), json!(tally.passed_over));
            members.insert("unmapped".to_owned(), json!({"count": tally.unmapped, "listed": listed}));
        }
        told
    }

    /// Returns the summary as lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |label: &str, text: String| lines.push(format!("{label:<11} {text}"));
        let ImportTotals { created, duplicates, rejected, differing, derived, .. } = self.landed;
        if let Some(tally) = self.tally {
            line("read", self.read(tally));
        }
        let seconds = self.elapsed.as_secs_f64();
        let per_second = (created + duplicates) as f64 / seconds.max(0.001);
        let mut text =
            format!("{created} new, {duplicates} were there before, in {seconds:.1} s ({per_second:.0}/s)");
        if *differing > 0 {
            text.push_str(&format!(", {differing} were there before with other content"));
        }
        if rejected > differing {
            text.push_str(&format!(", {} rejected", rejected - differing));
        }
        // Repeated events have their first answers, with the events derived then.
        if *derived > 0 && *created > 0 {
            text.push_str(&format!(", {derived} derived"));
        }
        if self.landed.unheard {
            text.push_str("; of requests under way nothing was heard any more, they may be recorded too");
        }
        line("events", text);
        if let Some(tally) = self.tally {
            for (label, text) in about(tally) {
                line(label, text);
            }
        }
        for rejected in self.landed.rejected_listed.iter().take(SHOWN) {
            let RejectedEvent { location, id, reason, .. } = rejected;
            line("  rejected", printable(&format!("{}:{} {id}: {reason}", location.file, location.number)));
        }
        if let Some(since) = &self.landed.counts_since {
            line("trust", format!("this import counts since position {since}"));
        } else if self.landed.accepted {
            line("trust", "this import counts from here on".to_owned());
        } else if let (Some(digest), true) =
            (&self.landed.digest, self.landed.recorded && self.has_outcomes())
        {
            line("trust", format!("counts once it is accepted: see `bitacora imports show {digest}`"));
        }
        if let Some(stored) = self.landed.stored {
            line("stored", format!("{stored} bytes for {} bytes of events", self.landed.sent_bytes));
        }
        if let Some((position, hash)) = &self.landed.head {
            line("head", format!("position {position}, hash {hash}"));
        }
        if let Some(report) = &self.report {
            line("report", report.clone());
        }
        lines
    }

    /// Returns `true` if any call of it has an outcome that could count.
    fn has_outcomes(&self) -> bool {
        let ends = ["tool.completed", "tool.failed", "tool.blocked"];
        self.tally.is_none_or(|tally| ends.iter().any(|kind| tally.kind(kind) > 0))
    }

    fn read(&self, tally: &ImportTally) -> String {
        let (files, records, bytes) = (tally.sources.len(), tally.records, tally.bytes);
        format!("{files} files, {records} lines, {bytes} bytes")
    }
}

/// Describes the contents of the files, a label and a text each.
fn about(tally: &ImportTally) -> Vec<(&'static str, String)> {
    let mut about = Vec::new();
    let requested = tally.kind("tool.requested");
    if requested > 0 {
        let (completed, failed) = (tally.kind("tool.completed"), tally.kind("tool.failed"));
        let (blocked, without) = (tally.kind("tool.blocked"), tally.without_outcome);
        about.push((
            "calls",
            format!("{requested}: {completed} completed, {failed} failed, {blocked} blocked, {without} without outcome"),
        ));
    }
    if !tally.passed_over.is_empty() {
        let names: Vec<String> =
            tally.passed_over.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let count: u64 = tally.passed_over.values().sum();
        about.push(("no event", format!("{count} lines: {}", names.join(", "))));
    }
    let faulty = tally.sources.iter().filter_map(|source| Some((source, source.fault.as_ref()?)));
    for (source, fault) in faulty.take(SHOWN) {
        about.push(("not read", printable(&format!("{}: {fault}", source.name))));
    }
    if tally.unmapped > 0 {
        about.push(("unmapped", format!("{} lines", tally.unmapped)));
    }
    for listed in tally.listed.iter().take(SHOWN) {
        let RecordLocation { file, number } = &listed.location;
        about.push(("  unmapped", format!("{}:{number}: {}", printable(file), listed.reason)));
    }
    if tally.unmapped > SHOWN as u64 {
        about.push((
            "",
            format!("and {} more; --report FILE writes all of them", tally.unmapped - SHOWN as u64),
        ));
    }
    about
}

fn rejected_json(rejected: &RejectedEvent) -> Value {
    let RejectedEvent { location: RecordLocation { file, number }, id, code, reason } = rejected;
    json!({"file": &**file, "line": number, "id": id, "code": code, "reason": reason})
}

fn line_json(location: &RecordLocation, reason: &str) -> Value {
    json!({"file": &*location.file, "line": location.number, "reason": reason})
}
