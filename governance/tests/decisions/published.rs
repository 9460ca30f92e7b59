//! The state that answers rest on, as those who ask see it.

use std::sync::Arc;

use bitacora_formats::vocabulary::{DecisionMade, EventData, ToolCompleted, ToolRequested, TrustObserved};
use bitacora_governance::{REACTOR_VERSION, Reactor};
use serde_json::json;

use crate::desk::governed;

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
