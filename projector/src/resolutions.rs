//! Answered approvals: the answer, the person, and the waiting time.

mod fold;

use std::ops::RangeInclusive;

use bitacora_api::{AnsweredAnswer, AnswererAnswer};
use bitacora_formats::{Micros, Position, format_time};
use bitacora_vocabulary::{ApprovalAbout, Resolution};
use serde::{Deserialize, Serialize};

use crate::ListPage;
use crate::models::{Model as _, ModelError, ReadModels, View};
pub(crate) use fold::ResolutionsModel;
use fold::{ANSWERED, BY_AGENT, BY_PERSON, BY_WORD, PERSON};

/// Ranges of time that waits are counted in: the last one holds all that were longer.
pub const WAIT_RANGES: usize = 40;

/// An approval that was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredApproval {
    /// Its id.
    pub approval: String,
    /// The position of the answer.
    pub position: u64,
    /// The time of the answer, microseconds since 1970.
    pub time: u64,
    /// The answer.
    pub resolution: Resolution,
    /// The actor that answered.
    pub by: String,
    /// In their words.
    pub note: Option<String>,
    /// The question; `None` if it is not recorded.
    pub question: Option<ApprovalQuestion>,
}

/// The question of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalQuestion {
    /// The position of the request for approval.
    pub position: u64,
    /// The time of that, microseconds since 1970.
    pub time: u64,
    /// The subject of a yes.
    pub about: ApprovalAbout,
    /// The call that asked first.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The agent of the call.
    pub agent: Option<String>,
}

impl AnsweredApproval {
    /// Returns the time that somebody waited for it, microseconds.
    #[must_use]
    pub fn waited(&self) -> Option<u64> {
        self.question.as_ref().map(|question| self.time.saturating_sub(question.time))
    }
}

impl From<AnsweredApproval> for AnsweredAnswer {
    fn from(answered: AnsweredApproval) -> Self {
        let waited_ms = answered.waited().map(|waited| waited / MILLISECOND);
        let AnsweredApproval { approval, position, time, resolution, by, note, question } = answered;
        let about = |about| match about {
            ApprovalAbout::Call => "call".to_owned(),
            ApprovalAbout::Rollback => "rollback".to_owned(),
        };
        Self {
            approval,
            position: position.to_string(),
            time: format_time(Micros(time)),
            resolution: resolution.as_str().to_owned(),
            by,
            note,
            waited_ms,
            asked_at: question.as_ref().map(|question| question.position.to_string()),
            about: question.as_ref().map(|question| about(question.about)),
            call: question.as_ref().map(|question| question.call.clone()),
            agent: question.as_ref().and_then(|question| question.agent.clone()),
            tool: question.map(|question| question.tool),
        }
    }
}

/// Microseconds of a second.
const SECOND: u64 = 1_000_000;
/// Microseconds of a millisecond.
const MILLISECOND: u64 = 1_000;

/// The answers of one actor, counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answerer {
    /// The actor of the answers.
    pub by: String,
    /// Calls they let run.
    pub approved: u64,
    /// Calls they did not.
    pub rejected: u64,
    /// Calls they let run with other arguments.
    pub edited: u64,
    /// Questions they took back.
    pub withdrawn: u64,
    /// Those that nobody answered in time; the scheduler says so.
    pub expired: u64,
    /// The first of these answers.
    pub first: u64,
    /// The last.
    pub last: u64,
    /// The longest that somebody waited, microseconds.
    pub longest: u64,
    /// The number of answers that took less than 2^n seconds and not less than half of that, from n = 0 on.
    pub waits: Vec<u64>,
}

impl Answerer {
    /// All of them.
    #[must_use]
    pub fn answers(&self) -> u64 {
        let Self { approved, rejected, edited, withdrawn, expired, .. } = self;
        approved + rejected + edited + withdrawn + expired
    }

    /// Within how many seconds half of those whose wait is known were answered: a power of two, or the longest wait where that is
    /// less.
    #[must_use]
    pub fn half_within(&self) -> Option<u64> {
        let all: u64 = self.waits.iter().sum();
        let mut seen = 0;
        let half = self.waits.iter().position(|count| {
            seen += count;
            all > 0 && seen * 2 >= all
        })?;
        let longest = self.longest.div_ceil(SECOND).max(1);
        Some((1 << half).min(longest))
    }
}

