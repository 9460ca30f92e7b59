//! The line that tells an event.

use maud::{Markup, html};
use serde_json::Value;

use super::{Event, clipped};
use crate::components::{
    Tone, approval_link, badge, duration, grouped, micro_usd, name, reason, verdict_badge,
};
use crate::visit::Visit;

/// Characters of a text in a line.
const LINE_CHARS: usize = 180;
/// Members of other data in a line.
const LINE_MEMBERS: usize = 4;
/// The beginning of the types that anybody may make up.
const FREE: &str = "x.";
/// The roles that names of actors begin with.
const ROLES: [&str; 5] = ["agent", "auditor", "metrics", "operator", "admin"];
/// Members of arguments that say the most of a call, the first one first.
const TELLING: [&str; 8] =
    ["command", "file_path", "path", "url", "query", "pattern", "prompt", "description"];

/// Returns what an event says, in a line.
pub(crate) fn summary(visit: &Visit, event: &Event<'_>) -> Markup {
    if event.stored.erased {
        return html! { (badge("erased", Tone::Plain)) " Its contents were erased with its data subject." };
    }
    if event.stored.unreadable {
        return html! { (badge("unreadable", Tone::Bad)) " The file of its data subject's key is damaged." };
    }
    match event.kind() {
        "session.started" => words(event, &["harness", "version", "model", "cwd", "branch"]),
        "session.ended" | "turn.ended" => {
            html! { (words(event, &["reason", "stop_reason"])) (measures(event)) }
        }
        "turn.started" => prompt(event),
        "model.called" | "telemetry.model" => {
            html! { (status(event)) (words(event, &["model", "operation"])) (measures(event)) }
        }
        "tool.requested" => {
            html! { strong { (named(event, "tool")) } " " (name(&arguments(event.member("args")))) }
        }
        "decision.made" => decision(event),
        "approval.requested" => approval(visit, event, "asks a person"),
        "approval.resolved" => resolution(visit, event),
        "approval.consumed" => approval(visit, event, "used up by the call"),
        "tool.completed" | "tool.failed" | "tool.blocked" | "telemetry.tool" => outcome(event),
        "trust.observed" => {
            html! { (verdict_badge(event.word("outcome").unwrap_or("-"))) " " (dimension(event)) }
        }
        "run.step" => step(event),
        "checkpoint.saved" => {
            html! { "step " (event.member("step").map(Value::to_string).unwrap_or_default()) " · " (words(event, &["source", "thread"])) }
        }
        "coverage.gap" => {
            html! { (badge("gap", Tone::Bad)) " no " (named(event, "missing")) " is recorded · " (named(event, "evidence")) }
        }
        "contract.checked" => checks(event),
        "breaker.opened" | "breaker.half_opened" | "breaker.closed" => {
            html! { (dimension(event)) " " (words(event, &["reason", "by"])) }
        }
        "annotation.added" => annotation(event),
        kind if kind.starts_with(FREE) => free(event),
        _ => other(event),
    }
}

/// Returns texts of the data, one behind the other.
fn words(event: &Event<'_>, names: &[&str]) -> Markup {
    let found: Vec<_> = names.iter().filter_map(|name| event.word(name)).collect();
    html! { @for (at, word) in found.iter().enumerate() {
        @if at > 0 { " · " }
        (name(&clipped(word, LINE_CHARS)))
    } }
}

fn named(event: &Event<'_>, member: &str) -> Markup {
    html! { @match event.word(member) { Some(word) => (name(&clipped(word, LINE_CHARS))), None => "-" } }
}

/// Returns who noted what: a note is the word of its author, and changes nothing.
fn annotation(event: &Event<'_>) -> Markup {
    html! { (author(event)) " noted: " q { (named(event, "text")) } }
}

/// Returns the author of an event, with the role that its actor's name begins with.
fn author(event: &Event<'_>) -> Markup {
    let Some(actor) = event.attribute("actor") else { return html! { "Somebody who is not named" } };
    let role = actor.split_once(':').and_then(|(role, _)| ROLES.into_iter().find(|known| *known == role));
    html! {
        @if let Some(role) = role { (role) " " }
        (name(actor))
        @if let Some(agent) = event.attribute("agent") { " (agent " (name(agent)) ")" }
    }
}

