//! `mcp`: a scripted client and a scripted server, with the proxy between them.

mod drifting;
mod misbehaving;
mod unreachable;
mod verifying;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sample::{code, command, why};

/// The longest a test waits for a message, an event or an end.
const PATIENCE: Duration = Duration::from_secs(60);
/// The tools that the policy allows.
const ALLOWED: [&str; 7] = ["add", "change", "swap", "die", "stream", "babble", "huge"];

/// A service that knows the server's tools, and an agent's token for it.
struct Governed {
    folder: TempDir,
    place: ServiceFolder,
    service: ServiceProcess,
    token: String,
}

impl Governed {
    /// The policy allows all tools but `wipe`, which it denies, and `send`, which it has reviewed.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = ServiceFolder::new(crate::PROGRAM, folder.path());
        let service = place.start_closed().unwrap();
        let mut governed = Self { folder, place, service, token: String::new() };
        let tools: Vec<Value> =
            [&ALLOWED[..], &["send", "wipe"]].concat().iter().map(|name| tool(name)).collect();
        fs::write(governed.path("tools.json"), Value::from(tools).to_string()).unwrap();
        let rule = |id: &str, action: &str| json!({"id": id, "match": {"tool": format!("mcp__scripted__{id}")}, "action": action, "reason": "for a test"});
        let mut rules = vec![rule("wipe", "deny"), rule("send", "review")];
        rules.extend(ALLOWED.iter().map(|name| rule(name, "allow")));
        fs::write(governed.path("policy.json"), json!({ "rules": rules }).to_string()).unwrap();
        governed.does(&["tools", "register", governed.path("tools.json").to_str().unwrap()]);
        governed.does(&["policy", "publish", governed.path("policy.json").to_str().unwrap(), "--activate"]);
        for name in ALLOWED {
            let tool = format!("mcp__scripted__{name}");
            let workspace = governed.folder.path().to_str().unwrap().to_owned();
            let counts =
                ["--workspace", &workspace, "--approvals", "40", "--streak", "40", "--reason", "for a test"];
            governed.does(&[&["trust", "set", "--tool", &tool][..], &counts].concat());
        }
        governed.token =
            governed.does(&["token", "create", "--role", "agent", "--agent", "coder"]).trim().to_owned();
        governed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn url(&self) -> String {
        format!("http://{}", self.service.address)
    }

    /// Runs a command of the operator, and returns its output.
    fn does(&self, arguments: &[&str]) -> String {
        let mut command = command(arguments);
        command.env("BITACORA_URL", self.url());
        command.env("BITACORA_TOKEN", fs::read_to_string(self.place.admin_token()).unwrap().trim());
        let done = command.output().unwrap();
        assert_eq!(code(&done), 0, "{arguments:?}: {}", why(&done));
        String::from_utf8(done.stdout).unwrap()
    }

    /// Takes the definition that the server gives now.
    fn takes(&self, name: &str) {
        self.does(&[
            "tools",
            "register",
            "--seen",
            &format!("mcp__scripted__{name}"),
            "--risk",
            "read",
            "--blast-radius",
            "low",
        ]);
    }

