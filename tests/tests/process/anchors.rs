//! Tests of the promises of every anchor, and of an anchor in an object store that fails.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bitacora_archiver::ObjectAnchor;
use bitacora_formats::LedgerName;
use bitacora_ledger::{Anchor, AnchorError, FolderAnchor, RealDisk};
use bitacora_tests::loopback_s3::{LoopbackS3, S3Fault, S3Request};

/// Longer than an anchor in a store is waited for, and shorter than somebody waits for a service to end.
const PATIENCE: Duration = Duration::from_secs(9);

const FIRST: &str = "o\n1\nfirst";
const SECOND: &str = "o\n2\nsecond";
const THIRD: &str = "o\n3\nthird";

fn main() -> LedgerName {
    "main".parse().unwrap()
}

fn in_store(store: &LoopbackS3) -> ObjectAnchor {
    let settings = store.environment().into_iter().collect();
    ObjectAnchor::open(store.url("anchors").parse().unwrap(), &settings).unwrap()
}

/// One of each kind, each with nothing stored, and what it lies in.
fn each_kind(check: impl Fn(&str, Arc<dyn Anchor>)) {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = FolderAnchor::new(Arc::new(RealDisk), &folder.path().join("anchors"));
    check("folder", Arc::new(in_folder));
    let in_memory = ObjectAnchor::in_memory("s3://memory/anchors".parse().unwrap()).unwrap();
    check("memory", Arc::new(in_memory));
    let store = LoopbackS3::start().unwrap();
    check("store", Arc::new(in_store(&store)));
}

fn is_moved(swapped: Result<(), AnchorError>, there: Option<&str>) -> bool {
    matches!(swapped, Err(AnchorError::Moved { found, .. }) if found.as_deref() == there)
}

fn is_unreachable<T>(answer: &Result<T, AnchorError>) -> bool {
    matches!(answer, Err(AnchorError::Unreachable { .. }))
}

#[test]
fn a_swap_with_another_head_than_the_stored_one_is_refused() {
    each_kind(|kind, anchor| {
        let (main, other) = (main(), "other".parse().unwrap());
        assert_eq!(anchor.load(&main).unwrap(), None, "{kind}");
        assert!(is_moved(anchor.swap(&main, Some(FIRST), SECOND), None), "{kind}");
        anchor.swap(&main, None, FIRST).unwrap();
        assert_eq!(anchor.load(&main).unwrap().as_deref(), Some(FIRST), "{kind}");
        for expected in [None, Some(SECOND)] {
            for head in [FIRST, THIRD] {
                assert!(is_moved(anchor.swap(&main, expected, head), Some(FIRST)), "{kind} {expected:?}");
            }
        }
        anchor.swap(&main, Some(FIRST), SECOND).unwrap();
        anchor.swap(&main, Some(SECOND), FIRST).unwrap();
        anchor.swap(&main, Some(FIRST), THIRD).unwrap();
        assert_eq!(anchor.load(&main).unwrap().as_deref(), Some(THIRD), "{kind}");
        assert_eq!(anchor.load(&other).unwrap(), None, "{kind}: each ledger has its own");
        anchor.swap(&other, None, FIRST).unwrap();
        assert_eq!(anchor.load(&main).unwrap().as_deref(), Some(THIRD), "{kind}");
    });
}

#[test]
fn of_many_who_read_the_same_one_moves_an_anchor() {
    each_kind(|kind, anchor| {
        let main = main();
        anchor.swap(&main, None, "o\n0\nbegin").unwrap();
        for round in 0..5 {
            let before = anchor.load(&main).unwrap();
            let swaps: Vec<_> = (0..4)
                .map(|one| {
                    let (anchor, main, before) = (Arc::clone(&anchor), main.clone(), before.clone());
                    let head = format!("o\n{round}\nby {one}");
                    thread::spawn(move || anchor.swap(&main, before.as_deref(), &head).map(|()| head))
                })
                .collect();
            let swapped: Vec<_> = swaps.into_iter().map(|swap| swap.join().unwrap()).collect();
            let won: Vec<_> = swapped.into_iter().filter_map(Result::ok).collect();
            assert_eq!(won.len(), 1, "{kind} {round}: {won:?}");
            assert_eq!(anchor.load(&main).unwrap(), won.first().cloned(), "{kind} {round}");
        }
    });
}

#[test]
fn the_object_is_the_file_that_a_folder_would_hold() {
    let store = LoopbackS3::start().unwrap();
    in_store(&store).swap(&main(), None, FIRST).unwrap();
    assert_eq!(store.object("anchors/main.head").as_deref(), Some(FIRST.as_bytes()));
}

#[test]
fn a_write_whose_answer_was_lost_is_found_done_and_is_not_another_ones() {
    let store = LoopbackS3::start().unwrap();
    let anchor = in_store(&store);
    anchor.swap(&main(), None, FIRST).unwrap();
    store.fail(S3Request::Write, S3Fault::CutAfter, 1);
    anchor.swap(&main(), Some(FIRST), SECOND).unwrap();
    assert_eq!(anchor.load(&main()).unwrap().as_deref(), Some(SECOND));
    // The first one of all, whose answers are all lost: with effect, and who asks again is told what is there.
    let store = LoopbackS3::start().unwrap();
    let anchor = in_store(&store);
    store.fail(S3Request::Write, S3Fault::Slow(Duration::from_secs(6)), 4);
    let lost = anchor.swap(&main(), None, FIRST);
    assert!(is_unreachable(&lost), "{lost:?}");
    store.heal();
    assert!(is_moved(anchor.swap(&main(), None, SECOND), Some(FIRST)));
}

