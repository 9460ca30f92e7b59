//! `token`: made and shown once, sent by every command, and of no use once revoked.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use serde_json::Value;

use crate::sample::{Sample, code, command, told, why};

const CREATE_ADMIN: &[&str] = &["token", "create", "--role", "admin"];

/// Writes a token that was shown into a file.
fn keep(output: &Output, path: &Path) -> String {
    assert_eq!(code(output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    fs::write(path, &output.stdout).unwrap();
    String::from_utf8(output.stdout.clone()).unwrap().trim().to_owned()
}

fn listed(output: &Output) -> Vec<Value> {
    told(output)["principals"].as_array().unwrap().clone()
}

#[test]
fn through_the_service_a_token_opens_what_it_closes_for_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(crate::PROGRAM, folder.path());
    let log = folder.path().join("log");
    let mut service = place
        .start_with(|command| {
            command.env("RUST_LOG", "trace").stderr(fs::File::create(&log).unwrap());
        })
        .unwrap();
    let url = format!("http://{}", service.address);
    let run = |arguments: &[&str], token: Option<&Path>| {
        let mut command = command(arguments);
        command.args(["--url", &url]);
        if let Some(token) = token {
            command.arg("--token-file").arg(token);
        }
        command.stdin(Stdio::null()).output().unwrap()
    };
    let early = run(&["token", "create", "--role", "auditor"], None);
    assert_eq!((code(&early), why(&early).contains("first principal")), (3, true), "{}", why(&early));

    let (ana, eve) = (folder.path().join("ana"), folder.path().join("eve"));
    let admin = keep(&run(&[CREATE_ADMIN, &["--name", "ana"]].concat(), None), &ana);
    assert_eq!(admin.len(), 46);
    let auditor = ["token", "create", "--role", "auditor", "--expires", "1h", "--json"];
    let made = told(&run(&auditor, Some(&ana)));
    fs::write(&eve, made["token"].as_str().unwrap()).unwrap();

    let nobody = run(&["token", "list"], None);
    assert_eq!((code(&nobody), why(&nobody).contains("unauthorized")), (3, true), "{}", why(&nobody));
    for token in [&ana, &eve] {
        for arguments in [&["read", "--json"][..], &["token", "list", "--json"]] {
            assert_eq!(code(&run(arguments, Some(token))), 0, "{arguments:?}");
        }
    }
    let denied = run(CREATE_ADMIN, Some(&eve));
    assert_eq!((code(&denied), why(&denied).contains("forbidden")), (3, true), "{}", why(&denied));
    let by_variable =
        command(&["token", "list", "--json", "--url", &url]).env("BITACORA_TOKEN", &admin).output();
    let principals = listed(&by_variable.unwrap());
    assert_eq!(principals.len(), 2);
    let ana_listed = principals.iter().find(|listed| listed["role"] == "admin").unwrap();
    assert_eq!((&ana_listed["name"], &ana_listed["expired"]), (&"ana".into(), &false.into()));
    let principal = made["principal"].as_str().unwrap();
    assert!(
        principals.iter().any(|listed| listed["principal"] == principal && listed["actor"] == made["actor"])
    );

    assert_eq!(code(&run(&["token", "revoke", principal, "--note", "done"], Some(&ana))), 0);
    assert_eq!(code(&run(&["read", "--json"], Some(&eve))), 3);
    assert_eq!(listed(&run(&["token", "list", "--json"], Some(&ana))).len(), 1);
    let nobody = run(&["token", "revoke", "p-none"], Some(&ana));
    assert_eq!(code(&nobody), 1, "{}", why(&nobody));

    let everything = String::from_utf8(run(&["read", "--json"], Some(&ana)).stdout).unwrap();
    assert!(service.terminate().unwrap().success());
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("every user on this machine is admin of this ledger without a token"), "{log}");
    for text in [everything, log] {
        assert!(!text.contains(&admin) && !text.contains(made["token"].as_str().unwrap()));
    }
}

