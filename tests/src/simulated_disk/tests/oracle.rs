//! Random histories, whose images are judged by rules that share nothing with the simulation.

use super::super::content::SECTOR_BYTES;
use super::super::errno::EIO;
use super::super::{DiskCall, DiskFault, Effect};
use super::*;
use crate::seeded::SeededRandom;

const SECTOR: usize = SECTOR_BYTES as usize;
const MAX_FILE_BYTES: u64 = 12_000;

/// All that a file has been since its last sync, oldest first.
struct Oracle {
    states: Vec<Vec<u8>>,
}

impl Oracle {
    fn now(&self) -> Vec<u8> {
        self.states.last().cloned().unwrap_or_default()
    }

    fn write(&mut self, data: &[u8], offset: usize) {
        let mut bytes = self.now();
        bytes.resize(bytes.len().max(offset + data.len()), 0);
        bytes[offset..offset + data.len()].copy_from_slice(data);
        self.states.push(bytes);
    }

    fn set_len(&mut self, bytes: usize) {
        let mut state = self.now();
        state.resize(bytes, 0);
        self.states.push(state);
    }

    fn sync(&mut self) {
        self.states = vec![self.now()];
    }

    /// The length is one the file had, and each sector what it once was.
    fn allows(&self, left: &[u8]) -> Result<(), String> {
        if !self.states.iter().any(|state| state.len() == left.len()) {
            return Err(format!("never had {} bytes", left.len()));
        }
        for (index, sector) in left.chunks(SECTOR).enumerate() {
            let was_once = self.states.iter().any(|state| {
                let once = state.iter().skip(index * SECTOR).chain(std::iter::repeat(&0));
                once.take(sector.len()).eq(sector)
            });
            if !was_once {
                return Err(format!("sector {index} was never so"));
            }
        }
        Ok(())
    }
}

/// Takes one random step on a file; the oracle follows.
fn step(random: &mut SeededRandom, file: &dyn DiskFile, oracle: &mut Oracle) {
    match random.below(10) {
        0 | 1 => {
            file.sync_data().unwrap();
            oracle.sync();
        }
        2 => {
            let bytes = random.below(MAX_FILE_BYTES);
            file.set_len(bytes).unwrap();
            oracle.set_len(bytes as usize);
        }
        _ => {
            let offset = random.below(MAX_FILE_BYTES / 2);
            let mut data = vec![0; 1 + random.index(3_000)];
            random.fill(&mut data);
            file.write_all_at(&data, offset).unwrap();
            oracle.write(&data, offset as usize);
        }
    }
}

#[test]
fn every_image_of_a_random_history_is_one_that_could_be() {
    for seed in 0..150 {
        let mut random = SeededRandom::new(seed);
        let (disk, file) = disk_with_file("/f");
        let mut oracle = Oracle { states: vec![Vec::new()] };
        for number in 0..25 {
            step(&mut random, &*file, &mut oracle);
            assert_eq!(disk.contents(path("/f")).unwrap(), oracle.now(), "seed {seed} step {number}");
            assert_eq!(
                after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"),
                oracle.states[0],
                "seed {seed} step {number}"
            );
            assert_eq!(after_crash(&disk, CrashPolicy::Everything, 0, "/f"), oracle.now());
            for crash in 0..12 {
                let left = after_crash(&disk, CrashPolicy::Random, crash, "/f");
                if let Err(wrong) = oracle.allows(&left) {
                    panic!("seed {seed} step {number} crash {crash}: {wrong}");
                }
            }
        }
    }
}

/// One random step on a small tree, faults and outside acts included; errors are part of the game.
fn any_step(random: &mut SeededRandom, disk: &SimulatedDisk, files: &mut Vec<Arc<dyn DiskFile>>) {
    let names = ["/a", "/b", "/d", "/d/a", "/d/b", "/d/e", "/d/e/a"];
    let name = path(names[random.index(names.len())]);
    let other = path(names[random.index(names.len())]);
    let calls = [
        DiskCall::Write,
        DiskCall::SyncData,
        DiskCall::SyncFolder,
        DiskCall::Rename,
        DiskCall::SetLen,
        DiskCall::CreateNew,
    ];
    let effects = [Effect::Without, Effect::With, Effect::Partly];
    let file = files.get(random.index(files.len())).cloned();
    let mut data = vec![0; 1 + random.index(6_000)];
    random.fill(&mut data);
    match (random.below(20), file) {
        (0, _) => files.extend(disk.open(name, OpenMode::CreateNew).ok()),
        (1, _) => files.extend(disk.open(name, OpenMode::Write).ok()),
        (2, _) => drop(disk.create_folder(name)),
        (3 | 4, _) => drop(disk.rename(name, other)),
        (5, _) => drop(disk.remove_file(name)),
        (6, _) => drop(disk.remove_folder(name)),
        (7, _) => drop(disk.sync_folder(path("/"))),
        (8, _) => drop(disk.sync_folder(name)),
        (9, _) => disk.inject(
            DiskFault::on(calls[random.index(calls.len())], 1 + random.below(3), EIO)
                .effect(effects[random.index(effects.len())]),
        ),
        (10, _) => drop(disk.put(name, &data)),
        (11, _) => drop(disk.flip_bit(name, random.below(2_000), 3)),
        (12, _) => disk.evict_clean_pages(),
        (13, Some(_)) => drop(files.pop()),
        (14, Some(file)) => drop(file.set_len(random.below(20_000))),
        (15 | 16, Some(file)) => drop(file.sync_data()),
        (_, Some(file)) => drop(file.write_all_at(&data, random.below(10_000))),
        (_, None) => drop(disk.list(path("/"))),
    }
}

