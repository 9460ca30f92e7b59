//! `quickstart`: what a newcomer runs first.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sample::{code, command, told, why};

/// No end of it takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

fn quickstart(folder: &Path, more: &[&str]) -> Output {
    command(&["quickstart", "--exit", "--events", "3000"]).args(more).current_dir(folder).output().unwrap()
}

/// Runs a command as it was shown, pasted into a shell.
fn paste(folder: &Path, shown: &str) -> Output {
    Command::new("sh").args(["-c", shown]).current_dir(folder).output().unwrap()
}

/// Runs what ends only by an interruption until it has said something.
fn follow(folder: &Path, shown: &str) {
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", &format!("exec {shown}")]).current_dir(folder);
    let mut running = shell.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(running.stdout.take().unwrap()).read_line(&mut line).unwrap();
    interrupt(&running);
    running.wait().unwrap();
    assert!(!line.is_empty(), "{shown}");
}

fn commands(told: &Value) -> Vec<String> {
    told["commands"].as_array().unwrap().iter().map(|command| command.as_str().unwrap().to_owned()).collect()
}

fn interrupt(child: &Child) {
    assert!(Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap().success());
}

fn start(folder: &Path, more: &[&str]) -> Child {
    let mut start = command(&["quickstart", "--json", "--listen", "127.0.0.1:0"]);
    start.args(more).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn it_tells_what_it_holds_and_its_commands_work_when_pasted() {
    let folder = tempfile::tempdir().unwrap();
    let output = quickstart(folder.path(), &["--json"]);
    assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "nobody looks: nothing is drawn");
    let summary = told(&output);
    assert_eq!((&summary["events"], &summary["verified"]["verdict"]), (&3_000.into(), &"verified".into()));
    // The ledger was created and opened, and signed a tree head for each second that it took.
    assert!(summary["verified"]["events"].as_u64().unwrap() >= 3_002);
    assert!(summary["storedBytes"].as_u64().unwrap() * 3 < summary["jsonBytes"].as_u64().unwrap());
    let decided = |verdict: &str| summary["decisions"][verdict].as_u64().unwrap();
    let made = ["allow", "review", "deny"].map(decided);
    assert_eq!(made.iter().sum::<u64>(), summary["types"]["tool.requested"].as_u64().unwrap());
    assert!(made.iter().all(|count| *count > 0) && decided("toolUnknown") == 0, "{made:?}");
    // Calls that were decided live: of each verdict, and a breaker that opened.
    let live = &summary["live"];
    assert_eq!(
        (&live["allowed"], &live["denied"], &live["breakerOpened"]),
        (&7.into(), &1.into(), &true.into()),
        "{live}"
    );
    assert_eq!(live["waiting"].as_array().unwrap().len(), 2, "{live}");
    let mut ran = 0;
    for shown in commands(&summary) {
        if shown.contains(" serve ") {
            let mut serve = Command::new("sh");
            let serve =
                serve.args(["-c", &format!("exec {shown} --listen 127.0.0.1:0")]).current_dir(folder.path());
            let mut serve = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(serve.stdout.take().unwrap()).read_line(&mut line).unwrap();
            interrupt(&serve);
            assert!(line.starts_with("listening on ") && serve.wait().unwrap().success(), "{shown}: {line}");
        } else {
            let output = paste(folder.path(), &shown);
            let expected = if shown.contains(" verify ") { 10 } else { 0 };
            assert_eq!(code(&output), expected, "{shown}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(!output.stdout.is_empty(), "{shown}");
        }
        ran += 1;
    }
    assert_eq!(ran, 8);
}

/// Asserts that the admin finds two calls that wait long enough, and may answer them: others asked for them.
fn assert_two_calls_wait(folder: &Path, summary: &Value) {
    let run = |arguments: &[&str]| {
        let token = ["--token-file", summary["adminToken"].as_str().unwrap()];
        let url = ["--url", summary["url"].as_str().unwrap()];
        let output = command(arguments).args(url).args(token).current_dir(folder).output().unwrap();
        assert_eq!(code(&output), 0, "{arguments:?}: {}", why(&output));
        output
    };
    let waiting = told(&run(&["approvals", "--json"]))["approvals"].as_array().unwrap().clone();
    let tools: Vec<_> = waiting.iter().map(|approval| approval["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["Edit", "Bash"]);
    assert!(waiting[0]["args"]["old_string"].is_string() && waiting[0]["args"]["new_string"].is_string());
    assert!(waiting[1]["parts"].as_array().unwrap().len() > 2, "{}", waiting[1]);
    for (approval, verb) in waiting.iter().zip(["approve", "reject"]) {
        run(&["approvals", verb, approval["id"].as_str().unwrap(), "--note", "seen"]);
    }
    let breakers = told(&run(&["breakers", "--json"]))["breakers"].as_array().unwrap().clone();
    let open: Vec<_> = breakers.iter().filter(|breaker| breaker["state"] == "open").collect();
    assert_eq!((open.len(), &open[0]["dimension"]["tool"]), (1, &"fs.write".into()));
}

#[test]
fn it_goes_on_serving_until_it_is_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = start(folder.path(), &["--events", "3000"]);
    let mut line = String::new();
    BufReader::new(running.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let summary: Value = serde_json::from_str(&line).unwrap();
    assert!(!line.contains("code="), "a link that signs in is a person's: {line}");
    assert_two_calls_wait(folder.path(), &summary);
    let has_curl = Command::new("curl").arg("--version").output().is_ok();
    for shown in commands(&summary) {
        if shown.starts_with("curl ") && !has_curl {
            continue;
        }
        if shown.contains(" tail ") {
            follow(folder.path(), &shown);
            continue;
        }
        let output = paste(folder.path(), &shown);
        let expected = if shown.contains(" verify ") { 10 } else { 0 };
        assert_eq!(code(&output), expected, "{shown}: {}", String::from_utf8_lossy(&output.stderr));
        let is_kept = shown.contains(" > ");
        assert!(
            output.stdout.is_empty() == is_kept
                && !String::from_utf8_lossy(&output.stdout).contains("urn:bitacora:problem"),
            "{shown}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
    // The token that the output names is an admin's, and nobody is served without one.
    let file = folder.path().join(summary["adminToken"].as_str().unwrap());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
    let url = summary["url"].as_str().unwrap();
    let nobody = command(&["calls", "--url", url]).current_dir(folder.path()).output().unwrap();
    assert_eq!(code(&nobody), 3, "{}", why(&nobody));
    let agents = folder.path().join("bitacora-quickstart/coder.token");
    assert_eq!(fs::metadata(&agents).unwrap().permissions().mode() & 0o7777, 0o600);
    assert!(!line.contains(fs::read_to_string(&file).unwrap().trim()), "the token is not printed");
    interrupt(&running);
    let ended = running.wait_with_output().unwrap();
    assert_eq!((code(&ended), String::from_utf8_lossy(&ended.stderr).as_ref()), (0, ""));
}

#[test]
fn it_never_writes_over_anything() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["bitacora-quickstart", "bitacora-quickstart-2"] {
        let summary = told(&quickstart(folder.path(), &["--json"]));
        assert_eq!(summary["folder"], name);
    }
    let keyring = folder.path().join("bitacora-quickstart/keyring");
    let before = fs::read(&keyring).unwrap();
    let refused = quickstart(folder.path(), &["--folder", "bitacora-quickstart"]);
    assert!(code(&refused) == 1 && why(&refused).contains("--folder"), "{}", why(&refused));
    assert_eq!(fs::read(&keyring).unwrap(), before);
    let nowhere = quickstart(folder.path(), &["--folder", "no/such/folder"]);
    assert!(code(&nowhere) == 1 && why(&nowhere).contains("nothing was begun"));
}

#[test]
fn a_port_that_is_taken_is_said_or_gone_around() {
    let folder = tempfile::tempdir().unwrap();
    // If somebody else has the usual port, that is as good.
    let _usual = TcpListener::bind("127.0.0.1:7717");
    let output =
        command(&["quickstart", "--exit", "--events", "10"]).current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(code(&output) == 0 && text.contains("port 7717 is taken"), "{text}");
    assert!(text.contains("bitacora-quickstart/keyring.admin-token"), "{text}");
    assert!(!text.contains('\u{1b}'), "no terminal, no colour: {text}");

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = quickstart(folder.path(), &["--folder", "other", "--listen", &address]);
    assert!(code(&refused) == 1 && why(&refused).contains(&address));
    let open = quickstart(folder.path(), &["--folder", "other", "--listen", "0.0.0.0:0"]);
    assert!(code(&open) == 1 && why(&open).contains("loopback"));
    assert!(!folder.path().join("other").exists(), "nothing was begun");
}

#[test]
fn an_interruption_while_it_is_fed_ends_it_and_keeps_what_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let running = start(folder.path(), &["--events", "200000"]);
    let segment = folder.path().join("bitacora-quickstart/data/ledgers/main/segments/0000000002.seg");
    while fs::read(&segment).map_or(0, |bytes| bytes.iter().take(200_000).filter(|byte| **byte != 0).count())
        < 100_000
    {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    interrupt(&running);
    let ended = running.wait_with_output().unwrap();
    assert!(began.elapsed() < PATIENCE);
    assert_eq!(code(&ended), 130, "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(why(&ended).contains("stays in bitacora-quickstart"));
    let mut verify =
        command(&["verify", "--with-keys", "--json", "--data", "bitacora-quickstart/data", "--keyring"]);
    let verified = verify.arg("bitacora-quickstart/keyring").current_dir(folder.path()).output().unwrap();
    assert_eq!(code(&verified), 10);
    let events = told(&verified)["events"].as_u64().unwrap();
    assert!((100..200_002).contains(&events), "{events}");
}
