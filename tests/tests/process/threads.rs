//! Threads of work kept by a real service through `bitacora-client`, while the service is killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bitacora_client::{
    Backoff, ChannelVersion, CheckpointContext, CheckpointFilter, CheckpointSelector, CheckpointSource,
    Checkpoints, Client, ClientError, Content, ContentState, CopySelection, DeleteSelection, NewCheckpoint,
    ServiceUrl, TaskWrite, TaskWrites,
};
use bitacora_tests::service::ServiceFolder;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::PROGRAM;

fn place(folder: &tempfile::TempDir) -> ServiceFolder {
    ServiceFolder::new(PROGRAM, folder.path())
}

fn checkpoints(place: &ServiceFolder, backoff: Backoff) -> Checkpoints {
    let client = Client::new(ServiceUrl::Unix(place.socket()), "main".parse().unwrap(), None);
    client.with_backoff(backoff).checkpoints()
}

fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56).to_le_bytes()[0]
    };
    (0..bytes).map(|_| next()).collect()
}

fn wrote(task: &str, content: Content) -> TaskWrites {
    let write = TaskWrite { channel: "n".to_owned(), index: None, content };
    TaskWrites { task: task.to_owned(), writes: vec![write], ..TaskWrites::default() }
}

/// A step of a thread: its number in one channel, what the first step brought in another, and what led to it.
fn step(number: u64) -> NewCheckpoint {
    let mut new = NewCheckpoint::new(
        format!("c{number:03}"),
        i64::try_from(number).unwrap(),
        if number == 0 { CheckpointSource::Input } else { CheckpointSource::Loop },
    );
    new.metadata = Some(json!({"run_id": "r1"}));
    new.channel_versions = [("n", number), ("state", 0)]
        .map(|(name, version)| (name.to_owned(), ChannelVersion::Number(version)))
        .into();
    new.values.insert("n".to_owned(), Content::json(number.to_string()));
    if number == 0 {
        new.values.insert("state".to_owned(), Content::new("bytes", noise(20_000, 1)));
    } else {
        new.parent = Some(format!("c{:03}", number - 1));
        new.writes = vec![wrote("act", Content::new("bytes", noise(300, number)))];
    }
    new
}

