//! Tests of archived events picked by position: each is the same as before it was archived.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bitacora_archiver::{
    ArchiveLocation, ArchiveStore, ArchiveStoreError, ObjectListing, ObjectVersion, Objects,
    READ_CACHE_BYTES, ReadPiece, StoreSettings, StoredArchives,
};
use bitacora_formats::{After, Event, Position};
use bitacora_ledger::{AppendRequest, Filter, Ledger, ReadError, ReadFrom, ReadQuery, StoredEvent};

use super::fixture::{ArchiveFixture, event};

/// The position up to which the events are looked at.
const UNTIL: u64 = 2_600;

/// Archives that are made until one is let go.
const MAX_ROUNDS: usize = 8;

/// Events of which one in five has its contents sealed for somebody.
fn fill(ledger: &Ledger, numbers: Range<u64>) {
    for first in numbers.clone().step_by(40) {
        let events = (first..(first + 40).min(numbers.end)).map(|number| Event {
            datasubject: (number % 5 == 0).then(|| format!("person-{}", number % 3).into()),
            ..event(number)
        });
        ledger.append(AppendRequest::of(events.collect())).unwrap().wait().unwrap();
    }
}

/// Pages of the events of a stream, made of their places one after another, to the end; what each says.
fn pages(ledger: &Ledger, places: &[Position], query: &ReadQuery) -> Result<Vec<String>, ReadError> {
    let mut query = query.clone();
    let mut said = Vec::new();
    loop {
        let mut take = |stored: StoredEvent<'_>| said.push(format!("{stored:?}"));
        let mut page = ledger.begin_page(&query, &mut take)?;
        if let Some(range) = page.remaining() {
            let bound = if page.is_descending() { *range.start() } else { *range.end() };
            page.pick(places, bound)?;
        }
        let end = page.finish();
        said.push(format!("{} events, then {:?}", end.events, end.next));
        match end.next {
            Some(next) => query.from = next,
            None => return Ok(said),
        }
    }
}

/// Every page of every stream, forwards and backwards, long and short, and with places given that have other streams' events.
fn everything(ledger: &Ledger, all: &[StoredEvent<'static>]) -> Vec<String> {
    let mut said = Vec::new();
    let last = Position::new(UNTIL).unwrap();
    for number in 0..7 {
        let stream = format!("s/{number}");
        let of = |one_in: u64| {
            let is_picked = move |stored: &&StoredEvent<'_>| {
                stored.event.stream == format!("s/{number}") || stored.position.get().is_multiple_of(one_in)
            };
            all.iter().filter(is_picked).map(|stored| stored.position).collect::<Vec<_>>()
        };
        let filter = Filter { stream: Some(stream), ..Filter::default() };
        for (from, limit, places) in [
            (ReadFrom::After(After::START), 1_000, of(u64::MAX)),
            (ReadFrom::After(After::new(77)), 13, of(u64::MAX)),
            (ReadFrom::Before(last.next()), 100, of(u64::MAX)),
            (ReadFrom::Before(Position::new(1_999)), 1, of(u64::MAX)),
            (ReadFrom::After(After::START), 50, of(3)),
            (ReadFrom::Before(last.next()), 50, of(2)),
        ] {
            let query = ReadQuery { from, until: Some(last), limit, filter: filter.clone() };
            said.extend(pages(ledger, &places, &query).unwrap());
        }
    }
    let between = Filter {
        since: all.get(200).map(|stored| stored.time),
        before: all.get(2_000).map(|stored| stored.time),
        stream: Some("s/2".to_owned()),
        ..Filter::default()
    };
    let query =
        ReadQuery { from: ReadFrom::After(After::START), until: Some(last), limit: 1_000, filter: between };
    let places: Vec<Position> = all.iter().map(|stored| stored.position).collect();
    said.extend(pages(ledger, &places, &query).unwrap());
    said.extend(all.iter().map(|stored| format!("{:?}", ledger.event(stored.position).unwrap())));
    said
}

