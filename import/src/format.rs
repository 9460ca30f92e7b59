//! The format of a file, detected from its first records, and the mapping for it.

use bitacora_formats::Micros;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::actions::Actions;
use super::cloud_events::CloudEvents;
use super::mapped_events::{MappedEvents, MappingRefusal};
use super::mapping::{LineMapper, LineMapping};
use super::runs::Runs;
use super::stored_events;
use super::transcript::Transcript;

/// The format of a file's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// One CloudEvent a line.
    Cloudevents,
    /// A transcript of Claude Code.
    ClaudeCode,
    /// One tool call of a coding agent's session a line, with its outcome.
    Actions,
    /// Labelled runs of an agent with the messages of each, as tau-bench writes them.
    Runs,
    /// One stored event of a ledger a line, as `export` writes it.
    Stored,
    /// Any JSON, mapped by `--type` and the flags beside it.
    Lines,
}

impl Format {
    /// Returns the mapping's name and version: events made by another version may differ.
    pub fn mapping(self) -> &'static str {
        match self {
            Self::Cloudevents => "cloudevents/2",
            Self::ClaudeCode => "claude-code/1",
            Self::Actions => "actions/1",
            Self::Runs => "runs/1",
            Self::Stored => "stored/1",
            Self::Lines => "lines/1",
        }
    }

    /// Detects the format of a record, by members that only its kind has; `None` where it could be any.
    pub fn of_record(record: &[u8]) -> Option<Self> {
        let Ok(marks) = serde_json::from_slice::<Marks>(record) else { return None };
        let Marks {
            specversion,
            call,
            tool,
            outcome,
            session_id,
            uuid,
            traj,
            reward,
            leaf_uuid,
            message_id,
            ..
        } = marks;
        if specversion.is_some() {
            Some(Self::Cloudevents)
        } else if marks.position.is_some() && marks.commitment.is_some() && marks.event.is_some() {
            Some(Self::Stored)
        } else if traj.is_some() && reward.is_some() {
            Some(Self::Runs)
        } else if call.is_some() && tool.is_some() && outcome.is_some() {
            Some(Self::Actions)
        } else if (session_id.is_some() && uuid.is_some()) || leaf_uuid.is_some() || message_id.is_some() {
            Some(Self::ClaudeCode)
        } else {
            None
        }
    }
}

/// The members that distinguish formats.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marks {
    specversion: Option<IgnoredAny>,
    position: Option<IgnoredAny>,
    commitment: Option<IgnoredAny>,
    event: Option<IgnoredAny>,
    call: Option<IgnoredAny>,
    tool: Option<IgnoredAny>,
    outcome: Option<IgnoredAny>,
    session_id: Option<IgnoredAny>,
    uuid: Option<IgnoredAny>,
    traj: Option<IgnoredAny>,
    reward: Option<IgnoredAny>,
    leaf_uuid: Option<IgnoredAny>,
    message_id: Option<IgnoredAny>,
}

/// The mapping of one file, with its memory of the lines before.
pub(crate) enum Mapper {
    CloudEvents(CloudEvents),
    Transcript(Box<Transcript>),
    Actions(Actions),
    Runs(Runs),
    Stored,
    Lines(Box<LineMapper>),
}

/// The result of a mapping: an event as it is sent, or drafts.
pub(crate) enum MappedRecord {
    Event(Vec<u8>),
    Drafts(MappedEvents),
}

impl Mapper {
    /// Returns the mapping of a file of this name.
    pub(crate) fn new(format: Format, file: &str, stream: Option<&str>, lines: &LineMapping) -> Self {
        match format {
            Format::Cloudevents => Self::CloudEvents(CloudEvents { stream: stream.map(str::to_owned) }),
            Format::ClaudeCode => Self::Transcript(Box::default()),
            Format::Actions => Self::Actions(Actions::default()),
            Format::Runs => Self::Runs(Runs::new(file)),
            Format::Stored => Self::Stored,
            Format::Lines => Self::Lines(Box::new(LineMapper::new(lines.clone(), file))),
        }
    }

    pub(crate) fn map(&mut self, record: &[u8], number: u64) -> Result<MappedRecord, MappingRefusal> {
        Ok(MappedRecord::Drafts(match self {
            Self::CloudEvents(events) => return events.map(record),
            Self::Stored => return stored_events::map(record),
            Self::Transcript(transcript) => transcript.map(record)?,
            Self::Actions(actions) => actions.map(record)?,
            Self::Runs(runs) => runs.map(record, number)?,
            Self::Lines(lines) => lines.map(record, number)?,
        }))
    }

    /// Returns the events that can be made only at the end of the file, given the current time.
    pub(crate) fn end(&mut self, now: Micros) -> MappedEvents {
        match self {
            Self::Transcript(transcript) => transcript.end(now),
            _ => MappedEvents::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_told_by_the_members_that_only_its_kind_has() {
        let of = |text: &str| Format::of_record(text.as_bytes());
        assert_eq!(
            of(r#"{"specversion":"1.0","call":"c","tool":"t","outcome":"ok"}"#),
            Some(Format::Cloudevents)
        );
        assert_eq!(of(r#"{"call":"c","tool":"t","outcome":"ok"}"#), Some(Format::Actions));
        assert_eq!(of(r#"{"position":"7","commitment":"c","event":{}}"#), Some(Format::Stored));
        assert_eq!(of(r#"{"sessionId":"s","uuid":"u","type":5}"#), Some(Format::ClaudeCode));
        assert_eq!(of(r#"{"type":"summary","leafUuid":"u"}"#), Some(Format::ClaudeCode));
        assert_eq!(of(r#"{"traj":[],"reward":0.0}"#), Some(Format::Runs));
        for other in ["{}", "[]", "7", "", "{\"call\":1", r#"{"uuid":1}"#] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
