//! The index's cost and gain: `cargo bench -p bitacora-projector --bench filtered -- FOLDER --events N`.
//!
//! Loads a ledger below the folder (the current one unless named) with events shaped like those of agents at work. Then closes it, opens
//! it again and reads by filter. With `--keep` the ledger stays; with `--read FOLDER` one that stayed is read in a fresh process. Where
//! the machine lets this program drop the page cache, reads are said to be cold.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on must fail")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bitacora_formats::{After, Data, Event, Json, Keyring};
use bitacora_ledger::{
    AppendRequest, Entropy, Environment, Filter, Ledger, Options, ReadFrom, ReadQuery, SystemEntropy,
};
use bitacora_projector::{IndexOptions, IndexedLedger};

const CALLERS: u64 = 16;
const REQUEST_EVENTS: u64 = 100;
const STREAM_EVENTS: u64 = 1_000;
const DATA_BYTES: usize = 512;

struct BenchArguments {
    folder: PathBuf,
    events: u64,
    keep: bool,
    read: bool,
}

fn main() {
    let mut found = BenchArguments { folder: ".".into(), events: 1_000_000, keep: false, read: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--events" => found.events = arguments.next().unwrap().replace('_', "").parse().unwrap(),
            "--keep" => found.keep = true,
            "--read" => found.read = true,
            other if other.starts_with('-') => {}
            folder => found.folder = folder.into(),
        }
    }
    if found.read {
        return read(&found.folder);
    }
    let made = tempfile::Builder::new().prefix("filtered-").tempdir_in(&found.folder).unwrap();
    load(made.path(), found.events);
    read(made.path());
    if found.keep {
        println!("kept in {}", made.keep().display());
    }
}

fn open(folder: &Path) -> (Ledger, Arc<Keyring>, Environment) {
    let environment = Environment::real();
    let keyring =
        Arc::new(Keyring::parse(&std::fs::read_to_string(folder.join("keyring")).unwrap()).unwrap());
    let ledger =
        Ledger::open(&environment, &folder.join("main"), Arc::clone(&keyring), Options::default()).unwrap();
    (ledger, keyring, environment)
}

fn indexed(folder: &Path) -> IndexedLedger {
    let began = Instant::now();
    let (ledger, keyring, environment) = open(folder);
    let opened = began.elapsed();
    let began = Instant::now();
    let how = IndexOptions::default();
    let indexed = IndexedLedger::open(ledger, &environment, &folder.join("main"), &keyring, &how);
    println!("opened: the ledger in {opened:.1?}, its index in {:.1?}", began.elapsed());
    indexed
}

fn load(folder: &Path, events: u64) {
    let keyring = Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap());
    std::fs::write(folder.join("keyring"), keyring.to_text().as_bytes()).unwrap();
    let (path, name) = (folder.join("main"), "main".parse().unwrap());
    Ledger::create(&Environment::real(), &path, &name, &keyring, &Options::default()).unwrap();
    let ledger = indexed(folder);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let next = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (ledger, next) = (Ledger::clone(ledger.ledger()), Arc::clone(&next));
            runtime.spawn(async move {
                loop {
                    let stream = next.fetch_add(1, Ordering::Relaxed);
                    if stream * STREAM_EVENTS >= events {
                        return;
                    }
                    for request in 0..STREAM_EVENTS / REQUEST_EVENTS {
                        let first = request * REQUEST_EVENTS;
                        let batch =
                            (first..first + REQUEST_EVENTS).map(|number| event(stream, number)).collect();
                        ledger.append(AppendRequest::of(batch)).unwrap().await.unwrap();
                    }
                }
            })
        })
        .collect();
    let mut most = 0;
    while callers.iter().any(|caller| !caller.is_finished()) {
        std::thread::sleep(Duration::from_millis(20));
        most = most.max(ledger.index_status().lag);
    }
    callers.into_iter().for_each(|caller| runtime.block_on(caller).unwrap());
    let (took, lag) = (began.elapsed(), ledger.index_status().lag);
    let began = Instant::now();
    caught_up(&ledger);
    println!(
        "loaded {events} events in {took:.1?}, {:.0} events/s; lag then {lag} events, over after {:.0?}; at most {most}",
        events as f64 / took.as_secs_f64(),
        began.elapsed(),
    );
    show_follower(events);
    ledger.close().unwrap();
}

/// Shows the cost of the index's thread so far.
fn show_follower(events: u64) {
    let mut busy = 0.0;
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten() {
        let task = task.unwrap().path();
        if std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("bitacora-index")) {
            busy += on_cpu(&task).as_secs_f64();
        }
    }
    println!(
        "the follower's thread took {busy:.2} s of a core, {:.0} events/s of it; memory at most {} MiB",
        events as f64 / busy,
        peak_mib()
    );
}

/// Returns the time that a thread was running, as Linux counts it: on a busy machine less than a clock shows.
fn on_cpu(task: &Path) -> Duration {
    let text = std::fs::read_to_string(task.join("schedstat")).unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or_default())
}

