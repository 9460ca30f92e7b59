//! The recorded calls of real agents, under the tools and the policy that a new ledger may begin with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitacora_formats::Event;
use bitacora_governance::{Policy, STARTER_POLICY, STARTER_TOOLS, parse_policy};
use bitacora_vocabulary::{ToolDocument, Verdict};
use serde_json::{Value, json};

use crate::desk::{TestGovernance, decision, kinds};

/// A call that a person rejected is allowed at most this often for each time that one is that went well, in hundredths.
const MOST_REJECTED_ALLOWED: usize = 50;
/// Calls of a hundred that went well and would be denied.
const MOST_OK_DENIED: usize = 10;

/// The actions, oldest first.
#[expect(clippy::print_stdout, reason = "a test that did not run has to say so")]
pub(crate) fn recorded() -> Option<Vec<Value>> {
    let folder =
        std::env::var_os("BITACORA_SAMPLE_DATA").map_or_else(|| "../shared/data".into(), PathBuf::from);
    let path = folder.join("claude-code-actions.ndjson.zst");
    let Ok(packed) = std::fs::read(&path) else {
        println!("NOT RUN: no {}; BITACORA_SAMPLE_DATA names the folder with it", path.display());
        return None;
    };
    let text = String::from_utf8(zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// A ledger with the starter's tools and policy.
pub(crate) fn starter() -> TestGovernance {
    let mut desk = TestGovernance::new();
    let tools: Vec<ToolDocument> = serde_json::from_str(STARTER_TOOLS).unwrap();
    for tool in &tools {
        desk.act("tool.registered", serde_json::to_value(tool).unwrap()).unwrap();
    }
    let document = parse_policy(STARTER_POLICY.as_bytes()).unwrap();
    let policy = Policy::compile(&document.rules, &document.trust).unwrap();
    let policy = policy.with_settings(document.settings()).unwrap();
    let mut published = serde_json::to_value(&document).unwrap();
    published["version"] = json!(1);
    published["digest"] = json!(policy.digest().to_string());
    published["author"] = json!("me");
    desk.act("policy.published", published).unwrap();
    desk.act("policy.activated", json!({"version": 1})).unwrap();
    desk
}

/// Returns the imported event of an action.
fn event(
    desk: &mut TestGovernance,
    kind: &'static str,
    action: &Value,
    time: &str,
    mut body: Value,
) -> Event<'static> {
    body["call"] = action["call"].clone();
    body["assurance"] = json!("imported");
    let mut event = desk.event(kind, "admin:0", &body);
    let session = action["session"].as_str().unwrap();
    event.stream = format!("session/{session}").into();
    event.session = Some(session.to_owned().into());
    event.time = Some(time.to_owned().into());
    event
}

pub(crate) fn request(action: &Value) -> Value {
    let mut request = json!({"tool": action["tool"], "args": action["input"]});
    for name in ["model", "cwd"] {
        if !action[name].is_null() {
            request[name] = action[name].clone();
        }
    }
    let server = action["tool"].as_str().and_then(|tool| tool.strip_prefix("mcp__")?.split_once("__"));
    if let Some((server, _)) = server {
        request["server"] = json!(server);
    }
    request
}

/// Returns the ending of an action: the row it counts in, and the event.
pub(crate) fn ending(action: &Value) -> (&'static str, &'static str, Value) {
    match action["outcome"].as_str().unwrap() {
        "ok" => ("ok", "tool.completed", json!({"status": "ok"})),
        "user_rejected" => ("rejected", "tool.blocked", json!({"status": "rejected", "by": "person"})),
        "hook_blocked" => ("blocked", "tool.blocked", json!({"status": "blocked", "by": "hook"})),
        "interrupted" => ("interrupted", "tool.failed", json!({"status": "interrupted", "by": "person"})),
        "none" => ("gap", "coverage.gap", json!({"evidence": "its request", "missing": "outcome"})),
        _ => ("error", "tool.failed", json!({"status": "error"})),
    }
}

/// Calls by their endings and by the verdicts that they would have had.
#[derive(Default)]
pub(crate) struct Matrix(BTreeMap<&'static str, [usize; 3]>);

impl Matrix {
    pub(crate) fn count(&mut self, row: &'static str, verdict: Verdict) {
        let column = match verdict {
            Verdict::Allow => 0,
            Verdict::Review => 1,
            Verdict::Deny => 2,
        };
        self.0.entry(row).or_default()[column] += 1;
    }

    fn of_hundred(&self, row: &str, column: usize) -> f64 {
        let counts = self.0.get(row).copied().unwrap_or_default();
        let all: usize = counts.iter().sum();
        let share = |count: usize| f64::from(u32::try_from(count).unwrap());
        share(counts[column]) * 100.0 / share(all.max(1))
    }

    #[expect(clippy::print_stdout, reason = "it is printed for who asks for it")]
    pub(crate) fn print(&self, what: &str) {
        println!("{what}");
        println!("  {:<12}{:>7}{:>9}{:>9}{:>9}", "ended", "calls", "allow", "review", "deny");
        for (row, counts) in &self.0 {
            let [allow, review, deny] =
                [0, 1, 2].map(|column| format!("{:.1} %", self.of_hundred(row, column)));
            println!("  {row:<12}{:>7}{allow:>9}{review:>9}{deny:>9}", counts.iter().sum::<usize>());
        }
    }

    /// The same for calls that were asked for live; in thousandths.
    pub(crate) fn check_live(&self, most_ok_denied: usize, most_rejected_allowed: usize) {
        let thousandths = |row: &str, column: usize| self.of_hundred(row, column) * 10.0;
        let share = |most: usize| f64::from(u32::try_from(most).unwrap());
        let (denied, allowed) = (thousandths("ok", 2), thousandths("rejected", 0));
        assert!(denied <= share(most_ok_denied), "{denied} of a thousand that ended well were denied");
        assert!(
            allowed <= share(most_rejected_allowed),
            "{allowed} of a thousand rejected ones were allowed"
        );
    }

    fn check(&self) {
        let allowed = |row| self.of_hundred(row, 0);
        let most = f64::from(u32::try_from(MOST_REJECTED_ALLOWED).unwrap()) / 100.0;
        assert!(allowed("rejected") <= allowed("ok") * most, "{} of {}", allowed("rejected"), allowed("ok"));
        let denied = self.of_hundred("ok", 2);
        assert!(denied <= f64::from(u32::try_from(MOST_OK_DENIED).unwrap()), "{denied}");
    }
}

/// Takes an action into the ledger. Returns the row it counts in, and the verdict that it would have had.
fn judged(desk: &mut TestGovernance, action: &Value) -> (&'static str, Verdict) {
    let (row, kind, body) = ending(action);
    let at = action["at"].as_str().unwrap();
    let asked = event(desk, "tool.requested", action, at, request(action));
    let caused = desk.append(vec![asked]).unwrap();
    assert_eq!(kinds(&caused), ["decision.made"], "one decision a call");
    let made = decision(&caused);
    let ended = event(desk, kind, action, action["ended_at"].as_str().unwrap_or(at), body);
    // Of a command that nobody can read it is not known what went well.
    let counts = matches!(row, "ok" | "rejected" | "error") && !made.inputs.outcome.uncounted;
    let caused = desk.append(vec![ended]).unwrap();
    assert_eq!(kinds(&caused), if counts { vec!["trust.observed"] } else { vec![] }, "{action}");
    (row, made.verdict)
}

/// Prints the calls by their endings and by the verdicts that they would have had, with `--nocapture`. There are three matrices:
/// all sessions, every second one, and the others.
#[test]
fn what_persons_rejected_is_allowed_at_most_half_as_often_as_what_went_well() {
    let Some(actions) = recorded() else { return };
    let (mut desk, mut sessions) = (starter(), BTreeMap::new());
    let [mut all, mut even, mut odd] = [const { Matrix(BTreeMap::new()) }; 3];
    for action in &actions {
        let next = sessions.len();
        let session = *sessions.entry(action["session"].as_str().unwrap()).or_insert(next);
        let (row, verdict) = judged(&mut desk, action);
        all.count(row, verdict);
        if session % 2 == 0 { even.count(row, verdict) } else { odd.count(row, verdict) }
    }
    for (what, matrix) in [("all sessions", all), ("every second session", even), ("the other sessions", odd)]
    {
        matrix.print(what);
        matrix.check();
    }
}
