//! A ledger on a real disk: made, appended to, read back, closed, opened again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "damage is done to the files themselves"
)]

use std::path::Path;
use std::sync::Arc;

use bitacora_formats::{After, Data, Event, Json, Keyring, Position};
use bitacora_ledger::{
    AppendError, AppendRequest, Entropy, Environment, ExpectedVersion, Filter, From, Ledger, Options,
    ReadError, ReadOnlyReason, ReadQuery, ReceiptStatus, SystemEntropy,
};

fn keyring() -> Arc<Keyring> {
    Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()))
}

fn event(id: u64, stream: &str) -> Event<'static> {
    let mut event = Event::new(format!("e{id}"), "urn:test", "x.noted", stream.to_owned());
    event.data = Data::Json(
        Json::check(format!(r#"{{"n": {id}, "text":"some words to compress"}}"#).into_bytes()).unwrap(),
    );
    event
}

fn all(ledger: &Ledger) -> Vec<bitacora_ledger::StoredEvent<'static>> {
    let mut from = From::After(After::START);
    let mut events = Vec::new();
    loop {
        let query = ReadQuery { from, until: None, limit: 100, filter: Filter::default() };
        let page = ledger.read(&query).unwrap();
        events.extend(page.events);
        match page.next {
            Some(next) => from = next,
            None => return events,
        }
    }
}

#[test]
fn what_was_acknowledged_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main");
    let (environment, keyring) = (Environment::real(), keyring());
    Ledger::create(&environment, &path, &"main".parse().unwrap(), &keyring, &Options::small()).unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..3_u64 {
        let ledger = Ledger::open(&environment, &path, Arc::clone(&keyring), Options::small()).unwrap();
        for n in 0..500 {
            let id = round * 1_000 + n;
            let appended = ledger.append(AppendRequest::of(vec![event(id, "s")])).unwrap().wait().unwrap();
            acknowledged.push((appended.first, format!("e{id}")));
        }
        let again =
            ledger.append(AppendRequest::of(vec![event(round * 1_000, "s")])).unwrap().wait().unwrap();
        assert_eq!(again.results[0].status, ReceiptStatus::Duplicate);
        assert_eq!(again.first, acknowledged[usize::try_from(round).unwrap() * 500].0);
        let stored = all(&ledger);
        assert_eq!(stored.len() as u64, ledger.head().position.get());
        for (position, id) in &acknowledged {
            let found = &stored[usize::try_from(position.get()).unwrap() - 1];
            assert_eq!((&found.position, found.event.id.as_ref()), (position, id.as_str()));
        }
        let backwards = ledger
            .read(&ReadQuery {
                from: From::Before(None),
                until: None,
                limit: 1_000,
                filter: Filter::default(),
            })
            .unwrap();
        let mut reversed: Vec<_> = backwards.events.iter().map(|event| event.position).collect();
        reversed.reverse();
        let tail: Vec<_> =
            stored[stored.len() - reversed.len()..].iter().map(|event| event.position).collect();
        assert_eq!(reversed, tail);
        ledger.close().unwrap();
    }
}

#[test]
fn conditions_and_reuse_are_refused_without_effect() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main");
    let (environment, keyring) = (Environment::real(), keyring());
    Ledger::create(&environment, &path, &"main".parse().unwrap(), &keyring, &Options::small()).unwrap();
    let ledger = Ledger::open(&environment, &path, keyring, Options::small()).unwrap();
    ledger.append(AppendRequest::of(vec![event(1, "s"), event(2, "s")])).unwrap().wait().unwrap();
    let head = ledger.head();

    let mut other = event(1, "s");
    other.data = Data::None;
    let reused = ledger.append(AppendRequest::of(vec![event(3, "s"), other])).unwrap().wait();
    assert!(matches!(reused, Err(AppendError::IdReused { index: 1, .. })), "{reused:?}");

    let expected = Some(ExpectedVersion::NoStream);
    let conflict = ledger
        .append(AppendRequest { events: vec![event(3, "s")], expected, condition: None })
        .unwrap()
        .wait();
    assert!(matches!(conflict, Err(AppendError::VersionConflict { .. })), "{conflict:?}");
    let twice = ledger.append(AppendRequest::of(vec![event(4, "s"), event(4, "s")])).unwrap().wait();
    assert!(matches!(twice, Err(AppendError::RepeatedId { index: 1, first: 0 })), "{twice:?}");
    assert_eq!(ledger.head(), head);
    ledger.append(AppendRequest::of(vec![event(3, "s")])).unwrap().wait().unwrap();
}

/// Puts a pipe, a folder and links to nothing under names like those of the ledger's files.
fn clutter(ledger: &Path) {
    let names = [
        ("quarantine", vec!["0000000001.seg@1.0.a.torn", "0000000001.seg@1.0.g1.a.unwritten"]),
        ("tree", vec!["0000000000.heads", "0000000000.cosigned", "0000000001.leaves.new"]),
        (
            "index",
            vec!["ids-0000000007-0000000009.tbl", "tips-0000000007-0000000009.tbl", "state-0000000009.snp"],
        ),
        ("archives", vec!["00000000000000000001-00000000000000000099.manifest"]),
    ];
    for (folder, names) in names {
        for (number, name) in names.iter().enumerate() {
            let path = |kind: usize| {
                let at = ledger.join(folder);
                std::fs::create_dir_all(&at).unwrap();
                at.join(name.replacen('0', &(kind + 4 * number).to_string(), 1))
            };
            std::fs::create_dir(path(1)).unwrap();
            make_pipe(&path(2));
            std::os::unix::fs::symlink("nowhere", path(3)).unwrap();
            std::os::unix::fs::symlink(path(4).file_name().unwrap(), path(4)).unwrap();
        }
    }
}

