//! The fold of events into the records of dimensions.
//!
//! Records are counted as the state that decides counts them, of what is recorded of trust, imports and policies.

use std::collections::BTreeMap;

use bitacora_formats::{Micros, format_time, parse_time};
use bitacora_vocabulary::{
    BreakerClosed, BreakerCondition, BreakerHalfOpened, BreakerOpened, ClockAccepted, DecisionMade,
    Dimension, EventData as _, ImportAccepted, ImportBatch, LedgerClockJumped, PolicyActivated,
    PolicyPublished, TrustObserved, TrustOutcome, TrustRecord, TrustRules, TrustSet,
};
use serde::{Deserialize, Serialize};

use super::{BreakerStood, ImportShowed, TrustMonth};
use crate::limits::KEPT_EVERY;
use crate::models::{FoldError, FoldEvent, Model, ObservationView, RowKey, Rows};

/// The model, as [`crate::ReadModels`] keep it.
pub(crate) struct TrustModel;

/// The outcomes of a dimension, by month.
pub(super) const MONTHS: u8 = 1;
/// Positions of events about a dimension.
pub(super) const TOLD: u8 = 2;
/// Past records of a dimension, by the position of the event behind which they held.
pub(super) const KEPT: u8 = 3;
/// The present record of a dimension.
const NOW: u8 = 4;
/// Times of the checks for forgotten dimensions, by position.
pub(super) const CHECKS: u8 = 5;
/// The last of these, and the time that governs, as far as these events tell it.
const GOVERNED: u8 = 6;
/// By what numbers trust is judged from a position on, as JSON; `None` where no policy is active.
pub(super) const RULES: u8 = 7;
/// Those of a version of the policy.
const RULES_OF: u8 = 8;
/// The outcomes of an import, by its number: dimensions in the order in which they were first seen.
const IMPORTED: u8 = 9;
/// The place of a dimension there.
const IMPORTED_PLACE: u8 = 10;
/// The number of such dimensions.
const IMPORTED_COUNT: u8 = 11;
/// The import that is under way.
const UNDER_WAY: u8 = 12;
/// An import that has ended, by its digest.
pub(super) const ENDED: u8 = 13;
/// The state of a dimension's breaker, by the position of the event that brought it.
pub(super) const BREAKERS: u8 = 14;

/// Microseconds of a day.
const DAY: u64 = 86_400_000_000;

/// A dimension's record and its position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrustRecordRow {
    pub(super) record: TrustRecord,
    /// The last event that changed it.
    pub(super) changed: u64,
    /// Everything that was told of it up to here is in it.
    pub(super) position: u64,
    /// The number of events since a record was kept.
    since: u64,
}

/// The position and the time of the last check for forgotten dimensions.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct ForgettingCheck {
    checked: u64,
    checked_time: u64,
    now: u64,
    /// By a clock that jumped nothing is forgotten.
    has_jumped: bool,
}

/// The import that is under way, and the time that it has come to.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct OpenImport {
    number: u64,
    time: u64,
}

/// An import that has ended.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct ImportEnd {
    number: u64,
    is_accepted: bool,
    pub(super) showed: ImportShowed,
}

/// The outcomes of an import in a dimension.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ImportOutcomes {
    dimension: Dimension,
    record: TrustRecord,
    /// The number of outcomes in each month.
    months: BTreeMap<u64, u64>,
}

/// The part read of a policy, whose rules may be many.
#[derive(Deserialize)]
struct PublishedPolicyView {
    version: u64,
    trust: TrustRules,
}

impl Model for TrustModel {
    fn name(&self) -> &'static str {
        "trust"
    }

    fn version(&self) -> u32 {
        8
    }

    fn leaving(&self) -> &'static [u8] {
        &[KEPT]
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[
            TrustObserved::KIND,
            DecisionMade::KIND,
            TrustSet::KIND,
            ImportBatch::KIND,
            ImportAccepted::KIND,
            PolicyPublished::KIND,
            PolicyActivated::KIND,
            LedgerClockJumped::KIND,
            ClockAccepted::KIND,
            BreakerOpened::KIND,
            BreakerHalfOpened::KIND,
            BreakerClosed::KIND,
        ]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        if event.record.kind == DecisionMade::KIND {
            return decided(event, rows);
        }
        let forgetting = pass_to(event, rows)?;
        match &*event.record.kind {
            TrustObserved::KIND => observed(event, rows, forgetting),
            TrustSet::KIND => set(event, rows, forgetting),
            ImportBatch::KIND => import_ended(event, rows),
            ImportAccepted::KIND => import_accepted(event, rows, forgetting),
            PolicyPublished::KIND => published(event, rows),
            PolicyActivated::KIND => activated(event, rows),
            BreakerOpened::KIND | BreakerHalfOpened::KIND | BreakerClosed::KIND => turned(event, rows),
            _ => Ok(()),
        }
    }
}

