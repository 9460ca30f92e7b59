//! Tests of reloads: SIGHUP to the real program while it serves.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::{ServiceFolder, ServiceProcess};

use super::file;
use crate::PROGRAM;

/// The longest that a reload may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A service with a settings file, and its log.
struct Configured {
    folder: tempfile::TempDir,
    service: ServiceProcess,
}

impl Configured {
    fn start(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), text);
        let place = ServiceFolder::new(PROGRAM, folder.path());
        let start = |command: &mut Command| {
            command.arg("--config").arg(&path).env_remove("RUST_LOG");
        };
        let service = place.start_with(start).unwrap();
        Self { folder, service }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("bitacora.toml")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    fn metric(&self, name: &str) -> String {
        let mut client = HttpClient::connect(self.service.address).unwrap();
        let text =
            String::from_utf8(client.get("/metrics", "application/openmetrics-text").unwrap().body).unwrap();
        let line = text.lines().find(|line| line.starts_with(name) && line.as_bytes()[name.len()] == b' ');
        line.map_or_else(String::new, |line| line[name.len()..].trim().to_owned())
    }

    /// Sends SIGHUP, and returns what the log says until these words come, or the reload is counted.
    fn reload(&self, outcome: &str) -> String {
        let (before, counter) =
            (self.log().len(), format!("bitacora_settings_reloads_total{{outcome=\"{outcome}\"}}"));
        let tries = self.metric(&counter);
        self.service.hang_up().unwrap();
        let began = Instant::now();
        while self.metric(&counter) == tries {
            assert!(began.elapsed() < PATIENCE, "{outcome}: {}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
        self.log()[before..].to_owned()
    }
}

/// Tells the reader to stop when it is dropped.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads from a service until it is told to stop, and returns the statuses that were not 200.
fn read_on(service: &ServiceProcess, stop: &AtomicBool) -> io::Result<(usize, Vec<u16>)> {
    let mut client = HttpClient::connect(service.address)?;
    let (mut reads, mut others) = (0, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let status = client.get("/v1/ledgers/main/events", "application/json")?.status;
        reads += 1;
        others.extend(Some(status).filter(|status| *status != 200));
    }
    Ok((reads, others))
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

#[test]
fn a_reload_changes_what_can_change_and_a_fault_changes_nothing() {
    let configured = Configured::start("log-filter = \"info\"\nscrub-rate = 1000\n");
    let stop = AtomicBool::new(false);
    let (reads, others) = thread::scope(|scope| {
        let reader = scope.spawn(|| read_on(&configured.service, &stop));
        // Set also where a step fails, for the reader ends with it.
        let end = StopAtEnd(&stop);
        steps(&configured);
        drop(end);
        reader.join().unwrap().unwrap()
    });
    assert!(reads > 0 && others.is_empty(), "{others:?}");
}

fn steps(configured: &Configured) {
    let read_at = configured.metric("bitacora_settings_read_timestamp_seconds");
    assert!(read_at.parse::<f64>().unwrap() > 1e9, "{read_at}");
    let log = configured.log();
    assert!(log.contains("settings are read from this file") && !log.contains("DEBUG"), "{log}");

    // What can change changes, what cannot is told.
    let path = configured.path();
    write(
        &path,
        "log-filter = \"info,bitacora_cli=debug\"\nscrub-rate = 2000\nrequire-models = [\"calls\"]\narchive-after = \"never\"\n",
    );
    let said = configured.reload("done");
    assert!(said.contains("changed=\"require-models, archive-after, log-filter\""), "{said}");
    assert!(said.contains("need a restart") && said.contains("settings=\"scrub-rate\""), "{said}");
    let said = configured.reload("done");
    assert!(said.contains("changed=\"none\"") && said.contains("settings=\"scrub-rate\""), "{said}");

    // A fault, and no file at all, change nothing.
    for (text, why) in [
        (Some("log-filter = \"error\"\nlisen = 1\n"), "did you mean `listen`?"),
        (
            Some("log-filter = \"error\"\ndata = \"elsewhere\"\nnotify = \"https://x/hunter2\"\n"),
            "--notify-secret-file",
        ),
        (None, "No such file"),
    ] {
        match text {
            Some(text) => write(&path, text),
            None => fs::remove_file(&path).unwrap(),
        }
        let said = configured.reload("failed");
        assert!(said.contains(why) && said.contains("nothing changed"), "{said}");
    }
    assert_eq!(configured.metric("bitacora_settings_reloads_total{outcome=\"failed\"}"), "3");

    // The filter of the log is in effect: what it does not let through is not told, and a fault is.
    file(configured.folder.path(), "log-filter = \"error\"\nscrub-rate = 1000\n");
    configured.reload("done");
    let silent = configured.reload("done");
    assert!(!silent.contains("read again"), "{silent}");
    assert!(!configured.log().contains("hunter2"));
}

#[test]
fn a_service_without_a_settings_file_ends_at_a_hangup_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = ServiceFolder::new(PROGRAM, folder.path()).start().unwrap();
    service.hang_up().unwrap();
    assert!(!service.wait().unwrap().success());
}
