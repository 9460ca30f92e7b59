//! `watch`: calls in transcripts that the gate never saw, told and recorded once.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sample::{code, command, why};

/// The time in which a watch has to end after a signal.
const PATIENCE: Duration = Duration::from_secs(20);

/// A user with a connected Claude Code, and a service.
struct User {
    folder: TempDir,
    place: ServiceFolder,
    service: ServiceProcess,
}

impl User {
    fn connected() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = ServiceFolder::new(crate::PROGRAM, folder.path());
        let service = place.start_closed().unwrap();
        let user = Self { folder, place, service };
        let connected = user.run(&["connect", "claude", "--watch"]);
        assert_eq!(code(&connected), 0, "{}", why(&connected));
        user
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("HOME", self.home()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        command.env_remove("CLAUDE_CONFIG_DIR").env_remove("BITACORA_CONNECT_HOME");
        command.env("BITACORA_URL", format!("http://{}", self.service.address));
        command.env("BITACORA_TOKEN", fs::read_to_string(self.place.admin_token()).unwrap().trim());
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Decides about everything that is there; returns what was told.
    fn watch(&self) -> Vec<Value> {
        let done = self.run(&["watch", "--once", "--grace", "0", "--json"]);
        assert_eq!(code(&done), 0, "{}", why(&done));
        String::from_utf8(done.stdout)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn transcript(&self, name: &str) -> PathBuf {
        let folder = self.home().join(".claude/projects/-home-ana-p");
        fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    }

    fn write(&self, name: &str, lines: &[Value]) {
        let mut file = OpenOptions::new().create(true).append(true).open(self.transcript(name)).unwrap();
        for line in lines {
            writeln!(file, "{line}").unwrap();
        }
    }

    fn listed_gaps(&self) -> Vec<Value> {
        let listed = self.run(&["gaps", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        listed["gaps"].as_array().unwrap().clone()
    }

    fn gaps(&self) -> Vec<String> {
        self.listed_gaps().iter().map(|gap| gap["call"].as_str().unwrap().to_owned()).collect()
    }

    /// Appends an event with the connection's own token, under an id that the watch may use.
    fn append_as_agent(&self, id: &str, members: &Value) {
        let file = self.home().join(".config/bitacora/connections/claude.json");
        let connection: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let mut event =
            json!({"specversion": "1.0", "id": id, "source": "bitacora-watch/claude-code", "subject": "x"});
        event.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let file = self.folder.path().join("event.json");
        fs::write(&file, event.to_string()).unwrap();
        let mut append = self.command(&["append", file.to_str().unwrap()]);
        let done = append.env("BITACORA_TOKEN", connection["token"].as_str().unwrap()).output().unwrap();
        assert_eq!(code(&done), 0, "{}", why(&done));
    }

    fn events(&self, kind: &str) -> usize {
        let read = self.run(&["read", "--type", kind, "--json"]);
        String::from_utf8(read.stdout).unwrap().lines().filter(|line| line.contains(kind)).count()
    }

    /// Asks the gate about a call, as the hook does.
    fn hook(&self, call: &str) {
        let file = self.home().join(".config/bitacora/connections/claude.json");
        let mut hook = self
            .command(&["hook", "claude", "--connection", file.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let input = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash",
            "tool_input": {"command": "ls"}, "tool_use_id": call});
        hook.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        assert!(hook.wait().unwrap().success());
    }
}

fn now() -> String {
    bitacora_formats::format_time(bitacora_formats::Micros(
        u64::try_from(
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros(),
        )
        .unwrap(),
    ))
}

fn call(call: &str) -> Value {
    json!({"type": "assistant", "uuid": format!("u-{call}"), "sessionId": "s1", "timestamp": now(), "version": "2.1.197",
        "message": {"id": format!("m-{call}"), "model": "claude-opus-4-8", "role": "assistant", "stop_reason": "tool_use",
            "usage": {"input_tokens": 10, "output_tokens": 20},
            "content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}]}})
}

fn result(call: &str, text: &str, is_error: bool) -> Value {
    json!({"type": "user", "uuid": format!("r-{call}"), "sessionId": "s1", "timestamp": now(),
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text,
            "is_error": is_error}]}})
}

#[test]
fn a_call_that_dodged_the_gate_is_recorded_once_and_the_others_are_not() {
    let user = User::connected();
    user.hook("asked");
    let refused = "The user doesn't want to proceed with this tool use.";
    user.write(
        "s1.jsonl",
        &[call("asked"), result("asked", "a", false), call("dodged"), result("dodged", "a", false)],
    );
    user.write("s1.jsonl", &[call("refused"), result("refused", refused, true), call("running")]);
    let told = user.watch();
    let gap = told.iter().find(|told| told["what"] == "gap").unwrap();
    assert_eq!(
        (&gap["call"], &gap["session"], &gap["tool"]),
        (&"dodged".into(), &"s1".into(), &"Bash".into())
    );
    assert_eq!(user.gaps(), ["dodged"]);
    assert_eq!(user.events("model.called"), 4);
    // Again, with the positions and without them.
    assert!(user.watch().iter().all(|told| told["what"] == "watching"));
    fs::remove_file(user.home().join(".local/state/bitacora/claude/watch-positions")).unwrap();
    assert!(user.watch().iter().all(|told| told["what"] == "watching"));
    // What follows is read on, and a transcript that was replaced is told.
    user.write("s1.jsonl", &[result("running", "a", false)]);
    user.watch();
    assert_eq!(user.gaps(), ["running", "dodged"]);
    fs::remove_file(user.transcript("s1.jsonl")).unwrap();
    user.write(
        "s1.jsonl",
        &[call("dodged"), result("dodged", "a", false), call("new"), result("new", "a", false)],
    );
    user.watch();
    assert_eq!(
        (user.gaps(), user.events("coverage.gap")),
        (["new", "running", "dodged"].map(String::from).to_vec(), 3)
    );
    assert_eq!(user.events("model.called"), 5);
    let said = user.run(&["watch", "--once", "--grace", "0"]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("1 transcripts in ") && said.contains(", nothing new"), "{said}");
}

#[test]
fn no_event_that_the_agent_writes_first_hides_a_gap() {
    let user = User::connected();
    let gap = |call: &str, evidence: &str, missing: &str| {
        json!({"session": "s1", "call": call, "type": "coverage.gap",
        "data": {"call": call, "evidence": evidence, "missing": missing}})
    };
    // Anything under the gap's id, a gap of the call under this id and under another one, and one of a missing outcome.
    let noted = json!({"type": "x.noted", "data": {}});
    user.append_as_agent("s1#noted#gap", &noted);
    user.append_as_agent("s1#excused#gap", &gap("excused", "nothing to see", "decision"));
    user.append_as_agent("other", &gap("elsewhere", "nothing to see", "decision"));
    let text = "transcript s1.jsonl of claude-code at byte 0: `Bash` ended (ok), and the gate was not asked";
    user.append_as_agent("s1#halved#gap", &gap("halved", text, "outcome"));
    user.write("s1.jsonl", &["noted", "excused", "elsewhere", "halved"].map(call));
    user.write("s1.jsonl", &["noted", "excused", "elsewhere", "halved"].map(|id| result(id, "a", false)));
    let told = user.watch();
    assert_eq!(told.iter().filter(|told| told["what"] == "gap").count(), 4, "{told:?}");
    let found = |call: &str| {
        let gaps = user.listed_gaps();
        let own = gaps.iter().filter(|gap| gap["call"] == call && gap["missing"] == "decision");
        own.map(|gap| gap["evidence"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let dodged = "`Bash` ended (ok), and the gate was not asked";
    for call in ["noted", "excused", "halved"] {
        let of_taken_id = format!("{dodged}; another event has the id of this gap");
        assert!(found(call)[0].ends_with(&of_taken_id), "{call}: {:?}", found(call));
    }
    assert!(found("elsewhere")[0].ends_with(dodged), "{:?}", found("elsewhere"));
    let by = user.listed_gaps()[0]["actor"].as_str().unwrap().to_owned();
    assert!(by.starts_with("agent:"), "{by}");
    let wide = String::from_utf8(user.run(&["gaps", "--wide"]).stdout).unwrap();
    assert_eq!(wide.matches(&by).count(), user.listed_gaps().len(), "{wide}");
    // Each once, whoever reads again.
    let recorded = user.events("coverage.gap");
    fs::remove_file(user.home().join(".local/state/bitacora/claude/watch-positions")).unwrap();
    assert!(user.watch().iter().all(|told| told["what"] == "watching"));
    assert_eq!(user.events("coverage.gap"), recorded);
}

#[test]
fn names_that_no_ledger_holds_hide_no_gap_and_stop_no_watch() {
    let user = User::connected();
    let odd = ["s\u{1}", &"s".repeat(4_000)];
    for (number, session) in odd.into_iter().enumerate() {
        let call_id = format!("dodged\u{7}{number}{}", "c".repeat(300));
        let named = |mut line: Value| {
            line["sessionId"] = session.into();
            line
        };
        let mut asked = call(&call_id);
        asked["message"]["content"][0]["name"] = "Ba\u{2}sh".into();
        let lines = [named(asked), named(result(&call_id, "a", false))];
        user.write(&format!("a{number}.jsonl"), &lines);
    }
    user.write("s1.jsonl", &[call("dodged"), result("dodged", "a", false)]);
    user.watch();
    let gaps = user.listed_gaps();
    assert_eq!(gaps.len(), 3, "{gaps:?}");
    let odd_tool = gaps.iter().filter(|gap| gap["evidence"].as_str().unwrap().contains("Ba\u{fffd}sh"));
    assert_eq!(odd_tool.count(), 2, "{gaps:?}");
    fs::remove_file(user.home().join(".local/state/bitacora/claude/watch-positions")).unwrap();
    user.watch();
    assert_eq!(user.listed_gaps().len(), 3);
}

#[test]
fn a_service_that_is_away_loses_nothing_and_a_fault_of_a_transcript_is_told() {
    let mut user = User::connected();
    user.service.terminate().unwrap();
    user.write("s1.jsonl", &[call("dodged"), result("dodged", "a", false)]);
    fs::write(user.transcript("broken.jsonl"), "not json\n").unwrap();
    std::os::unix::fs::symlink("/etc/hosts", user.transcript("link.jsonl")).unwrap();
    let away = user.run(&["watch", "--once", "--grace", "0", "--json"]);
    let told = String::from_utf8(away.stdout.clone()).unwrap();
    assert_eq!(code(&away), 1, "{told}");
    for part in ["\"what\":\"failed\"", "\"fault\":\"line\"", "\"fault\":\"link\""] {
        assert!(told.contains(part), "{part} in {told}");
    }
    user.service = user.place.start_closed().unwrap();
    // Another port: the connection is made again, and knows since when calls are asked about.
    let again = user.run(&["connect", "claude"]);
    assert_eq!(code(&again), 0, "{}", why(&again));
    user.watch();
    assert_eq!(user.gaps(), ["dodged"]);
}

/// Answers every request on a port of its own, as a ledger without calls would.
fn impostor() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let body = r#"{"calls":[],"results":[]}"#;
            let _read = stream.read(&mut [0; 4096]).unwrap();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

#[test]
fn a_watch_believes_no_other_program_on_the_services_port() {
    let user = User::connected();
    user.write("s1.jsonl", &[call("dodged"), result("dodged", "a", false)]);
    let file = user.home().join(".config/bitacora/connections/claude.json");
    let connection = fs::read_to_string(&file).unwrap();
    let own = format!("http://{}", user.service.address);
    assert!(connection.contains(&own), "{connection}");
    fs::write(&file, connection.replace(&own, &impostor())).unwrap();
    let refused = user.run(&["watch", "--once", "--grace", "0", "--json"]);
    let told = String::from_utf8(refused.stdout.clone()).unwrap();
    assert_eq!(code(&refused), 1, "{told}");
    assert!(told.contains("another program may answer there"), "{told}");
    fs::write(&file, connection).unwrap();
    user.watch();
    assert_eq!(user.gaps(), ["dodged"]);
}

#[test]
fn a_watch_ends_with_a_signal_and_doctor_says_how_far_it_read() {
    let user = User::connected();
    let unit = user.home().join(".config/systemd/user/bitacora-watch.service");
    assert!(fs::read_to_string(&unit).unwrap().contains(" watch\n"));
    let doctor = |found: &str| {
        let doctor = String::from_utf8(user.run(&["doctor", "claude", "--wide"]).stdout).unwrap();
        assert!(doctor.contains(found), "{found} in {doctor}");
    };
    doctor("none ran yet");
    user.write("s1.jsonl", &[call("dodged"), result("dodged", "a", false)]);
    let mut watch = user.command(&["watch", "--grace", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while user.gaps().is_empty() && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(user.gaps(), ["dodged"]);
    let signalled = Command::new("kill").arg("-TERM").arg(watch.id().to_string()).status().unwrap();
    assert!(signalled.success());
    assert!(watch.wait().unwrap().success());
    doctor("1 gaps, 0 calls wait");
    let gone = user.run(&["disconnect", "claude"]);
    assert_eq!(code(&gone), 0, "{}", why(&gone));
    assert!(!unit.exists());
    let nothing = user.run(&["watch", "--once"]);
    assert_eq!((code(&nothing), why(&nothing).contains("no harness is connected")), (1, true));
}