    /// The data of the events of a type, once there are so many.
    fn events(&self, kind: &str, count: usize) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let read = self.does(&["read", "--type", kind, "--json"]);
            let events: Vec<Value> = read.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let data: Vec<Value> =
                events.iter().filter_map(|event| event["event"].get("data").cloned()).collect();
            if data.len() >= count {
                return data;
            }
            assert!(began.elapsed() < PATIENCE, "{count} of {kind} did not come: {data:?}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The approval that waits for a person, once there is one.
    fn pending(&self) -> String {
        let began = Instant::now();
        loop {
            let listed: Value = serde_json::from_str(&self.does(&["approvals", "--json"])).unwrap();
            if let Some(id) = listed["approvals"][0]["id"].as_str() {
                return id.to_owned();
            }
            assert!(began.elapsed() < PATIENCE, "no approval waits");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn session(&self, wait: &str) -> McpClient {
        self.session_at(&self.url(), wait)
    }

    /// A session through the proxy, which asks the service at this address.
    fn session_at(&self, url: &str, wait: &str) -> McpClient {
        self.session_with(url, &["--wait", wait])
    }

    /// The same with other flags, and what it says on stderr in a file.
    fn session_with(&self, url: &str, flags: &[&str]) -> McpClient {
        let words = [&["mcp", "--server", "scripted"], flags, &["--", crate::MCP_SERVER]].concat();
        let mut command = command(&words);
        command.current_dir(self.folder.path());
        command.env("HOME", self.folder.path()).env_remove("XDG_STATE_HOME");
        command.env("BITACORA_URL", url).env("BITACORA_TOKEN", &self.token).env("SEEN", self.path("seen"));
        let stderr = fs::File::create(self.path("stderr")).unwrap();
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let (tell, told) = channel();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| tell.send(line)));
        let mut client = McpClient { stdin: process.stdin.take(), process, told };
        client.send(json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}));
        assert_eq!(client.answer(0)["result"]["serverInfo"]["name"], "scripted");
        client.send(json!({"method": "notifications/initialized"}));
        client
    }

    /// The tools whose calls reached the server.
    fn reached(&self) -> Vec<String> {
        let seen = fs::read_to_string(self.path("seen")).unwrap();
        let messages = seen.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let calls = messages.filter(|message| message["method"] == "tools/call");
        calls.map(|message| message["params"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn tool(name: &str) -> Value {
    json!({"tool": format!("mcp__scripted__{name}"), "version": "1", "description": "a tool",
        "input_schema": {"type": "object"}, "risk": "read", "blast_radius": "low", "requires_review": false,
        "allowed_roles": ["agent"], "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0},
        "idempotency": "none", "binding_fields": []})
}

/// A client that writes what it is told, line by line.
struct McpClient {
    process: Child,
    stdin: Option<ChildStdin>,
    told: Receiver<String>,
}

impl McpClient {
    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn call(&mut self, id: u64, tool: &str) {
        self.send(json!({"id": id, "method": "tools/call", "params": {"name": tool, "arguments": {"n": 1}}}));
    }

    /// The next message.
    fn next(&self) -> Value {
        let line = self.told.recv_timeout(PATIENCE).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The answer to a request; other messages before it are passed over.
    fn answer(&self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The text of a call's result, and the refusal that it is.
    fn result(&self, id: u64) -> (String, Option<String>) {
        let answer = self.answer(id);
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let refusal = result["_meta"]["bitacora/refusal"].as_str().map(str::to_owned);
        assert_eq!(result["isError"] == json!(true), refusal.is_some(), "{answer}");
        (text.to_owned(), refusal)
    }

    /// The refusal of a call, which has to be one.
    fn refusal(&self, id: u64) -> String {
        let (text, refusal) = self.result(id);
        refusal.unwrap_or_else(|| panic!("call {id} ran: {text}"))
    }

    /// Returns `true` if no message comes for a while.
    fn is_silent(&self) -> bool {
        self.told.recv_timeout(Duration::from_millis(500)) == Err(RecvTimeoutError::Timeout)
    }

    fn wait(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "the proxy does not end");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The most memory that the proxy has used, in bytes.
    fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn an_allowed_call_runs_and_a_denied_one_never_reaches_the_server() {
    let governed = Governed::new();
    let mut client = governed.session("0");
    client.call(1, "add");
    assert_eq!(client.result(1), ("add".to_owned(), None));
    client.call(2, "wipe");
    let (text, refusal) = client.result(2);
    assert_eq!(refusal.as_deref(), Some("denied"));
    assert!(text.contains("for a test"), "{text}");
    client.call(3, "nothing");
    client.refusal(3);
    assert_eq!(governed.reached(), ["add"]);
    let made = governed.events("decision.made", 3);
    let verdicts: Vec<_> = made.iter().map(|made| made["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts[..2], ["allow", "deny"]);
    assert_ne!(verdicts[2], "allow");
    assert_eq!(governed.events("tool.completed", 1).len(), 1);
    drop(client.stdin.take());
    assert!(client.wait().success());
}

#[test]
fn a_reviewed_call_runs_once_a_person_approves_it_and_not_before() {
    let governed = Governed::new();
    let mut client = governed.session("1m");
    client.call(1, "send");
    let approval = governed.pending();
    // The server answers the held call, of which it was not told.
    client.send(
        json!({"id": 2, "method": "tools/call", "params": {"name": "babble", "arguments": {"forge": 1}}}),
    );
    let babble = client.answer(2);
    assert_eq!(babble["result"]["content"][0]["text"], "first");
    assert!(client.is_silent());
    assert_eq!(governed.reached(), ["babble"]);
    governed.does(&["approvals", "approve", &approval]);
    assert_eq!(client.result(1), ("send".to_owned(), None));
    assert_eq!(governed.reached(), ["babble", "send"]);
    // The approval is used up: the same call needs another one.
    client.call(3, "send");
    let approval = governed.pending();
    governed.does(&["approvals", "reject", &approval, "--note", "not today"]);
    let (text, refusal) = client.result(3);
    assert_eq!(refusal.as_deref(), Some("rejected"));
    assert!(text.contains("not today"), "{text}");
    assert_eq!(governed.reached(), ["babble", "send"]);
}

#[test]
fn an_approval_that_comes_after_the_wait_counts_for_the_same_call_once() {
    let governed = Governed::new();
    let mut client = governed.session("0");
    client.call(1, "send");
    let (text, refusal) = client.result(1);
    let approval = governed.pending();
    assert_eq!(refusal.as_deref(), Some("review"));
    assert!(text.contains(&approval), "{text}");
    governed.does(&["approvals", "approve", &approval]);
    client.send(json!({"id": 2, "method": "tools/call", "params": {"name": "send", "arguments": {"n": 2}}}));
    assert_eq!(client.refusal(2), "review", "other arguments");
    client.call(3, "send");
    assert_eq!(client.result(3), ("send".to_owned(), None));
    client.call(4, "send");
    assert_eq!(client.refusal(4), "review");
    assert_eq!(governed.reached(), ["send"]);
}
