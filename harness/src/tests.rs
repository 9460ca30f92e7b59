//! The dialects on what the harnesses' own programs write, and settings files that are changed and restored.
//!
//! The inputs of Claude Code were recorded from its version 2.1.197, with names and paths replaced.

mod claude_samples;
mod settings;

use serde_json::{Value, json};

use crate::*;

const PRE_TOOL_USE: &str = r#"{"session_id":"c92ddea2","transcript_path":"/home/ana/.claude/projects/p/c92ddea2.jsonl","cwd":"/home/ana/p","prompt_id":"7c026d90","permission_mode":"default","effort":{"level":"high"},"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"echo hello > out.txt","description":"w"},"tool_use_id":"toolu_01A"}"#;
const POST_TOOL_USE: &str = r#"{"session_id":"c92ddea2","transcript_path":"/t.jsonl","cwd":"/home/ana/p","permission_mode":"default","agent_id":"a506c618","agent_type":"general-purpose","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{"stdout":"a\nb","stderr":"","interrupted":false,"isImage":false},"tool_use_id":"toolu_01A","duration_ms":121}"#;
const FAILURE: &str = r#"{"session_id":"c92ddea2","cwd":"/home/ana/p","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"false"},"tool_use_id":"toolu_01B","error":"Exit code 1","is_interrupt":false,"duration_ms":105}"#;
const BEFORE_TOOL: &str = r#"{"session_id":"g1","transcript_path":"/g.json","cwd":"/home/ana/p","hook_event_name":"BeforeTool","timestamp":"2026-11-27T00:00:00Z","tool_name":"run_shell_command","tool_input":{"command":"ls"}}"#;

fn before(dialect: Dialect, input: &str) -> (HookInput, ToolCall) {
    let input = dialect.read(input.as_bytes()).unwrap();
    let HookEvent::BeforeTool(call) = input.event.clone() else { panic!("{:?}", input.event) };
    (input, call)
}

fn after(dialect: Dialect, input: &str) -> (HookInput, ToolEnd) {
    let input = dialect.read(input.as_bytes()).unwrap();
    let HookEvent::AfterTool(end) = input.event.clone() else { panic!("{:?}", input.event) };
    (input, end)
}

#[test]
fn a_call_of_claude_code_is_asked_for_with_its_arguments_byte_for_byte() {
    let (input, call) = before(Dialect::Claude, PRE_TOOL_USE);
    let request = decide_request(&input, &call, None, true).unwrap();
    let written: Value = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
    assert_eq!(
        written,
        json!({"call": "toolu_01A", "tool": "Bash", "session": "c92ddea2", "cwd": "/home/ana/p", "interactive": true,
               "args": {"command": "echo hello > out.txt", "description": "w"}})
    );
    assert_eq!(request.args.unwrap().get(), r#"{"command":"echo hello > out.txt","description":"w"}"#);
}

#[test]
fn the_end_of_a_call_is_told_with_its_duration_its_output_and_its_subagent() {
    let (input, end) = after(Dialect::Claude, POST_TOOL_USE);
    let report = outcome_request(&input, &end, None).unwrap();
    let written: Value = serde_json::to_value(&report).unwrap();
    assert_eq!(
        written,
        json!({"call": "toolu_01A", "status": "ok", "durationMs": 121, "session": "c92ddea2", "run": "a506c618",
               "output": {"bytes": 65, "tail": "a\nb"}})
    );
}

#[test]
fn a_failure_is_told_apart_by_its_text() {
    let (_, end) = after(Dialect::Claude, FAILURE);
    assert_eq!((end.status, end.error, end.exit_code), (ToolStatus::Error, Some("exit_code"), Some(1)));
    let other = FAILURE.replace("Exit code 1", "<tool_use_error>File has not been read yet.");
    let (_, end) = after(Dialect::Claude, &other);
    assert_eq!((end.status, end.error, end.exit_code), (ToolStatus::Error, Some("tool_use_error"), None));
    let other = FAILURE.replace("\"is_interrupt\":false", "\"is_interrupt\":true");
    assert_eq!(after(Dialect::Claude, &other).1.status, ToolStatus::Interrupted);
}

#[test]
fn no_dialect_lets_a_reviewed_or_denied_call_run_unasked() {
    let review =
        |interactive| HookVerdict::Review { reason: "ask first", approval: Some("a17"), interactive };
    let deny = HookVerdict::Deny { reason: "never" };
    let word = |dialect: Dialect, verdict: &HookVerdict<'_>| {
        let output: Value = serde_json::from_str(&dialect.answer(verdict)).unwrap();
        let found = ["/hookSpecificOutput/permissionDecision", "/decision", "/permission"];
        found.iter().find_map(|place| Some(output.pointer(place)?.as_str()?.to_owned()))
    };
    let table = [
        // allow, approved, review with a person, review without, deny
        (Dialect::Claude, [None, Some("allow"), Some("ask"), Some("deny"), Some("deny")]),
        (Dialect::Codex, [None, None, Some("deny"), Some("deny"), Some("deny")]),
        (Dialect::Gemini, [Some("allow"), Some("allow"), Some("deny"), Some("deny"), Some("deny")]),
        (Dialect::Cursor, [Some("allow"), Some("allow"), Some("ask"), Some("deny"), Some("deny")]),
    ];
    for (dialect, words) in table {
        let verdicts = [
            HookVerdict::Allow,
            HookVerdict::Approved { approval: "a17" },
            review(true),
            review(false),
            deny,
        ];
        let found = verdicts.map(|verdict| word(dialect, &verdict));
        assert_eq!(found, words.map(|word| word.map(str::to_owned)), "{dialect}");
        assert!(dialect.answer(&review(false)).contains("bitacora approvals approve a17"), "{dialect}");
    }
}

