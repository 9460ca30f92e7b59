//! The fold of events into what was learned.

use bitacora_vocabulary::{
    AnnotationAdded, AnnotationTarget, Count, Dimension, EventData as _, ImportAccepted, ImportBatch,
    SuggestionAccepted, SuggestionMade, SuggestionRejected, TrustObserved, TrustOutcome, TrustSet,
};
use serde::{Deserialize, Serialize};

use super::{Annotation, DimensionRecord, ImportedFrom, Suggestion, SuggestionAnswer, SuggestionState, Tag};
use crate::limits::{EVIDENCE_FIRST, EVIDENCE_LAST, MAX_DIMENSION_TAGS};
use crate::models::{FoldError, FoldEvent, Model, RowKey, Rows};

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct LearningModel;

/// Records of dimensions, by their owner: a number each, in the order in which they were first seen.
pub(super) const SHOWN: u8 = 1;
/// The number of a dimension there.
const NUMBERS: u8 = 2;
/// The number of such records.
const COUNTS: u8 = 3;
/// Imports that ended, by their number.
pub(super) const IMPORTS: u8 = 4;
/// The number of an import.
const IMPORT_NUMBERS: u8 = 5;
/// The number of the import that is under way.
pub(super) const IMPORT_UNDER_WAY: u8 = 6;
/// Suggestions, by where they were first made.
pub(super) const SUGGESTIONS: u8 = 7;
/// The position at which a suggestion was first made.
pub(super) const SUGGESTION_PLACES: u8 = 8;
/// All annotations, by position.
pub(super) const ANNOTATIONS: u8 = 9;
/// Those of one target.
pub(super) const ANNOTATIONS_ON: u8 = 10;
/// The tags that people gave a dimension.
pub(super) const TAGS: u8 = 11;
/// The numbers of those dimensions that may speak for a rule, so that nobody has to look at all of them.
pub(super) const SPEAKING: u8 = 12;

/// Begins the name of an agent's token, where events name who acts.
const AGENT: &str = "agent:";

/// The owner of observations made here.
pub(super) const OWN: &str = "own";

/// Returns the owner of an import's observations, by its number.
pub(super) fn of_import(number: u64) -> String {
    format!("import {number}")
}

/// Returns the key values that an annotation is found by.
pub(super) fn target_values(on: &AnnotationTarget) -> Vec<String> {
    match on {
        AnnotationTarget::Position(position) => vec!["position".to_owned(), position.get().to_string()],
        AnnotationTarget::Call(call) => vec!["call".to_owned(), call.to_string()],
        AnnotationTarget::Dimension(dimension) => {
            ["dimension"].into_iter().chain(dimension.every_part()).map(str::to_owned).collect()
        }
    }
}

impl Model for LearningModel {
    fn name(&self) -> &'static str {
        "learned"
    }

    fn version(&self) -> u32 {
        5
    }

    fn leaving(&self) -> &'static [u8] {
        &[ANNOTATIONS, ANNOTATIONS_ON]
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[
            TrustObserved::KIND,
            TrustSet::KIND,
            ImportBatch::KIND,
            ImportAccepted::KIND,
            SuggestionMade::KIND,
            SuggestionAccepted::KIND,
            SuggestionRejected::KIND,
            AnnotationAdded::KIND,
        ]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        match &*event.record.kind {
            TrustObserved::KIND => observed(event, rows),
            TrustSet::KIND => set(event, rows),
            ImportBatch::KIND => import_ended(event, rows),
            ImportAccepted::KIND => import_accepted(event, rows),
            SuggestionMade::KIND => made(event, rows),
            SuggestionAccepted::KIND => accepted(event, rows),
            SuggestionRejected::KIND => rejected(event, rows),
            _ => annotated(event, rows),
        }
    }
}

