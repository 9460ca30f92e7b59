//! The cost of checkpoints: `cargo bench -p bitacora-projector --bench checkpoints -- FOLDER --steps N`.
//!
//! Saves a thread of many steps below the folder (the current one unless named): one channel changes, seven do not. Then asks for the
//! newest checkpoint, with its values, writes and document, warm and right after an opening.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on must fail")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{Data, Event, Json, Keyring};
use bitacora_ledger::{AppendRequest, Entropy, Environment, Ledger, Options, SystemEntropy};
use bitacora_projector::{ContentBody, IndexOptions, IndexedLedger, ModelState, ReadModels};
use bitacora_vocabulary::{CHECKPOINT_BLOB, CHECKPOINT_SOURCE};

/// Channels that never change, and bytes of each.
const CONSTANT: [(&str, usize); 7] = [
    ("system", 6_000),
    ("tools", 9_000),
    ("plan", 2_000),
    ("memory", 4_000),
    ("files", 3_000),
    ("config", 500),
    ("user", 200),
];
/// Bytes of the channel that does.
const CHANGING: usize = 400;

fn main() {
    let (mut folder, mut steps) = (PathBuf::from("."), 10_000_u64);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--steps" => steps = arguments.next().unwrap().replace('_', "").parse().unwrap(),
            other if other.starts_with('-') => {}
            other => folder = other.into(),
        }
    }
    let made = tempfile::Builder::new().prefix("checkpoints-").tempdir_in(&folder).unwrap();
    let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
    let path = made.path().join("main");
    let name = "main".parse().unwrap();
    Ledger::create(&Environment::real(), &path, &name, &keyring, &Options::default()).unwrap();
    let ledger = open(&path, &keyring);
    let began = Instant::now();
    for step in 0..steps {
        let appended = ledger.append(AppendRequest::of(events(ledger.ledger(), step))).unwrap();
        if step % 64 == 0 || step + 1 == steps {
            appended.wait().unwrap();
        }
    }
    settle(ledger.read_models().unwrap());
    println!("saved and folded {steps} steps in {:.2?}", began.elapsed());
    ask("newest, warm", &ledger);
    ledger.close().unwrap();
    let ledger = open(&path, &keyring);
    settle(ledger.read_models().unwrap());
    let began = Instant::now();
    newest(ledger.read_models().unwrap());
    println!("newest, the first after an opening: {:.2?}", began.elapsed());
    ask("newest, warm after an opening", &ledger);
    ledger.close().unwrap();
}

fn open(path: &Path, keyring: &Arc<Keyring>) -> IndexedLedger {
    let environment = Environment::real();
    let ledger = Ledger::open(&environment, path, Arc::clone(keyring), Options::default()).unwrap();
    let options = IndexOptions { read_models: true, ..IndexOptions::default() };
    IndexedLedger::open(ledger, &environment, path, keyring, &options)
}

fn settle(models: &ReadModels) {
    while models.status().iter().any(|model| model.lag > 0 || model.state != ModelState::Ok) {
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn text(seed: u64, bytes: usize) -> Vec<u8> {
    let words =
        ["the", "agent", "reads", "a", "file", "and", "writes", "what", "it", "found", "into", "another"];
    let mut state = seed.wrapping_add(7);
    let mut text = Vec::with_capacity(bytes + 8);
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = words.into_iter().cycle().nth((state >> 40) as usize % words.len()).unwrap();
        text.extend_from_slice(word.as_bytes());
        text.push(b' ');
    }
    text
}

fn events(ledger: &Ledger, step: u64) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    let mut blob = |channel: &str, content: Vec<u8>| {
        let digest = ledger.content_digest(None, &content).unwrap();
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let told = format!(
            r#"{{"channel":"{channel}","encoding":"msgpack","digest":"{digest}","bytes":{}}}"#,
            content.len()
        );
        let mut event = Event::new(digest, CHECKPOINT_SOURCE, CHECKPOINT_BLOB, "checkpoints");
        event.data = Data::Binary(content.into());
        events.push(event);
        told
    };
    let mut blobs = vec![blob("messages", text(step, CHANGING))];
    let write = blob("messages", text(step + (1 << 32), 200));
    if step == 0 {
        blobs.extend(CONSTANT.iter().map(|(name, bytes)| blob(name, text(*bytes as u64, *bytes))));
    }
    let versions = CONSTANT.iter().map(|(name, _)| format!(r#","{name}":"{:032}.0.1""#, 1));
    let versions = versions.collect::<String>();
    let saved = format!(
        r#"{{"thread":"t1","checkpoint":"{step:08}","parent":"{:08}","step":{step},"source":"loop","channel_versions":{{"messages":"{step:032}.0.7"{versions}}},"blobs":[{}],"metadata":{{"source":"loop","step":{step},"parents":{{}},"run_id":"r1"}},"document":{{"v":4,"ts":"2026-11-23T00:00:00Z","versions_seen":{{"agent":{{"messages":"{step:032}.0.7"}}}}}}}}"#,
        step.saturating_sub(1),
        blobs.join(",")
    );
    let writes = format!(r#"{{"thread":"t1","checkpoint":"{step:08}","task":"agent","writes":[{write}]}}"#);
    for (kind, data) in [("checkpoint.saved", saved), ("checkpoint.writes", writes)] {
        let mut event = Event::new(format!("{step}-{kind}"), CHECKPOINT_SOURCE, kind, "thread/t1");
        event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
        events.push(event);
    }
    events
}

/// All that belongs to the newest checkpoint: bytes of values and writes.
fn newest(models: &ReadModels) -> usize {
    let found = models.checkpoint("t1", "", None).unwrap().0.unwrap();
    let document = models.checkpoint_document(&found.checkpoint).unwrap().unwrap();
    let contents = found.checkpoint.channels.iter().filter_map(|channel| channel.value.as_ref());
    let contents = contents.chain(found.writes.iter().map(|write| &write.content));
    let held = contents.map(|content| match models.content(content).unwrap() {
        ContentBody::Bytes(bytes) => bytes.len(),
        other => unreachable!("{other:?}"),
    });
    document.len() + held.sum::<usize>()
}

fn ask(what: &str, ledger: &IndexedLedger) {
    let models = ledger.read_models().unwrap();
    let (mut times, mut bytes) = (Vec::new(), 0);
    for _ in 0..1_000 {
        let began = Instant::now();
        bytes = newest(models);
        times.push(began.elapsed());
    }
    times.sort();
    let at = |share: usize| times.get(share).unwrap();
    println!(
        "{what}: {bytes} bytes, median {:.2?}, 99 of 100 {:.2?}, worst {:.2?}",
        at(500),
        at(990),
        at(999)
    );
}
