//! The tally of an import, as far as it follows from the files alone.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use bitacora_vocabulary::{EventData, ImportAccepted, ImportBatch};
use sha2::{Digest, Sha256};

use super::batches::RecordLocation;
use super::event_draft::EventDraft;
use super::format::Format;
use super::json_text::JsonObject;
use super::mapped_events::MappedEvents;

/// The most lines listed in memory; a report on disk takes all.
const MAX_LISTED: usize = 10_000;
/// The most names that are counted one by one; the rest are counted under [`OTHERS`].
const MAX_NAMES: usize = 64;
const OTHERS: &str = "others";
/// The most files that the recorded event names; the digest over all covers the others.
const MAX_NAMED_SOURCES: usize = 1_000;
/// The stream of imports.
const STREAM: &str = "imports";

/// A line that made no event, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmappedLine {
    /// The place of the line.
    pub location: RecordLocation,
    /// The reason.
    pub reason: String,
}

/// The statistics of one file.
#[derive(Debug)]
pub struct SourceStatistics {
    /// The file's name.
    pub name: String,
    /// The file's format, if it was detected.
    pub format: Option<Format>,
    /// The SHA-256 of the file, after decompression.
    pub sha256: [u8; 32],
    /// The size of the file, after decompression.
    pub bytes: u64,
    /// The number of its records.
    pub lines: u64,
    /// The number of events made of them.
    pub events: u64,
    /// The reason why it was not read to its end.
    pub fault: Option<String>,
}

/// Counts over all files.
#[derive(Debug)]
pub struct ImportTally {
    /// The files that were read.
    pub sources: Vec<SourceStatistics>,
    /// Lines that are not blank, or elements of arrays.
    pub records: u64,
    /// Bytes of the files, after decompression.
    pub bytes: u64,
    /// The number of events.
    pub events: u64,
    /// The number of events of each type.
    pub kinds: BTreeMap<String, u64>,
    /// The number of known records of each kind that makes no event.
    pub passed_over: BTreeMap<String, u64>,
    /// The number of calls without an outcome.
    pub without_outcome: u64,
    /// The number of lines that made no event.
    pub unmapped: u64,
    /// The first of those lines.
    pub listed: Vec<UnmappedLine>,
    /// The function that takes terminal control characters out of a text.
    printable: fn(&str) -> String,
    /// The writer of the report, which gets every line that made no event.
    pub report: Option<BufWriter<File>>,
}

impl ImportTally {
    /// Returns the tally of no file yet. `printable` takes terminal control characters out of texts of the files.
    pub fn new(printable: fn(&str) -> String, report: Option<BufWriter<File>>) -> Self {
        Self {
            sources: Vec::new(),
            records: 0,
            bytes: 0,
            events: 0,
            kinds: BTreeMap::new(),
            passed_over: BTreeMap::new(),
            without_outcome: 0,
            unmapped: 0,
            listed: Vec::new(),
            printable,
            report,
        }
    }

