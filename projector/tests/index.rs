//! Indexed reads equal the ledger's own reads, whatever the index knows, has lost or claims wrongly.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{After, Event, Keyring, Position};
use bitacora_ledger::{
    AppendRequest, Entropy, Environment, EventPage, Filter, Ledger, Options, ReadFrom, ReadQuery,
    StoredEvent, SystemEntropy,
};
use bitacora_projector::{IndexOptions, IndexState, IndexedLedger};
use bitacora_testkit::SeededRng;

struct IndexBench {
    folder: tempfile::TempDir,
    keyring: Arc<Keyring>,
    environment: Environment,
    options: IndexOptions,
}

impl IndexBench {
    /// With blocks of so many events.
    fn new(block_events: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
        let bench = Self {
            folder,
            keyring,
            environment: Environment::real(),
            options: IndexOptions { block_events, ..IndexOptions::default() },
        };
        let (path, name) = (bench.path(), "main".parse().unwrap());
        Ledger::create(&bench.environment, &path, &name, &bench.keyring, &Options::small()).unwrap();
        bench
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("main")
    }

    fn open(&self) -> IndexedLedger {
        let keyring = Arc::clone(&self.keyring);
        let ledger = Ledger::open(&self.environment, &self.path(), keyring, Options::small()).unwrap();
        IndexedLedger::open(ledger, &self.environment, &self.path(), &self.keyring, &self.options)
    }

    fn blocks(&self) -> Vec<PathBuf> {
        let folder = self.path().join("projections/index");
        let mut blocks: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        blocks.sort();
        blocks
    }
}

fn event(dice: &mut SeededRng, id: &mut u64) -> Event<'static> {
    *id += 1;
    let stream = format!("session-{}", *id / 40 + dice.below(3));
    let mut event = Event::new(format!("e{id}"), "urn:test", format!("x.kind.{}", dice.below(4)), stream);
    let mut label =
        |name: &str, values| (dice.below(2) == 0).then(|| format!("{name}-{}", dice.below(values)).into());
    event.actor = label("x", 3);
    event.agent = label("x", 3);
    event.session = label("s", 50);
    event.run = label("s", 50);
    event.call = label("c", 400);
    let tags = dice.below(4);
    event.tags = (0..tags).map(|tag| format!("t-{}", tag * 2 + dice.below(2)).into()).collect();
    if dice.below(9) == 0 {
        event.datasubject = Some(format!("person-{}", dice.below(3)).into());
    }
    event
}

fn append(ledger: &IndexedLedger, dice: &mut SeededRng, id: &mut u64, events: u64) {
    let last = *id + events;
    while *id < last {
        let many = (1 + dice.below(60)).min(last - *id);
        let batch = (0..many).map(|_| event(dice, id)).collect();
        ledger.append(AppendRequest::of(batch)).unwrap().wait().unwrap();
    }
}