#[test]
fn the_history_replays_to_what_was_there() {
    for seed in 0..40 {
        let mut random = SeededRandom::new(seed);
        let disk = SimulatedDisk::new(seed);
        let mut files = Vec::new();
        let mut moments = Vec::new();
        for _ in 0..120 {
            any_step(&mut random, &disk, &mut files);
            let at = disk.operation_count();
            let crashed = disk.crash_image(at, CrashPolicy::Random, at).unwrap();
            let synced = disk.crash_image(at, CrashPolicy::OnlySynced, 0).unwrap();
            moments.push((at, everything(&disk), everything(&crashed), everything(&synced)));
        }
        for (at, live, crashed, synced) in moments {
            let replayed = disk.killed_image(at).unwrap();
            assert_eq!(everything(&replayed), live, "seed {seed} at {at}");
            let again = disk.crash_image(at, CrashPolicy::Random, at).unwrap();
            assert_eq!(everything(&again), crashed, "seed {seed} at {at}");
            let again = disk.crash_image(at, CrashPolicy::OnlySynced, 0).unwrap();
            assert_eq!(everything(&again), synced, "seed {seed} at {at}");
        }
    }
}

#[test]
fn a_second_crash_without_work_in_between_changes_nothing() {
    for seed in 0..30 {
        let mut random = SeededRandom::new(seed);
        let disk = SimulatedDisk::new(seed);
        let mut files = Vec::new();
        (0..80).for_each(|_| any_step(&mut random, &disk, &mut files));
        let once = disk.crash_image(disk.operation_count(), CrashPolicy::Random, seed).unwrap();
        for policy in CrashPolicy::ALL {
            let twice = once.crash_image(0, policy, seed + 1).unwrap();
            assert_eq!(everything(&twice), everything(&once), "seed {seed}");
        }
        once.evict_clean_pages();
        let twice = once.crash_image(1, CrashPolicy::OnlySynced, seed).unwrap();
        assert_eq!(everything(&twice), everything(&once), "seed {seed}");
    }
}

#[test]
fn after_syncing_all_no_crash_takes_anything() {
    for seed in 0..40 {
        let mut random = SeededRandom::new(seed);
        let disk = SimulatedDisk::new(seed);
        let mut files = Vec::new();
        for _ in 0..100 {
            // Without faults: what a failed sync lost stays lost.
            if random.chance(9, 10) {
                any_step(&mut random, &disk, &mut files);
                disk.clear_faults();
            }
        }
        disk.sync_folder(path("/")).unwrap();
        for found in disk.paths() {
            match disk.open(&found, OpenMode::Write) {
                Ok(file) => file.sync_all().unwrap(),
                Err(_) => disk.sync_folder(&found).unwrap(),
            }
        }
        for crash in 0..10 {
            let image = disk.crash_image(disk.operation_count(), CrashPolicy::Random, crash).unwrap();
            assert_eq!(everything(&image), everything(&disk), "seed {seed} crash {crash}");
        }
    }
}

#[test]
fn the_cache_shows_lost_writes_until_it_is_evicted_and_the_platter_has_what_a_crash_leaves() {
    for seed in 0..300 {
        let mut random = SeededRandom::new(seed);
        let (disk, file) = disk_with_file("/f");
        let mut shown = Oracle { states: vec![Vec::new()] };
        for number in 0..30 {
            if random.chance(1, 3) {
                let effect = if random.chance(1, 2) { Effect::Without } else { Effect::Partly };
                disk.inject(DiskFault::on(DiskCall::SyncData, 1, EIO).effect(effect));
                file.sync_data().unwrap_err();
            } else {
                step(&mut random, &*file, &mut shown);
            }
            assert_eq!(disk.contents(path("/f")).unwrap(), shown.now(), "seed {seed} step {number}");
            let synced = disk.killed_image(disk.operation_count()).unwrap();
            synced.open(path("/f"), OpenMode::Read).unwrap().sync_data().unwrap();
            let synced = Bytes(synced.durable_contents(path("/f")).unwrap());
            let crashed = Bytes(after_crash(&disk, CrashPolicy::Everything, 0, "/f"));
            assert_eq!(crashed, synced, "seed {seed} step {number}: reckoned in two ways");
        }
        file.sync_data().unwrap();
        assert_eq!(disk.contents(path("/f")).unwrap(), shown.now(), "seed {seed}");
        let durable = disk.durable_contents(path("/f")).unwrap();
        assert_eq!(after_crash(&disk, CrashPolicy::Everything, 0, "/f"), durable);
        disk.evict_clean_pages();
        assert_eq!(disk.contents(path("/f")).unwrap(), durable, "seed {seed}");
        let now = shown.now();
        file.set_len(0).unwrap();
        file.write_all_at(&now, 0).unwrap();
        file.sync_data().unwrap();
        assert_eq!(disk.durable_contents(path("/f")).unwrap(), now, "written again, all is durable");
    }
}