    /// Increments the count of a name.
    pub fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
        let name = if counts.len() < MAX_NAMES || counts.contains_key(name) { name } else { OTHERS };
        match counts.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                counts.insert(name.to_owned(), 1);
            }
        }
    }

    /// Takes in what a record was mapped to.
    pub(crate) fn add(&mut self, mapped: &MappedEvents) {
        self.without_outcome += mapped.without_outcome;
        if let Some(what) = &mapped.passed_over {
            Self::count(&mut self.passed_over, &(self.printable)(what));
        }
    }

    /// Lists a line that made no event.
    pub fn unmapped(&mut self, location: RecordLocation, reason: &str) -> io::Result<()> {
        self.unmapped += 1;
        let listed = UnmappedLine { location, reason: (self.printable)(reason) };
        if let Some(report) = &mut self.report {
            writeln!(report, "{}", listed.to_json())?;
        }
        if self.listed.len() < MAX_LISTED {
            self.listed.push(listed);
        }
        Ok(())
    }

    /// Returns the number of events of this type.
    pub fn kind(&self, kind: &str) -> u64 {
        self.kinds.get(kind).copied().unwrap_or_default()
    }

    /// Returns the event that records the import. It follows from the files and the mapping alone, so that it too is recorded once.
    pub fn event(&self, mapping: &str) -> EventDraft {
        let (digest, sources) = self.digest(mapping);
        let mut kinds = JsonObject::new();
        for (kind, count) in &self.kinds {
            kinds = kinds.raw(kind, count);
        }
        let counts = JsonObject::new()
            .raw("files", self.sources.len())
            .raw("lines", self.records)
            .raw("bytes", self.bytes)
            .raw("events", self.events)
            .raw("unmapped", self.unmapped)
            .raw("passed_over", self.passed_over.values().sum::<u64>())
            .raw("without_outcome", self.without_outcome)
            .raw("types", kinds.end())
            .end();
        let data = JsonObject::new()
            .text("digest", &digest)
            .text("mapping", mapping)
            .raw("counts", counts)
            .raw("sources", sources);
        own_event(format!("import-{digest}"), ImportBatch::KIND, data)
    }

    /// Returns the import's digest, which is its name.
    pub fn name(&self, mapping: &str) -> String {
        self.digest(mapping).0
    }

    /// Returns the event that lets the import count towards trust, once.
    pub fn acceptance(&self, mapping: &str) -> EventDraft {
        let (digest, _) = self.digest(mapping);
        let id = format!("import-{digest}-accepted");
        own_event(id, ImportAccepted::KIND, JsonObject::new().text("digest", &digest))
    }

    /// Returns the SHA-256 over the mapping and the description of each file; and the descriptions of the named files.
    fn digest(&self, mapping: &str) -> (String, String) {
        let mut digest = Sha256::new();
        digest.update(mapping.as_bytes());
        let mut sources = String::new();
        for (index, source) in self.sources.iter().enumerate() {
            let line = source.to_json();
            digest.update(line.as_bytes());
            if index < MAX_NAMED_SOURCES {
                sources.push(if index == 0 { '[' } else { ',' });
                sources.push_str(&line);
            }
        }
        sources.push_str(if sources.is_empty() { "[]" } else { "]" });
        (hex::encode(digest.finalize()), sources)
    }
}

/// Returns an event about the import itself.
fn own_event(id: String, kind: &'static str, data: JsonObject) -> EventDraft {
    EventDraft {
        id,
        source: "bitacora/import".to_owned(),
        kind: Cow::Borrowed(kind),
        stream: STREAM.to_owned(),
        data: data.end(),
        ..EventDraft::default()
    }
}

impl SourceStatistics {
    fn to_json(&self) -> String {
        JsonObject::new()
            .text("name", &self.name)
            .maybe("mapping", self.format.map(Format::mapping))
            .text("sha256", &hex::encode(self.sha256))
            .raw("bytes", self.bytes)
            .raw("lines", self.lines)
            .raw("events", self.events)
            .maybe("fault", self.fault.as_deref())
            .end()
    }
}

impl UnmappedLine {
    /// Returns the line as a JSON object of a report.
    pub fn to_json(&self) -> String {
        JsonObject::new()
            .text("file", &self.location.file)
            .raw("line", self.location.number)
            .text("reason", &self.reason)
            .end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_end_are_counted_together() {
        let mut counts = BTreeMap::new();
        for name in 0..3 * MAX_NAMES {
            ImportTally::count(&mut counts, &name.to_string());
        }
        assert_eq!((counts.len(), counts.values().sum::<u64>()), (MAX_NAMES + 1, 3 * MAX_NAMES as u64));
    }

    #[test]
    fn the_event_is_decided_by_files_and_mapping() {
        let source = |sha256| SourceStatistics {
            name: "f".into(),
            format: Some(Format::Actions),
            sha256,
            bytes: 5,
            lines: 1,
            events: 2,
            fault: None,
        };
        let tally = |sha256| ImportTally {
            sources: vec![source(sha256)],
            events: 2,
            ..ImportTally::new(str::to_owned, None)
        };
        assert_eq!(tally([1; 32]).event("m"), tally([1; 32]).event("m"));
        assert_ne!(tally([1; 32]).event("m").id, tally([2; 32]).event("m").id);
        assert_ne!(tally([1; 32]).event("m").id, tally([1; 32]).event("n").id);
        let data: serde_json::Value = serde_json::from_str(&tally([1; 32]).event("m").data).unwrap();
        assert_eq!((&data["sources"][0]["name"], &data["counts"]["events"]), (&"f".into(), &2.into()));
        assert!(
            serde_json::from_str::<serde_json::Value>(&ImportTally::new(str::to_owned, None).event("m").data)
                .is_ok()
        );
        let accepted = tally([1; 32]).acceptance("m");
        assert_eq!(
            (accepted.id, &*accepted.kind),
            (format!("{}-accepted", tally([1; 32]).event("m").id), "import.accepted")
        );
        assert_eq!(accepted.data, format!(r#"{{"digest":{}}}"#, data["digest"]));
    }
}
