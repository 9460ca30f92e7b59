//! The conditions of rules and modes, to the letter.

use bitacora_vocabulary::{BoundedNumber, Mode, TrustRules, Verdict};
use serde_json::{Value, json};

use crate::desk::{TestGovernance, governed, tool, verdict};

/// A ledger under one policy, in which `fs.write` in `src` has earned its trust.
fn under(rules: Value) -> TestGovernance {
    let mut desk = TestGovernance::new();
    desk.act("tool.registered", tool("fs.write")).unwrap();
    desk.earn("fs.write", "src");
    desk.publish_rules(1, rules);
    desk
}

fn rule(members: Value) -> Value {
    let mut rule = json!({"id": "all", "match": {}, "action": "allow", "reason": "for a test"});
    for (name, value) in members.as_object().unwrap() {
        rule[name] = value.clone();
    }
    rule
}

fn asked(desk: &mut TestGovernance, path: &str) -> (Verdict, String) {
    let call = format!("c{}", desk.log.len());
    verdict(&desk.ask(&call, "fs.write", json!({"path": path})))
}

#[test]
fn where_no_rule_matches_a_person_looks() {
    let mut desk = under(json!([rule(json!({"match": {"tool": "fs.read"}}))]));
    assert_eq!(asked(&mut desk, "src/a.rs"), (Verdict::Review, "no-rule".into()));
}

#[test]
fn a_rule_that_never_allows_by_itself_asks_a_person_whatever_was_earned() {
    let mut desk = under(json!([rule(json!({"never_auto_approve": true}))]));
    assert_eq!(asked(&mut desk, "src/a.rs"), (Verdict::Review, "never-auto-approve".into()));
}

#[test]
fn a_score_below_the_least_of_the_rule_asks_a_person() {
    // Of 90 and 10 the score is 90/101, rounded, and a streak of ten makes it 0.9911.
    for (least, wanted) in [
        (9912, (Verdict::Review, "score-too-low")),
        (9911, (Verdict::Allow, "allowed")),
        (9000, (Verdict::Allow, "allowed")),
    ] {
        let mut desk = under(json!([rule(json!({}))]));
        let dimension =
            json!({"tool": "fs.write", "context": "src", "model": "-", "task_type": "-", "workspace": "-"});
        let counts = json!({"approvals": 90, "rejections": 10, "failures": 0, "streak": 10});
        desk.act("trust.set", json!({"dimension": dimension, "counts": counts, "reason": "for a test"}))
            .unwrap();
        let earned = desk.ask("before", "fs.write", json!({"path": "src/a.rs"}));
        assert_eq!(earned.inputs.score.to_string(), "0.9911");
        desk.publish_rules(2, json!([rule(json!({"min_trust_score": least}))]));
        assert_eq!(asked(&mut desk, "src/a.rs"), (wanted.0, wanted.1.into()), "{least}");
    }
}

#[test]
fn a_rule_may_do_without_trust_but_not_against_it() {
    let mut desk = under(json!([rule(json!({"trust": "ignore"}))]));
    assert_eq!(asked(&mut desk, "docs/a.md"), (Verdict::Allow, "allowed".into()));
    let dimension =
        json!({"tool": "fs.write", "context": "docs", "model": "-", "task_type": "-", "workspace": "-"});
    let counts = json!({"approvals": 0, "rejections": 9, "failures": 0, "streak": 0});
    desk.act("trust.set", json!({"dimension": dimension, "counts": counts, "reason": "for a test"})).unwrap();
    assert_eq!(asked(&mut desk, "docs/a.md"), (Verdict::Review, "trust-blocked".into()));
}

#[test]
fn a_rule_that_allows_holds_in_the_working_folders_that_it_names_and_nowhere_else() {
    let folders = json!(["/home/ana/work", "/home/ana/work/**"]);
    let mut desk = under(json!([rule(json!({"match": {"cwd": folders}, "trust": "ignore"}))]));
    let mut asked_in = |cwd: Option<&str>| {
        let call = format!("c{}", desk.log.len());
        let path = format!("src/{call}.rs");
        let mut request = json!({"call": call, "tool": "fs.write", "args": {"path": path}});
        if let Some(cwd) = cwd {
            request["cwd"] = json!(cwd);
        }
        verdict(&desk.ask_with(request).unwrap()).0
    };
    for cwd in ["/home/ana/work", "/home/ana/work/", "/home/ana/./work/sub"] {
        assert_eq!(asked_in(Some(cwd)), Verdict::Allow, "{cwd}");
    }
    for cwd in ["/etc", "/home/ana", "/home/ana/workshop", "/home/ana/work/..", "home/ana/work", "/"] {
        assert_ne!(asked_in(Some(cwd)), Verdict::Allow, "{cwd}");
    }
    assert_eq!(asked_in(None), Verdict::Review, "nobody said where");
}