fn query(dice: &mut SeededRng, head: u64, sample: &[StoredEvent<'_>]) -> ReadQuery {
    let any = |dice: &mut SeededRng| {
        sample.iter().cycle().nth(usize::try_from(dice.below(1_000)).unwrap()).unwrap()
    };
    let like = any(dice).event.clone();
    let text = |value: std::borrow::Cow<'_, str>| value.into_owned();
    let mut filter = Filter::default();
    if dice.below(3) == 0 {
        filter.stream = Some(text(like.stream));
    }
    if dice.below(3) == 0 {
        filter.kinds = (0..1 + dice.below(3)).map(|_| format!("x.kind.{}", dice.below(5))).collect();
    }
    filter.actor = like.actor.filter(|_| dice.below(4) == 0).map(text);
    filter.agent = like.agent.filter(|_| dice.below(4) == 0).map(text);
    filter.session = like.session.filter(|_| dice.below(4) == 0).map(text);
    filter.run = like.run.filter(|_| dice.below(4) == 0).map(text);
    filter.call = like.call.filter(|_| dice.below(6) == 0).map(text);
    filter.tag = like.tags.into_iter().next().filter(|_| dice.below(4) == 0).map(text);
    if dice.below(12) == 0 {
        filter.call = Some("never".to_owned());
    }
    filter.since = (dice.below(4) == 0).then(|| any(dice).time);
    filter.before = (dice.below(4) == 0).then(|| any(dice).time);
    let position = |dice: &mut SeededRng| Position::new(1 + dice.below(head + 20)).unwrap();
    let from = if dice.below(2) == 0 {
        ReadFrom::After(After::new(if dice.below(2) == 0 { 0 } else { dice.below(head + 10) }))
    } else {
        ReadFrom::Before(if dice.below(2) == 0 { None } else { Some(position(dice)) })
    };
    let until = (dice.below(4) == 0).then(|| position(dice));
    let most = if dice.below(2) == 0 { 10 } else { 1_000 };
    let limit = usize::try_from(1 + dice.below(most)).unwrap();
    ReadQuery { from, until, limit, filter }
}

/// Asks both at one head. Returns how many events were compared.
fn compare(indexed: &IndexedLedger, dice: &mut SeededRng, rounds: u64) -> usize {
    let ledger = indexed.ledger();
    let head = ledger.head().position;
    let all =
        ReadQuery { from: ReadFrom::Before(None), until: None, limit: 1_000, filter: Filter::default() };
    let sample = ledger.read(&all).unwrap().events;
    let mut compared = 0;
    for _ in 0..rounds {
        let mut query = query(dice, head.get(), &sample);
        // Ledgers that grow are asked about what both have.
        if query.until.is_none_or(|until| until > head) {
            query.until = Some(head);
        }
        if query.from == ReadFrom::Before(None) {
            query.from = ReadFrom::Before(head.next());
        }
        let (found, expected) = (indexed.read(&query).unwrap(), ledger.read(&query).unwrap());
        let positions =
            |page: &EventPage| page.events.iter().map(|stored| stored.position).collect::<Vec<_>>();
        assert_eq!(positions(&found), positions(&expected), "{query:?}");
        assert!(found.events == expected.events, "{query:?}: other contents");
        assert_eq!(found.next, expected.next, "{query:?}");
        compared += found.events.len();
    }
    compared
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn caught_up(ledger: &IndexedLedger) {
    wait_until("the index is at the head", || {
        let status = ledger.index_status();
        status.lag == 0 && status.state == IndexState::Ok
    });
}

#[test]
fn answers_are_those_of_a_scan_while_the_ledger_grows() {
    for (seed, block_events) in [(0x5eed, 9), (1, 64), (2, 300), (3, u64::MAX)] {
        let (bench, mut dice, mut id) = (IndexBench::new(block_events), SeededRng::new(seed), 0);
        let mut compared = 0;
        for _opening in 0..3 {
            let ledger = bench.open();
            for _ in 0..8 {
                let events = 20 + dice.below(200);
                append(&ledger, &mut dice, &mut id, events);
                compared += compare(&ledger, &mut dice, 20);
            }
            caught_up(&ledger);
            compared += compare(&ledger, &mut dice, 100);
            ledger.close().unwrap();
        }
        assert!(compared > 3_000, "{compared} events were compared");
    }
}

#[test]
fn an_index_goes_on_where_it_was_closed() {
    let (bench, mut dice, mut id) = (IndexBench::new(u64::MAX), SeededRng::new(77), 0);
    let ledger = bench.open();
    append(&ledger, &mut dice, &mut id, 500);
    caught_up(&ledger);
    let head = ledger.head().position;
    ledger.close().unwrap();
    let blocks = bench.blocks();
    assert_eq!(blocks.len(), 1, "{blocks:?}");

    let ledger = bench.open();
    wait_until("what was stored is known", || ledger.index_status().position >= Some(head));
    append(&ledger, &mut dice, &mut id, 200);
    caught_up(&ledger);
    assert!(compare(&ledger, &mut dice, 100) > 100);
    ledger.close().unwrap();
    assert_eq!(bench.blocks(), blocks, "the block was replaced by a longer one");
}

#[test]
fn what_is_not_the_index_s_own_is_left_alone() {
    let (bench, mut dice, mut id) = (IndexBench::new(100), SeededRng::new(78), 0);
    let ledger = bench.open();
    append(&ledger, &mut dice, &mut id, 120);
    caught_up(&ledger);
    ledger.close().unwrap();
    let folder = bench.path().join("projections/index");
    let others = ["notes.txt", "1.idx", "x.new", ".idx"].map(|name| folder.join(name));
    for other in &others {
        std::fs::write(other, "kept").unwrap();
    }
    std::fs::write(folder.join("00000000000000000001.idx.new"), "left by a crash").unwrap();
    let ledger = bench.open();
    caught_up(&ledger);
    ledger.close().unwrap();
    assert!(others.iter().all(|other| other.exists()));
    assert_eq!(bench.blocks().len(), 2 + others.len(), "what a crash left is gone");
}

#[test]
fn an_index_made_again_is_the_same_to_the_byte() {
    let (bench, mut dice, mut id) = (IndexBench::new(100), SeededRng::new(3), 0);
    let ledger = bench.open();
    append(&ledger, &mut dice, &mut id, 700);
    caught_up(&ledger);
    let elsewhere = tempfile::tempdir().unwrap();
    let again = ledger.ledger().clone();
    let again =
        IndexedLedger::open(again, &bench.environment, elsewhere.path(), &bench.keyring, &bench.options);
    caught_up(&again);
    ledger.close().unwrap();
    again.close().unwrap();
    let (blocks, copies) = (bench.blocks(), elsewhere.path().join("projections/index"));
    assert!(blocks.len() > 7, "{blocks:?}");
    for block in blocks {
        let copy = copies.join(block.file_name().unwrap());
        assert_eq!(std::fs::read(&block).unwrap(), std::fs::read(copy).unwrap(), "{block:?}");
    }
    assert!(again.index_status().digest.is_some());
    assert_eq!(again.index_status().digest, ledger.index_status().digest);
}

/// Changes every block of a closed ledger, then looks whether answers stay right and the index is whole again.
fn damaged(change: impl Fn(&Path)) {
    let (bench, mut dice, mut id) = (IndexBench::new(250), SeededRng::new(0xbad), 0);
    let ledger = bench.open();
    append(&ledger, &mut dice, &mut id, 600);
    caught_up(&ledger);
    ledger.close().unwrap();
    bench.blocks().iter().for_each(|block| change(block));
    let ledger = bench.open();
    assert!(compare(&ledger, &mut dice, 60) > 0);
    caught_up(&ledger);
    assert!(compare(&ledger, &mut dice, 60) > 0);
    ledger.close().unwrap();
    let ledger = bench.open();
    caught_up(&ledger);
    ledger.close().unwrap();
}

#[test]
fn a_block_with_any_byte_changed_is_not_believed() {
    for place in [0, 9, 13, 17, 33, 41, 49, 81, 113, 150, 400, 2_000, 6_000] {
        damaged(|block| {
            let mut bytes = std::fs::read(block).unwrap();
            let place = place % bytes.len();
            bytes[place] ^= 0x10;
            std::fs::write(block, bytes).unwrap();
        });
    }
}

#[test]
fn a_block_that_is_cut_longer_empty_or_gone_is_made_again() {
    damaged(|block| {
        let bytes = std::fs::read(block).unwrap();
        std::fs::write(block, &bytes[..bytes.len() - 1]).unwrap();
    });
    damaged(|block| {
        let mut bytes = std::fs::read(block).unwrap();
        bytes.push(0);
        std::fs::write(block, bytes).unwrap();
    });
    damaged(|block| std::fs::write(block, []).unwrap());
    damaged(|block| {
        let bytes = std::fs::read(block).unwrap();
        std::fs::write(block, vec![0; bytes.len()]).unwrap();
    });
    damaged(|block| std::fs::remove_file(block).unwrap());
    damaged(|block| std::fs::rename(block, block.with_extension("idy")).unwrap());
    damaged(|block| std::fs::rename(block, block.with_file_name("00000000000000000002.idx")).unwrap());
    damaged(|block| std::fs::rename(block, block.with_extension("idx.new")).unwrap());
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn an_index_of_another_history_is_not_believed() {
    let (bench, mut dice, mut id) = (IndexBench::new(100), SeededRng::new(11), 0);
    let ledger = bench.open();
    append(&ledger, &mut dice, &mut id, 50);
    ledger.close().unwrap();
    let backup = bench.folder.path().join("backup");
    copy(&bench.path(), &backup);

    let ledger = bench.open();
    append(&ledger, &mut dice, &mut id, 400);
    caught_up(&ledger);
    ledger.close().unwrap();
    let index = bench.folder.path().join("index");
    std::fs::rename(bench.path().join("projections"), &index).unwrap();

    // The ledger goes back to its backup and takes another way, under the same id and keys.
    std::fs::remove_dir_all(bench.path()).unwrap();
    std::fs::rename(backup, bench.path()).unwrap();
    let ledger = bench.open();
    append(&ledger, &mut dice, &mut id, 600);
    ledger.close().unwrap();
    std::fs::remove_dir_all(bench.path().join("projections")).unwrap();
    std::fs::rename(index, bench.path().join("projections")).unwrap();

    let ledger = bench.open();
    compare(&ledger, &mut dice, 50);
    caught_up(&ledger);
    assert!(compare(&ledger, &mut dice, 300) > 1_000);
    ledger.close().unwrap();
}

#[test]
fn a_block_that_rots_while_it_is_used_is_made_again() {
    let (bench, mut dice, mut id) = (IndexBench::new(100), SeededRng::new(12), 0);
    let ledger = bench.open();
    append(&ledger, &mut dice, &mut id, 450);
    caught_up(&ledger);
    let blocks = bench.blocks();
    assert!(blocks.len() >= 4, "{blocks:?}");
    for (number, block) in blocks.iter().take(3).enumerate() {
        let mut bytes = std::fs::read(block).unwrap();
        let last = bytes.len() - 1;
        match number {
            0 => bytes[last] ^= 1,
            1 => bytes.truncate(last),
            _ => bytes.clear(),
        }
        std::fs::write(block, bytes).unwrap();
    }
    assert!(compare(&ledger, &mut dice, 100) > 500);
    wait_until("the blocks are doubted", || ledger.index_status().doubts >= 3);
    caught_up(&ledger);
    assert!(compare(&ledger, &mut dice, 100) > 500);
    assert_eq!(ledger.index_status().doubts, 3, "what was made again is believed");
    assert_eq!(bench.blocks(), blocks);
    ledger.close().unwrap();
}

#[test]
fn an_index_that_cannot_be_stored_is_shown_and_stops_nothing() {
    let (bench, mut dice, mut id) = (IndexBench::new(100), SeededRng::new(13), 0);
    // A file where its folder should be.
    let in_the_way = bench.path().join("projections");
    std::fs::write(&in_the_way, "in the way").unwrap();
    let ledger = bench.open();
    append(&ledger, &mut dice, &mut id, 300);
    wait_until("it is degraded", || matches!(ledger.index_status().state, IndexState::Degraded(_)));
    assert!(ledger.index_status().lag > 100, "what does not fit the open block is not taken in");
    append(&ledger, &mut dice, &mut id, 50);
    assert!(compare(&ledger, &mut dice, 100) > 500);
    std::fs::remove_file(in_the_way).unwrap();
    caught_up(&ledger);
    assert!(compare(&ledger, &mut dice, 100) > 500);
    ledger.close().unwrap();
    assert!(bench.blocks().len() >= 4);
}

#[test]
fn no_file_of_the_index_shows_a_word() {
    let bench = IndexBench::new(4);
    let ledger = bench.open();
    let mut secret = Event::new(
        "identity-of-the-event",
        "source-of-the-event",
        "x.type-of-the-event",
        "stream-of-the-event",
    );
    secret.agent = Some("agent-of-the-event".into());
    secret.call = Some("call-of-the-event".into());
    secret.tags = vec!["tag-of-the-event".into()];
    for number in 0..9 {
        let id = format!("identity-of-the-event-{number}");
        ledger
            .append(AppendRequest::of(vec![Event { id: id.into(), ..secret.clone() }]))
            .unwrap()
            .wait()
            .unwrap();
    }
    caught_up(&ledger);
    let call = Filter { call: Some("call-of-the-event".to_owned()), ..Filter::default() };
    let query = ReadQuery { from: ReadFrom::Before(None), until: None, limit: 100, filter: call };
    assert_eq!(ledger.read(&query).unwrap().events.len(), 9);
    ledger.close().unwrap();
    assert!(bench.blocks().len() > 2);
    let key = bench.keyring.derived_state_key().expose();
    for block in bench.blocks() {
        let bytes = std::fs::read(&block).unwrap();
        for words in [&b"of-the-event"[..], &key[..8]] {
            assert!(!bytes.windows(words.len()).any(|window| window == words), "{block:?}");
        }
    }
}
