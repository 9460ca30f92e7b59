//! The ledgers that an anchor remembers, compared with those that are there.

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use bitacora_formats::{Keyring, LedgerName, UnverifiedTreeHead};
use bitacora_ledger::{Anchor, AnchorError, Options};
use tokio::time::Instant;

use crate::ledgers::slot::Slot;
use crate::limits::MAX_UNANCHORED;

/// The ledgers of one keyring that an anchor remembers.
#[derive(Debug)]
pub struct AnchoredLedgers {
    /// Their names, as far as the anchor told them.
    pub names: BTreeSet<LedgerName>,
    /// The first answer that was none. There may be ledgers that are not among the names.
    pub failure: Option<AnchorError>,
}

impl AnchoredLedgers {
    /// Asks the anchor. A head that cannot be read hides no other one.
    #[must_use]
    pub fn ask(anchor: &dyn Anchor, keyring: &Keyring) -> Self {
        let mut this = Self { names: BTreeSet::new(), failure: None };
        let listed = anchor.ledgers().unwrap_or_else(|error| {
            this.failure = Some(error);
            Vec::new()
        });
        for name in listed {
            match anchor.load(&name) {
                Ok(Some(note)) if is_by(&note, keyring) => drop(this.names.insert(name)),
                Ok(_) => (),
                Err(error) => drop(this.failure.get_or_insert(error)),
            }
        }
        this
    }
}

/// Returns `true` for the note of a tree head that a key of this keyring signed.
fn is_by(note: &str, keyring: &Keyring) -> bool {
    let head = UnverifiedTreeHead::parse(note).ok();
    head.is_some_and(|head| head.verify_with_chain(keyring.signing_chain()).is_ok())
}

/// An anchor that could not say at the start which ledgers it remembers.
#[derive(Debug, Clone)]
pub struct UnlistedAnchor {
    /// Its answer.
    pub answer: String,
    /// The ledgers that are not missed: their owner gave them up, or has them elsewhere.
    pub given_up: Vec<LedgerName>,
}

/// The anchor's list of ledgers, while it is still to be told.
pub(crate) struct AnchorList {
    unlisted: ArcSwapOption<PendingAnchorList>,
    given_up: Vec<LedgerName>,
}

/// An anchor that has not said which ledgers it remembers.
struct PendingAnchorList {
    /// The start of the service.
    since: Instant,
    /// Its last answer.
    answer: String,
}

impl AnchorList {
    pub(crate) fn new(anchor: Option<UnlistedAnchor>) -> Self {
        let (answer, given_up) = anchor.map(|anchor| (anchor.answer, anchor.given_up)).unzip();
        let unlisted = answer.map(|answer| PendingAnchorList { since: Instant::now(), answer });
        Self { unlisted: ArcSwapOption::from_pointee(unlisted), given_up: given_up.unwrap_or_default() }
    }

    /// Returns `true` for a ledger that is to be there.
    pub(crate) fn expects(&self, name: &LedgerName) -> bool {
        !self.given_up.contains(name)
    }

    pub(crate) fn is_awaited(&self) -> bool {
        self.unlisted.load().is_some()
    }

    /// The words for the operator, while it is awaited. `true`: the service is not ready without it. A silent anchor that may be out of
    /// reach is borne for a while.
    pub(crate) fn why(&self, options: &Options) -> Option<(String, bool)> {
        let unlisted = self.unlisted.load_full()?;
        let is_required = options.heads.as_ref().is_some_and(|heads| heads.anchor_required);
        let why = format!(
            "the anchor has not said which ledgers it remembers; it is asked again: {}",
            unlisted.answer
        );
        Some((why, is_required || unlisted.since.elapsed() > MAX_UNANCHORED))
    }

    /// The anchor, while its list is awaited.
    pub(crate) fn anchor_to_ask(&self, options: &Options) -> Option<Arc<dyn Anchor>> {
        options.heads.as_ref().filter(|_| self.is_awaited())?.anchor.clone()
    }

    /// Takes what the anchor answered last.
    pub(crate) fn take(&self, failure: Option<AnchorError>) {
        let Some(before) = self.unlisted.load_full() else { return };
        if failure.is_none() {
            tracing::info!("the anchor has said which ledgers it remembers");
        }
        let still = failure.map(|error| PendingAnchorList { since: before.since, answer: error.to_string() });
        self.unlisted.store(still.map(Arc::new));
    }
}

/// The place of a ledger that the anchor alone knows.
pub(crate) fn missing(name: &LedgerName) -> Slot {
    tracing::error!(ledger = %name, "the anchor remembers a ledger that is missing; restore it");
    let why = "the anchor remembers it, and it is missing in the data folder; restore it and start again, or start with \
               --without-ledger and its name if it is given up or stands in another data folder";
    Slot::Failed(why.to_owned())
}