#[test]
fn a_rule_that_denies_a_place_holds_wherever_the_working_folder_is_said_to_end() {
    let keys = json!({"id": "keys", "match": {"destination": ["**/.ssh/**", "/etc/**"]}, "action": "deny"});
    let mut desk = under(json!([rule(keys), rule(json!({"trust": "ignore"}))]));
    for (cwd, path) in [
        ("/home/ana", ".ssh/config"),
        ("/home/ana/.ssh", "config"),
        ("/home/ana/.ssh/keys", "one"),
        ("/home/ana/work", "/home/ana/.ssh/config"),
        ("/home/ana/work", "~/.ssh/config"),
        ("/", "etc/passwd"),
        ("/etc", "passwd"),
        ("/etc/ssl", "/etc/passwd"),
    ] {
        let call = format!("c{}", desk.log.len());
        let request = json!({"call": call, "tool": "fs.write", "args": {"path": path}, "cwd": cwd});
        let said = verdict(&desk.ask_with(request).unwrap());
        assert_eq!(said, (Verdict::Deny, "policy-deny".into()), "{path} in {cwd}");
    }
    assert_eq!(asked(&mut desk, "src/a.rs").0, Verdict::Allow);
    // Without its arguments it is not known where a call reaches.
    let mut bare = tool("fs.bare");
    bare["input_schema"] = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    desk.act("tool.registered", bare).unwrap();
    let digest = json!({"call": "hidden", "tool": "fs.bare", "args_digest": "0".repeat(64)});
    assert_eq!(verdict(&desk.ask_with(digest).unwrap()).0, Verdict::Deny);
}

#[test]
fn a_rule_about_arguments_sees_those_that_are_sent_and_fears_those_that_are_not() {
    let secret = json!([{"pointer": "/path", "glob": "src/secret*"}]);
    let rules = json!([
        rule(json!({"id": "secret", "match": {"arguments": secret}, "action": "deny"})),
        rule(json!({})),
    ]);
    let mut desk = under(rules);
    let mut bare = tool("fs.list");
    bare["input_schema"] = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    desk.act("tool.registered", bare).unwrap();
    for context in ["-", ".", "none"] {
        desk.earn("fs.list", context);
    }
    assert_eq!(asked(&mut desk, "src/a.rs"), (Verdict::Allow, "allowed".into()));
    assert_eq!(asked(&mut desk, "src/secret.rs"), (Verdict::Deny, "policy-deny".into()));
    // Without arguments there is no path, so the first rule does not match for sure.
    let without = desk.ask_with(json!({"call": "w", "tool": "fs.list", "args": {}})).unwrap();
    assert_eq!(without.rule.as_deref(), Some("all"));
    // Of a digest alone nobody knows.
    let digest = "0".repeat(64);
    let hidden = desk.ask_with(json!({"call": "h", "tool": "fs.list", "args_digest": digest})).unwrap();
    assert_eq!(hidden.rule.as_deref(), Some("secret"));
    assert_eq!(hidden.verdict, Verdict::Deny);
}

#[test]
fn a_command_that_cannot_be_read_is_looked_at() {
    let mut desk = under(json!([rule(json!({"trust": "ignore"}))]));
    let mut shell = tool("sh");
    shell["input_schema"] = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    shell["context_from"] = json!({"pointer": "/command", "normaliser": "command"});
    desk.act("tool.registered", shell).unwrap();
    let plain = desk.ask("p", "sh", json!({"command": "ls"}));
    assert_eq!(verdict(&plain), (Verdict::Allow, "allowed".into()));
    let opaque = desk.ask("o", "sh", json!({"command": "$TOOL a"}));
    assert_eq!(verdict(&opaque), (Verdict::Review, "arguments-opaque".into()));
}

