//! The whole story of a call: request, decision, approval, outcome, what followed, and where each of it stands.

use bitacora_api::{CallAnswer, CallList, DecisionAnswer, StoredEvent, StoredEventPage, paths};
use maud::{Markup, html};

use super::ladder::ladder;
use crate::command_line::CommandLine;
use crate::components::{
    Fact, approval_link, arguments, code_name, duration, event_link, exact_usd, facts, long_text, micro_usd,
    moment, name, quoted, reason, run_link, session_link, standing_badge, text, verdict_badge,
};
use crate::form::query;
use crate::interface::Answered;
use crate::limits::PAGE_ROWS;
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::pages::history::{Clock, Event, summary, timeline};
use crate::visit::Visit;

/// All that a story is told from.
struct Story<'a> {
    visit: &'a Visit,
    call: &'a CallAnswer,
    decision: Option<DecisionAnswer>,
    events: &'a [Event<'a>],
}

/// Shows one call.
pub(crate) async fn one(visit: &Visit, id: &str) -> Result<Page, PageError> {
    let answered = find(visit, id).await?;
    let call = &answered.value;
    let others = others(visit, call).await?;
    let (stored, next) = events(visit, call, &others).await?;
    let read: Vec<_> = stored.iter().map(Event::read).collect();
    let decision = match &call.decision {
        Some(made) => Some(visit.get::<DecisionAnswer>(paths::DECISION, &[&made.position], "").await?.value),
        None => None,
    };
    let answer = answer_to_approval(visit, call).await?;
    let story = Story { visit, call, decision, events: &read };
    let clock = if call.imported { Clock::Own } else { Clock::Ledger };
    let content = html! {
        section #call data-fresh {
            (also_named_so(visit, call, &others))
            (story.head())
            (story.verdict())
            (story.request())
            (story.steps())
            (story.approval(answer.as_ref()))
            (story.outcome())
            (story.consequences())
        }
        h2 { "Every event of this call" }
        section #events data-fresh {
            (timeline(visit, &stored, clock))
            @if let Some(next) = next { p { a href=(all_events(visit, id, &next)) { "More events of this call" } } }
        }
    };
    let mut page = Page::new(Section::Calls, format!("Call {}", quoted(id)), content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::CALL, &[id], ""));
    page.command = Some(CommandLine::new(visit, "calls").argument(id).line());
    Ok(page)
}

/// Returns the call that has this id, or that one among those that had it whose position the query names.
async fn find(visit: &Visit, id: &str) -> Result<Answered<CallAnswer>, PageError> {
    let Some(at) = visit.query.get("at") else {
        return visit.get::<CallAnswer>(paths::CALL, &[id], "").await;
    };
    let asked = query([("call", id), ("limit", "1000")].into_iter());
    let list = visit.get::<CallList>(paths::CALLS, &[], &asked).await?;
    let found = list.value.calls.into_iter().find(|call| call.position == at);
    let found = found.ok_or_else(|| {
        PageError::Nothing(format!("no call {} is recorded at position {}", quoted(id), quoted(at)))
    })?;
    Ok(Answered { value: found, position: list.position })
}

/// Returns the positions of all calls that had the id of this one, the newest first; of this one alone where it is the only one.
async fn others(visit: &Visit, call: &CallAnswer) -> Result<Vec<u64>, PageError> {
    let place = |call: &CallAnswer| call.position.parse::<u64>().unwrap_or_default();
    if call.earlier.is_none() && visit.query.get("at").is_none() {
        return Ok(vec![place(call)]);
    }
    let asked = query([("call", call.call.as_str()), ("limit", "100")].into_iter());
    let list = visit.get::<CallList>(paths::CALLS, &[], &asked).await?.value;
    Ok(list.calls.iter().map(place).collect())
}

/// Returns the first events of a call, and the start of the next page of them.
async fn events(
    visit: &Visit,
    call: &CallAnswer,
    others: &[u64],
) -> Result<(Vec<StoredEvent>, Option<String>), PageError> {
    let at = call.position.parse::<u64>().unwrap_or_default();
    let next = others.iter().filter(|other| **other > at).min();
    let is_shared = others.len() > 1;
    let after = at.saturating_sub(1).to_string();
    let until = next.map(|next| (next - 1).to_string());
    let rows = PAGE_ROWS.to_string();
    let fields = [("call", call.call.as_str()), ("limit", rows.as_str())].into_iter();
    let fields = fields.chain(is_shared.then_some(("after", after.as_str())));
    let fields = fields.chain(until.as_deref().map(|until| ("until", until)));
    let page = visit.get::<StoredEventPage>(paths::EVENTS, &[], &query(fields)).await?.value;
    Ok((page.events, page.next))
}