fn observed(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.observed()? else { return Ok(()) };
    let of = match payload.assurance {
        Some(_) => of_import(under_way(rows)?),
        None => OWN.to_owned(),
    };
    let (place, mut shown) = shown(rows, &of, &payload.dimension)?;
    let time = event.happened(payload.assurance);
    shown.record.apply_outcome(payload.outcome, payload.post_check_passed, time);
    let went_well = matches!(payload.outcome, TrustOutcome::Approved | TrustOutcome::AutoApproved)
        && payload.post_check_passed != Some(false);
    shown.calls += 1;
    if let Some(cost) = payload.cost_micro_usd {
        shown.priced += 1;
        shown.cost_micro_usd += u128::from(cost);
    }
    let position = event.position.get();
    if went_well {
        shown.good += 1;
        note(&mut shown.first_good, &mut shown.last_good, position);
    } else if payload.outcome == TrustOutcome::Rejected {
        note(&mut shown.first_rejected, &mut shown.last_rejected, position);
    } else {
        note(&mut shown.first_bad, &mut shown.last_bad, position);
    }
    place.put(rows, &shown)
}

/// Remembers a position among the first ones, and behind these among the last.
fn note(first: &mut Vec<u64>, last: &mut Vec<u64>, position: u64) {
    if first.len() < EVIDENCE_FIRST {
        return first.push(position);
    }
    last.push(position);
    keep_last(last);
}

fn keep_last(positions: &mut Vec<u64>) {
    positions.drain(..positions.len().saturating_sub(EVIDENCE_LAST));
}

fn set(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<TrustSet>()? else { return Ok(()) };
    let (place, mut shown) = shown(rows, OWN, &payload.dimension)?;
    shown.record.apply_set(&payload, event.time);
    // An operator's word takes the place of what was seen; the costs of models stay.
    for positions in [
        &mut shown.first_good,
        &mut shown.last_good,
        &mut shown.first_bad,
        &mut shown.last_bad,
        &mut shown.first_rejected,
        &mut shown.last_rejected,
    ] {
        positions.clear();
    }
    shown.set_at = Some(event.position.get());
    place.put(rows, &shown)
}

fn import_ended(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<ImportBatch>()? else { return Ok(()) };
    let known = rows.key(IMPORT_NUMBERS, &[payload.digest.as_str()]);
    // As the state that decides has it: what the same import brings again is the next one's.
    if rows.row::<u64>(&known)?.is_some() {
        return Ok(());
    }
    let number = under_way(rows)?;
    rows.put(&known, &number)?;
    let import = ImportedFrom {
        digest: payload.digest.as_str().to_owned(),
        position: event.position.get(),
        accepted: None,
    };
    rows.put(&rows.key(IMPORTS, &[]).at(number), &import)?;
    rows.put(&rows.key(IMPORT_UNDER_WAY, &[]), &(number + 1))?;
    Ok(())
}

fn import_accepted(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<ImportAccepted>()? else { return Ok(()) };
    let known = rows.key(IMPORT_NUMBERS, &[payload.digest.as_str()]);
    let Some(number) = rows.row::<u64>(&known)? else { return Ok(()) };
    let key = rows.key(IMPORTS, &[]).at(number);
    let Some(mut import) = rows.row::<ImportedFrom>(&key)?.filter(|import| import.accepted.is_none()) else {
        return Ok(());
    };
    import.accepted = Some(event.position.get());
    rows.put(&key, &import)?;
    let of = of_import(number);
    let group = rows.key(SHOWN, &[&of]);
    for index in 0..rows.row::<u64>(&rows.key(COUNTS, &[&of]))?.unwrap_or(0) {
        let Some(earlier) = rows.row::<DimensionRecord>(&group.at(index))? else { continue };
        let (place, mut own) = shown(rows, OWN, &earlier.dimension)?;
        own.put_behind(earlier);
        place.put(rows, &own)?;
    }
    Ok(())
}

