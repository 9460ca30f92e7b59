//! The order of a thread's checkpoints by their ids, in pages: rows are ordered by numbers alone.

use serde::{Deserialize, Serialize};

use crate::limits::ORDER_PAGE_ENTRIES;
use crate::models::{FoldError, ModelError, RowKey, Rows, View};

/// Of a thread: which pages there are.
pub(super) const PAGES: u8 = 4;
/// Of a thread: the entries of its pages, by their numbers.
pub(super) const PAGE: u8 = 5;

/// Between id and subgraph; neither holds one, and it sorts before everything.
const BETWEEN: char = '\0';

/// A checkpoint of a thread, or one that writes wait for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct OrderEntry(String);

impl OrderEntry {
    pub(super) fn new(id: &str, namespace: &str) -> Self {
        Self(format!("{id}{BETWEEN}{namespace}"))
    }

    pub(super) fn id(&self) -> &str {
        self.0.split_once(BETWEEN).map_or(&self.0, |(id, _)| id)
    }

    pub(super) fn namespace(&self) -> &str {
        self.0.split_once(BETWEEN).map_or("", |(_, namespace)| namespace)
    }

    pub(super) fn weight(&self) -> u64 {
        self.0.len() as u64
    }
}

/// One page: its number, and an entry that none of it comes before.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct OrderPage {
    least: OrderEntry,
    number: u64,
}

type OrderPages = Vec<OrderPage>;

/// The page that an entry stands in, or would.
fn place(pages: &OrderPages, entry: &OrderEntry) -> usize {
    pages.partition_point(|page| page.least <= *entry).saturating_sub(1)
}

fn keys(rows: &Rows<'_>, thread: &str) -> (RowKey, RowKey) {
    (rows.key(PAGES, &[thread]), rows.key(PAGE, &[thread]))
}

/// Adds an entry; does nothing for one that is there.
pub(super) fn insert(rows: &mut Rows<'_>, thread: &str, entry: &OrderEntry) -> Result<(), FoldError> {
    let (pages_key, page_key) = keys(rows, thread);
    let mut pages: OrderPages = rows.row(&pages_key)?.unwrap_or_default();
    if pages.is_empty() {
        pages.push(OrderPage { least: entry.clone(), number: 0 });
        rows.put(&pages_key, &pages)?;
    }
    let at = place(&pages, entry);
    let next = pages.iter().map(|page| page.number).max().map_or(0, |number| number + 1);
    let is_last = at + 1 == pages.len();
    let Some(page) = pages.get_mut(at) else { return Ok(()) };
    let key = page_key.at(page.number);
    let mut entries: Vec<OrderEntry> = rows.row(&key)?.unwrap_or_default();
    let Err(within) = entries.binary_search(entry) else { return Ok(()) };
    let mut changed = false;
    if *entry < page.least {
        page.least = entry.clone();
        changed = true;
    }
    if entries.len() < ORDER_PAGE_ENTRIES {
        entries.insert(within, entry.clone());
    } else {
        // Ids mostly come in their order: then full pages stay full.
        let keep = if is_last && within == entries.len() { within } else { entries.len() / 2 };
        let mut upper = entries.split_off(keep);
        if within >= keep {
            upper.insert(within - keep, entry.clone());
        } else {
            entries.insert(within, entry.clone());
        }
        if let Some(least) = upper.first().cloned() {
            rows.put(&page_key.at(next), &upper)?;
            pages.insert(at + 1, OrderPage { least, number: next });
            changed = true;
        }
    }
    if changed {
        rows.put(&pages_key, &pages)?;
    }
    Ok(rows.put(&key, &entries)?)
}

/// Takes an entry away, if it is there.
pub(super) fn remove(rows: &mut Rows<'_>, thread: &str, entry: &OrderEntry) -> Result<(), FoldError> {
    let (pages_key, page_key) = keys(rows, thread);
    let mut pages: OrderPages = rows.row(&pages_key)?.unwrap_or_default();
    let at = place(&pages, entry);
    let Some(page) = pages.get(at) else { return Ok(()) };
    let key = page_key.at(page.number);
    let mut entries: Vec<OrderEntry> = rows.row(&key)?.unwrap_or_default();
    let Ok(within) = entries.binary_search(entry) else { return Ok(()) };
    entries.remove(within);
    if !entries.is_empty() {
        return Ok(rows.put(&key, &entries)?);
    }
    rows.remove(&key)?;
    pages.remove(at);
    let stored = if pages.is_empty() { rows.remove(&pages_key) } else { rows.put(&pages_key, &pages) };
    Ok(stored?)
}

/// All entries, in their order.
pub(super) fn all(rows: &mut Rows<'_>, thread: &str) -> Result<Vec<OrderEntry>, FoldError> {
    let (pages_key, page_key) = keys(rows, thread);
    let pages: OrderPages = rows.row(&pages_key)?.unwrap_or_default();
    let mut all = Vec::new();
    for page in pages {
        all.extend(rows.row::<Vec<OrderEntry>>(&page_key.at(page.number))?.unwrap_or_default());
    }
    Ok(all)
}

/// The entries before one, or all, the greatest first.
pub(super) fn before<'v>(
    view: &'v View,
    thread: &str,
    bound: Option<OrderEntry>,
) -> Result<impl Iterator<Item = Result<OrderEntry, ModelError>> + 'v, ModelError> {
    let page_key = view.key(PAGE, &[thread]);
    let mut pages: OrderPages = view.row(&view.key(PAGES, &[thread]))?.unwrap_or_default();
    if let Some(bound) = &bound {
        let kept = pages.partition_point(|page| page.least < *bound);
        pages.truncate(kept);
    }
    let pages = pages.into_iter().rev();
    Ok(pages.flat_map(move |page| {
        let (entries, failed) = match view.row::<Vec<OrderEntry>>(&page_key.at(page.number)) {
            Ok(entries) => (entries.unwrap_or_default(), None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        let bound = bound.clone();
        let entries = entries.into_iter().rev();
        let entries = entries.filter(move |entry| bound.as_ref().is_none_or(|bound| entry < bound));
        failed.into_iter().chain(entries.map(Ok))
    }))
}
