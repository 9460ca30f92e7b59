//! The arguments of a call, shown for what they are: a difference, a command, an address, a file; else JSON.

use maud::{Markup, html};
use serde_json::value::RawValue;

use super::address::address;
use super::badge::{Tone, badge};
use super::diff::{all_new, difference};
use super::text::{code_lines, code_name, code_text, long_code, long_text, name as boxed};
use crate::json::{Members, readable, text_of};

/// The part of a command that cannot be read: no rule and no consent covers it.
pub(crate) const OPAQUE: &str = "opaque";
/// Members that name the file of a call.
const FILE_MEMBERS: [&str; 4] = ["file_path", "path", "notebook_path", "filePath"];
/// Members that hold a new text.
const CONTENT_MEMBERS: [&str; 3] = ["content", "new_source", "file_text"];

/// Returns arguments as JSON in the form that suits them. Where members could belong to more than one form, they have none.
pub(crate) fn arguments(json: &str, parts: Option<&[String]>, more_parts: Option<u64>) -> Markup {
    let form = Members::read_unique(json).and_then(|mut members| {
        let form = form(&mut members)?;
        Some((form, members))
    });
    let Some(((form, known), members)) = form else {
        return html! { (long_code(&readable(json))) (some_parts(parts, more_parts)) };
    };
    let (below, above): (Vec<_>, Vec<_>) = members.iter().partition(|(name, _)| known.contains(name));
    html! {
        @if !above.is_empty() {
            div.besides { p { strong { "Besides what follows, it has these arguments:" } } (others(&above)) }
        }
        (form) (some_parts(parts, more_parts)) (others(&below))
    }
}

/// Members of which each decides a form. More than one form leaves open which of them counts.
const DECISIVE: [&[&str]; 7] = [
    &["command"],
    &["url"],
    &["old_string", "new_string"],
    &["edits"],
    &["content"],
    &["new_source"],
    &["file_text"],
];
/// Members besides, of each form, that say nothing of what runs.
const BESIDES_COMMAND: &[&str] = &["description", "timeout", "run_in_background"];
const BESIDES_ADDRESS: &[&str] = &["prompt"];
const BESIDES_EDIT: &[&str] = &["replace_all"];
const BESIDES_CONTENT: &[&str] = &["cell_id", "cell_type", "edit_mode"];

