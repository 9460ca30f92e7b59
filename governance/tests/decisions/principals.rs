//! Principals: created, expired and revoked by events, alike in the staged and the published state.

use bitacora_formats::Micros;
use bitacora_governance::RefusalCode;
use bitacora_vocabulary::PrincipalCreated;
use serde_json::json;

use crate::desk::TestGovernance;

const HASH_A: &str = "bb2dd5e1f0ee85c1c2b5d64a4f6a97f8e63b5a8e12c5d4a4f1c5c4cf3c6b0d11";
const HASH_B: &str = "0d3f1a2b4c5d6e7f8091a2b3c4d5e6f70123456789abcdef0123456789abcdef";

#[test]
fn principals_come_and_go_by_events_alone() {
    let mut desk = TestGovernance::new();
    let agent = json!({"principal": "seven", "role": "agent", "agent": "coder", "token_hash": HASH_B});
    let refused = desk.act("principal.created", agent.clone()).unwrap_err();
    assert_eq!(refused.code, RefusalCode::InvalidData, "the first one is an admin");
    assert!(!desk.governance.read(|state| state.principals().is_closed()));
    desk.act("principal.created", json!({"principal": "root", "role": "admin", "token_hash": HASH_A}))
        .unwrap();
    desk.act("principal.created", agent.clone()).unwrap();
    assert!(desk.act("principal.created", agent).is_err(), "an id is given once");
    let valid = |desk: &TestGovernance| {
        let at = Micros(desk.time);
        desk.governance
            .read(|state| state.principals().valid(at).map(PrincipalCreated::actor).collect::<Vec<_>>())
    };
    assert_eq!(valid(&desk), ["admin:bb2dd5e1f0ee", "agent:0d3f1a2b4c5d"]);
    assert_eq!(
        desk.act("principal.expired", json!({"principal": "seven"})).unwrap_err().code,
        RefusalCode::InvalidData
    );
    desk.act("principal.revoked", json!({"principal": "seven"})).unwrap();
    assert_eq!(
        desk.act("principal.revoked", json!({"principal": "seven"})).unwrap_err().code,
        RefusalCode::NoSuchThing
    );
    assert_eq!(valid(&desk), ["admin:bb2dd5e1f0ee"]);
    desk.act("principal.revoked", json!({"principal": "root"})).unwrap();
    assert!(valid(&desk).is_empty());
    assert!(desk.governance.read(|state| state.principals().is_closed()), "it does not open again");
    assert!(desk.governance.read(|state| desk.staged_is(state)));
}
