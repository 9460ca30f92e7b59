//! Settings files of harnesses: adding our hooks to one, and taking out exactly those.
//!
//! A settings file belongs to its user. Only our entries are added or removed; every other byte stays, comments and blanks
//! included. Our entries are known by the path of their connection, which stands in each command.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};

use crate::dialect::Dialect;

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
    #[error("found `{0}` that is no {1}; mend the file first")]
    OtherKind(String, &'static str),
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
    /// They are not settings of this harness.
    pub fn with_hooks(self, settings: &str, entry: &HookEntry) -> Result<String, SettingsError> {
        let root = parse(settings)?;
        let object = root.object_value_or_create().ok_or_else(|| other_kind("the file", "object"))?;
        remove_entries(&object, &entry.marker);
        if self == Self::Cursor && object.get("version").is_none() {
            object.insert(0, "version", CstInputValue::Number("1".to_owned()));
        }
        let hooks = object.object_value_or_create("hooks").ok_or_else(|| other_kind("hooks", "object"))?;
        for hook in self.hooks() {
            let list =
                hooks.array_value_or_create(hook.event).ok_or_else(|| other_kind(hook.event, "array"))?;
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

/// Returns settings without the entries of a connection, and without what they leave empty.
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

/// Returns `true` if settings hold entries of a connection.
#[must_use]
pub fn has_hooks(settings: &str, marker: &str) -> bool {
    parse(settings).is_ok_and(|root| {
        let hooks = root.object_value().and_then(|object| object.object_value("hooks"));
        hooks.is_some_and(|hooks| entries(&hooks, marker).next().is_some())
    })
}

fn remove_entries(object: &CstObject, marker: &str) {
    let Some(hooks) = object.object_value("hooks") else { return };
    let ours: Vec<CstNode> = entries(&hooks, marker).collect();
    if ours.is_empty() {
        return;
    }
    for entry in ours {
        entry.remove();
    }
    for event in hooks.properties() {
        if event.array_value().is_some_and(|list| list.elements().is_empty()) {
            event.remove();
        }
    }
    if hooks.properties().is_empty()
        && let Some(hooks) = object.get("hooks")
    {
        hooks.remove();
    }
}

/// Returns the entries whose command has the marker.
fn entries(hooks: &CstObject, marker: &str) -> impl Iterator<Item = CstNode> {
    let lists = hooks.properties().into_iter().filter_map(|event| event.array_value());
    let all = lists.flat_map(|list| list.elements());
    all.filter(move |entry| commands(entry).any(|command| command.contains(marker)))
}

/// Returns the commands of an entry: its own, or those of its list.
fn commands(entry: &CstNode) -> impl Iterator<Item = String> {
    let object = entry.as_object();
    let listed = object.as_ref().and_then(|object| object.array_value("hooks"));
    let listed = listed.into_iter().flat_map(|list| list.elements()).filter_map(|hook| hook.as_object());
    object
        .into_iter()
        .chain(listed)
        .filter_map(|object| object.get("command")?.value()?.as_string_lit()?.decoded_value().ok())
}

fn parse(settings: &str) -> Result<CstRootNode, SettingsError> {
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

fn other_kind(member: &str, kind: &'static str) -> SettingsError {
    SettingsError::OtherKind(member.to_owned(), kind)
}
