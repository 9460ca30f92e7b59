//! The cost of a proof: `cargo bench -p bitacora-ledger --bench proofs -- FOLDER --events N`.
//!
//! Loads a ledger below the folder (the current one unless named) with small events. Opens it again and waits until all of it is proven.
//! Then proves events and growths chosen at random, and checks each proof as a client would.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on must fail")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{Event, Keyring, Position, verify_consistency, verify_inclusion};
use bitacora_ledger::{AppendRequest, Entropy, Environment, Ledger, Options, SystemEntropy};

const REQUEST_EVENTS: u64 = 1_000;
const REQUESTS_AHEAD: usize = 16;
const PROOFS: u64 = 2_000;

fn main() {
    let (mut folder, mut events) = (PathBuf::from("."), 1_000_000_u64);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--events" => events = arguments.next().unwrap().replace('_', "").parse().unwrap(),
            other if other.starts_with('-') => {}
            named => folder = named.into(),
        }
    }
    let made = tempfile::Builder::new().prefix("proofs-").tempdir_in(&folder).unwrap();
    let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
    let path = made.path().join("main");
    load(&path, &keyring, events);
    let ledger = open(&path, &keyring);
    prove(&ledger);
}

fn open(path: &Path, keyring: &Arc<Keyring>) -> Ledger {
    let began = Instant::now();
    let ledger = Ledger::open(&Environment::real(), path, Arc::clone(keyring), Options::default()).unwrap();
    println!("opened in {:.1?}", began.elapsed());
    while !ledger.status().is_proven {
        std::thread::sleep(Duration::from_millis(10));
    }
    println!("proven in the background, with all leaves, {:.1?} after", began.elapsed());
    ledger
}

fn load(path: &Path, keyring: &Arc<Keyring>, events: u64) {
    let name = "main".parse().unwrap();
    let options = Options::default();
    Ledger::create(&Environment::real(), path, &name, keyring, &options).unwrap();
    let ledger = Ledger::open(&Environment::real(), path, Arc::clone(keyring), options).unwrap();
    let began = Instant::now();
    let mut pending = std::collections::VecDeque::new();
    for first in (0..events).step_by(usize::try_from(REQUEST_EVENTS).unwrap()) {
        let numbers = first..events.min(first + REQUEST_EVENTS);
        let events = numbers.map(|number| Event::new(format!("{number}"), "urn:bench", "x.noted", "s"));
        pending.push_back(ledger.append(AppendRequest::of(events.collect())).unwrap());
        if pending.len() > REQUESTS_AHEAD {
            pending.pop_front().unwrap().wait().unwrap();
        }
    }
    pending.into_iter().for_each(|append| drop(append.wait().unwrap()));
    ledger.close().unwrap();
    println!("{events} events loaded in {:.1?}", began.elapsed());
}

fn prove(ledger: &Ledger) {
    let size = ledger.head().position.get();
    // An odd multiplier visits places all over the ledger, the same at every run.
    let place = |n: u64| Position::new(n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % size + 1).unwrap();
    measure("inclusion in the whole tree", |n| {
        let proof = ledger.prove_inclusion(place(n), size).unwrap();
        let leaf = proof.leaf.hash(proof.position);
        verify_inclusion(&leaf, proof.position.get() - 1, size, &proof.hashes, &proof.root).unwrap();
    });
    measure("inclusion in an earlier tree", |n| {
        let (one, other) = (place(n), place(n + PROOFS));
        let (position, size) = (one.min(other), one.max(other).get());
        let proof = ledger.prove_inclusion(position, size).unwrap();
        let leaf = proof.leaf.hash(position);
        verify_inclusion(&leaf, position.get() - 1, size, &proof.hashes, &proof.root).unwrap();
    });
    measure("growth to the whole tree", |n| {
        let from = place(n).get();
        let proof = ledger.prove_consistency(from, size).unwrap();
        verify_consistency(from, size, &proof.hashes, &proof.old_root, &proof.new_root).unwrap();
    });
    measure("a tile of 256 entries", |n| {
        assert_eq!(ledger.leaves((place(n).get() - 1) / 256 % (size / 256), 256).unwrap().len(), 256);
    });
}

fn measure(what: &str, mut prove: impl FnMut(u64)) {
    let mut times: Vec<Duration> = (0..PROOFS)
        .map(|n| {
            let began = Instant::now();
            prove(n);
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 1_000).copied().unwrap_or_default();
    println!("{what}: p50 {:.0?}, p99 {:.0?}, max {:.0?}", at(500), at(990), at(999));
}
