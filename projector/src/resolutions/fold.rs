//! The fold of questions and answers into rows.

use bitacora_vocabulary::{ApprovalRequested, ApprovalResolved, EventData as _, Resolution};

use super::{AnsweredApproval, Answerer, ApprovalQuestion, WAIT_RANGES};
use crate::models::{FoldError, FoldEvent, Model, Rows};

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct ResolutionsModel;

/// Questions without an answer, by their ids.
const ASKED: u8 = 1;
/// Answers, by where they were given.
pub(super) const ANSWERED: u8 = 2;
/// The position of an approval's answer, by its id: the first word holds.
const ANSWER_OF: u8 = 3;
/// The answers of an actor, counted.
pub(super) const PERSON: u8 = 4;
/// Everybody who answered, by where they did first.
pub(super) const PEOPLE: u8 = 5;
/// Positions of an actor's answers.
pub(super) const BY_PERSON: u8 = 6;
/// Positions of answers to an agent's calls.
pub(super) const BY_AGENT: u8 = 7;
/// Positions of answers, by their word.
pub(super) const BY_WORD: u8 = 8;

impl Model for ResolutionsModel {
    fn name(&self) -> &'static str {
        "resolutions"
    }

    fn version(&self) -> u32 {
        2
    }

    fn leaving(&self) -> &'static [u8] {
        &[ANSWERED]
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[ApprovalRequested::KIND, ApprovalResolved::KIND]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        if event.record.kind == ApprovalRequested::KIND {
            let Some(asked) = event.data::<ApprovalRequested>()? else { return Ok(()) };
            let question = ApprovalQuestion {
                position: event.position.get(),
                time: event.time.0,
                about: asked.about,
                call: asked.call.to_string(),
                tool: asked.tool.to_string(),
                agent: asked.agent.map(|agent| agent.to_string()),
            };
            return Ok(rows.put(&rows.key(ASKED, &[&asked.approval]), &question)?);
        }
        let Some(said) = event.data::<ApprovalResolved>()? else { return Ok(()) };
        let answer_of = rows.key(ANSWER_OF, &[&said.approval]);
        if rows.row::<u64>(&answer_of)?.is_some() {
            return Ok(());
        }
        let asked = rows.key(ASKED, &[&said.approval]);
        let question = rows.row::<ApprovalQuestion>(&asked)?;
        if question.is_some() {
            rows.remove(&asked)?;
        }
        let answered = AnsweredApproval {
            approval: said.approval.to_string(),
            position: event.position.get(),
            time: event.time.0,
            resolution: said.resolution,
            by: said.by.to_string(),
            note: said.note.map(|note| note.to_string()),
            question,
        };
        rows.put(&answer_of, &answered.position)?;
        store(rows, &answered)
    }
}

fn store(rows: &mut Rows<'_>, answered: &AnsweredApproval) -> Result<(), FoldError> {
    let position = answered.position;
    rows.add(&rows.key(ANSWERED, &[]).at(position), answered)?;
    rows.post(rows.key(BY_PERSON, &[&answered.by]), position)?;
    rows.post(rows.key(BY_WORD, &[answered.resolution.as_str()]), position)?;
    if let Some(agent) = answered.question.as_ref().and_then(|question| question.agent.as_ref()) {
        rows.post(rows.key(BY_AGENT, &[agent]), position)?;
    }
    let key = rows.key(PERSON, &[&answered.by]);
    let mut person = match rows.row::<Answerer>(&key)? {
        Some(person) => person,
        None => {
            rows.add(&rows.key(PEOPLE, &[]).at(position), &answered.by)?;
            nobody(answered)
        }
    };
    count(&mut person, answered);
    Ok(rows.put(&key, &person)?)
}

fn nobody(answered: &AnsweredApproval) -> Answerer {
    Answerer {
        by: answered.by.clone(),
        approved: 0,
        rejected: 0,
        edited: 0,
        withdrawn: 0,
        expired: 0,
        first: answered.position,
        last: answered.position,
        longest: 0,
        waits: vec![0; WAIT_RANGES],
    }
}

fn count(person: &mut Answerer, answered: &AnsweredApproval) {
    let counted = match answered.resolution {
        Resolution::Approved => &mut person.approved,
        Resolution::Rejected => &mut person.rejected,
        Resolution::Edited => &mut person.edited,
        Resolution::Expired => &mut person.expired,
        Resolution::Withdrawn => &mut person.withdrawn,
    };
    *counted += 1;
    person.last = answered.position;
    if let Some(waited) = answered.waited() {
        person.longest = person.longest.max(waited);
        let seconds = waited / 1_000_000;
        let range = (u64::BITS - seconds.leading_zeros()) as usize;
        if let Some(count) = person.waits.get_mut(range.min(WAIT_RANGES - 1)) {
            *count += 1;
        }
    }
}
