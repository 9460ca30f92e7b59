//! Notices: signed, sent until they are taken, and not forgotten by a restart.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bitacora_server::{NoticeTarget, ServerLimits};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::governed::{ask, earn, govern, post, write};
use crate::service::{TestService, config, data, new_keyring};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PATIENCE: Duration = Duration::from_secs(30);

/// A request as it was told.
struct NoticeRequest {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl NoticeRequest {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn is_signed(&self) -> bool {
        let secret = BASE64.decode(SECRET.strip_prefix("whsec_").unwrap()).unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret).unwrap();
        mac.update(format!("{}.{}.", self.header("webhook-id"), self.header("webhook-timestamp")).as_bytes());
        mac.update(&self.body);
        self.header("webhook-signature") == format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()))
    }
}

/// Hears requests on a port of its own, and answers them with these statuses, then with 200.
fn listen(statuses: &'static [u16]) -> (String, Receiver<NoticeRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (sender, told) = channel();
    std::thread::spawn(move || {
        for (index, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                lines.push(line);
            }
            let headers: Vec<(String, String)> = lines
                .iter()
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect();
            let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
            reader.read_exact(&mut body).unwrap();
            let status = statuses.get(index).copied().unwrap_or(200);
            let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
            if sender.send(NoticeRequest { headers, body }).is_err() {
                return;
            }
        }
    });
    (url, told)
}

fn telling(folder: tempfile::TempDir, keyring: Arc<bitacora_formats::Keyring>, url: &str) -> TestService {
    let mut config = config(folder.path(), &keyring, ServerLimits::default());
    config.notices = Some(NoticeTarget::new(url, SECRET).unwrap());
    TestService::of(config, folder, keyring)
}

fn governed(url: &str) -> TestService {
    let service = telling(tempfile::tempdir().unwrap(), new_keyring(), url);
    service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
    govern(&service, "allow");
    service
}

#[test]
fn an_approval_that_waits_is_told_until_it_is_taken() {
    let (url, told) = listen(&[500, 302]);
    let service = governed(&url);
    let answer = ask(&service, write("c1"));
    let tries: Vec<NoticeRequest> = (0..3).map(|_| told.recv_timeout(PATIENCE).unwrap()).collect();
    for told in &tries {
        assert!(told.is_signed());
        assert_eq!(told.header("webhook-id"), tries[0].header("webhook-id"));
        let notice = told.json();
        assert_eq!(notice["type"], "approval.requested");
        assert_eq!(notice["data"]["ledger"], "main");
        assert_eq!(notice["data"]["event"]["data"]["approval"], answer["approval"]["id"]);
    }
    assert!(told.recv_timeout(Duration::from_secs(3)).is_err(), "it was taken, and told again");
    let metrics = String::from_utf8(service.get("/metrics").expect(200).body).unwrap();
    assert!(metrics.contains("bitacora_notices_total{outcome=\"delivered\"} 1"), "{metrics}");
}

#[test]
fn a_target_that_is_replaced_gets_the_next_notice_and_the_retries() {
    let (url, told) = listen(&[500]);
    let service = governed(&url);
    ask(&service, write("c1"));
    assert_eq!(told.recv_timeout(PATIENCE).unwrap().json()["data"]["event"]["data"]["call"], "c1");
    let (other_url, other_told) = listen(&[]);
    service.live.set_notice_target(NoticeTarget::new(&other_url, SECRET).unwrap());
    ask(&service, json!({"call": "c2", "tool": "fs.write", "args": {"path": "other/b.rs"}}));
    let calls = [(); 2].map(|()| {
        let told = other_told.recv_timeout(PATIENCE).unwrap();
        assert!(told.is_signed());
        told.json()["data"]["event"]["data"]["call"].clone()
    });
    assert_eq!(calls, [json!("c1"), json!("c2")]);
}

#[test]
fn what_happened_first_is_told_first_and_a_refusal_is_not_the_last_word() {
    let (url, told) = listen(&[400, 404, 429]);
    let service = governed(&url);
    // An approval, then a breaker, then an approval again.
    ask(&service, write("c1"));
    earn(&service, "fs.write", "src");
    for number in 0..5 {
        let call = format!("b{number}");
        ask(&service, write(&call));
        post(&service, "outcome", &json!({"call": call, "status": "error"})).expect(200);
    }
    ask(&service, json!({"call": "c2", "tool": "fs.write", "args": {"path": "other/b.rs"}}));
    let (mut positions, mut kinds) = (Vec::new(), Vec::new());
    while kinds.last().map(String::as_str) != Some("c2") {
        let notice = told.recv_timeout(PATIENCE).unwrap().json();
        positions.push(notice["data"]["position"].as_str().unwrap().parse::<u64>().unwrap());
        let call = notice["data"]["event"]["data"]["call"].as_str().filter(|call| *call == "c2");
        kinds.push(call.unwrap_or(notice["type"].as_str().unwrap()).to_owned());
    }
    assert!(positions.is_sorted(), "{positions:?}");
    assert!(
        positions[..4].iter().all(|position| *position == positions[0]),
        "refused three times: {positions:?}"
    );
    positions.dedup();
    assert_eq!(positions.len(), kinds.len() - 3, "each was taken once");
    assert!(kinds.iter().any(|kind| kind == "breaker.opened"), "{kinds:?}");
    let metrics = String::from_utf8(service.get("/metrics").expect(200).body).unwrap();
    assert!(metrics.contains("bitacora_notices_total{outcome=\"failed\"} 3"), "{metrics}");
    assert!(metrics.contains("bitacora_notices_total{outcome=\"given_up\"} 0"), "{metrics}");
}

