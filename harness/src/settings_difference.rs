//! Differences between the hooks in settings and those that `connect` would write.

use std::fmt;

use serde_json::{Map, Value};

use crate::claude_settings::CLAUDE_SETTINGS;
use crate::dialect::Dialect;
use crate::gemini_settings::GEMINI_SETTINGS;
use crate::setting_kind::UnlistedMember;
use crate::settings::{HookEntry, SettingsError, has_marker};
use crate::settings_form::read_strictly;

/// A difference: the harness does not run a hook as the connection needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsDifference {
    /// An event has no hook of the connection.
    Missing(String),
    /// An event has a hook of the connection, and another than `connect` writes.
    Changed(String),
    /// An event has more hooks of the connection than `connect` writes.
    Repeated(String),
    /// Another file has a hook of the connection, which the harness may run in the place of the connection's own.
    Elsewhere(String),
    /// A member keeps hooks from running.
    SwitchedOff(String),
    /// A member may keep hooks from running: nobody saw that it does not.
    Unlisted(UnlistedMember),
}

impl fmt::Display for SettingsDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(event) => write!(f, "no hook for {event}"),
            Self::Changed(event) => write!(f, "the hook for {event} was changed"),
            Self::Repeated(event) => write!(f, "more than one hook for {event}"),
            Self::Elsewhere(event) => {
                write!(
                    f,
                    "a hook of this connection for {event}, which belongs into the connection's own file"
                )
            }
            Self::SwitchedOff(member) => write!(f, "`{member}` switches hooks off"),
            Self::Unlisted(member) => write!(f, "{member}"),
        }
    }
}

impl Dialect {
    /// Compares settings with the entries that they should hold. None are left out: an empty list says that the harness runs
    /// these hooks, as far as the file decides it.
    ///
    /// # Errors
    /// The harness may read these settings otherwise.
    pub fn differences(
        self,
        settings: &str,
        entry: &HookEntry,
    ) -> Result<Vec<SettingsDifference>, SettingsError> {
        let found = read_strictly(self, settings)?;
        let written = self.written_hooks(entry);
        let none = Map::new();
        let hooks = found.get("hooks").and_then(Value::as_object).unwrap_or(&none);
        let mut differences = switches(self, &found);
        if is_disabled_by_name(self, &found, &entry.marker) {
            differences.push(SettingsDifference::SwitchedOff("hooksConfig.disabled".to_owned()));
        }
        if differences.is_empty() && entry.enforce {
            differences.extend(unlisted(self, &found).into_iter().map(SettingsDifference::Unlisted));
        }
        for (event, entries) in &written {
            differences.extend(difference_of(event, hooks.get(event), entries, &entry.marker));
        }
        for (event, list) in hooks.iter().filter(|(event, _)| !written.contains_key(*event)) {
            if ours(list, &entry.marker) > 0 {
                differences.push(SettingsDifference::Changed(event.clone()));
            }
        }
        Ok(differences)
    }

    /// Returns the members of another file than the connection's that keep its hooks from running, or stand in their place; with
    /// `enforce` also those that may.
    ///
    /// # Errors
    /// The harness may read these settings otherwise.
    pub fn switched_off(
        self,
        settings: &str,
        marker: &str,
        enforce: bool,
    ) -> Result<Vec<SettingsDifference>, SettingsError> {
        let found = read_strictly(self, settings)?;
        let mut switches = switches(self, &found);
        if is_disabled_by_name(self, &found, marker) {
            switches.push(SettingsDifference::SwitchedOff("hooksConfig.disabled".to_owned()));
        }
        let events = found.get("hooks").and_then(Value::as_object).into_iter().flatten();
        let twins = events.filter(|(_, list)| ours(list, marker) > 0);
        switches.extend(twins.map(|(event, _)| SettingsDifference::Elsewhere(event.clone())));
        if switches.is_empty() && enforce {
            // A value of another kind has its own file ignored, or is left out.
            let members = unlisted(self, &found).into_iter().filter(|member| member.expected.is_none());
            switches.extend(members.map(SettingsDifference::Unlisted));
        }
        Ok(switches)
    }

    /// Returns the members of settings that are not known to let hooks run.
    ///
    /// # Errors
    /// The harness may read these settings otherwise.
    pub fn unlisted(self, settings: &str) -> Result<Vec<UnlistedMember>, SettingsError> {
        Ok(unlisted(self, &read_strictly(self, settings)?))
    }

