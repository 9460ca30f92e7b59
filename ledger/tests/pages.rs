//! Pages made piece by piece: picked where the places of events are known, scanned where they are not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::{After, Event, Keyring, Micros, Position};
use bitacora_ledger::{
    AppendRequest, Entropy, Environment, EventPage, Filter, Ledger, Options, ReadError, ReadFrom, ReadQuery,
    StoredEvent, SystemEntropy,
};

/// A ledger of several segments, whose frames hold one event or a few.
fn filled(folder: &Path) -> Ledger {
    let path = folder.join("main");
    let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
    let environment = Environment::real();
    Ledger::create(&environment, &path, &"main".parse().unwrap(), &keyring, &Options::small()).unwrap();
    let ledger = Ledger::open(&environment, &path, keyring, Options::small()).unwrap();
    let mut id = 0;
    for request in 0..120_u64 {
        let events = (0..=request % 7).map(|_| {
            id += 1;
            let mut event = Event::new(format!("e{id}"), "urn:test", format!("x.kind{}", id % 3), "s");
            event.agent = Some(format!("agent-{}", id % 5).into());
            event
        });
        ledger.append(AppendRequest::of(events.collect())).unwrap().wait().unwrap();
        if request % 25 == 24 {
            ledger.end_segment();
        }
    }
    ledger
}

fn position(number: u64) -> Position {
    Position::new(number).unwrap()
}

/// Returns the events that the query asks for, found by looking at every event.
fn expected<'a>(all: &'a [StoredEvent<'static>], query: &ReadQuery) -> Vec<&'a StoredEvent<'static>> {
    let matches = |stored: &&StoredEvent<'_>| {
        let filter = &query.filter;
        let from = match query.from {
            ReadFrom::After(after) => {
                stored.position.get() > after.get()
                    && query.until.is_none_or(|until| stored.position <= until)
            }
            ReadFrom::Before(before) => before.is_none_or(|before| stored.position < before),
        };
        from && (filter.kinds.is_empty() || filter.kinds.iter().any(|kind| *kind == stored.event.kind))
            && filter.agent.as_deref().is_none_or(|agent| stored.event.agent.as_deref() == Some(agent))
            && filter.since.is_none_or(|since| stored.time >= since)
            && filter.before.is_none_or(|before| stored.time < before)
    };
    let mut found: Vec<_> = all.iter().filter(matches).collect();
    if matches!(query.from, ReadFrom::Before(_)) {
        found.reverse();
    }
    found
}

