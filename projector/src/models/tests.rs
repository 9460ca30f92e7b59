use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bitacora_formats::{CURSOR_KEY, Data, Event, Json, Keyring, LedgerKeys, ModelCursor, RowSum};
use bitacora_ledger::{AppendRequest, Entropy as _, Options, SystemEntropy};

use super::*;
use crate::gaps::{GapQuery, GapsModel};
use bitacora_vocabulary::{WarmCut, WarmDays};

/// Counts words, and does not put back what it took where one says so.
struct Takes;

#[derive(serde::Serialize, serde::Deserialize)]
struct Count(u64);

impl Live for Count {
    fn held(&self) -> usize {
        0
    }
}

impl Model for Takes {
    fn name(&self) -> &'static str {
        "words"
    }

    fn version(&self) -> u32 {
        1
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["x.said"]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let word = event.data::<String>()?.unwrap_or_default();
        let key = rows.key(1, &["all"]);
        let mut count = rows.take_live::<Count>(&key)?.unwrap_or_else(|| Box::new(Count(0)));
        count.0 += 1;
        match word.as_str() {
            "keep" => Ok(()),
            "remove" => Ok(rows.remove(&key)?),
            "read" => {
                rows.put_live(&key, count)?;
                let said = rows.row::<Count>(&key)?.map(|count| count.0);
                Ok(rows.put(&rows.key(1, &["read"]), &said.unwrap_or(0))?)
            }
            _ => Ok(rows.put_live(&key, count)?),
        }
    }
}

/// Notes how often each word was said, and fails where the test says so.
pub(super) struct WordsOf {
    version: u32,
    fails_at: AtomicU64,
    panics: bool,
}

impl WordsOf {
    pub(super) fn allow(&self) {
        self.fails_at.store(0, Ordering::SeqCst);
    }
}

impl Model for WordsOf {
    fn name(&self) -> &'static str {
        "words"
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["x.said"]
    }

    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let word = event.data::<String>()?.unwrap_or_default();
        let key = rows.key(1, &[&word]);
        let said = rows.row::<u64>(&key)?.unwrap_or(0);
        rows.put(&key, &(said + u64::from(self.version)))?;
        if event.position.get() == self.fails_at.load(Ordering::SeqCst) {
            assert!(!self.panics, "as the test wants it");
            return Err(FoldError::Contradiction("as the test wants it"));
        }
        Ok(())
    }
}

pub(super) fn words(version: u32, fails_at: u64, panics: bool) -> &'static WordsOf {
    Box::leak(Box::new(WordsOf { version, fails_at: AtomicU64::new(fails_at), panics }))
}

pub(super) struct ModelBench {
    folder: tempfile::TempDir,
    ledger: Ledger,
    pub(super) key: Secret,
}