    /// Returns the hooks of an entry, by event.
    fn written_hooks(self, entry: &HookEntry) -> Map<String, Value> {
        let written = self.with_hooks_unchecked("", entry).ok();
        let written = written.and_then(|text| read_strictly(self, &text).ok());
        match written.and_then(|mut members| members.remove("hooks")) {
            Some(Value::Object(hooks)) => hooks,
            _ => Map::new(),
        }
    }
}

/// Variables with which Claude Code runs no hook of its settings, runs another program for it, or reads settings elsewhere.
const CLAUDE_VARIABLES: [&str; 4] =
    ["CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CODE_SIMPLE", "CLAUDE_CONFIG_DIR"];

/// Returns the members that are not in the table of a harness. Codex takes no other members.
fn unlisted(dialect: Dialect, members: &Map<String, Value>) -> Vec<UnlistedMember> {
    match dialect {
        Dialect::Claude => CLAUDE_SETTINGS.unlisted("", &Value::Object(members.clone())),
        Dialect::Gemini => GEMINI_SETTINGS
            .iter()
            .flat_map(|(name, kind)| members.get(*name).map(|value| kind.unlisted(name, value)))
            .flatten()
            .collect(),
        Dialect::Codex | Dialect::Cursor => Vec::new(),
    }
}

fn has_variable(members: &Map<String, Value>, name: &str) -> bool {
    members.get("env").is_some_and(|variables| variables.get(name).is_some())
}

fn switches(dialect: Dialect, members: &Map<String, Value>) -> Vec<SettingsDifference> {
    // Every value but the one that lets hooks run counts as one that does not.
    let switch = match dialect {
        Dialect::Claude => members
            .get("disableAllHooks")
            .filter(|value| **value != Value::Bool(false))
            .map(|_| "disableAllHooks")
            .or_else(|| CLAUDE_VARIABLES.into_iter().find(|name| has_variable(members, name))),
        Dialect::Gemini => members
            .get("hooksConfig")
            .filter(|config| config.get("enabled").is_some_and(|value| *value != Value::Bool(true)))
            .map(|_| "hooksConfig.enabled"),
        Dialect::Codex | Dialect::Cursor => None,
    };
    switch.into_iter().map(|member| SettingsDifference::SwitchedOff(member.to_owned())).collect()
}

/// Returns `true` if Gemini CLI's list of disabled hooks may name one with the marker.
fn is_disabled_by_name(dialect: Dialect, members: &Map<String, Value>, marker: &str) -> bool {
    let list = members.get("hooksConfig").and_then(|config| config.get("disabled"));
    let (Some(list), true) = (list, dialect == Dialect::Gemini) else { return false };
    let is_others = |name: &Value| name.as_str().is_some_and(|name| !has_marker(name, marker));
    !list.as_array().is_some_and(|names| names.iter().all(is_others))
}

/// Compares the entries of one event. Entries of others stand beside ours, and hooks of others in our groups.
fn difference_of(
    event: &str,
    found: Option<&Value>,
    written: &Value,
    marker: &str,
) -> Option<SettingsDifference> {
    let found = found.unwrap_or(&Value::Null);
    let expected = ours(written, marker);
    let list = written.as_array().map(Vec::as_slice).unwrap_or_default();
    match ours(found, marker) {
        0 => Some(SettingsDifference::Missing(event.to_owned())),
        number if number > expected => Some(SettingsDifference::Repeated(event.to_owned())),
        _ if list.iter().all(|entry| holds(found, entry)) => None,
        _ => Some(SettingsDifference::Changed(event.to_owned())),
    }
}

/// Counts the commands with the marker in a list of entries.
fn ours(list: &Value, marker: &str) -> usize {
    let entries = list.as_array().into_iter().flatten();
    let commands = entries.flat_map(|entry| {
        let listed = entry.get("hooks").and_then(Value::as_array).into_iter().flatten();
        listed.chain([entry]).filter_map(|hook| hook.get("command")?.as_str())
    });
    commands.filter(|command| has_marker(command, marker)).count()
}

/// Returns `true` if a list has the entry, or a group that differs from it in further hooks alone.
fn holds(list: &Value, entry: &Value) -> bool {
    let found = list.as_array().into_iter().flatten();
    let Some(hooks) = entry.get("hooks").and_then(Value::as_array) else {
        return found.into_iter().any(|found| found == entry);
    };
    found.into_iter().any(|found| {
        let (Some(group), Some(expected)) = (found.as_object(), entry.as_object()) else { return false };
        let listed = found.get("hooks").and_then(Value::as_array);
        group.len() == expected.len()
            && expected.iter().all(|(name, value)| name == "hooks" || group.get(name) == Some(value))
            && listed.is_some_and(|listed| hooks.iter().all(|hook| listed.contains(hook)))
    })
}
