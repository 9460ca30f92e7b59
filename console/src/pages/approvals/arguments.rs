//! The arguments of a call, shown for what they are: a difference, a command, an address, a file; else JSON.

use bitacora_api::ApprovalAnswer;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::address::address;
use super::diff::{all_new, difference};
use super::pretty::pretty;
use crate::components::{Tone, badge, long_text, text};

/// The word for commands that cannot be read.
const OPAQUE: &str = "opaque";
/// Members that name the file of a call.
const FILE_MEMBERS: [&str; 4] = ["file_path", "path", "notebook_path", "filePath"];
/// Members that hold a new text.
const CONTENT_MEMBERS: [&str; 3] = ["content", "new_source", "file_text"];

/// Returns the arguments of the call that an approval is about.
pub(super) fn arguments(approval: &ApprovalAnswer) -> Markup {
    if let Some(reason) = &approval.unread {
        return html! { p.notice.refusal { "The record of the call cannot be read: " (text(reason)) } };
    }
    if let Some(bytes) = approval.args_bytes {
        return html! {
            @if let Some(parts) = &approval.parts { (command_parts(parts, approval.more_parts)) }
            p.note { "The arguments have " (bytes) " bytes, too many to show here." }
        };
    }
    match &approval.args {
        Some(args) => shown(args.get(), approval.parts.as_deref(), approval.more_parts),
        None => html! { p.note { "The arguments are not recorded; their digest is "
        code { (text(approval.action_digest.as_deref().unwrap_or("not recorded either"))) } "." } },
    }
}

/// Returns arguments as JSON in the form that suits them.
pub(in crate::pages) fn shown(json: &str, parts: Option<&[String]>, more_parts: Option<u64>) -> Markup {
    let Ok(Value::Object(mut members)) = serde_json::from_str::<Value>(json) else {
        return long_text(&pretty(json));
    };
    let form = form(&mut members, parts, more_parts);
    let Some(form) = form else { return long_text(&pretty(json)) };
    html! { (form) (others(&members)) }
}

/// Takes out of the arguments what their form shows; nothing where no form is known.
fn form(members: &mut Map<String, Value>, parts: Option<&[String]>, more: Option<u64>) -> Option<Markup> {
    if let Some(command) = take_text(members, "command") {
        return Some(html! {
            pre.command tabindex="0" { (text(&command)) }
            @if let Some(parts) = parts { (command_parts(parts, more)) }
        });
    }
    if let Some(url) = take_text(members, "url") {
        return Some(address(&url));
    }
    let replaces = members.get("old_string").is_some_and(Value::is_string)
        && members.get("new_string").is_some_and(Value::is_string);
    if replaces {
        let file = take_file(members);
        let old = take_text(members, "old_string")?;
        let new = take_text(members, "new_string")?;
        return Some(html! { (file_name(file.as_deref(), "Edits")) (difference(&old, &new)) });
    }
    if let Some(edits) = members.get("edits").and_then(edits_of) {
        members.remove("edits");
        let file = take_file(members);
        return Some(html! {
            (file_name(file.as_deref(), "Edits"))
            @for (at, edit) in edits.iter().enumerate() {
                h4 { "Edit " (at + 1) " of " (edits.len()) @if edit.is_everywhere { ", everywhere in the file" } }
                (difference(&edit.old, &edit.new))
            }
        });
    }
    let content =
        CONTENT_MEMBERS.into_iter().find(|name| members.get(*name).is_some_and(Value::is_string))?;
    let file = take_file(members)?;
    let content = take_text(members, content)?;
    Some(html! { (file_name(Some(&file), "Writes")) (all_new(&content)) })
}

/// One of several edits.
struct Edit {
    old: String,
    new: String,
    is_everywhere: bool,
}

/// Returns edits, if they are nothing else.
fn edits_of(value: &Value) -> Option<Vec<Edit>> {
    let edit = |value: &Value| {
        let members = value.as_object()?;
        let known = ["old_string", "new_string", "replace_all"];
        if !members.keys().all(|name| known.contains(&name.as_str())) {
            return None;
        }
        let word = |name| Some(members.get(name)?.as_str()?.to_owned());
        let is_everywhere = members.get("replace_all").and_then(Value::as_bool).unwrap_or_default();
        Some(Edit { old: word("old_string")?, new: word("new_string")?, is_everywhere })
    };
    value.as_array()?.iter().map(edit).collect()
}

fn take_text(members: &mut Map<String, Value>, name: &str) -> Option<String> {
    members.get(name)?.as_str()?;
    match members.remove(name)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn take_file(members: &mut Map<String, Value>) -> Option<String> {
    FILE_MEMBERS.into_iter().find_map(|name| take_text(members, name))
}

fn file_name(file: Option<&str>, verb: &str) -> Markup {
    html! { @if let Some(file) = file { p.file { (verb) " " code { (text(file)) } } } }
}

/// Returns the parts of a command, as rules compare them.
fn command_parts(parts: &[String], more: Option<u64>) -> Markup {
    html! {
        p.parts { span.quiet-text { "Runs " }
            @for part in parts {
                @if part == OPAQUE { (badge("something that cannot be read", Tone::Bad)) } @else { code.part { (text(part)) } }
                " "
            }
            @if let Some(more) = more { (badge(&format!("and {more} more parts"), Tone::Waits)) }
        }
    }
}

/// Returns the arguments besides those that have a form of their own.
fn others(members: &Map<String, Value>) -> Markup {
    html! {
        @if !members.is_empty() {
            dl.others { @for (name, value) in members {
                div { dt { (text(name)) } dd { @match value {
                    Value::String(value) => (folded(value)),
                    value => code { (text(&value.to_string())) },
                } } }
            } }
        }
    }
}

/// The characters of an argument that stand in a line.
const LINE_CHARS: usize = 200;

fn folded(value: &str) -> Markup {
    if value.chars().count() <= LINE_CHARS && !value.contains('\n') { text(value) } else { long_text(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html_of(json: &str) -> String {
        shown(json, None, None).into_string()
    }

    #[test]
    fn nothing_of_the_arguments_is_left_out() {
        let edit = html_of(r#"{"file_path":"/a.rs","old_string":"x","new_string":"y","replace_all":true}"#);
        for part in ["/a.rs", "<del>x</del>", "<ins>y</ins>", "replace_all", "true"] {
            assert!(edit.contains(part), "{part}: {edit}");
        }
        let command = html_of(r#"{"command":"ls","dangerouslyDisableSandbox":true}"#);
        assert!(command.contains("dangerouslyDisableSandbox"), "{command}");
        let odd = html_of(r#"{"file_path":"/a","edits":[{"old_string":"x","new_string":"y","more":1}]}"#);
        assert!(odd.contains("more"), "{odd}");
    }

    #[test]
    fn members_of_another_type_have_no_form() {
        for json in
            [r#"{"command":7}"#, r#"{"url":["x"]}"#, r#"{"old_string":"a","new_string":null}"#, "[1,2]", "7"]
        {
            assert!(html_of(json).contains("<pre"), "{json}");
        }
    }

    #[test]
    fn several_edits_are_shown_one_by_one() {
        let shown = html_of(
            r#"{"file_path":"/a","edits":[{"old_string":"one","new_string":"two"},{"old_string":"x","new_string":"y","replace_all":true}]}"#,
        );
        assert!(shown.contains("Edit 1 of 2") && shown.contains("Edit 2 of 2, everywhere in the file"));
    }
}
