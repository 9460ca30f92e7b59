//! One transcript that is followed: its tail, and what it showed that is not decided or recorded yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use bitacora_formats::{Micros, parse_time};
use bitacora_import::{EventDraft, LiveTranscript, TranscriptContext, TranscriptForm};

use crate::error::TranscriptFault;
use crate::evidence::{CallEnd, args_key, end_of, recordable, request_of};
use crate::limits::{LINES_TO_KNOW, MAX_OPEN_ANSWERS, MAX_OPEN_CALLS, UNFINISHED_AFTER};
use crate::positions::Position;
use crate::roots::at_micros;
use crate::tail::{TailNews, TranscriptTail, anchor_at, open};

/// A call that a transcript showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenCall {
    pub(crate) call: String,
    pub(crate) session: String,
    /// The subagent that made it.
    pub(crate) run: Option<String>,
    pub(crate) tool: String,
    /// The digest of tool and arguments, by which a call without an id of the gate is matched.
    pub(crate) args: blake3::Hash,
    /// The time at which the model asked for it, as the transcript says.
    pub(crate) time: String,
    /// The beginning of its line.
    pub(crate) at: u64,
    pub(crate) end: Option<CallEnd>,
    /// The time from which it is decided.
    pub(crate) due: Instant,
}

/// An answer of a model that a transcript showed.
#[derive(Debug, Clone)]
pub(crate) struct SeenAnswer {
    pub(crate) draft: EventDraft,
    /// The beginning of its first line.
    pub(crate) at: u64,
}

/// A transcript that is followed.
pub(crate) struct Followed {
    pub(crate) path: PathBuf,
    form: TranscriptForm,
    given: TranscriptContext,
    tail: TranscriptTail,
    reader: LiveTranscript,
    /// Calls that are not decided, by the beginning of their line and their place in it.
    pub(crate) calls: BTreeMap<(u64, usize), SeenCall>,
    pub(crate) answers: Vec<SeenAnswer>,
    /// The answer that later lines may continue: its id, and the beginning of its first line.
    open_answer: Option<(String, u64)>,
    lines: u64,
    is_known: bool,
    /// The time at which it last grew.
    pub(crate) grew: Instant,
    pub(crate) is_faulty: bool,
}

/// Now, by both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) steady: Instant,
    pub(crate) wall: SystemTime,
}

/// The rules for the calls of a transcript.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Nothing before it is asked about.
    pub(crate) since: SystemTime,
    /// The time that the gate has.
    pub(crate) grace: Duration,
}

impl Followed {
    pub(crate) fn new(path: PathBuf, form: TranscriptForm, given: TranscriptContext, now: Now) -> Self {
        Self {
            path,
            form,
            reader: LiveTranscript::new(form, given.clone()),
            given,
            tail: TranscriptTail::default(),
            calls: BTreeMap::new(),
            answers: Vec::new(),
            open_answer: None,
            lines: 0,
            is_known: false,
            grew: now.steady,
            is_faulty: false,
        }
    }

    /// Goes on behind the position of an earlier process.
    pub(crate) fn behind(self, position: &Position) -> Self {
        let Ok(anchor) = blake3::Hash::from_hex(&position.anchor) else { return self };
        let context = position.context.clone();
        Self {
            tail: TranscriptTail::behind(position.file, position.offset, anchor),
            reader: LiveTranscript::new(self.form, context.clone()),
            // The form was known then.
            is_known: true,
            ..self
        }
    }

    /// Reads what was added, and returns the number of bytes.
    pub(crate) fn read(&mut self, most: u64, rules: Rules, now: Now) -> (u64, Vec<TranscriptFault>) {
        if self.calls.len() >= MAX_OPEN_CALLS || self.answers.len() >= MAX_OPEN_ANSWERS {
            return (0, Vec::new());
        }
        match self.tail.look(&self.path, most) {
            Ok(look) => (look.bytes, self.take(look, rules, now)),
            Err(fault) => (0, vec![fault]),
        }
    }

