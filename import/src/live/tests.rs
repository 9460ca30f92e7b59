//! Lines as Codex 0.169 and Gemini CLI 0.61 wrote them, with names, ids and texts replaced.

use super::*;

const META: &str = r#"{"timestamp":"2026-11-27T04:46:49.207Z","ordinal":0,"type":"session_meta","payload":{"session_id":"s1","id":"s1","timestamp":"2026-11-27T04:46:48.988Z","cwd":"/home/ana/p","originator":"codex_exec","cli_version":"0.169.0","source":"exec","model_provider":"openai"}}"#;
const TURN: &str = r#"{"timestamp":"2026-11-27T04:46:49.248Z","ordinal":5,"type":"turn_context","payload":{"turn_id":"t1","cwd":"/home/ana/p","approval_policy":"never","model":"gpt-5","summary":"none"}}"#;
const CALL: &str = r#"{"timestamp":"2026-11-27T04:46:49.551Z","ordinal":9,"type":"response_item","payload":{"type":"function_call","id":"fc_1","name":"exec_command","arguments":"{\"cmd\": \"ls\"}","call_id":"call_1"}}"#;
const USAGE: &str = r#"{"timestamp":"2026-11-27T04:46:49.562Z","ordinal":11,"type":"token_usage_record","payload":{"thread_id":"s1","turn_id":"t1","session_id":"s1","response_id":"resp_1","usage":{"input_tokens":50,"cached_input_tokens":40,"cache_write_input_tokens":2,"output_tokens":3,"reasoning_output_tokens":1,"total_tokens":53},"thread_token_usage":{"input_tokens":50,"cached_input_tokens":40,"cache_write_input_tokens":2,"output_tokens":3,"reasoning_output_tokens":1,"total_tokens":53}}}"#;
const COUNT: &str = r#"{"timestamp":"2026-11-27T04:46:49.645Z","ordinal":14,"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":50,"cached_input_tokens":40,"output_tokens":3,"total_tokens":53},"last_token_usage":{"input_tokens":50,"cached_input_tokens":40,"output_tokens":3,"total_tokens":53},"model_context_window":258400},"rate_limits":null}}"#;
const CHAT: &str = r#"{"sessionId":"s1","projectHash":"c4","startTime":"2026-11-27T04:47:04.467Z","lastUpdated":"2026-11-27T04:47:04.467Z","kind":"main"}"#;
const SET: &str = r#"{"$set":{"lastUpdated":"2026-11-27T04:47:04.960Z"}}"#;
const ANSWER: &str = r#"{"id":"m1","timestamp":"2026-11-27T04:47:06.080Z","type":"gemini","content":"","thoughts":[],"tokens":{"input":50,"output":3,"cached":40,"thoughts":2,"tool":1,"total":56},"model":"gemini-2.5-flash"}"#;

fn output(text: &str) -> String {
    let output = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"timestamp":"2026-11-27T04:46:49.637Z","type":"response_item","payload":{{"type":"function_call_output","id":"fco_1","call_id":"call_1","output":{output}}}}}"#
    )
}

/// An answer with one call, as Gemini CLI writes it again when the call has ended.
fn called(name: &str, status: &str, response: &str) -> String {
    let call = format!(
        r#""toolCalls":[{{"id":"run_1","name":"{name}","args":{{"command":"ls"}},"result":[{{"functionResponse":{{"id":"run_1","name":"{name}","response":{response}}}}}],"status":"{status}","timestamp":"2026-11-27T04:47:06.334Z","resultDisplay":"x","renderOutputAsMarkdown":false}}]}}"#
    );
    format!("{},{call}", ANSWER.strip_suffix('}').unwrap())
}

fn drafts(form: TranscriptForm, lines: &[&str]) -> Vec<EventDraft> {
    let mut reader = LiveTranscript::new(form, TranscriptContext::default());
    lines.iter().flat_map(|line| reader.line(line.as_bytes()).unwrap()).collect()
}

fn ids(drafts: &[EventDraft]) -> Vec<(&str, &str)> {
    drafts.iter().map(|draft| (&*draft.kind, draft.id.as_str())).collect()
}

fn member(draft: &EventDraft, pointer: &str) -> Option<serde_json::Value> {
    serde_json::from_str::<serde_json::Value>(&draft.data).unwrap().pointer(pointer).cloned()
}

#[test]
fn a_rollout_gives_its_calls_and_each_answer_once() {
    let ended = output(
        "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nProcess exited with code 0\n",
    );
    let found = drafts(TranscriptForm::Codex, &[META, TURN, CALL, USAGE, &ended, COUNT]);
    assert_eq!(
        ids(&found),
        [
            ("session.started", "s1#started"),
            ("tool.requested", "call_1#requested"),
            ("model.called", "s1#tokens-53#called"),
            ("tool.failed", "call_1#outcome"),
        ]
    );
    assert_eq!(member(&found[1], "/tool"), Some("Bash".into()));
    assert_eq!(member(&found[1], "/args/command"), Some("ls".into()));
    assert_eq!(member(&found[2], "/model"), Some("gpt-5".into()));
    let tokens =
        ["in", "out", "cache_read", "cache_write"].map(|name| member(&found[2], &format!("/tokens/{name}")));
    assert_eq!(tokens, [8, 3, 40, 2].map(|number| Some(number.into())));
    assert_eq!(member(&found[3], "/exit_code"), Some(2.into()));
    // An older version writes the second kind of line alone.
    let older = drafts(TranscriptForm::Codex, &[META, TURN, COUNT, COUNT]);
    assert_eq!(ids(&older)[1..], [("model.called", "s1#tokens-53#called")]);
}

