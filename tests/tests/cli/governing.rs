//! Tests of governing agents on the command line: each command through a service and in a folder.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;

use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use serde_json::Value;

use crate::PROGRAM;
use crate::sample::{Sample, code, command, told, why};

/// A new ledger, and how it is come to.
pub(crate) enum LedgerAccess {
    Folder(Sample),
    Service { folder: tempfile::TempDir, service: ServiceProcess },
}

impl LedgerAccess {
    pub(crate) fn folder() -> Self {
        Self::Folder(Sample::new(0))
    }

    pub(crate) fn service() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = ServiceFolder::new(PROGRAM, folder.path()).start().unwrap();
        Self::Service { folder, service }
    }

    pub(crate) fn both() -> [Self; 2] {
        [Self::folder(), Self::service()]
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        match self {
            Self::Folder(sample) => sample.run(arguments),
            Self::Service { service, .. } => {
                let url = format!("http://{}", service.address);
                command(arguments).args(["--url", &url]).output().unwrap()
            }
        }
    }

    /// Returns its output, and checks that it ends with this code.
    pub(crate) fn says(&self, expected: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(code(&output), expected, "{arguments:?}: {error}");
        assert!(expected == 1 || error.is_empty(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn does(&self, arguments: &[&str]) -> String {
        self.says(0, arguments)
    }

    /// The same as JSON.
    pub(crate) fn json(&self, expected: i32, arguments: &[&str]) -> Value {
        let text = self.says(expected, &[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
    }

    fn scratch(&self) -> &Path {
        match self {
            Self::Folder(sample) => sample.folder.path(),
            Self::Service { folder, .. } => folder.path(),
        }
    }

    /// A file of this content.
    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        let path = self.scratch().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Governed by what there is to begin with.
    pub(crate) fn governed(self) -> Self {
        self.does(&["tools", "register", "--starter"]);
        self.does(&["policy", "publish", "--starter", "--activate"]);
        self
    }
}

/// A folder that the starter's rules mean.
const CWD: &str = "/home/ana/project";
const WRITE: &str = r#"{"file_path":"src/a.rs","content":"x"}"#;

#[test]
fn two_commands_govern_a_new_ledger() {
    for way in LedgerAccess::both() {
        let args = r#"{"file_path":"src/a.rs"}"#;
        let read = ["--tool", "Read", "--args", args, "--cwd", CWD, "--agent", "coder"];
        let before = way.says(3, &[&["decide", "--call", "c1"][..], &read[..]].concat());
        assert!(before.starts_with("deny  tool-unknown\n"), "{before}");
        assert!(way.does(&["tools"]).contains("bitacora tools register --starter"));
        assert!(way.does(&["policy"]).contains("bitacora policy publish --starter --activate"));

        let registered = way.does(&["tools", "register", "--starter"]);
        assert!(registered.lines().any(|line| line.starts_with("Read  registered at position ")));
        let published = way.does(&["policy", "publish", "--starter", "--activate"]);
        assert!(published.contains("version 1 published") && published.contains("version 1 activated"));

        let after = way.does(&[&["decide", "--call", "c2"][..], &read[..]].concat());
        assert!(after.starts_with("allow  allowed\n") && after.contains("rule       reading\n"), "{after}");
        let elsewhere = ["decide", "--call", "c4", "--tool", "Read", "--args", args, "--cwd", "/etc"];
        assert!(way.says(3, &elsewhere).starts_with("review  no-rule\n"));
        let secret = ["decide", "--call", "c3", "--tool", "Read", "--args", r#"{"file_path":"a/.ssh/key"}"#];
        let denied = way.json(3, &secret);
        assert_eq!((&denied["verdict"], &denied["reasonCode"]), (&"deny".into(), &"secret-file".into()));
    }
}

#[test]
fn a_person_sees_what_waits_and_answers_once() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        assert_eq!(way.does(&["approvals"]), "no approval is pending\n");
        let args = way.file("args", WRITE);
        let decide = [
            "decide",
            "--call",
            "c1",
            "--tool",
            "Write",
            "--args-file",
            &args,
            "--cwd",
            CWD,
            "--agent",
            "coder",
        ];
        let asked = way.says(3, &decide);
        assert!(asked.starts_with("review  score-too-low\n"), "{asked}");
        let line = asked.lines().find(|line| line.starts_with("approval")).unwrap();
        let id = line.split_whitespace().nth(1).unwrap().trim_end_matches(',').to_owned();
        assert!(line.contains("pending until 20"), "{line}");

        let list = way.does(&["approvals", "list"]);
        let row = list.lines().find(|line| line.starts_with(&id)).unwrap();
        assert!(
            row.contains("coder") && row.contains("c1") && row.ends_with(&format!("Write {WRITE}")),
            "{list}"
        );
        assert_eq!(way.json(0, &["approvals"])["approvals"][0]["id"], id.as_str());
        assert!(way.does(&["approvals", "show", &id]).contains("status     pending\n"));

        let approved = way.does(&["approvals", "approve", &id, "--note", "fine"]);
        assert!(approved.contains("said       approved by admin:local, 20"), "{approved}");
        assert!(approved.contains("note       fine\n"), "{approved}");
        let second = way.run(&["approvals", "reject", &id]);
        assert_eq!(code(&second), 3);
        assert!(why(&second).contains("already-resolved"));
        assert_eq!(way.does(&["approvals"]), "no approval is pending\n");

        let allowed = way.does(&[&decide[..], &["--approval", &id]].concat());
        assert!(
            allowed.starts_with("allow  approved\n") && allowed.contains("begins     before 20"),
            "{allowed}"
        );
        let outcome =
            ["outcome", "--call", "c1", "--status", "ok", "--duration-ms", "40", "--agent", "coder"];
        let counted = way.does(&outcome);
        assert!(counted.contains("tool.completed at position "), "{counted}");
        assert!(
            counted.contains(
                "counted   approved for Write on src, in /home/ana/project: score 0.51 of 0.9, require_review\n"
            ),
            "{counted}"
        );
        assert_eq!(way.json(0, &["approvals", "show", &id])["consumed"]["call"], "c1");
        let answered = way.does(&["approvals", "answered", "--resolution", "approved"]);
        assert!(answered.contains(&id) && answered.contains("fine"), "{answered}");
        let people = way.does(&["approvals", "people"]);
        assert!(people.lines().count() == 2 && people.starts_with("by"), "{people}");

        let other = |call: &str| {
            let args = ["decide", "--call", call, "--tool", "Write", "--args", WRITE];
            way.json(3, &args)["approval"]["id"].as_str().unwrap().to_owned()
        };
        let edited = other("c4");
        let edit = ["approvals", "edit", &edited, "--args", r#"{"file_path":"src/b.rs","content":"x"}"#];
        assert_eq!(way.json(0, &edit)["status"], "edited");
        assert_eq!(way.json(0, &["approvals", "withdraw", &other("c6")])["status"], "withdrawn");
        assert_eq!(way.json(0, &["approvals", "reject", &other("c5")])["status"], "rejected");
    }
}

#[test]
fn a_person_sees_all_of_a_long_command_and_nothing_of_it_steers_the_terminal() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        let hidden = format!("echo '{}' \u{1b}[2J\u{202e} && rm -rf build", "x".repeat(400));
        let args = way.file("args", &serde_json::json!({ "command": hidden }).to_string());
        let decide = ["decide", "--call", "c1", "--tool", "Bash", "--args-file", &args, "--cwd", CWD];
        let asked = way.json(3, &decide);
        let id = asked["approval"]["id"].as_str().unwrap().to_owned();
        let list = way.does(&["approvals"]);
        let row = list.lines().find(|line| line.starts_with(&id)).unwrap();
        assert!(list.lines().next().unwrap().ends_with("parts"), "{list}");
        assert!(row.contains('…') && row.contains(" · rm"), "the command is cut, its parts are not: {row}");
        let shown = way.does(&["approvals", "show", &id]);
        assert!(
            shown.contains("rm -rf build") && shown.lines().any(|line| line.starts_with("parts ")),
            "{shown}"
        );
        for text in [&list, &shown] {
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        }
    }
}

#[test]
fn every_step_of_a_decision_is_explained_and_the_first_strictest_one_marked() {
    let way = LedgerAccess::folder().governed();
    let arguments = ["decide", "--call", "c1", "--tool", "Write", "--args", WRITE, "--cwd", CWD, "--explain"];
    let explained = way.says(3, &arguments);
    let marked: Vec<&str> = explained.lines().filter(|line| line.starts_with('>')).collect();
    let [marked] = marked[..] else { panic!("{explained}") };
    assert_eq!(marked.split_whitespace().collect::<Vec<_>>(), [">", "trust", "review", "score-too-low"]);
    assert!(
        explained.lines().any(|line| line.split_whitespace().eq(["policy", "allow", "-"])),
        "{explained}"
    );
    assert!(explained.contains("trust in  Write on src, in /home/ana/project\n"), "{explained}");
    assert!(explained.contains("counted   0 approvals, 0 rejections, 0 failures"), "{explained}");
    // The same request once more is answered as the first time.
    assert_eq!(way.says(3, &arguments), explained);
    let ladder = way.json(3, &arguments);
    assert!(ladder["ladder"].as_array().unwrap().len() > 10);
}

#[test]
fn a_tool_is_registered_changed_and_revoked_and_the_same_one_left_alone() {
    for way in LedgerAccess::both() {
        let document = |version: &str| {
            format!(
                r#"{{"tool":"fs.write","version":"{version}","description":"writes","input_schema":{{"type":"object"}},
                "risk":"write","blast_radius":"low","requires_review":false,"allowed_roles":["agent"],"timeout_ms":5000,
                "retry":{{"max":1,"backoff_ms":100}},"idempotency":"none","binding_fields":[]}}"#
            )
        };
        let (one, other) = (way.file("one", &document("1")), way.file("other", &document("2")));
        let more = way.file("more", &format!("[{}]", document("2")));
        assert!(way.does(&["tools", "register", &one]).starts_with("fs.write  registered at position "));
        assert_eq!(way.does(&["tools", "register", &one]), "fs.write  unchanged\n");
        assert_eq!(way.json(0, &["tools", "register", &other])["status"], "changed");
        assert_eq!(way.does(&["tools", "register", &more]), "fs.write  unchanged\n");
        let list = way.does(&["tools", "list"]);
        assert!(list.contains("fs.write  -       2        write  low"), "{list}");
        assert_eq!(way.json(0, &["tools"])["tools"][0]["document"]["version"], "2");

        assert!(
            way.does(&["tools", "revoke", "fs.write", "--reason", "unused"])
                .starts_with("recorded at position ")
        );
        let unknown = way.run(&["tools", "revoke", "fs.write"]);
        assert_eq!(code(&unknown), 1);
        assert!(why(&unknown).contains("there is no such tool"));
        let bad =
            way.file("bad", &format!("[{},{}]", document("3"), document("3").replace("write\"", "wild\"")));
        let refused = way.run(&["tools", "register", &bad]);
        assert_eq!(code(&refused), 1);
        assert!(why(&refused).contains("tool 2:") && why(&refused).contains("nothing was sent"));
        assert!(!way.does(&["tools"]).contains("fs.write"));
    }
}

