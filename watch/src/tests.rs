//! The tail of a transcript that others change, files of state, and the decision about a call.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bitacora_client::Token;
use bitacora_harness::Dialect;
use bitacora_import::{TranscriptContext, TranscriptForm};
use tempfile::{TempDir, tempdir};

use crate::error::TranscriptFault;
use crate::evidence::{Dodge, args_key, end_of, gap_event};
use crate::followed::{Followed, Now, Rules, SeenCall};
use crate::limits::{LINES_TO_KNOW, MAX_LINE_BYTES, READ_BYTES};
use crate::matching::{SessionRequests, dodge_by_id};
use crate::roots::Root;
use crate::sealed_file::StateKey;
use crate::tail::{TailNews, TranscriptTail};

mod changing;

fn add(path: &Path, text: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn texts(look: &TailNews) -> Vec<Option<String>> {
    look.lines
        .iter()
        .map(|(_, line)| line.as_ref().map(|line| String::from_utf8_lossy(line).into_owned()))
        .collect()
}

fn lines(tail: &mut TranscriptTail, path: &Path) -> Vec<String> {
    let look = tail.look(path, READ_BYTES).unwrap();
    texts(&look).into_iter().map(|line| line.unwrap_or_else(|| "too long".to_owned())).collect()
}

fn scratch() -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    (folder, path)
}

#[test]
fn a_tail_takes_each_whole_line_once() {
    let (_folder, path) = scratch();
    add(&path, "one\ntw");
    let mut tail = TranscriptTail::default();
    assert_eq!(lines(&mut tail, &path), ["one"]);
    assert!(lines(&mut tail, &path).is_empty());
    add(&path, "o\n\nthree\n");
    assert_eq!(lines(&mut tail, &path), ["two", "", "three"]);
    assert_eq!(tail.offset(), 15);
}

#[test]
fn a_transcript_that_was_cut_rewritten_or_replaced_is_read_again() {
    for change in ["cut", "rewritten", "replaced"] {
        let (folder, path) = scratch();
        add(&path, "one\ntwo\n");
        let mut tail = TranscriptTail::default();
        lines(&mut tail, &path);
        match change {
            "cut" => File::options().write(true).open(&path).unwrap().set_len(4).unwrap(),
            "rewritten" => fs::write(&path, "new\ntwo\nmore\n").unwrap(),
            _ => {
                fs::write(folder.path().join("other"), "one\ntwo\n").unwrap();
                fs::rename(folder.path().join("other"), &path).unwrap();
            }
        }
        let look = tail.look(&path, READ_BYTES).unwrap();
        assert!(look.restarted && !look.lines.is_empty(), "{change}");
        assert!(lines(&mut tail, &path).is_empty(), "{change}");
    }
}

#[test]
fn a_line_that_is_too_long_is_passed_over_and_the_next_one_read() {
    let (_folder, path) = scratch();
    let long = "x".repeat(usize::try_from(MAX_LINE_BYTES).unwrap() * 3);
    add(&path, "one\n");
    add(&path, &long);
    let mut tail = TranscriptTail::default();
    let mut found = Vec::new();
    for _ in 0..8 {
        found.extend(lines(&mut tail, &path));
    }
    assert_eq!(found, ["one", "too long"]);
    add(&path, "x\ntwo\n");
    assert_eq!(lines(&mut tail, &path), ["two"]);
}

#[test]
fn a_link_a_folder_a_pipe_and_a_missing_file_are_told_apart() {
    let (folder, path) = scratch();
    add(&path, "one\n");
    let link = folder.path().join("link.jsonl");
    symlink(&path, &link).unwrap();
    let pipe = folder.path().join("pipe.jsonl");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    let code = |path: &Path| TranscriptTail::default().look(path, READ_BYTES).unwrap_err().code();
    assert_eq!(code(&link), "link");
    assert_eq!(code(folder.path()), "no-file");
    assert_eq!(code(&pipe), "no-file");
    assert_eq!(code(&folder.path().join("gone")), "unreadable");
}

#[test]
fn a_position_is_kept_and_a_forged_one_is_not_believed() {
    let folder = tempdir().unwrap();
    let key = |byte: u8| StateKey::of(&Token::of_bits(&[byte; 32]));
    let (own, other) = (key(1), key(2));
    own.write(folder.path(), "positions", &vec![7_u64]).unwrap();
    assert_eq!(own.read::<Vec<u64>>(folder.path(), "positions"), Some(vec![7]));
    assert_eq!(other.read::<Vec<u64>>(folder.path(), "positions"), None);
    fs::copy(folder.path().join("positions"), folder.path().join("status")).unwrap();
    assert_eq!(own.read::<Vec<u64>>(folder.path(), "status"), None, "no file takes the place of another");
    let forged = fs::read_to_string(folder.path().join("positions")).unwrap().replace('7', "8");
    fs::write(folder.path().join("positions"), forged).unwrap();
    assert_eq!(own.read::<Vec<u64>>(folder.path(), "positions"), None);
    for nonsense in ["", "x", "é".repeat(40).as_str(), "[7]"] {
        fs::write(folder.path().join("positions"), nonsense).unwrap();
        assert_eq!(own.read::<Vec<u64>>(folder.path(), "positions"), None);
    }
}

