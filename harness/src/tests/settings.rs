//! Settings that a harness reads otherwise than we do are refused, and hooks that it would not run are told apart.
//!
//! The expectations were seen on Claude Code 2.1.197, Codex 0.169 and Gemini CLI 0.61: a hook that touches a file, in settings
//! of each form.

use serde_json::Value;

use super::entry;
use crate::{Dialect, SettingsDifference, SettingsError, has_hooks, without_hooks};

const GROUP: &str = r#"{"matcher":"Bash","hooks":[{"type":"command","command":"./own.sh"}]}"#;

fn refused(dialect: Dialect, settings: &str) -> SettingsError {
    match dialect.with_hooks(settings, &entry(true)) {
        Err(error) => error,
        Ok(written) => panic!("{dialect} took {settings}: {written}"),
    }
}

#[test]
fn a_member_that_stands_twice_is_refused_wherever_it_stands() {
    for dialect in Dialect::ALL {
        for settings in [
            r#"{"hooks":{},"hooks":{}}"#,
            r#"{"hooks":{},"ho\u006fks":{}}"#,
            r#"{"hooks":{"PreToolUse":[],"PreToolUse":[]}}"#,
            r#"{"hooks":{"Stop":[{"hooks":[],"hooks":[]}]}}"#,
        ] {
            let error = refused(dialect, settings);
            assert!(matches!(error, SettingsError::Repeated(..)), "{dialect} {settings}: {error}");
        }
    }
}

