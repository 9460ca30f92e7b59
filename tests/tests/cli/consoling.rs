//! `console`, and the links that sign in: whom they are shown to, and where they never stand.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use serde_json::Value;

use crate::PROGRAM;
use crate::sample::{code, command, told, why};

/// What every link has.
const CODE: &str = "code=";

/// A closed service, and a person beside it.
struct ConsoleTest {
    folder: tempfile::TempDir,
    place: ServiceFolder,
    service: ServiceProcess,
}

impl ConsoleTest {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = ServiceFolder::new(PROGRAM, folder.path());
        let service = place.start_closed().unwrap();
        Self { folder, place, service }
    }

    fn url(&self) -> String {
        format!("http://{}", self.service.address)
    }

    fn console(&self, more: &[&str]) -> Command {
        let mut console = command(&["console", "--url", &self.url()]);
        console.args(more).arg("--keyring").arg(self.place.keyring());
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"] {
            console.env_remove(name);
        }
        console
    }

    /// Runs the command where a display is, with this script in the place of the program that opens files.
    fn at_a_display(&self, script: &str, more: &[&str]) -> Output {
        let programs = self.folder.path().join("bin");
        fs::create_dir_all(&programs).unwrap();
        let opener = programs.join("xdg-open");
        fs::write(&opener, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
        let session = self.folder.path().join("session");
        fs::create_dir_all(&session).unwrap();
        fs::set_permissions(&session, fs::Permissions::from_mode(0o700)).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut console = self.console(more);
        console.env("PATH", path).env("DISPLAY", ":9").env("XDG_RUNTIME_DIR", session);
        console.env("NOTES", self.folder.path()).output().unwrap()
    }

    fn note(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }
}

/// Answers one request with this, as whatever listens at an address may.
fn impostor(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _asked = stream.read(&mut [0; 4096]).unwrap();
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    });
    format!("http://{address}")
}

#[test]
fn a_link_is_printed_to_whoever_asks_for_it_and_says_whose_it_is() {
    let desk = ConsoleTest::new();
    let printed = desk.console(&["--print"]).output().unwrap();
    assert_eq!(code(&printed), 0, "{}", why(&printed));
    let line = String::from_utf8(printed.stdout.clone()).unwrap();
    assert!(line.starts_with(&format!("{}/console/sign-in?{CODE}", desk.url())), "{line}");
    assert_eq!(line.lines().count(), 1, "a script takes the line as it is");
    let said = why(&printed);
    assert!(said.contains("(admin), once, within 10 minutes") && !said.contains(CODE), "{said}");

    let json = told(&desk.console(&["--print", "--json", "--ledger", "other"]).output().unwrap());
    assert!(json["url"].as_str().unwrap().ends_with("&next=%2Fconsole%2Fother%2Fnow"), "{json}");
    assert_eq!(
        (&json["opened"], &json["role"], &json["seconds"]),
        (&false.into(), &"admin".into(), &600.into())
    );
}

#[test]
fn without_a_display_nothing_is_printed_that_nobody_asked_for() {
    let desk = ConsoleTest::new();
    for more in [&[][..], &["--json"]] {
        let refused = desk.console(more).output().unwrap();
        assert_eq!((code(&refused), refused.stdout.len()), (1, 0), "{}", why(&refused));
        assert!(why(&refused).contains("--print") && !why(&refused).contains(CODE), "{}", why(&refused));
    }
}

