//! A ledger on a real disk: made, appended to, read back, closed, opened again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::sync::Arc;

use bitacora_formats::{After, Data, Event, Json, Keyring};
use bitacora_ledger::{
    AppendError, AppendRequest, Entropy, Environment, ExpectedVersion, Filter, From, Ledger, Options,
    ReadQuery, ReceiptStatus, SystemEntropy,
};

fn keyring() -> Arc<Keyring> {
    Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()))
}

fn event(id: u64, stream: &str) -> Event<'static> {
    let mut event = Event::new(format!("e{id}"), "urn:test", "x.noted", stream.to_owned());
    event.data = Data::Json(
        Json::check(format!(r#"{{"n": {id}, "text":"some words to compress"}}"#).into_bytes()).unwrap(),
    );
    event
}

fn all(ledger: &Ledger) -> Vec<bitacora_ledger::StoredEvent<'static>> {
    let mut from = From::After(After::START);
    let mut events = Vec::new();
    loop {
        let query = ReadQuery { from, until: None, limit: 100, filter: Filter::default() };
        let page = ledger.read(&query).unwrap();
        events.extend(page.events);
        match page.next {
            Some(next) => from = next,
            None => return events,
        }
    }
}

#[test]
fn what_was_acknowledged_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main");
    let (environment, keyring) = (Environment::real(), keyring());
    Ledger::create(&environment, &path, &"main".parse().unwrap(), &keyring, &Options::small()).unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..3_u64 {
        let ledger = Ledger::open(&environment, &path, Arc::clone(&keyring), Options::small()).unwrap();
        for n in 0..500 {
            let id = round * 1_000 + n;
            let appended = ledger.append(AppendRequest::of(vec![event(id, "s")])).unwrap().wait().unwrap();
            acknowledged.push((appended.first, format!("e{id}")));
        }
        let again =
            ledger.append(AppendRequest::of(vec![event(round * 1_000, "s")])).unwrap().wait().unwrap();
        assert_eq!(again.results[0].status, ReceiptStatus::Duplicate);
        assert_eq!(again.first, acknowledged[usize::try_from(round).unwrap() * 500].0);
        let stored = all(&ledger);
        assert_eq!(stored.len() as u64, ledger.head().position.get());
        for (position, id) in &acknowledged {
            let found = &stored[usize::try_from(position.get()).unwrap() - 1];
            assert_eq!((&found.position, found.event.id.as_ref()), (position, id.as_str()));
        }
        let backwards = ledger
            .read(&ReadQuery {
                from: From::Before(None),
                until: None,
                limit: 1_000,
                filter: Filter::default(),
            })
            .unwrap();
        let mut reversed: Vec<_> = backwards.events.iter().map(|event| event.position).collect();
        reversed.reverse();
        let tail: Vec<_> =
            stored[stored.len() - reversed.len()..].iter().map(|event| event.position).collect();
        assert_eq!(reversed, tail);
        ledger.close().unwrap();
    }
}

#[test]
fn conditions_and_reuse_are_refused_without_effect() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main");
    let (environment, keyring) = (Environment::real(), keyring());
    Ledger::create(&environment, &path, &"main".parse().unwrap(), &keyring, &Options::small()).unwrap();
    let ledger = Ledger::open(&environment, &path, keyring, Options::small()).unwrap();
    ledger.append(AppendRequest::of(vec![event(1, "s"), event(2, "s")])).unwrap().wait().unwrap();
    let head = ledger.head();

    let mut other = event(1, "s");
    other.data = Data::None;
    let reused = ledger.append(AppendRequest::of(vec![event(3, "s"), other])).unwrap().wait();
    assert!(matches!(reused, Err(AppendError::IdReused { index: 1, .. })), "{reused:?}");

    let expected = Some(ExpectedVersion::NoStream);
    let conflict = ledger
        .append(AppendRequest { events: vec![event(3, "s")], expected, condition: None })
        .unwrap()
        .wait();
    assert!(matches!(conflict, Err(AppendError::VersionConflict { .. })), "{conflict:?}");
    let twice = ledger.append(AppendRequest::of(vec![event(4, "s"), event(4, "s")])).unwrap().wait();
    assert!(matches!(twice, Err(AppendError::RepeatedId { index: 1, first: 0 })), "{twice:?}");
    assert_eq!(ledger.head(), head);
    ledger.append(AppendRequest::of(vec![event(3, "s")])).unwrap().wait().unwrap();
}
