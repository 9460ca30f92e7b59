//! The form of settings that a harness certainly reads as we do.
//!
//! Each harness has a parser of its own. Where it takes another member than we do, or none of the file, our hooks stand in the
//! file and never run. So only a form is taken that its parser was seen to read: Claude Code reads no hook of a file with a
//! comment or with one hook of a wrong form, Codex of a file with an unknown member, and each reads the last of two members of
//! one name, or none. The other members of Claude Code's settings have a table of their own.

use std::collections::BTreeSet;

use jsonc_parser::cst::{CstNode, CstRootNode};
use serde_json::{Map, Value};

use crate::dialect::Dialect;
use crate::setting_kind::SettingKind;
use crate::settings::{SettingsError, other_kind, parse};

/// The mark with which some editors begin a file.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// Members of Codex's file of hooks. It ignores a file with another one.
const CODEX_MEMBERS: [&str; 2] = ["description", "hooks"];
/// Types of hooks, and the members without which a harness takes none of them.
const TYPES: [(&str, &[&str]); 4] = [
    ("command", &["command"]),
    ("prompt", &["prompt"]),
    ("agent", &["prompt"]),
    ("mcp_tool", &["server", "tool"]),
];
/// The type of hook that Claude Code alone takes.
const HTTP: (&str, &[&str]) = ("http", &["url"]);
/// Members of hooks, and their kinds.
const HOOK_MEMBERS: [(&str, SettingKind); 15] = [
    ("allowedEnvVars", SettingKind::List(&SettingKind::Text)),
    ("args", SettingKind::List(&SettingKind::Text)),
    ("async", SettingKind::Bool),
    ("asyncRewake", SettingKind::Bool),
    ("commandWindows", SettingKind::Text),
    ("command_windows", SettingKind::Text),
    ("continueOnBlock", SettingKind::Bool),
    ("headers", SettingKind::Map(&SettingKind::Text)),
    ("if", SettingKind::Text),
    ("input", SettingKind::AnyObject),
    ("model", SettingKind::Text),
    ("once", SettingKind::Bool),
    ("rewakeMessage", SettingKind::FullText),
    ("shell", SettingKind::Word(&["bash", "powershell"])),
    ("statusMessage", SettingKind::Text),
];

/// Reads settings, if their harness certainly reads the same.
pub(crate) fn read_strictly(dialect: Dialect, settings: &str) -> Result<Map<String, Value>, SettingsError> {
    if settings.starts_with(BYTE_ORDER_MARK) {
        return Err(SettingsError::ByteOrderMark(dialect.program()));
    }
    // Faults that no JSON has are told first.
    let root = parse(settings)?;
    if settings.trim().is_empty() {
        return Ok(Map::new());
    }
    let bare = without_comments(settings);
    if bare != settings && dialect != Dialect::Gemini {
        return Err(SettingsError::Comment(dialect.program()));
    }
    let value: Value = serde_json::from_str(&bare)
        .map_err(|error| SettingsError::OtherJson(dialect.program(), error.to_string()))?;
    if let Some(member) = repeated_member(&root) {
        return Err(SettingsError::Repeated(dialect.program(), member));
    }
    let Value::Object(members) = value else { return Err(other_kind("the file", "an object")) };
    check_members(dialect, &members)?;
    Ok(members)
}

/// Replaces comments by blanks. Strings stay.
fn without_comments(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => {
                bare.push(c);
                let mut is_escaped = false;
                for c in rest.by_ref() {
                    bare.push(c);
                    if c == '"' && !is_escaped {
                        break;
                    }
                    is_escaped = c == '\\' && !is_escaped;
                }
            }
            ('/', Some('/')) => {
                bare.push(' ');
                while rest.next_if(|c| !matches!(c, '\n' | '\r')).is_some() {}
            }
            ('/', Some('*')) => {
                bare.push(' ');
                let mut last = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            _ => bare.push(c),
        }
    }
    bare
}

