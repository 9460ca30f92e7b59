//! The ledger's health: whether it takes events, how far it is signed, and whether the read models keep up.

use bitacora_api::{GapList, HeadAnswer, LedgerAnswer, ProjectionAnswer, ProjectionList, StoredEvent, paths};
use maud::{Markup, html};

use crate::components::{
    Fact, Tone, badge, call_link, event_link, facts, from_now, grouped, ledger_badge, sentence, text,
    verdict_badge,
};
use crate::form::query;
use crate::head_note::HeadNote;
use crate::page_error::PageError;
use crate::visit::Visit;

/// Pages of read models that are looked through for this ledger's.
const MOST_PAGES: usize = 4;
/// Gaps that are counted.
const GAPS: &str = "?limit=100";

pub(super) async fn part(visit: &Visit, head: &HeadAnswer) -> Markup {
    let (state, ready, signed, models, gaps) =
        tokio::join!(state(visit), ready(visit), signed(visit, head), models(visit), gaps(visit));
    html! {
        h2 { a href=(visit.page(&["evidence"])) { "The ledger" } }
        div.sheet {
            (facts([
                Fact::new("State", or_reason(state)),
                Fact::new("Service", ready),
                Fact::new("Last event", html! { (event_link(visit, &head.position)) ", " (from_now(&visit.zone, &head.time)) }),
                Fact::new("Signed tree head", or_reason(signed)),
                Fact::new("Read models", or_reason(models)),
                Fact::new("Gaps", or_reason(gaps)),
            ]))
            details { summary { "Hashes of the head" } p { "Chain " code { (text(&head.hash)) } } p { "Tree root " code { (text(&head.tree_root)) } } }
        }
    }
}

fn or_reason(part: Result<Markup, PageError>) -> Markup {
    part.unwrap_or_else(|error| html! { (badge("not known", Tone::Bad)) " " (sentence(&error.to_string())) })
}

async fn state(visit: &Visit) -> Result<Markup, PageError> {
    let ledger = visit.get::<LedgerAnswer>(paths::LEDGER, &[], "").await?.value;
    let waiting = ledger.queue_requests.unwrap_or_default();
    Ok(html! { (ledger_badge(&ledger.state))
    @if let Some(why) = &ledger.why { " " (text(why)) }
    @if waiting > 0 { " " (waiting) " requests wait to be written" } })
}

/// Returns whether the service is ready, and why not.
async fn ready(visit: &Visit) -> Markup {
    match visit.interface.get_text(paths::READYZ).await {
        Ok(answered) => {
            let notes =
                answered.value.trim().strip_prefix("ready").unwrap_or(&answered.value).trim().to_owned();
            html! { (badge("ready", Tone::Good)) @if !notes.is_empty() { " " (text(&notes)) } }
        }
        Err(error) => html! { (badge("not ready", Tone::Bad)) " " (sentence(&error.to_string())) },
    }
}

/// Returns how much of the ledger the last signed tree head covers.
async fn signed(visit: &Visit, head: &HeadAnswer) -> Result<Markup, PageError> {
    let Some(note) = HeadNote::of(visit, paths::TREE_HEAD).await? else { return Ok(html! { "none yet" }) };
    let size = note.size.parse::<u64>().ok();
    let size = size.ok_or_else(|| PageError::Field("the tree head names no size".to_owned()))?;
    let behind = head.position.parse::<u64>().unwrap_or_default().saturating_sub(size);
    let first_unsigned = (size + 1).to_string();
    let unsigned = match behind {
        0 => None,
        _ => visit.get::<StoredEvent>(paths::EVENT, &[&first_unsigned], "").await.ok(),
    };
    let covered = visit.get::<StoredEvent>(paths::EVENT, &[&size.to_string()], "").await.ok();
    Ok(html! {
        "covers " @if behind == 0 { "all " } (grouped(size)) " events"
        @if let Some(covered) = covered { ", the last from " (from_now(&visit.zone, &covered.value.recorded_at)) }
        @if let Some(unsigned) = unsigned { "; " (grouped(behind)) " more since " (from_now(&visit.zone, &unsigned.value.recorded_at)) }
    })
}

/// Returns the read models of this ledger. The list is of all ledgers, by name.
async fn models_of(visit: &Visit) -> Result<Vec<ProjectionAnswer>, PageError> {
    let mut path = paths::PROJECTIONS.to_owned();
    for _ in 0..MOST_PAGES {
        let mut list = visit.interface.get::<ProjectionList>(&path).await?.value;
        list.projections.retain(|model| model.ledger == visit.ledger);
        match list.next {
            Some(next) if list.projections.is_empty() => {
                path = paths::PROJECTIONS.to_owned() + &query([("after", next.as_str())].into_iter());
            }
            _ => return Ok(list.projections),
        }
    }
    Ok(Vec::new())
}

async fn models(visit: &Visit) -> Result<Markup, PageError> {
    let own = models_of(visit).await?;
    let most = own.iter().map(|model| model.lag).max().unwrap_or_default();
    let faulty = || own.iter().filter(|model| model.state != "ok");
    Ok(html! {
        @if own.is_empty() { "none" }
        @else if faulty().next().is_none() { (badge("ok", Tone::Good)) " " (own.len()) ", "
            @if most == 0 { "all up to date" } @else { "at most " (grouped(most)) " events behind" } }
        @else { ul.plain { @for model in faulty() {
            li { (text(&model.name)) " " (verdict_badge(&model.state)) " " (model.lag) " events behind"
                @if let Some(why) = &model.why { ": " (text(why)) } }
        } } }
    })
}

async fn gaps(visit: &Visit) -> Result<Markup, PageError> {
    let list = visit.get::<GapList>(paths::GAPS, &[], GAPS).await?.value;
    let Some(newest) = list.gaps.first() else {
        return Ok(html! { "none: the record of every call is complete" });
    };
    Ok(html! {
        (badge(&format!("{}{}", list.gaps.len(), if list.next.is_some() { "+" } else { "" }), Tone::Waits))
        " calls whose record is incomplete; the newest, " (call_link(visit, &newest.call)) ", has no " (text(&newest.missing)) ", " (from_now(&visit.zone, &newest.recorded))
    })
}