#[test]
fn of_several_programs_each_is_judged_and_the_strictest_counts() {
    let ignoring = json!({"id": "ls", "match": {"context": "ls"}, "trust": "ignore"});
    for (other, wanted) in [
        (json!({"id": "rm", "match": {"context": "rm"}}), "trust-require-review"),
        (json!({"id": "rm", "match": {"context": "rm"}, "trust": "ignore", "action": "deny"}), "policy-deny"),
        (json!({"id": "rm", "match": {"context": "rm"}, "trust": "ignore"}), "allowed"),
    ] {
        let mut desk = under(json!([rule(ignoring.clone()), rule(other)]));
        let mut shell = tool("sh");
        shell["input_schema"] = json!({"type": "object", "properties": {"command": {"type": "string"}}});
        shell["context_from"] = json!({"pointer": "/command", "normaliser": "command"});
        desk.act("tool.registered", shell).unwrap();
        for command in ["ls; rm a", "rm a; ls"] {
            let decision = desk.ask(command, "sh", json!({"command": command}));
            assert_eq!(decision.reason_code.as_str(), wanted, "{command}");
        }
    }
}

#[test]
fn observing_is_for_whom_it_was_said() {
    let wide = json!({"tool": "fs.write"});
    for (scope, wanted) in [
        (json!({"agent": "coder"}), Mode::Observe),
        (json!({"agent": "other"}), Mode::Enforce),
        (json!({"role": "agent"}), Mode::Observe),
        (json!({"role": "auditor"}), Mode::Enforce),
        (json!({"tool": "fs.write"}), Mode::Observe),
        (json!({"tool": "fs.read"}), Mode::Enforce),
        (json!({"tool": "fs.write", "agent": "other"}), Mode::Enforce),
    ] {
        let mut desk = governed();
        desk.act("mode.configured", json!({"mode": "observe", "scope": scope})).unwrap();
        let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
        assert_eq!(decision.mode, wanted, "{scope}");
    }
    for narrow in [
        json!({"tool": "fs.write", "agent": "coder"}),
        json!({"tool": "fs.write", "role": "agent"}),
        json!({"agent": "coder", "role": "agent"}),
        json!({"tool": "fs.write", "agent": "coder", "role": "agent"}),
    ] {
        for (first, second) in [("enforce", "observe"), ("observe", "enforce")] {
            let mut desk = governed();
            desk.act("mode.configured", json!({"mode": first, "scope": wide})).unwrap();
            desk.act("mode.configured", json!({"mode": first, "scope": {"agent": "coder"}})).unwrap();
            desk.act("mode.configured", json!({"mode": second, "scope": narrow})).unwrap();
            let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs"}));
            assert_eq!(serde_json::to_value(decision.mode).unwrap(), second, "{narrow}");
        }
    }
}

const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Returns `true` if a rule that denies within a window denies at a minute of the week that begins on Monday.
fn denies(desk: &mut TestGovernance, minute: u64) -> bool {
    const MINUTE: u64 = 60 * crate::desk::SECOND;
    // The first Monday behind the start, which is a Sunday.
    desk.time = crate::desk::START + 24 * 60 * MINUTE + minute * MINUTE;
    asked(desk, "src/a.rs").0 == Verdict::Deny
}

#[test]
fn a_window_holds_on_its_days_and_between_its_hours_alone() {
    for day in 0..7_u64 {
        let name = DAYS[usize::try_from(day).unwrap()];
        let rules = |window: Value| {
            json!([
                rule(json!({"id": "closed", "match": {"time_window": window}, "action": "deny"})),
                rule(json!({}))
            ])
        };
        let day_minutes = 24 * 60;
        // A whole day; hours of a day; hours across midnight, which begin on that day.
        for (window, from, length) in [
            (json!({"days": [name]}), 0, day_minutes),
            (json!({"days": [name], "from": "09:00", "to": "17:30"}), 9 * 60, 8 * 60 + 30),
            (json!({"days": [name], "from": "22:00", "to": "06:00"}), 22 * 60, 8 * 60),
        ] {
            let mut desk = under(rules(window.clone()));
            let begins = day * day_minutes + from;
            // Of a window that goes on on Monday, that part comes first.
            let week = 7 * day_minutes;
            let mut at = [
                begins + 1,
                begins,
                begins + length - 1,
                begins + length,
                begins + week - 1,
                begins + 3 * day_minutes,
            ]
            .map(|minute| minute % week);
            at.sort_unstable();
            for minute in at {
                let within = (minute + week - begins) % week < length;
                assert_eq!(denies(&mut desk, minute), within, "{window} at {minute}");
            }
        }
    }
}