fn now() -> Now {
    Now { steady: Instant::now(), wall: SystemTime::now() }
}

const RULES: Rules = Rules { since: UNIX_EPOCH, grace: Duration::ZERO };

fn request(call: &str, uuid: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"{uuid}","sessionId":"s1","timestamp":"2026-01-07T16:37:00Z","message":{{"id":"m-{call}","model":"m","role":"assistant","stop_reason":"tool_use","usage":{{"input_tokens":1,"output_tokens":2}},"content":[{{"type":"tool_use","id":"{call}","name":"Bash","input":{{"command":"ls"}}}}]}}}}"#
    ) + "\n"
}

fn result(call: &str, text: &str, is_error: bool) -> String {
    format!(
        r#"{{"type":"user","uuid":"r-{call}","sessionId":"s1","timestamp":"2026-01-07T16:38:00Z","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{call}","content":"{text}","is_error":{is_error}}}]}}}}"#
    ) + "\n"
}

fn followed(path: &Path) -> Followed {
    Followed::new(path.to_owned(), TranscriptForm::ClaudeCode, TranscriptContext::default(), now())
}

#[test]
fn a_position_lies_before_what_is_not_decided() {
    let (_folder, path) = scratch();
    let (one, two) = (request("c1", "u1"), request("c2", "u2"));
    add(&path, &one);
    add(&path, &two);
    add(&path, &result("c1", "a", false));
    let mut transcript = followed(&path);
    assert!(transcript.read(READ_BYTES, RULES, now()).1.is_empty());
    assert_eq!(transcript.calls.len(), 2);
    assert_eq!(transcript.settled(), 0, "nothing is decided");
    transcript.answers.clear();
    transcript.calls.retain(|_, call| call.call != "c1");
    assert_eq!(transcript.settled(), one.len() as u64);
    // Another process reads on there, and sees the same call.
    let position = transcript.position().unwrap();
    let mut next = followed(&path).behind(&position);
    next.read(READ_BYTES, RULES, now());
    assert_eq!(next.calls.values().map(|call| call.call.as_str()).collect::<Vec<_>>(), ["c2"]);
    // After a change before the position it begins again.
    let changed = fs::read_to_string(&path).unwrap().replacen("u1", "v1", 1);
    fs::write(&path, changed).unwrap();
    let mut next = followed(&path).behind(&position);
    assert_eq!(next.read(READ_BYTES, RULES, now()).1, [TranscriptFault::Rewritten]);
    assert_eq!(next.calls.len(), 2);
}

#[test]
fn an_answer_is_taken_when_it_has_ended_and_nothing_continues_it() {
    let (_folder, path) = scratch();
    add(&path, &request("c1", "u1").replace("\"tool_use\",\"usage\"", "null,\"usage\""));
    let mut transcript = followed(&path);
    transcript.read(READ_BYTES, RULES, now());
    transcript.end_answer(RULES, now());
    assert!(transcript.answers.is_empty(), "it may go on");
    add(&path, &request("c1", "u2"));
    transcript.read(READ_BYTES, RULES, now());
    transcript.end_answer(RULES, now());
    assert_eq!(transcript.answers.len(), 1);
    assert_eq!(transcript.answers[0].at, 0);
}

#[test]
fn strange_lines_are_told_and_the_next_ones_read() {
    let (_folder, path) = scratch();
    add(&path, "not json\n\u{0}\u{1}\n{\"type\":7}\n");
    add(&path, &request("c1", "u1"));
    let mut transcript = followed(&path);
    let (_, faults) = transcript.read(READ_BYTES, RULES, now());
    assert_eq!(faults.iter().map(TranscriptFault::code).collect::<Vec<_>>(), ["line"; 3]);
    assert_eq!(transcript.calls.len(), 1);
    let (_folder, path) = scratch();
    for _ in 0..LINES_TO_KNOW {
        add(&path, "{\"type\":\"a word of a later version\"}\n");
    }
    let mut transcript = followed(&path);
    let (_, faults) = transcript.read(READ_BYTES, RULES, now());
    assert_eq!(faults, [TranscriptFault::UnknownForm]);
}

