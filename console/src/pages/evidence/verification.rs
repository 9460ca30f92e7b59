//! Verifications by the service: started here, followed here.

use bitacora_api::{VerificationAnswer, VerificationList, VerificationResult, paths};
use http::Method;
use maud::{Markup, html};

use crate::components::{Fact, Tone, act_fields, badge, facts, grouped, mebibytes, moment, name, text};
use crate::page::Done;
use crate::page_error::PageError;
use crate::visit::Visit;

/// Starts one.
pub(crate) async fn start(visit: &Visit) -> Result<Done, PageError> {
    let path = visit.api(paths::VERIFICATIONS, &[], "");
    let started: VerificationAnswer = visit.send(Method::POST, &path, &()).await?;
    let notice = format!("Verification {} has begun.", started.verification);
    Ok(Done { to: visit.page(&["evidence"]) + "#verification", notice })
}

/// The last verification with its progress, and the way to another one.
pub(super) fn section(visit: &Visit, runs: &VerificationList) -> Result<Markup, PageError> {
    let last = runs.verifications.first();
    let is_running = last.is_some_and(|last| last.state == "running");
    Ok(html! {
        section #verification.sheet data-fresh data-poll[is_running] {
            h2 { "Is the record whole?" }
            @match last {
                None => { p { "Not verified since the service started. A verification reads every byte of the ledger's files again. It compares chain, signatures and tree with the key and the head that the service remembers." } }
                Some(last) => { (run(visit, last)) }
            }
            @if visit.caller.role != "agent" && !is_running {
                form method="post" action=(visit.page(&["evidence", "verify"])) {
                    (act_fields(visit)?)
                    button data-key="v" { @if last.is_some() { "Verify again" } @else { "Verify now" } }
                }
            }
            p.note { "This is the service's own word. For proof, check a bundle or a copy elsewhere, with a key and a head that you keep: see below." }
            @if runs.verifications.len() > 1 {
                details { summary { "Earlier verifications" }
                    @for earlier in runs.verifications.iter().skip(1) { (run(visit, earlier)) } }
            }
        }
    })
}

fn run(visit: &Visit, run: &VerificationAnswer) -> Markup {
    let percent = (run.bytes_checked * 100).checked_div(run.bytes).unwrap_or(0);
    html! {
        div.verification {
            @match &run.result {
                Some(result) => { (outcome(result)) }
                None if run.state == "failed" => { p { (badge("failed", Tone::Bad)) " It ended without a result; the service's log says why." } }
                None => {
                    p { (badge("running", Tone::Waits)) " " (percent) " % of " (mebibytes(run.bytes)) }
                    progress max=(run.bytes.max(1)) value=(run.bytes_checked) aria-label="Checked" { (percent) " %" }
                }
            }
            p.note { (text(&run.verification)) ", started by " (name(&run.by)) " at " (moment(&visit.zone, &run.started))
                @if let Some(ended) = &run.ended { ", ended " (moment(&visit.zone, ended)) } "." }
        }
    }
}

fn outcome(result: &VerificationResult) -> Markup {
    let (words, tone) = match result.verdict.as_str() {
        "verified" => {
            ("Whole: every byte is what the ledger's keys vouch for, up to the last signed head.", Tone::Good)
        }
        "alone" => ("Whole in itself. There was no key or head to compare it with.", Tone::Good),
        "incomplete" => ("Incomplete: something that had to be checked could not be.", Tone::Waits),
        "another" => {
            ("Not the history that the service remembers: it was rolled back or replaced.", Tone::Bad)
        }
        _ => ("Invalid: something was changed, moved or removed.", Tone::Bad),
    };
    html! {
        p { (badge(&result.verdict, tone)) " " (words) }
        @if let Some(fault) = &result.fault { p.notice.refusal role="alert" { (text(fault)) } }
        @for gap in &result.gaps { p.notice.refusal { (text(gap)) } }
        (facts([
            Fact::text("Checked to position", result.position.as_deref()),
            Fact::new("Events", html! { (grouped(result.events)) }),
            Fact::new("Tree leaves", html! { (grouped(result.leaves)) }),
            Fact::new("Segments", html! { (grouped(result.segments)) }),
            Fact::new("Signatures", html! { (grouped(result.signatures)) }),
            Fact::new("Tree heads", html! { (grouped(result.heads)) }),
            Fact::new("Exit code", html! { (result.exit_code) }),
        ]))
    }
}