/// The same page, from pieces of `piece` positions that are scanned and picked in turn.
fn by_pieces(ledger: &Ledger, all: &[StoredEvent<'static>], query: &ReadQuery, piece: u64) -> EventPage {
    let mut events = Vec::new();
    let mut take = |stored: StoredEvent<'_>| events.push(stored.into_owned());
    let mut page = ledger.begin_page(query, &mut take).unwrap();
    let wide = ReadQuery { until: None, from: ReadFrom::After(After::START), ..query.clone() };
    let known: Vec<_> = expected(all, &wide).iter().map(|stored| stored.position).collect();
    let mut picked = false;
    while let Some(range) = page.remaining() {
        let bound = if page.is_descending() {
            position((range.end().get() + 1).saturating_sub(piece).max(range.start().get()))
        } else {
            position((range.start().get() + piece - 1).min(range.end().get()))
        };
        if picked {
            page.scan(bound).unwrap();
        } else {
            page.pick(&known, bound).unwrap();
        }
        picked = !picked;
    }
    let end = page.finish();
    assert_eq!(end.events, events.len());
    EventPage { events, next: end.next, head: end.head }
}

#[test]
fn a_page_is_the_same_however_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = filled(folder.path());
    let query = |from, limit| ReadQuery { from, until: None, limit, filter: Filter::default() };
    let all = ledger.read(&query(ReadFrom::After(After::START), 1_000)).unwrap().events;
    assert_eq!(all.len() as u64, ledger.head().position.get());
    let kinds = [vec![], vec!["x.kind1".to_owned()], vec!["x.kind0".to_owned(), "x.kind2".to_owned()]];
    let times = [None, Some(all[40].time), Some(all[300].time), Some(Micros(0)), Some(Micros(u64::MAX))];
    let mut pages = 0;
    for (round, kinds) in kinds.iter().cycle().take(240).enumerate() {
        let round = round as u64;
        let filter = Filter {
            kinds: kinds.clone(),
            agent: (round % 4 == 1).then(|| format!("agent-{}", round % 6)),
            since: times[usize::try_from(round / 3).unwrap() % 5],
            before: times[usize::try_from(round / 11).unwrap() % 5],
            ..Filter::default()
        };
        let from = if round.is_multiple_of(2) {
            ReadFrom::After(After::new(round * 13 % 500))
        } else {
            ReadFrom::Before(Some(position(1 + round * 17 % 520)).filter(|_| !round.is_multiple_of(3)))
        };
        let until = round.is_multiple_of(5).then(|| position(1 + round * 7 % 500));
        let limit = 1 + usize::try_from(round * 37 % 90).unwrap();
        let query = ReadQuery { from, until, limit, filter };
        let expected = expected(&all, &query);
        let page = ledger.read(&query).unwrap();
        let first: Vec<_> = expected.iter().take(limit).copied().collect();
        assert_eq!(page.events.iter().collect::<Vec<_>>(), first, "{query:?}");
        for piece in [1 + round % 9, 64, 1_000] {
            let pieces = by_pieces(&ledger, &all, &query, piece);
            assert_eq!(pieces.events, page.events, "{query:?} by {piece}");
            assert_eq!(pieces.next, page.next, "{query:?} by {piece}");
        }
        if let Some(next) = page.next {
            let rest = ledger.read(&ReadQuery { from: next, limit: 1_000, ..query.clone() }).unwrap();
            assert_eq!(page.events.len() + rest.events.len(), expected.len(), "{query:?}");
        } else {
            assert_eq!(page.events.len(), expected.len(), "{query:?}");
        }
        pages += page.events.len();
    }
    assert!(pages > 1_000, "{pages} events were compared");
}

#[test]
fn times_are_found_as_a_look_at_every_event_finds_them() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = filled(folder.path());
    let from = ReadFrom::After(After::START);
    let all = ledger.read(&ReadQuery { from, until: None, limit: 1_000, filter: Filter::default() }).unwrap();
    for stored in &all.events {
        for time in [stored.time.0 - 1, stored.time.0, stored.time.0 + 1].map(Micros) {
            let first = all.events.iter().find(|stored| stored.time >= time).map(|stored| stored.position);
            assert_eq!(ledger.first_at(time).unwrap(), first);
        }
    }
}

#[test]
fn what_is_visited_is_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = filled(folder.path());
    let head = ledger.head();
    for (after, until) in [(0, head.position.get()), (3, 3), (17, 18), (100, 333)] {
        let mut visited = Vec::new();
        ledger
            .visit(After::new(after), position(until), &mut |seen| {
                visited.push((seen.position, seen.time, seen.record.id.to_string()));
            })
            .unwrap();
        let from = ReadFrom::After(After::new(after));
        let filter = Filter::default();
        let read =
            ledger.read(&ReadQuery { from, until: Some(position(until)), limit: 1_000, filter }).unwrap();
        let read: Vec<_> = read
            .events
            .iter()
            .map(|stored| (stored.position, stored.time, stored.event.id.to_string()))
            .collect();
        assert_eq!(visited, read);
    }
    let past = position(head.position.get() + 1);
    let none = ledger.visit(After::START, past, &mut |seen| panic!("{}", seen.position));
    assert!(matches!(none, Err(ReadError::PastHead { asked, .. }) if asked == past), "{none:?}");
    let mark = ledger.frame_of(head.position).unwrap();
    assert_eq!((mark.last, mark.tree_root), (head.position, head.tree_root));
    assert_eq!(ledger.frame_of(mark.first).unwrap(), mark);
    assert!(ledger.frame_of(position(head.position.get() + 1)).is_err());
}

