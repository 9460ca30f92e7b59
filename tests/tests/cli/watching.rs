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

    fn gaps(&self) -> Vec<String> {
        let listed = self.run(&["gaps", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        listed["gaps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|gap| gap["call"].as_str().unwrap().to_owned())
            .collect()
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
}

#[test]
fn an_event_under_the_id_of_a_gap_hides_no_gap() {
    let user = User::connected();
    let file = user.home().join(".config/bitacora/connections/claude.json");
    let connection: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let taken = json!({"specversion": "1.0", "id": "s1#dodged#gap", "source": "bitacora-watch/claude-code",
        "type": "x.noted", "subject": "x", "data": {}});
    let event = user.folder.path().join("event.json");
    fs::write(&event, taken.to_string()).unwrap();
    let mut append = user.command(&["append", event.to_str().unwrap()]);
    let appended = append.env("BITACORA_TOKEN", connection["token"].as_str().unwrap()).output().unwrap();
    assert_eq!(code(&appended), 0, "{}", why(&appended));
    user.write("s1.jsonl", &[call("dodged"), result("dodged", "a", false)]);
    user.watch();
    user.watch();
    assert_eq!((user.gaps(), user.events("coverage.gap")), (vec!["dodged".to_owned()], 1));
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
