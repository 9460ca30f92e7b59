//! The form of settings that a harness certainly reads as we do.
//!
//! Each harness has a parser of its own. Where it takes another member than we do, or none of the file, our hooks stand in the
//! file and never run. So only a form is taken that its parser was seen to read: Claude Code reads no hook of a file with a
//! comment or with one hook of a wrong form, Codex of a file with an unknown member, and each reads the last of two members of
//! one name, or none.

use std::collections::BTreeSet;

use jsonc_parser::cst::{CstNode, CstRootNode};
use serde_json::{Map, Value};

use crate::dialect::Dialect;
use crate::settings::{SettingsError, other_kind, parse};

/// The mark with which some editors begin a file.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// Members of Claude Code's settings by their path, and their kinds. It ignores a file in which one is of another kind.
const CLAUDE_MEMBERS: [(&str, SettingKind); 38] = [
    ("$schema", SettingKind::Text),
    ("agent", SettingKind::Text),
    ("allowedHttpHookUrls", SettingKind::Texts),
    ("alwaysThinkingEnabled", SettingKind::Bool),
    ("apiKeyHelper", SettingKind::Text),
    ("attribution", SettingKind::Object),
    ("autoUpdatesChannel", SettingKind::OneOf(&["latest", "stable"])),
    ("availableModels", SettingKind::Texts),
    ("awsCredentialExport", SettingKind::Text),
    ("claudeMdExcludes", SettingKind::Texts),
    ("cleanupPeriodDays", SettingKind::Count),
    ("companyAnnouncements", SettingKind::Texts),
    ("disableAllHooks", SettingKind::Bool),
    ("enableAllProjectMcpServers", SettingKind::Bool),
    ("enabledMcpjsonServers", SettingKind::Texts),
    ("enabledPlugins", SettingKind::Object),
    ("env", SettingKind::Object),
    ("extraKnownMarketplaces", SettingKind::Object),
    ("fileSuggestion", SettingKind::Object),
    ("includeCoAuthoredBy", SettingKind::Bool),
    ("language", SettingKind::Text),
    ("minimumVersion", SettingKind::Text),
    ("model", SettingKind::Text),
    ("modelOverrides", SettingKind::Object),
    ("outputStyle", SettingKind::Text),
    ("permissions", SettingKind::Object),
    ("permissions/additionalDirectories", SettingKind::Texts),
    ("permissions/allow", SettingKind::Texts),
    ("permissions/ask", SettingKind::Texts),
    (
        "permissions/defaultMode",
        SettingKind::OneOf(&["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]),
    ),
    ("permissions/deny", SettingKind::Texts),
    ("permissions/disableBypassPermissionsMode", SettingKind::OneOf(&["disable"])),
    ("plansDirectory", SettingKind::Text),
    ("respectGitignore", SettingKind::Bool),
    ("sandbox", SettingKind::Object),
    ("sandbox/enabled", SettingKind::Bool),
    ("statusLine", SettingKind::Object),
    ("statusLine/type", SettingKind::OneOf(&["command"])),
];
/// Members that Claude Code wants in an object of its settings, if the object is there.
const CLAUDE_NEEDED: [(&str, &str, SettingKind); 2] =
    [("statusLine", "type", SettingKind::Text), ("statusLine", "command", SettingKind::Text)];
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
    ("allowedEnvVars", SettingKind::Texts),
    ("args", SettingKind::Texts),
    ("async", SettingKind::Bool),
    ("asyncRewake", SettingKind::Bool),
    ("commandWindows", SettingKind::Text),
    ("command_windows", SettingKind::Text),
    ("continueOnBlock", SettingKind::Bool),
    ("headers", SettingKind::TextMap),
    ("if", SettingKind::Text),
    ("input", SettingKind::Object),
    ("model", SettingKind::Text),
    ("once", SettingKind::Bool),
    ("rewakeMessage", SettingKind::Text),
    ("shell", SettingKind::OneOf(&["bash", "powershell"])),
    ("statusMessage", SettingKind::Text),
];

/// A kind of JSON value.
#[derive(Clone, Copy)]
enum SettingKind {
    Object,
    /// An object of texts.
    TextMap,
    Text,
    Texts,
    OneOf(&'static [&'static str]),
    Bool,
    /// A whole number from 0.
    Count,
}

