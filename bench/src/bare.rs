//! Benchmarks of the bare disk: a write and a sync without a ledger. All other figures compare with it.

use std::time::Instant;

use bitacora_ledger::{Entropy, Environment, OpenMode, SystemEntropy};

use super::error::BenchError;
use super::latency::Latencies;
use super::plan::MeasurementListener;
use super::results::Measurement;
use super::scratch::Scratch;
use super::stop::StopSignal;

/// The number of writes of each size.
const ROUNDS: usize = 1_000;
/// The size of the file, which is zero-filled beforehand like a segment.
const FILE_BYTES: usize = 64 * 1024 * 1024;
const SIZES_KIB: [usize; 2] = [4, 64];

pub(super) fn measure(
    environment: &Environment,
    scratch: &Scratch,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    SIZES_KIB
        .iter()
        .map(|kib| {
            let what = format!("bare write and sync of {kib} KiB");
            listener(&what);
            let latencies = write_and_sync(environment, scratch, kib * 1024, stop)?;
            Ok(latencies.describe(Measurement::new(&format!("disk/sync-{kib}k"), what)))
        })
        .collect()
}

fn write_and_sync(
    environment: &Environment,
    scratch: &Scratch,
    bytes: usize,
    stop: &StopSignal,
) -> Result<Latencies, BenchError> {
    let path = scratch.path().join(format!("bare-{bytes}"));
    let failed = |source| BenchError::Disk { path: path.clone(), source };
    let file = environment.disk.open(&path, OpenMode::CreateNew).map_err(failed)?;
    file.write_all_at(&vec![0; FILE_BYTES], 0).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    // Random bytes cannot be compressed on the way.
    let mut noise = vec![0; bytes];
    SystemEntropy.fill(&mut noise).map_err(failed)?;
    let latencies = Latencies::new();
    for round in 0..ROUNDS {
        stop.check()?;
        let offset = (round * bytes) % FILE_BYTES;
        let began = Instant::now();
        file.write_all_at(&noise, offset as u64).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        latencies.add(began.elapsed());
    }
    environment.disk.remove_file(&path).map_err(failed)?;
    Ok(latencies)
}
