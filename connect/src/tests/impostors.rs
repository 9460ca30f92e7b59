//! A program that took the service's port: nothing that it answers is obeyed, and nothing that waits is given up to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use bitacora_formats::{AnswerSigner, Secret, SignedExchange, body_digest};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use super::{connection, files, hook};
use crate::{Connection, HookExit};

const CALL: &[u8] = br#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf /"},"tool_use_id":"t1"}"#;
const ALLOW: &str = "{}";
const REFUSAL: &str = r#"{"type":"about:blank","title":"t","status":400,"code":"not-json","detail":"not JSON","retryable":false,"sideEffects":"none"}"#;
const TAKEN: &str = r#"{"type":"about:blank","title":"t","status":409,"code":"id-reused","detail":"other content","retryable":false,"sideEffects":"none"}"#;
const CHANGED: &str = r#"{"type":"about:blank","title":"t","status":400,"code":"bad-header","detail":"another digest","retryable":false,"sideEffects":"none"}"#;

/// The way in which the program answers.
#[derive(Clone, Copy)]
pub(super) enum Answers {
    /// By itself, with this status.
    Unsigned(u16),
    /// With the ledger's signature of an answer to another request.
    Replayed,
    /// With the ledger's answer to another caller, whose token it holds.
    Relayed,
    /// With the ledger's answer to a caller without a token.
    ToNobody,
    /// With a signature of its own key.
    SignedByOther,
    /// As the service does.
    Signed,
    /// As the service does, which refuses every input of a hook for good.
    Refused,
    /// As the service does, which takes no trace.
    RefusedTraces,
    /// As the service does, where somebody else used the first id of each kind before.
    TakenIds,
    /// As the service does, which finds a digest that is not the body's in the inputs of one call, and takes the others.
    Changed,
}

/// A request's target and body.
pub(super) type HeardRequest = (String, Vec<u8>);

pub(super) fn ledger() -> AnswerSigner {
    AnswerSigner::new(&Secret::take(&mut [1; 32]))
}

/// Answers every request on a port of its own, for as long as the test runs.
fn listening(answers: Answers) -> String {
    listening_to(answers).0
}

/// Does the same, and hands on what it hears.
pub(super) fn listening_to(answers: Answers) -> (String, Receiver<HeardRequest>) {
    let (heard, requests) = channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let taken = Arc::new(Mutex::new(Vec::new()));
        for stream in listener.incoming().flatten() {
            let (heard, taken) = (heard.clone(), Arc::clone(&taken));
            thread::spawn(move || while answer(&stream, answers, &heard, &taken).is_some() {});
        }
    });
    (url, requests)
}

/// Returns `true` if a request's id is the first of its kind, or was it before.
fn is_taken(target: &str, body: &[u8], taken: &Mutex<Vec<(String, String)>>) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap();
    let kind = format!("{} {} {}", target.split('?').next().unwrap(), body["hook_event_name"], body["data"]);
    let delivery = target.split("delivery=").nth(1).map(|rest| rest.split('&').next().unwrap());
    let id = match (&body["tool_use_id"], delivery) {
        (Value::String(call), _) => call.clone(),
        (_, Some(delivery)) => delivery.to_owned(),
        _ => body["id"].to_string(),
    };
    let mut taken = taken.lock().unwrap();
    match taken.iter().find(|(of, _)| *of == kind) {
        Some((_, first)) => *first == id,
        None => {
            taken.push((kind, id));
            true
        }
    }
}

