//! A ledger of which events can expire, and a policy for a test.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use bitacora_archive_format::Manifest;
use bitacora_archiver::{
    ArchivePace, ArchiveProgress, ExpiryMode, ExpiryReport, RestoreScope, RetainedEvent, Retention, restore,
};
use bitacora_formats::{After, Position};
use bitacora_ledger::{Filter, Ledger, Options, ReadFrom, ReadQuery, StoredEvent};

use super::fixture::{ArchiveFixture, options};

pub(crate) const PACE: ArchivePace = ArchivePace::Full { threads: 2 };

/// Expires the events of a test whose number is a multiple of another.
pub(crate) struct Multiples {
    of: u64,
    policy: Position,
}

impl Multiples {
    pub(crate) fn of(of: u64, policy: u64) -> Self {
        Self { of, policy: Position::new(policy).unwrap() }
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        let number = id.strip_prefix('e').and_then(|number| number.parse::<u64>().ok());
        number.is_some_and(|number| number.is_multiple_of(self.of))
    }
}

impl Retention for Multiples {
    fn policy(&self) -> Position {
        self.policy
    }

    fn concerns(&self, manifest: &Manifest) -> bool {
        manifest.range.first() == Position::FIRST
    }

    fn expires(&self, event: &RetainedEvent<'_>) -> bool {
        self.has(&event.record.id)
    }
}

/// A ledger of which the first events are in one archive alone, the folder of that, and another archive behind it.
pub(crate) struct ExpiringLedger {
    pub(crate) fixture: ArchiveFixture,
    pub(crate) ledger: Ledger,
    pub(crate) through: u64,
    options: Options,
    folder: PathBuf,
    name: String,
}

impl ExpiringLedger {
    pub(crate) fn new() -> Self {
        Self::with(&options(), |_| ())
    }

    /// One with these options, begun with what `first` appends.
    pub(crate) fn with(options: &Options, first: impl FnOnce(&Ledger)) -> Self {
        let fixture = ArchiveFixture::new();
        let open = || {
            let keyring = fixture.keyring.clone();
            Ledger::open(&fixture.environment, &fixture.ledger(), keyring, options.clone()).unwrap()
        };
        let ledger = open();
        first(&ledger);
        fixture.fill(&ledger, 1, 3_000);
        let archived = fixture.archive_all(&ledger).archived.remove(0);
        // Its last events lie in a segment that is released with the next archive.
        ledger.close().unwrap();
        let ledger = open();
        fixture.fill(&ledger, 10_000, 1_000);
        fixture.archive_all(&ledger);
        assert!(ledger.released_through() >= Some(archived.range.last()), "all of it is released");
        let path = fixture.folder.path().join("cold").join(&archived.name);
        let (folder, name) = (path.parent().unwrap().to_owned(), archived.name);
        let (through, options) = (archived.range.last().get(), options.clone());
        Self { fixture, ledger, through, options, folder, name }
    }

    /// The same after `meanwhile`, while it is closed.
    pub(crate) fn reopened(self, meanwhile: impl FnOnce(&Self)) -> Self {
        self.ledger.close().unwrap();
        meanwhile(&self);
        let (fixture, keyring) = (&self.fixture, self.fixture.keyring.clone());
        let ledger = Ledger::open(&fixture.environment, &fixture.ledger(), keyring, self.options.clone());
        Self { ledger: ledger.unwrap(), ..self }
    }

    pub(crate) fn expire(&self, retention: &dyn Retention, mode: ExpiryMode) -> Vec<ExpiryReport> {
        let mut reports = Vec::new();
        let archiver = self.fixture.archiver(&self.ledger);
        archiver.expire(retention, mode, PACE, &mut |report| reports.push(report)).unwrap();
        reports
    }

    pub(crate) fn objects(&self) -> BTreeSet<String> {
        let names = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    /// The object of this revision.
    pub(crate) fn object(&self, revision: u32) -> PathBuf {
        let stem = self.name.rsplit('/').next().unwrap().strip_suffix(".bca").unwrap();
        self.folder.join(match revision {
            0 => format!("{stem}.bca"),
            _ => format!("{stem}.r{revision}.bca"),
        })
    }

    /// The folder of a ledger that is restored from the archives.
    pub(crate) fn restored(&self) -> PathBuf {
        let fixture = &self.fixture;
        let again = fixture.folder.path().join("again/main");
        fs::create_dir_all(again.parent().unwrap()).unwrap();
        let from = (self.ledger.id(), RestoreScope::Whole);
        let progress = ArchiveProgress::default();
        restore(&fixture.environment, &fixture.objects, from, &fixture.keyring, &again, &progress).unwrap();
        again
    }

    /// A copy of an archive, apart from the store.
    pub(crate) fn spare(&self) -> PathBuf {
        self.fixture.folder.path().join("spare")
    }

    pub(crate) fn manifest_file(&self) -> PathBuf {
        let stem = self.object(0).file_stem().unwrap().to_string_lossy().into_owned();
        self.fixture.ledger().join("archives").join(format!("{stem}.manifest"))
    }
}

/// Lets events expire until this revision of the archive, without them, is stored, and copies that.
pub(crate) struct ChangedMind<'a> {
    pub(crate) expires: Multiples,
    pub(crate) expiring: &'a ExpiringLedger,
    pub(crate) revision: u32,
}

impl Retention for ChangedMind<'_> {
    fn policy(&self) -> Position {
        self.expires.policy()
    }

    fn concerns(&self, manifest: &Manifest) -> bool {
        self.expires.concerns(manifest)
    }

    fn expires(&self, event: &RetainedEvent<'_>) -> bool {
        let (stored, spare) = (self.expiring.object(self.revision), self.expiring.spare());
        let is_stored = stored.exists();
        if is_stored && !spare.exists() {
            fs::copy(stored, spare).unwrap();
        }
        !is_stored && self.expires.expires(event)
    }
}

pub(crate) fn events(ledger: &Ledger) -> Vec<StoredEvent<'static>> {
    let mut from = ReadFrom::After(After::START);
    let mut all = Vec::new();
    loop {
        let query = ReadQuery { from, until: None, limit: 500, filter: Filter::default() };
        let page = ledger.read(&query).unwrap();
        all.extend(page.events);
        let Some(next) = page.next else { return all };
        from = next;
    }
}
