//! `connect`, `doctor` and `disconnect`: what is refused leaves nothing, what is broken is told with its remedy, and what is
//! taken out is ours alone.

mod answering_relay;
mod leftovers;
mod relay;
mod services;
mod telling;
mod unheard;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::relay::Relay;
use crate::sample::{code, command};

/// A user with a service, an installed program with its hook program, and nothing connected.
struct User {
    folder: TempDir,
    /// The programs: a link to the one under test, and a hook program that says its version.
    programs: TempDir,
    place: ServiceFolder,
    service: ServiceProcess,
}

impl User {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = ServiceFolder::new(crate::PROGRAM, folder.path());
        let service = place.start_closed().unwrap();
        // On the file system of the program, where it can be linked.
        let programs = TempDir::new_in(Path::new(crate::PROGRAM).parent().unwrap()).unwrap();
        fs::hard_link(crate::PROGRAM, programs.path().join("bitacora")).unwrap();
        let user = Self { folder, programs, place, service };
        fs::create_dir_all(user.home().join(".claude")).unwrap();
        user.program("bitacora-hook", &format!("echo bitacora-hook {}", env!("CARGO_PKG_VERSION")));
        user.program("claude", "echo 2.1.197");
        user
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.programs.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn settings(&self) -> PathBuf {
        self.home().join(".claude/settings.json")
    }

    fn connection(&self, name: &str) -> PathBuf {
        self.home().join(format!(".config/bitacora/connections/{name}.json"))
    }

    fn written(&self) -> Value {
        serde_json::from_slice(&fs::read(self.settings()).unwrap()).unwrap()
    }

    fn change(&self, change: impl FnOnce(&mut Value)) {
        let mut settings = self.written();
        change(&mut settings);
        fs::write(self.settings(), settings.to_string()).unwrap();
    }

    fn url(&self) -> String {
        format!("http://{}", self.service.address)
    }