#[test]
fn a_browser_gets_the_link_in_a_file_of_its_users_and_not_on_its_command_line() {
    let desk = ConsoleTest::new();
    let keep = "echo \"$@\" > $NOTES/words; cat \"$1\" > $NOTES/page; stat -c %a \"$1\" > $NOTES/mode";
    let opened = desk.at_a_display(keep, &[]);
    assert_eq!(code(&opened), 0, "{}", why(&opened));
    assert_eq!(String::from_utf8_lossy(&opened.stdout), format!("opened {}/console\n", desk.url()));
    assert!(!desk.note("words").contains(CODE) && Path::new(desk.note("words").trim()).is_absolute());
    assert!(desk.note("page").contains(&format!("0; url={}/console/sign-in?{CODE}", desk.url())));
    assert_eq!(desk.note("mode").trim(), "600");
    let json = told(&desk.at_a_display(keep, &["--json"]));
    assert_eq!(
        (&json["opened"], json["url"].as_str().unwrap()),
        (&true.into(), &*format!("{}/console", desk.url()))
    );

    let failed = desk.at_a_display("exit 4", &[]);
    assert_eq!((code(&failed), failed.stdout.len()), (1, 0));
    assert!(why(&failed).contains("xdg-open") && why(&failed).contains("--print"), "{}", why(&failed));
}

#[test]
fn whoever_may_not_or_cannot_is_told_why() {
    let desk = ConsoleTest::new();
    let unknown =
        desk.console(&["--print"]).env("BITACORA_TOKEN", format!("bt_{}", "A".repeat(43))).output().unwrap();
    assert_eq!((code(&unknown), why(&unknown).contains("--token-file")), (3, true), "{}", why(&unknown));
    let nobody = command(&["console", "--print", "--url", &desk.url()]).output().unwrap();
    assert_eq!((code(&nobody), why(&nobody).contains("beside the keyring")), (3, true), "{}", why(&nobody));
    let nothing = command(&["console", "--print", "--url", "http://127.0.0.1:1"]).output().unwrap();
    assert_eq!((code(&nothing), why(&nothing).contains("`bitacora serve`")), (1, true), "{}", why(&nothing));
    let socket = command(&["console", "--print", "--url", "unix:/run/x"]).output().unwrap();
    assert_eq!((code(&socket), why(&socket).contains("Unix socket")), (2, true), "{}", why(&socket));
    let problem =
        desk.console(&["--json"]).env("BITACORA_TOKEN", format!("bt_{}", "A".repeat(43))).output().unwrap();
    let problem: Value = serde_json::from_slice(&problem.stderr).unwrap();
    assert_eq!((&problem["status"], &problem["code"]), (&401.into(), &"unauthorized".into()), "{problem}");
}

#[test]
fn an_old_service_is_named_so_and_an_impostor_leads_nowhere() {
    let problem = r#"{"type":"urn:bitacora:problem:no-such-resource","title":"","status":404,"detail":"there is no such path","code":"no-such-resource","retryable":false,"sideEffects":"none"}"#;
    let old =
        command(&["console", "--print", "--url", &impostor("404 Not Found", problem)]).output().unwrap();
    assert_eq!((code(&old), why(&old).contains("earlier version")), (1, true), "{}", why(&old));
    for path in ["@evil.example/", "//evil.example/console", "/console\\\"><script>", "/console\\u001b[2J"] {
        let link: &str = format!(r#"{{"path":"{path}","actor":"a","role":"admin","seconds":600}}"#).leak();
        let other = command(&["console", "--print", "--url", &impostor("200 OK", link)]).output().unwrap();
        assert_eq!((code(&other), other.stdout.len()), (1, 0), "{path}: {}", why(&other));
    }
}

#[test]
fn no_link_stands_in_what_a_service_writes_into_a_file() {
    let desk = ConsoleTest::new();
    let log = fs::read_to_string(desk.folder.path().join("log")).unwrap();
    assert!(!log.contains(CODE), "{log}");
    let printed = desk.console(&["--print"]).output().unwrap();
    let line = String::from_utf8(printed.stdout).unwrap();
    let secret = line.trim().rsplit('=').next().unwrap();
    let everything = command(&["read", "--json", "--url", &desk.url(), "--keyring"]);
    let mut everything = everything;
    let everything = everything.arg(desk.place.keyring()).output().unwrap();
    assert_eq!(code(&everything), 0);
    let log = fs::read_to_string(desk.folder.path().join("log")).unwrap();
    assert!(!log.contains(secret) && !String::from_utf8_lossy(&everything.stdout).contains(secret));
}
