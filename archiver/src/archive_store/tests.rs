//! The contract of every store of archives, folder and memory alike.

use super::*;

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| u8::try_from(index * 31 % 251).unwrap()).collect()
}

fn create(store: &dyn Objects, name: &str, content: &[u8]) -> Result<(), ArchiveStoreError> {
    store.create(name, content.len() as u64, &mut |offset, buffer| {
        let start = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&content[start..start + buffer.len()]);
        Ok(())
    })
}

/// Each kind of store, empty; the folder goes with what is returned.
fn stores() -> (tempfile::TempDir, Vec<ArchiveStore>) {
    let folder = tempfile::tempdir().unwrap();
    let place = ArchiveLocation::Folder(folder.path().join("a/b"));
    let url = ArchiveLocation::Store("s3://bucket/prefix".parse().unwrap());
    let stores =
        vec![ArchiveStore::at(place, StoreSettings::default()), ArchiveStore::in_memory(url).unwrap()];
    (folder, stores)
}

#[test]
fn what_was_written_is_read_in_ranges() {
    let (_folder, stores) = stores();
    // One piece, an exact one, and several with a rest.
    for bytes in [0, 1, TRANSFER_BYTES, 2 * TRANSFER_BYTES + 5] {
        let content = content(bytes);
        for store in &stores {
            let name = format!("x/{bytes}");
            create(store, &name, &content).unwrap();
            let version = store.version(&name).unwrap();
            assert_eq!(version.bytes, bytes as u64);
            assert!(version.tag.is_some());
            assert!(store.read(&name, &version, 0..bytes as u64).unwrap() == content, "{store:?} {bytes}");
            let middle = (bytes / 3, bytes / 3 * 2);
            let read = store.read(&name, &version, middle.0 as u64..middle.1 as u64).unwrap();
            assert!(read == content[middle.0..middle.1], "{store:?} {bytes}");
        }
    }
}

#[test]
fn a_name_that_is_taken_keeps_what_it_has() {
    let (_folder, stores) = stores();
    for store in &stores {
        let (first, other) = (content(100), content(TRANSFER_BYTES + 1));
        create(store, "x/y", &first).unwrap();
        for again in [&first, &content(7), &other] {
            let error = create(store, "x/y", again).unwrap_err();
            assert!(matches!(error, ArchiveStoreError::Exists { .. }), "{store:?}: {error}");
        }
        let version = store.version("x/y").unwrap();
        assert_eq!(store.read("x/y", &version, 0..100).unwrap(), first);
        // Nor is anything left of the larger one.
        assert_eq!(store.list("x").unwrap().objects, [("y".to_owned(), 100)]);
    }
}

#[test]
fn what_is_not_there_is_missing_and_an_empty_folder_is_empty() {
    let (_folder, stores) = stores();
    for store in &stores {
        assert!(matches!(store.version("x/y"), Err(ArchiveStoreError::Missing { .. })));
        let version = ObjectVersion { bytes: 10, tag: None };
        assert!(matches!(store.read("x/y", &version, 0..10), Err(ArchiveStoreError::Missing { .. })));
        assert_eq!(store.list("x").unwrap(), ObjectListing::default());
    }
}

#[test]
fn a_list_says_names_and_lengths_of_one_folder_alone() {
    let (_folder, stores) = stores();
    for store in &stores {
        for (name, bytes) in [("l/g1/b", 2), ("l/g1/a", 1), ("l/g2/c", 3), ("m/g1/d", 4)] {
            create(store, name, &content(bytes)).unwrap();
        }
        let listing = store.list("l").unwrap();
        assert_eq!((listing.folders, listing.objects), (vec!["g1".to_owned(), "g2".to_owned()], vec![]));
        let listing = store.list("l/g1").unwrap();
        assert_eq!(listing.objects, [("a".to_owned(), 1), ("b".to_owned(), 2)]);
        assert_eq!(listing.folders, [""; 0]);
    }
}

#[test]
fn an_object_that_is_another_one_by_now_is_not_read() {
    let (folder, stores) = stores();
    let store = &stores[0];
    create(store, "x/y", &content(100)).unwrap();
    let version = store.version("x/y").unwrap();
    let path = folder.path().join("a/b/x/y");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, content(100)).unwrap();
    // The file system may give the same time and number to both: another length is another version in any case.
    std::fs::write(&path, content(101)).unwrap();
    let error = store.read("x/y", &version, 0..100).unwrap_err();
    assert!(matches!(error, ArchiveStoreError::Changed { .. }), "{error}");
}

#[test]
fn a_range_past_the_end_is_cut_short() {
    let (_folder, stores) = stores();
    for store in &stores {
        create(store, "x/y", &content(100)).unwrap();
        let version = store.version("x/y").unwrap();
        let error = store.read("x/y", &version, 90..110).unwrap_err();
        let is_said =
            matches!(error, ArchiveStoreError::CutShort { offset: 90, expected: 20, found: 10, .. });
        assert!(is_said, "{error}");
        // Also where the version that was seen was longer, in a store without tags.
        let longer = ObjectVersion { bytes: 110, tag: None };
        assert!(store.read("x/y", &longer, 90..110).is_err());
    }
}

#[test]
fn what_cannot_be_read_leaves_nothing() {
    let (_folder, stores) = stores();
    for store in &stores {
        for bytes in [10, 3 * TRANSFER_BYTES as u64] {
            let mut pieces = 0;
            let error = store.create("x/y", bytes, &mut |_, _| {
                pieces += 1;
                if pieces == 1 && bytes > 10 { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
            });
            assert!(matches!(error, Err(ArchiveStoreError::Source { .. })), "{store:?}: {error:?}");
            assert!(matches!(store.version("x/y"), Err(ArchiveStoreError::Missing { .. })));
            assert_eq!(store.list("x").unwrap().objects, []);
        }
    }
}

#[test]
fn a_folder_that_may_not_be_written_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let store = ArchiveStore::at(ArchiveLocation::Folder(file), StoreSettings::default());
    assert!(matches!(store.check(), Err(StoreError::Folder { .. })));
    assert!(matches!(create(&store, "x/y", b"z"), Err(ArchiveStoreError::Open(StoreError::Folder { .. }))));
}

#[test]
fn reading_makes_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    let store = ArchiveStore::at(ArchiveLocation::Folder(path.clone()), StoreSettings::default());
    store.check().unwrap();
    assert!(matches!(store.version("x/y"), Err(ArchiveStoreError::Missing { .. })));
    assert_eq!(store.list("x").unwrap(), ObjectListing::default());
    assert!(!path.exists() && !folder.path().join("a").exists());
    create(&store, "x/y", b"z").unwrap();
    assert_eq!(store.list("x").unwrap().objects, [("y".to_owned(), 1)]);
}

#[test]
fn copies_under_names_of_unfinished_archives_are_removed() {
    let (_folder, stores) = stores();
    let archive = "00000000000000000001-00000000000000000256.bca";
    for store in &stores {
        assert_eq!(store.remove_leftovers("x").unwrap(), 0, "{store:?}");
        create(store, &format!("x/{archive}"), &content(7)).unwrap();
        create(store, &format!("x/{archive}{UNFINISHED}"), &content(7)).unwrap();
        create(store, "x/notes.unfinished", &content(7)).unwrap();
        assert_eq!(store.remove_leftovers("x").unwrap(), 1, "{store:?}");
        let left: Vec<_> = store.list("x").unwrap().objects.into_iter().map(|(name, _)| name).collect();
        assert_eq!(left, [archive, "notes.unfinished"]);
    }
}
