//! Objects of archives in an S3 store over a connection, also with failures, short and slow answers.

use bitacora_archiver::{ArchiveLocation, ArchiveStore, ArchiveStoreError, Objects, StoreSettings};
use bitacora_tests::loopback_s3::{LoopbackS3, S3Fault, S3Request};

/// More than is sent by one request.
const LARGE_BYTES: usize = 20 * 1024 * 1024;

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| u8::try_from(index * 31 % 251).unwrap()).collect()
}

fn store(s3: &LoopbackS3) -> ArchiveStore {
    let settings: StoreSettings = s3.environment().into_iter().collect();
    ArchiveStore::at(ArchiveLocation::Store(s3.url("cold").parse().unwrap()), settings)
}

fn create(store: &ArchiveStore, name: &str, content: &[u8]) -> Result<(), ArchiveStoreError> {
    store.create(name, content.len() as u64, &mut |offset, buffer| {
        let start = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&content[start..start + buffer.len()]);
        Ok(())
    })
}

#[test]
fn small_and_large_objects_are_kept_whole_and_read_in_ranges() {
    let s3 = LoopbackS3::start().unwrap();
    let store = store(&s3);
    for bytes in [3, LARGE_BYTES] {
        let (name, content) = (format!("l/g1/{bytes}"), content(bytes));
        create(&store, &name, &content).unwrap();
        assert!(s3.object(&format!("cold/{name}")).unwrap() == content);
        let version = store.version(&name).unwrap();
        assert!(store.read(&name, &version, 0..bytes as u64).unwrap() == content);
        assert_eq!(store.read(&name, &version, 1..3).unwrap(), content[1..3]);
        // A second time is refused, whichever way it is written.
        for again in [5, LARGE_BYTES] {
            let error = create(&store, &name, &self::content(again)).unwrap_err();
            assert!(matches!(error, ArchiveStoreError::Exists { .. }), "{error}");
        }
        assert!(s3.object(&format!("cold/{name}")).unwrap() == content);
    }
    // Nothing unfinished is left, as an upload or under another name.
    assert_eq!((s3.unfinished_uploads(), s3.names().len()), (0, 2));
    let listed = store.list("l/g1").unwrap();
    assert_eq!(listed.objects, [(LARGE_BYTES.to_string(), LARGE_BYTES as u64), ("3".to_owned(), 3)]);
    assert_eq!(store.list("l").unwrap().folders, ["g1"]);
    assert_eq!(store.list("none").unwrap().objects, []);
}

#[test]
fn an_object_that_was_replaced_is_noticed() {
    let s3 = LoopbackS3::start().unwrap();
    let store = store(&s3);
    create(&store, "x", &content(100)).unwrap();
    let version = store.version("x").unwrap();
    s3.put("cold/x", &content(100));
    let error = store.read("x", &version, 0..100).unwrap_err();
    assert!(matches!(error, ArchiveStoreError::Changed { .. }), "{error}");
    s3.remove("cold/x");
    let error = store.read("x", &version, 0..100).unwrap_err();
    assert!(matches!(error, ArchiveStoreError::Missing { .. }), "{error}");
}

#[test]
fn a_store_that_fails_for_a_moment_is_asked_again() {
    let s3 = LoopbackS3::start().unwrap();
    let store = store(&s3);
    s3.fail(S3Request::Write, S3Fault::Status(503), 1);
    create(&store, "x", &content(100)).unwrap();
    let version = store.version("x").unwrap();
    s3.fail(S3Request::Read, S3Fault::Status(503), 1);
    assert_eq!(store.read("x", &version, 0..100).unwrap(), content(100));
}

#[test]
fn a_lost_answer_is_no_object_that_somebody_else_made() {
    let s3 = LoopbackS3::start().unwrap();
    let store = store(&s3);
    s3.fail(S3Request::Write, S3Fault::CutAfter, 1);
    // It was made; whether by us, who reads it back knows.
    match create(&store, "x", &content(100)) {
        Ok(()) | Err(ArchiveStoreError::Exists { .. } | ArchiveStoreError::Failed { .. }) => {}
        Err(other) => panic!("{other}"),
    }
    assert_eq!(s3.object("cold/x").unwrap(), content(100));
}

#[test]
fn a_store_that_is_down_or_says_too_much_is_an_error() {
    let s3 = LoopbackS3::start().unwrap();
    let store = store(&s3);
    create(&store, "x", &content(100)).unwrap();
    let version = store.version("x").unwrap();
    s3.fail(S3Request::Read, S3Fault::Huge(200), 10);
    assert!(store.read("x", &version, 0..100).is_err());
    s3.heal();
    s3.fail(S3Request::Read, S3Fault::Status(403), 10);
    let error = store.read("x", &version, 0..100).unwrap_err();
    assert!(matches!(error, ArchiveStoreError::Refused { .. }), "{error}");
    s3.heal();
    s3.set_down(true);
    assert!(matches!(store.read("x", &version, 0..100), Err(ArchiveStoreError::Failed { .. })));
    assert!(matches!(create(&store, "y", &content(9)), Err(ArchiveStoreError::Failed { .. })));
    s3.set_down(false);
    assert_eq!(store.read("x", &version, 0..100).unwrap(), content(100));
}

#[test]
fn an_upload_that_breaks_off_leaves_no_object() {
    let s3 = LoopbackS3::start().unwrap();
    let store = store(&s3);
    // Every request that writes, one after the other, is refused for good.
    for refused in 0..4 {
        let name = format!("x{refused}");
        let mut pieces = 0;
        let content = content(LARGE_BYTES);
        let written = store.create(&name, content.len() as u64, &mut |offset, buffer| {
            let start = usize::try_from(offset).unwrap();
            buffer.copy_from_slice(&content[start..start + buffer.len()]);
            if pieces == refused {
                s3.fail(S3Request::Write, S3Fault::Status(403), 1);
            }
            pieces += 1;
            Ok(())
        });
        assert_eq!(written.is_ok(), refused == 3, "{written:?}");
        assert_eq!(s3.object(&format!("cold/{name}")).is_some(), refused == 3);
        assert_eq!(s3.unfinished_uploads(), 0);
    }
}
