//! A relay before the service, which sees each request that sets a mode, and may refuse it.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

/// The beginning of a request that sets a mode.
const SET_MODE: &[u8] = b"PUT /v1/ledgers/main/mode";
/// The answer of a relay that refuses it.
const PROBLEM: &str = r#"{"type":"urn:bitacora:problem:forbidden","title":"x","status":403,"detail":"refused by the relay","code":"forbidden","retryable":false,"sideEffects":"none"}"#;

/// The settings at each request that set a mode.
type SeenSettings = Arc<Mutex<Vec<Option<String>>>>;

/// A relay on loopback. It ends with the test's process.
pub(super) struct Relay {
    address: SocketAddr,
    seen: SeenSettings,
}

impl Relay {
    pub(super) fn start(service: SocketAddr, settings: PathBuf, refuses: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = SeenSettings::default();
        let noted = Arc::clone(&seen);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (settings, noted) = (settings.clone(), Arc::clone(&noted));
                thread::spawn(move || relay(client, service, &settings, &noted, refuses));
            }
        });
        Self { address, seen }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The settings at the requests since the last look; `None` where there were none.
    pub(super) fn seen(&self) -> Vec<Option<String>> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

fn relay(mut client: TcpStream, service: SocketAddr, settings: &PathBuf, seen: &SeenSettings, refuses: bool) {
    let mut upstream = TcpStream::connect(service).unwrap();
    let (mut answers, mut back) = (upstream.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || {
        // Either side may end it.
        let _ended = std::io::copy(&mut answers, &mut back);
    });
    let mut bytes = [0; 64 * 1024];
    while let Ok(length @ 1..) = client.read(&mut bytes) {
        let request = &bytes[..length];
        if request.windows(SET_MODE.len()).any(|part| part == SET_MODE) {
            seen.lock().unwrap().push(fs::read_to_string(settings).ok());
            if refuses {
                let head =
                    "HTTP/1.1 403 Forbidden\r\ncontent-type: application/problem+json\r\nconnection: close";
                let _sent = write!(client, "{head}\r\ncontent-length: {}\r\n\r\n{PROBLEM}", PROBLEM.len());
                return;
            }
        }
        if upstream.write_all(request).is_err() {
            return;
        }
    }
}