#[test]
fn a_call_without_an_id_takes_the_given_one_and_is_refused_without() {
    let (input, call) = before(Dialect::Gemini, BEFORE_TOOL);
    assert_eq!(decide_request(&input, &call, Some("c1"), false).unwrap().call, "c1");
    let refused = decide_request(&input, &call, None, false).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "found a hook `tool call` without `tool_use_id`; expected it in each tool call"
    );
}

#[test]
fn input_that_is_no_hooks_is_refused_with_its_fault() {
    for input in ["", "[]", "{}", "{\"hook_event_name\":\"PreToolUse\"", "null", "\u{0}"] {
        for dialect in Dialect::ALL {
            assert!(
                matches!(dialect.read(input.as_bytes()), Err(HookError::NotAHook(_))),
                "{dialect} {input}"
            );
        }
    }
    let without_tool =
        r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_use_id":"t","tool_input":{}}"#;
    let refused = Dialect::Claude.read(without_tool.as_bytes()).unwrap_err();
    assert_eq!(refused, HookError::Missing { event: "PreToolUse".to_owned(), member: "tool_name" });
    let long = PRE_TOOL_USE.replace("toolu_01A", &"x".repeat(MAX_CALL_BYTES + 1));
    let (input, call) = before(Dialect::Claude, &long);
    let refused = decide_request(&input, &call, None, false).unwrap_err();
    assert_eq!(refused, HookError::TooLong { member: "tool_use_id", bytes: 257, limit: 256 });
}

#[test]
fn a_hook_of_a_later_version_is_taken_and_means_nothing() {
    let input = r#"{"hook_event_name":"TeammateIdle","session_id":"s","anything":[1]}"#;
    for dialect in [Dialect::Claude, Dialect::Codex] {
        let read = dialect.read(input.as_bytes()).unwrap();
        assert!(matches!(read.event, HookEvent::Other(name) if name == "TeammateIdle"));
    }
}

#[test]
fn parts_of_a_pairing_do_not_run_into_each_other() {
    assert_ne!(pairing_digest("a", "bc", "d"), pairing_digest("ab", "c", "d"));
    assert_eq!(pairing_digest("a", "b", "c"), pairing_digest("a", "b", "c"));
}

fn entry(enforce: bool) -> HookEntry {
    HookEntry {
        gate_command: "/usr/bin/bitacora-hook claude --connection /c/claude.json --gate".to_owned(),
        report_command: "/usr/bin/bitacora-hook claude --connection /c/claude.json".to_owned(),
        marker: "--connection /c/claude.json".to_owned(),
        gate_timeout_s: 315,
        report_timeout_s: 12,
        enforce,
    }
}

/// Settings that Gemini CLI alone reads.
const WITH_COMMENTS: &str =
    "// mine\n{\n\t\"permissions\": {\"allow\": [\"Bash(ls:*)\"]}, // keep\n\t\"hooks\": {}\n}\n";

