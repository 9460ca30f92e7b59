//! P9: the rows of read models about governed agents follow from the log alone.
//! They are folded beside the agents, after an end or a crash at any moment, or at once from the first event on.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::Keyring;
use bitacora_ledger::{Entropy, Environment, Ledger, Options, ReactorChoice, SystemEntropy};
use bitacora_projector::{IndexOptions, IndexedLedger, ModelState};
use bitacora_tests::agents::Agents;
use bitacora_tests::folders::copy_folder;
use bitacora_tests::seeded::SeededRandom;

/// A model's name, its rows, and what they come to.
type ModelDigest = (&'static str, u64, [u8; 32]);

fn options() -> Options {
    let (segment_bytes, request_bytes) = (512 * 1024, 128 * 1024);
    Options { governing: ReactorChoice::Governance, segment_bytes, request_bytes, ..Options::small() }
}

fn open(folder: &Path, keyring: &Arc<Keyring>) -> IndexedLedger {
    let ledger = Ledger::open(&Environment::real(), folder, Arc::clone(keyring), options()).unwrap();
    let options = IndexOptions { read_models: true, ..IndexOptions::default() };
    IndexedLedger::open(ledger, &Environment::real(), folder, keyring, &options)
}

/// Returns the digests of all models at the head, and never past it.
fn settled(ledger: &IndexedLedger) -> Vec<ModelDigest> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let head = ledger.head().position;
        let models = ledger.read_models().unwrap().status();
        for model in &models {
            assert!(model.position <= Some(ledger.head().position), "{model:?}: ahead of what is durable");
        }
        if models.iter().all(|model| model.position == Some(head) && model.state == ModelState::Ok) {
            return models
                .iter()
                .map(|model| (model.name, model.digest.unwrap().1, model.digest.unwrap().2))
                .collect();
        }
        assert!(Instant::now() < end, "{models:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns the digests of the models of this folder's log, as they stand and then from the first event on.
fn both(folder: &Path, keyring: &Arc<Keyring>) -> [Vec<ModelDigest>; 2] {
    let as_they_stand = open(folder, keyring);
    let found = settled(&as_they_stand);
    as_they_stand.close().unwrap();
    fs::remove_dir_all(folder.join("projections")).unwrap();
    let anew = open(folder, keyring);
    let folded = settled(&anew);
    anew.close().unwrap();
    [found, folded]
}

#[test]
fn models_of_governed_agents_are_the_same_however_they_were_folded() {
    let folder = tempfile::tempdir().unwrap();
    let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
    let path = folder.path().join("main");
    Ledger::create(&Environment::real(), &path, &"main".parse().unwrap(), &keyring, &options()).unwrap();
    let mut random = SeededRandom::new(31);
    let mut agents: Option<Agents> = None;
    let mut crashes = Vec::new();
    for opening in 0..3 {
        let ledger = open(&path, &keyring);
        let agents = agents.get_or_insert_with(|| Agents::begin(ledger.ledger(), 2));
        for round in 0..3 {
            agents.work(ledger.ledger());
            std::thread::sleep(Duration::from_millis(random.below(20)));
            // The models may be anywhere by now; the log itself lies still.
            let crash = folder.path().join(format!("crash-{opening}-{round}"));
            copy_folder(&path, &crash).unwrap();
            crashes.push(crash);
        }
        ledger.close().unwrap();
    }
    let [found, folded] = both(&path, &keyring);
    assert_eq!(found, folded);
    let empty: Vec<_> = found.iter().filter(|(_, rows, _)| *rows == 0).map(|(name, ..)| *name).collect();
    assert_eq!(empty, ["gaps"], "agents leave rows in all models but that of what is missing");
    for crash in crashes {
        let [found, folded] = both(&crash, &keyring);
        assert_eq!(found, folded, "{}", crash.display());
    }
}