/// The time that governs never goes back; at the first event of a day it is looked which dimensions are forgotten.
fn pass_to(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<ForgettingCheck, FoldError> {
    let key = rows.key(GOVERNED, &[]);
    let mut forgetting = rows.row::<ForgettingCheck>(&key)?.unwrap_or_default();
    let Micros(time) = event.time;
    // A jump is known before its time is, and is over behind the word that accepts it.
    forgetting.has_jumped |= event.record.kind == LedgerClockJumped::KIND;
    let is_new_day = time / DAY != forgetting.now / DAY;
    if time > forgetting.now && is_new_day && !forgetting.has_jumped {
        (forgetting.checked, forgetting.checked_time) = (event.position.get(), time);
        rows.add(&rows.key(CHECKS, &[]).at(forgetting.checked), &time)?;
    }
    forgetting.now = forgetting.now.max(time);
    forgetting.has_jumped &= event.record.kind != ClockAccepted::KIND;
    rows.put(&key, &forgetting)?;
    Ok(forgetting)
}

fn observed(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    forgetting: ForgettingCheck,
) -> Result<(), FoldError> {
    let Some(payload) = event.observed()? else { return Ok(()) };
    let month = count_in_month(event, rows, payload)?;
    rows.post(rows.key(TOLD, &payload.dimension.every_part()), event.position.get())?;
    let (outcome, post) = (payload.outcome, payload.post_check_passed);
    if payload.assurance.is_some() {
        let time = imported_time(event, rows)?;
        let (key, mut imported) = imported(rows, &payload.dimension)?;
        imported.record.apply_outcome(outcome, post, time);
        *imported.months.entry(month).or_default() += 1;
        rows.put(&key, &imported)?;
        // It counts only once its import is accepted.
        return keep(event, rows, &payload.dimension, forgetting, false, None);
    }
    let change = |record: &mut TrustRecord| record.apply_outcome(outcome, post, event.time);
    keep(event, rows, &payload.dimension, forgetting, false, Some(&change))
}

/// Moves the time that the import has come to; a decision on an import's call changes nothing else here.
fn decided(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    if event.decided()?.is_some_and(|payload| payload.inputs.imported) {
        imported_time(event, rows)?;
    }
    Ok(())
}

fn set(event: &FoldEvent<'_>, rows: &mut Rows<'_>, forgetting: ForgettingCheck) -> Result<(), FoldError> {
    let Some(payload) = event.data::<TrustSet>()? else { return Ok(()) };
    rows.post(rows.key(TOLD, &payload.dimension.every_part()), event.position.get())?;
    let change = |record: &mut TrustRecord| record.apply_set(&payload, event.time);
    keep(event, rows, &payload.dimension, forgetting, false, Some(&change))
}

/// Brings a dimension's record to this event, which may change it, and keeps it now and then: where `is_kept`, or where it was
/// forgotten before, which what is told of it does not say.
fn keep(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    dimension: &Dimension,
    forgetting: ForgettingCheck,
    is_kept: bool,
    change: Option<&dyn Fn(&mut TrustRecord)>,
) -> Result<(), FoldError> {
    let (parts, position) = (dimension.every_part(), event.position.get());
    let key = rows.key(NOW, &parts);
    let mut now = rows.row::<TrustRecordRow>(&key)?.unwrap_or_default();
    let is_forgotten =
        now.record != TrustRecord::default() && now.forget(forgetting.checked, forgetting.checked_time);
    if let Some(change) = change {
        now.change(position, change);
    }
    (now.position, now.since) = (position, now.since + 1);
    if is_kept || is_forgotten || now.since == KEPT_EVERY {
        now.since = 0;
        rows.add(&rows.key(KEPT, &parts).at(position), &now)?;
    }
    Ok(rows.put(&key, &now)?)
}

/// As the state that decides believes times of imports: never before what the same import told before, never later than now.
fn imported_time(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<Micros, FoldError> {
    let key = rows.key(UNDER_WAY, &[]);
    let under_way = rows.row::<OpenImport>(&key)?.unwrap_or_default();
    let own = event.record.time.as_deref().and_then(|time| parse_time(time).ok());
    let time = match own.filter(|own| *own <= event.time) {
        Some(Micros(own)) => own.max(under_way.time),
        None if under_way.time > 0 => under_way.time,
        None => event.time.0,
    };
    if time < event.time.0 && time != under_way.time {
        rows.put(&key, &OpenImport { time, ..under_way })?;
    }
    Ok(Micros(time))
}

/// Returns the outcomes of the import under way in a dimension, and their place.
fn imported(rows: &mut Rows<'_>, dimension: &Dimension) -> Result<(RowKey, ImportOutcomes), FoldError> {
    let under_way = rows.row::<OpenImport>(&rows.key(UNDER_WAY, &[]))?.unwrap_or_default();
    let number = under_way.number.to_string();
    let parts: Vec<&str> = std::iter::once(number.as_str()).chain(dimension.every_part()).collect();
    let place_key = rows.key(IMPORTED_PLACE, &parts);
    let group = rows.key(IMPORTED, &[&number]);
    if let Some(place) = rows.row::<u64>(&place_key)? {
        let key = group.at(place);
        let found = rows.row::<ImportOutcomes>(&key)?;
        return Ok((key, found.ok_or(FoldError::Contradiction("a dimension has a place and no row"))?));
    }
    let count_key = rows.key(IMPORTED_COUNT, &[&number]);
    let place = rows.row::<u64>(&count_key)?.unwrap_or(0);
    rows.put(&count_key, &(place + 1))?;
    rows.put(&place_key, &place)?;
    Ok((group.at(place), ImportOutcomes { dimension: dimension.clone(), ..ImportOutcomes::default() }))
}

/// Calls `each` with the outcomes of an import, dimension by dimension.
fn each_imported(
    rows: &mut Rows<'_>,
    number: u64,
    mut each: impl FnMut(&mut Rows<'_>, ImportOutcomes) -> Result<(), FoldError>,
) -> Result<(), FoldError> {
    let number = number.to_string();
    let group = rows.key(IMPORTED, &[&number]);
    for place in 0..rows.row::<u64>(&rows.key(IMPORTED_COUNT, &[&number]))?.unwrap_or(0) {
        let found = rows.row::<ImportOutcomes>(&group.at(place))?;
        each(rows, found.ok_or(FoldError::Contradiction("an import has a place and no row"))?)?;
    }
    Ok(())
}

fn import_ended(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<ImportBatch>()? else { return Ok(()) };
    let ended = rows.key(ENDED, &[payload.digest.as_str()]);
    // Outcomes that the same import brings again are the next import's.
    if rows.row::<ImportEnd>(&ended)?.is_some() {
        return Ok(());
    }
    let key = rows.key(UNDER_WAY, &[]);
    let under_way = rows.row::<OpenImport>(&key)?.unwrap_or_default();
    let mut showed = ImportShowed::default();
    each_imported(rows, under_way.number, |_, imported| {
        showed.add(&imported.record);
        Ok(())
    })?;
    rows.put(&ended, &ImportEnd { number: under_way.number, is_accepted: false, showed })?;
    Ok(rows.put(&key, &OpenImport { number: under_way.number + 1, time: 0 })?)
}

/// Counts the outcomes of an import from here on, behind those seen here.
fn import_accepted(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    forgetting: ForgettingCheck,
) -> Result<(), FoldError> {
    let Some(payload) = event.data::<ImportAccepted>()? else { return Ok(()) };
    let key = rows.key(ENDED, &[payload.digest.as_str()]);
    let Some(ended) = rows.row::<ImportEnd>(&key)?.filter(|ended| !ended.is_accepted) else { return Ok(()) };
    rows.put(&key, &ImportEnd { is_accepted: true, ..ended })?;
    each_imported(rows, ended.number, |rows, ImportOutcomes { dimension, record: earlier, months }| {
        for (number, accepted) in months {
            let key = rows.key(MONTHS, &dimension.every_part()).at(number);
            if let Some(mut month) = rows.row::<TrustMonth>(&key)? {
                month.not_accepted = month.not_accepted.saturating_sub(accepted);
                rows.put(&key, &month)?;
            }
        }
        let change = |record: &mut TrustRecord| record.apply_earlier(&earlier);
        keep(event, rows, &dimension, forgetting, true, Some(&change))
    })
}

fn published(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<PublishedPolicyView>()? else { return Ok(()) };
    let rules = serde_json::to_string(&payload.trust)?;
    Ok(rows.put(&rows.key(RULES_OF, &[&payload.version.to_string()]), &rules)?)
}

fn activated(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(payload) = event.data::<PolicyActivated>()? else { return Ok(()) };
    let rules = rows.row::<String>(&rows.key(RULES_OF, &[&payload.version.to_string()]))?;
    Ok(rows.add(&rows.key(RULES, &[]).at(event.position.get()), &rules)?)
}

/// The members of a breaker's event that are read.
#[derive(Deserialize)]
struct BreakerView {
    dimension: Dimension,
    #[serde(default)]
    cooldown_until: Option<u64>,
}

/// Keeps how a breaker stands from here on.
fn turned(event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
    let Some(BreakerView { dimension, cooldown_until }) = event.data::<BreakerView>()? else { return Ok(()) };
    let condition = match &*event.record.kind {
        BreakerOpened::KIND => BreakerCondition::Open,
        BreakerHalfOpened::KIND => BreakerCondition::HalfOpen,
        _ => BreakerCondition::Closed,
    };
    let key = rows.key(BREAKERS, &dimension.every_part()).at(event.position.get());
    Ok(rows.add(&key, &BreakerStood { condition, cooldown_until })?)
}

/// Counts an outcome in its month, which is told by its number.
fn count_in_month(
    event: &FoldEvent<'_>,
    rows: &mut Rows<'_>,
    payload: &ObservationView,
) -> Result<u64, FoldError> {
    let (number, name) = month_of(event.happened(payload.assurance));
    let key = rows.key(MONTHS, &payload.dimension.every_part()).at(number);
    let month = rows.row::<TrustMonth>(&key)?;
    let first = event.position.get();
    let mut month = month.unwrap_or_else(|| TrustMonth { month: name, first, ..TrustMonth::default() });
    let count = match payload.outcome {
        TrustOutcome::Approved => &mut month.approved,
        TrustOutcome::AutoApproved => &mut month.auto_approved,
        TrustOutcome::Rejected => &mut month.rejected,
        TrustOutcome::Error => &mut month.errors,
        TrustOutcome::Timeout => &mut month.timeouts,
        TrustOutcome::ChecksFailed => &mut month.exit_codes,
    };
    *count += 1;
    month.failed_checks += u64::from(payload.post_check_passed == Some(false));
    month.imported += u64::from(payload.assurance.is_some());
    month.not_accepted += u64::from(payload.assurance.is_some());
    month.duration_ms += u128::from(payload.duration_ms.unwrap_or(0));
    month.cost_micro_usd += u128::from(payload.cost_micro_usd.unwrap_or(0));
    month.tokens += u128::from(payload.tokens.unwrap_or(0));
    month.last = event.position.get();
    rows.put(&key, &month)?;
    Ok(number)
}

/// The month of a time, as a number that grows with it and as people write it.
fn month_of(time: Micros) -> (u64, String) {
    let text = format_time(time);
    let name = text.get(..7).unwrap_or_default().to_owned();
    let (year, month) = name.split_once('-').unwrap_or_default();
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    (number(year) * 12 + number(month), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_in_the_order_of_time() {
        let of = |text: &str| month_of(parse_time(text).unwrap());
        let (december, name) = of("2025-12-31T23:59:59.999999Z");
        assert_eq!(name, "2025-12");
        assert_eq!(of("2026-01-01T00:00:00Z"), (december + 1, "2026-01".to_owned()));
        assert_eq!(of("2026-12-01T00:00:00Z").0, december + 12);
    }
}