#[test]
fn versions_of_the_policy_are_published_compared_activated_and_retired() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        let rule = |id: &str, action: &str| {
            format!(r#"{{"id":"{id}","match":{{"tool":"{id}"}},"action":"{action}","reason":"because"}}"#)
        };
        let policy = |rules: &[String]| format!(r#"{{"rules":[{}]}}"#, rules.join(","));
        let two = way.file("two", &policy(&[rule("a", "allow"), rule("b", "deny")]));
        let three = way.file("three", &policy(&[rule("b", "deny"), rule("a", "review")]));
        assert!(way.does(&["policy", "publish", &two]).contains("after `bitacora policy activate 2`"));
        assert_eq!(way.json(0, &["policy", "publish", &three])["version"], "3");
        let shown = way.does(&["policy", "show"]);
        assert!(shown.contains("1        active ") && shown.contains("rules of version 1,"), "{shown}");
        assert!(way.does(&["policy", "activate", "2", "--note", "now"]).starts_with("version 2 activated\n"));
        assert_eq!(way.json(0, &["policy"])["active"], "2");

        let differs = way.says(1, &["policy", "diff"]);
        let words: Vec<Vec<&str>> =
            differs.lines().map(|line| line.split_whitespace().take(2).collect()).collect();
        assert_eq!(
            words,
            [["from", "version"], ["rule", "is"], ["-", "a"], ["+", "a"], ["~", "b"], ["~", "a"]],
            "{differs}"
        );
        let told = way.json(1, &["policy", "diff"]);
        assert_eq!((&told["changed"], &told["trustChanged"]), (&serde_json::json!(["a"]), &false.into()));
        assert_eq!(way.json(0, &["policy", "diff", "2", "2"])["changed"], serde_json::json!([]));
        assert!(way.does(&["policy", "retire", "3"]).starts_with("version 3 retired\n"));
        let retired = way.run(&["policy", "activate", "3"]);
        // A version that is not there any more refuses nothing.
        assert_eq!(code(&retired), 1);
        assert!(why(&retired).contains("was retired"), "{}", why(&retired));
        let missing = way.run(&["policy", "show", "9"]);
        assert_eq!(code(&missing), 1);
        assert!(why(&missing).contains("there is no version 9"));
    }
}

