//! Content on which decisions rest expires behind an archived state alone; what is restored is archived again.

use std::fs;

use bitacora_archive_format::Manifest;
use bitacora_archiver::{
    ArchiveRun, Archiver, ExpiryMode, ExpiryResult, NoStateBehind, Release, RetainedEvent, Retention,
};
use bitacora_formats::{Data, Event, Json, Position};
use bitacora_ledger::{AppendRequest, Ledger, Options, ReactorChoice};

use super::expiring_ledger::{ExpiringLedger, Multiples, PACE, events};
use super::fixture::{ArchiveFixture, forced, options, wait_until};

/// Expires reports of models, which decisions rest on, and the events that go by themselves.
struct Reports;

impl Retention for Reports {
    fn policy(&self) -> Position {
        Position::new(7).unwrap()
    }

    fn concerns(&self, manifest: &Manifest) -> bool {
        manifest.kinds.iter().any(|(kind, _)| kind == "run.started")
    }

    fn expires(&self, event: &RetainedEvent<'_>) -> bool {
        event.record.kind == "run.started" || event.record.id == "e3"
    }
}

fn begin_runs(ledger: &Ledger, from: u64) {
    for number in from..from + 100 {
        let mut event = Event::new(format!("run{number}"), "urn:test", "run.started", "runs");
        let data = format!(r#"{{"run": "r{number}", "kind": "graph"}}"#);
        event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
        ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap();
    }
}

/// A ledger whose first archive holds events that decisions rest on, behind a ledger's options.
fn with_runs(options: &Options) -> (ArchiveFixture, Ledger) {
    let fixture = ArchiveFixture::new();
    let open =
        || Ledger::open(&fixture.environment, &fixture.ledger(), fixture.keyring.clone(), options.clone());
    for from in [1, 10_000] {
        let ledger = open().unwrap();
        begin_runs(&ledger, from);
        fixture.fill(&ledger, from, 3_000);
        fixture.archive_all(&ledger);
        ledger.close().unwrap();
    }
    let ledger = open().unwrap();
    (fixture, ledger)
}

#[test]
fn content_that_decisions_rest_on_stays_where_no_archive_keeps_a_state() {
    let (fixture, ledger) = with_runs(&options());
    let archiver = fixture.archiver(&ledger);
    for (mode, result) in [(ExpiryMode::DryRun, false), (ExpiryMode::Remove, true)] {
        let mut reports = Vec::new();
        archiver.expire(&Reports, mode, PACE, &mut |report| reports.push(report)).unwrap();
        let first = &reports[0];
        assert_eq!(first.kinds, [("x.noted".to_owned(), 1)].into());
        assert_eq!(matches!(first.result, ExpiryResult::Removed { .. }), result, "{first:?}");
        let resting = first.resting.as_ref().unwrap();
        assert_eq!(resting.kinds, [("run.started".to_owned(), 100)].into());
        assert_eq!(resting.why, NoStateBehind::NotArchived(first.range.last()));
    }
    let mut reports = Vec::new();
    archiver.expire(&Reports, ExpiryMode::Remove, PACE, &mut |report| reports.push(report)).unwrap();
    assert_eq!(reports[0].result, ExpiryResult::WaitsForState);
    let left = events(&ledger);
    assert!(left.iter().all(|stored| stored.event.kind != "run.started" || stored.expired_by.is_none()));
}

#[test]
fn content_that_decisions_rest_on_is_due_behind_a_state_that_opens() {
    let (fixture, ledger) = with_runs(&Options { governing: ReactorChoice::Governance, ..options() });
    let look = || {
        let mut reports = Vec::new();
        let archiver = fixture.archiver(&ledger);
        archiver.expire(&Reports, ExpiryMode::DryRun, PACE, &mut |report| reports.push(report)).unwrap();
        reports.remove(0)
    };
    let first = look();
    assert_eq!((&first.resting, first.kinds["run.started"], first.result), (&None, 100, ExpiryResult::Due));
}

/// The archives of a ledger that was restored with expired events are first revisions that hold such.
#[test]
fn a_restored_ledger_is_archived_again_with_what_expired() {
    let expiring = ExpiringLedger::new();
    expiring.expire(&Multiples::of(3, 7), ExpiryMode::Remove);
    let fixture = &expiring.fixture;
    let again = expiring.restored();
    let open = || Ledger::open(&fixture.environment, &again, fixture.keyring.clone(), options()).unwrap();
    let ledger = open();
    fixture.fill(&ledger, 20_000, 1_000);
    let before = events(&ledger);
    wait_until(|| ledger.status().is_proven && ledger.status().heads.size >= ledger.head().position.get());
    let archiver = || {
        let (environment, objects) = (&fixture.environment, fixture.objects.clone());
        Archiver::new(ledger.clone(), &again, environment, &fixture.keyring, objects, "cold".to_owned())
    };
    let run = ArchiveRun { rules: forced(), pace: PACE, release: Release::OnceProven };
    let outcome = archiver().run(&run).unwrap();
    assert!(outcome.archived[0].name.contains("/g2/") && outcome.released.is_some(), "{outcome:?}");
    assert!(events(&ledger)[..before.len()] == before[..]);
    // They are read again where no table is left, and expire on.
    ledger.close().unwrap();
    fs::remove_dir_all(again.join("index")).unwrap();
    let ledger = open();
    assert!(events(&ledger)[..before.len()] == before[..]);
    wait_until(|| ledger.status().is_proven);
}
