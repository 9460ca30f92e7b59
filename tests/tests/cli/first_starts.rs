//! Tests of first starts at once: services that share a keyring share its admin token.
//! No ledger is left with a token nobody has.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::{fs, thread};

use crate::PROGRAM;
use crate::sample::{code, command, why};

/// Times that both are started.
const ROUNDS: usize = 6;

/// A service that is killed when the test is done with it.
struct StartedService(Child);

impl Drop for StartedService {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Starts a service of one ledger, which has the name of its folder.
fn start(data: &Path, keyring: &Path) -> StartedService {
    let mut service = Command::new(PROGRAM);
    service.args(["serve", "--listen", "127.0.0.1:0", "--create"]).arg(data.file_name().unwrap());
    service.arg("--data").arg(data);
    service.arg("--keyring").arg(keyring).env_remove("BITACORA_TOKEN");
    let log = fs::File::create(data.with_extension("log")).unwrap();
    spawn(service.stderr(log))
}

fn spawn(service: &mut Command) -> StartedService {
    StartedService(service.stdout(Stdio::piped()).spawn().unwrap())
}

/// The address that a service says it listens on; none if it ends before.
fn address(service: &mut StartedService) -> Option<String> {
    let stdout = BufReader::new(service.0.stdout.take().unwrap());
    let line = stdout.lines().map_while(Result::ok).find(|line| line.contains("http://"))?;
    Some(line.split("http://").nth(1)?.split_whitespace().next()?.to_owned())
}

#[test]
fn two_first_starts_with_one_keyring_share_one_admin_token() {
    for round in 0..ROUNDS {
        let folder = tempfile::tempdir().unwrap();
        let keyring = folder.path().join("keyring");
        let made = command(&["keys", "new"]).arg("--keyring").arg(&keyring).output().unwrap();
        assert_eq!(code(&made), 0, "{}", why(&made));
        let data = ["one", "other"].map(|name| folder.path().join(name));
        let mut services = data.each_ref().map(|data| start(data, &keyring));
        let addresses: Vec<_> = thread::scope(|scope| {
            let each = services.each_mut().map(|service| scope.spawn(|| address(service)));
            each.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let token = folder.path().join("keyring.admin-token");
        for (address, data) in addresses.into_iter().zip(&data) {
            let address = address.unwrap_or_else(|| {
                let log = fs::read_to_string(data.with_extension("log")).unwrap();
                panic!("round {round}: a service does not listen\n{log}")
            });
            let url = format!("http://{address}");
            let asked = command(&["token", "list", "--url", &url, "--token-file"])
                .arg(&token)
                .arg("--ledger")
                .arg(data.file_name().unwrap())
                .output()
                .unwrap();
            assert_eq!(code(&asked), 0, "round {round}: the file's token is not taken: {}", why(&asked));
        }
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".new")), "{left:?}");
    }
}

#[test]
fn a_log_that_takes_no_line_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let keyring = folder.path().join("keyring");
    let mut serve = Command::new(PROGRAM);
    serve
        .args(["serve", "--listen", "127.0.0.1:0", "--create", "main", "--data"])
        .arg(folder.path().join("data"));
    serve.arg("--keyring").arg(&keyring).env_remove("BITACORA_TOKEN");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut service = spawn(serve.stderr(full));
    let url = format!("http://{}", address(&mut service).expect("the service does not listen"));
    let mut append = command(&["append", "--url", &url, "--token-file"]);
    append.arg(folder.path().join("keyring.admin-token")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut append = append.spawn().unwrap();
    let event =
        r#"{"specversion": "1.0", "id": "1", "source": "s", "type": "x.y", "subject": "s", "data": {}}"#;
    append.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    assert!(append.wait().unwrap().success());
}
