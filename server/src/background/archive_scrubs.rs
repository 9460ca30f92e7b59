//! The scrubs over the ledgers' archives, on the archiver's thread while nothing is to be archived.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use bitacora_archiver::{ArchiveScrub, Archiver};
use bitacora_formats::LedgerName;
use bitacora_ledger::ScrubOptions;
use bitacora_projector::IndexedLedger;

use crate::api::Api;
use crate::ledgers::slot::Slot;

/// The time that one ledger's scrub has before the next one's goes on.
const TURN: Duration = Duration::from_secs(1);

/// The scrub of each ledger.
pub(super) struct ArchiveScrubs {
    /// `None` if nothing is scrubbed.
    options: Option<ScrubOptions>,
    by_ledger: BTreeMap<LedgerName, ArchiveScrub>,
}

impl ArchiveScrubs {
    pub(super) fn new(options: Option<ScrubOptions>) -> Self {
        Self { options, by_ledger: BTreeMap::new() }
    }

    /// Goes on with each scrub in turn, until this time. Returns `false` if all of them rest.
    pub(super) fn go_on(
        &mut self,
        api: &Api,
        until: Instant,
        archiver: impl Fn(&LedgerName, &IndexedLedger) -> Archiver,
    ) -> bool {
        let Some(options) = self.options else { return false };
        let mut has_worked = false;
        for (name, slot) in api.ledgers.all().iter() {
            let Slot::Open(ledger) = slot else { continue };
            let scrub = self.by_ledger.entry(name.clone()).or_insert_with(|| ArchiveScrub::new(options));
            let now = Instant::now();
            if scrub.is_resting() || now >= until {
                continue;
            }
            has_worked = true;
            let archiver = archiver(name, ledger);
            let turn = AssertUnwindSafe(|| archiver.scrub(scrub, until.min(now + TURN)));
            match catch_unwind(turn) {
                Ok(Ok(found)) => {
                    for what in found {
                        tracing::error!(ledger = %name, "{what}; bring a copy of it back");
                    }
                }
                Ok(Err(error)) => {
                    tracing::warn!(ledger = %name, %error, "the scrub could not read the archives; a later round tries again");
                }
                Err(_) => {
                    tracing::error!(ledger = %name, "the scrub of archives panicked; a later round tries again");
                    scrub.give_up();
                }
            }
        }
        has_worked
    }
}