#[test]
fn in_a_folder_a_token_is_made_while_nobody_serves_it() {
    let sample = Sample::new(0);
    let early = sample.run(&["token", "create", "--role", "agent", "--agent", "coder"]);
    assert_eq!(code(&early), 3, "{}", why(&early));
    let token = sample.folder.path().join("token");
    keep(&sample.run(CREATE_ADMIN), &token);
    keep(&sample.run(&["token", "create", "--role", "agent", "--agent", "coder"]), &token);
    let principals = listed(&sample.run(&["token", "list", "--json"]));
    assert_eq!(principals.len(), 2);
    let id = principals.iter().find(|listed| listed["agent"] == "coder").unwrap()["principal"].clone();
    assert_eq!(code(&sample.run(&["token", "revoke", id.as_str().unwrap()])), 0);
    let principals = listed(&sample.run(&["token", "list", "--json"]));
    assert_eq!(principals.iter().map(|listed| &listed["role"]).collect::<Vec<_>>(), ["admin"]);
}

#[test]
fn what_is_no_token_is_never_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, "bt_short").unwrap();
    let url = "http://127.0.0.1:1";
    let wrong = command(&["read", "--url", url, "--token-file"]).arg(&file).output().unwrap();
    assert_eq!((code(&wrong), why(&wrong).contains("not a token")), (1, true), "{}", why(&wrong));
    assert!(!why(&wrong).contains("bt_short"));
    for role in [&["--role", "agent"][..], &["--role", "root"], &["--role", "admin", "--expires", "soon"]] {
        let wrong = command(&["token", "create"]).args(role).args(["--url", url]).output().unwrap();
        assert_eq!(code(&wrong), 2, "{role:?}");
    }
}

