//! Learning: the record of each dimension, the rules that it speaks for, people's answers, and their notes.
//!
//! Counts are those of the state that decides, by the same arithmetic; beside them stand positions to look at. Recordings made elsewhere
//! are kept apart, import by import, until they are accepted.

mod candidates;
mod fold;
mod programs;
mod suggestion;

use std::collections::BTreeMap;

use bitacora_api::{AnnotationAnswer, TagAnswer};
use bitacora_formats::{Micros, Position, format_time};
use bitacora_vocabulary::{
    AnnotationTarget, Dimension, SuggestionKind, SuggestionMade, TrustRecord, TrustRules,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ListPage;
use crate::models::{Model as _, ModelError, ReadModels, View};
pub use candidates::{
    BETTER_CALLS, BETTER_FAILURE_SHARE, BLOCK_FAILURES, BLOCK_REJECTIONS, CHEAPER_CALLS, CHEAPER_SHARE,
    PROMOTE_APPROVALS, PROMOTE_MAX_FAILURES, PROMOTE_SCORE, REVIEW_FAILURE_SHARE, REVIEW_OBSERVATIONS,
};
pub(crate) use fold::LearningModel;
pub use fold::MadeOf;
use fold::{
    ANNOTATIONS, ANNOTATIONS_ON, IMPORT_UNDER_WAY, IMPORTS, OWN, SHOWN, SPEAKING, SUGGESTION_PLACES,
    SUGGESTIONS, TAGS,
};
pub use suggestion::{Suggestion, SuggestionAnswer, SuggestionState};

/// The record of one dimension.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DimensionRecord {
    /// The dimension.
    pub dimension: Dimension,
    /// Its counts.
    pub record: TrustRecord,
    /// Outcomes that were observed, however the counts were set since.
    pub calls: u64,
    /// Those that went well, and passed the check after them where there was one.
    pub good: u64,
    /// Those that told what they cost.
    pub priced: u64,
    /// The cost of these together, micro-USD.
    pub cost_micro_usd: u128,
    /// The position at which an operator last set the counts.
    pub set_at: Option<u64>,
    /// The first positions of outcomes that went well.
    pub first_good: Vec<u64>,
    /// The last ones.
    pub last_good: Vec<u64>,
    /// The first positions of those that failed.
    pub first_bad: Vec<u64>,
    /// The last ones.
    pub last_bad: Vec<u64>,
    /// The first positions of those that a person rejected.
    pub first_rejected: Vec<u64>,
    /// The last ones.
    pub last_rejected: Vec<u64>,
}

/// An import that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFrom {
    /// Its digest.
    pub digest: String,
    /// The position of its end.
    pub position: u64,
    /// Since where it counts.
    pub accepted: Option<u64>,
}

/// A note beside the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// The position of the annotation.
    pub position: u64,
    /// The time of the annotation, microseconds since 1970.
    pub time: u64,
    /// The target that it is about.
    pub on: AnnotationTarget,
    /// The note.
    pub text: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The actor that wrote it.
    pub by: Option<String>,
}

impl From<Annotation> for AnnotationAnswer {
    fn from(annotation: Annotation) -> Self {
        Self {
            position: annotation.position.to_string(),
            time: format_time(Micros(annotation.time)),
            on: serde_json::to_value(&annotation.on).unwrap_or(Value::Null),
            text: annotation.text,
            tags: annotation.tags,
            by: annotation.by,
        }
    }
}

/// A tag of a dimension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The word.
    pub tag: String,
    /// Annotations that have it.
    pub count: u64,
    /// The last one's position.
    pub last: u64,
}

impl From<Tag> for TagAnswer {
    fn from(tag: Tag) -> Self {
        Self { tag: tag.tag, count: tag.count.to_string(), last: tag.last.to_string() }
    }
}

/// A suggestion that what was observed speaks for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// As it would be made.
    pub suggestion: SuggestionMade,
    /// `true` if it is to be made: it never was, or it was rejected when half as much spoke for it.
    pub is_new: bool,
    /// The position at which it was last made.
    pub last_made: Option<u64>,
}

/// Suggestions that hold now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// The candidates, blocks first and promotions last; within each kind the dimensions in their order.
    pub candidates: Vec<Candidate>,
    /// Every event up to here is in them.
    pub position: Position,
}

/// The suggestions of an import that does not count yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedCandidates {
    /// The import; `None` for what was brought by none that ended.
    pub import: Option<ImportedFrom>,
    /// The suggestions that it would speak for by itself.
    pub suggestions: Vec<SuggestionMade>,
}

/// A query of suggestions.
#[derive(Debug, Clone, Default)]
pub struct SuggestionQuery {
    /// Only those in this state.
    pub state: Option<SuggestionState>,
    /// Only those first made before this position.
    pub before: Option<Position>,
    /// At most so many, the newest first.
    pub limit: usize,
}

/// A query of annotations.
#[derive(Debug, Clone, Default)]
pub struct AnnotationQuery {
    /// Only those on this.
    pub on: Option<AnnotationTarget>,
    /// Only those before this position.
    pub before: Option<Position>,
    /// At most so many, the newest first.
    pub limit: usize,
}

