//! A relay before the service that keeps the answers, and may repeat them or change the key that they name.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The treatment of a request by a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conduct {
    /// It hands request and answer on.
    Honest,
    /// It repeats the last answer to a request of this method and path, whatever the query, and asks nobody.
    Repeating,
    /// It hands the request on, and names another key in the answer.
    NamingAnotherKey,
}

/// A byte of the key that such a relay names, and its digits.
pub(super) const ANOTHER_KEY: (u8, &str) = (0xab, "ab");

#[derive(Default)]
struct KeptAnswers {
    conduct: Option<Conduct>,
    answers: HashMap<String, (String, Vec<u8>)>,
}

/// A relay on loopback. It ends with the test's process.
pub(super) struct AnsweringRelay {
    address: SocketAddr,
    kept: Arc<Mutex<KeptAnswers>>,
}

impl AnsweringRelay {
    pub(super) fn start(service: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let kept = Arc::<Mutex<KeptAnswers>>::default();
        let shared = Arc::clone(&kept);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let kept = Arc::clone(&shared);
                // A client that goes away ends its thread.
                thread::spawn(move || serve(&client, service, &kept));
            }
        });
        Self { address, kept }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn conduct(&self, conduct: Conduct) {
        self.kept.lock().unwrap().conduct = Some(conduct);
    }
}

fn serve(client: &TcpStream, service: SocketAddr, kept: &Mutex<KeptAnswers>) -> Option<()> {
    let mut reader = BufReader::new(client);
    loop {
        let (head, body) = message(&mut reader)?;
        let name = head.split('?').next()?.split(" HTTP").next()?.to_owned();
        let conduct = kept.lock().unwrap().conduct.unwrap_or(Conduct::Honest);
        let repeated = kept.lock().unwrap().answers.get(&name).cloned();
        let (answer, text) = match (conduct, repeated) {
            (Conduct::Repeating, Some(answer)) => answer,
            (Conduct::Repeating, None) => return None,
            _ => {
                let mut upstream = TcpStream::connect(service).ok()?;
                upstream.write_all(head.as_bytes()).ok()?;
                upstream.write_all(&body).ok()?;
                let answer = message(&mut BufReader::new(&upstream))?;
                kept.lock().unwrap().answers.insert(name, answer.clone());
                answer
            }
        };
        let text = match conduct {
            Conduct::NamingAnotherKey => with_another_key(text),
            _ => text,
        };
        let mut writer = client;
        writer.write_all(answer.as_bytes()).ok()?;
        writer.write_all(&text).ok()?;
    }
}

fn message(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        head.push_str(&line);
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn with_another_key(text: Vec<u8>) -> Vec<u8> {
    let text = String::from_utf8(text).unwrap();
    let Some((before, rest)) = text.split_once("\"answerKey\":\"") else { return text.into() };
    format!("{before}\"answerKey\":\"{}{}", ANOTHER_KEY.1.repeat(32), &rest[64..]).into()
}
