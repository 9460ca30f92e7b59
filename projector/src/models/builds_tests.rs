//! Folding again, beside what answers and through restarts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::tests::{ModelBench, is_settled, said, until, words};
use super::*;
use crate::limits::FOLD_EVENTS;

/// Counts words; slowly, where the test wants that.
#[derive(Default)]
struct Slow {
    is_slow: AtomicBool,
    folded: AtomicU64,
}

impl Model for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn version(&self) -> u32 {
        1
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["x.said"]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let key = rows.key(1, &[&event.data::<String>()?.unwrap_or_default()]);
        let said = rows.row::<u64>(&key)?.unwrap_or(0);
        self.folded.fetch_add(1, Ordering::SeqCst);
        if self.is_slow.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(rows.put(&key, &(said + 1))?)
    }
}

impl Slow {
    fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    /// Waits until it has taken in so many events more.
    fn wait_for(&self, more: u64) {
        let from = self.folded.load(Ordering::SeqCst);
        while self.folded.load(Ordering::SeqCst) < from + more {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

const EVENTS: u64 = 8 * FOLD_EVENTS;

fn slow_said(models: &ReadModels, word: &str) -> Option<u64> {
    let view = models.view("slow").unwrap();
    view.row(&view.key(1, &[word])).unwrap()
}

fn settle(models: &ReadModels) -> ModelStatus {
    until(models, "slow", is_settled)
}

/// Checks that the model has nearly all events whenever it answers.
fn answers_nearly_all_or_nothing(models: &ReadModels) {
    while models.status().iter().any(|status| !is_settled(status)) {
        if let Ok(view) = models.view("slow") {
            assert!(view.position().get() + FOLD_EVENTS > EVENTS, "{:?}", models.status());
        }
    }
}

#[test]
fn what_answers_goes_on_while_another_model_is_folded_again() {
    let (bench, slow) = (ModelBench::new(), Slow::new());
    bench.say_many("a", EVENTS);
    // The first and the third share a thread.
    let models = bench.open(&[words(1, 0, false), &crate::gaps::GapsModel, slow]);
    settle(&models);
    slow.is_slow.store(true, Ordering::SeqCst);
    assert!(models.fold_again("slow"));
    slow.wait_for(1);
    let head = bench.say("b");
    let waiting = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for model in ["words", "slow"] {
        waiting.block_on(models.wait(model, head));
    }
    assert!(slow.folded.load(Ordering::SeqCst) < 2 * EVENTS, "it was folded to its end meanwhile");
    assert_eq!((said(&models, "b"), slow_said(&models, "b")), (Some(1), Some(1)));
    slow.is_slow.store(false, Ordering::SeqCst);
    while slow.folded.load(Ordering::SeqCst) < 2 * EVENTS + 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((settle(&models).doubts, slow_said(&models, "a")), (0, Some(EVENTS)));
}

#[test]
fn a_build_that_was_not_whole_before_a_restart_answers_only_once_it_is() {
    let (bench, slow) = (ModelBench::new(), Slow::new());
    bench.say_many("a", EVENTS);
    slow.is_slow.store(true, Ordering::SeqCst);
    let models = bench.open(&[slow]);
    slow.wait_for(2 * FOLD_EVENTS);
    assert!(models.view("slow").is_err());
    models.end();
    let models = bench.open(&[slow]);
    slow.wait_for(1);
    slow.is_slow.store(false, Ordering::SeqCst);
    answers_nearly_all_or_nothing(&models);
    assert_eq!(slow_said(&models, "a"), Some(EVENTS));
    assert!(slow.folded.load(Ordering::SeqCst) < 2 * EVENTS, "it went on where it stood");
}

#[test]
fn a_restart_goes_on_with_what_answered_and_not_with_what_was_folded_beside_it() {
    let (bench, slow) = (ModelBench::new(), Slow::new());
    bench.say_many("a", EVENTS);
    let models = bench.open(&[slow]);
    settle(&models);
    slow.is_slow.store(true, Ordering::SeqCst);
    models.fold_again("slow");
    slow.wait_for(2 * FOLD_EVENTS);
    models.end();
    let folded = slow.folded.load(Ordering::SeqCst);
    let models = bench.open(&[slow]);
    answers_nearly_all_or_nothing(&models);
    assert_eq!((slow_said(&models, "a"), slow.folded.load(Ordering::SeqCst)), (Some(EVENTS), folded));
}

#[test]
fn a_damaged_row_beside_a_build_under_way_leaves_one_build_that_goes_on() {
    let (bench, slow) = (ModelBench::new(), Slow::new());
    bench.say_many("a", EVENTS);
    bench.say("b");
    let models = bench.open(&[slow]);
    settle(&models);
    let (build, _) = models.inner.published[0].live().unwrap();
    slow.is_slow.store(true, Ordering::SeqCst);
    models.fold_again("slow");
    slow.wait_for(FOLD_EVENTS);
    build.keyspace.insert(build.key(1, &["b"]).as_slice(), [7; 40]).unwrap();
    bench.say("b");
    until(&models, "slow", |status| status.doubts == 1);
    slow.is_slow.store(false, Ordering::SeqCst);
    assert_eq!((settle(&models).doubts, slow_said(&models, "b")), (1, Some(2)));
    bench.say("b");
    assert_eq!((settle(&models).doubts, slow_said(&models, "b")), (1, Some(3)));
}

#[test]
fn what_was_doubted_at_the_end_is_folded_again_by_the_next_opening() {
    let (bench, slow) = (ModelBench::new(), Slow::new());
    bench.say("a");
    let models = bench.open(&[slow]);
    settle(&models);
    let (build, _) = models.inner.published[0].live().unwrap();
    let key = build.key(1, &["a"]);
    build.keyspace.insert(key.as_slice(), [7; 40]).unwrap();
    drop(build);
    // The thread that would fold it again folds something else until the end.
    slow.is_slow.store(true, Ordering::SeqCst);
    bench.say_many("b", FOLD_EVENTS);
    slow.wait_for(1);
    assert_eq!(models.view("slow").unwrap().row::<u64>(&key), Err(ModelError::Rebuilding { model: "slow" }));
    models.end();
    slow.is_slow.store(false, Ordering::SeqCst);
    let models = bench.open(&[slow]);
    assert_eq!((settle(&models).doubts, slow_said(&models, "a")), (1, Some(1)));
}

/// Writes numbers, and takes what it wrote for something else where the test wants that.
struct Misreads {
    in_its_fold: bool,
    folded: AtomicU64,
}

impl Model for Misreads {
    fn name(&self) -> &'static str {
        "misreads"
    }

    fn version(&self) -> u32 {
        1
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["x.said"]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        self.folded.fetch_add(1, Ordering::SeqCst);
        let key = rows.key(1, &["last"]);
        if self.in_its_fold {
            let _words = rows.row::<Vec<String>>(&key)?;
        }
        Ok(rows.put(&key, &event.position.get())?)
    }
}

#[test]
fn a_model_that_does_not_read_what_it_wrote_stops_and_is_not_folded_for_ever() {
    for in_its_fold in [true, false] {
        let bench = ModelBench::new();
        bench.say("a");
        let at = bench.say("b");
        let model: &'static Misreads =
            Box::leak(Box::new(Misreads { in_its_fold, folded: AtomicU64::new(0) }));
        let models = bench.open(&[model]);
        if !in_its_fold {
            until(&models, "misreads", is_settled);
            let view = models.view("misreads").unwrap();
            let asked = view.row::<Vec<String>>(&view.key(1, &["last"]));
            assert!(matches!(asked, Err(ModelError::Stopped { .. })), "{asked:?}");
        }
        let status = until(&models, "misreads", |status| matches!(status.state, ModelState::Stopped(_)));
        let ModelState::Stopped(why) = &status.state else { panic!("{status:?}") };
        assert!(why.contains("a row holds what its model never writes"), "{why}");
        assert_eq!(why.contains(&format!("position {at}: ")), in_its_fold, "{why}");
        bench.say("c");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!((model.folded.load(Ordering::SeqCst), models.status()[0].doubts), (2, 0));
    }
}

#[test]
fn a_model_that_stopped_is_folded_again_where_somebody_asks_for_it() {
    let bench = ModelBench::new();
    bench.say("one");
    let at = bench.say("two");
    let failing = words(1, at.get(), false);
    let models = bench.open(&[failing]);
    until(&models, "words", |status| matches!(status.state, ModelState::Stopped(_)));
    failing.allow();
    assert!(models.fold_again("words"));
    until(&models, "words", is_settled);
    assert_eq!(["one", "two"].map(|word| said(&models, word)), [Some(1); 2]);
    models.end();
    // The rows that it had made before it stopped are gone.
    let store = store::Store::open(&Environment::real().disk, &bench.projections().join(MODELS)).unwrap();
    let cursor = store.oldest(failing, &bench.key).unwrap().cursor().unwrap();
    assert_eq!(cursor.map(|cursor| cursor.position), Some(at));
}

/// Content of events expired: rows that were folded of it go, once, and a restart remembers that.
#[test]
fn what_may_hold_expired_content_is_folded_again_once() {
    let (bench, slow) = (ModelBench::new(), Slow::new());
    let folded = || slow.folded.load(Ordering::SeqCst);
    bench.say_many("a", 100);
    let models = bench.open(&[slow]);
    settle(&models);
    let expired_at = bench.say("b");
    bench.say("b");
    models.expire(expired_at);
    while folded() < 204 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let again = |models: &ReadModels| {
        models.expire(expired_at);
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!((settle(models).doubts, slow_said(models, "a"), folded()), (0, Some(100), 204));
    };
    again(&models);
    models.end();
    again(&bench.open(&[slow]));
    // What expires later has it folded once more.
    let models = bench.open(&[slow]);
    let later = bench.say("c");
    bench.say("c");
    models.expire(later);
    while folded() < 204 + 2 + 104 {
        std::thread::sleep(Duration::from_millis(1));
    }
}