impl ModelBench {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
        let (environment, path) = (Environment::real(), folder.path().join("main"));
        let name = "main".parse().unwrap();
        Ledger::create(&environment, &path, &name, &keyring, &Options::small()).unwrap();
        let ledger = Ledger::open(&environment, &path, Arc::clone(&keyring), Options::small()).unwrap();
        let key = LedgerKeys::new(&keyring, ledger.id()).index_key().clone();
        Self { folder, ledger, key }
    }

    pub(super) fn projections(&self) -> PathBuf {
        self.folder.path().join("main/projections")
    }

    pub(super) fn open(&self, models: &[&'static dyn Model]) -> ReadModels {
        self.open_with(models, Arc::default())
    }

    pub(super) fn open_with(&self, models: &[&'static dyn Model], recalls: Arc<RecallSlots>) -> ReadModels {
        self.open_in(&Environment::real(), models, recalls)
    }

    pub(super) fn open_in(
        &self,
        environment: &Environment,
        models: &[&'static dyn Model],
        recalls: Arc<RecallSlots>,
    ) -> ReadModels {
        ReadModels::open(
            self.ledger.clone(),
            environment,
            &self.projections(),
            self.key.clone(),
            models,
            recalls,
        )
    }

    pub(super) fn cut(&self, through: Position) {
        let cut = WarmCut { through: through.into(), keep_days: WarmDays::clamped(365) };
        self.ledger.record_warm_cut(&cut).unwrap();
    }

    pub(super) fn say(&self, word: &str) -> Position {
        self.say_many(word, 1)
    }

    pub(super) fn say_many(&self, word: &str, times: u64) -> Position {
        let head = self.ledger.head().position.get();
        let said = (head..head + times).map(|number| {
            let mut event = Event::new(format!("e{number}"), "urn:test", "x.said", "words");
            event.data = Data::Json(Json::check(format!("\"{word}\"").into_bytes()).unwrap());
            event
        });
        for said in said.collect::<Vec<_>>().chunks(100) {
            self.ledger.append(AppendRequest::of(said.to_vec())).unwrap().wait().unwrap();
        }
        self.ledger.head().position
    }
}

pub(super) fn until(models: &ReadModels, model: &str, is: impl Fn(&ModelStatus) -> bool) -> ModelStatus {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let status = models.status();
        if let Some(found) = status.iter().find(|status| status.name == model && is(status)) {
            return found.clone();
        }
        assert!(Instant::now() < end, "{status:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(super) fn is_settled(status: &ModelStatus) -> bool {
    status.lag == 0 && status.state == ModelState::Ok
}

pub(super) fn said(models: &ReadModels, word: &str) -> Option<u64> {
    let view = models.view("words").unwrap();
    view.row(&view.key(1, &[word])).unwrap()
}

#[test]
fn a_model_that_cannot_take_in_an_event_stops_there_and_the_others_go_on() {
    for panics in [false, true] {
        let bench = ModelBench::new();
        bench.say("one");
        let at = bench.say("two");
        let head = bench.say("three");
        let failing = words(1, at.get(), panics);
        let models = bench.open(&[failing, &GapsModel]);
        let status = until(&models, "words", |status| matches!(status.state, ModelState::Stopped(_)));
        let ModelState::Stopped(why) = &status.state else { panic!("{status:?}") };
        assert!(why.starts_with(&format!("position {at}: ")), "{why}");
        assert_eq!(
            models.view("words").err(),
            Some(ModelError::Stopped { model: "words", why: why.clone() })
        );
        let end = Instant::now() + Duration::from_secs(20);
        let asked = GapQuery { limit: 1, ..GapQuery::default() };
        while !models.gaps(&asked).is_ok_and(|gaps| gaps.position >= head) {
            assert!(Instant::now() < end, "{:?}", models.status());
            std::thread::sleep(Duration::from_millis(2));
        }
        models.end();
        // Once the defect is gone it goes on where it stopped, and has skipped nothing.
        failing.allow();
        let models = bench.open(&[failing, &GapsModel]);
        until(&models, "words", is_settled);
        assert_eq!(["one", "two", "three"].map(|word| said(&models, word)), [Some(1); 3]);
    }
}

#[test]
fn another_version_is_folded_from_the_beginning_and_the_old_rows_are_gone() {
    let bench = ModelBench::new();
    for word in ["a", "b", "a"] {
        bench.say(word);
    }
    let models = bench.open(&[words(1, 0, false)]);
    until(&models, "words", is_settled);
    assert_eq!((said(&models, "a"), said(&models, "b"), said(&models, "c")), (Some(2), Some(1), None));
    models.end();
    let models = bench.open(&[words(2, 0, false)]);
    let status = until(&models, "words", is_settled);
    assert_eq!((said(&models, "a"), said(&models, "b"), status.doubts), (Some(4), Some(2), 0));
    models.end();
    // The first version again finds none of its rows.
    let models = bench.open(&[words(1, 0, false)]);
    until(&models, "words", is_settled);
    assert_eq!(said(&models, "a"), Some(2));
}

#[test]
fn rows_that_do_not_come_to_their_sum_are_folded_again() {
    let bench = ModelBench::new();
    bench.say("a");
    let model = words(1, 0, false);
    let models = bench.open(&[model]);
    let status = until(&models, "words", is_settled);
    models.end();
    // A row that its model did not write, sealed as it should be, in a store that was not closed as it should be.
    let store = store::Store::open(&Environment::real().disk, &bench.projections().join(MODELS)).unwrap();
    let build = store.oldest(model, &bench.key).unwrap();
    let cursor = build.cursor().unwrap().unwrap();
    let stored = build.keyspace.get(CURSOR_KEY).unwrap().unwrap();
    let mut changes = rows::Changes::default();
    Rows::new(&build, &mut changes, Position::FIRST).put(&build.key(1, &["b"]), &7_u64).unwrap();
    build.commit(&mut changes, cursor).unwrap();
    build.keyspace.insert(CURSOR_KEY, stored).unwrap();
    drop((build, store));
    let models = bench.open(&[model]);
    let again = until(&models, "words", |status| is_settled(status) && status.doubts == 1);
    assert_eq!((said(&models, "a"), said(&models, "b")), (Some(1), None));
    assert_eq!(again.digest.map(|digest| digest.2), status.digest.map(|digest| digest.2));
}

#[test]
fn a_build_that_began_without_rows_looks_only_for_those_that_it_stored() {
    let bench = ModelBench::new();
    bench.say("a");
    let model = words(1, 0, false);
    let models = bench.open(&[model]);
    until(&models, "words", is_settled);
    models.end();
    let store = store::Store::open(&Environment::real().disk, &bench.projections().join(MODELS)).unwrap();
    let cursor = store.oldest(model, &bench.key).unwrap().cursor().unwrap().unwrap();
    let build = store.next(model, &bench.key, Position::FIRST).unwrap();
    let (a, b) = (build.key(1, &["a"]), build.key(1, &["b"]));
    let mut changes = rows::Changes::for_new_build();
    Rows::new(&build, &mut changes, Position::FIRST).put(&a, &1_u64).unwrap();
    let cursor = ModelCursor { sum: RowSum::default(), ..cursor };
    let cursor = build.commit(&mut changes, cursor).unwrap();
    assert_eq!(Rows::new(&build, &mut changes, Position::FIRST).row::<u64>(&a).unwrap(), Some(1));
    Rows::new(&build, &mut changes, Position::FIRST).put(&a, &2_u64).unwrap();
    let cursor = build.commit(&mut changes, cursor).unwrap();
    build.scrub(Some(&cursor), || true).unwrap();
    // A row that nobody stored does not open; it is read only once the build no longer knows what it has stored.
    build.keyspace.insert(b.as_slice(), [7; 40]).unwrap();
    assert_eq!(Rows::new(&build, &mut changes, Position::FIRST).row::<u64>(&b).unwrap(), None);
    changes.clear();
    changes.drop_bloom();
    assert!(Rows::new(&build, &mut changes, Position::FIRST).row::<u64>(&b).is_err());
}

#[test]
fn a_row_that_stays_as_its_fold_has_it_is_stored_with_the_others() {
    let bench = ModelBench::new();
    let models = bench.open(&[&Takes]);
    for (word, all, read) in [("a", Some(1), None), ("read", Some(2), Some(2)), ("remove", None, Some(2))] {
        bench.say(word);
        until(&models, "words", is_settled);
        assert_eq!((said(&models, "all"), said(&models, "read")), (all, read), "{word}");
    }
    for word in ["a", "read", "a"] {
        bench.say(word);
    }
    until(&models, "words", is_settled);
    assert_eq!((said(&models, "all"), said(&models, "read")), (Some(3), Some(2)));
    models.end();
    // Once more, all in one batch.
    std::fs::remove_dir_all(bench.projections()).unwrap();
    let models = bench.open(&[&Takes]);
    until(&models, "words", is_settled);
    assert_eq!((said(&models, "all"), said(&models, "read")), (Some(3), Some(2)));
}

#[test]
fn a_fold_that_does_not_put_back_what_it_took_stops_there() {
    let bench = ModelBench::new();
    bench.say("a");
    let at = bench.say("keep");
    let models = bench.open(&[&Takes]);
    let status = until(&models, "words", |status| matches!(status.state, ModelState::Stopped(_)));
    assert_eq!(status.state, ModelState::Stopped(format!("position {at}: its fold kept a row that it took")));
}

#[test]
fn a_question_that_finds_a_damaged_row_has_the_model_folded_again() {
    let bench = ModelBench::new();
    bench.say("a");
    let models = bench.open(&[words(1, 0, false)]);
    until(&models, "words", is_settled);
    let published = Arc::clone(&models.inner.published[0]);
    let (build, _) = published.live().unwrap();
    let key = build.key(1, &["a"]);
    build.keyspace.insert(key.as_slice(), [7; 40]).unwrap();
    let view = models.view("words").unwrap();
    assert_eq!(view.row::<u64>(&key), Err(ModelError::Rebuilding { model: "words" }));
    until(&models, "words", |status| is_settled(status) && status.doubts == 1);
    assert_eq!(said(&models, "a"), Some(1));
    // A later view is not doubted for the build that was replaced.
    assert_eq!(view.row::<u64>(&key), Err(ModelError::Rebuilding { model: "words" }));
    assert_eq!(until(&models, "words", is_settled).doubts, 1);
}

#[test]
fn who_waits_and_who_folds_never_wait_for_one_another() {
    let bench = ModelBench::new();
    let models = bench.open(&[words(1, 0, false)]);
    let models = &models;
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (ended, ledger) = (ended.clone(), &bench.ledger);
            scope.spawn(move || {
                let waiting = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
                for _ in 0..400 {
                    let head = ledger.head().position;
                    waiting.block_on(models.wait("words", head));
                    assert!(models.view("words").unwrap().position() >= head);
                }
                ended.send(()).unwrap();
            });
        }
        for number in 0..200 {
            bench.say(&format!("word {}", number % 7));
        }
        for _ in 0..3 {
            end.recv_timeout(Duration::from_secs(30)).unwrap();
        }
    });
}

#[test]
fn rows_that_were_not_looked_through_to_their_end_are_not_taken_for_sound() {
    let bench = ModelBench::new();
    let model = words(1, 0, false);
    let models = bench.open(&[model]);
    // More than are looked at before a look whether to end.
    for number in 0..1_100 {
        bench.say(&format!("word {number}"));
    }
    until(&models, "words", is_settled);
    let published = Arc::clone(&models.inner.published[0]);
    let (build, _) = published.live().unwrap();
    let cursor = build.cursor().unwrap();
    assert!(build.scrub(cursor.as_ref(), || true).is_ok());
    assert!(matches!(build.scrub(cursor.as_ref(), || false), Err(store::RowIntegrityError::Interrupted)));
}