/// Returns the name of a member that stands twice in one object.
fn repeated_member(root: &CstRootNode) -> Option<String> {
    let mut waiting: Vec<CstNode> = root.value().into_iter().collect();
    while let Some(node) = waiting.pop() {
        if let Some(object) = node.as_object() {
            let mut names = BTreeSet::new();
            for member in object.properties() {
                let name = member.decoded_name().unwrap_or_default();
                waiting.extend(member.value());
                if !names.insert(name.clone()) {
                    return Some(name);
                }
            }
        }
        waiting.extend(node.as_array().into_iter().flat_map(|list| list.elements()));
    }
    None
}

fn check_members(dialect: Dialect, members: &Map<String, Value>) -> Result<(), SettingsError> {
    if dialect == Dialect::Codex
        && let Some(name) = members.keys().find(|name| !CODEX_MEMBERS.contains(&name.as_str()))
    {
        return Err(SettingsError::Unknown(dialect.program(), name.clone()));
    }
    if dialect == Dialect::Codex && members.get("description").is_some_and(|value| !value.is_string()) {
        return Err(other_kind("description", "a text"));
    }
    let Some(hooks) = members.get("hooks") else { return Ok(()) };
    let hooks = hooks.as_object().ok_or_else(|| other_kind("hooks", "an object"))?;
    for (event, list) in hooks {
        let list = list.as_array().ok_or_else(|| other_kind(event, "an array"))?;
        for entry in list {
            check_entry(dialect, event, entry)?;
        }
    }
    Ok(())
}

fn check_entry(dialect: Dialect, event: &str, entry: &Value) -> Result<(), SettingsError> {
    // Gemini CLI leaves out a hook that it does not understand, and Cursor's entries are no groups.
    if matches!(dialect, Dialect::Gemini | Dialect::Cursor) {
        return Ok(());
    }
    let place = format!("hooks.{event}[]");
    let entry = entry.as_object().ok_or_else(|| other_kind(&place, "an object"))?;
    if entry.get("matcher").is_some_and(|matcher| !matcher.is_string()) {
        return Err(other_kind(&format!("{place}.matcher"), "a text"));
    }
    let hooks = entry.get("hooks").and_then(Value::as_array);
    for hook in hooks.ok_or_else(|| other_kind(&format!("{place}.hooks"), "an array"))? {
        check_hook(dialect, &format!("{place}.hooks[]"), hook)?;
    }
    Ok(())
}

fn check_hook(dialect: Dialect, place: &str, hook: &Value) -> Result<(), SettingsError> {
    let of_type = hook.get("type").and_then(Value::as_str);
    let http = (dialect == Dialect::Claude).then_some(&HTTP);
    let known = TYPES.iter().chain(http).find(|(name, _)| of_type == Some(name));
    let (_, needed) = known.ok_or_else(|| other_kind(&format!("{place}.type"), "a known type of hook"))?;
    for member in *needed {
        if !hook.get(member).is_some_and(Value::is_string) {
            return Err(other_kind(&format!("{place}.{member}"), "a text"));
        }
    }
    for (member, kind) in HOOK_MEMBERS {
        let found = hook.get(member).map(|value| kind.unlisted(&format!("{place}.{member}"), value));
        if let Some(fault) = found.into_iter().flatten().next() {
            return Err(other_kind(&fault.path, &fault.expected.unwrap_or_default()));
        }
    }
    let is_web = |url: &str| url.starts_with("http://") || url.starts_with("https://");
    if hook.get("url").is_some_and(|url| !url.as_str().is_some_and(is_web)) {
        return Err(other_kind(&format!("{place}.url"), "an address of the web"));
    }
    match hook.get("timeout") {
        Some(timeout) if timeout.as_u64().is_none_or(|seconds| seconds == 0) => {
            Err(other_kind(&format!("{place}.timeout"), "a whole number above 0"))
        }
        _ => Ok(()),
    }
}