#[test]
fn calls_before_the_connection_are_not_asked_about() {
    let (_folder, path) = scratch();
    add(&path, &request("c1", "u1"));
    add(&path, &result("c1", "a", false));
    let mut transcript = followed(&path);
    let rules = Rules { since: SystemTime::now(), ..RULES };
    transcript.read(READ_BYTES, rules, now());
    transcript.end_answer(rules, now());
    assert_eq!((transcript.calls.len(), transcript.answers.len()), (0, 0));
    assert!(transcript.is_settled());
}

fn seen(call: &str, end: &str) -> SeenCall {
    SeenCall {
        call: call.to_owned(),
        session: "s1".to_owned(),
        run: None,
        tool: "Bash".to_owned(),
        args: args_key("Bash", r#"{"command":"ls"}"#),
        time: "2026-01-07T16:37:00Z".to_owned(),
        at: 7,
        end: Some(end_of("Bash", end)),
        due: Instant::now(),
    }
}

#[test]
fn only_words_of_the_harness_show_that_a_call_did_not_run() {
    let ran = |tool: &str, data: &str| end_of(tool, data).ran;
    assert!(ran("Bash", r#"{"status":"ok"}"#));
    assert!(ran("Bash", r#"{"status":"error","error_type":"exit_code"}"#));
    assert!(ran("Bash", r#"{"status":"interrupted"}"#));
    assert!(ran("Bash", "nonsense"));
    assert!(!ran("Bash", r#"{"status":"rejected","by":"person"}"#));
    assert!(!ran("Bash", r#"{"status":"blocked","by":"hook"}"#));
    let refused = r#"{"status":"error","error_type":"tool_use_error","summary":"<tool_use_error>File has not been read yet."}"#;
    assert!(!ran("Edit", refused));
    assert!(ran("mcp__notes__add", refused), "a server answers with any words");
    assert!(ran("Edit", &refused.replace("File", "Error calling tool: File")));
    let asked = r#"{"status":"error","error_type":"error","summary":"Claude requested permissions to use Bash, but you haven't granted it yet."}"#;
    assert!(!ran("Bash", asked));
}

#[test]
fn a_call_that_the_gate_does_not_know_is_a_gap_if_it_ran() {
    assert_eq!(dodge_by_id(&seen("c1", r#"{"status":"ok"}"#), None), Some(Dodge::Unasked));
    assert_eq!(dodge_by_id(&seen("c1", r#"{"status":"rejected"}"#), None), None);
    assert_eq!(dodge_by_id(&SeenCall { end: None, ..seen("c1", "") }, None), Some(Dodge::Unfinished));
}

#[test]
fn calls_without_an_id_take_one_request_each() {
    let mut requests = SessionRequests::default();
    let ok = r#"{"status":"ok"}"#;
    requests.add(args_key("Bash", r#"{ "command" : "ls" }"#));
    requests.add(args_key("Bash", r#"{"command":"pwd"}"#));
    let dodges = ["c1", "c2"].map(|call| requests.dodge(&seen(call, ok)));
    assert_eq!(dodges, [None, Some(Dodge::Unasked)]);
    // Read again, they are what they were.
    requests.add_decided("c2".to_owned());
    requests.add(args_key("Bash", r#"{"command":"ls"}"#));
    assert_eq!(["c1", "c2", "c3"].map(|call| requests.dodge(&seen(call, ok))), [None; 3]);
    // By a later process too, which decides again about a call that has a gap: anybody may have written that.
    let mut requests = SessionRequests::default();
    requests.add_recorded_gaps(["c2".to_owned()]);
    requests.add(args_key("Bash", r#"{"command":"ls"}"#));
    let dodges = ["c2", "c1", "c3"].map(|call| requests.dodge(&seen(call, ok)));
    assert_eq!(dodges, [Some(Dodge::Unasked), None, Some(Dodge::Unasked)]);
    // A denied call took the request that it was asked about with.
    let mut requests = SessionRequests::default();
    requests.add(args_key("Bash", r#"{"command":"ls"}"#));
    assert_eq!(requests.dodge(&seen("c1", r#"{"status":"blocked"}"#)), None);
    assert_eq!(requests.dodge(&seen("c2", ok)), Some(Dodge::Unasked));
}

#[test]
fn secrets_in_arguments_do_not_keep_a_call_from_its_request() {
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let plain = args_key("Bash", &format!(r#"{{"command":"curl -H 'authorization: token {secret}' x"}}"#));
    let other = args_key("Bash", r#"{"command":"curl x"}"#);
    assert_ne!(plain, other);
    let redacted = bitacora_redaction::Redactor::new()
        .redact_json(format!(r#"{{"command":"curl -H 'authorization: token {secret}' x"}}"#).as_bytes())
        .unwrap();
    assert_eq!(plain, args_key("Bash", &String::from_utf8(redacted.0).unwrap()));
}

#[test]
fn a_gap_has_an_id_of_session_and_call_and_no_arguments() {
    let (event, evidence) =
        gap_event("claude-code", "s1.jsonl", &seen("c1", r#"{"status":"ok"}"#), Dodge::Unasked);
    assert_eq!((event.id.as_str(), event.source.as_str()), ("s1#c1#gap", "bitacora-watch/claude-code"));
    assert_eq!(
        evidence.text(),
        "transcript s1.jsonl of claude-code at byte 7: `Bash` ended (ok), and the gate was not asked"
    );
    assert!(event.data.contains(&evidence.text()), "{}", event.data);
    let long = SeenCall { call: "c".repeat(300), ..seen("c1", "{}") };
    assert_eq!(gap_event("codex", "f", &long, Dodge::Unasked).0.id.len(), 64);
}

#[test]
fn a_recorded_gap_counts_if_it_says_the_same() {
    let (_, evidence) =
        gap_event("claude-code", "s1.jsonl", &seen("c1", r#"{"status":"ok"}"#), Dodge::Unasked);
    let told = |text: &str| evidence.is_told_by(text);
    let text = evidence.text();
    assert!(told(&text));
    assert!(told(&text.replace("byte 7:", "byte 4096:")), "a rewritten transcript has it elsewhere");
    for other in ["byte :", "byte 07:", "byte -7:", "byte 7 of another:", "byte 99999999999999999999:"] {
        assert!(!told(&text.replace("byte 7:", other)), "{other}");
    }
    assert!(!told("nothing to see") && !told("") && !told(&format!("{text}; all is well")));
    assert!(!told(&text.replace("ended (ok)", "ended (rejected)")) && !told(&text.replace("s1", "s2")));
    let taken = evidence.of_taken_id();
    assert!(taken.is_told_by(&taken.text()) && !taken.is_told_by(&text) && !told(&taken.text()));
}

#[test]
fn transcripts_are_found_by_their_names_and_links_are_told() {
    let folder = tempdir().unwrap();
    let home = folder.path();
    let made = |path: &str| {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        path
    };
    made(".claude/projects/-home-ana-p/s1.jsonl");
    made(".claude/projects/-home-ana-p/s1/subagents/agent-a1.jsonl");
    made(".claude/projects/-other/s2.jsonl");
    made(".claude/projects/-other/notes.txt");
    symlink(home.join("x"), home.join(".claude/projects/-other/link.jsonl")).unwrap();
    made(".codex/sessions/2026/11/27/rollout-1.jsonl");
    made(".codex/sessions/2026/11/27/other.jsonl");
    made(".gemini/tmp/p/chats/session-1.jsonl");
    made(".gemini/tmp/p/chats/session-1.json");
    made(".gemini/tmp/p/chats/session-0.json");
    made(".gemini/tmp/p/chats/parent/sub.jsonl");
    made(".gemini/tmp/p/logs.jsonl");
    made(".gemini/tmp/p/.project_root");
    fs::write(home.join(".gemini/tmp/p/.project_root"), "/home/ana/p").unwrap();
    let found = |dialect: Dialect, project: Option<&str>| {
        let root = Root::of(dialect, project.map(Path::new), home, |_| None).unwrap();
        let mut names: Vec<_> = root
            .search(UNIX_EPOCH)
            .into_iter()
            .map(|found| {
                let fault = found.fault.map(|fault| format!(" {}", fault.code())).unwrap_or_default();
                let session = found.session.map(|session| format!(" of {session}")).unwrap_or_default();
                format!("{}{session}{fault}", found.path.file_name().unwrap().to_string_lossy())
            })
            .collect();
        names.sort();
        names
    };
    assert_eq!(found(Dialect::Claude, None), ["agent-a1.jsonl", "link.jsonl link", "s1.jsonl", "s2.jsonl"]);
    assert_eq!(found(Dialect::Claude, Some("/home/ana/p")), ["agent-a1.jsonl", "s1.jsonl"]);
    assert_eq!(found(Dialect::Codex, None), ["rollout-1.jsonl"]);
    let chats = ["session-0.json old-form", "session-1.jsonl", "sub.jsonl of parent"];
    assert_eq!(found(Dialect::Gemini, None), chats);
    assert_eq!(found(Dialect::Gemini, Some("/home/ana/p")), chats);
    assert!(found(Dialect::Gemini, Some("/home/ana/q")).is_empty());
    assert!(Root::of(Dialect::Cursor, None, home, |_| None).is_none());
    let root = Root::of(Dialect::Claude, None, home, |_| None).unwrap();
    let later = SystemTime::now() + Duration::from_secs(60);
    assert!(root.search(later).is_empty(), "what did not change since is not read");
}
