use super::*;
use crate::version::REACTOR_VERSION;

fn rules(text: &str) -> Vec<Rule> {
    serde_json::from_str(text).unwrap()
}

fn policy(text: &str) -> Policy {
    Policy::compile(&rules(text), &TrustRules::v2()).unwrap()
}

/// Returns a call of a tool of which everything is known.
fn call<'a>(tool: &'a str, arguments: &'a ArgumentMatches) -> PolicyQuestion<'a> {
    PolicyQuestion {
        tool,
        server: CallPart::None,
        context: CallPart::Known("src/lib"),
        destinations: Destinations::None,
        reach: None,
        cwd: CallPart::Known("/home/dev/project"),
        model: CallPart::Known("small-1"),
        agent: CallPart::Known("ci/7"),
        role: CallPart::Known("agent"),
        task_type: CallPart::Known("fix"),
        risk: Some(Risk::Write),
        is_in_session_folder: Some(true),
        // A Sunday, 05:12 UTC.
        time: Micros(1_795_324_320_000_000),
        local: None,
        unlisted: false,
        arguments,
        reactor_version: REACTOR_VERSION,
    }
}

fn said<'p>(policy: &'p Policy, question: &PolicyQuestion<'_>) -> (Verdict, Option<&'p str>) {
    let verdict = policy.judge(question);
    (verdict.verdict, verdict.rule.map(|rule| rule.id.as_str()))
}

#[test]
fn the_first_rule_that_matches_is_what_is_said() {
    let policy = policy(
        r#"[
        {"id": "one", "match": {"tool": "fs.*", "context": "secret/**"}, "action": "deny", "reason": "no"},
        {"id": "two", "match": {"tool": "fs.write"}, "action": "allow", "reason": "yes"},
        {"id": "three", "match": {"tool": ["fs.*", "shell"]}, "action": "review", "reason": "look"},
        {"id": "four", "match": {}, "action": "deny", "reason": "the rest"}]"#,
    );
    let none = policy.match_arguments("fs.write", b"{}");
    assert_eq!(said(&policy, &call("fs.write", &none)), (Verdict::Allow, Some("two")));
    assert_eq!(said(&policy, &call("fs.read", &none)), (Verdict::Review, Some("three")));
    assert_eq!(said(&policy, &call("shell", &none)), (Verdict::Review, Some("three")));
    assert_eq!(said(&policy, &call("shells", &none)), (Verdict::Deny, Some("four")));
    let secret = PolicyQuestion { context: CallPart::Known("secret/a"), ..call("fs.write", &none) };
    assert_eq!(said(&policy, &secret), (Verdict::Deny, Some("one")));
}

