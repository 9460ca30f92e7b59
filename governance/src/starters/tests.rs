//! The recorded digests of released starters; the last one is this program's.

use bitacora_vocabulary::{Name, PolicyPublished};
use serde_json::{Value, json};

use super::*;

/// The files of earlier starters as they were released: policy and tools.
const EARLIER: [(&str, &str); 6] = [
    (include_str!("../../tests/starters/policy-1.json"), include_str!("../../tests/starters/tools-1.json")),
    (include_str!("../../tests/starters/policy-2.json"), include_str!("../../tests/starters/tools-2.json")),
    (include_str!("../../tests/starters/policy-3.json"), include_str!("../../tests/starters/tools-2.json")),
    (include_str!("../../tests/starters/policy-4.json"), include_str!("../../tests/starters/tools-3.json")),
    (include_str!("../../tests/starters/policy-5.json"), include_str!("../../tests/starters/tools-3.json")),
    (include_str!("../../tests/starters/policy-6.json"), include_str!("../../tests/starters/tools-3.json")),
];

fn compiled(policy: &str) -> Policy {
    let document = parse_policy(policy.as_bytes()).unwrap();
    Policy::compile(&document.rules, &document.trust).unwrap().with_settings(document.settings()).unwrap()
}

fn documents(tools: &str) -> Vec<ToolDocument> {
    serde_json::from_str(tools).unwrap()
}

/// Returns the entry of a starter as it stands in `released.json`.
fn entry(policy: &str, tools: &str) -> Value {
    let named = |tool: &ToolDocument| {
        (qualified_name(&tool.tool, tool.server.as_deref()).into_owned(), tool_digest(tool).unwrap())
    };
    let tools: BTreeMap<_, _> = documents(tools).iter().map(named).collect();
    json!({"policy": compiled(policy).digest(), "tools": tools})
}

/// Returns a ledger that follows a policy, with these tools registered.
fn state(policy: &str, tools: &[ToolDocument]) -> State {
    let mut published: Value = serde_json::from_str(policy).unwrap();
    let members = published.as_object_mut().unwrap();
    members.insert("version".to_owned(), 1.into());
    // Nobody believes what is said here.
    members.insert("digest".to_owned(), "0".into());
    members.insert("author".to_owned(), "somebody".into());
    let mut state = State::default();
    let published: PolicyPublished = serde_json::from_value(published).unwrap();
    state.policies.change(|policies| {
        policies.apply_published(published);
        policies.apply_activated(1);
    });
    for tool in tools {
        state.registry.change(|registry| registry.apply_registered(tool)).unwrap();
    }
    state
}

fn upgraded(state: &State) -> Vec<&'static str> {
    let tools = state.starter_tools().into_iter().filter(|tool| tool.state.is_upgraded());
    tools.map(|tool| tool.document.tool.as_str()).collect()
}

#[test]
fn every_released_starter_is_known_by_its_digests() {
    let released: Vec<Value> = serde_json::from_str(RELEASED).unwrap();
    let mut entries: Vec<Value> = EARLIER.iter().map(|(policy, tools)| entry(policy, tools)).collect();
    entries.push(entry(STARTER_POLICY, STARTER_TOOLS));
    assert_eq!(released.len(), entries.len());
    for (released, entry) in released.iter().zip(&entries) {
        assert_eq!(
            released, entry,
            "a starter that changed goes behind the others in starter/released.json, and the one before it into tests/starters: {entry}"
        );
    }
}

#[test]
fn an_active_policy_is_the_current_starter_an_earlier_one_or_an_own_one() {
    assert_eq!(State::default().starter_state(), StarterState::None);
    assert_eq!(state(STARTER_POLICY, &[]).starter_state(), StarterState::Current);
    for (policy, _) in EARLIER {
        assert_eq!(state(policy, &[]).starter_state(), StarterState::Outdated);
    }
    let own = EARLIER[0].0.replacen("do not", "please do not", 1);
    assert_ne!(own, EARLIER[0].0);
    assert_eq!(state(&own, &[]).starter_state(), StarterState::Own);
    let empty = json!({"rules": [], "trust": Starter::shipped().unwrap().policy.trust()});
    assert_eq!(state(&empty.to_string(), &[]).starter_state(), StarterState::Own);
}

#[test]
fn an_upgrade_changes_tools_of_earlier_starters_and_leaves_own_ones_alone() {
    let (policy, tools) = EARLIER[0];
    let earlier = documents(tools);
    let now = documents(STARTER_TOOLS);
    let all = upgraded(&state(policy, &earlier));
    let differs = |tool: &&ToolDocument| !earlier.contains(tool);
    let expected: Vec<&str> = now.iter().filter(differs).map(|tool| tool.tool.as_str()).collect();
    assert!(!all.is_empty());
    assert_eq!(all, expected);

    let mut own = earlier.clone();
    let changed = own.iter_mut().find(|tool| tool.tool.as_str() == all[0]).unwrap();
    changed.version = Name::new("own").unwrap();
    let own = state(policy, &own);
    assert_eq!(upgraded(&own), &all[1..]);
    let states: Vec<_> = own.starter_tools().iter().map(|tool| tool.state).collect();
    assert_eq!(states.iter().filter(|state| **state == StarterToolState::Own).count(), 1);

    let revoked: Vec<ToolDocument> =
        earlier.iter().filter(|tool| tool.tool.as_str() != all[0]).cloned().collect();
    let revoked = state(policy, &revoked);
    assert_eq!(upgraded(&revoked), &all[1..], "what an operator took out stays out");
    assert_eq!(upgraded(&state(STARTER_POLICY, &now)), [""; 0]);
}
