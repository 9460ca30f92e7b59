//! A reader of `text/event-stream`, message by message.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::service::{TestService, head};

/// Longer than any message takes to come, shorter than a hanging test is bearable.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(20);

/// One message, or what else stood between two empty lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StreamMessage {
    pub(crate) kind: Option<String>,
    pub(crate) id: Option<u64>,
    pub(crate) data: Option<Value>,
    pub(crate) retry: Option<u64>,
}

pub(crate) struct EventStream {
    stream: BufReader<TcpStream>,
    /// Decoded, and not yet a whole message.
    text: Vec<u8>,
    pub(crate) ledger: String,
}

impl EventStream {
    /// Follows; the service must agree.
    pub(crate) fn open(service: &TestService, target: &str, headers: &[(&str, &str)]) -> Self {
        let mut all = vec![("Accept", "text/event-stream")];
        all.extend_from_slice(headers);
        let mut client = service.connect();
        client.send(head("GET", target, &all, None).as_bytes());
        let stream = client.sender();
        stream.set_read_timeout(Some(MESSAGE_TIMEOUT)).unwrap();
        let mut stream = BufReader::new(stream);
        let (mut lines, mut ledger) = (Vec::new(), String::new());
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some(id) = line.strip_prefix("ledger-id: ") {
                ledger = id.trim().to_owned();
            }
            lines.push(line);
        }
        assert!(lines[0].contains(" 200 "), "{lines:?}");
        assert!(lines.iter().any(|line| line == "content-type: text/event-stream\r\n"), "{lines:?}");
        let mut opened = Self { stream, text: Vec::new(), ledger };
        assert_eq!(opened.next().unwrap().retry, Some(1_000));
        opened
    }

    /// The next message that is one: position marks and heartbeats are passed over.
    pub(crate) fn message(&mut self) -> StreamMessage {
        loop {
            let message = self.next().expect("the stream goes on");
            if message.data.is_some() {
                return message;
            }
        }
    }

    /// The positions of all events up to the next message of another kind, and that message.
    pub(crate) fn events(&mut self) -> (Vec<u64>, StreamMessage) {
        let mut positions = Vec::new();
        loop {
            let message = self.message();
            if message.kind.is_some() {
                return (positions, message);
            }
            let stored = message.data.unwrap();
            assert_eq!(stored["position"], message.id.unwrap().to_string());
            positions.push(message.id.unwrap());
        }
    }

    /// Returns the next message, or `None` at a proper end of the answer.
    pub(crate) fn next(&mut self) -> Option<StreamMessage> {
        loop {
            if let Some(end) = self.text.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                return Some(parse(std::str::from_utf8(&block).unwrap()));
            }
            let mut size = String::new();
            self.stream.read_line(&mut size).unwrap();
            let size = usize::from_str_radix(size.trim(), 16).expect("a chunk");
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).unwrap();
            if size == 0 {
                assert!(self.text.is_empty(), "a message was cut");
                return None;
            }
            self.text.extend_from_slice(&chunk[..size]);
        }
    }
}

fn parse(block: &str) -> StreamMessage {
    let mut message = StreamMessage::default();
    for line in block.lines().filter(|line| !line.is_empty()) {
        match line.split_once(": ") {
            Some(("event", kind)) => message.kind = Some(kind.to_owned()),
            Some(("id", id)) => message.id = Some(id.parse().unwrap()),
            Some(("data", data)) => message.data = Some(serde_json::from_str(data).unwrap()),
            Some(("retry", pause)) => message.retry = Some(pause.parse().unwrap()),
            _ => assert_eq!(line, ":"),
        }
    }
    message
}
