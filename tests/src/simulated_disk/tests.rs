//! Tests of the simulation, on which other tests rest: against the contract, an oracle, a real disk.

mod crashes;
mod faults;
mod like_a_real_disk;
mod names;
mod oracle;
mod outside;

use std::io;
use std::path::Path;
use std::sync::Arc;

use bitacora_ledger::{Disk, DiskFile, OpenMode};

use super::{CrashPolicy, SimulatedDisk};

fn path(text: &str) -> &Path {
    Path::new(text)
}

/// A disk with one empty file whose name is durable, and the file.
fn disk_with_file(name: &str) -> (SimulatedDisk, Arc<dyn DiskFile>) {
    let disk = SimulatedDisk::new(1);
    disk.put(path(name), b"").unwrap();
    let file = disk.open(path(name), OpenMode::Write).unwrap();
    (disk, file)
}

/// Returns the content of a file after a crash right now.
fn after_crash(disk: &SimulatedDisk, policy: CrashPolicy, seed: u64, name: &str) -> Vec<u8> {
    let image = disk.crash_image(disk.operation_count(), policy, seed).unwrap();
    image.contents(path(name)).unwrap()
}

/// All that crashes right now may leave of a file, each once.
fn outcomes(disk: &SimulatedDisk, name: &str, seeds: u64) -> std::collections::BTreeSet<Vec<u8>> {
    (0..seeds).map(|seed| after_crash(disk, CrashPolicy::Random, seed, name)).collect()
}

/// Bytes that a failing comparison shows in one line.
#[derive(PartialEq, Eq)]
struct Bytes(Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let runs = self.0.chunk_by(|one, next| one == next);
        let shown: Vec<String> = runs.take(8).map(|run| format!("{:02x}*{}", run[0], run.len())).collect();
        write!(f, "{} bytes: {} …", self.0.len(), shown.join(" "))
    }
}

/// Names and contents of everything on a disk.
fn everything(disk: &SimulatedDisk) -> Vec<(std::path::PathBuf, Option<Bytes>)> {
    disk.paths().into_iter().map(|path| (path.clone(), disk.contents(&path).ok().map(Bytes))).collect()
}

fn errno_of<T: std::fmt::Debug>(result: io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().unwrap_or_default()
}
