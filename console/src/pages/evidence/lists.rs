//! Archives and erasures, as the ledger recorded them.

use bitacora_api::{ArchiveList, StoredEventPage};
use maud::{Markup, html};
use serde::Deserialize;

use crate::components::{event_link, moment_cell, next_link, text};
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// The members of `subject.erased` that the page shows.
#[derive(Deserialize)]
struct Erasure {
    key: String,
    authority: String,
    #[serde(default)]
    by: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct ErasureEvent {
    data: Erasure,
}

pub(super) fn archive_table(visit: &Visit, list: &ArchiveList) -> Table {
    let rows = list.archives.iter().map(|archive| {
        vec![
            TableCell::text(&archive.archive),
            TableCell::text(&archive.first),
            TableCell::text(&archive.last),
            TableCell::count(archive.bytes),
            TableCell::maybe(archive.store.as_deref()),
            moment_cell(&visit.zone, &archive.sealed),
            TableCell::new(&archive.manifest_sha256, html! { code { (text(&archive.manifest_sha256)) } }),
        ]
    });
    Table {
        caption: "Archives".to_owned(),
        columns: vec![
            TableColumn::text("Archive"),
            TableColumn::number("First"),
            TableColumn::number("Last"),
            TableColumn::number("Bytes"),
            TableColumn::text("Store"),
            TableColumn::text("Sealed"),
            TableColumn::text("SHA-256 of its manifest"),
        ],
        rows: rows.collect(),
        empty: "No event lies in an archive: all of them are in the data folder.",
    }
}

pub(super) fn archives(visit: &Visit, list: &ArchiveList) -> Markup {
    html! {
        section #archives data-fresh {
            h2 { "Archives" }
            (archive_table(visit, list).markup())
            (next_link(visit, list.next.as_deref()))
        }
    }
}

pub(super) fn erasures(visit: &Visit, page: &StoredEventPage) -> Markup {
    let rows = page.events.iter().map(|stored| {
        let event = serde_json::from_str::<ErasureEvent>(stored.event.get()).ok();
        let data = event.as_ref().map(|event| &event.data);
        vec![
            TableCell::new(&stored.position, event_link(visit, &stored.position)),
            moment_cell(&visit.zone, &stored.recorded_at),
            TableCell::maybe_chosen(data.map(|data| data.key.as_str())),
            TableCell::maybe_chosen(data.map(|data| data.authority.as_str())),
            TableCell::maybe_chosen(data.and_then(|data| data.by.as_deref())),
            TableCell::maybe_chosen(data.and_then(|data| data.reason.as_deref())),
        ]
    });
    let table = Table {
        caption: "Erasures of data subjects".to_owned(),
        columns: vec![
            TableColumn::number("Position"),
            TableColumn::text("Recorded"),
            TableColumn::text("Key"),
            TableColumn::text("Authority"),
            TableColumn::text("Asked for by"),
            TableColumn::text("Reason"),
        ],
        rows: rows.collect(),
        empty: "No data subject was erased.",
    };
    html! { section #erasures data-fresh { h2 { "Erasures" } (table.markup()) } }
}
