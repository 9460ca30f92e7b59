//! The cost of TLS: `cargo bench --profile release -p bitacora-tests --bench secured -- FOLDER --seconds N`.
//!
//! Two services, one with TLS and one without, are asked in turn by the same client over kept connections: appends of one event,
//! decisions, and requests on a new connection each. The client shares the cores, and so does its half of the cryptography.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on must fail")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bitacora_client::{Connection, ServiceTrust, ServiceUrl};
use bitacora_testkit::{CertificateLife, TestCa};
use bitacora_tests::service::{ServiceFolder, ServiceProcess};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bitacora-under-test");
/// Connections whose requests are on their way at once.
const CONNECTIONS: usize = 64;
/// Rounds of each measurement; the median counts.
const ROUNDS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecuredLoad {
    Appends,
    Decisions,
    Connections,
}

fn main() {
    let (mut folder, mut seconds) = (PathBuf::from("."), 5);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => seconds = arguments.next().unwrap().parse().unwrap(),
            other if other.starts_with('-') => {}
            other => folder = other.into(),
        }
    }
    let time = Duration::from_secs(seconds);
    let (plain_made, secured_made) = (made(&folder), made(&folder));
    let (_plain, plain) = serve(plain_made.path(), false);
    let (_secured, secured) = serve(secured_made.path(), true);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    println!("{:<28}{:>12}{:>12}{:>8}", "a second", "plain", "TLS", "ratio");
    for load in [SecuredLoad::Appends, SecuredLoad::Decisions, SecuredLoad::Connections] {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            without.push(runtime.block_on(measured(&plain, load, time, round)));
            with.push(runtime.block_on(measured(&secured, load, time, round)));
        }
        let (without, with) = (median(without), median(with));
        let name = match load {
            SecuredLoad::Appends => "appends, 64 × 1",
            SecuredLoad::Decisions => "decisions, 64 connections",
            SecuredLoad::Connections => "new connections, 64 at once",
        };
        println!("{name:<28}{without:>12.0}{with:>12.0}{:>8.2}", with / without);
    }
}

fn made(below: &Path) -> tempfile::TempDir {
    tempfile::Builder::new().prefix("secured-").tempdir_in(below).unwrap()
}

fn serve(folder: &Path, has_tls: bool) -> (ServiceProcess, ServiceUrl) {
    let ca = TestCa::new();
    let pair = ca.issue(&["localhost"], CertificateLife::Now);
    let path = |name: &str| folder.join(name);
    for (name, text) in [("ca.pem", ca.pem()), ("server.pem", &pair.certificate), ("server.key", &pair.key)] {
        fs::write(path(name), text).unwrap();
    }
    fs::set_permissions(path("server.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let service = ServiceFolder::new(PROGRAM, folder).start_with(|command| {
        if has_tls {
            command.arg("--tls-certificate").arg(path("server.pem"));
            command.arg("--tls-key").arg(path("server.key"));
        }
    });
    let service = service.unwrap();
    let scheme = if has_tls { "https" } else { "http" };
    let url: ServiceUrl = format!("{scheme}://localhost:{}", service.address.port()).parse().unwrap();
    (service, url.trusting(ServiceTrust { ca_file: Some(path("ca.pem")), identity: None }))
}

/// Returns how many requests were answered each second.
async fn measured(url: &ServiceUrl, load: SecuredLoad, time: Duration, round: usize) -> f64 {
    let first = Connection::new(url.clone(), None);
    let began = Instant::now();
    let callers: Vec<_> = (0..CONNECTIONS)
        .map(|caller| tokio::spawn(ask(first.another(), load, began + time, format!("{round}-{caller}"))))
        .collect();
    let mut answered = 0;
    for caller in callers {
        answered += caller.await.unwrap();
    }
    answered as f64 / began.elapsed().as_secs_f64()
}

async fn ask(mut connection: Connection, load: SecuredLoad, until: Instant, name: String) -> u64 {
    let mut answered = 0;
    while Instant::now() < until {
        let id = format!("{load:?}-{name}-{answered}");
        match load {
            SecuredLoad::Appends => {
                let event = format!(
                    r#"{{"specversion":"1.0","id":"{id}","source":"/bench","type":"x.happened","subject":"{name}","data":"{}"}}"#,
                    "x".repeat(512)
                );
                let kind = "application/cloudevents+json";
                connection.post("/v1/ledgers/main/events", kind, event.into()).await.unwrap();
            }
            SecuredLoad::Decisions => {
                let call = format!(r#"{{"call":"{id}","tool":"shell","args":{{"command":"ls"}}}}"#);
                connection.post("/v1/ledgers/main/decide", "application/json", call.into()).await.unwrap();
            }
            SecuredLoad::Connections => {
                let mut new = connection.another();
                new.get("/livez", "*/*").await.unwrap().whole().await.unwrap();
            }
        }
        answered += 1;
    }
    answered
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}