impl DimensionRecord {
    /// Counts what happened before everything that is counted here.
    fn put_behind(&mut self, earlier: Self) {
        self.record.apply_earlier(&earlier.record);
        self.calls += earlier.calls;
        self.good += earlier.good;
        self.priced += earlier.priced;
        self.cost_micro_usd += earlier.cost_micro_usd;
        put_behind((&mut self.first_good, &mut self.last_good), (earlier.first_good, earlier.last_good));
        put_behind((&mut self.first_bad, &mut self.last_bad), (earlier.first_bad, earlier.last_bad));
        put_behind(
            (&mut self.first_rejected, &mut self.last_rejected),
            (earlier.first_rejected, earlier.last_rejected),
        );
    }
}

fn put_behind((first, last): (&mut Vec<u64>, &mut Vec<u64>), earlier: (Vec<u64>, Vec<u64>)) {
    let (mut all, behind) = earlier;
    all.extend(behind);
    all.append(first);
    all.append(last);
    let mut rest = all.split_off(all.len().min(EVIDENCE_FIRST));
    keep_last(&mut rest);
    (*first, *last) = (all, rest);
}

/// The number of the import that is under way.
fn under_way(rows: &mut Rows<'_>) -> Result<u64, FoldError> {
    Ok(rows.row::<u64>(&rows.key(IMPORT_UNDER_WAY, &[]))?.unwrap_or(0))
}

/// The keys of a dimension's record.
struct DimensionKeys {
    shown: RowKey,
    /// The key of the note that it may speak for a rule.
    speaking: RowKey,
    spoke: bool,
}

impl DimensionKeys {
    fn put(&self, rows: &mut Rows<'_>, shown: &DimensionRecord) -> Result<(), FoldError> {
        rows.put(&self.shown, shown)?;
        match (self.spoke, shown.may_speak()) {
            (false, true) => rows.put(&self.speaking, &())?,
            (true, false) => rows.remove(&self.speaking)?,
            (true, true) | (false, false) => (),
        }
        Ok(())
    }
}

/// Returns a dimension's record and its place; of a new dimension an empty record.
fn shown(
    rows: &mut Rows<'_>,
    of: &str,
    dimension: &Dimension,
) -> Result<(DimensionKeys, DimensionRecord), FoldError> {
    let parts: Vec<&str> = std::iter::once(of).chain(dimension.every_part()).collect();
    let number_key = rows.key(NUMBERS, &parts);
    let (group, speaking) = (rows.key(SHOWN, &[of]), rows.key(SPEAKING, &[of]));
    let place =
        |number, spoke| DimensionKeys { shown: group.at(number), speaking: speaking.at(number), spoke };
    if let Some(number) = rows.row::<u64>(&number_key)? {
        let shown = rows.row::<DimensionRecord>(&group.at(number))?;
        let shown = shown.ok_or(FoldError::Contradiction("a dimension has a number and no row"))?;
        return Ok((place(number, shown.may_speak()), shown));
    }
    let count_key = rows.key(COUNTS, &[of]);
    let number = rows.row::<u64>(&count_key)?.unwrap_or(0);
    rows.put(&count_key, &(number + 1))?;
    rows.put(&number_key, &number)?;
    Ok((place(number, false), DimensionRecord { dimension: dimension.clone(), ..DimensionRecord::default() }))
}

fn made(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<SuggestionMade>()? else { return Ok(()) };
    let position = event.position.get();
    let place_key = rows.key(SUGGESTION_PLACES, &[payload.suggestion.as_str()]);
    let first = match rows.row::<u64>(&place_key)? {
        Some(first) => first,
        None => {
            rows.put(&place_key, &position)?;
            position
        }
    };
    let key = rows.key(SUGGESTIONS, &[]).at(first);
    let before = rows.row::<Suggestion>(&key)?;
    if before.as_ref().is_some_and(|before| before.state != SuggestionState::Rejected) {
        return Ok(());
    }
    let suggestion = Suggestion {
        first,
        position,
        time: event.time.0,
        times: before.map_or(0, |before| before.times) + 1,
        rule: serde_json::to_string(&payload.rule)?,
        made: MadeOf {
            suggestion: payload.suggestion.to_string(),
            evidence: payload.evidence.iter().map(|position| position.get().get()).collect(),
            reason: payload.reason.to_string(),
            kind: payload.kind,
            dimension: payload.dimension,
            observations: payload.observations.map(Count::get),
        },
        state: SuggestionState::Open,
        answer: None,
    };
    rows.put(&key, &suggestion)?;
    Ok(())
}