fn all(ledger: &Ledger) -> Vec<StoredEvent<'static>> {
    let mut query = ReadQuery {
        from: ReadFrom::After(After::START),
        until: Position::new(UNTIL),
        limit: 1_000,
        filter: Filter::default(),
    };
    let mut events = Vec::new();
    loop {
        let page = ledger.read(&query).unwrap();
        events.extend(page.events);
        match page.next {
            Some(next) => query.from = next,
            None => return events,
        }
    }
}

#[test]
fn what_is_picked_is_the_same_archived_or_not() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    fill(&ledger, 1..900);
    let first = fixture.archive_all(&ledger);
    fill(&ledger, 900..1_800);
    fixture.fill(&ledger, 1_800, UNTIL);
    let (all_before, head) = (all(&ledger), ledger.head().position.get());
    assert!(first.released.is_some() && head > UNTIL);
    let before = everything(&ledger, &all_before);
    // Of the second archive too; what is newest stays here. How many events a segment takes depends on how busy the machine is.
    fixture.archive_all(&ledger);
    let released = || ledger.released_through().unwrap().get();
    for _ in 0..MAX_ROUNDS {
        if released() >= 900 {
            break;
        }
        fixture.fill(&ledger, 10_000 + ledger.head().position.get(), 2_500);
        fixture.archive_all(&ledger);
    }
    assert!((900..ledger.head().position.get()).contains(&released()));
    assert!(all(&ledger) == all_before);
    assert!(everything(&ledger, &all_before) == before);
    // And with nothing of it in memory yet.
    ledger.close().unwrap();
    let ledger = fixture.open();
    assert!(everything(&ledger, &all_before) == before);
    assert!(all_before.iter().any(|stored| stored.event.datasubject.is_some()), "sealed parts among them");
}

#[test]
fn damage_is_heard_of_where_a_page_comes_to_it() {
    let fixture = ArchiveFixture::new();
    let ledger = fixture.open();
    fill(&ledger, 1..900);
    let outcomes = [&1, &2].map(|_| {
        let outcome = fixture.archive_all(&ledger);
        fixture.fill(&ledger, 10_000 + ledger.head().position.get(), 2_500);
        outcome
    });
    let [_, second] = outcomes.map(|outcome| outcome.archived[0].clone());
    let is_released = || ledger.released_through().is_some_and(|through| through > second.range.first());
    // On a busy machine the second archive's first segment may be let go only with a later one.
    for _ in 0..MAX_ROUNDS {
        fixture.archive_all(&ledger);
        if is_released() {
            break;
        }
        fixture.fill(&ledger, 10_000 + ledger.head().position.get(), 2_500);
    }
    assert!(is_released());
    ledger.close().unwrap();
    let path = fixture.folder.path().join("cold").join(&second.name);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[200] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let ledger = fixture.open();
    let last_whole = second.range.first().get() - 1;
    let places: Vec<Position> = (last_whole - 20..last_whole + 20).filter_map(Position::new).collect();
    let query = |limit| ReadQuery {
        from: ReadFrom::After(After::START),
        until: None,
        limit,
        filter: Filter { kinds: vec!["x.noted".to_owned()], ..Filter::default() },
    };
    let mut said = Vec::new();
    let mut take = |stored: StoredEvent<'_>| said.push(stored.position.get());
    let query_before = query(5);
    let mut page = ledger.begin_page(&query_before, &mut take).unwrap();
    page.pick(&places, *places.last().unwrap()).unwrap();
    assert_eq!(page.finish().events, 5, "a page that ends before it");
    assert!(said.iter().all(|position| *position <= last_whole));
    let Err(ReadError::Archive(error)) = pages(&ledger, &places, &query(100)) else {
        panic!("damage unseen")
    };
    assert_eq!((error.first, error.code()), (second.range.first(), "archive-damaged"));
    let Err(ReadError::Archive(error)) = ledger.event(second.range.first()) else { panic!("damage unseen") };
    assert_eq!(error.code(), "archive-damaged");
}

/// Counts the bytes that are read of a store.
#[derive(Debug)]
struct CountingStore {
    store: ArchiveStore,
    read_bytes: AtomicUsize,
}

impl Objects for CountingStore {
    fn shown(&self, name: &str) -> String {
        self.store.shown(name)
    }

