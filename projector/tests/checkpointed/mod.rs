//! The events that executors of graphs leave behind, and all questions about them.

use bitacora_formats::{Data, Event, Json};
use bitacora_projector::{CheckpointQuery, ReadModels};
use bitacora_vocabulary::{CHECKPOINT_BLOB, CHECKPOINT_SOURCE};

/// Returns a stand-in for the digest of a content.
pub(crate) fn digest(content: &str) -> String {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in content.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{state:064x}")
}

/// A piece of content.
pub(crate) fn blob(content: &str) -> Event<'static> {
    let mut event = Event::new(digest(content), CHECKPOINT_SOURCE, CHECKPOINT_BLOB, "checkpoints");
    event.data = Data::Binary(content.as_bytes().to_vec().into());
    event
}

/// An event about checkpoints.
pub(crate) fn told(id: String, kind: &'static str, data: String) -> Event<'static> {
    let mut event = Event::new(id, "urn:test", kind, "threads");
    event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
    event
}

/// Returns the events of one session: a checkpoint of one of five threads, with writes, and now and then a copy or a deletion.
pub(crate) fn session(session: u64) -> Vec<Event<'static>> {
    let (thread, content) = (session % 5, format!("content {}", session % 11));
    let mut number = 0;
    let mut event = |kind: &'static str, data: String| {
        number += 1;
        told(format!("k{session}-{number}"), kind, data)
    };
    let digest = digest(&content);
    let blob_of = |channel: &str| {
        format!(
            r#"{{"channel":"{channel}","encoding":"text","digest":"{digest}","bytes":{}}}"#,
            content.len()
        )
    };
    let parent = session.saturating_sub(5);
    let mut events = vec![
        event(
            "checkpoint.saved",
            format!(
                r#"{{"thread":"t{thread}","namespace":"{}","checkpoint":"c{session:04}","parent":"c{parent:04}","step":{session},"source":"loop","channel_versions":{{"a":{session},"b":1,"empty":"v"}},"blobs":[{},{{"channel":"b","inline":"00ff","bytes":2}}],"metadata":{{"odd":{}}},"document":{{"v":4}}}}"#,
                if session.is_multiple_of(3) { "sub" } else { "" },
                blob_of("a"),
                session % 2
            ),
        ),
        event(
            "checkpoint.writes",
            format!(
                r#"{{"thread":"t{thread}","checkpoint":"c{session:04}","task":"act","path":"p{}","writes":[{},{}]}}"#,
                session % 3,
                blob_of("x"),
                blob_of("y")
            ),
        ),
    ];
    match session % 17 {
        3 => events
            .push(event("checkpoint.copied", format!(r#"{{"thread":"t{thread}","to":"copy{session}"}}"#))),
        7 => events
            .push(event("checkpoint.deleted", format!(r#"{{"thread":"t{thread}","keep_newest":true}}"#))),
        11 => events.push(event("checkpoint.deleted", format!(r#"{{"thread":"t{thread}"}}"#))),
        13 => events.push(event(
            "checkpoint.deleted",
            format!(r#"{{"thread":"t{thread}","checkpoint":"c{session:04}"}}"#),
        )),
        _ => {}
    }
    // One in eleven is named before it is recorded, and stays missing.
    if session.is_multiple_of(11) {
        events.push(blob(&content));
    } else {
        events.insert(0, blob(&content));
    }
    events
}

/// Everything that can be asked about checkpoints.
pub(crate) fn answers(models: &ReadModels) -> String {
    let all = CheckpointQuery { limit: 10_000, ..CheckpointQuery::default() };
    let all = models.checkpoints(&all).unwrap().checkpoints;
    let threads: std::collections::BTreeSet<_> = all.iter().map(|one| one.thread.clone()).collect();
    let mut answers = format!("{all:?}");
    for thread in threads {
        let of_thread =
            CheckpointQuery { thread: Some(thread.clone()), limit: 10_000, ..CheckpointQuery::default() };
        for found in models.checkpoints(&of_thread).unwrap().checkpoints {
            let one =
                models.checkpoint(&thread, &found.namespace, Some(&found.checkpoint)).unwrap().0.unwrap();
            let contents = one.checkpoint.channels.iter().filter_map(|channel| channel.value.as_ref());
            let contents = contents.chain(one.writes.iter().map(|write| &write.content));
            let held: Vec<_> = contents.map(|content| models.content(content).unwrap()).collect();
            let document = models.checkpoint_document(&one.checkpoint).unwrap();
            answers += &format!("{one:?} {held:?} {document:?}");
        }
        for namespace in ["", "sub"] {
            let newest = models.checkpoint(&thread, namespace, None).unwrap().0;
            answers += &format!("{:?}", newest.map(|newest| newest.checkpoint.checkpoint));
        }
    }
    answers
}