    fn take(&mut self, look: TailNews, rules: Rules, now: Now) -> Vec<TranscriptFault> {
        let mut faults = Vec::new();
        if look.restarted {
            // What was seen before and is not decided may be gone: it is decided all the same, from memory.
            self.reader = LiveTranscript::new(self.form, self.given.clone());
            self.open_answer = None;
            faults.push(TranscriptFault::Rewritten);
        }
        if look.bytes > 0 {
            self.grew = now.steady;
        }
        for (at, line) in look.lines {
            let Some(line) = line else {
                faults.push(TranscriptFault::LongLine(at));
                continue;
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            self.lines = self.lines.saturating_add(1);
            match self.reader.line(&line) {
                Ok(drafts) => self.drafts(at, drafts, rules, now),
                Err(error) => faults.push(TranscriptFault::Line { at, why: error.to_string() }),
            }
        }
        if !self.is_known && self.lines >= LINES_TO_KNOW {
            faults.push(TranscriptFault::UnknownForm);
        }
        faults
    }

    fn drafts(&mut self, at: u64, drafts: Vec<EventDraft>, rules: Rules, now: Now) {
        let began = self.open_answer.as_ref().map(|(_, began)| *began);
        let open = self.reader.open_answer().map(str::to_owned);
        if self.open_answer.as_ref().map(|(id, _)| id) != open.as_ref() {
            self.open_answer = open.map(|id| (id, at));
        }
        self.is_known |= !drafts.is_empty() || self.open_answer.is_some();
        for (place, draft) in drafts.into_iter().enumerate() {
            match &*draft.kind {
                "tool.requested" => self.requested((at, place), &draft, rules, now),
                "tool.completed" | "tool.failed" | "tool.blocked" => self.ended(&draft, rules, now),
                "model.called" if happened(&draft).is_some_and(|time| time >= rules.since) => {
                    self.answers.push(SeenAnswer { draft, at: began.unwrap_or(at) });
                }
                _ => {}
            }
        }
    }

    fn requested(&mut self, at: (u64, usize), draft: &EventDraft, rules: Rules, now: Now) {
        let (Some(call), Some(session), Some(time)) = (&draft.call, &draft.session, happened(draft)) else {
            return;
        };
        let Some((tool, args)) = request_of(&draft.data) else { return };
        let call = recordable(call);
        if time < rules.since || self.calls.values().any(|seen| seen.call == call) {
            return;
        }
        let age = now.wall.duration_since(time).unwrap_or_default();
        let seen = SeenCall {
            call,
            session: recordable(session),
            run: draft.run.clone().or_else(|| subagent(draft)).map(|run| recordable(&run)),
            args: args_key(&tool, &args),
            tool,
            time: draft.time.clone().unwrap_or_default(),
            at: at.0,
            end: None,
            due: later(now.steady, UNFINISHED_AFTER, age),
        };
        self.calls.insert(at, seen);
    }

    fn ended(&mut self, draft: &EventDraft, rules: Rules, now: Now) {
        let Some(call) = draft.call.as_deref().map(recordable) else { return };
        let Some(seen) = self.calls.values_mut().find(|seen| seen.call == call && seen.end.is_none()) else {
            return;
        };
        let ended = happened(draft).unwrap_or(now.wall);
        let age = now.wall.duration_since(ended).unwrap_or_default();
        seen.end = Some(end_of(&seen.tool, &draft.data));
        seen.due = later(now.steady, rules.grace, age);
    }

    /// Takes the answer that nothing continued for the grace period.
    pub(crate) fn end_answer(&mut self, rules: Rules, now: Now) {
        if now.steady.duration_since(self.grew) < rules.grace || self.tail.has_more() {
            return;
        }
        let at = self.open_answer.as_ref().map(|(_, at)| *at);
        if let (Some(at), Some(draft)) = (at, self.reader.take_answer()) {
            self.open_answer = None;
            if happened(&draft).is_some_and(|time| time >= rules.since) {
                self.answers.push(SeenAnswer { draft, at });
            }
        }
    }

    /// Returns the position before which everything is decided and recorded.
    pub(crate) fn settled(&self) -> u64 {
        let calls = self.calls.keys().map(|(at, _)| *at);
        let answers = self.answers.iter().map(|answer| answer.at);
        let open = self.open_answer.iter().map(|(_, at)| *at);
        let earliest = calls.chain(answers).chain(open).min();
        earliest.unwrap_or_else(|| self.tail.offset()).min(self.tail.offset())
    }

    /// Returns the settled position for a later process; `None` where the file cannot be read or is another one by now.
    pub(crate) fn position(&self) -> Option<Position> {
        let (file, offset) = (self.tail.file()?, self.settled());
        let opened = open(&self.path).ok()?;
        let anchor = anchor_at(&opened, offset).ok()?.to_hex().to_string();
        // Looked at behind the anchor: one of other bytes than those that were read would hide them from a later process.
        if !self.tail.continues(&opened).ok()? {
            return None;
        }
        Some(Position { file, offset, anchor, context: self.reader.context() })
    }

    pub(crate) fn session(&self) -> Option<String> {
        self.reader.context().session.as_deref().map(recordable)
    }

    /// Drops what it showed, if its session began in another folder than the one that is connected.
    pub(crate) fn keep_of(&mut self, project: &Path) {
        if self.reader.context().cwd.is_some_and(|cwd| Path::new(&cwd) != project) {
            self.calls.clear();
            self.answers.clear();
        }
    }

    pub(crate) fn length(&self) -> u64 {
        self.tail.length()
    }

    /// Returns `true` if nothing waits, besides calls that have no result yet.
    pub(crate) fn is_settled(&self) -> bool {
        let has_ended_calls = self.calls.values().any(|call| call.end.is_some());
        !has_ended_calls
            && self.answers.is_empty()
            && !self.reader.has_ended_answer()
            && !self.tail.has_more()
    }

    /// Returns `true` if it can be let go: all of it is settled.
    pub(crate) fn is_done(&self) -> bool {
        self.calls.is_empty() && self.is_settled()
    }
}

/// Returns the path's last part, for evidence.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn happened(draft: &EventDraft) -> Option<SystemTime> {
    let Micros(micros) = parse_time(draft.time.as_deref()?).ok()?;
    Some(at_micros(micros))
}

/// Returns the subagent of a line of Claude Code, which is named in its agent.
fn subagent(draft: &EventDraft) -> Option<String> {
    let (_, subagent) = draft.agent.as_deref()?.split_once('/')?;
    Some(subagent.to_owned())
}

/// Returns the time at which something of this age is as old as that.
fn later(now: Instant, patience: Duration, age: Duration) -> Instant {
    now.checked_add(patience.saturating_sub(age)).unwrap_or(now)
}