impl From<Answerer> for AnswererAnswer {
    fn from(person: Answerer) -> Self {
        let half_within_s = person.half_within();
        let Answerer { by, approved, rejected, edited, withdrawn, expired, first, last, longest, .. } =
            person;
        Self {
            by,
            approved,
            rejected,
            edited,
            withdrawn,
            expired,
            half_within_s,
            longest_ms: longest / MILLISECOND,
            first: first.to_string(),
            last: last.to_string(),
        }
    }
}

/// A query of answers.
#[derive(Debug, Clone, Default)]
pub struct AnsweredApprovalQuery {
    /// Only what this actor said.
    pub by: Option<String>,
    /// Only about calls of this agent.
    pub agent: Option<String>,
    /// Only this word.
    pub resolution: Option<Resolution>,
    /// Only those before this position.
    pub before: Option<Position>,
    /// At most so many, the newest first.
    pub limit: usize,
}

impl ReadModels {
    /// Answered approvals, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn answered(&self, query: &AnsweredApprovalQuery) -> Result<ListPage<AnsweredApproval>, ModelError> {
        let view = self.view(ResolutionsModel.name())?;
        let range = 0..=query.before.map_or(u64::MAX, |before| before.get() - 1);
        let fits = |answered: &AnsweredApproval| {
            let agent = answered.question.as_ref().and_then(|question| question.agent.as_ref());
            query.by.as_ref().is_none_or(|by| *by == answered.by)
                && (query.agent.is_none() || agent == query.agent.as_ref())
                && query.resolution.is_none_or(|resolution| resolution == answered.resolution)
        };
        let found = candidates(&view, query, range);
        let found = found.filter(|answered| answered.as_ref().map_or(true, &fits));
        ListPage::take(found, query.limit, view.position())
    }

    /// Everybody who has answered, by their names, past `after`.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn answerers(&self, after: u64, limit: usize) -> Result<ListPage<Answerer>, ModelError> {
        let view = self.view(ResolutionsModel.name())?;
        let rows = view.rows::<String>(view.key(fold::PEOPLE, &[]), after.saturating_add(1)..=u64::MAX);
        let people = rows.filter_map(|row| {
            let person = row.and_then(|(_, by)| view.row(&view.key(PERSON, &[&by])));
            person.transpose()
        });
        ListPage::take(people, limit, view.position())
    }
}

type Candidates<'v> = Box<dyn Iterator<Item = Result<AnsweredApproval, ModelError>> + 'v>;

/// By the rarest label that is asked for, about.
fn candidates<'v>(
    view: &'v View,
    query: &AnsweredApprovalQuery,
    range: RangeInclusive<u64>,
) -> Candidates<'v> {
    let posted = match (&query.by, &query.agent, query.resolution) {
        (_, Some(agent), _) => view.key(BY_AGENT, &[agent]),
        (Some(by), None, _) => view.key(BY_PERSON, &[by]),
        (None, None, Some(resolution)) => view.key(BY_WORD, &[resolution.as_str()]),
        (None, None, None) => {
            let rows = view.rows(view.key(ANSWERED, &[]), range).rev();
            return Box::new(rows.map(|row| row.map(|(_, answered)| answered)));
        }
    };
    Box::new(view.posted(posted, range).filter_map(move |position| {
        position.and_then(|position| view.row(&view.key(ANSWERED, &[]).at(position))).transpose()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_all_waits_are_within_a_power_of_two_of_seconds() {
        let mut one = Answerer {
            by: "operator:1".to_owned(),
            approved: 3,
            rejected: 1,
            edited: 0,
            withdrawn: 0,
            expired: 0,
            first: 1,
            last: 9,
            longest: 700_000_000,
            waits: vec![0; WAIT_RANGES],
        };
        assert_eq!((one.answers(), one.half_within()), (4, None));
        one.waits[3] = 1;
        assert_eq!(one.half_within(), Some(8));
        (one.waits[0], one.waits[10]) = (1, 2);
        assert_eq!(one.half_within(), Some(8));
        one.waits[20] = 3;
        assert_eq!(one.half_within(), Some(700));
        (one.waits[0], one.longest) = (9, 1);
        assert_eq!(one.half_within(), Some(1));
    }
}
