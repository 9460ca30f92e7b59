//! Spools and settings: what a thief, a full spool, a killed process and a user in between do to them.

mod impostors;
mod losses;
mod other_ids;
mod replacing;
mod traces;

use std::fs;
use std::io::Cursor;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use bitacora_client::Token;
use bitacora_harness::Dialect;
use tempfile::{TempDir, tempdir};

use crate::limits::MAX_SPOOL_FILES;
use crate::*;

const INPUT: &[u8] =
    br#"{"tool_input":{"command":"curl -H 'Authorization: Bearer sk-abcdefghijklmnopqrstuvwxyz123456'"}}"#;

fn token(bits: u8) -> Token {
    Token::of_bits(&[bits; 32])
}

fn spool(folder: &TempDir) -> Spool {
    Spool::of(folder.path(), &token(7))
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_spooled_input_comes_back_without_its_secrets_and_nobody_else_reads_it() {
    let folder = tempdir().unwrap();
    spool(&folder).keep("/v1/x", INPUT).unwrap();
    let [file] = files(&folder.path().join("spool")).try_into().unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let stored = fs::read(&file).unwrap();
    assert!(!String::from_utf8_lossy(&stored).contains("curl"), "it is encrypted");
    let read = spool(&folder).read(&file).unwrap();
    assert_eq!(read.path, "/v1/x");
    assert!(read.body.contains("curl") && !read.body.contains("sk-abc"), "{}", read.body);
    let other = Spool::of(folder.path(), &token(8));
    assert!(matches!(other.read(&file), Err(SpoolError::Foreign { .. })));
}

#[test]
fn a_spooled_file_that_was_changed_cut_or_renamed_is_foreign() {
    let folder = tempdir().unwrap();
    spool(&folder).keep("/v1/x", INPUT).unwrap();
    let [file] = files(&folder.path().join("spool")).try_into().unwrap();
    let stored = fs::read(&file).unwrap();
    for at in 0..stored.len() {
        let mut changed = stored.clone();
        changed[at] ^= 1;
        fs::write(&file, &changed).unwrap();
        assert!(matches!(spool(&folder).read(&file), Err(SpoolError::Foreign { .. })), "byte {at}");
        fs::write(&file, &stored[..at]).unwrap();
        assert!(matches!(spool(&folder).read(&file), Err(SpoolError::Foreign { .. })), "cut at {at}");
    }
    fs::write(&file, &stored).unwrap();
    let renamed = file.with_file_name("00000000000000000001-0.hook");
    fs::rename(&file, &renamed).unwrap();
    assert!(matches!(spool(&folder).read(&renamed), Err(SpoolError::Foreign { .. })));
}

#[test]
fn inputs_wait_in_the_order_of_writing_and_half_files_do_not_count() {
    let folder = tempdir().unwrap();
    for number in 0..5 {
        spool(&folder).keep(&format!("/{number}"), b"{}").unwrap();
    }
    fs::write(folder.path().join("spool/00000000000000000000-0.hook.new-1"), b"half").unwrap();
    let waiting = spool(&folder).waiting().unwrap();
    let paths: Vec<_> = waiting.iter().map(|file| spool(&folder).read(file).unwrap().path).collect();
    assert_eq!(paths, ["/0", "/1", "/2", "/3", "/4"]);
    assert_eq!(spool(&folder).counts().unwrap().files, 5);
}

#[test]
fn a_full_spool_takes_nothing() {
    let folder = tempdir().unwrap();
    fs::create_dir(folder.path().join("spool")).unwrap();
    for number in 0..MAX_SPOOL_FILES {
        fs::write(folder.path().join(format!("spool/{number:020}-0.hook")), b"").unwrap();
    }
    assert!(matches!(spool(&folder).keep("/x", b"{}"), Err(SpoolError::Full { files: MAX_SPOOL_FILES, .. })));
}

#[test]
fn the_documented_example_is_what_is_written_and_read() {
    let page = include_str!("../../docs/formats/spool.md");
    let example = page.split("```hex\n").nth(1).unwrap().split("```").next().unwrap();
    let digits: String = example.lines().filter_map(|line| line.split('#').next()).collect();
    let documented = hex::decode(digits.replace(' ', "")).unwrap_or_default();
    let (folder, name) = (tempdir().unwrap(), "00000000000000000001-0000000000000000.hook");
    let text = br#"{"path":"/v1","body":"{}"}"#;
    let sealed = spool(&folder).seal_under([0x11; 12], name, text).unwrap();
    assert_eq!(hex::encode(&sealed), hex::encode(&documented));
    fs::create_dir(folder.path().join("spool")).unwrap();
    fs::write(folder.path().join("spool").join(name), &documented).unwrap();
    let read = spool(&folder).read(&folder.path().join("spool").join(name)).unwrap();
    assert_eq!((read.path.as_str(), read.body.as_str()), ("/v1", "{}"));
}

/// A connection whose settings and file lie in a scratch folder.
fn connection(folder: &TempDir) -> Connection {
    Connection {
        form: Connection::form(),
        name: "claude".to_owned(),
        harness: "claude".to_owned(),
        settings: folder.path().join("settings.json"),
        original: None,
        written: String::new(),
        url: "http://127.0.0.1:1".to_owned(),
        ca_file: None,
        client_certificate: None,
        ledger: "main".to_owned(),
        token: token(7).reveal().to_owned(),
        answer_key: hex::encode([9; 32]),
        agent: "claude-code".to_owned(),
        principal: "p-1".to_owned(),
        enforce: true,
        wait_s: 0,
        state: folder.path().join("state"),
        connected: None,
    }
}

fn installed(folder: &TempDir) -> (Connection, std::path::PathBuf) {
    let file = folder.path().join("connections/claude.json");
    let program = HookProgram::Small("/usr/bin/bitacora-hook".into());
    (install(connection(folder), &file, Dialect::Claude, &program).unwrap(), file)
}

#[test]
fn connecting_twice_and_disconnecting_leaves_every_byte_as_it_was() {
    for before in [None, Some("{\n\t\"language\": \"x\"\n}"), Some("{\"hooks\": {}}\r\n"), Some("")] {
        let folder = tempdir().unwrap();
        let settings = folder.path().join("settings.json");
        if let Some(before) = before {
            fs::write(&settings, before).unwrap();
        }
        installed(&folder);
        let (connection, file) = installed(&folder);
        assert!(fs::read_to_string(&settings).unwrap().contains("--enforce || exit 2"));
        assert_eq!(uninstall(&connection, &file).unwrap(), Disconnected::Restored);
        assert_eq!(fs::read_to_string(&settings).ok().as_deref(), before);
        assert!(!file.exists());
    }
}

#[test]
fn settings_that_were_changed_since_keep_the_change() {
    let folder = tempdir().unwrap();
    let (connection, file) = installed(&folder);
    let settings = folder.path().join("settings.json");
    let changed = fs::read_to_string(&settings).unwrap().replacen('{', "{\"model\": \"opus\",", 1);
    fs::write(&settings, changed).unwrap();
    assert_eq!(uninstall(&connection, &file).unwrap(), Disconnected::EntriesRemoved);
    let left: serde_json::Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    assert_eq!(left, serde_json::json!({"model": "opus"}));
}

#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    let folder = tempdir().unwrap();
    let target = folder.path().join("dotfiles.json");
    fs::write(&target, "{}").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&target, folder.path().join("settings.json")).unwrap();
    let (connection, file) = installed(&folder);
    assert!(fs::read_to_string(&target).unwrap().contains("PreToolUse"));
    uninstall(&connection, &file).unwrap();
    assert!(fs::symlink_metadata(folder.path().join("settings.json")).unwrap().is_symlink());
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_to_string(&target).unwrap(), "{}");
}