fn all_events(visit: &Visit, id: &str, after: &str) -> String {
    format!("{}{}", visit.page(&["events"]), query([("call", id), ("after", after)].into_iter()))
}

/// Returns the event that answered the approval of a call. It is of the person, and names the approval alone.
async fn answer_to_approval(visit: &Visit, call: &CallAnswer) -> Result<Option<StoredEvent>, PageError> {
    let resolved = call.approval.as_ref().and_then(|approval| approval.resolved_position.as_deref());
    match resolved {
        Some(position) => Ok(Some(visit.get::<StoredEvent>(paths::EVENT, &[position], "").await?.value)),
        None => Ok(None),
    }
}

/// Says that other calls had the same id.
fn also_named_so(visit: &Visit, call: &CallAnswer, others: &[u64]) -> Markup {
    let others: Vec<_> = others.iter().map(u64::to_string).filter(|other| *other != call.position).collect();
    html! { @if !others.is_empty() {
        p.notice { "Other calls had this id, one after another: " @for other in &others {
            a href=(format!("{}?at={other}", visit.page(&["calls", &call.call]))) { "#" (other) } " "
        } }
    } }
}

/// Returns why a call in this state has no outcome.
fn no_outcome(state: &str) -> &'static str {
    match state {
        "denied" | "rejected" => "None: the call was not allowed to run.",
        "pending" => "None yet: the call waits for a person.",
        "expired" | "withdrawn" => "None: nobody allowed the call in time.",
        _ => "None is recorded yet.",
    }
}

