//! Saved states of every readable version, stored once: content of events expires behind such states, so later versions read them for good.

use bitacora_formats::{Micros, Position};
use bitacora_governance::{OLDEST_READABLE_STATE, REACTOR_VERSION, ReactorState, State};
use bitacora_vocabulary::Verdict;
use serde_json::json;

use crate::desk::TestGovernance;
use crate::random_acts::RandomRequests;

/// A state that a version saved, and its digest under that version.
struct StoredState {
    version: u32,
    text: &'static str,
    digest: &'static str,
}

/// Made once, never again: a new version gets a file of its own, which [`write`] makes.
const STORED: [StoredState; 1] = [StoredState {
    version: 8,
    text: include_str!("state-v8.json"),
    digest: "f63516920dc58bac895d12b46ca38df8e07fe82a99dabfa560638d8f6ecc0fe7",
}];

/// The least number of parts that a stored state holds anything in.
const LEAST_PARTS: usize = 26;

#[test]
fn a_state_of_every_readable_version_is_restored_as_it_was_and_decides_on() {
    let versions: Vec<_> = STORED.iter().map(|stored| stored.version).collect();
    assert_eq!(versions, (OLDEST_READABLE_STATE..=REACTOR_VERSION).collect::<Vec<_>>());
    for stored in &STORED {
        let mut state = State::default();
        state.restore(Position::FIRST, stored.text.trim_end().as_bytes()).unwrap();
        let digests = state.digests().unwrap();
        assert_eq!(digests.state.to_string(), stored.digest, "version {}", stored.version);
        assert!(digests.parts.len() >= LEAST_PARTS, "{:?}", digests.parts);
        let mut desk = TestGovernance::new();
        desk.time = state.governed_time().0;
        desk.go_on_in_text(stored.text.trim_end());
        let decided = desk.ask("after", "fs.read", json!({"path": "src/a"}));
        assert_eq!(decided.verdict, Verdict::Deny, "a panic is engaged in it: {decided:?}");
    }
}

/// Writes the state of today's version, where a variable asks for it.
#[test]
fn write() {
    if std::env::var_os("BITACORA_WRITE_STATE").is_none() {
        return;
    }
    let (mut desk, mut acts) = (TestGovernance::new(), RandomRequests::new(203));
    acts.first().into_iter().for_each(|event| drop(desk.append(vec![event])));
    for _ in 0..260 {
        let request = desk.governance.read(|state| acts.next(state, Micros(desk.time)));
        desk.pass(request.seconds);
        drop(desk.append(request.events));
    }
    let rule = json!({"rule": "all", "keep_days": 400});
    for (kind, data) in [
        ("hold.placed", json!({"hold": "case-7", "scope": {"first": "1"}, "reason": "a test"})),
        ("retention.changed", json!({"rules": [rule], "reason": "a test"})),
        ("panic.engaged", json!({"reason": "a test"})),
    ] {
        desk.act(kind, data).unwrap();
    }
    let saved = desk.governance.read(|state| state.save().unwrap().unwrap());
    let file = format!("{}/tests/decisions/state-v{REACTOR_VERSION}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::write(file, [&saved[..], b"\n"].concat()).unwrap();
    let digests = desk.governance.read(|state| state.digests().unwrap());
    panic!("the digest is {}, of {} parts", digests.state, digests.parts.len());
}
