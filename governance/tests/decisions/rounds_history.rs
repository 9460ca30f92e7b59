//! The additions of version 7 of the rules, behind the history of everything else.

use bitacora_vocabulary::TrustRules;
use serde_json::{Value, json};

use crate::desk::{TestGovernance, tool};

/// Cycles of calls, polls, arguments that do not bind, calls without a session, and a contract of critical damage.
pub(crate) fn going_round(desk: &mut TestGovernance) {
    let rules =
        json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test", "trust": "ignore"}]);
    let bounds = json!({"polls": ["sleep"], "poll_calls": 2, "repeats_without_session": 3});
    desk.publish_document(5, rules, TrustRules::v2(), json!({"bounds": bounds}));
    let mut waiting = tool("Wait");
    (waiting["polls"], waiting["input_schema"]) = (json!(true), json!({"type": "object"}));
    waiting.as_object_mut().unwrap().remove("context_from");
    desk.act("tool.registered", waiting).unwrap();
    let mut sending = tool("Send");
    (sending["input_schema"], sending["binding_fields"]) = (json!({"type": "object"}), json!(["/to"]));
    sending["destinations"] = json!([{"pointer": "/to", "kind": "text", "globs": ["+34*"]}]);
    sending.as_object_mut().unwrap().remove("context_from");
    desk.act("tool.registered", sending).unwrap();
    in_a_session(desk);
    for number in 0..4 {
        desk.ask(&format!("q7-{number}"), "Send", json!({"to": "+34600", "text": number.to_string()}));
    }
    let defined =
        json!({"contract": "wipe", "pre": [], "post": [], "rollback": [], "blast_radius": "critical"});
    desk.act("contract.defined", defined).unwrap();
    let checked =
        json!({"contract": "wipe", "call": "w7", "run": "r", "node": "n", "phase": "pre", "checks": []});
    let mut event = desk.event("contract.checked", "agent:111111111111", &checked);
    event.agent = Some("coder".into());
    desk.append(vec![event]).unwrap();
    desk.ask("w7", "Send", json!({"to": "+34601"}));
}

fn in_a_session(desk: &mut TestGovernance) {
    let file = |name: &str| ("Read", json!({"file_path": format!("src/{name}.rs")}));
    let wait = || ("Wait", json!({"task": "t"}));
    let sleep = || ("Bash", json!({"command": "sleep 60"}));
    let calls: [(&str, Value); 12] = [
        file("a"),
        file("b"),
        wait(),
        file("a"),
        file("b"),
        file("a"),
        file("c"),
        wait(),
        sleep(),
        wait(),
        file("d"),
        file("d"),
    ];
    let ask = |desk: &mut TestGovernance, number: usize, tool: &str, args: &Value| {
        let request = json!({"call": format!("r7-{number}"), "tool": tool, "args": args});
        let mut event = desk.event("tool.requested", "agent:111111111111", &request);
        event.session = Some("s7".into());
        desk.append(vec![event]).unwrap();
    };
    for (number, (tool, args)) in calls.iter().enumerate() {
        ask(desk, number, tool, args);
    }
    let saved = json!({"thread": "t", "checkpoint": "k7", "step": 1, "source": "loop"});
    let mut event = desk.event("checkpoint.saved", "agent:111111111111", &saved);
    event.session = Some("s7".into());
    desk.append(vec![event]).unwrap();
    for number in 12..15 {
        ask(desk, number, "Read", &json!({"file_path": "src/d.rs"}));
    }
}
