use bitacora_vocabulary::{Dimension, FileAccess, Sha256Text};

use super::*;
use crate::decide::decide;
use crate::state::State;
use crate::version::REACTOR_VERSION;

fn text<const MAX: usize>(text: &str) -> BoundedText<MAX> {
    BoundedText::new(text).unwrap()
}

fn examined() -> ArgumentFindings {
    ArgumentFindings {
        refusal: None,
        violations: Vec::new(),
        context: text("src/api"),
        parts: vec![text("src/api")],
        opaque: false,
        destinations: vec![text("/home/dev/src/api/a.rs")],
        action_digest: Some(Sha256Text::of_digest(&[7; 32])),
        args_digest: Some(Sha256Text::of_digest(&[8; 32])),
        reach: Some(Reach {
            uses: vec![Some(FileAccess::Read)],
            patterns: vec![(FileAccess::List, text("**/*.rs"))],
            is_command: true,
            runs_programs: true,
            shows_tracked: true,
            reads_stored: true,
            acts_elsewhere: true,
        }),
        unlisted: true,
    }
}

fn facts() -> CallFacts {
    CallFacts {
        call: text("c1"),
        tool: text("fs.write"),
        server: None,
        dimension: Dimension::new("fs.write", "src/api", "a-model", "-").unwrap(),
        model: Some(text("a-model")),
        task_type: None,
        agent: Some(text("coder")),
        actor: Some(text("agent:coder")),
        role: text("agent"),
        cwd: Some(text("/home/dev")),
        folder: folder_digest("/home/dev"),
        session: Some(text("s1")),
        run: Some(text("r1")),
        idempotency_key: Some(text("k1")),
        approval: Some(text("a9")),
        drawn_approval: None,
        blast_radius: Some(BlastRadius::High),
        estimated_cost: Some(MicroUsd::new(12).unwrap()),
        deadline_ms: Some(Milliseconds::new(5_000).unwrap()),
        examined: Some(examined()),
        poll: false,
        matches: ArgumentMatches::hidden(),
        guarded: FileGuardResult::default(),
        tool_revision: Some(3),
        policy_version: Some(4),
        imported: false,
        imported_time: None,
        local_times: LocalSource::Recorded(None),
        reactor_version: REACTOR_VERSION,
    }
}

/// Returns a decision about the call, as if nothing had moved since it was examined.
fn decision(facts: &CallFacts) -> DecisionMade {
    let unmoved = CallFacts { tool_revision: None, policy_version: None, ..facts.clone() };
    let mut made = decide(&State::default(), &unmoved, 7, Micros(1_000_000)).unwrap().decision;
    made.examined = Some(facts_text(facts, &made.inputs).unwrap());
    made
}

/// Returns the facts that a decision about the call keeps, after a check that they come back from it unchanged.
fn kept(facts: &CallFacts) -> String {
    let made = decision(facts);
    assert_eq!(CallFacts::of(&made).as_ref(), Some(facts));
    let again: DecisionMade = serde_json::from_str(&serde_json::to_string(&made).unwrap()).unwrap();
    assert_eq!(CallFacts::of(&again).as_ref(), Some(facts), "from what is recorded");
    made.examined.unwrap().as_json().to_owned()
}

#[test]
fn facts_come_back_from_their_decision_which_says_nothing_twice() {
    let kept = kept(&facts());
    for said in ["fs.write", "src/api", "a-model", "c1", "k1", &"07".repeat(32)] {
        assert!(!kept.contains(&format!("\"{said}\"")), "{said} in {kept}");
    }
    assert!(kept.contains(r#""examined":{"reach":{"uses":["read"]"#), "{kept}");
}

#[test]
fn what_a_decision_says_otherwise_than_its_facts_comes_back_too() {
    let of_server = CallFacts {
        server: Some(text("files")),
        dimension: Dimension::new("files/fs.write", "src/api", "a-model", "-").unwrap(),
        ..facts()
    };
    let unknown = CallFacts { tool_revision: None, examined: None, idempotency_key: None, ..facts() };
    let nameless = CallFacts { model: Some(text("-")), task_type: Some(text("-")), ..facts() };
    let nameless =
        CallFacts { dimension: Dimension::new("fs.write", "src/api", "-", "-").unwrap(), ..nameless };
    let several =
        ArgumentFindings { parts: vec![text("cargo"), text("git push")], opaque: true, ..examined() };
    let hidden =
        ArgumentFindings { context: text("-"), parts: Vec::new(), destinations: Vec::new(), ..examined() };
    let refused = ArgumentFindings {
        refusal: Some(ArgumentsRefusal::Invalid),
        violations: vec![Violation { pointer: "/path".to_owned(), keyword: "type".to_owned() }],
        ..examined()
    };
    let imported =
        CallFacts { imported: true, imported_time: Some(Micros(5)), role: text("agent"), ..facts() };
    for other in [of_server, unknown, nameless, imported] {
        kept(&other);
    }
    for examined in [several, hidden, refused] {
        kept(&CallFacts { examined: Some(examined), ..facts() });
    }
}

#[test]
fn of_a_decision_that_keeps_nothing_there_are_no_facts() {
    let mut made = decision(&facts());
    made.examined = Some(FactsText::new("{\"matches\":{}".to_owned() + ",\"agent\":7}").unwrap());
    assert_eq!(CallFacts::of(&made), None);
    made.examined = None;
    assert_eq!(CallFacts::of(&made), None);
}