#[test]
fn without_a_rule_it_is_a_review() {
    let none = ArgumentMatches::hidden();
    assert_eq!(said(&policy("[]"), &call("fs.write", &none)), (Verdict::Review, None));
    let other = policy(r#"[{"id": "a", "match": {"tool": "x"}, "action": "allow", "reason": "r"}]"#);
    let verdict = other.judge(&call("fs.write", &none));
    assert_eq!((verdict.verdict, verdict.rule, verdict.certain), (Verdict::Review, None, true));
}

#[test]
fn every_condition_narrows() {
    let table = [
        (r#"{"tool": "fs.writ?"}"#, r#"{"tool": "fs.read"}"#),
        (r#"{"context": "src/*"}"#, r#"{"context": "*"}"#),
        (r#"{"cwd": "/home/*/project"}"#, r#"{"cwd": "/home/*"}"#),
        (r#"{"model": "small-*"}"#, r#"{"model": "large-*"}"#),
        (r#"{"agent": "ci*"}"#, r#"{"agent": "ci"}"#),
        (r#"{"role": ["operator", "agent"]}"#, r#"{"role": "operator"}"#),
        (r#"{"task_type": "fix"}"#, r#"{"task_type": "test"}"#),
        (r#"{"risk": ["read", "write"]}"#, r#"{"risk": "destructive"}"#),
        (r#"{"time_window": {"days": ["sunday"]}}"#, r#"{"time_window": {"days": ["monday", "saturday"]}}"#),
        (
            r#"{"time_window": {"from": "05:12", "to": "05:13"}}"#,
            r#"{"time_window": {"from": "05:13", "to": "05:12"}}"#,
        ),
        (
            r#"{"arguments": [{"pointer": "/p", "glob": "a*"}]}"#,
            r#"{"arguments": [{"pointer": "/p", "glob": "b*"}]}"#,
        ),
        (
            r#"{"arguments": [{"pointer": "/n", "equals": [6, 7]}]}"#,
            r#"{"arguments": [{"pointer": "/n", "equals": "7"}]}"#,
        ),
        (
            r#"{"arguments": [{"pointer": "/x", "absent": true}]}"#,
            r#"{"arguments": [{"pointer": "/x", "absent": false}]}"#,
        ),
        (
            r#"{"arguments": [{"pointer": "/p", "glob": "a*"}, {"pointer": "/n", "equals": 7}]}"#,
            r#"{"arguments": [{"pointer": "/p", "glob": "a*"}, {"pointer": "/n", "equals": 8}]}"#,
        ),
    ];
    for (holds, fails) in table {
        for (matching, expected) in [(holds, Verdict::Allow), (fails, Verdict::Review)] {
            let policy =
                policy(&format!(r#"[{{"id": "a", "match": {matching}, "action": "allow", "reason": "r"}}]"#));
            let arguments = policy.match_arguments("fs.write", br#"{"p": "abc", "n": 7}"#);
            let verdict = policy.judge(&call("fs.write", &arguments));
            assert_eq!((verdict.verdict, verdict.certain), (expected, true), "{matching}");
        }
    }
    let policy = policy(r#"[{"id": "a", "match": {"server": "*"}, "action": "allow", "reason": "r"}]"#);
    let none = ArgumentMatches::hidden();
    assert_eq!(said(&policy, &call("x", &none)).0, Verdict::Review);
    let served = PolicyQuestion { server: CallPart::Known("files"), ..call("x", &none) };
    assert_eq!(said(&policy, &served).0, Verdict::Allow);
}

const HIDING: &str = r#"[
    {"id": "safe", "match": {"tool": "sh", "arguments": [{"pointer": "/c", "glob": "ls*"}]}, "action": "allow",
     "reason": "looks", "min_trust_score": 7000, "trust": "ignore"},
    {"id": "look", "match": {"tool": "sh", "arguments": [{"pointer": "/c", "glob": "git *"}]}, "action": "review", "reason": "r"},
    {"id": "never", "match": {"tool": "sh", "arguments": [{"pointer": "/c", "glob": "rm *"}]}, "action": "deny", "reason": "r"},
    {"id": "rest", "match": {"tool": "sh"}, "action": "allow", "reason": "r", "never_auto_approve": true, "trust": "ignore"}]"#;

#[test]
fn hidden_arguments_are_judged_as_the_worst_that_they_may_be() {
    let policy = policy(HIDING);
    for (command, rule) in [("ls -l", "safe"), ("git push", "look"), ("rm x", "never"), ("cat x", "rest")] {
        let arguments = policy.match_arguments("sh", format!(r#"{{"c": "{command}"}}"#).as_bytes());
        assert_eq!(said(&policy, &call("sh", &arguments)).1, Some(rule));
    }
    let hidden = ArgumentMatches::hidden();
    let verdict = policy.judge(&call("sh", &hidden));
    assert_eq!(
        (verdict.verdict, verdict.rule.unwrap().id.as_str(), verdict.certain),
        (Verdict::Deny, "never", false)
    );
    assert_eq!(verdict.min_trust_score.unwrap().ten_thousandths(), 7000);
    assert!(verdict.never_auto_approve);
    assert_eq!(verdict.trust, TrustUse::Respect);
}

#[test]
fn hidden_arguments_do_not_allow_by_a_rule_that_asks_for_them() {
    let policy = policy(
        &HIDING
            .replace("\"deny\"", "\"allow\"")
            .replace("\"review\"", "\"allow\"")
            .replace("{\"tool\": \"sh\"}", "{\"tool\": \"zsh\"}"),
    );
    let hidden = ArgumentMatches::hidden();
    assert_eq!(said(&policy, &call("sh", &hidden)), (Verdict::Review, None));
}

#[test]
fn matches_of_another_policy_are_no_matches() {
    let (policy, other) = (policy(HIDING), policy(&HIDING.replace("7000", "7001")));
    let arguments = other.match_arguments("sh", br#"{"c": "ls"}"#);
    assert_eq!(said(&policy, &call("sh", &arguments)).0, Verdict::Deny);
    assert_eq!(said(&other, &call("sh", &arguments)).0, Verdict::Allow);
    assert_ne!(policy.digest(), other.digest());
}

#[test]
fn what_cannot_be_compared_perhaps_matches() {
    let deny = |condition: &str| {
        let rule = r#"{"id": "a", "match": {"arguments": [CONDITION]}, "action": "deny", "reason": "r"}"#;
        policy(&format!("[{}]", rule.replace("CONDITION", condition)))
    };
    let long = format!(r#"{{"c": "{}"}}"#, "x".repeat(MAX_MATCHED_TEXT_BYTES + 1));
    for (condition, arguments) in [
        (r#"{"pointer": "/c", "glob": "rm *"}"#, r#"{"c": ["rm", "-r"]}"#),
        (r#"{"pointer": "/c", "glob": "rm *"}"#, r#"{"c": {"rm": 1}}"#),
        (r#"{"pointer": "/c", "equals": "rm"}"#, r#"{"c": ["rm"]}"#),
        (r#"{"pointer": "/c", "equals": 1}"#, r#"{"c": 1.0}"#),
        (r#"{"pointer": "/c", "equals": 1}"#, r#"{"c": 10e-1}"#),
        (r#"{"pointer": "/c", "glob": "rm *"}"#, r#"{"c": "ls", "c": "rm x"}"#),
        (r#"{"pointer": "/c", "absent": true}"#, r#"{"c": 1, "c": 2}"#),
        (r#"{"pointer": "/c", "glob": "rm *"}"#, r#"{"c": "ls"#),
        (r#"{"pointer": "/c", "glob": "rm *"}"#, &long),
    ] {
        let policy = deny(condition);
        let matches = policy.match_arguments("sh", arguments.as_bytes());
        let verdict = policy.judge(&call("sh", &matches));
        assert_eq!((verdict.verdict, verdict.certain), (Verdict::Deny, false), "{condition} {arguments:.40}");
    }
    for (condition, arguments, expected) in [
        (r#"{"pointer": "/c", "glob": "rm *"}"#, r#"{"c": "rm x"}"#, Verdict::Deny),
        (r#"{"pointer": "/c", "glob": "1*"}"#, r#"{"c": 12}"#, Verdict::Deny),
        (r#"{"pointer": "/c", "glob": ["nul?", "tru?"]}"#, r#"{"c": true}"#, Verdict::Deny),
        (r#"{"pointer": "/c", "glob": "*"}"#, r#"{}"#, Verdict::Review),
        (r#"{"pointer": "/c", "equals": null}"#, r#"{"c": null}"#, Verdict::Deny),
        (r#"{"pointer": "/c", "equals": null}"#, r#"{}"#, Verdict::Review),
        (r#"{"pointer": "/c", "equals": -5}"#, r#"{"c": -5}"#, Verdict::Deny),
        (r#"{"pointer": "/c", "equals": false}"#, r#"{"c": "false"}"#, Verdict::Review),
        (r#"{"pointer": "/c", "absent": true}"#, r#"{"c": null}"#, Verdict::Review),
    ] {
        let policy = deny(condition);
        let matches = policy.match_arguments("sh", arguments.as_bytes());
        let verdict = policy.judge(&call("sh", &matches));
        assert_eq!((verdict.verdict, verdict.certain), (expected, true), "{condition} {arguments}");
    }
}

#[test]
fn unknown_parts_perhaps_match() {
    for member in ["server", "context", "destination", "cwd", "model", "agent", "role", "task_type", "risk"] {
        let value = if member == "risk" { "destructive" } else { "x*" };
        let policy = policy(&format!(
            r#"[{{"id": "a", "match": {{"{member}": "{value}"}}, "action": "deny", "reason": "r"}}]"#
        ));
        let none = policy.match_arguments("sh", b"{}");
        let known = call("sh", &none);
        assert_eq!(policy.judge(&known).verdict, Verdict::Review, "{member}");
        let unknown = PolicyQuestion {
            server: CallPart::Unknown,
            context: CallPart::Unknown,
            destinations: Destinations::Unknown,
            cwd: CallPart::Unknown,
            model: CallPart::Unknown,
            agent: CallPart::Unknown,
            role: CallPart::Unknown,
            task_type: CallPart::Unknown,
            risk: None,
            ..known
        };
        assert_eq!(policy.judge(&unknown).verdict, Verdict::Deny, "{member}");
    }
}

#[test]
fn a_rule_about_destinations_is_about_all_of_them() {
    let places = |texts: &[&str]| -> Vec<PlaceText> {
        texts.iter().map(|text| PlaceText::new(*text).unwrap()).collect()
    };
    let long = format!("/home/dev/{}~{}", "x".repeat(200), "0".repeat(32));
    let table = [
        (vec!["/home/dev/a", "/home/dev/b/c"], Verdict::Allow, Verdict::Deny),
        (vec!["/home/dev/a", "/etc/x"], Verdict::Review, Verdict::Deny),
        (vec!["/etc/x"], Verdict::Review, Verdict::Review),
        (vec!["/home/devil/a"], Verdict::Review, Verdict::Review),
        // Of what was cut the end is not known.
        (vec![long.as_str()], Verdict::Review, Verdict::Deny),
        (vec![], Verdict::Review, Verdict::Review),
    ];
    for (texts, when_allowed, when_denied) in table {
        for (action, expected) in [("allow", when_allowed), ("deny", when_denied)] {
            let policy = policy(&format!(
                r#"[{{"id": "a", "match": {{"destination": "/home/dev/**"}}, "action": "{action}", "reason": "r"}}]"#
            ));
            let (none, places) = (ArgumentMatches::hidden(), places(&texts));
            let destinations = Destinations::Known(&places);
            let question = PolicyQuestion { destinations, ..call("fs.write", &none) };
            assert_eq!(policy.judge(&question).verdict, expected, "{action} {texts:?}");
        }
    }
}

#[test]
fn noted_matches_are_bounded_and_what_is_behind_them_is_unclear() {
    let rule = |number: usize, action: &str| {
        format!(
            r#"{{"id": "{number}", "match": {{"agent": "nobody", "arguments": [{{"pointer": "/c", "glob": "*"}}]}}, "action": "{action}", "reason": "r"}}"#
        )
    };
    let mut texts: Vec<_> = (0..MAX_NOTED_RULES + 1).map(|number| rule(number, "deny")).collect();
    texts.push(r#"{"id": "last", "match": {"arguments": [{"pointer": "/d", "glob": "x"}]}, "action": "deny", "reason": "r"}"#.into());
    let policy = policy(&format!("[{}]", texts.join(",")));
    let matches = policy.match_arguments("sh", br#"{"c": "y", "d": "y"}"#);
    assert_eq!(said(&policy, &call("sh", &matches)), (Verdict::Deny, Some("last")));
    let text = serde_json::to_string(&matches).unwrap();
    assert!(text.len() < 4_000, "{}", text.len());
    assert_eq!(serde_json::from_str::<ArgumentMatches>(&text).unwrap(), matches);
}

#[test]
fn a_call_that_matches_little_is_noted_in_few_bytes() {
    let policy = policy(HIDING);
    let matches = policy.match_arguments("sh", br#"{"c": "rm secret"}"#);
    let expected = format!(r#"{{"policy":"{}","holds":[2]}}"#, policy.digest());
    assert_eq!(serde_json::to_string(&matches).unwrap(), expected);
}

#[test]
fn a_score_that_is_too_low_and_a_person_that_must_look_make_a_review() {
    let policy = policy(
        r#"[{"id": "a", "match": {"tool": "a"}, "action": "allow", "reason": "r", "min_trust_score": 9000},
        {"id": "b", "match": {"tool": "b"}, "action": "allow", "reason": "r", "never_auto_approve": true},
        {"id": "c", "match": {"tool": "c"}, "action": "deny", "reason": "r", "never_auto_approve": true}]"#,
    );
    let none = ArgumentMatches::hidden();
    let score = |score| Score::new(score).unwrap();
    assert_eq!(policy.judge(&call("a", &none)).for_score(score(8999)), Verdict::Review);
    assert_eq!(policy.judge(&call("a", &none)).for_score(score(9000)), Verdict::Allow);
    assert_eq!(policy.judge(&call("b", &none)).for_score(score(10_000)), Verdict::Review);
    assert_eq!(policy.judge(&call("c", &none)).for_score(score(10_000)), Verdict::Deny);
}

#[test]
fn errors_name_the_rule_and_the_member() {
    let with =
        |matching: &str| format!(r#"[{{"id": "r1", "match": {matching}, "action": "deny", "reason": "r"}}]"#);
    for (matching, message) in [
        (
            r#"{"tool": ["a", "b***"]}"#,
            "rule `r1`, match.tool, `b***`: more than two `*` in a row; `**` is all there is",
        ),
        (
            r#"{"arguments": [{"pointer": "/a", "absent": true}, {"pointer": "a", "glob": "x"}]}"#,
            "rule `r1`, match.arguments[1].pointer: a JSON pointer begins with `/`; write `/path` for the member `path`",
        ),
        (
            r#"{"arguments": [{"pointer": "/a", "glob": "[x"}]}"#,
            "rule `r1`, match.arguments[0].glob, `[x`: `[` without `]`; close it, or write `\\[` for the character",
        ),
        (
            r#"{"arguments": [{"pointer": "/a", "glob": "x", "absent": true}]}"#,
            "rule `r1`, match.arguments[0]: give one of `glob`, `equals` and `absent`; several conditions are several entries",
        ),
        (
            r#"{"arguments": [{"pointer": "/a"}]}"#,
            "rule `r1`, match.arguments[0]: give one of `glob`, `equals` and `absent`; several conditions are several entries",
        ),
        (
            r#"{"time_window": {"from": "10:00"}}"#,
            "rule `r1`, match.time_window: `from` without `to`, or the other way round; give both",
        ),
    ] {
        assert_eq!(
            Policy::compile(&rules(&with(matching)), &TrustRules::v2()).unwrap_err().to_string(),
            message
        );
    }
    let twice = r#"[{"id": "a", "match": {}, "action": "deny", "reason": "r"},
        {"id": "a", "match": {}, "action": "allow", "reason": "r"}]"#;
    assert_eq!(
        Policy::compile(&rules(twice), &TrustRules::v2()).unwrap_err().to_string(),
        "rules 1 and 2 are both called `a`; name each once"
    );
}

#[test]
fn ten_thousand_rules_are_taken_and_no_more() {
    let one = rules(r#"[{"id": "a", "match": {}, "action": "deny", "reason": "r"}]"#);
    let many = |count: usize| -> Vec<Rule> {
        let numbered =
            |number: usize| Rule { id: format!("r{number}").try_into().unwrap(), ..one[0].clone() };
        (0..count).map(numbered).collect()
    };
    assert!(Policy::compile(&many(MAX_RULES), &TrustRules::v2()).is_ok());
    assert_eq!(
        Policy::compile(&many(MAX_RULES + 1), &TrustRules::v2()).unwrap_err(),
        PolicyError::TooManyRules
    );
}

#[test]
fn the_digest_is_that_of_the_canonical_text() {
    let written = r#"[{"reason": "no\t\"é\u20ac\"", "action": "deny", "match": {"tool": ["a"]}, "id": "x", "trust": "respect"}]"#;
    let canonical = concat!(
        r#"{"rules":[{"action":"deny","id":"x","match":{"tool":"a"},"reason":"no\t\"é€\""}],"trust":{"auto_approve_approvals":20,"auto_approve_score":9000,"#,
        r#""blocked_may_be_probed":false,"blocking_failures":5,"failures_counted":"all","max_streak_bonus":1000,"#,
        r#""min_observations":0,"review_score":5000,"streak_bonus":100}}"#,
    );
    let expected = <sha2::Sha256 as sha2::Digest>::digest(canonical.as_bytes());
    let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
    let digest = PolicyDigest::of(
        &rules(written).iter().collect::<Vec<_>>(),
        &TrustRules::v1(),
        &PolicySettings::default(),
    );
    assert_eq!(digest.to_string(), expected);
    assert_eq!(expected.parse(), Ok(digest));
    let with_life = canonical.replacen('{', r#"{"key_life_s":3600,"#, 1);
    let expected_with: String =
        <sha2::Sha256 as sha2::Digest>::digest(with_life).iter().map(|byte| format!("{byte:02x}")).collect();
    let policy = Policy::compile(&rules(written), &TrustRules::v1()).unwrap();
    let settings = PolicySettings { key_life_s: Some(KeyLife::clamped(3_600)), ..PolicySettings::default() };
    let longer = policy.clone().with_settings(settings).unwrap();
    assert_eq!(longer.digest().to_string(), expected_with);
    assert!(PolicyDiff::between(&policy, &longer).key_life_changed);
    assert_eq!(longer.with_settings(PolicySettings::default()).unwrap().digest(), digest);
    for bad in ["", &expected[1..], &expected.to_uppercase(), &format!("{expected}0"), &"g".repeat(64)] {
        assert!(bad.parse::<PolicyDigest>().is_err(), "{bad}");
    }
}

#[test]
fn every_setting_is_read_told_by_the_digest_and_compared() {
    let trust = serde_json::to_string(&TrustRules::v2()).unwrap();
    let plain = format!(r#"{{"rules": [], "trust": {trust}}}"#);
    let policy = |text: &str| {
        let document = parse_policy(text.as_bytes()).unwrap();
        Policy::compile(&document.rules, &document.trust).unwrap().with_settings(document.settings()).unwrap()
    };
    let before = policy(&plain);
    for (member, shown) in [
        (r#""key_life_s": 60"#, "~ key life\n"),
        (r#""bounds": {"identical_calls": 4}"#, "~ bounds\n"),
        (r#""exit_codes_count": ["deploy"]"#, "~ exit codes\n"),
        (r#""unregistered": "review""#, "~ unregistered tools\n"),
    ] {
        let text = plain.replacen('{', &format!("{{{member},"), 1);
        let after = policy(&text);
        assert_ne!(before.digest(), after.digest(), "{member}");
        assert_eq!(PolicyDiff::between(&before, &after).to_string(), shown);
    }
    for bad in [r#""exit_codes_count": []"#, r#""exit_codes_count": "deploy""#, r#""unregistered": "allow""#]
    {
        assert!(parse_policy(plain.replacen('{', &format!("{{{bad},"), 1).as_bytes()).is_err(), "{bad}");
    }
    let unreadable = serde_json::from_str(r#"{"exit_codes_count": ["[z-a]"]}"#).unwrap();
    let refused = Policy::compile(&[], &TrustRules::v2()).unwrap().with_settings(unreadable).unwrap_err();
    assert!(refused.to_string().starts_with("exit_codes_count, `[z-a]`: "), "{refused}");
}

#[test]
fn a_document_is_read_strictly_and_its_problem_is_named() {
    let trust = serde_json::to_string(&TrustRules::v2()).unwrap();
    let document = |rules: &str, trust: &str| format!(r#"{{"rules": [{rules}], "trust": {trust}}}"#);
    let good = r#"{"id": "a", "match": {}, "action": "deny", "reason": "r"}"#;
    let read = parse_policy(document(good, &trust).as_bytes()).unwrap();
    assert_eq!(read.rules.len(), 1);
    assert_eq!((&read.trust, read.key_life_s), (&TrustRules::v2(), None));
    let read = parse_policy(document(good, &format!("{trust}, \"key_life_s\": 60")).as_bytes()).unwrap();
    assert_eq!(read.key_life_s, Some(KeyLife::clamped(60)));
    let refused = parse_policy(document(good, &format!("{trust}, \"key_life_s\": 59")).as_bytes());
    assert!(refused.unwrap_err().to_string().contains("60"));
    let misspelt = r#"{"id": "b", "match": {"tols": "x"}, "action": "deny", "reason": "r"}"#;
    for (text, message) in [
        (document(&format!("{good},{misspelt}"), &trust), "rule 2 (`b`): unknown field `tols`"),
        (
            document(r#"{"id": "c", "match": {}, "reason": "r"}"#, &trust),
            "rule 1 (`c`): missing field `action`",
        ),
        (document("7", &trust), "rule 1: invalid type: integer `7`"),
        (document(good, &trust.replace("review_score", "reviewscore")), "unknown field `reviewscore`"),
        (document(good, "{}"), "missing field `auto_approve_score`"),
        (document(good, &trust).replace("rules", "rule"), "unknown field `rule`"),
        (document(&good.replace("reason", "id"), &trust), "duplicate key"),
        ("[]".into(), "the policy is not taken"),
    ] {
        let error = parse_policy(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn looking_rules_up_finds_what_trying_each_by_itself_finds() {
    let mut seed: u64 = 3;
    let mut pick = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % most
    };
    let tools = ["fs.write", "fs.*", "*", "shell", "s*"];
    let contexts = ["src/**", "src", "docs/a", "**", "*/lib", "sr*", "git"];
    let called = ["fs.write", "fs.read", "shell", "curl"];
    let places = ["src", "src/lib", "docs/a", "git", "-", "other/lib"];
    let none = ArgumentMatches::hidden();
    let mut matched = 0;
    for _ in 0..400 {
        let all: Vec<Rule> = (0..1 + pick(8))
            .map(|number| {
                let mut matches = serde_json::Map::new();
                if pick(3) > 0 {
                    matches.insert("tool".into(), tools[pick(tools.len())].into());
                }
                if pick(3) > 0 {
                    let given: Vec<_> = (0..1 + pick(2)).map(|_| contexts[pick(contexts.len())]).collect();
                    matches.insert("context".into(), given.into());
                }
                let rule = serde_json::json!({"id": format!("r{number}"), "match": matches, "action": "allow", "reason": "r"});
                serde_json::from_value(rule).unwrap()
            })
            .collect();
        let whole = Policy::compile(&all, &TrustRules::v2()).unwrap();
        for (tool, place) in called.iter().flat_map(|tool| places.map(|place| (*tool, place))) {
            let question = PolicyQuestion { context: CallPart::Known(place), ..call(tool, &none) };
            let alone = |rule: &&Rule| {
                let one = Policy::compile(std::slice::from_ref(*rule), &TrustRules::v2()).unwrap();
                one.rules[0].fit(&question, || ConditionMatch::Yes) == ConditionMatch::Yes
            };
            let first = all.iter().find(alone).map(|rule| rule.id.as_str());
            assert_eq!(said(&whole, &question).1, first, "{tool} on {place}: {all:?}");
            matched += usize::from(first.is_some());
        }
    }
    assert!(matched > 2_000, "{matched}");
}