#[test]
fn a_rollout_that_is_read_on_needs_the_context_of_its_beginning() {
    let mut first = LiveTranscript::new(TranscriptForm::Codex, TranscriptContext::default());
    for line in [META, TURN] {
        first.line(line.as_bytes()).unwrap();
    }
    let mut second = LiveTranscript::new(TranscriptForm::Codex, first.context());
    let found = second.line(CALL.as_bytes()).unwrap();
    assert_eq!(
        (found[0].session.as_deref(), member(&found[0], "/model")),
        (Some("s1"), Some("gpt-5".into()))
    );
    let without =
        LiveTranscript::new(TranscriptForm::Codex, TranscriptContext::default()).line(CALL.as_bytes());
    assert_eq!(without.unwrap_err().to_string(), "no session_meta before it");
}

#[test]
fn only_codexs_own_words_show_that_a_call_did_not_run() {
    let status = |tool: &str, text: &str| {
        let call = CALL.replace("exec_command", tool);
        let found = drafts(TranscriptForm::Codex, &[META, &call, &output(text)]);
        member(found.last().unwrap(), "/status").unwrap()
    };
    let blocked = "Command blocked by PreToolUse hook: no. Command: ls";
    assert_eq!(status("exec_command", blocked), "blocked");
    assert_eq!(status("exec_command", "exec command rejected by user"), "rejected");
    assert_eq!(status("mcp__notes__add", blocked), "ok", "a server answers with any words");
    assert_eq!(
        status("exec_command", "Process exited with code 0\nOutput:\nCommand blocked by PreToolUse hook: "),
        "ok"
    );
}

#[test]
fn a_chat_gives_each_call_and_each_answer_once_however_often_it_is_written() {
    let ended = called("run_shell_command", "success", r#"{"output":"a"}"#);
    let set = format!(r#"{{"$set":{{"messages":[{ended}]}}}}"#);
    let found = drafts(TranscriptForm::Gemini, &[CHAT, SET, ANSWER, &ended, &set]);
    assert_eq!(
        ids(&found),
        [
            ("session.started", "s1#started"),
            ("model.called", "m1#called"),
            ("tool.requested", "run_1#requested"),
            ("tool.completed", "run_1#outcome"),
        ]
    );
    let tokens = ["in", "out", "cache_read"].map(|name| member(&found[1], &format!("/tokens/{name}")));
    assert_eq!(tokens, [11, 5, 40].map(|number| Some(number.into())));
    assert_eq!(member(&found[2], "/tool"), Some("Bash".into()));
}

#[test]
fn only_geminis_own_words_show_that_a_call_did_not_run() {
    let status = |name: &str, status: &str, response: &str| {
        let found = drafts(TranscriptForm::Gemini, &[CHAT, &called(name, status, response)]);
        member(found.last().unwrap(), "/status").unwrap()
    };
    let blocked = r#"{"error":"Tool execution blocked: no"}"#;
    assert_eq!(status("run_shell_command", "error", blocked), "blocked");
    assert_eq!(status("mcp_notes_add", "error", blocked), "error");
    assert_eq!(status("run_shell_command", "cancelled", "{}"), "rejected");
    let running = called("run_shell_command", "executing", "{}");
    assert_eq!(drafts(TranscriptForm::Gemini, &[CHAT, &running]).len(), 2, "it has not ended");
}

#[test]
fn a_subagents_chat_belongs_to_the_session_of_its_folder() {
    let context = TranscriptContext { session: Some("parent".to_owned()), ..TranscriptContext::default() };
    let mut reader = LiveTranscript::new(TranscriptForm::Gemini, context);
    let header = CHAT.replace("main", "subagent");
    assert!(reader.line(header.as_bytes()).unwrap().is_empty());
    let found = reader.line(ANSWER.as_bytes()).unwrap();
    assert_eq!((found[0].session.as_deref(), found[0].run.as_deref()), (Some("parent"), Some("s1")));
}

#[test]
fn no_line_is_too_strange_for_an_error() {
    let lines = [
        "",
        "{",
        "[]",
        "7",
        "null",
        "{}",
        "\u{0}",
        r#"{"timestamp":7}"#,
        r#"{"type":"assistant"}"#,
        r#"{"timestamp":"yesterday","type":"session_meta","payload":{"id":"s"}}"#,
        r#"{"sessionId":"s","startTime":"x"}"#,
        r#"{"timestamp":"2026-11-27T04:46:49Z","type":"response_item","payload":{"type":"function_call"}}"#,
    ];
    for form in [TranscriptForm::ClaudeCode, TranscriptForm::Codex, TranscriptForm::Gemini] {
        let mut reader = LiveTranscript::new(form, TranscriptContext::default());
        for line in lines {
            let _told = reader.line(line.as_bytes());
        }
        assert!(reader.line(b"{").is_err());
    }
}
