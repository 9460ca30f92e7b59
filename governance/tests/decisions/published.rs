//! The published state, on which answers rest, as its readers see it.

use std::sync::Arc;

use bitacora_formats::Micros;
use bitacora_governance::{REACTOR_VERSION, Reactor, RefusalCode, State, StateCounts};
use bitacora_vocabulary::{
    BreakerCondition, DecisionMade, EventData, ToolCompleted, ToolRequested, TrustObserved,
};
use serde_json::json;

use crate::desk::{SECOND, TestGovernance, governed, here};
use crate::imports::{batch, call};

#[test]
fn a_copy_is_of_the_last_event_that_was_folded_and_is_made_once() {
    let mut desk = governed();
    let before = desk.governance.copy();
    assert!(Arc::ptr_eq(&before, &desk.governance.copy()), "nothing was folded since");
    desk.earn("fs.write", "src");
    let copy = desk.governance.copy();
    assert!(!Arc::ptr_eq(&before, &copy));
    assert_eq!(copy.through, Some(desk.log.last().unwrap()[0].position));
    assert!(desk.governance.read(|state| *state == copy.state) && copy.state != before.state);
    assert_eq!(copy.digests().unwrap(), &copy.state.digests().unwrap());
    assert_ne!(copy.digests().unwrap(), before.digests().unwrap());
}

#[test]
fn it_is_shown_what_governs_and_says_by_which_rules_it_decides() {
    let mut desk = governed();
    for kind in [ToolRequested::KIND, ToolCompleted::KIND, DecisionMade::KIND, TrustObserved::KIND] {
        assert!(desk.governance.concerns(kind), "{kind}");
    }
    for kind in ["annotation.added", "x.anything", ""] {
        assert!(!desk.governance.concerns(kind), "{kind}");
    }
    assert_eq!(desk.governance.version(), REACTOR_VERSION);
    let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(decision.inputs.reactor_version, REACTOR_VERSION);
}

#[test]
fn only_what_was_examined_before_something_moved_may_be_sent_again() {
    assert!(RefusalCode::Moved.is_passing());
    for code in
        [RefusalCode::InvalidData, RefusalCode::CallReused, RefusalCode::StateFull, RefusalCode::Broken]
    {
        assert!(!code.is_passing(), "{code:?}");
    }
}

#[test]
fn readers_see_what_waits_what_is_over_and_what_does_not_pass() {
    let mut desk = governed();
    let approval = |desk: &mut TestGovernance, call: &str, path: &str| {
        desk.ask(call, "fs.write", json!({"path": path})).approval.unwrap()
    };
    let first = approval(&mut desk, "c1", "src/a.rs");
    desk.pass(10);
    let second = approval(&mut desk, "c2", "docs/a.md");
    let third = approval(&mut desk, "c3", "docs/b.md");
    desk.act("approval.resolved", json!({"approval": third, "resolution": "withdrawn", "by": "operator:0"}))
        .unwrap();
    let pending = |seconds: u64, after: u64| {
        let at = Micros(desk.time + seconds * SECOND);
        desk.governance.read(|state| {
            let waiting = state.pending_approvals(at, after);
            waiting.iter().map(|one| (one.request.approval.clone(), one.position)).collect::<Vec<_>>()
        })
    };
    let all = pending(0, 0);
    assert_eq!(all.iter().map(|(approval, _)| approval).collect::<Vec<_>>(), [&first, &second]);
    assert_eq!((pending(0, all[0].1 - 1), pending(0, all[0].1)), (all.clone(), all[1..].to_vec()));
    let day = 24 * 3_600;
    assert_eq!((pending(day - 11, 0), pending(day - 10, 0)), (all.clone(), all[1..].to_vec()));
    let over = |seconds: u64| {
        desk.governance.read(|state| state.expired_approvals(Micros(desk.time + seconds * SECOND)))
    };
    assert_eq!((over(day - 11), over(day - 10)), (vec![], vec![first.clone()]));
    assert_eq!(over(day), [first, second]);
}

#[test]
fn readers_are_told_how_much_there_is() {
    let mut desk = governed();
    let none = StateCounts { tools: 1, policies: 1, ..StateCounts::default() };
    assert_eq!(desk.governance.read(State::counts), none);
    desk.earn("fs.write", "docs");
    for number in 0..5 {
        let (bad, good) = (format!("b{number}"), format!("g{number}"));
        desk.ask(&bad, "fs.write", json!({"path": "src/a.rs"}));
        desk.fail(&bad);
        desk.ask(&good, "fs.write", json!({"path": "docs/a.md"}));
        desk.ok(&good);
    }
    desk.earn("fs.write", "lib");
    desk.ask("l1", "fs.write", json!({"path": "lib/a.rs"}));
    desk.ok("l1");
    for (path, resolution) in
        [("a/a", Some("approved")), ("b/b", Some("withdrawn")), ("c/c", None), ("d/d", None), ("e/e", None)]
    {
        let approval = desk.ask(path, "fs.write", json!({"path": path})).approval.unwrap();
        if let Some(resolution) = resolution {
            let word = json!({"approval": approval, "resolution": resolution, "by": "operator:0"});
            desk.act("approval.resolved", word).unwrap();
        }
    }
    call(&mut desk, "i1", "tool.completed", "ok");
    desk.act("import.batch", batch("a")).unwrap();
    call(&mut desk, "i2", "tool.completed", "ok");
    desk.governance.read(|state| {
        let counts = state.counts();
        assert_eq!((counts.dimensions, counts.imported_dimensions), (3, 2));
        assert_eq!((counts.breakers, counts.breakers_not_closed), (3, 1));
        assert_eq!((counts.approvals - counts.approvals_pending, counts.open_calls), (2, 5));
        let waiting = state.pending_approvals(Micros(desk.time), 0).len() as u64;
        assert_eq!(counts.approvals_pending, waiting);
        let of = |context| state.breaker_of(&here("fs.write", context)).condition();
        assert_eq!((of("src"), of("docs")), (BreakerCondition::Open, BreakerCondition::Closed));
    });
}
