//! Cuts: rows leave, come back when asked for, and come to the same however they were folded.

use std::time::{Duration, Instant};

use bitacora_formats::{CutState, LedgerId, ModelCursor};

use super::tests::{ModelBench, is_settled, until};
use super::*;
use crate::limits::CUT_ROWS;

/// Notes each word where it was said, the last place of each, and how often each was said.
struct Notes;

const PLACES: u8 = 1;
pub(super) const LAST: u8 = 2;
const SUMS: u8 = 3;

impl Model for Notes {
    fn name(&self) -> &'static str {
        "notes"
    }

    fn version(&self) -> u32 {
        1
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["x.said"]
    }

    fn leaving(&self) -> &'static [u8] {
        &[PLACES, LAST]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let word = event.data::<String>()?.unwrap_or_default();
        let position = event.position.get();
        // Before the row that may have left is read: it must not stay.
        let sum = rows.key(SUMS, &[&word]);
        let said = rows.row::<u64>(&sum)?.unwrap_or(0);
        rows.put(&sum, &(said + 1))?;
        rows.add(&rows.key(PLACES, &[]).at(position), &word)?;
        let last = rows.key(LAST, &[&word]);
        let before = rows.row::<Vec<u64>>(&last)?.unwrap_or_default();
        Ok(rows.put(&last, &vec![before.last().copied().unwrap_or(0), position])?)
    }
}

pub(super) type Answer = (Vec<String>, Option<Vec<u64>>, Option<u64>);

/// One place.
pub(super) fn bounds(unused: Duration) -> RecallBounds {
    RecallBounds { at_once: 1, of_ledger: 1, unused, free_bytes: 0, ..RecallBounds::default() }
}

fn slots(unused: Duration) -> Arc<RecallSlots> {
    Arc::new(RecallSlots::new(bounds(unused)))
}

fn open(bench: &ModelBench, unused: Duration) -> ReadModels {
    bench.open_with(&[&Notes], slots(unused))
}

/// All words from a position on, and what is known of one.
pub(super) fn ask_once(models: &ReadModels, from: u64, word: &str) -> TieredAnswer<Answer, ModelError> {
    models.ask(|models| {
        let view = models.view("notes")?;
        let places: Result<Vec<_>, _> =
            view.rows::<String>(view.key(PLACES, &[]), from..=u64::MAX).map(|row| Ok(row?.1)).collect();
        Ok((places?, view.row(&view.key(LAST, &[word]))?, view.row(&view.key(SUMS, &[word]))?))
    })
}

pub(super) fn ask(models: &ReadModels, from: u64, word: &str) -> (Answer, bool) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match ask_once(models, from, word) {
            TieredAnswer { answer: Ok(answer), is_cold, .. } => return (answer, is_cold),
            TieredAnswer { answer, .. } => assert!(Instant::now() < end, "{answer:?} {:?}", models.status()),
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn is_cut(status: &ModelStatus) -> bool {
    is_settled(status) && status.left > 0 && !status.is_cutting
}

fn digest(status: &ModelStatus) -> (u64, [u8; 32]) {
    status.digest.map(|(_, rows, digest)| (rows, digest)).unwrap()
}

pub(super) const UNUSED: Duration = Duration::from_secs(60);

/// A ledger whose first events were cut: `old`, and some others.
pub(super) fn a_cut_ledger(slots: &Arc<RecallSlots>, environment: &Environment) -> (ModelBench, ReadModels) {
    let bench = ModelBench::new();
    bench.say("old");
    let through = bench.say_many("b", 20);
    let models = bench.open_in(environment, &[&Notes], Arc::clone(slots));
    until(&models, "notes", is_settled);
    bench.cut(through);
    until(&models, "notes", is_cut);
    (bench, models)
}

#[test]
fn rows_leave_at_a_cut_and_are_folded_again_when_asked_for() {
    let bench = ModelBench::new();
    let old = bench.say("old");
    let through = bench.say_many("b", 3 * CUT_ROWS as u64);
    let new = bench.say_many("b", 5);
    let models = open(&bench, UNUSED);
    until(&models, "notes", is_settled);
    let whole = ask(&models, 0, "old");
    assert!(!whole.1);
    bench.cut(through);
    let status = until(&models, "notes", is_cut);
    // One place each, and the last place of `old`.
    assert_eq!((status.left, status.cut, status.late), (through.get() - old.get() + 2, Some(through), 0));
    assert!(!ask(&models, through.get() + 1, "b").1, "what no cut concerns is answered as before");
    assert_eq!(new.get() - through.get(), 5);
    let first = ask_once(&models, 0, "old");
    assert!(matches!(first.answer, Err(ModelError::Recalling { model: "notes", .. })), "{first:?}");
    assert_eq!(ask(&models, 0, "old"), (whole.0, true));
    // It follows the head.
    bench.say("c");
    until(&models, "notes", is_settled);
    assert_eq!(ask(&models, 0, "c").0.2, Some(1));
}

/// Notes the last place of each word, and never reads what it noted before.
struct Latest;

impl Model for Latest {
    fn name(&self) -> &'static str {
        "latest"
    }

    fn version(&self) -> u32 {
        1
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["x.said"]
    }

    fn leaving(&self) -> &'static [u8] {
        &[LAST]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let word = event.data::<String>()?.unwrap_or_default();
        Ok(rows.put(&rows.key(LAST, &[&word]), &event.position.get())?)
    }
}