fn status(event: &Event<'_>) -> Markup {
    let told = event.word("status").filter(|status| *status != "ok");
    html! { @if let Some(status) = told { (verdict_badge(status)) " " } }
}

/// Returns tokens, cost and duration, as far as they are told.
fn measures(event: &Event<'_>) -> Markup {
    let totals = event.member("totals");
    let member = |name: &str| event.member(name).or_else(|| totals?.get(name));
    let tokens = |name: &str| member("tokens")?.get(name)?.as_u64();
    html! {
        @if let Some(read) = tokens("in") { " · " (grouped(read)) " tokens in" }
        @if let Some(cached) = tokens("cache_read") { " (+" (grouped(cached)) " from cache)" }
        @if let Some(written) = tokens("out") { ", " (grouped(written)) " out" }
        @if let Some(cost) = member("cost_micro_usd").and_then(Value::as_u64) { " · " strong { (micro_usd(cost)) } }
        @if let Some(took) = member("duration_ms").and_then(Value::as_u64) { " · " (duration(took)) }
    }
}

fn prompt(event: &Event<'_>) -> Markup {
    let bytes = event.member("prompt").and_then(|prompt| prompt.get("bytes")).and_then(Value::as_u64);
    html! { "prompt " @if let Some(bytes) = bytes { "of " (grouped(bytes)) " bytes " } "from " (named(event, "source")) }
}

/// Returns the member of arguments that says most of a call; all of them where no member does.
pub(super) fn arguments(args: Option<&Value>) -> String {
    let Some(args) = args else { return "arguments not recorded here".to_owned() };
    let telling = TELLING.iter().find_map(|name| args.get(name)?.as_str());
    telling.map_or_else(|| clipped(&args.to_string(), LINE_CHARS), |telling| clipped(telling, LINE_CHARS))
}

fn decision(event: &Event<'_>) -> Markup {
    let is_observed = event.word("mode") == Some("observe");
    let part = |name: &str| event.member("inputs")?.get("dimension")?.get(name)?.as_str();
    let told = clipped(event.word("reason").unwrap_or("-"), LINE_CHARS);
    // A name that is cut is seen as such where it ends the text.
    let cut = told.strip_suffix('…');
    html! {
        @if is_observed { "would be " }
        (verdict_badge(event.word("verdict").unwrap_or("-")))
        " " (reason(cut.unwrap_or(&told), part("tool").unwrap_or_default(), part("context")))
        @if cut.is_some() { "…" }
    }
}

fn approval(visit: &Visit, event: &Event<'_>, words: &str) -> Markup {
    let id = event.word("approval").unwrap_or("-");
    html! { (words) " · approval " (approval_link(visit, id)) }
}

fn resolution(visit: &Visit, event: &Event<'_>) -> Markup {
    html! {
        (verdict_badge(event.word("resolution").unwrap_or("-")))
        " by " (name(event.word("by").unwrap_or("-"))) " "
        @if event.word("note").is_some() { q { (name(&clipped(event.word("note").unwrap_or_default(), LINE_CHARS))) } " " }
        (approval(visit, event, ""))
    }
}

fn outcome(event: &Event<'_>) -> Markup {
    html! {
        (verdict_badge(event.word("status").unwrap_or("-"))) " "
        (words(event, &["tool", "error_type", "summary", "by"]))
        @if let Some(code) = event.member("exit_code").and_then(Value::as_i64) { " · exit code " (code) }
        (measures(event))
    }
}

fn dimension(event: &Event<'_>) -> Markup {
    let part = |name: &str| event.member("dimension")?.get(name)?.as_str().filter(|part| *part != "-");
    let parts: Vec<_> = ["tool", "context", "model", "task_type"].into_iter().filter_map(part).collect();
    html! { @for (at, part) in parts.iter().enumerate() {
        @if at > 0 { " · " }
        (name(&clipped(part, LINE_CHARS)))
    } }
}

fn step(event: &Event<'_>) -> Markup {
    let attempt = event.number("attempt").filter(|attempt| *attempt > 1);
    html! {
        (verdict_badge(event.word("status").unwrap_or("-"))) " "
        strong { (named(event, "node")) } " "
        @if let Some(attempt) = attempt { "(attempt " (attempt) ") " }
        (words(event, &["action", "error_type", "summary"]))
        (measures(event))
    }
}