#[test]
fn comments_are_taken_by_gemini_alone_and_trailing_commas_by_none() {
    for settings in ["{// c\n\"hooks\":{}}", "{/* c */\"hooks\":{}}", "/* \" */{\"hooks\":{}}"] {
        Dialect::Gemini.with_hooks(settings, &entry(true)).unwrap();
        for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Cursor] {
            assert!(matches!(refused(dialect, settings), SettingsError::Comment(_)), "{dialect} {settings}");
        }
    }
    for dialect in Dialect::ALL {
        assert!(matches!(refused(dialect, r#"{"hooks":{},}"#), SettingsError::OtherJson(..)));
        assert!(matches!(refused(dialect, r#"{"hooks":{"Stop":[],}}"#), SettingsError::OtherJson(..)));
    }
    // No comment, but a text.
    Dialect::Claude.with_hooks(r#"{"model":"\"// b /* c"}"#, &entry(true)).unwrap();
}

#[test]
fn a_byte_order_mark_is_taken_by_none() {
    for dialect in Dialect::ALL {
        let error = refused(dialect, "\u{feff}{\"hooks\":{}}");
        assert!(matches!(error, SettingsError::ByteOrderMark(_)), "{dialect}: {error}");
    }
}

#[test]
fn settings_of_which_claude_code_reads_no_hook_are_refused() {
    for settings in [
        r#"{"permissions":"x"}"#,
        r#"{"model":7}"#,
        r#"{"$schema":7}"#,
        r#"{"hooks":{"Stop":[null]}}"#,
        r#"{"hooks":{"Stop":["x"]}}"#,
        r#"{"hooks":{"Stop":[{}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":{}}]}}"#,
        r#"{"hooks":{"Stop":[{"matcher":7,"hooks":[]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"command":"true"}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"zzz"}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command"}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true","timeout":0}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true","async":"x"}]}]}}"#,
        r#"{"disableAllHooks":true}"#,
        r#"{"disableAllHooks":"true"}"#,
        r#"{"env":{"CLAUDE_CODE_SIMPLE":"1"}}"#,
        r#"{"env":{"CLAUDE_CONFIG_DIR":"/tmp"}}"#,
        r#"{"env":{"CLAUDE_CODE_SAFE_MODE":"1"}}"#,
        r#"{"env":{"CLAUDE_CODE_SHELL_PREFIX":"/bin/true"}}"#,
        r#"{"permissions":{"allow":"Bash"}}"#,
        r#"{"permissions":{"allow":[1]}}"#,
        r#"{"permissions":{"defaultMode":"nonsense"}}"#,
        r#"{"permissions":{"disableBypassPermissionsMode":true}}"#,
        r#"{"statusLine":{}}"#,
        r#"{"statusLine":{"type":"x","command":"true"}}"#,
        r#"{"cleanupPeriodDays":-1}"#,
        r#"{"cleanupPeriodDays":0}"#,
        r#"{"cleanupPeriodDays":9007199254740992}"#,
        r#"{"env":{"ANTHROPIC_MODEL":"a\u0000b"}}"#,
        r#"{"extraKnownMarketplaces":{"x":{"source":{"source":"url","url":"http://"}}}}"#,
        r#"{"extraKnownMarketplaces":{"x":{"source":{"source":"url","url":"https://a b"}}}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"https://["}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://999.1.1.1/"}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true","rewakeMessage":""}]}]}}"#,
        r#"{"sandbox":{"enabled":"x"}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true","shell":"zsh"}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true","args":"x"}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://h/","headers":{"a":1}}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"not a url"}]}]}}"#,
    ] {
        refused(Dialect::Claude, settings);
    }
    for settings in [
        r#"{"permissions":{"allow":["Bash(ls:*)"]},"hooks":{"Notification":[]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://127.0.0.1:1/"}]}]}}"#,
        r#"{"disableAllHooks":false}"#,
        r#"{"statusLine":{"type":"command","command":"true","padding":0},"env":{"DISABLE_TELEMETRY":"1"},"cleanupPeriodDays":20}"#,
        r#"{"permissions":{"deny":["Read(./.env)"],"defaultMode":"plan"},"model":"opus"}"#,
    ] {
        Dialect::Claude.with_hooks(settings, &entry(true)).unwrap();
    }
}

/// Each was seen to keep Claude Code from running the hooks, or is not known to let it.
const UNLISTED: [(&str, &str); 13] = [
    (
        r#"{"sandbox":{"credentials":{"files":[{"path":"","mode":"deny"}]}}}"#,
        "sandbox.credentials.files[].path",
    ),
    (r#"{"zzz":7}"#, "zzz"),
    (r#"{"language":7}"#, "language"),
    (r#"{"sandbox":{"zzz":true}}"#, "sandbox.zzz"),
    (r#"{"sandbox":{"network":{"allowedDomains":[7]}}}"#, "sandbox.network.allowedDomains[]"),
    (r#"{"spinnerVerbs":{"verbs":["x"]}}"#, "spinnerVerbs.mode"),
    (r#"{"statusLine":{"type":"command"}}"#, "statusLine.command"),
    (r#"{"env":{"ZZZ":"1"}}"#, "env.ZZZ"),
    (r#"{"env":{"DISABLE_TELEMETRY":1}}"#, "env.DISABLE_TELEMETRY"),
    (r#"{"enabledPlugins":{"__proto__":true}}"#, "enabledPlugins.__proto__"),
    (r#"{"allowManagedHooksOnly":true}"#, "allowManagedHooksOnly"),
    (r#"{"hooks":{"Foo":[]}}"#, "hooks.Foo"),
    (r#"{"hooks":{"Stop":[{"zzz":7,"hooks":[]}]}}"#, "hooks.Stop[].zzz"),
];

#[test]
fn to_enforce_each_member_of_claude_codes_settings_has_to_be_listed() {
    for (settings, path) in UNLISTED {
        let error = refused(Dialect::Claude, settings);
        let SettingsError::Unlisted(member, _) = &error else { panic!("{settings}: {error}") };
        assert_eq!(member.path, path);
        assert!(error.to_string().contains("--observe"), "{error}");
        // To observe, they are told.
        let observed = Dialect::Claude.with_hooks(settings, &entry(false)).unwrap();
        assert_eq!(Dialect::Claude.differences(&observed, &entry(false)).unwrap(), []);
        assert_eq!(Dialect::Claude.unlisted(&observed).unwrap(), std::slice::from_ref(member));
        // Beside the file with the hooks, a value of another kind has its own file ignored alone.
        let beside = Dialect::Claude.switched_off(settings, &entry(true).marker, true).unwrap();
        assert_eq!(beside.is_empty(), member.expected.is_some(), "{settings}");
        assert_eq!(Dialect::Claude.switched_off(settings, &entry(true).marker, false).unwrap(), []);
        let added = changed(Dialect::Claude, |all| {
            let more: Value = serde_json::from_str(settings).unwrap();
            for (name, value) in more.as_object().unwrap().iter().filter(|(name, _)| *name != "hooks") {
                all[name] = value.clone();
            }
        });
        assert_eq!(added.len(), usize::from(!settings.contains("hooks\"")), "{settings}: {added:?}");
    }
}

#[test]
fn to_enforce_an_entry_with_which_gemini_runs_no_hook_is_refused() {
    for (settings, path) in [
        (r#"{"hooks":{"BeforeTool":[{"matcher":1,"hooks":[]}]}}"#, "hooks.BeforeTool[].matcher"),
        (r#"{"hooks":{"BeforeTool":[{"zzz":1,"hooks":[]}]}}"#, "hooks.BeforeTool[].zzz"),
        (r#"{"hooksConfig":{"zzz":1}}"#, "hooksConfig.zzz"),
    ] {
        let SettingsError::Unlisted(member, _) = refused(Dialect::Gemini, settings) else {
            panic!("{settings}")
        };
        assert_eq!(member.path, path);
        Dialect::Gemini.with_hooks(settings, &entry(false)).unwrap();
    }
    let settings = r#"{"zzz":1,"model":7,"hooks":{"BeforeTool":[{"matcher":"x","sequential":true,"hooks":[{"type":"command","command":"x","name":"y"}]}]}}"#;
    Dialect::Gemini.with_hooks(settings, &entry(true)).unwrap();
}

#[test]
fn a_file_of_codex_with_another_member_is_refused() {
    assert!(matches!(refused(Dialect::Codex, r#"{"version":1}"#), SettingsError::Unknown(..)));
    refused(
        Dialect::Codex,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://127.0.0.1:1/"}]}]}}"#,
    );
    Dialect::Codex.with_hooks(r#"{"description":"x","hooks":{}}"#, &entry(true)).unwrap();
}

#[test]
fn gemini_is_given_no_command_with_a_variable_and_no_settings_without_hooks() {
    let mut variable = entry(true);
    variable.gate_command = format!("'/a$b' gemini {}", variable.marker);
    assert!(matches!(Dialect::Gemini.with_hooks("{}", &variable), Err(SettingsError::Variable(_))));
    refused(Dialect::Gemini, r#"{"hooksConfig":{"enabled":false}}"#);
    let by_name = format!(r#"{{"hooksConfig":{{"disabled":["{}"]}}}}"#, entry(true).gate_command);
    refused(Dialect::Gemini, &by_name);
    Dialect::Gemini.with_hooks(r#"{"hooksConfig":{"disabled":["other"]}}"#, &entry(true)).unwrap();
}

fn changed(dialect: Dialect, change: impl Fn(&mut Value)) -> Vec<SettingsDifference> {
    let settings = dialect.with_hooks("{}", &entry(true)).unwrap();
    let mut settings: Value = serde_json::from_str(&settings).unwrap();
    change(&mut settings);
    dialect.differences(&settings.to_string(), &entry(true)).unwrap()
}

#[test]
fn what_differs_from_the_written_hooks_is_told() {
    for dialect in Dialect::ALL {
        assert_eq!(changed(dialect, |_| ()), []);
    }
    let gate = || "PreToolUse".to_owned();
    let removed =
        changed(Dialect::Claude, |all| drop(all["hooks"].as_object_mut().unwrap().remove("PreToolUse")));
    assert_eq!(removed, [SettingsDifference::Missing(gate())]);
    let off = changed(Dialect::Claude, |all| all["disableAllHooks"] = true.into());
    assert_eq!(off, [SettingsDifference::SwitchedOff("disableAllHooks".to_owned())]);
    let twice = changed(Dialect::Claude, |all| {
        let list = all["hooks"]["PreToolUse"].as_array_mut().unwrap();
        list.push(list[0].clone());
    });
    assert_eq!(twice, [SettingsDifference::Repeated(gate())]);
    for (member, value) in
        [("command", Value::from("/bin/true --connection /c/claude.json")), ("timeout", 1.into())]
    {
        let other =
            changed(Dialect::Claude, |all| all["hooks"]["PreToolUse"][0]["hooks"][0][member] = value.clone());
        assert_eq!(other, [SettingsDifference::Changed(gate())], "{member}");
    }
    let narrowed = changed(Dialect::Claude, |all| all["hooks"]["PreToolUse"][0]["matcher"] = "Edit".into());
    assert_eq!(narrowed, [SettingsDifference::Changed(gate())]);
    let elsewhere = changed(Dialect::Claude, |all| {
        let list = all["hooks"]["Stop"].clone();
        all["hooks"]["Notification"] = list;
    });
    assert_eq!(elsewhere, [SettingsDifference::Changed("Notification".to_owned())]);
    let open = changed(Dialect::Cursor, |all| {
        drop(all["hooks"]["preToolUse"][0].as_object_mut().unwrap().remove("failClosed"));
    });
    assert_eq!(open, [SettingsDifference::Changed("preToolUse".to_owned())]);
    // Hooks of others, in our group and beside it, are nobody's fault.
    let beside = changed(Dialect::Claude, |all| {
        let own: Value = serde_json::from_str(GROUP).unwrap();
        all["hooks"]["PreToolUse"][0]["hooks"].as_array_mut().unwrap().push(own["hooks"][0].clone());
        all["hooks"]["PreToolUse"].as_array_mut().unwrap().insert(0, own);
    });
    assert_eq!(beside, []);
}

#[test]
fn a_users_hook_in_our_group_stays_and_an_empty_group_of_ours_goes() {
    let settings = Dialect::Claude.with_hooks("{}", &entry(true)).unwrap();
    let mut settings: Value = serde_json::from_str(&settings).unwrap();
    let own: Value = serde_json::from_str(GROUP).unwrap();
    settings["hooks"]["PreToolUse"][0]["hooks"].as_array_mut().unwrap().push(own["hooks"][0].clone());
    settings["hooks"]["Stop"][0]["zzz"] = 7.into();
    settings["hooks"]["Notification"] = Value::Array(Vec::new());
    for text in [settings.to_string(), serde_json::to_string_pretty(&settings).unwrap()] {
        let left = without_hooks(&text, &entry(true).marker).unwrap();
        assert!(!has_hooks(&left, &entry(true).marker), "{left}");
        let left: Value = serde_json::from_str(&left).unwrap();
        assert_eq!(
            left,
            serde_json::json!({"hooks": {
                "PreToolUse": [{"matcher": ".*", "hooks": own["hooks"]}],
                "Stop": [{"hooks": [], "zzz": 7}],
                "Notification": [],
            }})
        );
    }
}

#[test]
fn a_connection_whose_name_begins_like_ours_is_another() {
    let other = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x --connection /c/claude.json.old"}]}]}}"#;
    assert!(!has_hooks(other, &entry(true).marker));
    assert_eq!(without_hooks(other, &entry(true).marker).unwrap(), other);
    let twice = r#"{"hooks":{},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x --connection /c/claude.json"}]}]}}"#;
    assert!(has_hooks(twice, &entry(true).marker));
    assert!(!without_hooks(twice, &entry(true).marker).unwrap().contains("Stop"));
}

#[test]
fn another_file_that_ends_the_connections_hooks_by_name_or_holds_one_is_told() {
    let marker = entry(true).marker;
    let command = entry(true).gate_command;
    for (dialect, settings) in [
        (Dialect::Gemini, serde_json::json!({"hooksConfig": {"disabled": [command]}})),
        (
            Dialect::Gemini,
            serde_json::json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}}),
        ),
        (
            Dialect::Claude,
            serde_json::json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command, "timeout": 1}]}]}}),
        ),
    ] {
        for enforce in [true, false] {
            let found = dialect.switched_off(&settings.to_string(), &marker, enforce).unwrap();
            assert_eq!(found.len(), 1, "{settings}: {found:?}");
            assert_eq!(
                dialect.switched_off(&settings.to_string(), "--connection /c/other.json", enforce).unwrap(),
                []
            );
        }
    }
}
