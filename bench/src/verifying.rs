//! Benchmarks of verifying a filled ledger and archives, beside the speed of the hash.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bitacora_formats::{KeyUse, Keyring, SigningChain, chain_hasher};

use super::dataset::Dataset;
use super::error::BenchError;
use super::latency::as_number;
use super::plan::MeasurementListener;
use super::results::Figure;
use super::results::Measurement;
use super::stop::StopSignal;
use bitacora_verify::{
    CheckedArchive, LeafCheck, Report, TailRetries, Verdict, VerifyOptions, verify_ledger,
};

/// The number of bytes hashed at a time, as of a large frame; the total follows.
const HASHED_BYTES: usize = 64 * 1024;
const HASHED_ROUNDS: usize = 16 * 1024;
/// The number of rounds in which an archive is hashed and checked in turns. The fastest of each counts, since a round is short.
const ARCHIVE_ROUNDS: usize = 10;

pub(super) fn measure(
    dataset: &Dataset,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    let what = "BLAKE3 of 64 KiB at a time, one thread".to_owned();
    listener(&what);
    let blake3_bytes_per_s = hash_speed();
    let blake3 = Measurement::new("verify/blake3", what).with(Figure::BytesPerS, blake3_bytes_per_s);
    stop.check()?;

    // Once before, so that all find the files in the system's memory.
    verify(dataset, None, LeafCheck::WhereThere)?;
    stop.check()?;
    let what = "verify without keys: chain and signatures".to_owned();
    listener(&what);
    let chain = verify(dataset, None, LeafCheck::None)?;
    let chain = described(&chain, Measurement::new("verify/chain", what));
    let share = chain.figures.get(&Figure::BytesPerS).map_or(0.0, |speed| speed / blake3_bytes_per_s);
    let chain = chain.with(Figure::ShareOfBlake3, share);
    stop.check()?;

    let what = "verify without keys: tree too".to_owned();
    listener(&what);
    let tree = verify(dataset, None, LeafCheck::All)?;
    let tree = described(&tree, Measurement::new("verify/tree", what));
    stop.check()?;

    let what = "verify with keys: records too".to_owned();
    listener(&what);
    let records = verify(dataset, Some(&dataset.keyring), LeafCheck::WhereThere)?;
    let records = described(&records, Measurement::new("verify/records", what));
    Ok(vec![blake3, chain, tree, records])
}

/// Checks archives without keys, each by all threads, beside hashing the same bytes by one thread.
pub(super) fn measure_archives(
    paths: &[PathBuf],
    chain: &SigningChain,
    stop: &StopSignal,
) -> Result<Vec<Measurement>, BenchError> {
    let (mut bytes, mut hashing_s, mut checking_s) = (0.0, 0.0, 0.0);
    for path in paths {
        let (mut hashing, mut checking, mut length) = (Duration::MAX, Duration::MAX, 0);
        for _ in 0..ARCHIVE_ROUNDS {
            let hashed = hash_file(path).map_err(|source| BenchError::Disk { path: path.clone(), source })?;
            hashing = hashing.min(hashed);
            let began = Instant::now();
            let checked = CheckedArchive::check(path, Some(chain), None).map_err(|_| BenchError::Verify)?;
            checking = checking.min(began.elapsed());
            length = checked.bytes();
            stop.check()?;
        }
        bytes += as_number(length);
        hashing_s += hashing.as_secs_f64();
        checking_s += checking.as_secs_f64();
    }
    let blake3 = Measurement::new("archive/blake3", "BLAKE3 of the archive, one thread".to_owned());
    let what = "the archive, read and checked without keys".to_owned();
    let check = Measurement::new("archive/check", what).with(Figure::BytesPerS, bytes / checking_s);
    Ok(vec![
        blake3.with(Figure::BytesPerS, bytes / hashing_s),
        check.with(Figure::ShareOfBlake3, hashing_s / checking_s),
    ])
}

/// Returns the time for hashing the bytes of a file, without reading them.
fn hash_file(path: &Path) -> io::Result<Duration> {
    let mut file = File::open(path)?;
    let mut hasher = chain_hasher(KeyUse::FrameChain);
    let mut piece = vec![0; HASHED_BYTES];
    let mut hashing = Duration::ZERO;
    loop {
        let length = file.read(&mut piece)?;
        let Some(bytes) = piece.get(..length).filter(|bytes| !bytes.is_empty()) else { break };
        let began = Instant::now();
        hasher.update(bytes);
        hashing += began.elapsed();
    }
    black_box(hasher.finalize());
    Ok(hashing)
}

fn verify(dataset: &Dataset, keyring: Option<&Keyring>, leaves: LeafCheck) -> Result<Report, BenchError> {
    let options = VerifyOptions { keyring, leaves, patience: TailRetries::NONE, ..VerifyOptions::default() };
    let report = verify_ledger(&dataset.place.ledger()?, &options);
    match report.verdict() {
        Verdict::Confirmed | Verdict::Alone => Ok(report),
        Verdict::Incomplete | Verdict::Diverged | Verdict::Invalid => Err(BenchError::Verify),
    }
}

fn described(report: &Report, into: Measurement) -> Measurement {
    let seconds = report.elapsed.as_secs_f64();
    let (bytes, frames) = (as_number(report.bytes), as_number(report.frames).max(1.0));
    into.with(Figure::EventsPerS, as_number(report.events) / seconds)
        .with(Figure::BytesPerS, bytes / seconds)
        .with(Figure::BytesAFrame, bytes / frames)
}

fn hash_speed() -> f64 {
    let mut bytes = vec![0x5a; HASHED_BYTES];
    let mut hashed = 0_u64;
    let began = Instant::now();
    for _ in 0..HASHED_ROUNDS {
        let mut hasher = chain_hasher(KeyUse::FrameChain);
        hasher.update(black_box(&bytes));
        // Each rests on the one before, as in a chain.
        if let (Some(place), [first, ..]) = (bytes.first_mut(), hasher.finalize().as_bytes()) {
            *place = *first;
        }
        hashed += HASHED_BYTES as u64;
    }
    as_number(hashed) / began.elapsed().as_secs_f64()
}