fn caught_up(ledger: &IndexedLedger) {
    while ledger.index_status().lag > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn event(stream: u64, number: u64) -> Event<'static> {
    let salt = (stream * STREAM_EVENTS + number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let kind = if number.is_multiple_of(2) { "tool.requested" } else { "tool.completed" };
    let mut event = Event::new(format!("{stream}-{number}"), "urn:bench", kind, stream_name(stream));
    event.actor = Some(format!("person-{}", stream % 7).into());
    event.agent = Some(format!("agent-{}", stream % 40).into());
    event.session = Some(format!("{:032x}", u128::from(stream).wrapping_mul(0x9e37_79b9_7f4a_7c15)).into());
    event.run = Some(format!("run-{}-{}", stream, number / 100).into());
    event.call = Some(format!("toolu_{:016x}{stream}", number / 2).into());
    event.tags = vec![format!("project-{}", stream % 17).into()];
    let mut text = format!(
        r#"{{"call":"c{number}","tool":"Bash","status":"ok","cwd":"/home/dev/project-{}","command":""#,
        stream % 17
    );
    let mut word = salt | 1;
    while text.len() < DATA_BYTES - 12 {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        text.push_str(WORDS.iter().cycle().nth(usize::from(word.to_le_bytes()[0])).unwrap());
        text.push(' ');
    }
    text.push_str("\"}");
    event.data = Data::Json(Json::check(text.into_bytes()).unwrap());
    event
}

const WORDS: [&str; 16] = [
    "run", "the", "tests", "of", "this", "crate", "and", "show", "output", "before", "commit", "review",
    "fix", "lint", "again", "module",
];

fn stream_name(stream: u64) -> String {
    format!("session/{stream}")
}

fn read(folder: &Path) {
    let ledger = indexed(folder);
    caught_up(&ledger);
    let status = ledger.index_status();
    let position = status.position.unwrap().get();
    let bytes: u64 = std::fs::read_dir(folder.join("main/projections/index"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    println!("{} blocks, {:.1} bytes an event", status.blocks, bytes as f64 / position as f64);
    let streams = position / STREAM_EVENTS;
    let stream = |number: u64| Filter { stream: Some(stream_name(number)), ..Filter::default() };
    let one = |kind: &str, agent: &str| Filter {
        kinds: vec![kind.to_owned()],
        agent: Some(agent.to_owned()),
        ..Filter::default()
    };
    let call = |number: u64| Filter { call: Some(format!("toolu_{:016x}{number}", 7)), ..Filter::default() };
    let back = ReadFrom::Before(None);
    let forth = ReadFrom::After(After::START);
    for (what, from, limit, filters) in [
        (
            "1,000 events of one stream",
            forth,
            1_000,
            (1..20).map(|n| stream(n * streams / 20)).collect::<Vec<_>>(),
        ),
        ("one call", forth, 1_000, (1..20).map(|n| call(n * streams / 20)).collect()),
        ("nothing", forth, 1_000, (1..20).map(|n| stream(n + 1_000_000_000)).collect()),
        (
            "the last 100 of a type and agent",
            back,
            100,
            (1..20).map(|n| one("tool.completed", &format!("agent-{n}"))).collect(),
        ),
    ] {
        let cold: Vec<_> = filters
            .iter()
            .map(|filter| {
                let dropped = std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok();
                (dropped, timed(&ledger, from, limit, filter))
            })
            .collect();
        let is_cold = cold.iter().all(|(dropped, _)| *dropped);
        let name = if is_cold { "cold" } else { "first" };
        show(what, name, cold.into_iter().map(|(_, took)| took).collect());
        show(what, "warm", filters.iter().map(|filter| timed(&ledger, from, limit, filter)).collect());
    }
    ledger.close().unwrap();
    std::fs::remove_dir_all(folder.join("main/projections")).unwrap();
    let ledger = indexed(folder);
    let began = Instant::now();
    caught_up(&ledger);
    println!("made again at {:.0} events/s", position as f64 / began.elapsed().as_secs_f64());
    show_follower(position);
    ledger.close().unwrap();
}

/// The time by the clock, the time of it that this thread was running, and how many events were found.
type ReadTiming = (Duration, Duration, usize);

fn timed(ledger: &IndexedLedger, from: ReadFrom, limit: usize, filter: &Filter) -> ReadTiming {
    let thread = Path::new("/proc/thread-self");
    let (began, ran) = (Instant::now(), on_cpu(thread));
    let query = ReadQuery { from, until: None, limit, filter: filter.clone() };
    let page = ledger.read(&query).unwrap();
    (began.elapsed(), on_cpu(thread) - ran, page.events.len())
}

fn show(what: &str, how: &str, mut times: Vec<ReadTiming>) {
    times.sort_unstable();
    let (median, most) = (times.get(times.len() / 2).unwrap(), times.last().unwrap());
    let mut ran: Vec<_> = times.iter().map(|(_, ran, _)| *ran).collect();
    ran.sort_unstable();
    println!(
        "{what:34} {how:5}  median {:8.2?}  max {:8.2?}  on the core {:8.2?}  ({} events)",
        median.0,
        most.0,
        ran.get(ran.len() / 2).unwrap(),
        median.2
    );
}

/// The most memory this process had, from what Linux tells; 0 elsewhere.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() / 1_024
}