#[test]
fn the_service_is_not_reached_from_elsewhere_before_it_has_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(crate::PROGRAM, folder.path());
    let mut serve = place.command("serve");
    serve.args(["--open", "--listen", "0.0.0.0:0", "--create", "main", "--keyring"]).arg(place.keyring());
    let refused = serve.output().unwrap();
    let said = String::from_utf8(refused.stderr.clone()).unwrap();
    assert!(code(&refused) == 2 && said.contains("not a loopback address"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
}

/// A closed service, and commands beside it that know its address.
struct ClosedService {
    folder: tempfile::TempDir,
    place: ServiceFolder,
}

impl ClosedService {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = ServiceFolder::new(crate::PROGRAM, folder.path());
        Self { folder, place }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// A command that knows the service and no keyring, in the folder.
    fn command(&self, service: &ServiceProcess, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.args(["--url", &format!("http://{}", service.address)]).current_dir(self.folder.path());
        command
    }

    fn with_keyring(&self, service: &ServiceProcess, arguments: &[&str]) -> Output {
        self.command(service, arguments).arg("--keyring").arg(self.place.keyring()).output().unwrap()
    }
}

#[test]
fn a_first_start_makes_an_admin_token_that_commands_find() {
    let closed = ClosedService::new();
    let trace = |command: &mut Command| {
        command.env("RUST_LOG", "trace");
    };
    let mut service = closed.place.start_closed_with(trace).unwrap();
    let file = closed.place.admin_token();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
    assert!(!file.starts_with(closed.place.data()));
    let token = fs::read_to_string(&file).unwrap().trim().to_owned();
    let told = closed.log();
    let named: Vec<_> = told.lines().filter(|line| line.contains(file.to_str().unwrap())).collect();
    assert_eq!(named.len(), 1, "told in one line: {named:?}");

    assert_eq!(code(&closed.with_keyring(&service, &["calls"])), 0);
    let by_variable =
        closed.command(&service, &["calls"]).env("BITACORA_KEYRING", closed.place.keyring()).output();
    assert_eq!(code(&by_variable.unwrap()), 0);
    let by_name = closed.command(&service, &["calls"]).arg("--token-file").arg(&file).output().unwrap();
    assert_eq!(code(&by_name), 0);
    // Where the keyring has the name that the documents give it, its folder is enough, and so is the configuration folder.
    let nobody = closed.command(&service, &["calls"]).output().unwrap();
    assert_eq!((code(&nobody), why(&nobody).contains("beside the keyring")), (3, true), "{}", why(&nobody));
    let here = closed.folder.path().canonicalize().unwrap().join("bitacora.keyring.admin-token");
    for part in [here.to_str().unwrap(), "bitacora/keyring.admin-token", "--keyring"] {
        assert!(why(&nobody).contains(part), "{part} in {}", why(&nobody));
    }
    for (place, of_user) in [("bitacora.keyring.admin-token", false), ("bitacora/keyring.admin-token", true)]
    {
        let place = closed.folder.path().join(place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::rename(&file, &place).unwrap();
        let mut calls = closed.command(&service, &["calls"]);
        if of_user {
            calls.env("XDG_CONFIG_HOME", closed.folder.path());
        }
        let found = calls.output().unwrap();
        fs::rename(&place, &file).unwrap();
        assert_eq!(code(&found), 0, "{place:?}: {}", String::from_utf8_lossy(&found.stderr));
    }
    // A variable that is set to nothing asks for no token.
    let mut without = closed.command(&service, &["calls"]);
    let without = without.env("BITACORA_TOKEN", "").env("BITACORA_KEYRING", closed.place.keyring()).output();
    assert_eq!(code(&without.unwrap()), 3);

    let everything = closed.with_keyring(&service, &["read", "--json"]);
    assert!(service.terminate().unwrap().success());
    for text in [String::from_utf8(everything.stdout).unwrap(), closed.log()] {
        assert!(!text.contains(&token), "the token itself stands in the file alone");
    }
}

#[test]
fn an_admin_token_that_others_may_read_is_not_sent() {
    let closed = ClosedService::new();
    let service = closed.place.start_closed().unwrap();
    let file = closed.place.admin_token();
    for mode in [0o644, 0o640, 0o602] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let refused = closed.with_keyring(&service, &["calls"]);
        assert_eq!((code(&refused), why(&refused).contains("chmod 600")), (1, true), "{}", why(&refused));
        let named = closed.command(&service, &["calls"]).arg("--token-file").arg(&file).output().unwrap();
        assert_eq!((code(&named), why(&named).contains("chmod 600")), (1, true), "{}", why(&named));
    }
    drop(service);
    // Nor does a service take it for a ledger that has none.
    fs::remove_dir_all(closed.place.data()).unwrap();
    fs::remove_dir_all(closed.folder.path().join("keyring.anchors")).unwrap();
    let refused = closed.place.start_closed().unwrap_err().to_string();
    assert!(refused.contains("chmod 600"), "{refused}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let service = closed.place.start_closed().unwrap();
    assert_eq!(code(&closed.with_keyring(&service, &["calls"])), 0, "the same token opens the new ledger");
}

#[test]
fn an_agents_token_is_one_command_and_agents_never_use_the_admins() {
    let closed = ClosedService::new();
    let service = closed.place.start_closed().unwrap();
    let create = closed.command(&service, &["token", "create", "--role", "agent", "--agent", "coder"]);
    let file = closed.folder.path().join("coder.token");
    let create = { create }
        .arg("--keyring")
        .arg(closed.place.keyring())
        // As a shell makes it.
        .stdout(OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(&file).unwrap())
        .output()
        .unwrap();
    assert_eq!((code(&create), String::from_utf8_lossy(&create.stderr).as_ref()), (0, ""));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
    for asked in
        [&["decide", "--call", "c1", "--tool", "Read"][..], &["outcome", "--call", "c1", "--status", "ok"]]
    {
        let refused = closed.with_keyring(&service, asked);
        assert_eq!(code(&refused), 3, "{asked:?}");
        assert!(why(&refused).contains("agents never use the admin token"), "{}", why(&refused));
    }
    let decide = ["decide", "--call", "c1", "--tool", "Read", "--json"];
    let decided = told(&closed.command(&service, &decide).arg("--token-file").arg(&file).output().unwrap());
    assert_eq!(decided["reasonCode"], "tool-unknown");
    let mut by_variable = closed.command(&service, &decide);
    by_variable.env("BITACORA_TOKEN", fs::read_to_string(&file).unwrap());
    assert_eq!(told(&by_variable.output().unwrap())["reasonCode"], "tool-unknown");
    let calls = told(&closed.with_keyring(&service, &["calls", "--json"]));
    assert_eq!(calls["calls"][0]["agent"], "coder", "{calls}");
}

#[test]
fn a_ledger_that_was_open_is_closed_at_the_next_start_and_stays_so() {
    let closed = ClosedService::new();
    let mut service = closed.place.start().unwrap();
    assert_eq!(code(&closed.command(&service, &["calls"]).output().unwrap()), 0);
    assert!(service.terminate().unwrap().success());
    assert!(closed.log().contains("without a token, agents included"), "{}", closed.log());
    assert!(!closed.place.admin_token().exists());
    // Each time that it starts open it says so.
    assert!(closed.place.start().unwrap().terminate().unwrap().success());
    assert!(closed.log().contains("without a token, agents included"), "{}", closed.log());

    let mut service = closed.place.start_closed().unwrap();
    let first = fs::read(closed.place.admin_token()).unwrap();
    assert_eq!(code(&closed.command(&service, &["calls"]).output().unwrap()), 3);
    assert_eq!(code(&closed.with_keyring(&service, &["calls"])), 0);
    assert!(service.terminate().unwrap().success());
    let path = closed.place.admin_token();
    assert!(closed.log().contains(path.to_str().unwrap()), "{}", closed.log());

    // It has tokens from then on, for ever.
    let mut service = closed.place.start().unwrap();
    assert_eq!(code(&closed.command(&service, &["calls"]).output().unwrap()), 3);
    assert!(service.terminate().unwrap().success());
    assert!(closed.log().contains("none is opened by that"), "{}", closed.log());
    assert_eq!(fs::read(closed.place.admin_token()).unwrap(), first);
}

#[test]
fn whoever_lost_the_admin_token_makes_another_with_the_keyring() {
    let closed = ClosedService::new();
    closed.place.start_closed().unwrap().terminate().unwrap();
    let file = closed.place.admin_token();
    let lost = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let mut service = closed.place.start_closed().unwrap();
    assert!(!file.exists(), "a ledger that has tokens is given no other one by itself");
    let create = "token create --role admin --data ./data --keyring ./keyring > ./keyring.admin-token";
    let run = |command: &str| {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("{} {command}", crate::PROGRAM)).current_dir(closed.folder.path());
        shell.env_remove("BITACORA_URL").env_remove("BITACORA_TOKEN").output().unwrap()
    };
    let held = run(create);
    assert_eq!((code(&held), why(&held).contains("has this data folder")), (1, true), "{}", why(&held));
    assert!(service.terminate().unwrap().success());
    assert_eq!(code(&run(create)), 0);
    assert_ne!(fs::read_to_string(&file).unwrap(), lost);
    let service = closed.place.start_closed().unwrap();
    assert_eq!(code(&closed.with_keyring(&service, &["calls"])), 0);
}

#[test]
fn an_origin_that_is_none_is_a_usage_error() {
    for origin in ["*", "null", "console.example", "https://console.example/", "https://*.example"] {
        let refused = command(&["serve", "--allow-origin", origin]).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(code(&refused) == 2 && said.contains("not an origin"), "{origin}: {said}");
    }
}
