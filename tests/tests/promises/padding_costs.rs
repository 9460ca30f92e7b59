//! The cost of padding small frames, in bytes on the disk: measured, not tested.
//! See docs/performance.md.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bitacora_archiver::{
    ArchiveLocation, ArchivePace, ArchiveRun, ArchiveStore, Archiver, Objects, READ_CACHE_BYTES, Release,
    Rules, StoreSettings, StoredArchives,
};
use bitacora_formats::{FrameOpener, Keyring, SegmentHeader, SegmentWalk, Step};
use bitacora_ledger::{Entropy, Environment, HeadOptions, Ledger, Options, ReactorChoice, SystemEntropy};
use bitacora_tests::agents::Agents;

/// Events of each history.
const EVENTS: u64 = 20_000;
/// Bytes before the compressed body in a padded one, and where the length of that body stands in them.
const PREFIX_BYTES: usize = 12;
const INNER_AT: usize = 8;

#[derive(Debug, Default)]
struct Sizes {
    frames: u64,
    padded_frames: u64,
    /// Bytes of segments.
    live: u64,
    /// Those of them that padding added.
    padding: u64,
    archived: u64,
    archived_events: u64,
}

/// Returns what the histories of agents take, of whom so many are at work at once.
fn measured(at_once: usize) -> Sizes {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("main"), folder.path().join("archives"));
    let objects: Arc<dyn Objects> =
        Arc::new(ArchiveStore::at(ArchiveLocation::Folder(store.clone()), StoreSettings::default()));
    let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
    let mut environment = Environment::real();
    let disk = Arc::clone(&environment.disk);
    environment.archives = Arc::new(StoredArchives::new(Arc::clone(&objects), disk, READ_CACHE_BYTES));
    let heads = Some(HeadOptions { every: Duration::from_secs(1), ..HeadOptions::default() });
    let (governing, proof_delay) = (ReactorChoice::Governance, Duration::ZERO);
    let options = Options { heads, governing, proof_delay, ..Options::default() };
    Ledger::create(&environment, &path, &"main".parse().unwrap(), &keyring, &options).unwrap();
    let ledger = Ledger::open(&environment, &path, Arc::clone(&keyring), options).unwrap();
    let mut agents = Agents::begin(&ledger, at_once);
    while ledger.head().position.get() < EVENTS {
        agents.work(&ledger);
    }
    let head = ledger.head().position.get();
    while !ledger.status().is_proven || ledger.status().heads.size < head {
        std::thread::sleep(Duration::from_millis(20));
    }
    let archiver = Archiver::new(ledger.clone(), &path, &environment, &keyring, objects, "cold".to_owned());
    let rules = Rules { is_forced: true, ..Rules::default() };
    let outcome =
        archiver.run(&ArchiveRun { rules, pace: ArchivePace::Full { threads: 1 }, release: Release::Never });
    ledger.close().unwrap();
    let mut sizes = Sizes::default();
    for archive in outcome.unwrap().archived {
        sizes.archived_events += archive.range.events();
        sizes.archived += archive.bytes;
    }
    for entry in fs::read_dir(path.join("segments")).unwrap() {
        count(&entry.unwrap().path(), &keyring, &mut sizes);
    }
    sizes
}

fn count(segment: &Path, keyring: &Keyring, sizes: &mut Sizes) {
    let bytes = fs::read(segment).unwrap();
    let Ok(header) = SegmentHeader::parse(&bytes) else { return };
    let opener = FrameOpener::new(&header.unwrap_key(keyring).unwrap());
    let Ok((mut walk, _)) = SegmentWalk::start(&bytes, None) else { panic!("{}", segment.display()) };
    loop {
        match walk.next_step() {
            Step::Frame(frame) => {
                sizes.frames += 1;
                if frame.stored.header().is_padded {
                    let body = opener.open(&frame.stored).unwrap();
                    let inner = u32::from_le_bytes(body[INNER_AT..PREFIX_BYTES].try_into().unwrap());
                    sizes.padded_frames += 1;
                    sizes.padding += body.len() as u64 - u64::from(inner);
                }
            }
            Step::Footer(_) => {}
            _ => break,
        }
    }
    sizes.live += walk.offset();
}

#[test]
#[ignore = "measures; run it with --ignored --nocapture"]
fn what_padding_takes() {
    for at_once in [1, 8, 64] {
        let sizes = measured(at_once);
        let Sizes { frames, padded_frames, live, padding, archived, archived_events } = sizes;
        eprintln!(
            "{at_once} at once: {frames} frames, {padded_frames} padded; segments {live} bytes, {} without padding; {archived_events} events archived in {archived} bytes",
            live - padding
        );
        assert!(padding < live);
    }
}
