//! What read models cost: `cargo bench -p bitacora-projector --bench models -- FOLDER --events N`.
//!
//! Loads a ledger below the folder (the current one unless named) with the calls of agents at work, folds all read models
//! from its beginning, and asks them. Prints events a second, the store's size, and the time of each question.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on must fail")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{Data, Event, Json, Keyring};
use bitacora_ledger::{AppendRequest, Entropy, Environment, Ledger, Options, SystemEntropy};
use bitacora_projector::{CallQuery, CostQuery, CostsBy, IndexOptions, IndexedLedger, ModelState};

const CALLS_OF_SESSION: u64 = 50;
/// Events that one call leaves: asked for, decided, ended, observed.
const EVENTS_OF_CALL: u64 = 4;

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
    Ledger::create(&Environment::real(), &path, &name, &keyring, &Options::default()).unwrap();
    let ledger = Ledger::open(&Environment::real(), &path, Arc::clone(&keyring), Options::default()).unwrap();
    load(&ledger, events / EVENTS_OF_CALL);
    measure(ledger, &path, &keyring);
}

fn load(ledger: &Ledger, calls: u64) {
    let mut waiting = Vec::new();
    for session in 0..calls.div_ceil(CALLS_OF_SESSION) {
        let first = session * CALLS_OF_SESSION;
        let batch = (first..first + CALLS_OF_SESSION).flat_map(|call| events_of(session, call)).collect();
        waiting.push(ledger.append(AppendRequest::of(batch)).unwrap());
        if waiting.len() == 64 {
            waiting.drain(..).for_each(|append| drop(append.wait().unwrap()));
        }
    }
    waiting.drain(..).for_each(|append| drop(append.wait().unwrap()));
}

fn events_of(session: u64, call: u64) -> [Event<'static>; 4] {
    let event = |what: &str, kind: &str, data: String| {
        let mut event =
            Event::new(format!("{call}#{what}"), "urn:bench", kind.to_owned(), format!("session/{session}"));
        event.session = Some(format!("session-{session}").into());
        event.run = Some(format!("run-{}", session / 3).into());
        event.agent = Some(format!("agent-{}", session % 40).into());
        event.actor = Some(format!("agent:{:012x}", session % 40).into());
        event.call = Some(format!("toolu_{call:024x}").into());
        event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
        event
    };
    let id = format!("toolu_{call:024x}");
    let tool = ["bash", "fs.read", "fs.write", "web.fetch", "search"]
        .into_iter()
        .cycle()
        .nth((call % 5) as usize)
        .unwrap();
    let (verdict, code) =
        if call.is_multiple_of(7) { ("review", "trust-require-review") } else { ("allow", "allowed") };
    let end = if call.is_multiple_of(9) { "tool.failed" } else { "tool.completed" };
    let status = if call.is_multiple_of(9) { "error" } else { "ok" };
    [
        event(
            "requested",
            "tool.requested",
            format!(
                r#"{{"call":"{id}","tool":"{tool}","args":{{"command":"cargo test -p part-{call}"}},"model":"model-{}","task_type":"feature"}}"#,
                session % 3
            ),
        ),
        event(
            "called",
            "model.called",
            format!(
                r#"{{"model":"model-{}","provider":"p","tokens":{{"in":{},"out":260}},"cost_micro_usd":{},"duration_ms":1400,"status":"ok"}}"#,
                session % 3,
                900 + call % 100,
                3000 + call % 77
            ),
        ),
        event(
            "decided",
            "x.decision.made",
            format!(
                r#"{{"call":"{id}","verdict":"{verdict}","mode":"enforce","reason_code":"{code}","reason":"12 of 14 calls like this were good","rule":"edit-src","inputs":{{"policy_version":2,"dimension":{{"context":"src/**"}}}}}}"#
            ),
        ),
        event(
            "ended",
            end,
            format!(
                r#"{{"call":"{id}","status":"{status}","duration_ms":{},"cost_micro_usd":0,"summary":"14 bytes written"}}"#,
                call % 900
            ),
        ),
    ]
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
    let failed = CallQuery { tool: Some("bash".into()), outcome: Some("error".into()), ..asked.clone() };
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
