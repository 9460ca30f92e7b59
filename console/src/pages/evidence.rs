//! Evidence: whether the record is whole, and how anybody proves it.

mod bundle;
mod heads;
mod lists;
mod offline;
mod verification;

use bitacora_api::{
    ArchiveList, HeadAnswer, KeysAnswer, LedgerAnswer, StoredEventPage, VerificationList, paths,
};
use maud::{Markup, html};

use crate::components::{Fact, facts, grouped, ledger_badge, moment, not_told, part_or_reason, text};
use crate::head_note::HeadNote;
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::visit::Visit;

pub(crate) use self::bundle::download;
pub(crate) use self::verification::start;

/// Erasures on the page; the newest ones.
const ERASURES: &str = "?type=subject.erased&dir=backward&limit=50";

/// Makes the page.
pub(crate) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let query = visit.query.query_of(&["after"]);
    let erased = async {
        let erased = visit.get::<StoredEventPage>(paths::EVENTS, &[], ERASURES).await;
        part_or_reason(visit, erased.map(|erased| lists::erasures(visit, &erased.value)))
    };
    let archives = async {
        match visit.get::<ArchiveList>(paths::ARCHIVES, &[], &query).await {
            Err(error) if error.is_told_on(visit) => Ok((not_told(&error), None, false)),
            Err(error) => Err(error),
            Ok(told) => {
                let list = told.value;
                let table = lists::archive_table(visit, &list);
                Ok((lists::archives(visit, &list), Some(table), list.next.is_some()))
            }
        }
    };
    let (head, ledger, keys, runs, (archives, archive_table, is_cut), erased, signed, cosigned) = tokio::try_join!(
        visit.get::<HeadAnswer>(paths::HEAD, &[], ""),
        visit.get::<LedgerAnswer>(paths::LEDGER, &[], ""),
        visit.get::<KeysAnswer>(paths::KEYS, &[], ""),
        visit.get::<VerificationList>(paths::VERIFICATIONS, &[], ""),
        archives,
        erased,
        HeadNote::of(visit, paths::TREE_HEAD),
        HeadNote::of(visit, paths::TREE_CHECKPOINT),
    )?;
    let (ledger, keys, runs) = (ledger.value, keys.value, runs.value);

    let content = html! {
        section #whole data-fresh { (standing(visit, &head.value, &ledger, signed.as_ref())) }
        (verification::section(visit, &runs)?)
        (bundle::section(visit, &head.value))
        section #heads data-fresh { (heads::section(visit, signed.as_ref(), cosigned.as_ref())) }
        (keys_section(visit, &keys, &ledger))
        (archives)
        (erased)
        (offline::section(visit, &keys))
    };
    let mut page = Page::new(Section::Evidence, "Evidence", content);
    page.position = head.position;
    page.json = Some(visit.api(paths::KEYS, &[], ""));
    page.command = Some(format!("bitacora verify --ledger {} --data FOLDER", visit.ledger));
    page.table = archive_table;
    page.is_cut = is_cut;
    Ok(page)
}

/// The durable events, the signed ones, and the window between.
fn standing(visit: &Visit, head: &HeadAnswer, ledger: &LedgerAnswer, signed: Option<&HeadNote>) -> Markup {
    let position: u64 = head.position.parse().unwrap_or_default();
    let behind = |size: Option<&str>| {
        size.and_then(|size| size.parse::<u64>().ok()).map(|size| position.saturating_sub(size))
    };
    let unsigned = behind(signed.map(|head| head.size.as_str()));
    html! {
        (facts([
            Fact::new("State", ledger_badge(&ledger.state)),
            Fact::text("Why", ledger.why.as_deref()),
            Fact::new("Events", html! { (grouped(&head.position)) }),
            Fact::new("Not signed yet", window(unsigned, "no head is signed yet")),
            ledger.anchored.as_deref().and_then(|size| Fact::new("Not anchored yet", window(behind(Some(size)), ""))),
            ledger.witnessed.as_deref().and_then(|size| Fact::new("Not cosigned yet", window(behind(Some(size)), ""))),
            Fact::new("Last event", moment(&visit.zone, &head.time)),
            Fact::new("Chain hash", html! { code { (text(&head.hash)) } }),
            Fact::new("Tree root", html! { code { (text(&head.tree_root)) } }),
        ]))
    }
}

/// The events behind a head. The event that a head is about always stands behind it.
fn window(events: Option<u64>, none: &str) -> Markup {
    match events {
        None => html! { (none) },
        Some(0) => html! { "nothing" },
        Some(1) => html! { "1 event" },
        Some(events) => html! { (grouped(events)) " events" },
    }
}

fn keys_section(visit: &Visit, keys: &KeysAnswer, ledger: &LedgerAnswer) -> Markup {
    let verifier = keys.verifier_key.as_deref().unwrap_or("none: this ledger signs no tree heads");
    html! {
        section.sheet aria-labelledby="keys" {
            h2 #keys { "Identity and keys" }
            p { "Keep the verifier key where nobody of this service writes. With it, anybody proves that a tree head, a bundle or a copy is this ledger's." }
            p.copied { code #verifier-key { (text(verifier)) } " " button.quiet type="button" data-copy="verifier-key" { "Copy" } }
            (facts([
                Fact::new("Ledger", html! { code { (text(ledger.id.as_deref().unwrap_or("unknown"))) } }),
                Fact::new("Created", html! { @if let Some(time) = &keys.created { (moment(&visit.zone, time)) } }),
                Fact::new("Opening", html! { (keys.epoch.as_deref().unwrap_or("unknown")) @if let Some(time) = &keys.opened { ", " (moment(&visit.zone, time)) } }),
                Fact::new("Signing key", html! { @if let Some(key) = keys.signing_keys.last() { (key.number) ": " code { (text(&key.key)) } } }),
                Fact::new("Answer key", html! { code { (text(&keys.answer_key)) } }),
            ]))
        }
    }
}
