//! Answers that are verified, those that are not, and flags that do not go together.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::Governed;
use crate::sample::{code, command};

impl Governed {
    fn said(&self) -> String {
        fs::read_to_string(self.path("stderr")).unwrap()
    }
}

#[test]
fn answers_count_under_the_named_key_alone_and_without_one_a_notice_says_so() {
    let governed = Governed::new();
    let about = about_ledger(&governed);
    let key = about["answerKey"].as_str().unwrap().to_owned();
    let other = key.chars().rev().collect::<String>();
    for (number, (flags, runs, is_told)) in [
        (vec!["--answer-key", &key], true, false),
        (vec!["--answer-key", &other], false, false),
        (vec![], true, true),
    ]
    .into_iter()
    .enumerate()
    {
        let mut client = governed.session_with(&governed.url(), &flags);
        client.call(1, "add");
        let (text, refusal) = client.result(1);
        assert_eq!(refusal.is_none(), runs, "{number}: {text}");
        assert_eq!(governed.said().contains("answers are not verified"), is_told, "{}", governed.said());
    }
    assert_eq!(governed.reached(), ["add", "add"]);
}

/// Asks the service about its ledger, with no client of ours.
fn about_ledger(governed: &Governed) -> Value {
    let mut stream = TcpStream::connect(governed.service.address).unwrap();
    let head = format!(
        "GET /v1/ledgers/main HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {}\r\n\r\n",
        governed.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn a_key_that_is_none_or_beside_a_connection_starts_nothing() {
    for (flags, word) in [
        (&["--answer-key", "abc"][..], "64 hexadecimal digits"),
        (&["--answer-key", &"0".repeat(64), "--connection", "claude"], "cannot be used with"),
    ] {
        let refused = command(&[&["mcp"], flags, &["--", "true"]].concat()).output().unwrap();
        assert_eq!(code(&refused), 2, "{flags:?}");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains(word), "{said}");
    }
}
