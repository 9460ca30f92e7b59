//! The life of a service: its addresses, its end, and the lock of its folder.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bitacora_server::{DataError, ListenError, Server, ServerConfig, ServerLimits, StartError};

use crate::service::{RawClient, TestService, config, data, event, head, new_keyring, wait_until};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().unwrap()
}

fn refused(config: ServerConfig) -> StartError {
    runtime().block_on(Server::bind(config)).err().expect("the service does not start")
}

#[test]
fn an_address_others_can_reach_is_refused_and_nothing_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"] {
        let mut config = config(folder.path(), &new_keyring(), ServerLimits::default());
        config.addresses = vec![address.parse().unwrap()];
        assert!(matches!(refused(config), StartError::Listen(ListenError::NotLoopback(_))), "{address}");
    }
    let mut config = config(folder.path(), &new_keyring(), ServerLimits::default());
    config.addresses.clear();
    assert!(matches!(refused(config), StartError::Listen(ListenError::Nowhere)));
    assert!(!data(folder.path()).exists());
}

#[test]
fn a_second_service_on_the_same_folder_does_not_start() {
    let service = TestService::start();
    let second = config(service.folder.path(), &service.keyring, ServerLimits::default());
    assert!(matches!(refused(second), StartError::Data(DataError::InUse(_))));
    service.append(event("1", "s")).expect(201);
}

#[test]
fn a_folder_of_other_things_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path());
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("thesis.txt"), "precious").unwrap();
    let foreign = config(folder.path(), &new_keyring(), ServerLimits::default());
    assert!(matches!(refused(foreign), StartError::Data(DataError::Foreign(_))));
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 1);
    std::fs::remove_file(data.join("thesis.txt")).unwrap();
    std::fs::write(data.join("FORMAT"), "bitacora-data v2\n").unwrap();
    let newer = config(folder.path(), &new_keyring(), ServerLimits::default());
    assert!(matches!(refused(newer), StartError::Data(DataError::OtherFormat { .. })));
    std::fs::remove_file(data.join("FORMAT")).unwrap();
    // Leftovers of an interrupted beginning.
    std::fs::write(data.join("FORMAT.new"), "bita").unwrap();
    std::fs::create_dir(data.join("ledgers")).unwrap();
    let begun = config(folder.path(), &new_keyring(), ServerLimits::default());
    assert!(runtime().block_on(Server::bind(begun)).is_ok());
    assert_eq!(std::fs::read_to_string(data.join("FORMAT")).unwrap(), "bitacora-data v1\n");
}

#[test]
fn a_unix_socket_is_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bitacora.sock");
    // Left by a service that was killed.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut config = config(folder.path(), &new_keyring(), ServerLimits::default());
    config.unix_socket = Some(path.clone());
    let (shutdown, asked) = tokio::sync::oneshot::channel::<()>();
    let (bound, listening) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        runtime().block_on(async {
            let server = Server::bind(config).await.unwrap();
            bound.send(()).unwrap();
            server.run(async { drop(asked.await) }).await
        })
    });
    listening.recv().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut client = RawClient::over(UnixStream::connect(&path).unwrap());
    // No browser gets here, so the name does not matter; framing does.
    client.send(b"GET /livez HTTP/1.1\r\nHost: whatever\r\n\r\nGET /livez HTTP/1.1\r\n\r\n");
    client.answer().expect(200);
    client.answer().expect_problem(400, "request-framing");
    drop(shutdown);
    thread.join().unwrap().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_socket_or_file_in_use_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bitacora.sock");
    let taken = |path: &std::path::Path| {
        let mut config = config(folder.path(), &new_keyring(), ServerLimits::default());
        config.unix_socket = Some(path.to_owned());
        matches!(refused(config), StartError::Listen(ListenError::SocketInUse(_)))
    };
    let _other = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(taken(&path));
    let file = folder.path().join("file");
    std::fs::File::create(&file).unwrap().write_all(b"precious").unwrap();
    assert!(taken(&file));
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
}

