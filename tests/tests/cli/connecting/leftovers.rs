//! Remnants of commands that were ended, and settings with which hooks do not run.

use std::fs;

use serde_json::Value;

use super::{User, code, said};

#[test]
fn a_token_that_could_not_be_revoked_is_named_and_revoked_later() {
    let mut user = User::new();
    user.done(&["connect", "claude", "--enforce"]);
    let [principal] = user.holders().try_into().unwrap();
    user.service.terminate().unwrap();
    let done = user.done(&["disconnect", "claude"]);
    assert!(done.contains("not revoked") && !user.connection("claude").exists(), "{done}");
    let named = |arguments: &[&str]| {
        let faults = user.faults(arguments);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(
            faults[0].1.contains(&principal) && faults[0].2 == "bitacora disconnect claude",
            "{faults:?}"
        );
    };
    named(&[]);
    named(&["claude"]);
    assert_eq!(code(&user.run(&["disconnect", "claude"])), 1, "the service is away");
    user.service = user.place.start_closed().unwrap();
    let done = user.done(&["disconnect", "claude"]);
    assert!(done.contains(&principal) && user.holders().is_empty(), "{done}");
    assert_eq!((user.faults(&[]), code(&user.run(&["disconnect", "claude"]))), (Vec::new(), 1));

    // The next connect revokes it as well, and one that was killed after it had replaced a token.
    user.done(&["connect", "claude"]);
    let connected = fs::read(user.connection("claude")).unwrap();
    let [replaced] = user.holders().try_into().unwrap();
    user.service.terminate().unwrap();
    user.done(&["disconnect", "claude"]);
    user.service = user.place.start_closed().unwrap();
    user.done(&["connect", "claude"]);
    let holders = user.holders();
    assert!(holders.len() == 1 && !holders.contains(&replaced), "{holders:?}");
    assert_eq!(user.faults(&[]), []);
    fs::write(user.connection("claude"), connected).unwrap();
    user.done(&["connect", "claude", "--agent", "other"]);
    let notes = fs::read_dir(user.connection("claude").parent().unwrap()).unwrap();
    let notes =
        notes.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "pending"));
    assert_eq!(notes.count(), 0);
}

#[test]
fn a_note_of_another_ledger_is_kept_and_named_with_the_command_that_revokes_it() {
    let user = User::new();
    user.done(&["connect", "claude"]);
    let note = serde_json::json!({"principal": "p-elsewhere", "answerKey": "00".repeat(32), "url": "http://127.0.0.1:9", "ledger": "other"});
    fs::write(user.connection("claude").with_extension("0a.pending"), note.to_string()).unwrap();
    user.done(&["connect", "claude"]);
    let faults = user.faults(&["claude"]);
    let command = "`bitacora token revoke p-elsewhere` where its ledger is served, then remove ";
    let place = user.connection("claude").with_extension("0a.pending");
    assert!(faults.len() == 1 && faults[0].2 == format!("{command}{}", place.display()), "{faults:?}");
}

#[test]
fn a_damaged_connection_ends_enforcing_only_where_that_is_said() {
    let user = User::new();
    user.done(&["connect", "claude", "--enforce"]);
    let (settings, mode) = (fs::read(user.settings()).unwrap(), user.mode());
    fs::write(user.connection("claude"), "{").unwrap();
    let refused = user.run(&["connect", "claude"]);
    assert_eq!(code(&refused), 2);
    assert!(said(&refused).contains("--enforce or --observe"), "{}", said(&refused));
    assert_eq!((fs::read(user.settings()).unwrap(), user.mode()), (settings, mode));
    user.done(&["connect", "claude", "--enforce"]);
    let connection: Value = serde_json::from_slice(&fs::read(user.connection("claude")).unwrap()).unwrap();
    assert_eq!(connection["enforce"], true);
    // The mode outlives the connection, and is said.
    let done = user.done(&["disconnect", "claude"]);
    assert!(done.contains("bitacora mode observe --agent claude-code"), "{done}");
}

#[test]
fn what_may_keep_hooks_from_running_is_refused_to_enforce_and_told_to_observe() {
    let user = User::new();
    let project = user.folder.path().canonicalize().unwrap().join("project");
    fs::create_dir(&project).unwrap();
    let project = project.to_str().unwrap();
    for (settings, word) in [
        (r#"{"disableAllHooks":true}"#, "disableAllHooks"),
        (r#"{"env":{"CLAUDE_CODE_SIMPLE":"1"}}"#, "CLAUDE_CODE_SIMPLE"),
    ] {
        fs::write(user.settings(), settings).unwrap();
        let refused = user.run(&["connect", "claude", "--enforce", "--project", project]);
        assert_eq!(code(&refused), 1, "{settings}");
        assert!(said(&refused).contains(word) && said(&refused).contains("--observe"), "{}", said(&refused));
        let observed = user.done(&["connect", "claude", "--project", project]);
        assert!(observed.contains("warning") && observed.contains(word), "{observed}");
        user.done(&["disconnect", "claude", "--project", project]);
    }
    fs::write(user.settings(), r#"{"zzz":1}"#).unwrap();
    let refused = user.run(&["connect", "claude", "--enforce"]);
    assert!(code(&refused) == 1 && said(&refused).contains("`zzz`"), "{}", said(&refused));
    let observed = user.done(&["connect", "claude"]);
    assert!(observed.contains("warning") && observed.contains("`zzz`"), "{observed}");
    assert_eq!(user.faults(&["claude"]), []);
    assert!(user.run(&["doctor", "claude", "--wide"]).stdout.windows(7).any(|word| word == b"warning"));
    fs::write(user.settings(), "{}").unwrap();
    user.done(&["connect", "claude", "--enforce"]);
    user.change(|settings| settings["language"] = 7.into());
    let faults = user.faults(&["claude"]);
    assert!(faults.len() == 1 && faults[0].1.contains("`language` is not a text"), "{faults:?}");
    assert!(faults[0].2.contains("take `language` out"), "{faults:?}");
}

#[test]
fn files_that_name_the_holder_of_another_token_revoke_nothing() {
    let user = User::new();
    user.done(&["connect", "claude"]);
    let created =
        user.done(&["token", "create", "--role", "operator", "--name", "hooks of claude", "--json"]);
    let operator: Value = serde_json::from_str(&created).unwrap();
    let file = user.connection("claude");
    let mut connection: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let note = serde_json::json!({"principal": operator["principal"], "answerKey": connection["answerKey"]});
    fs::write(file.with_extension("0a.pending"), note.to_string()).unwrap();
    user.done(&["connect", "claude"]);
    assert_eq!(user.holders().len(), 2);
    connection["principal"] = operator["principal"].clone();
    fs::write(&file, connection.to_string()).unwrap();
    let done = user.done(&["disconnect", "claude"]);
    assert!(done.contains("is no holder that `connect` made for claude"), "{done}");
    assert_eq!(user.holders().len(), 2);
}
