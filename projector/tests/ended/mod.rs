//! Calls that are over, in a ledger where nothing is decided about them.

use bitacora_formats::Event;
use bitacora_ledger::{AppendRequest, Ledger};

use crate::{ReadModelsBench, digests, event};

fn append(ledger: &Ledger, events: Vec<Event<'static>>) {
    ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
}

/// Appends so many calls of one session, each with its end: in one request, or in two.
fn end_calls(bench: &ReadModelsBench, calls: std::ops::Range<u64>) {
    let ledger = bench.open();
    for call in calls {
        let asked = format!(r#"{{"call":"c{call}","tool":"bash","args":{{}}}}"#);
        let ended = format!(r#"{{"call":"c{call}","status":"ok"}}"#);
        let asked = event("tool.requested", 1, 2 * call, asked);
        let ended = event("tool.completed", 1, 2 * call + 1, ended);
        if call.is_multiple_of(2) {
            append(ledger.ledger(), vec![asked, ended]);
        } else {
            append(ledger.ledger(), vec![asked]);
            append(ledger.ledger(), vec![ended]);
        }
    }
    ledger.close().unwrap();
}

#[test]
fn a_session_keeps_no_row_for_a_call_that_is_over() {
    let bench = ReadModelsBench::new();
    let rows =
        |bench: &ReadModelsBench| digests(bench).iter().find(|(name, ..)| *name == "sessions").unwrap().1;
    end_calls(&bench, 0..4);
    let few = rows(&bench);
    end_calls(&bench, 4..40);
    assert_eq!(rows(&bench), few);
}
