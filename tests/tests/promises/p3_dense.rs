//! P3: positions are 1, 2, 3 … without gaps; one request is all-or-nothing and keeps its order.

use std::collections::HashMap;

use bitacora_ledger::{AppendError, AppendRequest};

use crate::workload::{all, event, machine_with_ledger, open};

#[test]
fn concurrent_requests_keep_their_order_and_leave_no_gap() {
    let machine = machine_with_ledger(30);
    let ledger = open(&machine).unwrap();
    let threads: Vec<_> = (0..8_u64)
        .map(|caller| {
            let ledger = ledger.clone();
            std::thread::spawn(move || {
                for request in 0..20_u64 {
                    let first = caller * 1_000 + request * 5;
                    let events = (first..first + 5).map(event).collect();
                    let appended = ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
                    assert_eq!(
                        appended.last.get(),
                        appended.first.get() + 4,
                        "a request's events stand together"
                    );
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());

    let stored = all(&ledger).unwrap();
    let mut versions: HashMap<String, u64> = HashMap::new();
    for (at, event) in (1_u64..).zip(&stored) {
        assert_eq!(event.position.get(), at);
        let version = versions.entry(event.event.stream.to_string()).or_default();
        *version += 1;
        assert_eq!(event.stream_version.get(), *version, "stream versions are dense");
    }
    assert_eq!(stored.iter().filter(|event| event.event.kind == "x.noted").count(), 8 * 20 * 5);
}

#[test]
fn a_refused_request_takes_no_position() {
    let machine = machine_with_ledger(31);
    let ledger = open(&machine).unwrap();
    ledger.append(AppendRequest::of(vec![event(0)])).unwrap().wait().unwrap();
    let head = ledger.head();
    let mut changed = event(0);
    changed.kind = "x.other".into();
    let refused = ledger.append(AppendRequest::of(vec![event(1), event(2), changed])).unwrap().wait();
    assert!(matches!(refused, Err(AppendError::IdReused { index: 2, .. })), "{refused:?}");
    assert_eq!(ledger.head(), head);
    let appended = ledger.append(AppendRequest::of(vec![event(1), event(2)])).unwrap().wait().unwrap();
    assert_eq!(Some(appended.first), head.position.next());
    assert_eq!(appended.results[0].stream_version.get(), 1, "the refused request left no stream version");
}