#[test]
fn pages_of_any_length_leave_nothing_out() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = filled(folder.path());
    for limit in [1, 2, 3, 7] {
        for begin in [ReadFrom::After(After::START), ReadFrom::Before(Some(position(11)))] {
            let (mut from, mut seen) = (begin, Vec::new());
            loop {
                let until = matches!(begin, ReadFrom::After(_)).then(|| position(10));
                let page = ledger.read(&ReadQuery { from, until, limit, filter: Filter::default() }).unwrap();
                assert!(!page.events.is_empty(), "a page that goes on holds something");
                seen.extend(page.events.iter().map(|stored| stored.position.get()));
                match page.next {
                    Some(next) => from = next,
                    None => break,
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, (1..=10).collect::<Vec<_>>(), "{begin:?} by {limit}");
        }
    }
}

/// Each event by itself, its commitment made of its record.
fn one_by_one(ledger: &Ledger) -> Vec<StoredEvent<'static>> {
    (1..=ledger.head().position.get()).map(|at| ledger.event(position(at)).unwrap()).collect()
}

#[expect(clippy::disallowed_methods, reason = "files are damaged behind the ledger's back")]
fn leaves_files(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder.join("main/tree")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "leaves")).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "files are damaged behind the ledger's back")]
fn commitments_are_the_same_whether_the_tree_tells_them_or_the_records_do() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = filled(folder.path());
    let expected = one_by_one(&ledger);
    let mut backward = expected.clone();
    backward.reverse();
    let compare = |why: &str| {
        for (from, expected) in
            [(ReadFrom::After(After::START), &expected), (ReadFrom::Before(None), &backward)]
        {
            let query = ReadQuery { from, until: None, limit: 1_000, filter: Filter::default() };
            assert!(ledger.read(&query).unwrap().events == *expected, "{why}, {from:?}");
        }
        let query = ReadQuery {
            from: ReadFrom::After(After::new(100)),
            until: Some(position(400)),
            limit: 1_000,
            filter: Filter { since: Some(Micros(0)), ..Filter::default() },
        };
        assert!(ledger.read(&query).unwrap().events == expected[100..400], "{why}, a part of them");
    };
    compare("as they were written");
    let files = leaves_files(folder.path());
    assert!(files.len() > 3, "{files:?}");
    for (round, file) in files.iter().enumerate() {
        let mut bytes = std::fs::read(file).unwrap();
        // Its header lies in the first 40 bytes; what is behind it are times and commitments.
        let changed = 40 + (round * 61) % (bytes.len() - 40);
        bytes[changed] ^= 1;
        std::fs::write(file, &bytes).unwrap();
        compare("a byte changed");
    }
    for file in &files {
        std::fs::write(file, b"").unwrap();
    }
    compare("emptied");
    for file in &files {
        // Made again meanwhile, or not: either is right.
        let _gone = std::fs::remove_file(file).is_ok();
    }
    compare("gone");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "files are damaged behind the ledger's back")]
fn the_log_is_divided_where_frames_end_and_somewhere_if_that_cannot_be_told() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = filled(folder.path());
    let head = ledger.head().position;
    let divided = |events: u64, pieces: usize| {
        let mut all = vec![0];
        loop {
            let ends = ledger.divide(After::new(all[all.len() - 1]), head, events, pieces);
            assert!(ends.len() <= pieces);
            all.extend(ends.iter().map(|end| end.get()));
            if ends.is_empty() {
                break;
            }
        }
        assert_eq!(all.last(), Some(&head.get()));
        for piece in all.windows(2) {
            let length = piece[1] - piece[0];
            let is_right =
                (events.max(1)..=events.max(1).saturating_mul(4)).contains(&length) || piece[1] == head.get();
            assert!(is_right, "{piece:?} by {events}");
        }
        all
    };
    for (events, pieces) in [(20, 3), (7, 100), (0, 5), (1_000, 2), (u64::MAX, 2)] {
        let all = divided(events, pieces);
        // The longest frame has seven events: more than that can be left of one.
        for end in all.iter().skip(1).filter(|_| events >= 7) {
            assert_eq!(ledger.frame_of(position(*end)).unwrap().last.get(), *end, "by {events}");
        }
    }
    let segments = std::fs::read_dir(folder.path().join("main/segments")).unwrap();
    for segment in segments.map(|segment| segment.unwrap().path()) {
        let mut bytes = std::fs::read(&segment).unwrap();
        bytes.iter_mut().skip(2_000).for_each(|byte| *byte ^= 0x55);
        std::fs::write(&segment, bytes).unwrap();
    }
    assert!(divided(20, 3).len() > 10);
}
