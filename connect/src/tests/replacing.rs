//! Connecting again and beside others: what is refused, and what is left after a failure.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Duration;

use bitacora_harness::Dialect;
use tempfile::tempdir;

use super::{connection, files, installed, spool, token};
use crate::*;

fn program() -> HookProgram {
    HookProgram::Small("/usr/bin/bitacora-hook".into())
}

fn credentials() -> Credentials {
    let (token, principal) = (token(9).reveal().to_owned(), "p-9".to_owned());
    Credentials { token, principal, answer_key: hex::encode([3; 32]) }
}

#[test]
fn what_is_prepared_changes_nothing_until_it_is_committed() {
    let folder = tempdir().unwrap();
    let mut new = connection(&folder);
    new.settings = folder.path().join(".claude/settings.json");
    let file = folder.path().join("connections/claude.json");
    drop(Preparation::of(new.clone(), &file, Dialect::Claude, &program()).unwrap());
    assert_eq!(files(folder.path()), Vec::<std::path::PathBuf>::new());
    let prepared = Preparation::of(new.clone(), &file, Dialect::Claude, &program()).unwrap();
    let written = prepared.commit(credentials()).unwrap();
    assert_eq!(Connection::load(&file).unwrap().principal, "p-9");
    written.undo().unwrap();
    assert!(!new.settings.exists() && !file.exists());
}

#[test]
fn settings_that_somebody_changes_meanwhile_are_left_to_him() {
    let folder = tempdir().unwrap();
    let (before, file) = installed(&folder);
    let prepared = Preparation::of(connection(&folder), &file, Dialect::Claude, &program()).unwrap();
    fs::write(&before.settings, "{}").unwrap();
    assert!(matches!(
        prepared.commit(credentials()),
        Err(InstallError::Settings(SettingsFileError::Meanwhile { .. }))
    ));
    assert_eq!(fs::read_to_string(&before.settings).unwrap(), "{}");
    assert_eq!(Connection::load(&file).unwrap().principal, before.principal);
    assert_eq!(files(folder.path()).len(), 2, "nothing lies beside");
}

#[test]
fn a_connect_that_is_taken_back_leaves_settings_and_connection_as_they_were() {
    let folder = tempdir().unwrap();
    let (before, file) = installed(&folder);
    let settings = fs::read_to_string(&before.settings).unwrap();
    let mut new = connection(&folder);
    (new.enforce, new.agent) = (false, "other".to_owned());
    let prepared = Preparation::of(new, &file, Dialect::Claude, &program()).unwrap();
    let written = prepared.commit(credentials()).unwrap();
    assert_ne!(fs::read_to_string(&before.settings).unwrap(), settings);
    written.undo().unwrap();
    assert_eq!(fs::read_to_string(&before.settings).unwrap(), settings);
    assert_eq!(Connection::load(&file).unwrap().agent, before.agent);
    assert_eq!(uninstall(&before, &file).unwrap(), Disconnected::Restored);
    assert!(!before.settings.exists());
}

