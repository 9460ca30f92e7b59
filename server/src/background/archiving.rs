//! ArchiveSettings in the background: one ledger after the other, at a pace that appends do not notice.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bitacora_archiver::{ArchivePace, ArchiveRun, Archiver, ArchiverError, Objects, Outcome, Release, Rules};
use bitacora_formats::LedgerName;
use bitacora_ledger::ScrubOptions;
use bitacora_projector::IndexedLedger;
use tokio::sync::watch;

use crate::api::Api;
use crate::background::archive_scrubs::ArchiveScrubs;
use crate::background::retention::RetentionLooks;
use crate::http::phase::Phase;
use crate::ledgers::slot::Slot;
use crate::limits::{ARCHIVE_PAUSE, FIRST_ARCHIVE_PAUSE, MAX_ARCHIVE_PAUSE, RETENTION_PAUSE};

/// The pause between two looks for the shutdown.
const LOOK_PAUSE: Duration = Duration::from_millis(200);

/// The settings of archiving: the store, the rules and the pace.
#[derive(Clone)]
pub struct ArchiveSettings {
    /// The store.
    pub objects: Arc<dyn Objects>,
    /// The store, in the words of the configuration.
    pub store: String,
    /// The rules that say which events are due. Where they make none due, the archives that are there are looked at all the same.
    pub rules: Rules,
    /// `true` if segments are released once their every event is archived.
    pub releases: bool,
    /// The pauses between two looks for due events.
    pub pauses: ArchivePauses,
    /// The pace of the scrub over archives; `None` does none.
    pub scrub: Option<ScrubOptions>,
}

/// The pauses between two looks for due events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchivePauses {
    /// The pause after the start.
    pub first: Duration,
    /// The pause after a look; after a failure too, and twice as long after each further one of a ledger.
    pub between: Duration,
    /// The longest pause after a failure.
    pub most: Duration,
    /// The pause between two looks for expired events.
    pub retention: Duration,
}

impl Default for ArchivePauses {
    fn default() -> Self {
        Self {
            first: FIRST_ARCHIVE_PAUSE,
            between: ARCHIVE_PAUSE,
            most: MAX_ARCHIVE_PAUSE,
            retention: RETENTION_PAUSE,
        }
    }
}

/// Begins to archive, until the service ends. On threads of their own: a store may be waited for longer than the end of the
/// service waits, and what is cut off goes on with the next one.
///
/// # Errors
/// The system gives no thread.
pub(crate) fn start(api: &Arc<Api>, archiving: Arc<ArcSwap<ArchiveSettings>>) -> std::io::Result<()> {
    let (looking, working) = (Arc::clone(api), Arc::clone(api));
    thread::Builder::new().name("archiver".to_owned()).spawn(move || work(&working, &archiving))?;
    let stop = move || {
        while is_serving(&looking.phase()) {
            thread::sleep(LOOK_PAUSE);
        }
        looking.metrics.archives.stop();
    };
    thread::Builder::new().name("archiver-end".to_owned()).spawn(stop).map(drop)
}

fn is_serving(phase: &watch::Receiver<Phase>) -> bool {
    *phase.borrow() <= Phase::Serving
}

fn work(api: &Api, settings: &ArcSwap<ArchiveSettings>) {
    let phase = api.phase();
    let archiving = settings.load_full();
    let mut retries = Retries::default();
    let mut looked: BTreeMap<LedgerName, Instant> = BTreeMap::new();
    let mut retention = RetentionLooks::every(archiving.pauses.retention);
    let mut next = Instant::now() + archiving.pauses.first;
    let mut scrubs = ArchiveScrubs::new(archiving.scrub);
    while is_serving(&phase) {
        // The rules of each round are those in effect when it begins.
        let archiving = &*settings.load_full();
        if Instant::now() < next {
            if !scrubs.go_on(api, next, |name, ledger| archiver(api, archiving, name, ledger)) {
                thread::sleep(LOOK_PAUSE);
            }
            continue;
        }
        for (name, slot) in api.ledgers.all().iter() {
            let Slot::Open(ledger) = slot else { continue };
            if !is_serving(&phase) {
                break;
            }
            let is_due = retries.is_due(name, Instant::now());
            if is_due {
                let has_failed = archive_and_report(api, archiving, name, ledger);
                retries.ran(name, has_failed, &archiving.pauses);
            }
            // Whatever became of archiving: what a store refuses to take does not keep expired events in the archives that it has.
            retention.look(name, ledger, || archiver(api, archiving, name, ledger));
            let since = looked.get(name).map_or(archiving.pauses.most, Instant::elapsed);
            if is_due && since >= archiving.pauses.most && look(api, archiving, name, ledger) {
                looked.insert(name.clone(), Instant::now());
            }
        }
        next = Instant::now() + archiving.pauses.between;
    }
}

