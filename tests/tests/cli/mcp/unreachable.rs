//! A service that is away, hangs, or is another program: nothing runs.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::json;

use super::Governed;

#[test]
fn nothing_runs_while_the_service_is_away() {
    let mut governed = Governed::new();
    let mut client = governed.session("0");
    client.call(1, "add");
    assert_eq!(client.result(1), ("add".to_owned(), None));
    governed.service.kill().unwrap();
    client.call(2, "add");
    assert_eq!(client.refusal(2), "undecided");
    // Everything but calls goes on, also in a session that never saw the service.
    let mut later = governed.session("0");
    later.send(json!({"id": 1, "method": "tools/list"}));
    assert!(later.answer(1)["result"]["tools"].is_array());
    later.call(2, "add");
    assert_eq!(later.refusal(2), "undecided");
    assert_eq!(governed.reached(), ["add"]);
}

#[test]
fn a_held_call_never_runs_once_the_service_is_gone() {
    let mut governed = Governed::new();
    let mut client = governed.session("3s");
    client.call(1, "send");
    governed.pending();
    governed.service.kill().unwrap();
    client.refusal(1);
    assert_eq!(governed.reached(), [""; 0]);
}

#[test]
fn nothing_runs_by_the_word_of_a_service_that_hangs_or_of_another_program() {
    let governed = Governed::new();
    for answer in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || {
                    let mut stream = stream;
                    let mut asked = [0; 65_536];
                    while stream.read(&mut asked).is_ok_and(|read| read > 0) {
                        // Without an answer the stream stays open.
                        stream.write_all(answer.as_bytes())?;
                    }
                    std::io::Result::Ok(())
                });
            }
        });
        let mut client = governed.session_at(&url, "0");
        client.call(1, "add");
        assert_eq!(client.refusal(1), "undecided", "{answer}");
    }
    assert_eq!(governed.reached(), [""; 0]);
}