#[test]
fn of_days_that_are_named_twice_each_counts_once() {
    let window = json!({"days": ["monday", "tuesday", "monday"]});
    let closed = rule(json!({"id": "closed", "match": {"time_window": window}, "action": "deny"}));
    let mut desk = under(json!([closed, rule(json!({}))]));
    assert!(denies(&mut desk, 0));
    assert!(denies(&mut desk, 24 * 60));
    assert!(!denies(&mut desk, 2 * 24 * 60));
}

#[test]
fn a_condition_names_one_of_its_values_and_of_the_same_type() {
    for (equals, sent, wanted) in [
        (json!("7"), json!("7"), true),
        (json!("7"), json!("8"), false),
        (json!("7"), json!(7), false),
        (json!(true), json!(true), true),
        (json!(true), json!(false), false),
        (json!("true"), json!(true), false),
        (json!([6, "x", false]), json!("x"), true),
        (json!([6, "x", false]), json!(false), true),
        (json!([6, "x", false]), json!(7), false),
    ] {
        let arguments = json!([{"pointer": "/mark", "equals": equals}]);
        let closed = rule(json!({"id": "closed", "match": {"arguments": arguments}, "action": "deny"}));
        let mut desk = under(json!([closed, rule(json!({}))]));
        let decision = desk.ask("c1", "fs.write", json!({"path": "src/a.rs", "mark": sent}));
        assert_eq!(decision.verdict == Verdict::Deny, wanted, "{equals} and {sent}");
    }
}

#[test]
fn trust_is_what_the_active_policy_takes_it_for() {
    let mut desk = governed();
    desk.earn("fs.write", "src");
    let ask = |desk: &mut TestGovernance, call: &str| desk.ask(call, "fs.write", json!({"path": "src/a.rs"}));
    assert_eq!(ask(&mut desk, "c1").verdict, Verdict::Allow);
    let mut slower = TrustRules::v2();
    slower.auto_approve_approvals = BoundedNumber::clamped(21);
    let rules = json!([{"id": "all", "match": {}, "action": "allow", "reason": "for a test"}]);
    desk.publish_policy(2, rules, slower);
    assert_eq!(verdict(&ask(&mut desk, "c2")), (Verdict::Review, "trust-require-review".into()));
    let before = desk.governance.read(Clone::clone);
    desk.act("policy.activated", json!({"version": 1})).unwrap();
    assert!(desk.governance.read(|state| *state != before), "which one is active is part of the state");
    assert_eq!(ask(&mut desk, "c3").verdict, Verdict::Allow);
    desk.governance.read(|state| {
        let of = |version| state.all_policies().get(version).map(|found| found.document.trust);
        assert_eq!([of(1), of(2), of(3)], [Some(TrustRules::v2()), Some(slower), None]);
    });
}

#[test]
fn where_a_call_reaches_that_works_somewhere_is_not_known_to_be_nowhere() {
    let rules = json!([
        {"id": "keys", "match": {"destination": "/etc/**"}, "action": "deny", "reason": "for a test"},
        {"id": "all", "match": {}, "action": "allow", "reason": "for a test", "trust": "ignore"},
    ]);
    let mut desk = under(rules);
    let mut plain = tool("plain");
    plain.as_object_mut().unwrap().remove("context_from");
    let mut shell = tool("shell");
    shell["context_from"] = json!({"pointer": "/path", "normaliser": "command"});
    for document in [plain, shell] {
        desk.act("tool.registered", document).unwrap();
    }
    let ask = |desk: &mut TestGovernance, call: &str, tool: &str, path: &str| {
        verdict(&desk.ask(call, tool, json!({ "path": path })))
    };
    assert_eq!(ask(&mut desk, "c1", "shell", "make"), (Verdict::Deny, "policy-deny".into()));
    assert_eq!(ask(&mut desk, "c2", "shell", "git status"), (Verdict::Allow, "allowed".into()));
    assert_eq!(ask(&mut desk, "c3", "plain", "make"), (Verdict::Allow, "allowed".into()));
}