#[test]
fn settings_that_cannot_be_changed_leave_no_connection() {
    let program = HookProgram::Small("/usr/bin/bitacora-hook".into());
    for fault in ["read-only", "not-json", "folder"] {
        let folder = tempdir().unwrap();
        let settings = folder.path().join("settings.json");
        match fault {
            "read-only" => {
                fs::write(&settings, "{}").unwrap();
                fs::set_permissions(&settings, fs::Permissions::from_mode(0o444)).unwrap();
            }
            "not-json" => fs::write(&settings, "{").unwrap(),
            _ => fs::create_dir(&settings).unwrap(),
        }
        let file = folder.path().join("connections/claude.json");
        let refused = install(connection(&folder), &file, Dialect::Claude, &program);
        assert!(refused.is_err(), "{fault}");
        assert!(!file.exists(), "{fault}");
    }
}

#[test]
fn a_connection_stays_where_its_settings_cannot_be_changed_again() {
    let folder = tempdir().unwrap();
    let (before, file) = installed(&folder);
    fs::set_permissions(&before.settings, fs::Permissions::from_mode(0o444)).unwrap();
    let program = HookProgram::Small("/elsewhere/bitacora-hook".into());
    assert!(install(connection(&folder), &file, Dialect::Claude, &program).is_err());
    assert_eq!(Connection::load(&file).unwrap().written, before.written);
    fs::set_permissions(&before.settings, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(uninstall(&before, &file).unwrap(), Disconnected::Restored);
}

#[test]
fn a_connection_that_others_may_read_or_that_is_none_is_refused() {
    let folder = tempdir().unwrap();
    let (_, file) = installed(&folder);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(Connection::load(&file), Err(ConnectionError::Exposed { mode: 0o644, .. })));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, "{}").unwrap();
    assert!(matches!(Connection::load(&file), Err(ConnectionError::Unreadable { .. })));
}