    fn create(&self, name: &str, bytes: u64, read: &mut ReadPiece<'_>) -> Result<(), ArchiveStoreError> {
        self.store.create(name, bytes, read)
    }

    fn remove(&self, name: &str) -> Result<(), ArchiveStoreError> {
        self.store.remove(name)
    }

    fn version(&self, name: &str) -> Result<ObjectVersion, ArchiveStoreError> {
        self.store.version(name)
    }

    fn read(
        &self,
        name: &str,
        version: &ObjectVersion,
        range: Range<u64>,
    ) -> Result<Vec<u8>, ArchiveStoreError> {
        let bytes = usize::try_from(range.end - range.start).unwrap();
        self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.store.read(name, version, range)
    }

    fn list(&self, folder: &str) -> Result<ObjectListing, ArchiveStoreError> {
        self.store.list(folder)
    }
}

/// Without a hint of the events' places, the archives' own index tells which groups have none.
#[test]
fn a_scan_leaves_out_what_the_index_of_an_archive_tells_of() {
    let folder = tempfile::tempdir().unwrap();
    let place = ArchiveLocation::Folder(folder.path().join("cold"));
    let store = ArchiveStore::at(place, StoreSettings::default());
    let counting = Arc::new(CountingStore { store, read_bytes: AtomicUsize::new(0) });
    let mut fixture = ArchiveFixture::with(folder, Arc::<CountingStore>::clone(&counting));
    let ledger = fixture.open();
    let rare = |id: &'static str| Event::new(id, "urn:test", "x.rare", "s/1");
    let append = |event| ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap();
    // One in the first archive, none in the second, one in the third, and one that stays here.
    append(rare("first"));
    for from in [1, 1_200, 2_400] {
        fixture.fill(&ledger, from, 1_200);
        if from == 2_400 {
            append(rare("second"));
            fixture.fill(&ledger, 10_000, 600);
        }
        assert_eq!(fixture.archive_all(&ledger).archived.len(), 1);
    }
    fixture.fill(&ledger, 20_000, 1_000);
    append(rare("third"));
    ledger.close().unwrap();
    let until = ledger.head().position;
    let ask = |ledger: &Ledger, from, kinds: &[&str], stream: Option<&str>| {
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let filter = Filter { kinds, stream: stream.map(str::to_owned), ..Filter::default() };
        let page = ledger.read(&ReadQuery { from, until: Some(until), limit: 1_000, filter }).unwrap();
        assert_eq!(page.next, None);
        page.events.iter().map(|stored| stored.event.id.to_string()).collect::<Vec<_>>()
    };
    let forward = ReadFrom::After(After::START);
    let mut read_for = |from, kinds: &[&str], stream| {
        // Nothing of the archives is in memory.
        let (objects, disk) = (Arc::clone(&fixture.objects), Arc::clone(&fixture.environment.disk));
        fixture.environment.archives = Arc::new(StoredArchives::new(objects, disk, READ_CACHE_BYTES));
        let ledger = fixture.open();
        let before = counting.read_bytes.load(Ordering::Relaxed);
        let found = ask(&ledger, from, kinds, stream);
        let read = counting.read_bytes.load(Ordering::Relaxed) - before;
        ledger.close().unwrap();
        (found, read)
    };
    let (all, whole) = read_for(forward, &["x.rare", "x.noted"], Some("s/2"));
    assert!(all.len() > 500);
    let (none, of_none) = read_for(forward, &["x.absent"], None);
    let (found, of_some) = read_for(forward, &["x.rare"], None);
    assert_eq!((none.len(), found), (0, ["first", "second", "third"].map(str::to_owned).to_vec()));
    let (backward, _) = read_for(ReadFrom::Before(until.next()), &["x.rare", "x.absent"], Some("s/1"));
    assert_eq!(backward, ["third", "second", "first"]);
    let (elsewhere, of_elsewhere) = read_for(forward, &["x.rare"], Some("s/no"));
    assert_eq!(elsewhere.len(), 0);
    assert!(of_none < of_some && of_some < whole, "{of_none} {of_some} {whole}");
    assert!(of_elsewhere < of_some, "no group has both: {of_elsewhere} {of_some}");
}
