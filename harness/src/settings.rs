//! Settings files of harnesses: adding our hooks to one, and taking out exactly those.
//!
//! A settings file belongs to its user. Only our entries are added or removed; every other byte stays, comments and blanks
//! included. Our entries are known by the path of their connection, which stands in each command.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};

use crate::dialect::Dialect;
use crate::setting_kind::UnlistedMember;
use crate::settings_difference::SettingsDifference;
use crate::settings_form::read_strictly;

/// The entries that a harness's settings get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEntry {
    /// The command of the hook before a call, which waits for a verdict.
    pub gate_command: String,
    /// The command of the other hooks.
    pub report_command: String,
    /// A part of both commands that no other entry has.
    pub marker: String,
    /// The harness's timeout of the hook before a call, seconds.
    pub gate_timeout_s: u64,
    /// The harness's timeout of other hooks, seconds.
    pub report_timeout_s: u64,
    /// `true` if a call whose hook fails is blocked.
    pub enforce: bool,
}

/// Settings that cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The file is not JSON, with or without comments.
    #[error("found settings that are not JSON: {0}; mend the file first")]
    NotJson(String),
    /// A member is of another kind than the harness reads.
    #[error("found `{0}` that is not {1}; mend the file first")]
    OtherKind(String, String),
    /// The harness's parser takes no comments.
    #[error("found a comment, with which {0} reads no hook of the file; remove it first")]
    Comment(&'static str),
    /// The harness's parser takes only standard JSON.
    #[error("found JSON that {0} does not read: {1}; mend the file first")]
    OtherJson(&'static str, String),
    /// The file begins with a mark that the harness's parser does not take.
    #[error("found a byte order mark at the beginning, which {0} may not take; remove it first")]
    ByteOrderMark(&'static str),
    /// One object names a member twice.
    #[error("found the member `{1}` twice, of which {0} reads at most one; remove the other first")]
    Repeated(&'static str, String),
    /// The harness takes no file with this member.
    #[error("found the member `{1}`, with which {0} reads no hook of the file; remove it first")]
    Unknown(&'static str, String),
    /// The harness would replace a part of the command.
    #[error("found `$` in the hook's command, where {0} puts a variable; connect from a folder without it")]
    Variable(&'static str),
    /// The hooks would stand in the file, and not run.
    #[error("{0}; mend the file first")]
    Difference(SettingsDifference),
    /// The harness may ignore the file, or its hooks, for a member.
    #[error("found that {0}, so {1} may run no hook of the file; take it out, or connect with --observe")]
    Unlisted(UnlistedMember, &'static str),
}

/// A hook of a harness, and whether it waits for a verdict.
struct Hook {
    event: &'static str,
    /// `true` for the one before a call.
    is_gate: bool,
    /// `true` if it names the tools that it is for.
    has_matcher: bool,
}

const fn gate(event: &'static str) -> Hook {
    Hook { event, is_gate: true, has_matcher: true }
}

const fn of_tools(event: &'static str) -> Hook {
    Hook { event, is_gate: false, has_matcher: true }
}

const fn other(event: &'static str) -> Hook {
    Hook { event, is_gate: false, has_matcher: false }
}

const CLAUDE: &[Hook] = &[
    gate("PreToolUse"),
    of_tools("PostToolUse"),
    of_tools("PostToolUseFailure"),
    other("SessionStart"),
    other("SessionEnd"),
    other("UserPromptSubmit"),
    other("Stop"),
    other("SubagentStart"),
    other("SubagentStop"),
];
const CODEX: &[Hook] = &[
    gate("PreToolUse"),
    of_tools("PostToolUse"),
    other("SessionStart"),
    other("UserPromptSubmit"),
    other("Stop"),
];
const GEMINI: &[Hook] = &[
    gate("BeforeTool"),
    of_tools("AfterTool"),
    other("SessionStart"),
    other("SessionEnd"),
    other("BeforeAgent"),
    other("AfterAgent"),
];
const CURSOR: &[Hook] = &[
    gate("preToolUse"),
    of_tools("postToolUse"),
    of_tools("postToolUseFailure"),
    other("sessionStart"),
    other("sessionEnd"),
    other("beforeSubmitPrompt"),
    other("stop"),
];

/// The tools that a hook is for: all of them. Codex compares by pattern, and one without `.*` leaves MCP tools out.
const EVERY_TOOL: &str = ".*";

impl Dialect {
    fn hooks(self) -> &'static [Hook] {
        match self {
            Self::Claude => CLAUDE,
            Self::Codex => CODEX,
            Self::Gemini => GEMINI,
            Self::Cursor => CURSOR,
        }
    }

    /// Returns settings with our hooks, in the place of earlier ones. `settings` is the file's text; empty where there is none.
    ///
    /// # Errors
    /// The harness may read them otherwise than we do, or would not run the hooks.
    pub fn with_hooks(self, settings: &str, entry: &HookEntry) -> Result<String, SettingsError> {
        read_strictly(self, settings)?;
        if self == Self::Gemini && entry.gate_command.contains('$') {
            return Err(SettingsError::Variable(self.program()));
        }
        let written = self.with_hooks_unchecked(settings, entry)?;
        match self.differences(&written, entry)?.into_iter().next() {
            Some(SettingsDifference::Unlisted(member)) => {
                Err(SettingsError::Unlisted(member, self.program()))
            }
            Some(difference) => Err(SettingsError::Difference(difference)),
            None => Ok(written),
        }
    }

    /// Checks that the harness certainly reads settings as we do.
    ///
    /// # Errors
    /// It may read them otherwise.
    pub fn check(self, settings: &str) -> Result<(), SettingsError> {
        read_strictly(self, settings).map(|_| ())
    }

    pub(crate) fn with_hooks_unchecked(
        self,
        settings: &str,
        entry: &HookEntry,
    ) -> Result<String, SettingsError> {
        let root = parse(settings)?;
        let object = root.object_value_or_create().ok_or_else(|| other_kind("the file", "an object"))?;
        remove_entries(&object, &entry.marker);
        if self == Self::Cursor && object.get("version").is_none() {
            object.insert(0, "version", CstInputValue::Number("1".to_owned()));
        }
        let hooks = object.object_value_or_create("hooks").ok_or_else(|| other_kind("hooks", "an object"))?;
        for hook in self.hooks() {
            let list =
                hooks.array_value_or_create(hook.event).ok_or_else(|| other_kind(hook.event, "an array"))?;
            list.append(self.entry_of(hook, entry));
        }
        Ok(root.to_string())
    }

    fn entry_of(self, hook: &Hook, entry: &HookEntry) -> CstInputValue {
        let (text, seconds) = match hook.is_gate {
            true => (&entry.gate_command, entry.gate_timeout_s),
            false => (&entry.report_command, entry.report_timeout_s),
        };
        // Gemini counts milliseconds.
        let timeout = if self == Self::Gemini { seconds.saturating_mul(1_000) } else { seconds };
        let mut command = vec![
            ("command".to_owned(), CstInputValue::String(text.clone())),
            ("timeout".to_owned(), CstInputValue::Number(timeout.to_string())),
        ];
        if self == Self::Cursor {
            if hook.is_gate && entry.enforce {
                command.push(("failClosed".to_owned(), CstInputValue::Bool(true)));
            }
            return CstInputValue::Object(command);
        }
        command.insert(0, ("type".to_owned(), CstInputValue::String("command".to_owned())));
        let hooks = CstInputValue::Array(vec![CstInputValue::Object(command)]);
        let mut group = Vec::new();
        if hook.has_matcher {
            group.push(("matcher".to_owned(), CstInputValue::String(EVERY_TOOL.to_owned())));
        }
        group.push(("hooks".to_owned(), hooks));
        CstInputValue::Object(group)
    }
}

/// Returns settings without the hooks of a connection, and without what they leave empty. Hooks of others stay, also in our groups.
///
/// # Errors
/// They are not JSON.
pub fn without_hooks(settings: &str, marker: &str) -> Result<String, SettingsError> {
    let root = parse(settings)?;
    if let Some(object) = root.object_value() {
        remove_entries(&object, marker);
    }
    Ok(root.to_string())
}

/// Returns `true` if settings hold hooks of a connection.
#[must_use]
pub fn has_hooks(settings: &str, marker: &str) -> bool {
    let object = parse(settings).ok().and_then(|root| root.object_value());
    let hooks = object.into_iter().flat_map(|object| members_named_hooks(&object));
    let events = hooks.filter_map(|hooks| hooks.object_value()).flat_map(|hooks| hooks.properties());
    let entries = events.filter_map(|event| event.array_value()).flat_map(|list| list.elements());
    entries.into_iter().any(|entry| {
        let listed = entry.as_object().and_then(|entry| entry.array_value("hooks"));
        let listed = listed.into_iter().flat_map(|list| list.elements());
        listed.chain([entry]).any(|hook| is_ours(&hook, marker))
    })
}

/// All members of that name: a file that names it twice is no less ours to clean.
fn members_named_hooks(object: &CstObject) -> Vec<CstObjectProp> {
    let members = object.properties().into_iter();
    members.filter(|member| member.decoded_name().as_deref() == Some("hooks")).collect()
}

fn remove_entries(object: &CstObject, marker: &str) {
    for member in members_named_hooks(object) {
        let Some(hooks) = member.object_value() else { continue };
        let mut has_changed = false;
        for event in hooks.properties() {
            let Some(list) = event.array_value() else { continue };
            let removed = list.elements().into_iter().filter(|entry| remove_from(entry, marker)).count();
            has_changed |= removed > 0;
            if removed > 0 && list.elements().is_empty() {
                event.remove();
            }
        }
        if has_changed && hooks.properties().is_empty() {
            member.remove();
        }
    }
}

/// Removes our hooks from an entry, and the entry where it was ours alone. Returns `true` if there was one.
fn remove_from(entry: &CstNode, marker: &str) -> bool {
    if is_ours(entry, marker) {
        entry.clone().remove();
        return true;
    }
    let Some(group) = entry.as_object() else { return false };
    let Some(list) = group.array_value("hooks") else { return false };
    let ours: Vec<CstNode> = list.elements().into_iter().filter(|hook| is_ours(hook, marker)).collect();
    let has_ours = !ours.is_empty();
    for hook in ours {
        hook.remove();
    }
    if has_ours && list.elements().is_empty() && is_group_of_ours(&group) {
        entry.clone().remove();
    }
    has_ours
}

/// Returns `true` if a group has the members that we write, and nothing of anybody else.
fn is_group_of_ours(group: &CstObject) -> bool {
    group.properties().into_iter().all(|member| match member.decoded_name().as_deref() {
        Some("hooks") => true,
        Some("matcher") => {
            let matcher = member.value().and_then(|value| value.as_string_lit());
            matcher.and_then(|matcher| matcher.decoded_value().ok()).as_deref() == Some(EVERY_TOOL)
        }
        _ => false,
    })
}

fn is_ours(hook: &CstNode, marker: &str) -> bool {
    let member = hook.as_object().and_then(|hook| hook.get("command"));
    let command = member.and_then(|member| member.value()?.as_string_lit()?.decoded_value().ok());
    command.is_some_and(|command| has_marker(&command, marker))
}

/// Returns `true` if a command names the connection of the marker, and not one whose name begins like it.
pub(crate) fn has_marker(command: &str, marker: &str) -> bool {
    command.match_indices(marker).any(|(at, _)| {
        let behind = command.get(at.saturating_add(marker.len())..).unwrap_or_default();
        behind.is_empty() || behind.starts_with(char::is_whitespace)
    })
}

pub(crate) fn parse(settings: &str) -> Result<CstRootNode, SettingsError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_extended_string_escapes: false,
        allow_non_finite_numbers: false,
    };
    let text = if settings.trim().is_empty() { "{}\n" } else { settings };
    CstRootNode::parse(text, &options).map_err(|error| SettingsError::NotJson(error.to_string()))
}

pub(crate) fn other_kind(member: &str, kind: &str) -> SettingsError {
    SettingsError::OtherKind(member.to_owned(), kind.to_owned())
}
