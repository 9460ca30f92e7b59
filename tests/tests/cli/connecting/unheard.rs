//! Verdicts that no harness hears: stdout is closed, full, a pipe that nobody reads, or leads nowhere.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::User;

/// Redirections of the hook's output. Without one, it is a pipe that is closed before the hook writes.
const PLACES: [&str; 6] = [">&-", ">/dev/full", ">/dev/null", ">/dev/zero", "1</dev/null", ""];

fn input(dialect: &str, command: &str, call: &str) -> Value {
    let (event, session, tool) = match dialect {
        "gemini" => ("BeforeTool", "session_id", "run_shell_command"),
        "cursor" => ("preToolUse", "conversation_id", "Shell"),
        _ => ("PreToolUse", "session_id", "Bash"),
    };
    json!({"hook_event_name": event, session: format!("s-{call}"), "cwd": "/", "tool_name": tool,
        "tool_input": {"command": command}, "tool_use_id": call})
}

/// Runs a hook as a shell of a harness does, and returns its exit code.
fn exit_code(user: &User, dialect: &str, place: &str, input: &Value) -> Option<i32> {
    let script = format!("exec \"$0\" hook {dialect} --connection \"$1\" --gate --enforce {place}");
    let of_user = user.command_at(&user.url(), &[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).arg(of_user.get_program()).arg(user.connection("claude"));
    shell.envs(of_user.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut hook = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(hook.stdout.take());
    hook.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    hook.wait().unwrap().code()
}

#[test]
fn a_verdict_that_nobody_hears_blocks_the_call_unless_silence_is_the_same_allow() {
    let user = User::new();
    user.done(&["connect", "claude", "--enforce", "--wait", "0"]);
    let rule = |id: &str, pattern: &str, action: &str| json!({"id": id, "match": {"context": pattern}, "action": action, "reason": "for a test", "trust": "ignore"});
    let policy = json!({"rules": [rule("yes", "git status", "allow"), rule("no", "git push", "deny")]});
    let file = user.folder.path().join("policy.json");
    std::fs::write(&file, policy.to_string()).unwrap();
    user.done(&["policy", "publish", file.to_str().unwrap(), "--activate"]);
    for (number, dialect) in ["claude", "codex", "gemini", "cursor"].into_iter().enumerate() {
        for (at, place) in PLACES.iter().enumerate() {
            let call = |word: &str, command: &str| input(dialect, command, &format!("{word}{number}{at}"));
            let denied = exit_code(&user, dialect, place, &call("no", "git push"));
            assert_eq!(denied, Some(2), "{dialect} {place}");
            // What Cursor does without an answer, no test shows.
            let expected = if dialect == "cursor" { 2 } else { 0 };
            let allowed = exit_code(&user, dialect, place, &call("yes", "git status"));
            assert_eq!(allowed, Some(expected), "{dialect} {place}");
        }
    }
}
