//! The cost of read models: `cargo bench -p bitacora-tests --bench models -- FOLDER --events N`.
//!
//! Loads a governed ledger below the folder (the current one unless named) with agents at work. Folds all read models from its beginning,
//! and asks them. Prints events a second, the store's size, and the time of each question.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on must fail")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::Keyring;
use bitacora_ledger::{Entropy, Environment, Ledger, Options, ReactorChoice, SystemEntropy};
use bitacora_projector::{CallQuery, CostQuery, CostsBy, IndexOptions, IndexedLedger, ModelState};
use bitacora_tests::agents::Agents;

/// Sessions whose requests are on their way at once.
const SESSIONS_AT_ONCE: usize = 64;

fn main() {
    let (mut folder, mut events) = (PathBuf::from("."), 400_000_u64);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--events" => events = arguments.next().unwrap().replace('_', "").parse().unwrap(),
            other if other.starts_with('-') => {}
            other => folder = other.into(),
        }
    }
    let made = tempfile::Builder::new().prefix("models-").tempdir_in(&folder).unwrap();
    let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
    let path = made.path().join("main");
    let name = "main".parse().unwrap();
    let options = Options { governing: ReactorChoice::Governance, ..Options::default() };
    Ledger::create(&Environment::real(), &path, &name, &keyring, &options).unwrap();
    let ledger = Ledger::open(&Environment::real(), &path, Arc::clone(&keyring), options).unwrap();
    let began = Instant::now();
    let mut agents = Agents::begin(&ledger, SESSIONS_AT_ONCE);
    while ledger.head().position.get() < events {
        agents.work(&ledger);
    }
    let events = ledger.head().position;
    println!("{events} events of governed agents in {:.1?}", began.elapsed());
    measure(ledger, &path, &keyring);
}

fn measure(ledger: Ledger, path: &Path, keyring: &Keyring) {
    let events = ledger.head().position.get();
    let options = IndexOptions { read_models: true, ..IndexOptions::default() };
    let began = Instant::now();
    let indexed = IndexedLedger::open(ledger, &Environment::real(), path, keyring, &options);
    let models = indexed.read_models().unwrap();
    while models.status().iter().any(|model| model.lag > 0 || model.state != ModelState::Ok) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let took = began.elapsed();
    for (thread, seconds) in worked("bitacora-fold") {
        println!("{thread} worked for {seconds:.2} s");
    }
    println!("folded {events} events in {took:.2?}: {:.0} events/s", events as f64 / took.as_secs_f64());
    for model in models.status() {
        println!("  {} {} rows", model.name, model.digest.map_or(0, |(_, rows, _)| rows));
    }
    let ask = |what: &str, query: &dyn Fn() -> usize| {
        let mut times: Vec<Duration> = Vec::new();
        let mut found = 0;
        for _ in 0..100 {
            let began = Instant::now();
            found = query();
            times.push(began.elapsed());
        }
        times.sort();
        println!(
            "{what}: {found} found, median {:.2?}, worst {:.2?}",
            times.get(50).unwrap(),
            times.last().unwrap()
        );
    };
    let asked = CallQuery { limit: 100, ..CallQuery::default() };
    ask("newest 100 calls", &|| models.calls(&asked).unwrap().calls.len());
    let failed = CallQuery { tool: Some("Bash".into()), outcome: Some("error".into()), ..asked.clone() };
    ask("100 failed calls of a tool", &|| models.calls(&failed).unwrap().calls.len());
    let run = CallQuery { run: Some("run-7".into()), ..asked };
    ask("the calls of a run", &|| models.calls(&run).unwrap().calls.len());
    let by = vec![CostsBy::Model, CostsBy::Day];
    ask("costs by model and day", &|| {
        models.costs(&CostQuery { by: by.clone(), ..CostQuery::default() }).unwrap().costs.len()
    });
    let began = Instant::now();
    indexed.close().unwrap();
    println!(
        "closed in {:.1?}; the store takes {} bytes",
        began.elapsed(),
        bytes(&path.join("projections/models"))
    );
}

/// Returns the working time of the threads of a name, in seconds, as far as this system tells that.
fn worked(name: &str) -> Vec<(String, f64)> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let told = tasks.filter_map(|task| {
        let task = task.ok()?.path();
        let thread = std::fs::read_to_string(task.join("comm")).ok()?.trim().to_owned();
        let nanoseconds = std::fs::read_to_string(task.join("schedstat")).ok()?;
        Some((thread, nanoseconds.split(' ').next()?.parse::<f64>().ok()? / 1e9))
    });
    let mut told: Vec<_> = told.filter(|(thread, _)| thread.starts_with(name)).collect();
    told.sort_by(|one, other| one.0.cmp(&other.0));
    told
}

fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(
            |entry| {
                if entry.path().is_dir() { bytes(&entry.path()) } else { entry.metadata().unwrap().len() }
            },
        )
        .sum()
}