/// The next try of each ledger whose archiving failed. A store that refuses what is packed would have it packed anew each time.
#[derive(Debug, Default)]
struct Retries(BTreeMap<LedgerName, (Duration, Instant)>);

impl Retries {
    fn is_due(&self, ledger: &LedgerName, now: Instant) -> bool {
        self.0.get(ledger).is_none_or(|(_, next)| *next <= now)
    }

    fn ran(&mut self, ledger: &LedgerName, has_failed: bool, pauses: &ArchivePauses) {
        let before = self.0.remove(ledger);
        if has_failed {
            let pause = before.map_or(pauses.between, |(pause, _)| pause.saturating_mul(2).min(pauses.most));
            self.0.insert(ledger.clone(), (pause, Instant::now() + pause));
        }
    }
}

/// Archives what is due of a ledger; whether that failed.
fn archive_and_report(
    api: &Api,
    archiving: &ArchiveSettings,
    name: &LedgerName,
    ledger: &IndexedLedger,
) -> bool {
    let archived = || archive(api, archiving, name, ledger);
    // Archiving goes on with the other ledgers, and with this one later.
    if let Ok(outcome) = catch_unwind(AssertUnwindSafe(archived)) {
        let has_failed = matches!(&outcome, Err(error) if !matches!(error, ArchiverError::Stopped));
        report_outcome(name, outcome);
        return has_failed;
    }
    api.metrics.archives.of(name).ended(true);
    tracing::error!(ledger = %name, "archiving panicked; it is tried again");
    true
}

fn archive(
    api: &Api,
    archiving: &ArchiveSettings,
    name: &LedgerName,
    ledger: &IndexedLedger,
) -> Result<Outcome, ArchiverError> {
    let release = if archiving.releases { Release::IfProven } else { Release::Never };
    let run = ArchiveRun { rules: archiving.rules.clone(), pace: ArchivePace::Background, release };
    archiver(api, archiving, name, ledger).run(&run)
}

/// Looks whether archives are there that hold events which lie nowhere else; whether the store said so.
fn look(api: &Api, archiving: &ArchiveSettings, name: &LedgerName, ledger: &IndexedLedger) -> bool {
    let archiver = archiver(api, archiving, name, ledger);
    let looked = archiver.look();
    match (&looked, archiver.progress().missing()) {
        (Ok(()), Some(missing)) => {
            tracing::error!(ledger = %name, missing, "an archive is missing; its events lie nowhere else");
        }
        (Ok(()), None) => {}
        (Err(error), _) => {
            tracing::warn!(ledger = %name, %error, "it could not be looked whether archives are there");
        }
    }
    looked.is_ok()
}

fn archiver(api: &Api, archiving: &ArchiveSettings, name: &LedgerName, ledger: &IndexedLedger) -> Archiver {
    let (folder, environment) = api.ledgers.place(name);
    let archiver = Archiver::new(
        ledger.ledger().clone(),
        &folder,
        &environment,
        api.ledgers.keyring(),
        Arc::clone(&archiving.objects),
        archiving.store.clone(),
    );
    archiver.with_progress(api.metrics.archives.of(name))
}

fn report_outcome(ledger: &LedgerName, outcome: Result<Outcome, ArchiverError>) {
    match outcome {
        Ok(Outcome { archived, released, is_unproven }) => {
            for one in archived {
                tracing::info!(%ledger, positions = %one.range, bytes = one.bytes, "archived, read back and recorded");
            }
            if let Some(released) = released {
                tracing::info!(%ledger, through = %released.last, segments = released.segments, "archived segments were released");
            }
            if is_unproven {
                tracing::info!(%ledger, "no archived segment is released before the log is proven since it was opened");
            }
        }
        Err(ArchiverError::Stopped) => {}
        Err(error) => tracing::warn!(%ledger, %error, "archiving failed; it is tried again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_again_and_again_is_left_alone_for_longer_each_time_up_to_a_limit() {
        let (ledger, other) = ("main".parse().unwrap(), "other".parse().unwrap());
        let seconds = Duration::from_secs;
        let pauses = ArchivePauses {
            first: seconds(0),
            between: seconds(60),
            most: seconds(200),
            retention: seconds(200),
        };
        let mut retries = Retries::default();
        for pause in [60, 120, 200, 200] {
            let now = Instant::now();
            retries.ran(&ledger, true, &pauses);
            assert!(!retries.is_due(&ledger, now + seconds(pause - 1)), "{pause}");
            assert!(retries.is_due(&ledger, now + seconds(pause + 1)), "{pause}");
            assert!(retries.is_due(&other, now));
        }
        retries.ran(&ledger, false, &pauses);
        assert!(retries.is_due(&ledger, Instant::now()));
        retries.ran(&ledger, true, &pauses);
        assert!(retries.is_due(&ledger, Instant::now() + seconds(61)));
    }
}