impl Story<'_> {
    fn event(&self, kind: &str) -> Option<&Event<'_>> {
        self.events.iter().find(|event| event.kind() == kind)
    }

    fn head(&self) -> Markup {
        let (visit, call) = (self.visit, self.call);
        facts([
            Fact::new("State", html! { (verdict_badge(&call.state)) @if call.late { " reported late" } }),
            Fact::new(
                "Tool",
                html! { strong { (code_name(&call.tool)) } @if let Some(server) = &call.server { " of server " (name(server)) } },
            ),
            Fact::text("Agent", call.agent.as_deref()),
            Fact::new(
                "Asked",
                html! { (moment(&visit.zone, &call.time)) " " (event_link(visit, &call.position)) },
            ),
            self.own_time().and_then(|time| Fact::new("Asked, by its own clock", moment(&visit.zone, time))),
            call.session.as_deref().and_then(|session| Fact::new("Session", session_link(visit, session))),
            call.run.as_deref().and_then(|run| Fact::new("Run", run_link(visit, run))),
            Fact::text("Model", call.model.as_deref()),
            Fact::text("Task", call.task_type.as_deref()),
            Fact::text("Recorded by", call.actor.as_deref()),
            call.imported
                .then(|| {
                    Fact::new(
                        "Recorded",
                        html! { "elsewhere; imported " (moment(&visit.zone, &call.recorded)) },
                    )
                })
                .flatten(),
        ])
    }

    /// The time that a call's own recording tells.
    fn own_time(&self) -> Option<&str> {
        self.event("tool.requested").filter(|_| self.call.imported)?.attribute("time")
    }

    /// The decision in a sentence.
    fn verdict(&self) -> Markup {
        let Some(made) = &self.call.decision else {
            return html! { p.notice.refusal { "No decision is recorded: the call did not pass the gate, or its request is missing." } };
        };
        let is_observed = made.mode == "observe";
        let tone = if made.verdict == "deny" { "refusal" } else { "" };
        html! {
            div.ruling class=(tone) {
                p.sentence {
                    @if is_observed { "Would be " } (verdict_badge(&made.verdict)) " " (reason(&made.reason, &self.call.tool, made.context.as_deref())) " " (event_link(self.visit, &made.position))
                }
                p.note {
                    "Reason " code { (text(&made.reason_code)) }
                    @if let Some(rule) = &made.rule { " · rule " code { (text(rule)) } }
                    @if let Some(version) = &made.policy_version { " · policy version " (version) }
                    @if let Some(context) = &made.context { " · context " (code_name(context)) }
                    @if is_observed { " · in observe mode, so the call could run" }
                }
            }
        }
    }

    fn request(&self) -> Markup {
        let Some(event) = self.event("tool.requested") else { return html! {} };
        html! {
            h2 { "Request " (event_link(self.visit, &event.stored.position)) }
            @if event.stored.erased { p.empty { "Its contents were erased with its data subject." } }
            @else if event.stored.unreadable { p.empty { "Its contents cannot be read: the file of its data subject's key is damaged." } }
            @else if let Some(args) = event.written_arguments() { (arguments(args, None, None)) }
            @else if let Some(digest) = event.word("args_digest") { p { "Arguments not recorded; their SHA-256 is " code { (text(digest)) } } }
            @else { p.empty { "No arguments are recorded." } }
            (facts([
                Fact::text("Folder", event.word("cwd")),
                Fact::text("Idempotency key", event.word("idempotency_key")),
                Fact::text("Expected damage", event.word("blast_radius")),
                event.number("estimated_cost_micro_usd").and_then(|cost| Fact::new("Expected cost", html! { (micro_usd(cost)) })),
            ]))
        }
    }

    fn steps(&self) -> Markup {
        let Some(decision) = &self.decision else { return html! {} };
        let trust = &decision.trust;
        html! {
            h2 { "Decision, step by step " (event_link(self.visit, &decision.position)) }
            (ladder(decision))
            (facts([
                Fact::new("Trust then", html! {
                    (text(&trust.score)) @if let Some(threshold) = &trust.threshold { " of " (text(threshold)) " needed" }
                    " · " (standing_badge(&trust.standing))
                }),
                Fact::new("Breaker", verdict_badge(&decision.breaker)),
                Fact::text("Grant", decision.grant.as_deref()),
                Fact::new("Deadline", moment(&self.visit.zone, &decision.deadline)),
                decision.destinations.as_ref().filter(|all| !all.is_empty()).and_then(|all| Fact::new("Would reach", html! { @for place in all { (code_name(place)) " " } })),
            ]))
        }
    }

    fn approval(&self, answer: Option<&StoredEvent>) -> Markup {
        let Some(approval) = &self.call.approval else { return html! {} };
        let visit = self.visit;
        let note = answer.map(Event::read).and_then(|event| event.word("note").map(str::to_owned));
        html! {
            h2 { "Approval " (event_link(visit, &approval.position)) }
            (facts([
                Fact::new("Approval", approval_link(visit, &approval.id)),
                Fact::new("Asked", moment(&visit.zone, &approval.time)),
                Fact::new("Answer", html! {
                    @match &approval.resolution { Some(answer) => (verdict_badge(answer)), None => (verdict_badge("pending")) }
                    @if let Some(position) = &approval.resolved_position { " " (event_link(visit, position)) }
                }),
                approval.by.as_deref().and_then(|by| Fact::new("By", name(by))),
                approval.waited_ms.and_then(|waited| Fact::new("Waited", html! { (duration(waited)) })),
                note.as_deref().and_then(|note| Fact::new("Note", html! { q { (name(note)) } })),
            ]))
        }
    }

    fn outcome(&self) -> Markup {
        let Some(outcome) = &self.call.outcome else {
            return html! { h2 { "Outcome" } p.empty { (no_outcome(&self.call.state)) } };
        };
        html! {
            h2 { "Outcome " (event_link(self.visit, &outcome.position)) }
            (facts([
                Fact::new("Status", verdict_badge(&outcome.status)),
                outcome.error_type.as_deref().and_then(|error| Fact::new("Error", name(error))),
                outcome.exit_code.and_then(|code| Fact::new("Exit code", html! { (code) })),
                Fact::new("Ended", moment(&self.visit.zone, &outcome.time)),
                outcome.duration_ms.and_then(|took| Fact::new("Took", html! { (duration(took)) })),
                outcome.cost_usd.as_deref().and_then(|cost| Fact::new("Cost", html! { (exact_usd(cost)) })),
                Fact::text("Input", outcome.input_summary.as_deref()),
            ]))
            @if let Some(summary) = &outcome.summary { (long_text(summary)) }
            @if !outcome.artifacts.is_empty() { ul.artifacts { @for artifact in &outcome.artifacts {
                li { (code_name(&artifact.path)) @if let Some(kind) = &artifact.kind { " · " (name(kind)) } }
            } } }
        }
    }

    /// Effects on the ledger's state: trust, breakers, checks, budgets, gaps.
    fn consequences(&self) -> Markup {
        const KINDS: [&str; 10] = [
            "trust.observed",
            "breaker.opened",
            "breaker.half_opened",
            "breaker.closed",
            "budget.charged",
            "budget.exceeded",
            "loop.detected",
            "contract.checked",
            "rollback.executed",
            "coverage.gap",
        ];
        let followed: Vec<_> = self.events.iter().filter(|event| KINDS.contains(&event.kind())).collect();
        html! {
            h2 { "What followed" }
            @if followed.is_empty() { p.empty { "It changed no trust, breaker, budget or contract." } }
            @else { ul.followed { @for event in followed {
                li { span.kind { (text(event.kind())) } " " (summary(self.visit, event)) " " (event_link(self.visit, &event.stored.position)) }
            } } }
        }
    }
}