/// Takes out of the arguments what their form shows, and returns which others it knows; nothing where no form is known.
fn form(members: &mut Members<'_>) -> Option<(Markup, &'static [&'static str])> {
    let decisive = DECISIVE.iter().filter(|names| names.iter().any(|name| members.has(name)));
    if decisive.count() != 1 {
        return None;
    }
    if let Some(command) = members.take_text("command") {
        return Some((html! { pre.command tabindex="0" { (code_lines(&command)) } }, BESIDES_COMMAND));
    }
    if let Some(url) = members.take_text("url") {
        return Some((address(&url), BESIDES_ADDRESS));
    }
    if let (Some(old), Some(new)) = (members.text("old_string"), members.text("new_string")) {
        members.remove("old_string");
        members.remove("new_string");
        let file = take_file(members);
        let shown = html! { (file_name(file.as_deref(), "Edits")) (difference(&old, &new)) };
        return Some((shown, BESIDES_EDIT));
    }
    if let Some(edits) = members.get("edits").and_then(edits_of) {
        members.remove("edits");
        let file = take_file(members);
        let shown = html! {
            (file_name(file.as_deref(), "Edits"))
            @for (at, edit) in edits.iter().enumerate() {
                h4 { "Edit " (at + 1) " of " (edits.len()) @if edit.is_everywhere { ", everywhere in the file" } }
                (difference(&edit.old, &edit.new))
            }
        };
        return Some((shown, &[]));
    }
    let content = CONTENT_MEMBERS.into_iter().find(|name| members.text(name).is_some())?;
    let file = take_file(members)?;
    let content = members.take_text(content)?;
    Some((html! { (file_name(Some(&file), "Writes")) (all_new(&content)) }, BESIDES_CONTENT))
}

/// One of several edits.
struct Edit {
    old: String,
    new: String,
    is_everywhere: bool,
}

/// Returns edits, if they are nothing else.
fn edits_of(value: &RawValue) -> Option<Vec<Edit>> {
    let edit = |value: &&RawValue| {
        let members = Members::read_unique(value.get())?;
        let known = ["old_string", "new_string", "replace_all"];
        if !members.iter().all(|(name, _)| known.contains(&name)) {
            return None;
        }
        let is_everywhere = match members.get("replace_all").map(RawValue::get) {
            Some("true") => true,
            Some("false") | None => false,
            Some(_) => return None,
        };
        Some(Edit { old: members.text("old_string")?, new: members.text("new_string")?, is_everywhere })
    };
    let edits: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
    edits.iter().map(edit).collect()
}

fn take_file(members: &mut Members<'_>) -> Option<String> {
    FILE_MEMBERS.into_iter().find_map(|name| members.take_text(name))
}

fn file_name(file: Option<&str>, verb: &str) -> Markup {
    html! { @if let Some(file) = file { p.file { (verb) " " (code_name(file)) } } }
}

fn some_parts(parts: Option<&[String]>, more: Option<u64>) -> Markup {
    html! { @if let Some(parts) = parts { (command_parts(parts, more)) } }
}

/// Returns the parts of a command, as rules compare them.
pub(crate) fn command_parts(parts: &[String], more: Option<u64>) -> Markup {
    html! {
        p.parts { span.quiet-text { "Runs " }
            @for part in parts {
                @if part == OPAQUE { (badge("something that cannot be read", Tone::Bad)) } @else { code.part { (code_text(part)) } }
                " "
            }
            @if let Some(more) = more { (badge(&format!("and {more} more parts"), Tone::Waits)) }
        }
    }
}

/// Returns the arguments besides those that have a form of their own, each as it is written.
fn others(members: &[(&str, &RawValue)]) -> Markup {
    html! {
        @if !members.is_empty() {
            dl.others { @for (name, value) in members {
                div { dt { (code_name(name)) } dd { (other(name, value)) } }
            } }
        }
    }
}

/// The member that has words of the agent, and nothing that runs.
const DESCRIPTION: &str = "description";
/// The characters of an argument that stand in a line.
const LINE_CHARS: usize = 200;

fn other(name: &str, value: &RawValue) -> Markup {
    let Some(words) = text_of(value) else {
        let value = value.get();
        return if is_short(value) {
            html! { code { (code_text(value)) } }
        } else {
            long_code(&readable(value))
        };
    };
    match (is_short(&words), name == DESCRIPTION) {
        (true, true) => boxed(&words),
        (true, false) => html! { code { (code_text(&words)) } },
        (false, true) => long_text(&words),
        (false, false) => long_code(&words),
    }
}

fn is_short(value: &str) -> bool {
    value.chars().count() <= LINE_CHARS && !value.contains('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html_of(json: &str) -> String {
        arguments(json, None, None).into_string()
    }

    #[test]
    fn nothing_of_the_arguments_is_left_out() {
        let edit = html_of(r#"{"file_path":"/a.rs","old_string":"x","new_string":"y","replace_all":true}"#);
        for part in ["/a.rs", "− </span>x", "+ </span>y", "replace_all", "true"] {
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
    fn numbers_are_shown_as_they_are_written() {
        let shown = html_of(
            r#"{"command":"pay","timeout":12345678901234567890123,"amount":0.10000000000000000000001}"#,
        );
        assert!(
            shown.contains("12345678901234567890123") && shown.contains("0.10000000000000000000001"),
            "{shown}"
        );
    }

    #[test]
    fn members_that_a_form_does_not_know_stand_before_it() {
        let shown = html_of(r#"{"command":"ls","description":"lists","script":"rm -rf /"}"#);
        let at = |word: &str| shown.find(word).unwrap();
        assert!(at("rm -rf /") < at("pre class=\"command\"") && at("lists") > at("ls</pre>"), "{shown}");
    }

    #[test]
    fn what_could_be_of_two_forms_is_of_none() {
        for json in [
            r#"{"command":"ls","url":"http://evil.example"}"#,
            r#"{"command":"a","command":"b"}"#,
            r#"{"file_path":"/a","old_string":"x","new_string":"y","content":"z"}"#,
            r#"{"url":"x","command":["rm"]}"#,
        ] {
            let shown = html_of(json);
            assert!(!shown.contains("class=\"command\"") && !shown.contains("class=\"host\""), "{shown}");
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