fn hook(arguments: &[&str], input: &[u8]) -> HookExit {
    let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
    run_hook(&arguments, Cursor::new(input.to_vec()), |_| None)
}

const BEFORE: &[u8] =
    br#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{},"tool_use_id":"t"}"#;
const AFTER: &[u8] =
    br#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{},"tool_use_id":"t"}"#;

#[test]
fn whatever_fails_blocks_a_call_in_enforce_and_lets_it_run_in_observe() {
    let folder = tempdir().unwrap();
    let (_, file) = installed(&folder);
    let file = file.to_str().unwrap();
    let faults: [(&[&str], &[u8]); 6] = [
        // Nobody listens at the service's address.
        (&["claude", "--connection", file], BEFORE),
        (&["claude", "--connection", file], b"not json"),
        (&["claude", "--connection", file], b""),
        (&["claude", "--connection", "/nowhere"], BEFORE),
        (&["emacs", "--connection", file], BEFORE),
        (&["claude"], BEFORE),
    ];
    for (arguments, input) in faults {
        let enforced = hook(&[arguments, &["--enforce"]].concat(), input);
        assert_eq!((enforced.code, enforced.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(enforced.stderr.to_lowercase().starts_with("bitacora"), "{}", enforced.stderr);
        let observed = hook(arguments, input);
        assert_eq!((observed.code, observed.stdout.as_str()), (0, "{}"), "{arguments:?}");
    }
}

#[test]
fn a_gate_lets_nothing_pass_that_is_no_call_it_knows() {
    let folder = tempdir().unwrap();
    let (_, file) = installed(&folder);
    let gate = ["claude", "--connection", file.to_str().unwrap(), "--gate"];
    for event in ["pretooluse", "PreToolUse ", "BeforeTool", "PermissionRequest", "PostToolUse", "Stop"] {
        let input = String::from_utf8_lossy(BEFORE).replace("PreToolUse", event);
        let enforced = hook(&[gate.as_slice(), &["--enforce"]].concat(), input.as_bytes());
        assert_eq!((enforced.code, enforced.stdout.as_str()), (2, ""), "{event}");
        assert_eq!(hook(&gate, input.as_bytes()).code, 0, "{event}");
    }
}

#[test]
fn only_the_hook_before_calls_is_a_gate_in_the_settings_of_every_harness() {
    let gates = ["PreToolUse", "BeforeTool", "preToolUse"];
    for dialect in Dialect::ALL {
        let folder = tempdir().unwrap();
        let file = folder.path().join("connections/c.json");
        let program = HookProgram::Small("/usr/bin/bitacora-hook".into());
        let connection = install(connection(&folder), &file, dialect, &program).unwrap();
        let settings: serde_json::Value = serde_json::from_str(&connection.written).unwrap();
        for (event, entries) in settings["hooks"].as_object().unwrap() {
            let is_gate = entries.to_string().contains("--gate --enforce || exit 2");
            assert_eq!(is_gate, gates.contains(&event.as_str()), "{dialect} {event}");
            assert!(is_gate || !entries.to_string().contains("exit 2"), "{dialect} {event}");
            assert!(is_gate || !entries.to_string().contains("--enforce"), "{dialect} {event}");
            // Gemini CLI runs a call whose gate was ended by a signal.
            let is_kept = entries.to_string().contains("trap '' HUP INT TERM; /usr/bin/bitacora-hook");
            assert_eq!(is_kept, is_gate && dialect == Dialect::Gemini, "{dialect} {event}");
        }
    }
}

#[test]
fn only_a_call_that_waits_is_blocked_and_the_rest_is_spooled() {
    let folder = tempdir().unwrap();
    let (connection, file) = installed(&folder);
    let exit = hook(&["claude", "--connection", file.to_str().unwrap(), "--enforce"], AFTER);
    assert_eq!(exit.code, 0, "{}", exit.stderr);
    let spool = Spool::of(&connection.state, &token(7));
    assert_eq!(spool.counts().unwrap().files, 1);
}

/// systemd's own reader is the oracle of the unit, where this machine has it.
#[test]
fn systemd_takes_the_unit_of_the_watch_whatever_its_program_is_called() {
    let folder = tempdir().unwrap();
    let home = folder.path().to_str().unwrap().to_owned();
    let variable = |name: &str| match name {
        "HOME" => Some(home.clone()),
        "CODEX_HOME" => Some("/home/ana/my \"100%\" \\codex $X".to_owned()),
        "CLAUDE_CONFIG_DIR" => Some("/home/ana/two\nlines".to_owned()),
        _ => None,
    };
    let unit = WatchUnit::of_user(variable).unwrap();
    let verify = |unit: &Path| {
        let mut command = Command::new("systemd-analyze");
        command.args(["verify", "--user", "--man=no", "--recursive-errors=no"]).arg(unit);
        command.env("XDG_RUNTIME_DIR", folder.path()).output()
    };
    for name in ["tools", "my tools", "100%h", "$HOME", "a\"b", "it's", "a\\b", "@a=b;c", "é`x`"] {
        let program = folder.path().join(name).join("bitacora");
        fs::create_dir(program.parent().unwrap()).unwrap();
        fs::copy("/bin/true", &program).unwrap();
        unit.write(&program, variable).unwrap();
        // A machine without systemd shows nothing.
        let Ok(told) = verify(unit.path()) else { return };
        let words = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.status.success() && !words.contains(WatchUnit::NAME), "{name}: {words}");
    }
    // A program that is not there is found by the same command.
    unit.write(Path::new("/nowhere/bitacora"), variable).unwrap();
    assert!(!verify(unit.path()).unwrap().status.success());
}

/// A shell is the oracle of the words by which it starts the program.
#[test]
fn a_shell_starts_the_program_that_systemd_does_not() {
    let folder = tempdir().unwrap();
    let program = folder.path().join("a\"b\\c$HOME'd");
    fs::write(&program, "#!/bin/sh\nprintf '%s %s\\n' \"$0\" \"$*\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let variable = |name: &str| (name == "HOME").then(|| folder.path().to_str().unwrap().to_owned());
    let unit = WatchUnit::of_user(variable).unwrap();
    unit.write(&program, variable).unwrap();
    let text = fs::read_to_string(unit.path()).unwrap();
    let started = text.lines().find_map(|line| line.strip_prefix("ExecStart=/bin/sh -c ")).unwrap();
    let (script, name) = started.split_once("watch\" ").unwrap();
    let plain =
        |word: &str| word.trim_matches('"').replace("\\\"", "\"").replace("\\\\", "\\").replace("$$", "$");
    let started =
        Command::new("/bin/sh").arg("-c").arg(plain(&format!("{script}watch"))).arg(plain(name)).output();
    assert_eq!(String::from_utf8(started.unwrap().stdout).unwrap(), format!("{} watch\n", program.display()));
}

#[test]
fn the_unit_of_the_watch_is_written_and_only_an_unchanged_one_removed() {
    let folder = tempdir().unwrap();
    let home = folder.path().to_str().unwrap().to_owned();
    let variable = |name: &str| match name {
        "HOME" => Some(home.clone()),
        "CODEX_HOME" => Some("/home/ana/my \"100%\" codex".to_owned()),
        _ => None,
    };
    let unit = WatchUnit::of_user(variable).unwrap();
    assert!(!unit.remove().unwrap());
    let program = Path::new("/opt/my tools/bitacora");
    unit.write(program, variable).unwrap();
    unit.write(program, variable).unwrap();
    let text = fs::read_to_string(unit.path()).unwrap();
    assert!(text.contains("ExecStart=\"/opt/my tools/bitacora\" watch\n"), "{text}");
    assert!(text.contains(r#"Environment="CODEX_HOME=/home/ana/my \"100%%\" codex""#), "{text}");
    let wants = folder.path().join(".config/systemd/user/default.target.wants");
    fs::create_dir(&wants).unwrap();
    symlink(unit.path(), wants.join(WatchUnit::NAME)).unwrap();
    symlink("/elsewhere.service", wants.join("other.service")).unwrap();
    assert!(unit.remove().unwrap());
    assert!(!unit.path().exists());
    assert_eq!(fs::read_dir(&wants).unwrap().count(), 1, "another's link stays");
    fs::write(unit.path(), text.replace("Restart=on-failure", "Restart=always")).unwrap();
    assert!(matches!(unit.remove(), Err(WatchUnitError::Foreign { .. })));
    assert!(matches!(unit.write(program, variable), Err(WatchUnitError::Foreign { .. })));
    assert!(fs::read_to_string(unit.path()).unwrap().contains("Restart=always"));
}