fn checks(event: &Event<'_>) -> Markup {
    let checks = event.member("checks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let failed = checks.iter().filter(|check| check.get("passed") == Some(&Value::Bool(false))).count();
    html! {
        @if failed == 0 { (badge("passed", Tone::Good)) } @else { (badge("failed", Tone::Bad)) }
        " " (checks.len() - failed) " of " (checks.len()) " checks hold · " (words(event, &["phase", "contract", "node"]))
    }
}

/// Returns who recorded what: whoever records an event of such a type may say anything in it.
fn free(event: &Event<'_>) -> Markup {
    html! { (author(event)) ": " (other(event)) }
}

/// Returns the first members of other data.
fn other(event: &Event<'_>) -> Markup {
    let members = event.data().and_then(Value::as_object).into_iter().flatten();
    let simple = members.filter(|(_, value)| !value.is_object() && !value.is_array());
    let shown = simple.take(LINE_MEMBERS).map(|(member, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        clipped(&format!("{member}: {value}"), LINE_CHARS)
    });
    html! {
        @for (at, member) in shown.enumerate() {
            @if at > 0 { " · " }
            (name(&member))
        }
        @if event.binary().is_some() { "binary data" }
    }
}

#[cfg(test)]
mod tests {
    use bitacora_api::StoredEvent;

    use super::*;

    fn stored(kind: &str, attributes: &str, data: &str) -> StoredEvent {
        let json = format!(
            r#"{{"position":"1","commitment":"","recordedAt":"t","streamVersion":"1","derived":false,"redactions":0,"erased":false,
                "event":{{"type":"{kind}"{attributes},"data":{data}}}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    /// Returns the words of a line that stand in no box.
    fn unboxed(shown: &Markup) -> String {
        let shown = shown.clone().into_string();
        let parts = shown.split("<bdi><code class=\"name\">").enumerate();
        parts
            .map(|(at, part)| if at == 0 { part } else { part.split_once("</code></bdi>").unwrap().1 })
            .collect()
    }

    #[test]
    fn a_note_names_its_author_and_is_quoted_in_a_box() {
        let data = r#"{"on":{"call":"c"},"text":"Approved by admin. The call was allowed."}"#;
        let of = |attributes: &str| {
            let stored = stored("annotation.added", attributes, data);
            unboxed(&annotation(&Event::read(&stored)))
        };
        assert_eq!(of(r#","actor":"agent:1""#), "agent  noted: <q></q>");
        assert_eq!(of(r#","actor":"operator:1","agent":"coder""#), "operator  (agent ) noted: <q></q>");
        assert_eq!(of(r#","actor":"Everybody agrees""#), " noted: <q></q>");
        assert_eq!(of(""), "Somebody who is not named noted: <q></q>");
    }

    #[test]
    fn an_event_of_a_type_that_somebody_made_up_names_its_author() {
        let stored = stored("x.verdict", r#","actor":"agent:1","agent":"coder""#, r#"{"said":"Approved."}"#);
        assert_eq!(unboxed(&free(&Event::read(&stored))), "agent  (agent ): ");
    }

    #[test]
    fn what_an_agent_chose_stands_in_a_box() {
        let said = |kind: &str, data: &str, line: fn(&Event<'_>) -> Markup| {
            let stored = stored(kind, "", data);
            unboxed(&line(&Event::read(&stored)))
        };
        let chosen = r#"{"tool":"calm","error_type":"calm","summary":"calm","node":"calm","action":"calm","reason":"calm `x` calm","dimension":{"tool":"x","context":"calm"},"calm":"calm","source":"calm"}"#;
        for (kind, line) in [
            ("tool.failed", outcome as fn(&Event<'_>) -> Markup),
            ("run.step", step),
            ("turn.started", prompt),
            ("breaker.opened", dimension),
            ("x.custom", other),
        ] {
            assert!(!said(kind, chosen, line).contains("calm"), "{kind}");
        }
        let context = "calm ".repeat(LINE_CHARS);
        for context in ["calm", context.trim()] {
            let reason = format!(
                r#"{{"verdict":"review","reason":"The policy says of `x` on {context}: look","inputs":{{"dimension":{{"tool":"x","context":"{context}"}}}}}}"#
            );
            assert!(!said("decision.made", &reason, decision).contains("calm"), "{reason}");
        }
    }
}
