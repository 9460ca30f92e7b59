//! Tests of signals to end the program: they are heard, and nothing acknowledged is lost.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;

use crate::sample::{Sample, code, command};

/// No command takes longer to hear an interruption.
const PATIENCE: Duration = Duration::from_secs(30);
/// A pipe of 16 pages takes nothing more where its first page was begun to be read.
const FULL_PIPE_BYTES: u64 = 15 * 4_096;

fn interrupt(child: &Child) {
    assert!(Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap().success());
}

fn line(number: u64) -> String {
    format!(r#"{{"specversion":"1.0","id":"i{number}","source":"urn:test","type":"x.noted","subject":"s"}}"#)
}

#[test]
fn an_append_that_waits_for_its_input_ends_at_an_interruption_and_keeps_what_it_has() {
    let sample = Sample::new(0);
    let mut append = command(&["append", "--receipts", "--batch", "1", "--data"]);
    append.arg(sample.data()).arg("--keyring").arg(sample.keyring_file());
    append.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut append = append.spawn().unwrap();
    let mut input = append.stdin.take().unwrap();
    // The third is read while stdin stays open; the reader of stdin waits then.
    for number in 0..3 {
        writeln!(input, "{}", line(number)).unwrap();
    }
    let began = Instant::now();
    while sample.segments().len() < 2
        || std::fs::read(sample.segment(2)).unwrap().iter().all(|byte| *byte == 0)
    {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    interrupt(&append);
    let ended = append.wait_with_output().unwrap();
    assert!(began.elapsed() < PATIENCE);
    assert_eq!(code(&ended), 130, "{}", String::from_utf8_lossy(&ended.stderr));
    let receipts = ended.stdout.lines().count();
    assert_eq!(receipts, 3);
    drop(input);
    let read = sample.run(&["read", "--json", "--type", "x.noted"]);
    assert_eq!(read.stdout.lines().count(), receipts);
    assert_eq!(code(&sample.run(&["verify", "--with-keys"])), 10);
}

/// Everything that goes through it comes back late.
fn late_way_to(service: std::net::SocketAddr) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let copy = |mut from: TcpStream, mut to: TcpStream, pause: Duration| {
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                std::thread::sleep(pause);
                if to.write_all(&bytes[..read]).is_err() {
                    break;
                }
            }
        });
    };
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(service).unwrap();
            copy(near.try_clone().unwrap(), far.try_clone().unwrap(), Duration::ZERO);
            copy(far, near, Duration::from_millis(900));
        }
    });
    address
}

#[test]
fn an_import_that_is_interrupted_tells_what_was_under_way_too() {
    let folder = tempfile::tempdir().unwrap();
    let place = bitacora_tests::service::ServiceFolder::new(crate::PROGRAM, folder.path());
    let service = place.start().unwrap();
    let late = format!("http://{}", late_way_to(service.address));
    let mut import =
        command(&["import", "-", "--format", "cloudevents", "--batch", "100", "--json", "--url", &late]);
    let mut import =
        import.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = import.stdin.take().unwrap();
    // More than is read at once; an interrupted reader takes no more.
    std::thread::spawn(move || (0..).map_while(|number| writeln!(input, "{}", line(number)).ok()).count());
    let url = format!("http://{}", service.address);
    let recorded = || {
        let read = command(&["read", "--json", "--type", "x.noted", "--url", &url]).output().unwrap();
        read.stdout.lines().count()
    };
    let began = Instant::now();
    while recorded() == 0 {
        assert!(began.elapsed() < PATIENCE);
    }
    interrupt(&import);
    let ended = import.wait_with_output().unwrap();
    assert_eq!(code(&ended), 130);
    let told: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((&told["created"], &told["unheard"]), (&recorded().into(), &false.into()), "{told}");
}

#[test]
fn a_service_ends_at_the_first_signal_and_its_folder_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let place = bitacora_tests::service::ServiceFolder::new(crate::PROGRAM, folder.path());
    let mut serve = place.command("serve");
    serve.args(["--json", "--listen", "127.0.0.1:0", "--create", "main", "--keyring"]).arg(place.keyring());
    let mut serve = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(serve.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let told: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert!(told["listening"][0].as_str().unwrap().starts_with("http://127.0.0.1:"));
    interrupt(&serve);
    assert_eq!(serve.wait().unwrap().code(), Some(0));
    assert_eq!(code(&place.command("verify").output().unwrap()), 10);
}

#[test]
fn what_only_shows_things_ends_at_an_interruption_though_nobody_takes_what_it_shows() {
    let sample = Sample::new(0);
    let mut append = command(&["append", "--data"]);
    append.arg(sample.data()).arg("--keyring").arg(sample.keyring_file());
    let mut append = append.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // Far more than a pipe holds.
    let lines: String = (0..3_000).map(|number| line(number) + "\n").collect();
    append.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(append.wait().unwrap().success());
    for arguments in [&["read", "--json", "--data"][..], &["tail", "--json", "--from", "start", "--data"]] {
        for signal in ["-INT", "-TERM"] {
            let mut shows = command(arguments);
            shows.arg(sample.data()).arg("--keyring").arg(sample.keyring_file());
            let mut shows = shows.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            // From its first byte on it shows, and a moment later the pipe is full.
            shows.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            let began = Instant::now();
            while ioctl_fionread(shows.stdout.as_ref().unwrap()).unwrap() < FULL_PIPE_BYTES {
                assert!(began.elapsed() < PATIENCE);
                std::thread::sleep(Duration::from_millis(10));
            }
            assert_eq!(shows.try_wait().unwrap(), None, "it waits for its reader");
            let began = Instant::now();
            let pid = shows.id().to_string();
            assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
            while shows.try_wait().unwrap().is_none() && began.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(10));
            }
            let heard = shows.try_wait().unwrap();
            if heard.is_none() {
                shows.kill().unwrap();
            }
            assert_eq!(heard.and_then(|status| status.code()), Some(130), "{arguments:?} {signal}");
        }
    }
}
