//! Executors that talk to a real service through the crate `bitacora-client`.
//! They send events of many tasks while the service is killed, have calls decided, and follow a ledger from a cursor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bitacora_client::{
    AppendFailure, Appender, AppenderOptions, Backoff, CallRequest, Client, ClientError, Cursor, CursorError,
    FollowError, FollowItem, FollowStream, OutcomeReport, OutcomeStatus, ReceiptState, ServiceUrl, Verdict,
};
use bitacora_formats::{After, Data, Event, Json};
use bitacora_tests::service::ServiceFolder;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::PROGRAM;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn event(id: &str, kind: &'static str, data: &str) -> Event<'static> {
    let mut event = Event::new(id.to_owned(), "urn:executors", kind, "work");
    event.data = Data::Json(Json::check(data.as_bytes().to_vec()).unwrap());
    event
}

fn client(place: &ServiceFolder) -> Client {
    Client::new(ServiceUrl::Unix(place.socket()), "main".parse().unwrap(), None)
}

fn place(folder: &tempfile::TempDir) -> ServiceFolder {
    ServiceFolder::new(PROGRAM, folder.path())
}

/// The ids of the events that were given, up to where everything durable was.
async fn ids_up_to_the_edge(following: &mut FollowStream) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        match timeout(PATIENCE, following.next()).await.unwrap().unwrap() {
            FollowItem::Event { line, .. } => {
                let stored: Value = serde_json::from_slice(&line).unwrap();
                let id = stored["event"]["id"].as_str().or(stored["id"].as_str());
                ids.push(id.unwrap().to_owned());
            }
            FollowItem::CaughtUp { .. } => return ids,
            FollowItem::Away { .. } | FollowItem::Back => {}
        }
    }
}

#[test]
fn events_of_many_tasks_are_there_once_and_in_order_though_the_service_is_killed() {
    const TASKS: usize = 6;
    const EVENTS: usize = 150;
    let folder = tempfile::tempdir().unwrap();
    let place = place(&folder);
    let mut service = place.start().unwrap();
    let runtime = Runtime::new().unwrap();
    let patient = client(&place).with_backoff(Backoff::endless());
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let work = runtime.spawn(async move {
        let options = AppenderOptions { request_events: 40, queue_events: 64 };
        let (appender, ended) = Appender::start(patient, options);
        let tasks = (0..TASKS).map(|task| {
            let appender = appender.clone();
            tokio::spawn(async move {
                for number in 0..EVENTS {
                    let event = event(&format!("{task}.{number:03}"), "x.noted", "{}");
                    appender.append(&event).await.unwrap();
                }
            })
        });
        let tasks: Vec<_> = tasks.collect();
        drop(appender);
        for task in tasks {
            task.await.unwrap();
        }
        ended.await.unwrap();
        done.store(true, Ordering::Relaxed);
    });
    let mut kills = 0;
    while !is_done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(150));
        service.kill().unwrap();
        kills += 1;
        service = place.start().unwrap();
        assert!(kills < 200 && !work.is_finished() || is_done.load(Ordering::Relaxed));
    }
    runtime.block_on(work).unwrap();
    let ids = runtime.block_on(async {
        let mut following = client(&place).follow("type=x.noted", None).unwrap();
        ids_up_to_the_edge(&mut following).await
    });
    assert_eq!(ids.len(), TASKS * EVENTS, "after {kills} kills");
    for task in 0..TASKS {
        let own: Vec<&String> = ids.iter().filter(|id| id.starts_with(&format!("{task}."))).collect();
        assert!(own.is_sorted() && own.len() == EVENTS, "{own:?}");
    }
    assert!(kills > 0 && service.terminate().unwrap().success());
}