#[test]
fn what_nobody_wants_is_given_up_in_the_open_and_the_next_is_told() {
    let (url, told) = listen(&[410]);
    let service = governed(&url);
    ask(&service, write("c1"));
    ask(&service, json!({"call": "c2", "tool": "fs.write", "args": {"path": "other/b.rs"}}));
    let calls = [(); 2]
        .map(|()| told.recv_timeout(PATIENCE).unwrap().json()["data"]["event"]["data"]["call"].clone());
    assert_eq!(calls, [json!("c1"), json!("c2")]);
    let metrics = String::from_utf8(service.get("/metrics").expect(200).body).unwrap();
    assert!(metrics.contains("bitacora_notices_total{outcome=\"given_up\"} 1"), "{metrics}");
}

#[test]
fn a_call_that_dodged_the_gate_is_told_and_half_a_recording_from_elsewhere_is_not() {
    let (url, told) = listen(&[]);
    let service = governed(&url);
    let gap = |call: &str, data: Value| {
        let event = json!({"specversion": "1.0", "id": call, "source": "watch", "type": "coverage.gap",
            "subject": "session/s", "session": "s", "call": call, "data": data});
        service
            .post("/v1/ledgers/main/events", "application/cloudevents+json", event.to_string())
            .expect(201);
    };
    gap("c1", json!({"call": "c1", "evidence": "a transcript", "missing": "outcome"}));
    gap(
        "c2",
        json!({"call": "c2", "evidence": "a transcript", "missing": "decision", "assurance": "imported"}),
    );
    gap("c3", json!({"call": "c3", "evidence": "a transcript", "missing": "decision"}));
    let notice = told.recv_timeout(PATIENCE).unwrap().json();
    assert_eq!(
        (&notice["type"], &notice["data"]["event"]["data"]["call"]),
        (&json!("coverage.gap"), &json!("c3"))
    );
    assert!(told.recv_timeout(Duration::from_secs(1)).is_err(), "another gap is told");
}

#[test]
fn a_restart_goes_on_where_it_was_left() {
    let (deaf, unheard) = listen(&[500; 100]);
    let mut service = governed(&deaf);
    ask(&service, write("c1"));
    unheard.recv_timeout(PATIENCE).unwrap();
    service.begin_shutdown();
    service.wait().unwrap();
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());

    let (url, told) = listen(&[]);
    let mut service = telling(folder, Arc::clone(&service.keyring), &url);
    assert_eq!(told.recv_timeout(PATIENCE).unwrap().json()["data"]["event"]["data"]["call"], "c1");
    ask(&service, json!({"call": "c2", "tool": "fs.write", "args": {"path": "src/b.rs"}}));
    assert_eq!(told.recv_timeout(PATIENCE).unwrap().json()["data"]["event"]["data"]["call"], "c2");
    std::thread::sleep(Duration::from_millis(300));
    service.begin_shutdown();
    service.wait().unwrap();
    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());

    let (url, told) = listen(&[]);
    let _service = telling(folder, Arc::clone(&service.keyring), &url);
    assert!(told.recv_timeout(Duration::from_secs(3)).is_err(), "what was taken is told again");
}

#[test]
fn a_file_that_a_thief_wrote_or_removed_hides_nothing_from_operators() {
    let (deaf, unheard) = listen(&[500; 100]);
    let mut service = governed(&deaf);
    ask(&service, write("c1"));
    unheard.recv_timeout(PATIENCE).unwrap();
    for version in [Some("v1"), Some("v2"), None] {
        let head = service.get("/v1/ledgers/main/head").expect(200).json()["position"].clone();
        let forged =
            version.map(|version| format!("bitacora-notices {version} after {}\n", head.as_str().unwrap()));
        service.begin_shutdown();
        service.wait().unwrap();
        let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
        let file = data(folder.path()).join("ledgers/main/notices");
        match &forged {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => drop(std::fs::remove_file(&file)),
        }
        let (url, told) = listen(&[]);
        service = telling(folder, Arc::clone(&service.keyring), &url);
        let told = told.recv_timeout(PATIENCE).unwrap().json();
        assert_eq!(told["data"]["event"]["data"]["call"], "c1", "{forged:?}");
    }
}

#[test]
fn a_ledger_that_takes_no_appends_is_told_and_so_is_its_end() {
    let (url, told) = listen(&[]);
    let service = governed(&url);
    let read_only = |value: bool| {
        let body = json!({"ledger": "main", "readOnly": value}).to_string();
        service.post("/v1/admin/read-only", "application/json", body).expect(202);
    };
    read_only(true);
    let notice = told.recv_timeout(PATIENCE).unwrap();
    assert!(notice.is_signed());
    assert_eq!(notice.json()["type"], "audit.impaired");
    assert!(notice.json()["data"]["why"].is_string());
    read_only(false);
    assert_eq!(told.recv_timeout(PATIENCE).unwrap().json()["type"], "audit.restored");
    post(&service, "decide", &write("c9")).expect(200);
    assert_eq!(told.recv_timeout(PATIENCE).unwrap().json()["type"], "approval.requested");
}
