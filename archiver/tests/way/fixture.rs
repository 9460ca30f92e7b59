//! A ledger on a disk, a store beside it, and how they are looked at.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_archiver::{
    ArchiveLocation, ArchivePace, ArchiveRun, ArchiveStore, Archiver, ArchiverError, Objects, Outcome,
    READ_CACHE_BYTES, Release, Rules, StoreSettings, StoredArchives,
};
use bitacora_formats::{After, Data, Event, Json, Keyring};
use bitacora_ledger::{
    AppendRequest, Entropy, Environment, Filter, HeadOptions, Ledger, Options, ReadError, ReadFrom,
    ReadQuery, SystemEntropy,
};

/// The facts of every event: its position, its text, its commitment, and where its request begins.
pub(crate) type EventFacts = Vec<String>;

pub(crate) struct ArchiveFixture {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) environment: Environment,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) objects: Arc<dyn Objects>,
}

/// Segments small enough that a test fills many, and tree heads, without which nothing is archived.
pub(crate) fn options() -> Options {
    let heads = HeadOptions { every: Duration::from_millis(20), ..HeadOptions::default() };
    Options { heads: Some(heads), ..Options::small() }
}

/// Everything that can be archived now.
pub(crate) fn forced() -> Rules {
    Rules { is_forced: true, ..Rules::default() }
}

pub(crate) fn event(number: u64) -> Event<'static> {
    let mut event = Event::new(format!("e{number}"), "urn:test", "x.noted", format!("s/{}", number % 7));
    let text = format!(
        r#"{{"n": {number}, "text":"some words that take {} bytes", "f":{}.25}}"#,
        number * 31 % 977,
        number % 9
    );
    event.data = Data::Json(Json::check(text.into_bytes()).unwrap());
    event
}

impl ArchiveFixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = ArchiveLocation::Folder(folder.path().join("cold"));
        Self::with(folder, Arc::new(ArchiveStore::at(place, StoreSettings::default())))
    }

    pub(crate) fn with(folder: tempfile::TempDir, objects: Arc<dyn Objects>) -> Self {
        let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
        let mut environment = Environment::real();
        environment.archives = Arc::new(StoredArchives::new(
            Arc::clone(&objects),
            Arc::clone(&environment.disk),
            READ_CACHE_BYTES,
        ));
        let fixture = Self { folder, environment, keyring, objects };
        let made = Ledger::create(
            &fixture.environment,
            &fixture.ledger(),
            &"main".parse().unwrap(),
            &fixture.keyring,
            &options(),
        );
        made.unwrap();
        fixture
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.path().join("main")
    }

    pub(crate) fn open(&self) -> Ledger {
        Ledger::open(&self.environment, &self.ledger(), Arc::clone(&self.keyring), options()).unwrap()
    }

    /// Appends that many events, some of a request together, and ends the segment now and then.
    pub(crate) fn fill(&self, ledger: &Ledger, from: u64, events: u64) {
        let mut next = from;
        while next < from + events {
            let together = (1 + next % 13).min(from + events - next);
            let request = AppendRequest::of((next..next + together).map(event).collect());
            ledger.append(request).unwrap().wait().unwrap();
            next += together;
        }
    }

    /// Appends one event, in a frame of its own.
    pub(crate) fn fill_one(&self, ledger: &Ledger, number: u64) {
        ledger.append(AppendRequest::of(vec![event(number)])).unwrap().wait().unwrap();
    }

    pub(crate) fn archiver(&self, ledger: &Ledger) -> Archiver {
        let (folder, store) = (self.ledger(), "cold".to_owned());
        Archiver::new(
            ledger.clone(),
            &folder,
            &self.environment,
            &self.keyring,
            Arc::clone(&self.objects),
            store,
        )
    }

    /// Archives all that can be, and releases it once the log is proven.
    pub(crate) fn archive_all(&self, ledger: &Ledger) -> Outcome {
        self.run(ledger, Release::OnceProven).unwrap()
    }

    /// Archives all that can be.
    pub(crate) fn run(&self, ledger: &Ledger, release: Release) -> Result<Outcome, ArchiverError> {
        wait_until(|| {
            // What no signed head covers is not released.
            ledger.status().is_proven && ledger.status().heads.size >= ledger.head().position.get()
        });
        let run = ArchiveRun { rules: forced(), pace: ArchivePace::Full { threads: 2 }, release };
        self.archiver(ledger).run(&run)
    }
}

pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "it takes too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Every event up to `until`, as a reader sees it.
pub(crate) fn seen(ledger: &Ledger, until: u64) -> Result<EventFacts, ReadError> {
    let mut from = ReadFrom::After(After::START);
    let mut events = Vec::new();
    loop {
        let query = ReadQuery { from, until: None, limit: 500, filter: Filter::default() };
        let page = ledger.read(&query)?;
        for event in &page.events {
            if event.position.get() > until {
                return Ok(events);
            }
            events.push(format!("{event:?}"));
        }
        match page.next {
            Some(next) => from = next,
            None => return Ok(events),
        }
    }
}

/// The data of all events of a type.
pub(crate) fn data_of(ledger: &Ledger, kind: &str) -> Vec<String> {
    let filter = Filter { kinds: vec![kind.to_owned()], ..Filter::default() };
    let query = ReadQuery { from: ReadFrom::After(After::START), until: None, limit: 500, filter };
    let page = ledger.read(&query).unwrap();
    let data = page.events.iter().filter_map(|stored| match &stored.event.data {
        Data::Json(data) => Some(String::from_utf8_lossy(data.as_bytes()).into_owned()),
        _ => None,
    });
    data.collect()
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