impl ReadModels {
    /// Suggestions that what was observed here speaks for, by these rules of trust.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn candidates(&self, rules: &TrustRules) -> Result<Candidates, ModelError> {
        let view = self.view(LearningModel.name())?;
        let mut candidates = Vec::new();
        for suggestion in candidates::of(&shown(&view, OWN)?, rules) {
            let known = made(&view, suggestion.suggestion.as_str())?;
            let is_new = known.as_ref().is_none_or(|known| known.is_due_again(&suggestion));
            let last_made = known.map(|known| known.position);
            candidates.push(Candidate { suggestion, is_new, last_made });
        }
        Ok(Candidates { candidates, position: view.position() })
    }

    /// Returns the suggestions of imports that do not count yet, the last import first.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn imported_candidates(
        &self,
        rules: &TrustRules,
    ) -> Result<(Vec<ImportedCandidates>, Position), ModelError> {
        let view = self.view(LearningModel.name())?;
        let under_way = view.row::<u64>(&view.key(IMPORT_UNDER_WAY, &[]))?.unwrap_or(0);
        let imports = view.rows::<ImportedFrom>(view.key(IMPORTS, &[]), 0..=u64::MAX);
        let imports = imports.collect::<Result<BTreeMap<_, _>, _>>()?;
        let mut found = Vec::new();
        for number in (0..=under_way).rev() {
            let import = imports.get(&number).cloned();
            if import.as_ref().is_some_and(|import| import.accepted.is_some()) {
                continue;
            }
            let suggestions = candidates::of(&shown(&view, &fold::of_import(number))?, rules);
            if !suggestions.is_empty() {
                found.push(ImportedCandidates { import, suggestions });
            }
        }
        Ok((found, view.position()))
    }

    /// Suggestions that were made, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn suggestions(&self, query: &SuggestionQuery) -> Result<ListPage<Suggestion>, ModelError> {
        let view = self.view(LearningModel.name())?;
        let last = query.before.map_or(u64::MAX, |before| before.get() - 1);
        let rows = view.rows::<Suggestion>(view.key(SUGGESTIONS, &[]), 0..=last).rev();
        let rows = rows.map(|row| row.map(|(_, suggestion)| suggestion));
        let asked = rows.filter(|row| {
            let Ok(suggestion) = row else { return true };
            query.state.is_none_or(|state| state == suggestion.state)
        });
        ListPage::take(asked, query.limit, view.position())
    }

    /// The suggestion with this id.
    ///
    /// # Errors
    /// [`ModelError`] while it cannot be answered.
    pub fn suggestion(&self, id: &str) -> Result<(Option<Suggestion>, Position), ModelError> {
        let view = self.view(LearningModel.name())?;
        Ok((made(&view, id)?, view.position()))
    }

    /// Annotations, the newest first.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn annotations(&self, query: &AnnotationQuery) -> Result<ListPage<Annotation>, ModelError> {
        let view = self.view(LearningModel.name())?;
        let group = match &query.on {
            Some(on) => {
                let values = fold::target_values(on);
                view.key(ANNOTATIONS_ON, &values.iter().map(String::as_str).collect::<Vec<_>>())
            }
            None => view.key(ANNOTATIONS, &[]),
        };
        let last = query.before.map_or(u64::MAX, |before| before.get() - 1);
        let rows = view.rows(group, 0..=last).rev().map(|row| row.map(|(_, annotation)| annotation));
        ListPage::take(rows, query.limit, view.position())
    }

    /// The tags that a dimension was given, by how often and then by name.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn tags(&self, dimension: &Dimension) -> Result<Vec<Tag>, ModelError> {
        let view = self.view(LearningModel.name())?;
        let mut tags = view.row::<Vec<Tag>>(&view.key(TAGS, &dimension.every_part()))?.unwrap_or_default();
        tags.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.tag.cmp(&other.tag)));
        Ok(tags)
    }
}

/// Returns the records of those dimensions that may speak for a rule.
fn shown(view: &View, of: &str) -> Result<Vec<DimensionRecord>, ModelError> {
    let group = view.key(SHOWN, &[of]);
    let speaking = view.rows::<()>(view.key(SPEAKING, &[of]), 0..=u64::MAX);
    let shown =
        speaking.map(|row| row.and_then(|(number, ())| view.row::<DimensionRecord>(&group.at(number))));
    shown.filter_map(Result::transpose).collect()
}

fn made(view: &View, id: &str) -> Result<Option<Suggestion>, ModelError> {
    let place = view.row::<u64>(&view.key(SUGGESTION_PLACES, &[id]))?;
    place.map_or(Ok(None), |place| view.row(&view.key(SUGGESTIONS, &[]).at(place)))
}

/// The kinds of suggestions in the order in which they are told: urgent ones first.
pub(crate) const KINDS: [SuggestionKind; 5] = [
    SuggestionKind::Block,
    SuggestionKind::Review,
    SuggestionKind::BetterModel,
    SuggestionKind::CheaperModel,
    SuggestionKind::Promote,
];
