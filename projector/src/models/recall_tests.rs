//! Recalled builds among those who wait for them, and on a disk that becomes full.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bitacora_formats::LedgerId;
use bitacora_ledger::{Disk, DiskFile, FileIdentity, FolderEntry, FolderLock, OpenMode};

use super::model_tree::Build;
use super::recall::RecallGuard;
use super::recall_slots::RecallWait;
use super::tests::{is_settled, until};
use super::warm_tests::{LAST, UNUSED, a_cut_ledger, ask, ask_once, bounds};
use super::*;

/// The machine's disk, of which a test says how much is free.
#[derive(Debug, Clone)]
struct CrowdedDisk {
    disk: Arc<dyn Disk>,
    free: Arc<AtomicU64>,
}

impl Disk for CrowdedDisk {
    fn within(&self, folder: &Path) -> io::Result<Arc<dyn Disk>> {
        Ok(Arc::new(Self { disk: self.disk.within(folder)?, free: Arc::clone(&self.free) }))
    }

    fn path_for_libraries(&self, path: &Path) -> PathBuf {
        self.disk.path_for_libraries(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.open(path, mode)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        self.disk.list(folder)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.create_folder(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.remove_folder(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.sync_folder(folder)
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        self.disk.identity(path)
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        self.disk.mode(path)
    }

    fn free_bytes(&self, _: &Path) -> Option<u64> {
        Some(self.free.load(Ordering::SeqCst))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FolderLock>> {
        self.disk.lock(path)
    }
}

/// Asks until the answer is this error, or another one that is no progress.
fn until_refused(models: &ReadModels, expected: RecallRefusal) -> u64 {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match ask_once(models, 0, "old").answer {
            Err(ModelError::RecallWaits { model: "notes", why, retry_after_s }) if why == expected => {
                return retry_after_s;
            }
            other => assert!(Instant::now() < end, "{other:?}"),
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a model is neither recalled nor waits for it.
fn until_forgotten(models: &ReadModels) {
    let end = Instant::now() + Duration::from_secs(20);
    while models.inner.published[0].recall.waits() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_model_that_nobody_asks_about_any_more_waits_for_no_place() {
    let slots = Arc::new(RecallSlots::new(bounds(Duration::from_millis(200))));
    let (_bench, models) = a_cut_ledger(&slots, &Environment::real());
    let other = slots.take(LedgerId([7; 16]), "notes", Instant::now()).unwrap();
    until_refused(&models, RecallRefusal::Places);
    until_forgotten(&models);
    // Nobody asked when the place became free.
    slots.free(other);
    let first = ask_once(&models, 0, "old").answer;
    assert!(!matches!(first, Err(ModelError::RecallWaits { .. })), "{first:?}");
    assert!(ask(&models, 0, "old").1);
}

/// A place for the model of a ledger, as its thread takes it, and a build that answers in it.
fn guard(slots: &Arc<RecallSlots>, models: &ReadModels) -> (RecallGuard, Arc<Build>) {
    let published = &models.inner.published[0];
    let guard = RecallGuard::take(published, slots, models.inner.ledger.id()).unwrap();
    (guard, published.live().unwrap().0)
}

#[test]
fn a_recalled_build_stays_for_a_time_once_it_answers_although_it_took_long() {
    let unused = Duration::from_millis(600);
    let slots = Arc::new(RecallSlots::new(bounds(unused)));
    let (_bench, models) = a_cut_ledger(&slots, &Environment::real());
    let recall = &models.inner.published[0].recall;
    recall.ask();
    let (guard, build) = guard(&slots, &models);
    std::thread::sleep(Duration::from_millis(400));
    guard.set_ready(&build, Position::FIRST);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!recall.is_asked(unused) && !guard.is_unused());
    std::thread::sleep(Duration::from_millis(300));
    assert!(guard.is_unused());
}

#[test]
fn a_recalled_build_answers_from_the_position_on_that_was_answered_before() {
    let slots = Arc::new(RecallSlots::new(bounds(UNUSED)));
    let (_bench, models) = a_cut_ledger(&slots, &Environment::real());
    let recall = &models.inner.published[0].recall;
    recall.set_wait(Some(RecallWait { why: RecallRefusal::Rate, at_least: UNUSED }));
    let (guard, build) = guard(&slots, &models);
    assert!(!recall.waits(), "it has a place");
    let (five, six) = (Position::new(5).unwrap(), Position::new(6).unwrap());
    let waiting = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let has_come = |position| {
        let waits = models.wait_recalled("notes", position);
        let a_moment = Duration::from_millis(20);
        waiting.block_on(async { tokio::time::timeout(a_moment, waits).await }).is_ok()
    };
    assert!(!has_come(five));
    guard.set_ready(&build, five);
    assert!(has_come(five) && !has_come(six));
    assert!(recall.answer("notes", five).is_ok());
    // What was seen of the rows on this disk is not taken back.
    let asked = ask_once(&models, 0, "old").answer;
    assert!(matches!(asked, Err(ModelError::Recalling { position: 5, .. })), "{asked:?}");
    let error = recall.answer("notes", six).err();
    assert_eq!(error, Some(ModelError::Recalling { model: "notes", position: 5, of: 6 }));
    // It makes place for another ledger, and is still asked for.
    recall.ask();
    drop(guard);
    assert!(recall.is_asked(UNUSED) && recall.answer("notes", five).is_err());
}

#[test]
fn a_recalled_build_that_cannot_go_on_makes_place() {
    let slots = Arc::new(RecallSlots::new(RecallBounds { held: Duration::ZERO, ..bounds(UNUSED) }));
    let (_bench, models) = a_cut_ledger(&slots, &Environment::real());
    let (guard, _) = guard(&slots, &models);
    slots.take(LedgerId([7; 16]), "notes", Instant::now()).unwrap_err();
    assert!(!guard.has_to_go());
    guard.set_failure(Some("its events are away"));
    assert!(guard.has_to_go());
    guard.set_failure(None);
    assert!(!guard.has_to_go(), "it goes on");
}

#[test]
fn a_damaged_recalled_build_is_folded_again() {
    let slots = Arc::new(RecallSlots::new(bounds(UNUSED)));
    let (_bench, models) = a_cut_ledger(&slots, &Environment::real());
    let answer = ask(&models, 0, "old");
    let (build, _) = models.inner.published[0].recall.answer("notes", Position::FIRST).unwrap();
    let key = build.key(LAST, &["old"]);
    build.keyspace.insert(key.as_slice(), [7; 40]).unwrap();
    let asked = ask_once(&models, 0, "old").answer;
    assert!(asked.is_err(), "{asked:?}");
    assert_eq!(ask(&models, 0, "old"), answer);
}

#[test]
fn a_model_that_waits_is_folded_again_as_soon_as_there_is_a_place() {
    let slots = Arc::new(RecallSlots::new(RecallBounds { held: Duration::ZERO, ..bounds(UNUSED / 12) }));
    let (_bench, models) = a_cut_ledger(&slots, &Environment::real());
    let other = slots.take(LedgerId([7; 16]), "notes", Instant::now()).unwrap();
    until_refused(&models, RecallRefusal::Places);
    slots.set_settled(other, true, Instant::now());
    assert!(slots.has_to_go(other, Instant::now()));
    slots.free(other);
    // Nobody asks meanwhile, and no event comes.
    let end = Instant::now() + Duration::from_secs(20);
    while *models.inner.published[0].recall.watch_position().borrow() == 0 {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(ask(&models, 0, "old").1);
}

#[test]
fn a_recalled_build_goes_when_another_ledger_waits_although_it_is_asked_for() {
    let slots = Arc::new(RecallSlots::new(RecallBounds { held: Duration::ZERO, ..bounds(UNUSED) }));
    let (bench, models) = a_cut_ledger(&slots, &Environment::real());
    assert!(ask(&models, 0, "old").1);
    let end = Instant::now() + UNUSED / 3;
    while slots.take(LedgerId([7; 16]), "notes", Instant::now()).is_err() {
        assert!(Instant::now() < end);
        bench.say("new");
        std::thread::sleep(Duration::from_millis(20));
    }
    until_refused(&models, RecallRefusal::Places);
}

#[test]
fn questions_about_rows_that_left_fold_no_more_often_than_may_be() {
    let bounds = RecallBounds { ledger_per_hour: 2, ..bounds(Duration::from_millis(200)) };
    let slots = Arc::new(RecallSlots::new(bounds));
    let (bench, models) = a_cut_ledger(&slots, &Environment::real());
    for _ in 0..2 {
        assert!(ask(&models, 0, "old").1);
        std::thread::sleep(Duration::from_millis(800));
    }
    let retry_after_s = until_refused(&models, RecallRefusal::Rate);
    assert!((3_500..=3_600).contains(&retry_after_s), "{retry_after_s}");
    // All else goes on.
    let head = bench.say("new");
    until(&models, "notes", is_settled);
    assert_eq!(ask(&models, head.get(), "new").0.2, Some(1));
}

#[test]
fn a_model_that_met_a_late_event_stands_while_the_disk_has_little_room() {
    const LEAST: u64 = 1_000;
    let slots = Arc::new(RecallSlots::new(RecallBounds { free_bytes: LEAST, ..bounds(UNUSED / 12) }));
    let real = Environment::real();
    let free = Arc::new(AtomicU64::new(2 * LEAST - 1));
    let disk = CrowdedDisk { disk: Arc::clone(&real.disk), free: Arc::clone(&free) };
    let (bench, models) = a_cut_ledger(&slots, &Environment { disk: Arc::new(disk), ..real });
    bench.say("old");
    until(&models, "notes", |status| status.late == 1);
    std::thread::sleep(Duration::from_millis(500));
    until(&models, "notes", |status| status.late == 1 && status.lag == 1);
    free.store(2 * LEAST, Ordering::SeqCst);
    // No event comes: it looks again by itself.
    until(&models, "notes", |status| status.late == 0 && is_settled(status));
}

#[test]
fn no_model_is_folded_again_from_content_that_is_about_to_expire() {
    let slots = Arc::new(RecallSlots::new(bounds(UNUSED)));
    let (bench, models) = a_cut_ledger(&slots, &Environment::real());
    let expired = bench.say("new");
    until(&models, "notes", is_settled);
    models.expire(expired);
    // One would go at once and begin again with each question, until no more may begin in this hour.
    for _ in 0..12 {
        assert!(ask_once(&models, 0, "old").answer.is_err());
        std::thread::sleep(Duration::from_millis(30));
    }
    // The log goes on behind the record of the expiry.
    bench.say("new");
    until(&models, "notes", is_settled);
    assert_eq!(ask(&models, 0, "new").0.2, Some(2));
}

#[test]
fn a_disk_with_little_room_has_no_model_folded_again() {
    const LEAST: u64 = 1_000;
    let bounds = RecallBounds { free_bytes: LEAST, ..bounds(UNUSED / 12) };
    let slots = Arc::new(RecallSlots::new(bounds));
    let real = Environment::real();
    let free = Arc::new(AtomicU64::new(2 * LEAST - 1));
    let disk = CrowdedDisk { disk: Arc::clone(&real.disk), free: Arc::clone(&free) };
    let (bench, models) = a_cut_ledger(&slots, &Environment { disk: Arc::new(disk), ..real });
    assert!(until_refused(&models, RecallRefusal::Disk) <= 2);
    free.store(2 * LEAST, Ordering::SeqCst);
    assert!(ask(&models, 0, "old").1);
    // It may become smaller than it has to be to begin.
    free.store(LEAST, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(400));
    assert!(ask(&models, 0, "old").1);
    free.store(LEAST - 1, Ordering::SeqCst);
    let retry_after_s = until_refused(&models, RecallRefusal::Disk);
    assert!((550..=600).contains(&retry_after_s), "{retry_after_s}");
    assert!(slots.take(LedgerId([7; 16]), "notes", Instant::now()).is_ok(), "its place is free");
    // No further attempt at once, however much is free.
    free.store(u64::MAX, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(400));
    until_refused(&models, RecallRefusal::Disk);
    let head = bench.say("new");
    until(&models, "notes", is_settled);
    assert_eq!(ask(&models, head.get(), "new").0.2, Some(1));
}
