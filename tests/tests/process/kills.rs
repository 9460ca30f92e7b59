//! `kill -9` at random moments of a load: nothing acknowledged is lost, nothing is accepted twice.
//!
//! `BITACORA_KILLS=1000 cargo test --release -p bitacora-tests --test process kills` runs longer.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bitacora_tests::http_client::HttpClient;
use bitacora_tests::raised_at_end::RaisedAtEnd;
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::service::ServiceFolder;
use serde_json::Value;

use crate::PROGRAM;

const DEFAULT_KILLS: u64 = 100;
const CALLERS: u64 = 4;

/// The knowledge of the clients: the positions of acknowledged events, and the answers they never got.
#[derive(Default)]
pub(crate) struct Clients {
    pub(crate) acknowledged: Mutex<HashMap<u64, u64>>,
    unknown: Mutex<Vec<u64>>,
    next: AtomicU64,
}

fn body(number: u64) -> String {
    let words = "lorem ipsum ".repeat(usize::from(number.to_le_bytes()[0] % 40));
    format!(
        r#"{{"specversion":"1.0","id":"e{number}","source":"urn:kills","type":"x.noted","subject":"s{}","data":{{"number":{number},"words":"{words}"}}}}"#,
        number % 7
    )
}

impl Clients {
    /// Sends one event; remembers the answer, or that there was none.
    fn send(&self, client: &mut HttpClient, number: u64) -> bool {
        let path = "/v1/ledgers/main/events";
        let Ok(answer) = client.post(path, "application/cloudevents+json", body(number).as_bytes()) else {
            self.unknown.lock().unwrap().push(number);
            return false;
        };
        let told: Value = serde_json::from_slice(&answer.body).unwrap();
        if !matches!(answer.status, 200 | 201) {
            self.unknown.lock().unwrap().push(number);
            return false;
        }
        let position = told["results"][0]["position"].as_str().unwrap().parse().unwrap();
        let before = self.acknowledged.lock().unwrap().insert(number, position);
        assert!(
            before.is_none_or(|before| before == position),
            "e{number} was acknowledged twice, elsewhere"
        );
        true
    }

    /// Sends so many events to a service that lasts.
    pub(crate) fn send_some(&self, address: SocketAddr, count: u64) {
        let mut client = HttpClient::connect(address).unwrap();
        for _ in 0..count {
            assert!(self.send(&mut client, self.next.fetch_add(1, Ordering::Relaxed)));
        }
    }

    pub(crate) fn load(&self, address: SocketAddr, stop: &AtomicBool) {
        let Ok(mut client) = HttpClient::connect(address) else { return };
        while !stop.load(Ordering::Relaxed) {
            let retry = self.unknown.lock().unwrap().pop();
            let number = retry.unwrap_or_else(|| self.next.fetch_add(1, Ordering::Relaxed));
            if !self.send(&mut client, number) {
                return;
            }
        }
    }
}

impl Clients {
    /// Repeats what was never answered.
    pub(crate) fn settle(&self, client: &mut HttpClient) {
        while let Some(number) = { self.unknown.lock().unwrap().pop() } {
            assert!(self.send(client, number), "e{number} is refused");
        }
    }
}

#[test]
fn random_kills_lose_nothing_and_duplicate_nothing() {
    let kills =
        std::env::var("BITACORA_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(DEFAULT_KILLS);
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let (clients, mut random) = (Clients::default(), SeededRandom::new(99));
    for _ in 0..kills {
        let mut service = place.start().unwrap();
        let (address, stop) = (service.address, AtomicBool::new(false));
        std::thread::scope(|scope| {
            let _stopped = RaisedAtEnd::of(&stop);
            for _ in 0..CALLERS {
                scope.spawn(|| clients.load(address, &stop));
            }
            std::thread::sleep(Duration::from_millis(random.below(60)));
            service.kill().unwrap();
        });
    }
    let mut service = place.start().unwrap();
    let mut client = HttpClient::connect(service.address).unwrap();
    clients.settle(&mut client);
    let stored = read_all(&mut client);
    check(&clients, &stored);
    assert!(service.terminate().unwrap().success());
    let verified =
        place.command("verify").args(["--with-keys", "--keyring"]).arg(place.keyring()).output().unwrap();
    assert_eq!(verified.status.code(), Some(10), "{}", String::from_utf8_lossy(&verified.stderr));
    eprintln!("{kills} kills, {} events acknowledged", clients.acknowledged.lock().unwrap().len());
}

/// All of a ledger, over pages.
pub(crate) fn read_all(client: &mut HttpClient) -> Vec<Value> {
    let (mut events, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let path = format!("/v1/ledgers/main/events?after={after}&limit=1000");
        let answer = client.get(&path, "application/json").unwrap();
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        let mut page: Value = serde_json::from_slice(&answer.body).unwrap();
        events.append(page["events"].as_array_mut().unwrap());
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => return events,
        }
    }
}

fn check(clients: &Clients, stored: &[Value]) {
    let mut seen: HashMap<(String, String), u64> = HashMap::new();
    for (at, stored) in (1_u64..).zip(stored) {
        assert_eq!(stored["position"], at.to_string());
        let event = &stored["event"];
        let identity = (event["source"].to_string(), event["id"].to_string());
        assert_eq!(seen.insert(identity.clone(), at), None, "{identity:?} stands twice");
    }
    let acknowledged = clients.acknowledged.lock().unwrap();
    assert!(!acknowledged.is_empty());
    for (number, position) in acknowledged.iter() {
        let stored = &stored[usize::try_from(*position).unwrap() - 1]["event"];
        let sent: Value = serde_json::from_str(&body(*number)).unwrap();
        assert_eq!((&stored["id"], &stored["data"]), (&sent["id"], &sent["data"]), "at position {position}");
    }
}
