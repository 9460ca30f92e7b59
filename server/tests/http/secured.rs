//! TLS: renewal under open connections, bounds of handshakes, patience, and the service's own pages.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_server::{Admission, ConnectionTimeouts, ServerLimits, ServiceTls, TlsFiles};
use bitacora_testkit::{CertificateLife, TestCa, TestCertificate};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::closed::KnownFirstTokens;
use crate::identities::token;
use crate::service::{RawClient, TestService, config, event, head, new_keyring, wait_until};

const PATIENCE: Duration = Duration::from_secs(20);
/// The start of a handshake that goes no further.
const HALF_OPEN: [u8; 5] = [0x16, 0x03, 0x01, 0x02, 0x00];
/// More than the handshakes that there may be at once.
const FLOOD: usize = 400;
const MOST_OF_THE_TURNS: u64 = 200;

type TlsClient = RawClient<StreamOwned<ClientConnection, TcpStream>>;

/// A service with TLS, and the CA that its clients trust.
struct SecuredService {
    ca: TestCa,
    tls: Arc<ServiceTls>,
    service: TestService,
}

impl SecuredService {
    fn with(patience: ConnectionTimeouts) -> Self {
        let (folder, keyring, ca) = (tempfile::tempdir().unwrap(), new_keyring(), TestCa::new());
        write_pair(folder.path(), &ca.issue(&["localhost", "ledger.example"], CertificateLife::Now));
        let at = |name| folder.path().join(name);
        let files = TlsFiles { certificate: at("certificate"), key: at("key"), client_ca: None };
        let tls = Arc::new(ServiceTls::load(files).unwrap());
        let mut config =
            config(folder.path(), &keyring, ServerLimits { patience, ..ServerLimits::default() });
        config.tls = Some(Arc::clone(&tls));
        let secured = Self { ca, tls, service: TestService::of(config, folder, keyring) };
        secured.post("/v1/ledgers", r#"{"name":"main"}"#);
        secured
    }

    fn start() -> Self {
        Self::with(ConnectionTimeouts::default())
    }

    /// The same service, ended and started again with tokens.
    fn closed(self) -> Self {
        let Self { ca, tls, mut service } = self;
        service.begin_shutdown();
        service.wait().unwrap();
        let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
        let mut config = config(folder.path(), &service.keyring, ServerLimits::default());
        config.admission = Admission::Tokens(Arc::new(KnownFirstTokens::default()));
        config.tls = Some(Arc::clone(&tls));
        let keyring = Arc::clone(&service.keyring);
        Self { ca, tls, service: TestService::of(config, folder, keyring) }
    }

    fn folder(&self) -> &Path {
        self.service.folder.path()
    }

    fn connect(&self) -> TlsClient {
        self.client(&self.ca)
    }

    /// A client that trusts this CA alone.
    fn client(&self, ca: &TestCa) -> TlsClient {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca.pem().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = builder.unwrap().with_root_certificates(roots).with_no_client_auth();
        let name = "localhost".try_into().unwrap();
        let stream = TcpStream::connect(self.service.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        RawClient::over(StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream))
    }

    fn get(&self, target: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let mut client = self.connect();
        client.send(head("GET", target, headers, None).as_bytes());
        let answer = client.answer();
        (answer.status, String::from_utf8(answer.body).unwrap())
    }

    fn post(&self, target: &str, body: &str) -> u16 {
        let mut client = self.connect();
        let headers = [("Content-Type", "application/json")];
        client.send(head("POST", target, &headers, Some(body.len())).as_bytes());
        client.send(body.as_bytes());
        client.answer().status
    }

    fn metric(&self, name: &str) -> u64 {
        let (_, text) = self.get("/metrics", &[]);
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0, |number| number.parse().unwrap())
    }
}