#[test]
fn a_connection_that_others_may_read_is_replaced_and_its_earlier_bytes_are_kept() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("settings.json"), "{\"verbose\":true}").unwrap();
    let (_, file) = installed(&folder);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let (again, file) = installed(&folder);
    assert_eq!(again.original.as_deref(), Some("{\"verbose\":true}"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn connections_that_contradict_are_refused() {
    let folder = tempdir().unwrap();
    let places = Places::below(folder.path());
    let save = |name: &str, agent: &str, enforce: bool| {
        let mut other = connection(&folder);
        (other.name, other.agent, other.enforce) = (name.to_owned(), agent.to_owned(), enforce);
        other.settings = folder.path().join(name).join(".claude/settings.local.json");
        other.save(&places.connection(name)).unwrap();
    };
    let new = |name: &str, agent: &str, enforce: bool| {
        let mut new = connection(&folder);
        (new.name, new.agent, new.enforce) = (name.to_owned(), agent.to_owned(), enforce);
        refuse_conflict(&places, &new)
    };
    save("claude", "a", false);
    // The user's own is replaced; a project's would run beside it.
    new("claude", "b", true).unwrap();
    assert!(matches!(new("claude-1", "b", true), Err(ConflictError::Overlaps { .. })));
    fs::remove_file(places.connection("claude")).unwrap();
    save("claude-1", "a", false);
    let overlap = new("claude", "b", true).unwrap_err().to_string();
    assert!(overlap.contains("disconnect claude --project"), "{overlap}");
    assert!(matches!(new("claude-2", "a", true), Err(ConflictError::OtherMode { enforces: false, .. })));
    new("claude-2", "a", false).unwrap();
    new("claude-2", "b", true).unwrap();
    // The same agent of the same ledger through another harness.
    let mut codex = connection(&folder);
    (codex.name, codex.harness, codex.agent) = ("codex".to_owned(), "codex".to_owned(), "a".to_owned());
    assert!(matches!(refuse_conflict(&places, &codex), Err(ConflictError::OtherMode { .. })));
    codex.ledger = "other".to_owned();
    refuse_conflict(&places, &codex).unwrap();
    // One that cannot be read may contradict.
    fs::write(places.connection("claude-1"), "{").unwrap();
    assert!(matches!(new("claude-2", "b", true), Err(ConflictError::Unknown(_))));
    refuse_conflict(&places, &codex).unwrap();
}

#[test]
fn one_connect_waits_for_the_other() {
    let folder = tempdir().unwrap();
    let places = Places::below(folder.path());
    let lock = ConnectLock::take(&places).unwrap();
    let waits = thread::spawn({
        let places = places.clone();
        move || ConnectLock::take(&places).is_ok()
    });
    thread::sleep(Duration::from_millis(100));
    assert!(!waits.is_finished());
    drop(lock);
    assert!(waits.join().unwrap());
    assert_eq!(places.all_connections().unwrap(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_command_says_all_flags_of_its_connection() {
    let folder = tempdir().unwrap();
    let mut connection = connection(&folder);
    (connection.url, connection.wait_s) = ("http://127.0.0.1:7717".to_owned(), 300);
    let usual = ("http://127.0.0.1:7717", "main");
    assert_eq!(connection.connect_command(usual), "bitacora connect claude --enforce");
    connection.name = "claude-1234abcd".to_owned();
    connection.settings = "/home/ana/my work/.claude/settings.local.json".into();
    (connection.url, connection.ledger) = ("unix:/run/b".to_owned(), "other".to_owned());
    (connection.agent, connection.wait_s) = ("it's me".to_owned(), 7);
    assert_eq!(
        connection.connect_command(usual),
        r"bitacora --url 'unix:/run/b' --ledger other connect claude --project '/home/ana/my work' --agent 'it'\''s me' --wait 7s --enforce"
    );
    assert_eq!(
        connection.disconnect_command(usual),
        "bitacora --url 'unix:/run/b' --ledger other disconnect claude --project '/home/ana/my work'"
    );
}

#[test]
fn a_spool_is_handed_over_to_a_new_token_in_its_order() {
    let folder = tempdir().unwrap();
    for number in 0..3 {
        spool(&folder).keep(&format!("/{number}"), b"{}").unwrap();
    }
    let foreign = folder.path().join("spool/00000000000000000001-0.hook");
    fs::write(&foreign, b"foreign").unwrap();
    assert_eq!(spool(&folder).contents().unwrap(), SpoolContents { events: 3, unreadable: 1 });
    let next = Spool::of(folder.path(), &token(8));
    assert_eq!(spool(&folder).hand_over(&next).unwrap(), 3);
    assert_eq!(spool(&folder).contents().unwrap(), SpoolContents { events: 0, unreadable: 4 });
    let read: Vec<_> =
        next.waiting().unwrap().iter().filter_map(|path| Some(next.read(path).ok()?.path)).collect();
    assert_eq!(read, ["/0", "/1", "/2"]);
    assert_eq!(next.discard().unwrap(), 3);
    assert_eq!(next.contents().unwrap(), SpoolContents { events: 0, unreadable: 1 });
    assert!(foreign.exists());
}

#[test]
fn a_program_that_is_gone_hangs_or_says_nothing_has_no_version() {
    let folder = tempdir().unwrap();
    let program = folder.path().join("bitacora-hook");
    assert!(matches!(version_of(&program), Err(ProgramFault::Missing)));
    fs::write(&program, "#!/bin/sh\necho bitacora-hook 1.2.3\nyes | head -c 1000000\n").unwrap();
    assert!(matches!(version_of(&program), Err(ProgramFault::NotExecutable)));
    let script = |text: &str| {
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    };
    script("#!/bin/sh\n[ \"$1\" = --version ] && echo bitacora-hook 1.2.3\n");
    assert_eq!(version_of(&program).unwrap(), "bitacora-hook 1.2.3");
    script("#!/bin/sh\n");
    assert!(matches!(version_of(&program), Err(ProgramFault::Silent)));
    script("#!/bin/sh\necho bitacora-hook 1.2.3\nexit 1\n");
    assert!(matches!(version_of(&program), Err(ProgramFault::Silent)));
}

#[test]
fn a_note_of_a_token_is_read_again_and_forgotten() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("connections/claude.json");
    assert_eq!(PendingToken::all_of(&file), []);
    let note = |principal: &str| PendingToken {
        principal: principal.to_owned(),
        answer_key: hex::encode([3; 32]),
        url: "http://127.0.0.1:7717".to_owned(),
        ledger: "other".to_owned(),
        place: std::path::PathBuf::new(),
    };
    let (one, two, beside) = (note("p-1"), note("p-2"), note("p-3"));
    one.note(&file).unwrap();
    two.note(&file).unwrap();
    beside.note(&file.with_file_name("claude-0a.json")).unwrap();
    // One of an earlier version, which knew no place.
    let earlier = format!(r#"{{"principal":"p-0","answerKey":"{}"}}"#, one.answer_key);
    fs::write(file.with_extension("pending"), earlier).unwrap();
    let found: Vec<_> = PendingToken::all_of(&file).into_iter().map(|note| note.principal).collect();
    assert_eq!(found, ["p-0", "p-1", "p-2"]);
    assert_eq!(PendingToken::all(&Places::below(folder.path())).len(), 4);
    assert_eq!(one.revoke_advice(), "`bitacora token revoke p-1` where its ledger is served");
    // A note lies where its name was not made by us, and a pipe is none.
    fs::rename(&PendingToken::all_of(&file)[1].place, file.with_extension("x.pending")).unwrap();
    let pipe = file.with_extension("pipe.pending");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for note in PendingToken::all_of(&file) {
        PendingToken::forget(&file, &note.principal).unwrap();
        PendingToken::forget(&file, &note.principal).unwrap();
    }
    assert_eq!(PendingToken::all_of(&file), []);
}

#[test]
fn what_a_killed_process_left_beside_a_file_goes_and_what_is_others_stays() {
    let folder = tempdir().unwrap();
    let places = Places::below(folder.path());
    let (new, file) = installed(&folder);
    let settings_folder = new.settings.parent().unwrap();
    fs::create_dir_all(places.connections()).unwrap();
    let remnant = settings_folder.join("settings.json.bitacora-new-0123456789abcdef");
    let others = [
        settings_folder.join("settings.json.new-0123456789abcdef"),
        settings_folder.join("settings.json.bitacora-new-0123"),
        settings_folder.join("other.json.bitacora-new-0123456789abcdef"),
        places.connections().join("claude.json.new-x"),
    ];
    let own = places.connections().join("claude.json.new-0123456789abcdef");
    others.iter().chain([&remnant, &own]).for_each(|path| fs::write(path, "{").unwrap());
    drop(ConnectLock::take(&places).unwrap());
    drop(Preparation::of(new, &file, Dialect::Claude, &program()).unwrap());
    assert!(!remnant.exists() && !own.exists());
    assert!(others.iter().all(|path| path.exists()));
}

#[test]
fn a_link_to_settings_that_are_not_there_is_refused_and_stays() {
    let folder = tempdir().unwrap();
    let new = connection(&folder);
    std::os::unix::fs::symlink(folder.path().join("nowhere/settings.json"), &new.settings).unwrap();
    let file = folder.path().join("connections/claude.json");
    let refused = Preparation::of(new.clone(), &file, Dialect::Claude, &program()).map(|_| ());
    assert!(matches!(refused, Err(InstallError::Settings(SettingsFileError::DanglingLink { .. }))));
    assert!(new.settings.is_symlink() && !folder.path().join("nowhere").exists());
}

#[test]
fn settings_beside_the_connections_are_an_obstacle_to_enforcing_and_told_to_observe() {
    let folder = tempdir().unwrap();
    let (home, project) = (folder.path().join("home"), folder.path().join("project"));
    let user = home.join(".claude/settings.json");
    let shared = project.join(".claude/settings.json");
    let mut new = connection(&folder);
    let connected = std::path::Path::new("/c/claude-0a.json");
    (new.name, new.settings) = ("claude-0a".to_owned(), project.join(".claude/settings.local.json"));
    [&user, &shared].iter().for_each(|file| fs::create_dir_all(file.parent().unwrap()).unwrap());
    for (file, text, word) in [
        (&user, r#"{"disableAllHooks":true}"#, "disableAllHooks"),
        (&shared, r#"{"env":{"CLAUDE_CODE_SIMPLE":"1"}}"#, "CLAUDE_CODE_SIMPLE"),
        (&user, r#"{"zzz":true}"#, "zzz"),
        (&shared, "{", "not JSON"),
        (
            &shared,
            r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"hook claude --connection /c/claude-0a.json --gate","async":true}]}]}}"#,
            "a hook of this connection for PreToolUse",
        ),
    ] {
        fs::write(file, text).unwrap();
        new.enforce = true;
        let error =
            settings_obstacles(&new, connected, Dialect::Claude, (&home, &project)).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains(&*file.to_string_lossy()), "{error}");
        new.enforce = false;
        let told = settings_obstacles(&new, connected, Dialect::Claude, (&home, &project)).unwrap();
        assert!(told.len() == 1 && told[0].contains(word), "{told:?}");
        fs::remove_file(file).unwrap();
    }
    fs::write(&new.settings, r#"{"zzz":true}"#).unwrap();
    assert!(
        settings_obstacles(&new, connected, Dialect::Claude, (&home, &project)).unwrap()[0].contains("zzz")
    );
}