#[test]
fn what_there_is_to_begin_with_is_written_as_it_is_published() {
    let way = LedgerAccess::folder();
    let written = way.does(&["policy", "starter"]);
    let file = way.file("policy", &written);
    way.does(&["policy", "publish", &file]);
    way.does(&["policy", "publish", "--starter"]);
    assert!(way.does(&["policy", "diff", "1", "2"]).ends_with("they say the same\n"));
    let tools = way.file("tools", &way.does(&["tools", "starter"]));
    way.does(&["tools", "register", &tools]);
    assert!(way.does(&["tools", "register", "--starter"]).lines().all(|line| line.ends_with("unchanged")));
}

#[test]
fn trust_is_seen_and_set_and_breakers_are_seen_set_and_closed() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        let dimension = ["--tool", "Write", "--context", "src", "--workspace", CWD];
        assert_eq!(way.does(&["trust"]), "nothing has been observed there\n");
        let set = [
            &["trust", "set", "--approvals", "30", "--streak", "30", "--reason", "a drill"][..],
            &dimension[..],
        ];
        assert!(way.does(&set.concat()).starts_with("recorded at position "));
        let shown = way.does(&[&["trust", "show"][..], &dimension[..]].concat());
        assert!(shown.contains("score       1.0 of 0.9\n") && shown.contains("approvals   30,"), "{shown}");
        let list = way.does(&["trust", "bottom", "--tool", "Write", "--limit", "3"]);
        assert!(list.lines().nth(1).unwrap().starts_with("1.0 of 0.9  auto_approve"), "{list}");
        assert_eq!(way.json(0, &["trust"])["dimensions"][0]["dimension"]["context"], "src");

        assert!(way.does(&["breakers"]).starts_with("there is no such breaker"));
        let configure = ["breakers", "configure", "--failure-threshold", "2"];
        way.does(&[&configure[..], &dimension[..]].concat());
        // A dimension that has just failed is looked at again.
        for (call, exit) in [("b1", 0), ("b2", 3)] {
            way.says(exit, &["decide", "--call", call, "--tool", "Write", "--args", WRITE, "--cwd", CWD]);
            let outcome = way.does(&["outcome", "--call", call, "--status", "error", "--error-type", "io"]);
            assert_eq!(outcome.contains("open, breaker.opened at position "), call == "b2", "{outcome}");
        }
        let open = way.does(&["breakers", "list", "--state", "open"]);
        assert!(open.contains("Write on src") && open.contains("open   2    2"), "{open}");
        let stopped =
            way.says(3, &["decide", "--call", "b3", "--tool", "Write", "--args", WRITE, "--cwd", CWD]);
        assert!(stopped.starts_with("review  breaker-open\n"), "{stopped}");
        way.does(&[&["breakers", "close", "--reason", "mended"][..], &dimension[..]].concat());
        assert_eq!(way.json(0, &["breakers"])["breakers"][0]["state"], "closed");
    }
}