#[test]
fn a_row_that_left_and_is_written_again_has_left_no_more() {
    let bench = ModelBench::new();
    bench.say("old");
    let through = bench.say("older");
    let models = bench.open_with(&[&Latest], slots(UNUSED));
    until(&models, "latest", is_settled);
    bench.cut(through);
    assert_eq!(until(&models, "latest", is_cut).left, 2);
    bench.say("old");
    let status = until(&models, "latest", |status| is_settled(status) && status.left < 2);
    assert_eq!((status.left, status.late, digest(&status).0), (1, 0, 1));
}

#[test]
fn a_cut_comes_to_the_same_rows_however_it_was_folded() {
    let bench = ModelBench::new();
    let models = open(&bench, UNUSED);
    for word in ["a", "b", "c"] {
        let through = bench.say_many(word, 3 * CUT_ROWS as u64);
        until(&models, "notes", is_settled);
        bench.say("again");
        bench.cut(through);
    }
    let cut = digest(&until(&models, "notes", is_cut));
    models.end();
    std::fs::remove_dir_all(bench.projections()).unwrap();
    let models = open(&bench, UNUSED);
    assert_eq!(digest(&until(&models, "notes", is_cut)), cut, "folded at once");
    models.fold_again("notes");
    bench.say("again");
    let grown = digest(&until(&models, "notes", is_cut));
    assert_ne!(grown, cut);
    models.end();
    let models = open(&bench, UNUSED);
    let status = until(&models, "notes", is_cut);
    assert_eq!((digest(&status), status.doubts), (grown, 0));
}

#[test]
fn a_crash_within_a_cut_changes_nothing_of_what_it_comes_to() {
    let bench = ModelBench::new();
    let through = bench.say_many("a", 5 * CUT_ROWS as u64);
    let head = bench.say("b");
    let models = open(&bench, UNUSED);
    until(&models, "notes", is_settled);
    models.end();
    // A piece of the cut is made, and no more.
    let store = store::Store::open(&Environment::real().disk, &bench.projections().join(MODELS)).unwrap();
    let build = store.oldest(&Notes, &bench.key).unwrap();
    let cursor = build.cursor().unwrap().unwrap();
    let cut = CutState { through: through.get(), ..CutState::default() };
    let (cursor, next) = build.cut(ModelCursor { cut, ..cursor }, None).unwrap();
    assert!(next.is_some() && !cursor.cut.is_done && cursor.cut.left == CUT_ROWS as u64);
    build.scrub(Some(&cursor), || true).unwrap();
    drop((build, store));
    bench.cut(through);
    let models = open(&bench, UNUSED);
    let cut = until(&models, "notes", is_cut);
    assert_eq!((cut.doubts, cut.left), (0, 5 * CUT_ROWS as u64 + 1));
    assert_eq!(ask(&models, head.get(), "b").0.2, Some(1));
    models.end();
    std::fs::remove_dir_all(bench.projections()).unwrap();
    assert_eq!(digest(&until(&open(&bench, UNUSED), "notes", is_cut)), digest(&cut));
}

/// The words said from a position on, and how often one was said: no row of these left.
fn ask_warm(
    models: &ReadModels,
    from: u64,
    word: &str,
) -> TieredAnswer<(u64, usize, Option<u64>), ModelError> {
    models.ask(|models| {
        let view = models.view("notes")?;
        let places: Result<Vec<_>, _> = view.rows::<String>(view.key(PLACES, &[]), from..=u64::MAX).collect();
        Ok((view.position().get(), places?.len(), view.row(&view.key(SUMS, &[word]))?))
    })
}