    fn command_at(&self, url: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.programs.path().join("bitacora"));
        // The variables of the one that tests use.
        for (name, value) in self::command(&[]).get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("HOME", self.home()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        command.env_remove("CLAUDE_CONFIG_DIR").env_remove("BITACORA_CONNECT_HOME");
        command.env("PATH", format!("{}:{}", self.programs.path().display(), std::env::var("PATH").unwrap()));
        command.env("BITACORA_URL", url);
        command.env("BITACORA_TOKEN", fs::read_to_string(self.place.admin_token()).unwrap().trim());
        command.args(arguments).stdin(Stdio::null()).current_dir(self.folder.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command_at(&self.url(), arguments).output().unwrap()
    }

    fn done(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert_eq!(code(&done), 0, "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// The ids of the holders of hooks' tokens.
    fn holders(&self) -> Vec<String> {
        let listed: Value = serde_json::from_str(&self.done(&["token", "list", "--json"])).unwrap();
        let all = listed["principals"].as_array().unwrap().iter();
        let of_hooks =
            all.filter(|holder| holder["name"].as_str().is_some_and(|name| name.starts_with("hooks of")));
        of_hooks.map(|holder| holder["principal"].as_str().unwrap().to_owned()).collect()
    }

    fn mode(&self) -> Value {
        serde_json::from_str(&self.done(&["mode", "--json"])).unwrap()
    }

    /// The failed checks, with their remedies.
    fn faults(&self, arguments: &[&str]) -> Vec<(String, String, String)> {
        let doctor = self.run(&[&["doctor", "--json"], arguments].concat());
        let findings: Value = serde_json::from_slice(&doctor.stdout).unwrap();
        let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let faults: Vec<_> =
            findings.as_array().unwrap().iter().filter(|finding| finding["ok"] == false).collect();
        assert_eq!(code(&doctor), i32::from(!faults.is_empty()), "{findings}");
        let told =
            faults.iter().map(|fault| (text(fault, "check"), text(fault, "found"), text(fault, "remedy")));
        // Nothing was asked of this agent yet.
        told.filter(|(check, ..)| check != "events").collect()
    }

    /// Asks the gate about a call, as the hook does.
    fn hook(&self, call: &str) {
        let file = self.connection("claude");
        let arguments = ["hook", "claude", "--connection", file.to_str().unwrap()];
        let mut hook = self.command_at(&self.url(), &arguments);
        let mut hook =
            hook.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let input = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash",
            "tool_input": {"command": "ls"}, "tool_use_id": call});
        std::io::Write::write_all(&mut hook.stdin.take().unwrap(), input.to_string().as_bytes()).unwrap();
        assert!(hook.wait().unwrap().success());
    }
}

/// The failure in a command's words, with the ledger that was asked, where a variable names it.
fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn settings_that_claude_code_reads_otherwise_are_refused_and_nothing_is_changed() {
    let user = User::new();
    let mode = user.mode();
    for (settings, part) in [
        (r#"{"hooks":{},"model":"x","hooks":{"PreToolUse":[]}}"#, "twice"),
        (r#"{"hooks":{"PreToolUse":[],"PreToolUse":[]}}"#, "twice"),
        ("{\n // mine\n \"model\": \"opus\"\n}\n", "comment"),
        (r#"{"model":"opus",}"#, "does not read"),
        (r#"{"hooks":{"PreToolUse":["x"]}}"#, "not an object"),
        (r#"{"disableAllHooks":true}"#, "switches hooks off"),
        ("{", "not JSON"),
    ] {
        fs::write(user.settings(), settings).unwrap();
        let refused = user.run(&["connect", "claude", "--enforce"]);
        assert_eq!(code(&refused), 1, "{settings}");
        assert!(said(&refused).contains(part), "{settings}: {}", said(&refused));
        assert_eq!(fs::read_to_string(user.settings()).unwrap(), settings);
        assert!(!user.connection("claude").exists());
        assert_eq!(fs::read_dir(user.home().join(".claude")).unwrap().count(), 1);
    }
    assert_eq!((user.holders(), user.mode()), (Vec::new(), mode));
}

#[test]
fn doctor_tells_a_gate_that_is_broken_and_its_words_mend_it() {
    let user = User::new();
    let connect = ["--url", &user.url(), "connect", "claude", "--agent", "a b", "--wait", "7s", "--enforce"];
    user.done(&connect);
    assert_eq!(user.faults(&["claude"]), []);
    let again = format!("bitacora --url '{}' connect claude --agent 'a b' --wait 7s --enforce", user.url());
    let told = |part: &str, remedy: &str| {
        let faults = user.faults(&["claude"]);
        let found = faults.iter().find(|(_, found, _)| found.contains(part));
        let found = found.unwrap_or_else(|| panic!("{part} in {faults:?}"));
        assert!(found.2.contains(remedy), "{faults:?}");
    };
    let mend = || {
        user.done(&connect);
        assert_eq!(user.faults(&["claude"]), []);
    };
    user.change(|settings| drop(settings["hooks"].as_object_mut().unwrap().remove("PreToolUse")));
    told("no hook for PreToolUse", &again);
    mend();
    user.change(|settings| {
        let command = &mut settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"];
        *command = command.as_str().unwrap().replace(" || exit 2", "").into();
    });
    told("the hook for PreToolUse was changed", &again);
    mend();
    user.change(|settings| settings["disableAllHooks"] = true.into());
    told("`disableAllHooks` switches hooks off", "take `disableAllHooks` out of");
    user.change(|settings| drop(settings.as_object_mut().unwrap().remove("disableAllHooks")));
    assert_eq!(user.faults(&["claude"]), []);
    // Settings of the project where it is asked count too.
    fs::create_dir(user.folder.path().join(".claude")).unwrap();
    let local = user.folder.path().join(".claude/settings.local.json");
    fs::write(&local, r#"{"disableAllHooks":true}"#).unwrap();
    told("settings.local.json: `disableAllHooks` switches hooks off", "take `disableAllHooks` out of");
    fs::remove_file(&local).unwrap();
    let hook = user.programs.path().join("bitacora-hook");
    let bytes = fs::read(&hook).unwrap();
    fs::remove_file(&hook).unwrap();
    told("no file is there", "install bitacora again");
    for script in ["", "echo other 1", "echo bitacora-hook 0.0.1"] {
        user.program("bitacora-hook", script);
        told("bitacora-hook: ", "install bitacora again");
    }
    fs::write(&hook, bytes).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    told("may be run", "install bitacora again");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(user.faults(&["claude"]), []);
}

#[test]
fn a_token_that_was_revoked_is_replaced_and_its_spool_is_kept() {
    let mut user = User::new();
    user.done(&["connect", "claude"]);
    let [revoked] = user.holders().try_into().unwrap();
    user.service.terminate().unwrap();
    user.hook("spooled");
    user.service = user.place.start_closed().unwrap();
    user.done(&["connect", "claude"]);
    assert_eq!(user.holders(), [revoked.as_str()], "another address of the ledger needs no other token");
    user.done(&["token", "revoke", &revoked]);
    let faults = user.faults(&["claude"]);
    let (_, found, remedy) = faults.iter().find(|(check, ..)| check == "token").unwrap();
    assert!(found.contains("not taken") && remedy.ends_with("connect claude"), "{faults:?}");
    let said = user.done(&["connect", "claude"]);
    assert!(said.contains("1 events wait, now for the new token"), "{said}");
    assert!(!said.contains("not revoked"), "{said}");
    let [new] = user.holders().try_into().unwrap();
    assert_ne!(new, revoked);
    user.hook("next");
    let read = user.done(&["read", "--type", "tool.requested", "--json"]);
    assert!(read.contains("spooled") && read.contains("next"), "{read}");
    assert_eq!(user.faults(&["claude"]), []);
}

#[test]
fn the_token_of_a_changed_agent_is_revoked() {
    let user = User::new();
    user.done(&["connect", "claude", "--agent", "one"]);
    let [one] = user.holders().try_into().unwrap();
    let said = user.done(&["connect", "claude", "--agent", "two"]);
    assert!(said.contains("the one before was revoked"), "{said}");
    let [two] = user.holders().try_into().unwrap();
    assert_ne!(one, two);
}

#[test]
fn the_note_of_a_connect_that_was_killed_has_its_token_revoked() {
    let user = User::new();
    user.done(&["connect", "claude"]);
    let [principal] = user.holders().try_into().unwrap();
    let connection: Value = serde_json::from_slice(&fs::read(user.connection("claude")).unwrap()).unwrap();
    let note = json!({"principal": principal, "answerKey": connection["answerKey"]});
    // As if it had been killed before its connection was written.
    fs::remove_file(user.connection("claude")).unwrap();
    fs::remove_file(user.settings()).unwrap();
    fs::write(user.connection("claude").with_extension("pending"), note.to_string()).unwrap();
    user.done(&["connect", "claude"]);
    let [next] = user.holders().try_into().unwrap();
    assert_ne!(next, principal);
    assert!(!user.connection("claude").with_extension("pending").exists());
    // One that was killed before its token was made, too.
    let note = json!({"principal": "p-0123456789abcdef", "answerKey": connection["answerKey"]});
    fs::write(user.connection("claude").with_extension("pending"), note.to_string()).unwrap();
    assert!(user.faults(&["claude"]).iter().any(|(_, found, _)| found.contains("p-0123456789abcdef")));
    user.done(&["connect", "claude"]);
    assert_eq!((user.holders(), user.faults(&["claude"])), (vec![next], Vec::new()));
}

#[test]
fn connects_at_once_leave_one_connection_with_one_token() {
    let user = User::new();
    fs::write(user.settings(), "{\"verbose\":true}").unwrap();
    let agents: Vec<String> = (0..4).map(|number| format!("agent-{number}")).collect();
    let connects: Vec<_> = agents
        .iter()
        .map(|agent| {
            let mut connect = user.command_at(&user.url(), &["connect", "claude", "--agent", agent]);
            connect.stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut connect in connects {
        assert!(connect.wait().unwrap().success());
    }
    assert_eq!(user.written()["hooks"]["PreToolUse"].as_array().unwrap().len(), 1);
    assert_eq!(user.holders().len(), 1);
    user.done(&["disconnect", "claude"]);
    assert_eq!(fs::read_to_string(user.settings()).unwrap(), "{\"verbose\":true}");
    assert_eq!(user.holders(), Vec::<String>::new());
}

#[test]
fn disconnecting_leaves_a_users_own_hook_in_our_group() {
    let user = User::new();
    user.done(&["connect", "claude", "--enforce"]);
    let own = json!({"type": "command", "command": "/usr/local/bin/my-own-check"});
    user.change(|settings| {
        settings["hooks"]["PreToolUse"][0]["hooks"].as_array_mut().unwrap().push(own.clone());
    });
    assert_eq!(user.faults(&["claude"]), []);
    user.done(&["disconnect", "claude"]);
    assert_eq!(user.written(), json!({"hooks": {"PreToolUse": [{"matcher": ".*", "hooks": [own]}]}}));
}

#[test]
fn disconnecting_loses_no_spooled_event_unless_it_is_told_to() {
    let mut user = User::new();
    user.done(&["connect", "claude"]);
    user.service.terminate().unwrap();
    user.hook("kept");
    let spool = user.home().join(".local/state/bitacora/claude/spool");
    fs::write(spool.join("00000000000000000001-0.hook"), "foreign").unwrap();
    let refused = user.run(&["disconnect", "claude"]);
    assert_eq!(code(&refused), 1);
    assert!(
        said(&refused).contains("1 events") && said(&refused).contains("--discard"),
        "{}",
        said(&refused)
    );
    assert!(user.connection("claude").exists());
    user.service = user.place.start_closed().unwrap();
    user.done(&["connect", "claude"]);
    let said = user.done(&["disconnect", "claude"]);
    assert!(said.contains("1 events delivered, 0 given up, 1 files of another token"), "{said}");
    assert!(user.done(&["read", "--type", "tool.requested", "--json"]).contains("kept"));
    user.done(&["connect", "claude"]);
    user.service.terminate().unwrap();
    user.hook("given up");
    let said = user.done(&["disconnect", "claude", "--discard"]);
    assert!(said.contains("0 events delivered, 1 given up"), "{said}");
    assert_eq!(
        fs::read_dir(&spool)
            .unwrap()
            .filter(|file| {
                file.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "hook")
            })
            .count(),
        1,
        "the foreign file stays"
    );
}

#[test]
fn a_damaged_connection_is_a_fault_of_its_own() {
    let user = User::new();
    user.done(&["connect", "claude"]);
    fs::write(user.connection("codex"), "{").unwrap();
    fs::set_permissions(user.connection("codex"), fs::Permissions::from_mode(0o600)).unwrap();
    let doctor = user.run(&["doctor", "--wide"]);
    let said = String::from_utf8(doctor.stdout.clone()).unwrap();
    assert_eq!(code(&doctor), 1);
    assert!(
        said.contains("codex") && said.contains("no connection") && said.contains("connect codex"),
        "{said}"
    );
    assert!(said.contains("claude") && said.contains("signed by the ledger"), "{said}");
    fs::set_permissions(user.connection("claude"), fs::Permissions::from_mode(0o644)).unwrap();
    let faults = user.faults(&["claude"]);
    assert!(faults[0].1.contains("permissions 644"), "{faults:?}");
    // Its token may be known to others: connecting again makes another one.
    let [exposed] = user.holders().try_into().unwrap();
    fs::remove_file(user.connection("codex")).unwrap();
    user.done(&["connect", "claude"]);
    assert_ne!(user.holders(), [exposed]);
    assert_eq!(user.faults(&[]), []);
}

#[test]
fn connections_that_contradict_each_other_are_refused() {
    let user = User::new();
    let project = user.folder.path().join("project");
    fs::create_dir(&project).unwrap();
    let project = project.to_str().unwrap();
    user.done(&["connect", "claude"]);
    let holders = user.holders();
    let refused = user.run(&["connect", "claude", "--project", project, "--enforce", "--agent", "other"]);
    assert_eq!(code(&refused), 1);
    assert!(said(&refused).contains("disconnect claude"), "{}", said(&refused));
    assert!(!Path::new(project).join(".claude").exists());
    let refused = user.run(&["connect", "codex", "--agent", "claude-code", "--enforce"]);
    assert!(said(&refused).contains("observes"), "{}", said(&refused));
    assert_eq!(user.holders(), holders);
}

#[test]
fn the_mode_is_set_before_the_settings_to_enforce_and_after_them_to_observe() {
    let user = User::new();
    let relay = Relay::start(user.service.address, user.settings(), false);
    let run = |arguments: &[&str]| {
        let done = user.command_at(&relay.url(), arguments).output().unwrap();
        assert_eq!(code(&done), 0, "{}", String::from_utf8_lossy(&done.stderr));
        relay.seen()
    };
    let seen = run(&["connect", "claude", "--enforce"]);
    assert_eq!(seen, [None], "no settings yet");
    let seen = run(&["connect", "claude", "--observe"]);
    let settings = seen[0].clone().unwrap();
    assert!(settings.contains("PreToolUse") && !settings.contains("--enforce"), "{settings}");
}

#[test]
fn connecting_again_keeps_what_the_command_line_does_not_say() {
    let user = User::new();
    user.done(&["connect", "claude", "--enforce", "--wait", "7s", "--agent", "one"]);
    let read = || -> Value { serde_json::from_slice(&fs::read(user.connection("claude")).unwrap()).unwrap() };
    let kept = |read: &Value| (read["enforce"].clone(), read["waitS"].clone(), read["agent"].clone());
    let before = kept(&read());
    assert_eq!(before, (true.into(), 7.into(), "one".into()));
    assert!(user.done(&["connect", "claude"]).contains("enforce: denied calls are blocked"));
    assert_eq!(kept(&read()), before);
    user.done(&["connect", "claude", "--observe", "--wait", "8s"]);
    assert_eq!(kept(&read()), (false.into(), 8.into(), "one".into()));
    assert_eq!(code(&user.run(&["connect", "claude", "--observe", "--enforce"])), 2);
}

#[test]
fn a_connect_that_fails_at_the_mode_leaves_nothing_changed() {
    let user = User::new();
    let relay = Relay::start(user.service.address, user.settings(), true);
    for arguments in [["connect", "claude"].as_slice(), &["connect", "claude", "--enforce"]] {
        let failed = user.command_at(&relay.url(), arguments).output().unwrap();
        assert_ne!(code(&failed), 0);
        assert!(said(&failed).contains("refused by the relay"), "{}", said(&failed));
        assert!(!user.settings().exists() && !user.connection("claude").exists(), "{arguments:?}");
        assert_eq!(user.holders(), Vec::<String>::new());
    }
    // A connection that is there stays as it is.
    user.done(&["connect", "claude"]);
    let (settings, connection) = (user.written(), fs::read(user.connection("claude")).unwrap());
    let failed = user.command_at(&relay.url(), &["connect", "claude", "--enforce"]).output().unwrap();
    assert_ne!(code(&failed), 0);
    assert_eq!((user.written(), fs::read(user.connection("claude")).unwrap()), (settings, connection));
    assert_eq!(user.holders().len(), 1);
    assert_eq!(user.faults(&["claude"]), []);
}

#[test]
fn connecting_codex_says_that_its_hooks_have_to_be_trusted() {
    let user = User::new();
    let said = user.done(&["connect", "codex"]);
    assert!(said.contains("/hooks") && said.contains("trust"), "{said}");
    assert!(!user.done(&["connect", "claude"]).contains("trust"));
}