#[test]
fn one_event_that_is_refused_fails_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(&folder);
    let mut service = place.start().unwrap();
    Runtime::new().unwrap().block_on(async {
        let (appender, ended) = Appender::start(client(&place), AppenderOptions::default());
        let mut answers = Vec::new();
        for number in 0..20 {
            let (kind, data) =
                if number == 13 { ("coverage.gap", r#"{"missing":"a lot"}"#) } else { ("x.noted", "{}") };
            answers.push(appender.queue(&event(&format!("e{number}"), kind, data)).await.unwrap());
        }
        for (number, answer) in answers.into_iter().enumerate() {
            match answer.await.unwrap() {
                Ok(receipt) => {
                    assert!(number != 13 && receipt.status == ReceiptState::Created, "{receipt:?}");
                }
                Err(AppendFailure::Failed(error)) => {
                    assert_eq!((number, error.code()), (13, Some("schema")), "{error}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        // The same event again is where it was; other content under its id is refused.
        let again = appender.append(&event("e1", "x.noted", "{}")).await.unwrap();
        assert_eq!(again.status, ReceiptState::Duplicate);
        let other = appender.append(&event("e1", "x.noted", "[1]")).await.unwrap_err();
        assert!(
            matches!(&other, AppendFailure::Failed(error) if error.code() == Some("id-reused")),
            "{other}"
        );
        drop(appender);
        ended.await.unwrap();
    });
    assert!(service.terminate().unwrap().success());
}

#[test]
fn calls_are_decided_and_told_and_without_an_answer_nothing_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(&folder);
    let mut service = place.start().unwrap();
    let runtime = Runtime::new().unwrap();
    let executor = client(&place).with_backoff(Backoff::with_retries(1));
    runtime.block_on(async {
        let mut call = CallRequest::new("c1", "shell").with_args(r#"{"command":"ls"}"#).unwrap();
        (call.agent, call.task_type) = (Some("coder".to_owned()), Some("fix".to_owned()));
        let decision = executor.decide(&call).await.unwrap();
        assert!(!decision.is_allowed() && decision.verdict == Verdict::Deny, "{decision:?}");
        assert_eq!(decision.reason_code, "tool-unknown");
        // The same request is answered as the first time.
        assert_eq!(executor.decide(&call).await.unwrap().position, decision.position);
        let mut report = OutcomeReport::new("c1", OutcomeStatus::Blocked);
        report.agent = Some("coder".to_owned());
        let told = executor.outcome(&report).await.unwrap();
        assert!(told.position.parse::<u64>().unwrap() > decision.position.parse().unwrap());
        assert!(CallRequest::new("c2", "shell").with_args("{").is_err());
    });
    assert!(service.terminate().unwrap().success());
    let refused = runtime.block_on(executor.decide(&CallRequest::new("c3", "shell")));
    assert!(matches!(refused, Err(ClientError::Connect { .. })), "{refused:?}");
}

#[test]
fn who_follows_from_a_cursor_misses_nothing_and_is_given_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(&folder);
    let mut service = place.start().unwrap();
    let runtime = Runtime::new().unwrap();
    let cursor = Cursor::at(folder.path().join("cursor"));
    let append = |from: usize, to: usize| {
        let events: Vec<_> =
            (from..to).map(|number| event(&format!("n{number:03}"), "x.noted", "{}")).collect();
        runtime.block_on(client(&place).append(&events)).unwrap();
    };
    let names =
        |range: std::ops::Range<usize>| range.map(|number| format!("n{number:03}")).collect::<Vec<_>>();
    append(0, 30);
    let mut following = client(&place).follow("type=x.noted", Some(cursor.clone())).unwrap();
    assert_eq!(runtime.block_on(ids_up_to_the_edge(&mut following)), names(0..30));
    following.handled().unwrap();
    // Across a restart of the service, with the same connection.
    service.kill().unwrap();
    service = place.start().unwrap();
    append(30, 50);
    let mut given = Vec::new();
    while given.len() < 20 {
        given.extend(runtime.block_on(ids_up_to_the_edge(&mut following)));
    }
    assert_eq!(given, names(30..50));
    // Those were not noted: they come again to who goes on from the cursor.
    let mut following = client(&place).follow("type=x.noted", Some(cursor.clone())).unwrap();
    assert_eq!(runtime.block_on(ids_up_to_the_edge(&mut following)), names(30..50));
    following.handled().unwrap();
    let mut following = client(&place).follow("type=x.noted", Some(cursor.clone())).unwrap();
    assert_eq!(runtime.block_on(ids_up_to_the_edge(&mut following)), Vec::<String>::new());
    cursor.save("00000000000000000000000000000000", After::new(1)).unwrap();
    let mut following = client(&place).follow("", Some(cursor)).unwrap();
    let refused = runtime.block_on(following.next()).unwrap_err();
    assert!(
        matches!(&refused, FollowError::Cursor(CursorError::OtherLedger { .. }) | FollowError::Client(_)),
        "{refused}"
    );
    assert!(service.terminate().unwrap().success());
}