#[test]
fn every_step_is_there_once_though_the_service_is_killed() {
    const THREADS: usize = 3;
    const STEPS: u64 = 60;
    let folder = tempfile::tempdir().unwrap();
    let place = place(&folder);
    let mut service = place.start().unwrap();
    let runtime = Runtime::new().unwrap();
    let is_done = Arc::new(AtomicBool::new(false));
    let saver = checkpoints(&place, Backoff::endless());
    let done = Arc::clone(&is_done);
    let work = runtime.spawn(async move {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let saver = saver.clone();
                tokio::spawn(async move {
                    for number in 0..STEPS {
                        let thread = format!("t{thread}");
                        let saved = saver.save(&thread, &step(number)).await.unwrap();
                        assert_ne!(saved.found, Some(false), "{thread} {number}");
                        // An answered save is found at once, also by a reader after a crash.
                        let newest =
                            saver.get(&thread, &CheckpointSelector::newest()).await.unwrap().unwrap();
                        assert_eq!(
                            (newest.saved.checkpoint, newest.saved.position),
                            (format!("c{number:03}"), saved.position)
                        );
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.await.unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    let mut kills = 0;
    while !is_done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(300));
        service.kill().unwrap();
        kills += 1;
        service = place.start().unwrap();
        assert!(kills < 200 && !work.is_finished() || is_done.load(Ordering::Relaxed));
    }
    runtime.block_on(work).unwrap();
    runtime.block_on(async {
        let reader = checkpoints(&place, Backoff::default());
        for thread in 0..THREADS {
            let thread = format!("t{thread}");
            let filter = CheckpointFilter {
                thread: Some(thread.clone()),
                limit: Some(7),
                ..CheckpointFilter::default()
            };
            let (mut ids, mut next) = (Vec::new(), None::<String>);
            loop {
                let page = reader.list(&filter, next.as_deref()).await.unwrap();
                ids.extend(page.checkpoints.into_iter().map(|one| one.checkpoint));
                next = page.next;
                if next.is_none() {
                    break;
                }
            }
            let expected: Vec<_> = (0..STEPS).rev().map(|number| format!("c{number:03}")).collect();
            assert_eq!(ids, expected, "after {kills} kills");
            for number in [0, 1, STEPS - 2] {
                let found = reader
                    .get(&thread, &CheckpointSelector::of(format!("c{number:03}")))
                    .await
                    .unwrap()
                    .unwrap();
                assert_eq!(found.values["n"], ContentState::Content(Content::json(number.to_string())));
                assert_eq!(
                    found.values["state"],
                    ContentState::Content(Content::new("bytes", noise(20_000, 1)))
                );
                let [written] = found.writes.as_slice() else { panic!("{:?}", found.writes) };
                assert_eq!(
                    written.held,
                    ContentState::Content(Content::new("bytes", noise(300, number + 1)))
                );
            }
        }
        // Each step is one event, however often it was sent.
        let client = Client::new(ServiceUrl::Unix(place.socket()), "main".parse().unwrap(), None);
        let saved: serde_json::Value = client.get("events?type=checkpoint.saved&limit=1000").await.unwrap();
        assert_eq!(
            saved["events"].as_array().unwrap().len(),
            THREADS * usize::try_from(STEPS).unwrap(),
            "after {kills} kills"
        );
    });
    assert!(kills > 0 && service.terminate().unwrap().success());
}

#[test]
fn what_is_large_goes_ahead_and_is_read_piece_by_piece() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(&folder);
    let mut service = place.start().unwrap();
    Runtime::new().unwrap().block_on(async {
        let threads = checkpoints(&place, Backoff::default());
        let large = Content::new("bytes", noise(9 << 20, 2));
        let mut new = step(0);
        new.values.insert("large".to_owned(), large.clone());
        for (name, seed) in [("a", 3), ("b", 4), ("c", 5)] {
            new.values.insert(name.to_owned(), Content::new("bytes", noise(1_500_000, seed)));
        }
        new.channel_versions.insert("large".to_owned(), ChannelVersion::Text("0001.0.5".to_owned()));
        threads.save("t/ü?", &new).await.unwrap();
        let mut next = step(1);
        next.channel_versions.insert("large".to_owned(), ChannelVersion::Text("0001.0.5".to_owned()));
        threads.save("t/ü?", &next).await.unwrap();
        let found = threads.get("t/ü?", &CheckpointSelector::newest()).await.unwrap().unwrap();
        let ContentState::Large(held) = &found.values["large"] else { panic!("{:?}", found.values.keys()) };
        assert_eq!((held.encoding(), held.bytes()), (Some("bytes"), 9 << 20));
        assert!(threads.read(held).await.unwrap() == ContentState::Content(large));
        let first = threads.get("t/ü?", &CheckpointSelector::of("c000")).await.unwrap().unwrap();
        for (name, seed) in [("a", 3), ("b", 4), ("c", 5)] {
            let held = match &first.values[name] {
                ContentState::Large(large) => threads.read(large).await.unwrap(),
                held => held.clone(),
            };
            assert!(held == ContentState::Content(Content::new("bytes", noise(1_500_000, seed))), "{name}");
        }
        let too_large = Content::new("bytes", vec![0; (64 << 20) + 1]);
        new.values.insert("large".to_owned(), too_large);
        let refused = threads.save("t/ü?", &new).await.unwrap_err();
        assert!(matches!(refused, ClientError::TooLarge { .. }), "{refused}");
    });
    assert!(service.terminate().unwrap().success());
}

#[test]
fn threads_are_written_copied_forked_and_deleted_and_what_is_not_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(&folder);
    let mut service = place.start().unwrap();
    Runtime::new().unwrap().block_on(async {
        let threads = checkpoints(&place, Backoff::default());
        assert!(threads.get("t", &CheckpointSelector::newest()).await.unwrap().is_none());
        let task = wrote("early", Content::json("1"));
        let ahead = threads.write("t", "", "c000", &task, &CheckpointContext::default()).await.unwrap();
        assert_eq!(ahead.found, Some(false));
        let mut first = step(0);
        (first.document, first.about.run) = (Some(json!({"v": 4})), Some("r1".to_owned()));
        let saved = threads.save("t", &first).await.unwrap();
        let again = threads.save("t", &first).await.unwrap();
        assert_eq!((again.position, again.repeated), (saved.position, true));
        let task = wrote("late", Content::json("2"));
        let written = threads.write("t", "", "c000", &task, &CheckpointContext::default()).await.unwrap();
        assert_eq!(written.found, Some(true));
        let found = threads.get("t", &CheckpointSelector::newest()).await.unwrap().unwrap();
        assert_eq!(
            found.writes.iter().map(|one| (&*one.task, one.index)).collect::<Vec<_>>(),
            [("early", 0), ("late", 0)]
        );
        assert_eq!(found.document.unwrap().get(), r#"{"v":4}"#);
        assert_eq!((&*found.saved.source, found.saved.run.as_deref()), ("input", Some("r1")));
        threads
            .fork("t", &CheckpointSelector::newest(), "c009", Some(&json!({"why": "another way"})))
            .await
            .unwrap();
        let fork = threads.get("t", &CheckpointSelector::newest()).await.unwrap().unwrap();
        assert_eq!(
            (&*fork.saved.checkpoint, &*fork.saved.source, fork.parent_found),
            ("c009", "fork", Some(true))
        );
        assert_eq!((fork.saved.metadata, &fork.values), (Some(json!({"why": "another way"})), &found.values));
        threads
            .copy("t", "u", &CopySelection { namespace: None, checkpoint: Some("c000".to_owned()) })
            .await
            .unwrap();
        let taken = threads.copy("t", "u", &CopySelection::default()).await.unwrap_err();
        assert_eq!(taken.code(), Some("thread-taken"), "{taken}");
        let listed = |filter: CheckpointFilter| {
            let threads = threads.clone();
            async move {
                let page = threads.list(&filter, None).await.unwrap();
                page.checkpoints
                    .iter()
                    .map(|one| format!("{}{}", one.thread, one.checkpoint))
                    .collect::<Vec<_>>()
                    .join(" ")
            }
        };
        assert_eq!(listed(CheckpointFilter::default()).await, "uc000 tc009 tc000");
        let filter =
            CheckpointFilter { metadata: Some(json!({"run_id": "r1"})), ..CheckpointFilter::default() };
        assert_eq!(listed(filter).await, "uc000 tc000");
        threads.delete("t", &DeleteSelection::AllButNewest).await.unwrap();
        assert_eq!(listed(CheckpointFilter::default()).await, "uc000 tc009");
        threads
            .delete("t", &DeleteSelection::One { namespace: String::new(), checkpoint: "c009".to_owned() })
            .await
            .unwrap();
        threads.delete("u", &DeleteSelection::Thread).await.unwrap();
        assert_eq!(listed(CheckpointFilter::default()).await, "");
        let gone = threads.delete("u", &DeleteSelection::Thread).await.unwrap_err();
        assert_eq!(gone.code(), Some("no-such-checkpoint"), "{gone}");
    });
    assert!(service.terminate().unwrap().success());
}