/// Reads one request and answers it. Returns `None` at the connection's end.
fn answer(
    stream: &TcpStream,
    answers: Answers,
    heard: &Sender<HeardRequest>,
    taken: &Mutex<Vec<(String, String)>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let (mut length, mut digest, mut authorization) = (0, String::new(), String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "content-digest" => value.clone_into(&mut digest),
            "authorization" => value.clone_into(&mut authorization),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let target = first.split(' ').nth(1).unwrap().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let is_hook = target.contains("/hooks/");
    let refuses = match answers {
        Answers::Refused => is_hook,
        Answers::RefusedTraces => !is_hook,
        Answers::TakenIds => is_taken(&target, &body, taken),
        Answers::Changed => is_hook && String::from_utf8_lossy(&body).contains(r#""tool_use_id":"changed""#),
        _ => false,
    };
    let _unheard = heard.send((target.clone(), body));
    let body = match answers {
        Answers::Changed if refuses => CHANGED,
        Answers::TakenIds if refuses => TAKEN,
        _ if refuses => REFUSAL,
        _ => ALLOW,
    };
    let answer_digest = body_digest(body.as_bytes());
    let mut exchange = SignedExchange {
        method: "POST",
        path,
        query,
        request_digest: &digest,
        authorization: Some(&authorization),
        status: 200,
        answer_digest: &answer_digest,
    };
    let (status, signed) = match answers {
        Answers::Unsigned(status) => (status, None),
        Answers::Replayed => {
            exchange.query = "delivery=00";
            (200, Some(ledger().sign(&exchange, 1)))
        }
        Answers::Relayed => {
            exchange.authorization = Some("Bearer bt_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
            (200, Some(ledger().sign(&exchange, 1)))
        }
        Answers::ToNobody => {
            exchange.authorization = None;
            (200, Some(ledger().sign(&exchange, 1)))
        }
        Answers::SignedByOther => {
            (200, Some(AnswerSigner::new(&Secret::take(&mut [2; 32])).sign(&exchange, 1)))
        }
        Answers::Signed
        | Answers::Refused
        | Answers::RefusedTraces
        | Answers::TakenIds
        | Answers::Changed => {
            exchange.status = match answers {
                Answers::TakenIds if refuses => 409,
                _ if refuses => 400,
                _ => 200,
            };
            (exchange.status, Some(ledger().sign(&exchange, 1)))
        }
    };
    let mut text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    if let Some(fields) = signed {
        text.push_str(&format!(
            "content-digest: {answer_digest}\r\nsignature-input: {}\r\nsignature: {}\r\n",
            fields.input, fields.signature
        ));
    }
    text.push_str(&format!("\r\n{body}"));
    let mut stream = stream;
    stream.write_all(text.as_bytes()).ok()
}

fn run(folder: &TempDir, url: String, enforce: bool) -> HookExit {
    let file = folder.path().join("c.json");
    let answer_key = ledger().key_id();
    Connection { url, answer_key, ..connection(folder) }.save(&file).unwrap();
    let mut arguments = vec!["claude", "--connection", file.to_str().unwrap()];
    arguments.extend(enforce.then_some("--enforce"));
    hook(&arguments, CALL)
}

fn spooled(folder: &TempDir) -> usize {
    let spool = folder.path().join("state/spool");
    if !spool.exists() {
        return 0;
    }
    files(&spool).iter().filter(|file| file.to_string_lossy().ends_with(".hook")).count()
}

const IMPOSTORS: [Answers; 8] = [
    Answers::Unsigned(200),
    Answers::Unsigned(400),
    Answers::Unsigned(409),
    Answers::Unsigned(503),
    Answers::Replayed,
    Answers::Relayed,
    Answers::ToNobody,
    Answers::SignedByOther,
];

#[test]
fn a_program_on_the_services_port_allows_nothing() {
    for impostor in IMPOSTORS {
        let folder = tempdir().unwrap();
        let exit = run(&folder, listening(impostor), true);
        assert_eq!((exit.code, exit.stdout.as_str()), (2, ""), "{}", exit.stderr);
        assert!(exit.stderr.contains("another program may answer there"), "{}", exit.stderr);
    }
    let folder = tempdir().unwrap();
    let exit = run(&folder, listening(Answers::Signed), true);
    assert_eq!((exit.code, exit.stdout.as_str()), (0, ALLOW), "{}", exit.stderr);
}

#[test]
fn a_program_on_the_services_port_takes_nothing_out_of_the_spool() {
    let folder = tempdir().unwrap();
    let mut kept = 0;
    for impostor in IMPOSTORS {
        for _ in 0..2 {
            let exit = run(&folder, listening(impostor), false);
            kept += 1;
            assert_eq!((exit.code, spooled(&folder)), (0, kept), "{}", exit.stderr);
        }
    }
    run(&folder, listening(Answers::Signed), false);
    assert_eq!(spooled(&folder), 0);
}