#[test]
fn what_is_no_file_under_a_name_like_a_files_stops_no_opening_and_no_declaration() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main");
    let (environment, keyring) = (Environment::real(), keyring());
    Ledger::create(&environment, &path, &"main".parse().unwrap(), &keyring, &Options::small()).unwrap();
    clutter(&path);
    for id in 0..3 {
        let ledger = Ledger::open(&environment, &path, Arc::clone(&keyring), Options::small()).unwrap();
        ledger.append(AppendRequest::of(vec![event(id, "s")])).unwrap().wait().unwrap();
        ledger.close().unwrap();
    }
    let damaged = path.join("segments/0000000002.seg");
    let mut bytes = std::fs::read(&damaged).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    // Nothing that is under the name of a segment is passed over in silence: it is lost, and what is whole is served.
    let pipe = path.join("segments/0000000009.seg");
    make_pipe(&pipe);
    let ledger = Ledger::open(&environment, &path, Arc::clone(&keyring), Options::small()).unwrap();
    assert!(ledger.lost_end().is_some());
    drop(ledger);
    std::fs::remove_file(&pipe).unwrap();
    let (ledger, _) =
        Ledger::declare_loss(&environment, &path, Arc::clone(&keyring), Options::small()).unwrap();
    ledger.append(AppendRequest::of(vec![event(9, "s")])).unwrap().wait().unwrap();
}

/// A way in which a reader meets events.
type Reading = fn(&Ledger) -> Result<(), ReadError>;
/// The damage done to the bytes of a segment.
type Damage<'a> = &'a dyn Fn(&mut Vec<u8>);

#[test]
fn damage_that_any_reader_finds_ends_the_taking_of_appends() {
    let folder = tempfile::tempdir().unwrap();
    let (base, path) = (folder.path().join("base"), folder.path().join("main"));
    let (environment, keyring) = (Environment::real(), keyring());
    Ledger::create(&environment, &base, &"main".parse().unwrap(), &keyring, &Options::small()).unwrap();
    for round in 0..3 {
        let ledger = Ledger::open(&environment, &base, Arc::clone(&keyring), Options::small()).unwrap();
        for id in 0..4 {
            ledger.append(AppendRequest::of(vec![event(round * 10 + id, "s")])).unwrap().wait().unwrap();
        }
        ledger.close().unwrap();
    }
    // The proof does not come by in this test.
    let options = || Options { proof_delay: std::time::Duration::from_hours(1), ..Options::small() };
    let name = "segments/0000000002.seg";
    let whole = std::fs::read(base.join(name)).unwrap();
    let frames: Vec<_> = (0..whole.len() - 4).filter(|at| whole[*at..].starts_with(b"BITF")).collect();
    let readings: [(&str, Reading); 4] = [
        ("by position", |ledger| (2..6).try_for_each(|at| ledger.event(position(at)).map(drop))),
        ("a page", |ledger| ledger.read(&everything()).map(drop)),
        ("one behind the damage", |ledger| ledger.event(position(5)).map(drop)),
        ("by time", |ledger| ledger.first_at(bitacora_formats::Micros(u64::MAX)).map(drop)),
    ];
    let body = |bytes: &mut Vec<u8>| bytes[frames[1] + 150] ^= 1;
    let header = |bytes: &mut Vec<u8>| bytes[frames[1]] ^= 1;
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(frames[1] + 100);
    let damages: [(&str, Damage<'_>); 2] = [("body", &body), ("header", &header)];
    for ((how, read), (what, damage)) in
        readings.iter().flat_map(|read| damages.map(|damage| (*read, damage)))
    {
        if what == "body" && how != "by position" && how != "a page" {
            continue;
        }
        drop(std::fs::remove_dir_all(&path));
        copy(&base, &path);
        let mut bytes = whole.clone();
        damage(&mut bytes);
        std::fs::write(path.join(name), bytes).unwrap();
        let ledger = Ledger::open(&environment, &path, Arc::clone(&keyring), options()).unwrap();
        assert!(what == "header" || ledger.doubt().is_none(), "{how}, {what}: nobody has read it");
        let found = read(&ledger);
        let doubt = ledger.doubt();
        assert!(doubt.is_some_and(|doubt| doubt.contains(name)), "{how}, {what}: {found:?}");
        let refused = ledger.append(AppendRequest::of(vec![event(99, "s")]));
        assert!(matches!(refused, Err(AppendError::ReadOnly(ReadOnlyReason::Corrupt(_)))), "{how}, {what}");
        ledger.close().unwrap();
        assert!(ledger.doubt().is_some(), "{how}, {what}: closed");
        drop(ledger);
        let again = Ledger::open(&environment, &path, Arc::clone(&keyring), options()).unwrap();
        assert!(again.doubt().is_some(), "{how}, {what}: the next opening reads all of it");
    }
    // A file that is cut while it is read has lost what was durable, too.
    let ledger = Ledger::open(&environment, &base, Arc::clone(&keyring), options()).unwrap();
    let mut bytes = whole.clone();
    cut(&mut bytes);
    std::fs::OpenOptions::new()
        .write(true)
        .open(base.join(name))
        .unwrap()
        .set_len(bytes.len() as u64)
        .unwrap();
    assert!(matches!(ledger.event(position(4)), Err(ReadError::Corrupt(_))));
    assert!(ledger.doubt().unwrap().contains(name));
}

fn position(at: u64) -> Position {
    Position::new(at).unwrap()
}

fn everything() -> ReadQuery {
    ReadQuery { from: From::After(After::START), until: None, limit: 100, filter: Filter::default() }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Makes a pipe without starting a program: a child holds the locks of other tests until it has become that program.
fn make_pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}