fn write_pair(folder: &Path, pair: &TestCertificate) {
    fs::write(folder.join("certificate"), &pair.certificate).unwrap();
    fs::write(folder.join("key"), &pair.key).unwrap();
    fs::set_permissions(folder.join("key"), fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_renewed_certificate_is_shown_to_new_connections_and_an_open_one_goes_on() {
    let secured = SecuredService::start();
    let mut follower = secured.connect();
    let target = "/v1/ledgers/main/events";
    follower.send(head("GET", target, &[("Accept", "text/event-stream")], None).as_bytes());
    follower.read_past(b"caught-up");
    assert!(!secured.tls.reload().unwrap(), "the files are the same");

    let renewed = TestCa::new();
    write_pair(secured.folder(), &renewed.issue(&["localhost"], CertificateLife::Now));
    assert!(secured.tls.reload().unwrap());
    let mut client = secured.client(&renewed);
    client.send(head("GET", "/livez", &[], None).as_bytes());
    client.answer().expect(200);
    let before = !secured.connect().send_some(head("GET", "/livez", &[], None).as_bytes());
    assert!(before, "the certificate before is shown no more");
    let body = event("after", "s");
    let headers = [("Content-Type", "application/cloudevents+json")];
    client.send(head("POST", target, &headers, Some(body.len())).as_bytes());
    client.send(body.as_bytes());
    client.answer().expect(201);
    follower.read_past(br#""id":"after""#);
}

#[test]
fn a_bad_renewal_keeps_the_certificate_and_is_told_once() {
    let secured = SecuredService::start();
    let stranger = secured.ca.issue(&["localhost"], CertificateLife::Now);
    fs::write(secured.folder().join("key"), &stranger.key).unwrap();
    let refused = secured.tls.reload().unwrap_err().to_string();
    assert!(refused.contains("is not of the first certificate"), "{refused}");
    assert!(!secured.tls.reload().unwrap(), "the same fault is no news");
    assert_eq!(secured.get("/livez", &[]).0, 200);
    fs::write(secured.folder().join("certificate"), &stranger.certificate).unwrap();
    assert!(secured.tls.reload().unwrap(), "the other half of the pair has come");
    assert_eq!(secured.get("/livez", &[]).0, 200);
    fs::remove_file(secured.folder().join("key")).unwrap();
    assert!(secured.tls.reload().is_err());
    assert_eq!(secured.get("/livez", &[]).0, 200);
}

#[test]
fn a_peer_that_does_not_shake_hands_is_cut_in_time() {
    let handshake = Duration::from_millis(500);
    let secured = SecuredService::with(ConnectionTimeouts { handshake, ..ConnectionTimeouts::default() });
    for first in [&HALF_OPEN[..], b""] {
        let mut peer = TcpStream::connect(secured.service.address).unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        peer.write_all(first).unwrap();
        let began = Instant::now();
        let mut rest = Vec::new();
        let _reset = peer.read_to_end(&mut rest).is_err();
        assert!(began.elapsed() >= handshake / 2 && began.elapsed() < PATIENCE / 2, "{:?}", began.elapsed());
        assert!(rest.is_empty(), "{rest:?}");
    }
    wait_until(|| secured.metric(r#"bitacora_tls_handshakes_total{outcome="late"}"#) == 2);
}

#[test]
fn a_flood_of_half_open_handshakes_leaves_room_for_others() {
    let handshake = Duration::from_secs(120);
    let secured = SecuredService::with(ConnectionTimeouts { handshake, ..ConnectionTimeouts::default() });
    let half_open = |_| {
        let mut peer = TcpStream::connect(secured.service.address).unwrap();
        peer.write_all(&HALF_OPEN).unwrap();
        peer
    };
    let flood: Vec<TcpStream> = (0..FLOOD).map(half_open).collect();
    // Those past the turns that there are take them from the first ones.
    wait_until(|| secured.metric("bitacora_http_connections") > MOST_OF_THE_TURNS);
    fs::write(secured.folder().join("ca"), secured.ca.pem()).unwrap();
    let url = format!("https://localhost:{}/livez", secured.service.address.port());
    let curl = |source: &str| {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "10", "--interface", source, "--cacert"])
            .arg(secured.folder().join("ca"));
        let answer = curl.arg(&url).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&answer.stdout), "ok\n", "{source}: {answer:?}");
    };
    curl("127.0.0.2");
    curl("127.0.0.1");
    drop(flood);
}

#[test]
fn a_peer_that_takes_no_answers_is_cut_although_tls_holds_some_back() {
    let write_pause = Duration::from_millis(500);
    let secured = SecuredService::with(ConnectionTimeouts { write_pause, ..ConnectionTimeouts::default() });
    let mut client = secured.connect();
    let request = head("GET", "/v1/openapi.json", &[], None);
    wait_until(|| secured.metric("bitacora_http_connections") == 1);
    // Until both sides' buffers are full.
    while client.send_some(request.repeat(20).as_bytes()) {}
    wait_until(|| secured.metric("bitacora_http_connections") == 1);
}

#[test]
fn pages_of_the_service_are_those_at_https_and_under_the_names_of_its_certificate() {
    let (secured, first) = (SecuredService::start().closed(), token("first"));
    let SocketAddr::V4(address) = secured.service.address else { panic!("an address of IPv4") };
    for host in [format!("localhost:{}", address.port()), "Ledger.Example".to_owned(), address.to_string()] {
        assert_eq!(append_of_page(&secured, &host, "https", &first), 201, "{host}");
        assert_eq!(append_of_page(&secured, &host, "http", &first), 403, "{host}");
    }
    assert_eq!(append_of_page(&secured, "evil.example", "https", &first), 403);
    let authorization = format!("Bearer {}", token("first"));
    let (status, text) = secured.get("/metrics", &[("Authorization", &authorization)]);
    let end = "bitacora_tls_certificate_expiry_timestamp_seconds 16725225600\n";
    assert!(status == 200 && text.contains(end), "{text}");
}

/// A proxy on this machine may serve an open service under such a name, and everybody behind it would be admin.
#[test]
fn no_name_of_the_certificate_is_an_open_services_own() {
    let secured = SecuredService::start();
    let host = format!("localhost:{}", secured.service.address.port());
    assert_eq!(append_of_page(&secured, &host, "https", ""), 201);
    assert_eq!(append_of_page(&secured, "ledger.example", "https", ""), 403);
}

/// Appends an event with this token, or none, from a page of this host; the status.
fn append_of_page(secured: &SecuredService, host: &str, scheme: &str, token: &str) -> u16 {
    let mut client = secured.connect();
    let body = event(&format!("{scheme} {host}"), "s");
    let authorization =
        if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
    let request = format!(
        "POST /v1/ledgers/main/events HTTP/1.1\r\nHost: {host}\r\nOrigin: {scheme}://{host}\r\nSec-Fetch-Site: same-origin\r\n\
         {authorization}Content-Type: application/cloudevents+json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    client.send(request.as_bytes());
    client.answer().status
}
