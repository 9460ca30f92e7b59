//! Evidence bundles: events in one file, with all that a stranger needs to check them offline.
//!
//! Layout: `docs/formats/bundle.md`.

mod archive;
mod gathered;
mod manifest;
mod places;

use std::sync::Arc;

use bitacora_formats::{After, LedgerKeys, LedgerName, Micros, Position};
use bitacora_ledger::limits::MAX_PAGE_EVENTS;
use bitacora_ledger::{Filter, PublishedHead, ReadFrom, ReadQuery};
use bitacora_projector::IndexedLedger;

use self::gathered::Gathered;
use self::manifest::{Manifest, Span, sealed};
pub(crate) use self::places::BundlePlaces;
use crate::api::Api;
use crate::problem::{Code, Problem};

/// The events that a bundle is asked for.
pub(crate) struct Selection {
    pub(crate) after: After,
    /// The last position; where it is left out, the last one that a signed tree head covers.
    pub(crate) until: Option<Position>,
    pub(crate) since: Option<Micros>,
    pub(crate) before: Option<Micros>,
    pub(crate) session: Option<String>,
    pub(crate) run: Option<String>,
}

/// A ledger, as a bundle names and opens it.
pub(crate) struct BundleSource {
    pub(crate) name: LedgerName,
    pub(crate) ledger: IndexedLedger,
    /// The note of its signing keys.
    pub(crate) signing_keys: String,
    pub(crate) keys: LedgerKeys,
}

impl Selection {
    fn filter(&self) -> Filter {
        Filter {
            session: self.session.clone(),
            run: self.run.clone(),
            since: self.since,
            before: self.before,
            ..Filter::default()
        }
    }
}

/// Returns the file of the selected events, under this signed tree head or a cosigned one that covers them too.
pub(crate) async fn make(
    api: &Api,
    source: BundleSource,
    selection: Selection,
    last_head: Arc<PublishedHead>,
) -> Result<Vec<u8>, Problem> {
    let until = selection.until.or(Position::new(last_head.size));
    let mut query = ReadQuery {
        from: ReadFrom::After(selection.after),
        until,
        limit: MAX_PAGE_EVENTS,
        filter: selection.filter(),
    };
    let source = Arc::new(source);
    let mut gathered = Gathered::default();
    loop {
        let (from, asked) = (Arc::clone(&source), query.clone());
        let (next, taken) = api
            .read_in_turn(move || {
                let next = gathered.take_page(&from.ledger, &from.keys, &asked)?;
                Ok((next, gathered))
            })
            .await?;
        gathered = taken;
        match next {
            Some(next) => query.from = next,
            None => break,
        }
    }
    let Some(span) = gathered.span() else {
        return Err(Problem::new(Code::NotFound, "no event that a signed tree head covers matches"));
    };
    let cosigned = source.ledger.witnessed_head().filter(|head| head.size >= span.1.get());
    let head = cosigned.unwrap_or(last_head);
    let from = (selection.after, until);
    api.read_in_turn(move || {
        let proofs = gathered.proofs(&source.ledger, &head)?;
        let span = Span { from, events: gathered.count(), positions: span };
        let manifest = Manifest::new(&source.name, &selection, &span, &head);
        sealed(manifest, &source, &head, &gathered.into_events(), &proofs)
    })
    .await
}