/// Settings as people have them: none, empty, with hooks of others, with comments, one line, tabs, and the marks of editors.
const SETTINGS: &[&str] = &[
    "{}\n",
    "{\n  \"model\": \"opus\"\n}\n",
    "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"./own.sh\"}]}\n    ]\n  }\n}\n",
    WITH_COMMENTS,
    "{\"verbose\":true}",
    "{\r\n  \"language\": \"\\u00e9\"\r\n}\r\n",
];

#[test]
fn hooks_are_added_beside_what_is_there_and_taken_out_again() {
    for dialect in Dialect::ALL {
        for settings in SETTINGS {
            let of_gemini = settings.replace("PreToolUse", "BeforeTool");
            let settings = if dialect == Dialect::Gemini { of_gemini.as_str() } else { *settings };
            if settings == WITH_COMMENTS && dialect != Dialect::Gemini {
                continue;
            }
            // Codex takes no file with another member than hooks.
            if dialect == Dialect::Codex
                && !matches!(parsed(settings).as_object(), Some(members) if members.keys().all(|name| name == "hooks"))
            {
                continue;
            }
            let with = dialect.with_hooks(settings, &entry(true)).unwrap();
            assert!(has_hooks(&with, &entry(true).marker), "{dialect} {settings}");
            assert_eq!(dialect.with_hooks(&with, &entry(true)).unwrap(), with, "{dialect}: twice is once");
            let without = without_hooks(&with, &entry(true).marker).unwrap();
            assert!(!has_hooks(&without, &entry(true).marker));
            let (found, expected) = (parsed(&without), parsed(settings));
            let expected = if dialect == Dialect::Cursor { with_version(expected) } else { expected };
            assert_eq!(without_empty_hooks(found), without_empty_hooks(expected), "{dialect} {settings}");
            if let Some(comment) = settings.find("// keep") {
                assert!(with[comment..].contains("// keep") && without.contains("// mine"));
            }
        }
    }
}

fn parsed(settings: &str) -> Value {
    let lines = settings.lines().map(|line| line.split("//").next().unwrap_or_default());
    serde_json::from_str(&lines.collect::<Vec<_>>().join("\n")).unwrap()
}

fn with_version(mut settings: Value) -> Value {
    settings["version"] = json!(1);
    settings
}

fn without_empty_hooks(mut settings: Value) -> Value {
    if settings.get("hooks") == Some(&json!({})) {
        settings.as_object_mut().unwrap().remove("hooks");
    }
    settings
}

#[test]
fn another_connections_hooks_stay() {
    let other = HookEntry {
        marker: "--connection /c/other.json".to_owned(),
        gate_command: "x --connection /c/other.json --gate".to_owned(),
        report_command: "x --connection /c/other.json".to_owned(),
        ..entry(false)
    };
    let both = Dialect::Claude.with_hooks("{}", &entry(false)).unwrap();
    let both = Dialect::Claude.with_hooks(&both, &other).unwrap();
    let one = without_hooks(&both, &entry(false).marker).unwrap();
    assert!(has_hooks(&one, &other.marker) && !has_hooks(&one, &entry(false).marker));
}

#[test]
fn settings_that_are_none_are_refused_unchanged() {
    for settings in ["{", "[1]", "{\"hooks\": []}", "{\"hooks\": {\"PreToolUse\": {}}}", "no", "{'a': 1}"] {
        let refused = Dialect::Claude.with_hooks(settings, &entry(false));
        assert!(refused.is_err(), "{settings}");
    }
}

#[test]
fn every_tool_waits_for_the_gate_and_cursor_fails_closed() {
    let settings = parsed(&Dialect::Codex.with_hooks("", &entry(true)).unwrap());
    assert_eq!(settings.pointer("/hooks/PreToolUse/0/matcher"), Some(&json!(".*")));
    assert_eq!(settings.pointer("/hooks/PreToolUse/0/hooks/0/timeout"), Some(&json!(315)));
    let settings = parsed(&Dialect::Gemini.with_hooks("", &entry(true)).unwrap());
    assert_eq!(settings.pointer("/hooks/BeforeTool/0/hooks/0/timeout"), Some(&json!(315_000)));
    let settings = parsed(&Dialect::Cursor.with_hooks("", &entry(true)).unwrap());
    assert_eq!(settings.pointer("/hooks/preToolUse/0/failClosed"), Some(&json!(true)));
    assert_eq!(settings.pointer("/hooks/postToolUse/0/failClosed"), None);
}
