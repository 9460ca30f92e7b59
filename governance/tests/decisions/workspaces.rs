//! Workspaces: an agent's record in one project counts in no other.

use bitacora_formats::{Event, Micros};
use bitacora_governance::{
    DimensionFilter, Policy, Reactor, RecordedCall, TrustSum, WhatIf, WorkspaceFilter,
};
use bitacora_vocabulary::{
    BreakerCondition, DecisionMade, Dimension, DimensionPart, PolicySettings, ToolRequested, Verdict,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::desk::{TestGovernance, data, decision, draw, governed, here, verdict};
use crate::golden::rejudged;
use crate::imports::{accept, batch};

const CLI: &str = "/home/ana/src/acme/cli";
const WEB: &str = "/home/ana/src/acme/web";

fn request(call: &str, cwd: &str) -> Value {
    json!({"call": call, "tool": "fs.write", "args": {"path": format!("src/{call}.rs")}, "cwd": cwd})
}

fn ask(desk: &mut TestGovernance, cwd: &str) -> (String, DecisionMade) {
    let call = format!("c{}", desk.log.len());
    let made = desk.ask_with(request(&call, cwd)).unwrap();
    (call, made)
}

fn said(desk: &mut TestGovernance, cwd: &str) -> (Verdict, String) {
    verdict(&ask(desk, cwd).1)
}

fn fail(desk: &mut TestGovernance, cwd: &str, times: usize) {
    for _ in 0..times {
        let (call, _) = ask(desk, cwd);
        desk.fail(&call);
    }
}

fn within(cwd: &str) -> Dimension {
    here("fs.write", "src").in_workspace(Some(&DimensionPart::new(cwd).unwrap()))
}

fn set(desk: &mut TestGovernance, dimension: &Dimension, counts: Value) {
    desk.act("trust.set", json!({"dimension": dimension, "counts": counts, "reason": "for a test"})).unwrap();
}

fn good() -> Value {
    json!({"approvals": 20, "rejections": 0, "failures": 0, "streak": 20})
}

fn bad() -> Value {
    json!({"approvals": 0, "rejections": 10, "failures": 0, "streak": 0})
}

/// Publishes a policy that asks for no trust, so that only stops and blocks keep calls from being allowed.
fn mild(desk: &mut TestGovernance, version: u64) {
    let rule = json!({"id": "all", "match": {}, "action": "allow", "reason": "r", "trust": "ignore"});
    desk.publish_rules(version, json!([rule]));
}

fn agrees(desk: &TestGovernance) {
    let (state, found) = rejudged(&desk.log);
    assert_eq!(found.disagreements, []);
    assert!(found.decisions > 0 && desk.is_in_step());
    assert!(desk.governance.read(|published| *published == state));
}

#[test]
fn an_agent_that_fails_in_one_project_is_stopped_in_no_other() {
    let mut desk = governed();
    mild(&mut desk, 2);
    fail(&mut desk, CLI, 5);
    assert_eq!(said(&mut desk, CLI), (Verdict::Review, "breaker-open".into()));
    assert_eq!(said(&mut desk, &format!("{CLI}/.worktrees/3")), (Verdict::Review, "breaker-open".into()));
    assert_eq!(said(&mut desk, WEB), (Verdict::Allow, "allowed".into()));
    let conditions =
        [CLI, WEB].map(|cwd| desk.governance.read(|state| state.breaker_of(&within(cwd)).condition()));
    assert_eq!(conditions, [BreakerCondition::Open, BreakerCondition::Closed]);
    set(&mut desk, &within("/srv/blocked"), bad());
    assert_eq!(said(&mut desk, "/srv/blocked"), (Verdict::Review, "trust-blocked".into()));
    assert_eq!(said(&mut desk, "/srv/other"), (Verdict::Allow, "allowed".into()));
    agrees(&desk);
}

#[test]
fn what_is_stopped_under_another_model_is_so_in_its_project_alone() {
    let mut desk = governed();
    mild(&mut desk, 2);
    let asked = |desk: &mut TestGovernance, cwd: &str| {
        let mut request = request(&format!("m{}", desk.log.len()), cwd);
        request["model"] = json!("another");
        verdict(&desk.ask_with(request).unwrap())
    };
    fail(&mut desk, CLI, 5);
    assert_eq!(asked(&mut desk, CLI), (Verdict::Review, "stopped-elsewhere".into()));
    assert_eq!(asked(&mut desk, WEB), (Verdict::Allow, "allowed".into()));
    // However many there are in another project, and whatever was kept for all of them together before.
    for number in 0..300 {
        set(&mut desk, &within(CLI).with_model(&format!("m{number}"), "-"), good());
    }
    set(&mut desk, &within(CLI).in_workspace(None).with_model("before", "-"), bad());
    assert_eq!(asked(&mut desk, WEB), (Verdict::Allow, "allowed".into()));
    agrees(&desk);
}

#[test]
fn trust_that_was_earned_in_one_project_allows_nothing_in_another() {
    let mut desk = governed();
    set(&mut desk, &within(CLI), good());
    assert_eq!(said(&mut desk, CLI), (Verdict::Allow, "allowed".into()));
    for elsewhere in [WEB, "/home/ana/src/acme", "/home/ana/src/acme/cli2", "/home/ana/src/acme/cli/cmd"] {
        assert_eq!(
            said(&mut desk, elsewhere),
            (Verdict::Review, "trust-require-review".into()),
            "{elsewhere}"
        );
    }
    let unknown = desk.ask("without", "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(verdict(&unknown), (Verdict::Review, "trust-require-review".into()));
    assert_eq!(unknown.inputs.dimension.workspace(), Some("-"));
    agrees(&desk);
}

#[test]
fn what_was_kept_for_all_projects_together_is_for_reports_alone() {
    let mut desk = governed();
    let before = within(CLI).in_workspace(None);
    set(&mut desk, &before, good());
    assert_eq!(said(&mut desk, CLI), (Verdict::Review, "trust-require-review".into()));
    mild(&mut desk, 2);
    set(&mut desk, &before, bad());
    desk.act(
        "breaker.configured",
        json!({"dimension": before, "window": 1, "failure_threshold": 1,
        "recovery_probes": 1, "cooldown_s": 60}),
    )
    .unwrap();
    assert_eq!(said(&mut desk, CLI), (Verdict::Allow, "allowed".into()));
    let (call, _) = ask(&mut desk, CLI);
    desk.ok(&call);
    let filter =
        DimensionFilter { tool: DimensionFilter::part("fs.write").unwrap(), ..DimensionFilter::default() };
    let sum = |workspace: &str| {
        let filter =
            DimensionFilter { workspace: WorkspaceFilter::read(workspace).unwrap(), ..filter.clone() };
        desk.governance.read(|state| {
            let meant = state.dimensions(None).filter(|(dimension, _)| filter.matches(dimension));
            let sum = meant.map(|(_, record)| record).collect::<TrustSum>();
            (sum.dimensions, sum.approvals, sum.rejections)
        })
    };
    assert_eq!((sum("*"), sum(""), sum(CLI)), ((2, 1, 10), (1, 0, 10), (1, 1, 0)));
    agrees(&desk);
}

#[test]
fn a_policy_that_keeps_no_workspaces_keeps_trust_for_all_of_them_as_before() {
    let mut desk = governed();
    set(&mut desk, &within(CLI).in_workspace(None), good());
    desk.publish_workspaces(2, &json!({"match": {}, "action": "allow"}), &json!({"kept": false}));
    for cwd in [CLI, WEB] {
        let (call, made) = ask(&mut desk, cwd);
        assert_eq!(verdict(&made), (Verdict::Allow, "allowed".into()), "{cwd}");
        assert_eq!(made.inputs.dimension, Dimension::new("fs.write", "src", "-", "-").unwrap());
        desk.ok(&call);
    }
    assert_eq!(ask(&mut desk, WEB).1.inputs.approvals, 22);
    fail(&mut desk, CLI, 5);
    assert_eq!(said(&mut desk, WEB), (Verdict::Review, "breaker-open".into()));
    // A workspace that another policy keeps apart again has none of it.
    desk.publish(3, "allow");
    assert_eq!(said(&mut desk, WEB), (Verdict::Review, "trust-require-review".into()));
    agrees(&desk);
}

#[test]
fn a_policy_says_where_projects_begin() {
    let mut desk = governed();
    let roots = json!({"roots": ["/home/*/src/*/*"]});
    desk.publish_workspaces(2, &json!({"match": {}, "action": "allow"}), &roots);
    set(&mut desk, &within(CLI), good());
    for inside in [CLI, &format!("{CLI}/cmd/x"), &format!("{CLI}/.worktrees/3/cmd")] {
        assert_eq!(said(&mut desk, inside), (Verdict::Allow, "allowed".into()), "{inside}");
    }
    assert_eq!(said(&mut desk, WEB).0, Verdict::Review);
    let refused = desk.act(
        "policy.published",
        json!({"version": 3, "digest": "0".repeat(64), "rules": [],
        "trust": bitacora_governance::TrustRules::v2(), "workspaces": {"roots": ["/{a"]}, "author": "me"}),
    );
    assert!(refused.unwrap_err().reason.contains("workspaces.roots"));
    agrees(&desk);
}

#[test]
fn what_was_recorded_elsewhere_counts_in_the_project_it_was_recorded_in() {
    let mut desk = governed();
    for number in 0..20 {
        let call = format!("i{number}");
        let asked = request(&call, &format!("{CLI}/.worktrees/{number}"));
        for (kind, mut data) in
            [("tool.requested", asked), ("tool.completed", json!({"call": call, "status": "ok"}))]
        {
            data["assurance"] = json!("imported");
            let mut event = desk.event(kind, "admin:0", &data);
            event.stream = "session/one".into();
            desk.append(vec![event]).unwrap();
        }
    }
    assert_eq!(said(&mut desk, CLI).0, Verdict::Review, "nobody has accepted it");
    desk.act("import.batch", batch("a")).unwrap();
    accept(&mut desk, "a").unwrap();
    assert_eq!(said(&mut desk, CLI), (Verdict::Allow, "allowed".into()));
    assert_eq!(said(&mut desk, WEB).0, Verdict::Review);
    agrees(&desk);
}

/// A call whose data is sealed under a key of its own subject.
fn sealed(desk: &mut TestGovernance, cwd: &str) -> DecisionMade {
    let request = request(&format!("s{}", desk.log.len()), cwd);
    let mut event = desk.event("tool.requested", "agent:111111111111", &request);
    let mut examined = desk.governance.examine(&event).unwrap();
    draw(examined.as_deref_mut().unwrap(), desk.log.len() as u64);
    let blind = |text: &str, folder: &str| Sha256::digest(format!("{text} in {folder}")).into();
    examined.as_deref_mut().unwrap().seal(blind);
    event.datasubject = Some("person/1".into());
    decision(&desk.append_examined(vec![event], &[examined]).unwrap())
}

#[test]
fn the_workspace_of_a_sealed_call_cannot_be_read_and_is_no_other_ones() {
    let mut desk = governed();
    let [cli, again, web] = [CLI, CLI, WEB].map(|cwd| sealed(&mut desk, cwd).inputs.dimension);
    assert_eq!(cli, again);
    assert_ne!(cli, web);
    assert_eq!(cli.context(), "-");
    let workspace = cli.workspace().unwrap();
    assert!(workspace.starts_with("sealed:") && workspace.len() == 7 + 32, "{workspace}");
    let text = desk.log.iter().flatten().filter(|placed| placed.derived).map(|placed| text(&placed.event));
    assert!(!text.collect::<String>().contains("/home/ana"), "a folder of a person stands in the record");
    agrees(&desk);
}

fn text(event: &Event<'_>) -> String {
    data::<Value>(event).to_string()
}

#[test]
fn a_policy_that_tells_projects_apart_otherwise_is_tried_on_counts_that_are_not_its_own() {
    let mut desk = governed();
    set(&mut desk, &within(CLI), good());
    let (_, made) = ask(&mut desk, CLI);
    let asked: ToolRequested = serde_json::from_value(request("c1", CLI)).unwrap();
    let tried = |workspaces: Option<Value>| {
        let workspaces = workspaces.map(|workspaces| serde_json::from_value(workspaces).unwrap());
        let settings = PolicySettings { workspaces, ..PolicySettings::default() };
        let rules = serde_json::from_value::<Vec<_>>(
            json!([{"id": "all", "match": {}, "action": "allow", "reason": "r"}]),
        );
        let trust = bitacora_governance::TrustRules::v2();
        let policy = Policy::compile(&rules.unwrap(), &trust).unwrap().with_settings(settings).unwrap();
        let call = RecordedCall { decision: &made, request: Some(&asked), time: Micros(desk.time) };
        desk.governance.read(|state| WhatIf::of(&policy, state.tools(), &call)).unwrap()
    };
    for (workspaces, certain) in [
        (None, true),
        (Some(json!({"roots": ["/home/*/src/*/*"]})), true),
        (Some(json!({"roots": ["/home/*"]})), false),
        (Some(json!({"kept": false})), false),
    ] {
        let found = tried(workspaces.clone());
        assert_eq!((found.otherwise.verdict, found.certain), (Verdict::Allow, certain), "{workspaces:?}");
    }
}