#[test]
fn modes_and_stops_are_seen_and_set_and_nothing_that_is_shown_steers_a_terminal() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        let decide = |call: &str, agent: &str| {
            let write = ["--tool", "Write", "--args", WRITE, "--cwd", CWD, "--agent", agent];
            way.run(&[&["decide", "--call", call][..], &write].concat())
        };
        assert_eq!(way.does(&["mode"]), "mode     calls\nenforce  all\n");
        way.does(&["mode", "observe", "--agent", "coder", "--note", "looking"]);
        let mode = way.does(&["mode", "show"]);
        assert_eq!(mode, "mode     calls\nobserve  agent coder\nenforce  all others\n");
        let observed = decide("m1", "coder");
        assert_eq!(code(&observed), 0);
        let observed = String::from_utf8(observed.stdout).unwrap();
        assert!(observed.starts_with("allow  score-too-low\n"), "{observed}");
        assert!(observed.contains("only observed; enforced it would be review"), "{observed}");
        way.does(&["mode", "enforce", "--agent", "coder"]);
        assert_eq!(code(&decide("m2", "coder")), 3);

        way.does(&["agents", "suspend", "coder", "--reason", "a\u{202e}b"]);
        assert_eq!(way.does(&["agents"]), "suspended  reason\ncoder      a\\u{202e}b\n");
        assert!(
            String::from_utf8(decide("m3", "coder").stdout).unwrap().starts_with("deny  agent-suspended\n")
        );
        way.does(&["agents", "resume", "coder", "--reason", "looked at"]);
        assert_eq!(way.does(&["agents", "list"]), "no agent is suspended\n");

        assert!(way.does(&["clock"]).starts_with("trusted: calls are decided by it\ngoverned time  2"));
        assert_eq!(way.json(0, &["clock"])["trusted"], true);

        assert!(way.does(&["panic"]).starts_with("not engaged: "));
        way.does(&["panic", "engage", "--reason", "fire"]);
        assert_eq!(way.does(&["panic", "show"]), "engaged: fire\nno agent is suspended\n");
        assert!(String::from_utf8(decide("m4", "other").stdout).unwrap().starts_with("deny  panic\n"));
        assert_eq!(way.json(0, &["panic"])["reason"], "fire");
        way.does(&["panic", "release", "--reason", "out"]);
        assert_eq!(way.json(0, &["panic"])["panic"], false);
    }
}

