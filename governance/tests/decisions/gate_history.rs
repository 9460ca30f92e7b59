//! The additions of version 6 of the rules, behind the history of everything else.

use bitacora_vocabulary::{TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{TestGovernance, decision, tool};

const PROJECT: &str = "/home/ana/src/acme/cli";

/// Guarded files, tools that nobody registered, exit codes, and state that is kept apart.
pub(crate) fn at_the_gate(desk: &mut TestGovernance) {
    desk.pass(24 * 3_600);
    desk.act(
        "budget.configured",
        json!({"budget": "x", "scope": {}, "limits": {}, "period": "day", "on_exceed": "deny"}),
    )
    .unwrap();
    for (name, pointer, normaliser) in [("Bash", "/command", "command"), ("Read", "/file_path", "path")] {
        let mut document = tool(name);
        let member = pointer.trim_start_matches('/');
        document["input_schema"] = json!({"type": "object", "properties": {member: {"type": "string"}}});
        document["context_from"] = json!({"pointer": pointer, "normaliser": normaliser});
        desk.act("tool.registered", document).unwrap();
    }
    let mut grep = tool("Grep");
    grep["destinations"] =
        json!([{"pointer": "/path", "kind": "path", "globs": ["**"], "access": "read_tree"}]);
    desk.act("tool.registered", grep).unwrap();
    let rules = json!([
        {"id": "publishing", "match": {"context": "git push*"}, "action": "review", "reason": "for a test"},
        {"id": "all", "match": {}, "action": "allow", "reason": "for a test", "trust": "ignore"},
    ]);
    let settings = json!({
        "unregistered": "review",
        "files": {"secret": ["**/.env"], "not_secret": ["**/.env.example"], "run_by_themselves": ["**/Makefile"]},
        "exit_codes_count": ["deploy"],
    });
    desk.publish_document(3, rules, TrustRules::v2(), settings.clone());
    by_files_and_commands(desk);
    apart(desk);
    in_sessions_and_of_servers(desk, settings);
}

fn ask(
    desk: &mut TestGovernance,
    agent: &'static str,
    call: &str,
    tool: &str,
    args: Value,
) -> Option<String> {
    let request = json!({"call": call, "tool": tool, "args": args, "cwd": PROJECT});
    let mut event = desk.event("tool.requested", "agent:111111111111", &request);
    (event.agent, event.run) = (Some(agent.into()), Some("shared".into()));
    let made = decision(&desk.append(vec![event]).unwrap());
    made.approval.map(|approval| approval.to_string())
}

fn run(desk: &mut TestGovernance, agent: &'static str, call: &str, command: &str) -> Option<String> {
    ask(desk, agent, call, "Bash", json!({"command": command}))
}

fn by_files_and_commands(desk: &mut TestGovernance) {
    for (number, path) in [".env", ".env.example", "Makefile", "src/a.rs"].into_iter().enumerate() {
        ask(desk, "coder", &format!("g{number}"), "Read", json!({"file_path": path}));
    }
    for (number, command) in [
        "cat .env",
        "grep -r token .",
        "cp a.rs Makefile",
        "ls src",
        "make test",
        "curl x | sh",
        "echo $(id)",
    ]
    .into_iter()
    .enumerate()
    {
        run(desk, "coder", &format!("h{number}"), command);
    }
    ask(desk, "coder", "g9", "Grep", json!({"path": "."}));
    ask(desk, "coder", "u1", "mcp.unknown", json!({"of": "something"}));
    for (call, command) in [("v1", "make test"), ("v2", "deploy production")] {
        run(desk, "coder", call, command);
        let outcome = json!({"call": call, "status": "error", "exit_code": 1});
        let ended = desk.event("tool.failed", "agent:111111111111", &outcome);
        desk.append(vec![ended]).unwrap();
    }
    for number in 0..6 {
        let call = format!("y{number}");
        run(desk, "coder", &call, "ls docs");
        desk.fail(&call);
    }
    run(desk, "coder", "y6", "ls docs");
}

/// Budgets, runs, consent and a no of one agent beside those of another one.
fn apart(desk: &mut TestGovernance) {
    let budget = json!({"budget": "y", "scope": {}, "limits": {"calls": 2}, "period": "day", "on_exceed": "deny",
                        "counted": "each_agent"});
    desk.act("budget.configured", budget).unwrap();
    let each_run =
        json!({"budget": "z", "scope": {}, "limits": {"calls": 90}, "period": "run", "on_exceed": "pause"});
    desk.act("budget.configured", each_run).unwrap();
    for agent in ["tester", "coder"] {
        let mut event = desk.event(
            "run.started",
            "agent:111111111111",
            &json!({"run": "shared", "kind": "task", "budget": {"calls": 90}}),
        );
        event.agent = Some(agent.into());
        desk.append(vec![event]).unwrap();
        for number in 0..3 {
            let call = format!("{agent}-{number}");
            ask(desk, agent, &call, "fs.write", json!({"path": format!("far/{number}.rs")}));
        }
        drop(desk.end(&format!("{agent}-0"), "tool.blocked", "blocked"));
    }
    desk.act(
        "budget.configured",
        json!({"budget": "y", "scope": {}, "limits": {}, "period": "day", "on_exceed": "deny"}),
    )
    .unwrap();
    let approval = run(desk, "tester", "n1", "git push").unwrap();
    let no = json!({"approval": approval, "resolution": "rejected", "by": "operator:0"});
    desk.act("approval.resolved", no).unwrap();
    run(desk, "tester", "n2", "git push");
    let scope = json!({"tool": "Bash", "agent": "coder", "context": "git push", "workspace": PROJECT,
                       "parts": ["git push", "git status"]});
    let grant = json!({"grant": "g6", "scope": scope, "expires": desk.time + 3_600_000_000});
    desk.act("grant.given", grant).unwrap();
    for (number, command) in ["git push", "git status && git push", "ls && git push"].into_iter().enumerate()
    {
        run(desk, "coder", &format!("p6-{number}"), command);
    }
}

/// Rules that hold calls to their session's folder, and tools that have the names of others; whose run it is that work is handed from.
fn in_sessions_and_of_servers(desk: &mut TestGovernance, settings: Value) {
    for (name, server) in [("Task", "web"), ("mcp__fs__look", "fs")] {
        let mut document = tool(name);
        document["server"] = json!(server);
        desk.act("tool.registered", document).unwrap();
    }
    let rule = |id: &str, matches: Value| json!({"id": id, "match": matches, "action": "allow", "reason": "for a test", "trust": "ignore"});
    let rules = json!([
        rule("history", json!({"context": "git *", "in_session_folder": true})),
        rule("looking", json!({"context": ["cat", "ls"]})),
        rule("delegation", json!({"tool": "Task"})),
        rule("served", json!({"tool": "mcp__fs__*"})),
    ]);
    desk.publish_document(4, rules, TrustRules::v2(), settings);
    let vendored = format!("{PROJECT}/vendor/x");
    let commands =
        [("ls", PROJECT), ("git status", PROJECT), ("git status", &vendored), ("git show 1a2b3c4", PROJECT)];
    for (number, (command, cwd)) in commands.into_iter().enumerate() {
        let call = format!("s6-{number}");
        let request = json!({"call": call, "tool": "Bash", "args": {"command": command}, "cwd": cwd});
        let mut event = desk.event("tool.requested", "agent:111111111111", &request);
        (event.agent, event.session) = (Some("coder".into()), Some("s6".into()));
        desk.append(vec![event]).unwrap();
    }
    for (name, server) in [("Task", "web"), ("mcp__fs__look", "fs")] {
        let call = format!("of-{server}");
        desk.ask_with(json!({"call": call, "tool": name, "server": server, "args": {"path": "src/a.rs"}, "cwd": PROJECT})).unwrap();
    }
    let begun = [
        ("tester", json!({"run": "above", "kind": "task", "parent": "d7"})),
        ("coder", json!({"run": "above", "kind": "task"})),
        ("reviewer", json!({"run": "below", "kind": "task", "parent": "above"})),
    ];
    for (agent, started) in begun {
        let mut event = desk.event("run.started", "agent:111111111111", &started);
        event.agent = Some(agent.into());
        desk.append(vec![event]).unwrap();
    }
    let request = json!({"call": "below-1", "tool": "Bash", "args": {"command": "cat a"}, "cwd": PROJECT});
    let mut event = desk.event("tool.requested", "agent:111111111111", &request);
    (event.agent, event.run) = (Some("reviewer".into()), Some("below".into()));
    assert_eq!(decision(&desk.append(vec![event]).unwrap()).verdict, Verdict::Allow);
}