#[test]
fn what_fails_once_is_repeated_and_what_goes_on_failing_is_unreachable_in_time() {
    let store = LoopbackS3::start().unwrap();
    let anchor = in_store(&store);
    anchor.swap(&main(), None, FIRST).unwrap();
    for fault in [S3Fault::Status(500), S3Fault::Status(503), S3Fault::CutBefore] {
        for request in [S3Request::Read, S3Request::Write] {
            store.fail(request, fault, 1);
        }
        anchor.swap(&main(), Some(FIRST), SECOND).unwrap();
        anchor.swap(&main(), Some(SECOND), FIRST).unwrap();
    }
    let writes = store.writes();
    for fault in [S3Fault::Status(500), S3Fault::Status(403), S3Fault::CutBefore, S3Fault::Slow(PATIENCE)] {
        store.fail(S3Request::Read, fault, u32::MAX);
        let began = Instant::now();
        let loaded = anchor.load(&main());
        assert!(is_unreachable(&loaded), "{fault:?}: {loaded:?}");
        let swapped = anchor.swap(&main(), Some(FIRST), SECOND);
        assert!(is_unreachable(&swapped), "{fault:?}: {swapped:?}");
        assert!(began.elapsed() < 2 * PATIENCE, "{fault:?}");
        store.heal();
    }
    store.fail(S3Request::Write, S3Fault::Status(412), u32::MAX);
    let refused = anchor.swap(&main(), Some(FIRST), SECOND);
    assert!(is_unreachable(&refused), "a refusal of what holds says nothing of others: {refused:?}");
    store.heal();
    assert_eq!(store.writes(), writes);
    store.set_down(true);
    assert!(is_unreachable(&anchor.load(&main())));
    store.set_down(false);
    anchor.swap(&main(), Some(FIRST), SECOND).unwrap();
}

#[test]
fn no_answer_is_taken_whole_that_is_too_large() {
    let store = LoopbackS3::start().unwrap();
    let anchor = in_store(&store);
    store.put("anchors/main.head", &vec![b'x'; 600 * 1024]);
    let error = anchor.load(&main()).unwrap_err().to_string();
    assert!(error.contains("a tree head has at most"), "{error}");
    for status in [200, 400, 404] {
        store.fail(S3Request::Read, S3Fault::Huge(status), 1);
        let began = Instant::now();
        let loaded = anchor.load(&main());
        let is_told = is_unreachable(&loaded) || matches!(loaded, Err(AnchorError::Damaged { .. }));
        assert!(is_told, "{status}: {loaded:?}");
        assert!(loaded.unwrap_err().to_string().len() < 1_000, "{status}");
        assert!(began.elapsed() < PATIENCE, "{status}");
    }
    store.put("anchors/main.head", b"\xff\xfe");
    let loaded = anchor.load(&main());
    assert!(matches!(loaded, Err(AnchorError::Damaged { .. })), "what is no text is damage: {loaded:?}");
}

#[test]
fn a_bucket_that_is_not_there_does_not_remember_nothing() {
    let store = LoopbackS3::start().unwrap();
    let settings = store.environment().into_iter().collect();
    let anchor = ObjectAnchor::open("s3://elsewhere/anchors".parse().unwrap(), &settings).unwrap();
    let error = anchor.load(&main()).unwrap_err();
    assert!(error.to_string().contains("no such bucket"), "{error}");
    assert!(is_unreachable(&anchor.swap(&main(), None, FIRST)));
}

#[test]
fn a_store_that_ignores_conditions_is_found_out_before_a_head_is_entrusted_to_it() {
    let store = LoopbackS3::start().unwrap();
    store.ignore_conditions();
    store.put("anchors/main.head", FIRST.as_bytes());
    let error = in_store(&store).swap(&main(), Some(FIRST), SECOND).unwrap_err();
    assert!(error.to_string().contains("needs conditional writes"), "{error}");
    assert_eq!(store.object("anchors/main.head").as_deref(), Some(FIRST.as_bytes()));
    let error = in_store(&store).swap(&"new".parse().unwrap(), None, FIRST).unwrap_err();
    assert!(error.to_string().contains("needs conditional writes"), "{error}");
    // One that says so itself.
    let settings = store.environment().into_iter();
    let settings = settings.chain([("AWS_CONDITIONAL_PUT".to_owned(), "disabled".to_owned())]).collect();
    let anchor = ObjectAnchor::open(store.url("anchors").parse().unwrap(), &settings).unwrap();
    let error = anchor.swap(&main(), Some(FIRST), SECOND).unwrap_err();
    assert!(error.to_string().contains("needs conditional writes"), "{error}");
}

#[test]
fn a_store_that_gives_no_versions_of_objects_moves_no_head() {
    let store = LoopbackS3::start().unwrap();
    store.withhold_tags();
    store.put("anchors/main.head", FIRST.as_bytes());
    let anchor = in_store(&store);
    let told = [anchor.load(&main()).map(|_| ()), anchor.swap(&main(), Some(FIRST), SECOND)];
    for error in told.map(Result::unwrap_err) {
        assert!(error.to_string().contains("gives no versions (ETags)"), "{error}");
    }
    assert_eq!((store.writes(), store.object("anchors/main.head")), (1, Some(FIRST.as_bytes().to_vec())));
}