#[test]
fn a_service_that_does_not_start_leaves_no_socket() {
    let service = TestService::start();
    let path = service.folder.path().join("bitacora.sock");
    let mut second = config(service.folder.path(), &service.keyring, ServerLimits::default());
    second.unix_socket = Some(path.clone());
    assert!(matches!(refused(second), StartError::Data(DataError::InUse(_))));
    assert!(!path.exists());
}

#[test]
fn a_request_in_flight_is_finished_before_the_end() {
    let mut service = TestService::start();
    let append = event("in flight", "s");
    let mut busy = service.connect();
    let mut idle = service.connect();
    idle.send(head("GET", "/livez", &[], None).as_bytes());
    idle.answer().expect(200);
    let headers = [("Content-Type", "application/json"), ("Expect", "100-continue")];
    busy.send(head("POST", "/v1/ledgers/main/events", &headers, Some(append.len())).as_bytes());
    busy.read_past(b"100 Continue\r\n\r\n");
    service.begin_shutdown();
    assert!(idle.is_ended(), "an idle connection is ended at once");
    // No others are accepted.
    wait_until(|| std::net::TcpStream::connect(service.address).is_err());
    busy.send(append.as_bytes());
    let position = busy.answer().expect(201).json()["first"].clone();
    service.wait().unwrap();

    let folder = std::mem::replace(&mut service.folder, tempfile::tempdir().unwrap());
    let service = TestService::on(folder, service.keyring.clone(), ServerLimits::default());
    let read =
        service.get(&format!("/v1/ledgers/main/events/{}", position.as_str().unwrap())).expect(200).json();
    assert_eq!(read["event"]["id"], "in flight");
}

#[test]
fn a_waiting_read_does_not_hold_up_the_end() {
    let mut service = TestService::start();
    let tip = service.tip();
    let mut client = service.connect();
    client.send(head("GET", &format!("/v1/ledgers/main/events?after={tip}&wait=60s"), &[], None).as_bytes());
    std::thread::sleep(Duration::from_millis(100));
    let began = std::time::Instant::now();
    service.begin_shutdown();
    client.answer().expect(200);
    service.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn an_operator_seals_stops_and_drains() {
    let mut service = TestService::start();
    let admin = |path: &str, body: &str| service.post(&format!("/v1/admin/{path}"), "application/json", body);
    service.append(event("1", "s")).expect(201);
    admin("seal", r#"{"ledger":"main"}"#).expect(202);
    service.append(event("2", "s")).expect(201);
    admin("read-only", r#"{"ledger":"main","readOnly":true}"#).expect(202);
    wait_until(|| service.get("/readyz").status == 503);
    let problem = service.append(event("3", "s")).expect_problem(503, "read-only");
    assert_eq!(problem["retryable"], true);
    service.get("/v1/ledgers/main/events").expect(200);
    admin("read-only", r#"{"ledger":"main","readOnly":false}"#).expect(202);
    wait_until(|| service.get("/readyz").status == 200);
    service.append(event("3", "s")).expect(201);
    admin("seal", r#"{"ledger":"other"}"#).expect_problem(404, "ledger-not-found");
    admin("seal", r#"{"ledger":"../x"}"#).expect_problem(400, "invalid-ledger-name");
    admin("seal", "{}").expect_problem(400, "bad-body");
    let metrics = |accept: &str| service.get_with("/metrics", &[("Accept", accept)]);
    let openmetrics =
        metrics("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.3").expect(200);
    assert_eq!(
        openmetrics.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    assert!(openmetrics.text().ends_with("# EOF\n"));
    for accept in ["*/*", "text/plain"] {
        let plain = metrics(accept).expect(200);
        assert_eq!(plain.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
        assert!(
            plain.text().contains("# TYPE bitacora_ledger_sync_seconds_total counter\n"),
            "{}",
            plain.text()
        );
        assert!(!plain.text().contains("# EOF") && !plain.text().contains("microseconds"));
    }
    metrics("application/json").expect_problem(406, "not-acceptable");
    service.request("POST", "/v1/admin/drain", &[], b"").expect(202);
    service.wait().unwrap();
}
