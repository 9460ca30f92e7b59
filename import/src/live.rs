//! Transcripts of coding agents, read while they grow.
//!
//! A reader maps one line at a time and keeps what later lines refer to. The events are those of an import: their ids are
//! derived from the transcript alone, so a line that is read twice gives the same events.

mod codex;
mod gemini;

use serde::{Deserialize, Serialize};

use self::codex::CodexRollout;
use self::gemini::GeminiChat;
use super::event_draft::EventDraft;
use super::mapped_events::MappingRefusal;
use super::transcript::Transcript;

/// The form of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptForm {
    /// A session of Claude Code, or one of its subagents.
    ClaudeCode,
    /// A rollout of Codex.
    Codex,
    /// A chat of Gemini CLI.
    Gemini,
}

/// The facts in the beginning of a transcript that hold for all of its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptContext {
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The subagent whose transcript it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The folder that the session began in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// A line that no events can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct UnreadableLine {
    /// The reason.
    pub reason: String,
}

impl From<MappingRefusal> for UnreadableLine {
    fn from(refusal: MappingRefusal) -> Self {
        Self { reason: refusal.reason }
    }
}

/// A reader of one transcript.
pub struct LiveTranscript(Reader);

enum Reader {
    Claude(Box<Transcript>),
    Codex(CodexRollout),
    Gemini(GeminiChat),
}

impl LiveTranscript {
    /// Returns the reader of a transcript. `context` is that of an earlier reader which read up to the line that comes next.
    #[must_use]
    pub fn new(form: TranscriptForm, context: TranscriptContext) -> Self {
        Self(match form {
            TranscriptForm::ClaudeCode => Reader::Claude(Box::default()),
            TranscriptForm::Codex => Reader::Codex(CodexRollout::new(context)),
            TranscriptForm::Gemini => Reader::Gemini(GeminiChat::new(context)),
        })
    }

    /// Maps the next line.
    ///
    /// # Errors
    /// The line is not JSON, or lacks what its kind has. The reader goes on with the next one.
    pub fn line(&mut self, line: &[u8]) -> Result<Vec<EventDraft>, UnreadableLine> {
        Ok(match &mut self.0 {
            Reader::Claude(transcript) => transcript.map(line)?.events,
            Reader::Codex(rollout) => rollout.map(line)?,
            Reader::Gemini(chat) => chat.map(line)?,
        })
    }

    /// Returns the id of the answer that later lines may still continue.
    #[must_use]
    pub fn open_answer(&self) -> Option<&str> {
        match &self.0 {
            Reader::Claude(transcript) => transcript.open_answer(),
            Reader::Codex(_) | Reader::Gemini(_) => None,
        }
    }

    /// Returns `true` if the open answer's provider has ended it.
    #[must_use]
    pub fn has_ended_answer(&self) -> bool {
        match &self.0 {
            Reader::Claude(transcript) => transcript.has_ended_answer(),
            Reader::Codex(_) | Reader::Gemini(_) => false,
        }
    }

    /// Returns the event of the open answer, if its provider has ended it. Lines that only repeat it may follow.
    pub fn take_answer(&mut self) -> Option<EventDraft> {
        match &mut self.0 {
            Reader::Claude(transcript) => transcript.take_ended_answer(),
            Reader::Codex(_) | Reader::Gemini(_) => None,
        }
    }

    /// Returns what the lines so far said about all later ones.
    #[must_use]
    pub fn context(&self) -> TranscriptContext {
        match &self.0 {
            Reader::Claude(_) => TranscriptContext::default(),
            Reader::Codex(rollout) => rollout.context().clone(),
            Reader::Gemini(chat) => chat.context().clone(),
        }
    }
}

#[cfg(test)]
mod tests;