/// Says words until one of them is late, and asks all the time. Each answer is one before the late event or one behind it.
fn a_late_event_between_answers(unused: Duration) -> (ModelBench, ReadModels) {
    let bench = ModelBench::new();
    bench.say("old");
    let through = bench.say_many("b", 20);
    let models = open(&bench, unused);
    until(&models, "notes", is_settled);
    bench.cut(through);
    until(&models, "notes", is_cut);
    let from = through.get() + 1;
    let before = bench.say_many("c", 3);
    let late = bench.say("old");
    bench.say("c");
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let asked = ask_warm(&models, from, "old");
        assert!(!asked.is_cold);
        let (position, places, said) = asked.answer.unwrap();
        if position < late.get() {
            assert!(places <= 3 && said == Some(1), "{position} {places} {said:?}");
        } else {
            assert_eq!(said, Some(2));
        }
        assert!(position < before.get() || places >= 3, "{position} {places}");
        if places == 5 {
            break;
        }
        assert!(Instant::now() < end, "{position} {places} {:?}", models.status());
        std::thread::sleep(Duration::from_millis(1));
    }
    (bench, models)
}

#[test]
fn a_model_answers_as_of_before_a_late_event_until_it_is_replaced() {
    let (bench, models) = a_late_event_between_answers(UNUSED);
    let status = until(&models, "notes", |status| is_settled(status) && status.late == 0);
    // Its rows stay for a time: another late event finds them.
    assert_eq!((status.left, status.is_cutting, status.doubts), (0, true, 0));
    bench.say("old");
    let status = until(&models, "notes", is_settled);
    assert_eq!((status.left, status.late), (0, 0));
    assert_eq!(ask(&models, 0, "old").0.2, Some(3));
}

#[test]
fn rows_leave_what_replaced_a_late_model_and_come_to_the_same() {
    let (bench, models) = a_late_event_between_answers(Duration::from_millis(300));
    let status = until(&models, "notes", is_cut);
    assert_eq!((status.doubts, status.late), (0, 0));
    models.end();
    std::fs::remove_dir_all(bench.projections()).unwrap();
    assert_eq!(digest(&until(&open(&bench, UNUSED), "notes", is_cut)), digest(&status));
}

#[test]
fn a_late_model_is_replaced_while_somebody_asks_about_rows_that_left() {
    let bench = ModelBench::new();
    bench.say("old");
    let through = bench.say_many("b", 20);
    let models = open(&bench, UNUSED);
    until(&models, "notes", is_settled);
    bench.cut(through);
    until(&models, "notes", is_cut);
    assert!(ask(&models, 0, "b").1);
    bench.say("old");
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let asked = ask_once(&models, 0, "old");
        if let TieredAnswer { answer: Ok((_, _, Some(2))), is_cold: false, .. } = asked {
            break;
        }
        assert!(Instant::now() < end, "{asked:?} {:?}", models.status());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_opening_takes_up_what_was_folded_again_and_no_recalled_build() {
    let bench = ModelBench::new();
    let through = bench.say_many("a", 20);
    bench.say("b");
    let models = open(&bench, UNUSED);
    until(&models, "notes", is_settled);
    bench.cut(through);
    until(&models, "notes", is_cut);
    assert!(ask(&models, 0, "a").1);
    let store = bench.projections().join(MODELS);
    let built = |models: &ReadModels| {
        models.inner.published[0].live().map(|(build, _)| build.keyspace.name().to_string())
    };
    let before = built(&models);
    models.fold_again("notes");
    let end = Instant::now() + Duration::from_secs(20);
    let rebuilt = loop {
        match built(&models) {
            Ok(now) if Ok(&now) != before.as_ref() => break now,
            _ => assert!(Instant::now() < end, "{:?}", models.status()),
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    // It is asked for again meanwhile.
    assert!(ask(&models, 0, "a").1);
    models.end();
    drop(models);
    let opened = store::Store::open(&Environment::real().disk, &store).unwrap();
    assert_eq!(opened.oldest(&Notes, &bench.key).unwrap().keyspace.name().to_string(), rebuilt);
}

#[test]
fn a_recalled_build_goes_when_nobody_asks_and_takes_the_only_place() {
    let bench = ModelBench::new();
    let through = bench.say_many("a", 20);
    bench.say("b");
    let slots = slots(Duration::from_millis(200));
    let models = bench.open_with(&[&Notes], Arc::clone(&slots));
    until(&models, "notes", is_settled);
    bench.cut(through);
    until(&models, "notes", is_cut);
    // Another ledger has the place.
    let taken = slots.take(LedgerId([7; 16]), "notes", Instant::now()).unwrap();
    let waits = || {
        let refused =
            ModelError::RecallWaits { model: "notes", why: RecallRefusal::Places, retry_after_s: 1 };
        ask_once(&models, 0, "a").answer == Err(refused)
    };
    let end = Instant::now() + Duration::from_secs(20);
    while !waits() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(2));
    }
    slots.free(taken);
    assert!(ask(&models, 0, "a").1);
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        std::thread::sleep(Duration::from_millis(600));
        let again = ask_once(&models, 0, "a");
        if matches!(again.answer, Err(ModelError::Recalling { .. })) {
            break;
        }
        assert!(Instant::now() < end, "{again:?}");
    }
}
