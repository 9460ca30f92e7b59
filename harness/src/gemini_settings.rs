//! The members of Gemini CLI's settings that decide about hooks, and the kinds of their values.
//!
//! Gemini CLI reads the rest of a file whatever is in it. One entry with a matcher of another kind ends all hooks of its event.

use crate::setting_kind::SettingKind::{Bool, List, Map, Named, Object, Text, WholeFrom, Word};
use crate::setting_kind::{SettingKind, SettingMember};

const fn may(name: &'static str, kind: SettingKind) -> SettingMember {
    SettingMember { name, kind, is_needed: false }
}

const fn must(name: &'static str, kind: SettingKind) -> SettingMember {
    SettingMember { name, kind, is_needed: true }
}

const EVENTS: &[&str] = &[
    "AfterAgent",
    "AfterModel",
    "AfterTool",
    "BeforeAgent",
    "BeforeModel",
    "BeforeTool",
    "BeforeToolSelection",
    "Notification",
    "PreCompress",
    "SessionEnd",
    "SessionStart",
];
const HOOK: SettingKind = Object(&[
    must("type", Word(&["command"])),
    must("command", Text),
    may("description", Text),
    may("env", Map(&Text)),
    may("name", Text),
    may("timeout", WholeFrom(1)),
]);
const GROUP: SettingKind =
    Object(&[may("matcher", Text), may("sequential", Bool), must("hooks", List(&HOOK))]);

/// Members of the file, by their names.
pub(crate) const GEMINI_SETTINGS: [(&str, SettingKind); 2] = [
    ("hooks", Named(EVENTS, &List(&GROUP))),
    (
        "hooksConfig",
        Object(&[may("disabled", List(&Text)), may("enabled", Bool), may("notifications", Bool)]),
    ),
];