#[test]
fn wrong_input_is_refused_and_the_end_says_by_whom() {
    let way = LedgerAccess::folder();
    let decide = ["decide", "--call", "c1", "--tool", "Read"];
    let usage = [
        [&decide[..], &["--args", "{"]].concat(),
        [&decide[..], &["--args", "{},\"approval\":\"a1\""]].concat(),
        ["decide", "--call", "c1"].to_vec(),
        ["outcome", "--call", "c1", "--status", "fine"].to_vec(),
        ["approvals", "edit", "a1"].to_vec(),
        ["panic", "engage"].to_vec(),
        ["policy", "publish"].to_vec(),
        ["tools", "register", "file", "--starter"].to_vec(),
    ];
    for arguments in usage {
        assert_eq!(code(&way.run(&arguments)), 2, "{arguments:?}");
    }
    let gone = way.run(&[&decide[..], &["--args-file", "/nowhere/args"]].concat());
    assert_eq!(code(&gone), 1);
    assert!(why(&gone).contains("nothing was sent"));
    let unknown = way.run(&["approvals", "approve", "a1/../x"]);
    assert_eq!(code(&unknown), 1);
    assert!(why(&unknown).contains("no-such-approval"), "{}", why(&unknown));
    let other = way.run(&["mode", "--ledger", "other"]);
    assert_eq!(code(&other), 1);
    assert!(why(&other).contains("there is no ledger other"));
    let refused = way.run(&[&decide[..], &["--blast-radius", "wild"]].concat());
    assert_eq!(code(&refused), 3, "{}", why(&refused));
    assert!(refused.stdout.is_empty() && why(&refused).contains("bad-body"), "{}", why(&refused));
}

#[test]
fn who_has_the_folder_needs_no_token_and_nobody_else_passes_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let mut service = place.start().unwrap();
    let url = format!("http://{}", service.address);
    let in_folder = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.arg("--data").arg(place.data()).arg("--keyring").arg(place.keyring()).output().unwrap()
    };
    let held = in_folder(&["mode"]);
    assert_eq!(code(&held), 1);
    assert!(why(&held).contains("name the service's address with --url"));
    let created = command(&["token", "create", "--role", "admin", "--json", "--url", &url]).output().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, told(&created)["token"].as_str().unwrap()).unwrap();
    let through = |arguments: &[&str]| command(arguments).args(["--url", &url]).output().unwrap();
    let unknown = through(&["mode"]);
    assert_eq!(code(&unknown), 3);
    assert!(why(&unknown).contains("--token-file or in BITACORA_TOKEN"), "{}", why(&unknown));
    let known = command(&["mode", "--url", &url, "--token-file"]).arg(&token).output().unwrap();
    assert_eq!(code(&known), 0, "{}", String::from_utf8_lossy(&known.stderr));
    service.terminate().unwrap();
    for arguments in [&["mode"][..], &["tools", "register", "--starter"]] {
        let output = in_folder(arguments);
        assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Relays to a service, and writes the name of another call into what comes back.
fn mixing_relay(service: std::net::SocketAddr) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(service).unwrap();
            let (mut requests, mut to_service) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut requests, &mut to_service));
            let (mut answers, mut to_client, mut bytes) = (far, near, vec![0; 65_536]);
            while let Ok(read @ 1..) = answers.read(&mut bytes) {
                let text =
                    String::from_utf8_lossy(&bytes[..read]).replace("\"call\":\"c1\"", "\"call\":\"c2\"");
                if to_client.write_all(text.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    address
}

#[test]
fn a_decision_about_another_call_is_no_allow() {
    let folder = tempfile::tempdir().unwrap();
    let service = ServiceFolder::new(PROGRAM, folder.path()).start().unwrap();
    let decide =
        |url: &str| command(&["decide", "--call", "c1", "--tool", "Bash", "--url", url]).output().unwrap();
    assert_eq!(code(&decide(&format!("http://{}", service.address))), 3);
    let mixed = decide(&format!("http://{}", mixing_relay(service.address)));
    assert_eq!(code(&mixed), 1, "{}", why(&mixed));
    assert!(mixed.stdout.is_empty());
}