/// The data of an event that made a suggestion; its rule stands beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeOf {
    /// Its id.
    pub suggestion: String,
    /// Positions that speak for it.
    pub evidence: Vec<u64>,
    /// The reason.
    pub reason: String,
    /// The kind of suggestion.
    pub kind: Option<bitacora_vocabulary::SuggestionKind>,
    /// The dimension that it is about.
    pub dimension: Option<Dimension>,
    /// Observations that it rests on.
    pub observations: Option<u64>,
}

fn accepted(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<SuggestionAccepted>()? else { return Ok(()) };
    let note = payload.note.map(|note| note.to_string());
    answered(event, rows, payload.suggestion.as_str(), SuggestionState::Accepted, note)
}

fn rejected(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<SuggestionRejected>()? else { return Ok(()) };
    let note = payload.note.map(|note| note.to_string());
    answered(event, rows, payload.suggestion.as_str(), SuggestionState::Rejected, note)
}

/// The first answer counts.
fn answered(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    suggestion: &str,
    state: SuggestionState,
    note: Option<String>,
) -> Result<(), FoldError> {
    let Some(first) = rows.row::<u64>(&rows.key(SUGGESTION_PLACES, &[suggestion]))? else { return Ok(()) };
    let key = rows.key(SUGGESTIONS, &[]).at(first);
    let Some(mut suggestion) = rows.row::<Suggestion>(&key)? else { return Ok(()) };
    if suggestion.state != SuggestionState::Open {
        return Ok(());
    }
    suggestion.state = state;
    suggestion.answer = Some(SuggestionAnswer {
        position: event.position.get(),
        time: event.time.0,
        by: event.record.actor.as_deref().map(str::to_owned),
        note,
    });
    rows.put(&key, &suggestion)?;
    Ok(())
}

fn annotated(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<AnnotationAdded>()? else { return Ok(()) };
    let position = event.position.get();
    let annotation = Annotation {
        position,
        time: event.time.0,
        text: payload.text.to_string(),
        tags: payload.tags.iter().flat_map(|tags| tags.iter()).map(ToString::to_string).collect(),
        by: event.record.actor.as_deref().map(str::to_owned),
        on: payload.on,
    };
    let values = target_values(&annotation.on);
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    rows.add(&rows.key(ANNOTATIONS, &[]).at(position), &annotation)?;
    rows.add(&rows.key(ANNOTATIONS_ON, &values).at(position), &annotation)?;
    // Notes that operators read beside a suggestion are not for agents to write.
    let by_agent = annotation.by.as_deref().is_some_and(|by| by.starts_with(AGENT));
    if let AnnotationTarget::Dimension(dimension) = &annotation.on
        && !by_agent
    {
        let key = rows.key(TAGS, &dimension.every_part());
        let mut tags = rows.row::<Vec<Tag>>(&key)?.unwrap_or_default();
        annotation.tags.iter().for_each(|tag| use_tag(&mut tags, tag, position));
        rows.put(&key, &tags)?;
    }
    Ok(())
}

/// Counts a tag. Where there are too many the one goes that was not used for longest.
fn use_tag(tags: &mut Vec<Tag>, tag: &str, position: u64) {
    if let Some(known) = tags.iter_mut().find(|known| known.tag == tag) {
        if known.last != position {
            known.count += 1;
        }
        known.last = position;
        return;
    }
    if tags.len() == MAX_DIMENSION_TAGS {
        let oldest = tags.iter().enumerate().min_by_key(|(_, tag)| tag.last).map(|(index, _)| index);
        oldest.map(|index| tags.remove(index));
    }
    tags.push(Tag { tag: tag.to_owned(), count: 1, last: position });
}
