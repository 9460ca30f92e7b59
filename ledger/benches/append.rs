//! What an append costs beside the bare sync it rests on: `cargo bench -p bitacora-ledger --bench append`.
//!
//! Closed loop, after a warm-up, in a fresh folder below the current one (or the one named as the argument), so that it
//! measures that disk. Ratios are what to quote: the bare sync is measured in the same run.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on must fail")]
#![expect(clippy::indexing_slicing, reason = "a measurement that cannot go on must fail")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bitacora_formats::{Data, Event, Json, Keyring};
use bitacora_ledger::{AppendRequest, Entropy, Environment, Ledger, OpenMode, Options, SystemEntropy};

const WARM_UP: Duration = Duration::from_secs(1);
const MEASURED: Duration = Duration::from_secs(4);
const DATA_BYTES: usize = 512;

fn main() {
    let base = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
        .unwrap_or_else(|| ".".to_owned());
    let folder = tempfile::tempdir_in(base).unwrap();
    let environment = Environment::real();
    for bytes in [4 * 1024, 64 * 1024] {
        let times = bare_sync(&environment, folder.path(), bytes);
        println!("bare sync of {:2} KiB            {}", bytes / 1024, summary(&times));
    }
    let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
    let path = folder.path().join("main");
    Ledger::create(&environment, &path, &"main".parse().unwrap(), &keyring, &Options::default()).unwrap();
    let ledger = Ledger::open(&environment, &path, keyring, Options::default()).unwrap();
    lone(&ledger);
    for (callers, events) in [(256, 1), (16, 100), (4, 1_000)] {
        many(&ledger, callers, events);
    }
    ledger.close().unwrap();
}

fn bare_sync(environment: &Environment, folder: &Path, bytes: usize) -> Vec<Duration> {
    let file = environment.disk.open(&folder.join(format!("bare-{bytes}")), OpenMode::CreateNew).unwrap();
    let room = 64 * 1024 * 1024;
    file.write_all_at(&vec![0; room], 0).unwrap();
    file.sync_all().unwrap();
    let mut noise = vec![0; bytes];
    SystemEntropy.fill(&mut noise).unwrap();
    let mut times = Vec::new();
    for round in 0..1_000 {
        let offset = (round * bytes) % room;
        let began = Instant::now();
        file.write_all_at(&noise, offset as u64).unwrap();
        file.sync_data().unwrap();
        times.push(began.elapsed());
    }
    times
}

/// Bodies made before the clock starts, so that making them weighs on no figure; more than fit a frame, so that
/// compression finds no whole body twice.
static BODIES: LazyLock<Vec<Json<'static>>> = LazyLock::new(|| (0..16 * 1024).map(body).collect());

fn event(caller: u64, number: u64) -> Event<'static> {
    let id = format!("{caller}-{number}");
    let mut event = Event::new(id, "urn:bitacora:bench", "tool.requested", format!("session-{caller}"));
    event.agent = Some("agent-7".into());
    event.call = Some(format!("toolu_{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into());
    let place = usize::try_from(caller.wrapping_mul(4_099).wrapping_add(number)).unwrap() % BODIES.len();
    event.data = Data::Json(BODIES[place].borrowed());
    event
}

fn body(number: u64) -> Json<'static> {
    let mut text = format!(
        r#"{{"tool":"Bash","cwd":"/home/dev/project-{}","model":"m-large","tokens_in":{},"command":"cargo test -p crate-{} -- --nocapture","description":""#,
        number % 17,
        number % 5_000,
        number % 97,
    );
    let mut word = (number + 1).wrapping_mul(0x2545_f491_4f6c_dd1d);
    while text.len() < DATA_BYTES - 12 {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        text.push_str(WORDS[usize::from(word.to_le_bytes()[0]) % WORDS.len()]);
        text.push(' ');
    }
    text.push_str("\"}");
    Json::check(text.into_bytes()).unwrap()
}

const WORDS: [&str; 16] = [
    "run", "the", "tests", "of", "this", "crate", "and", "show", "output", "before", "commit", "review",
    "fix", "lint", "again", "module",
];

fn lone(ledger: &Ledger) {
    let mut times = Vec::new();
    let began = Instant::now();
    for number in 0.. {
        let event = event(9_999, number);
        let start = Instant::now();
        ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap();
        if began.elapsed() > WARM_UP {
            times.push(start.elapsed());
        }
        if began.elapsed() > WARM_UP + MEASURED {
            break;
        }
    }
    println!("a lone caller, 1 event          {}", summary(&times));
}

fn many(ledger: &Ledger, callers: u64, events: u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let before = ledger.status().counters;
    let began = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let ledger = ledger.clone();
            runtime.spawn(async move {
                let (mut number, mut times) = (0, Vec::new());
                while began.elapsed() < WARM_UP + MEASURED {
                    let tag = caller + events * 1_000;
                    let batch = (number..number + events).map(|number| event(tag, number)).collect();
                    number += events;
                    let start = Instant::now();
                    ledger.append(AppendRequest::of(batch)).unwrap().await.unwrap();
                    if began.elapsed() > WARM_UP {
                        times.push(start.elapsed());
                    }
                }
                times
            })
        })
        .collect();
    let times: Vec<_> = tasks.into_iter().flat_map(|task| runtime.block_on(task).unwrap()).collect();
    let took = began.elapsed();
    let after = ledger.status().counters;
    let made = after.events - before.events;
    let frames = after.frames - before.frames;
    println!("{callers:3} callers × {events:4}              {}", summary(&times));
    println!(
        "    {:7.0} events/s, {:.0} events a frame, {:.1} x compressed, mean sync {:.0} µs, disk busy {:.0} %",
        made as f64 / took.as_secs_f64(),
        made as f64 / frames as f64,
        (after.body_bytes - before.body_bytes) as f64 / (after.stored_bytes - before.stored_bytes) as f64,
        (after.sync_us - before.sync_us) as f64 / frames as f64,
        (after.sync_us - before.sync_us) as f64 / took.as_micros() as f64 * 100.0,
    );
}

fn summary(times: &[Duration]) -> String {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = |per_mille: usize| {
        times.get((times.len() - 1) * per_mille / 1_000).copied().unwrap_or_default().as_micros()
    };
    format!(
        "p50 {:6} µs  p99 {:6} µs  p99.9 {:6} µs  max {:6} µs  ({} times)",
        at(500),
        at(990),
        at(999),
        at(1_000),
        times.len()
    )
}