impl SettingKind {
    fn is_of(self, value: &Value) -> bool {
        match self {
            Self::Object => value.is_object(),
            Self::TextMap => value.as_object().is_some_and(|members| members.values().all(Value::is_string)),
            Self::Text => value.is_string(),
            Self::Texts => value.as_array().is_some_and(|elements| elements.iter().all(Value::is_string)),
            Self::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Bool => value.is_boolean(),
            Self::Count => value.is_u64(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::TextMap => "object of texts",
            Self::Text => "text",
            Self::Texts => "array of texts",
            Self::OneOf(_) => "known word",
            Self::Bool => "`true` or `false`",
            Self::Count => "whole number",
        }
    }
}

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
    let Value::Object(members) = value else { return Err(other_kind("the file", "object")) };
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
    if dialect == Dialect::Claude {
        check_claude(members)?;
    }
    if dialect == Dialect::Codex && members.get("description").is_some_and(|value| !value.is_string()) {
        return Err(other_kind("description", "text"));
    }
    let Some(hooks) = members.get("hooks") else { return Ok(()) };
    let hooks = hooks.as_object().ok_or_else(|| other_kind("hooks", "object"))?;
    for (event, list) in hooks {
        let list = list.as_array().ok_or_else(|| other_kind(event, "array"))?;
        for entry in list {
            check_entry(dialect, event, entry)?;
        }
    }
    Ok(())
}

fn check_claude(members: &Map<String, Value>) -> Result<(), SettingsError> {
    for (path, kind) in CLAUDE_MEMBERS {
        let (name, inner) = path.split_once('/').map_or((path, None), |(name, inner)| (name, Some(inner)));
        let value = members.get(name);
        let value = inner.map_or(value, |inner| value.and_then(|value| value.get(inner)));
        if value.is_some_and(|value| !kind.is_of(value)) {
            return Err(other_kind(path, kind.name()));
        }
    }
    for (name, inner, kind) in CLAUDE_NEEDED {
        let is_there = |value: &Value| value.get(inner).is_some_and(|value| kind.is_of(value));
        if members.get(name).is_some_and(|value| !is_there(value)) {
            return Err(other_kind(&format!("{name}/{inner}"), kind.name()));
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
    let entry = entry.as_object().ok_or_else(|| other_kind(&place, "object"))?;
    if entry.get("matcher").is_some_and(|matcher| !matcher.is_string()) {
        return Err(other_kind(&format!("{place}.matcher"), "text"));
    }
    let hooks = entry.get("hooks").and_then(Value::as_array);
    for hook in hooks.ok_or_else(|| other_kind(&format!("{place}.hooks"), "array"))? {
        check_hook(dialect, &format!("{place}.hooks[]"), hook)?;
    }
    Ok(())
}

fn check_hook(dialect: Dialect, place: &str, hook: &Value) -> Result<(), SettingsError> {
    let of_type = hook.get("type").and_then(Value::as_str);
    let http = (dialect == Dialect::Claude).then_some(&HTTP);
    let known = TYPES.iter().chain(http).find(|(name, _)| of_type == Some(name));
    let (_, needed) = known.ok_or_else(|| other_kind(&format!("{place}.type"), "known type of hook"))?;
    for member in *needed {
        if !hook.get(member).is_some_and(Value::is_string) {
            return Err(other_kind(&format!("{place}.{member}"), "text"));
        }
    }
    for (member, kind) in HOOK_MEMBERS {
        if hook.get(member).is_some_and(|value| !kind.is_of(value)) {
            return Err(other_kind(&format!("{place}.{member}"), kind.name()));
        }
    }
    let is_web = |url: &str| url.starts_with("http://") || url.starts_with("https://");
    if hook.get("url").is_some_and(|url| !url.as_str().is_some_and(is_web)) {
        return Err(other_kind(&format!("{place}.url"), "address of the web"));
    }
    match hook.get("timeout") {
        Some(timeout) if timeout.as_u64().is_none_or(|seconds| seconds == 0) => {
            Err(other_kind(&format!("{place}.timeout"), "whole number above 0"))
        }
        _ => Ok(()),
    }
}
