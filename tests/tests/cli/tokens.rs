//! `token`: made and shown once, sent by every command, and of no use once revoked.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use bitacora_tests::service::ServiceFolder;
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
    assert!(log.contains("has no tokens"), "{log}");
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
    serve.args(["--listen", "0.0.0.0:0", "--create", "main", "--keyring"]).arg(place.keyring());
    let refused = serve.output().unwrap();
    let said = String::from_utf8(refused.stderr.clone()).unwrap();
    assert!(code(&refused) == 2 && said.contains("a ledger has no tokens"), "{said}");
}
