//! Benchmarks of archiving a user's records, beside other compression: size, speed and checks.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use bitacora_archive_format::{
    ArchiveError, ArchiveKey, ArchivePlan, ArchiveSecrets, GroupCollector, PartEntry, PartKind, open_columns,
    open_group, seal_group,
};
use bitacora_archive_format::{ColumnGroup, Rows};
use bitacora_archiver::{
    ArchiveLocation, ArchivePace, ArchiveRun, ArchiveStore, Archiver, Objects, Outcome, Period, Release,
    Rules, StoreSettings, StoredArchive,
};
use bitacora_formats::{BodyForm, Decompressor, Event, Keyring, Position, TILE_WIDTH, parse_events};
use bitacora_ledger::{AppendRequest, Environment, HeadOptions, Ledger, Options, ReactorChoice};
use tokio::sync::mpsc::channel;

use super::error::BenchError;
use super::latency::{Latencies, as_number};
use super::plan::MeasurementListener;
use super::results::Figure;
use super::results::Measurement;
use super::scratch::Scratch;
use super::stop::StopSignal;
use super::verifying;
use bitacora_import::{EventBatch, ImportPlan, ImportTally, LANES, ReadProgress, Record, Records};
use bitacora_verify::input_file;

/// The figure of an earlier compressor, by its own measure: JSON lines as a multiple of its output, without encryption,
/// index and proofs. It is of the 100,000 trust events of this project's samples.
const SEED_TIMES: f64 = 19.41;
/// The window of zstd's long matches, as a power of two.
const LONG_WINDOW: u32 = 27;
/// The zstd level of groups that are sealed again.
const GROUP_LEVEL: i32 = 19;
/// The number of events that are read singly from a group, at equal distances.
const FEW_EVENTS: usize = 20;
/// The number of events behind the archived ones, so that none of those is in the newest frame.
const TAIL_EVENTS: u64 = 1;

/// A listener that ignores the bytes read for a measurement.
#[derive(Debug, Clone, Copy)]
struct Untold;

impl ReadProgress for Untold {
    fn read(&self, _: u64) {}
}

/// A writer that counts bytes.
#[derive(Default)]
struct ByteCounter(u64);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Archives the events of the files, and packs the same lines with zstd.
pub(super) fn measure(
    environment: &Environment,
    scratch: &Scratch,
    plan: ImportPlan,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    let paths: Vec<PathBuf> = plan.files.iter().filter_map(|file| file.path.clone()).collect();
    let place = scratch.place("archived")?;
    let heads = HeadOptions::default();
    let options = Options { heads: Some(heads), governing: ReactorChoice::Nothing, ..Options::default() };
    let keyring = place.begin(environment, &options)?;
    let ledger = Ledger::open(environment, &place.ledger()?, Arc::clone(&keyring), options)?;
    listener("recording the events that are archived");
    let lines = fill(&ledger, plan)?;
    stop.check()?;

    let folder = place.data().join("archives");
    let cold = ArchiveLocation::Folder(folder.clone());
    let objects: Arc<dyn Objects> = Arc::new(ArchiveStore::at(cold, StoreSettings::default()));
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let whole = format!("archived, read back and compared, on {threads} cores");
    listener(&whole);
    let archiver = Archiver::new(
        ledger.clone(),
        &place.ledger()?,
        environment,
        &keyring,
        Arc::clone(&objects),
        "archives".to_owned(),
    );
    let rules = Rules { is_forced: true, period: Period::Any, ..Rules::default() };
    let began = Instant::now();
    let Outcome { archived, .. } =
        archiver.run(&ArchiveRun { rules, pace: ArchivePace::Full { threads }, release: Release::Never })?;
    let seconds = began.elapsed().as_secs_f64();
    let events: u64 = archived.iter().map(|one| one.range.events()).sum();
    let whole =
        Measurement::new("archive/whole", whole).with(Figure::EventsPerS, as_number(events) / seconds);
    stop.check()?;

    listener("groups of events, opened and sealed on one core");
    let mut sizes = Sizes::default();
    let (mut opened_s, mut sealed_s) = (0.0, 0.0);
    let few = Latencies::new();
    for one in &archived {
        let stored = StoredArchive::open(&objects, &one.name, Some(keyring.signing_chain()));
        let stored = stored.map_err(|error| BenchError::Archive(error.into()))?;
        sizes.add(&stored);
        let (opened, sealed) = open_and_seal(&stored, &keyring, &few)?;
        (opened_s, sealed_s) = (opened_s + opened, sealed_s + sealed);
        stop.check()?;
    }
    ledger.close()?;
    listener("the archive, checked without keys");
    let files: Vec<PathBuf> = archived.iter().map(|one| folder.join(&one.name)).collect();
    let checked = verifying::measure_archives(&files, keyring.signing_chain(), stop)?;
    let per_s = |seconds: f64| as_number(events) / seconds;
    let mut measurements = vec![
        whole,
        Measurement::new("archive/in", "events into sealed groups, on one core")
            .with(Figure::EventsPerS, per_s(sealed_s)),
        Measurement::new("archive/out", "events out of sealed groups, on one core")
            .with(Figure::EventsPerS, per_s(opened_s)),
        few.describe(Measurement::new("archive/few", format!("{FEW_EVENTS} events out of one sealed group"))),
    ];
    measurements.extend(checked);
    let long = packed(&paths, 19, true, listener)?;
    stop.check()?;
    let short = packed(&paths, 3, false, listener)?;
    let what = format!("{events} events of {lines} records: archive, index, proofs and encryption");
    measurements.push(sizes.to_measurement(what, short.lines, long.bytes));
    measurements.push(short.to_measurement("archive/zstd-3", "the lines themselves, by zstd -3"));
    measurements
        .push(long.to_measurement("archive/zstd-19-long", "the lines themselves, by zstd -19 --long=27"));
    measurements.push(
        Measurement::new("archive/seed", "the sample of trust events, by what came before this ledger")
            .with(Figure::TimesSmaller, SEED_TIMES),
    );
    Ok(measurements)
}

/// Records the events of the files; returns the number of records.
fn fill(ledger: &Ledger, plan: ImportPlan) -> Result<u64, BenchError> {
    let (sender, mut batches) = channel::<EventBatch>(2);
    // One channel for all lanes: the events keep the order of their files.
    let lanes = vec![sender; LANES];
    let reader = thread::spawn(move || plan.run(ImportTally::new(str::to_owned, None), &lanes, &Untold));
    while let Some(batch) = batches.blocking_recv() {
        let body = batch.body();
        let events = parse_events(&body, BodyForm::Batch, None);
        let events = events.map_err(|error| BenchError::Service(format!("was given no events: {error}")))?;
        ledger.append(AppendRequest::of(events))?.wait()?;
    }
    let defect = || BenchError::Nothing("reading the files");
    let tally = reader.join().map_err(|_| defect())?;
    let tally = tally.map_err(|source| BenchError::System { what: "reading the files", source })?;
    if let Some(fault) = tally.sources.iter().find_map(|source| source.fault.clone()) {
        return Err(BenchError::Service(format!("cannot archive the files: {fault}")));
    }
    // Whole groups of the tree, with a frame behind them.
    let group = TILE_WIDTH as u64;
    let due = ledger.head().position.get().next_multiple_of(group) - ledger.head().position.get();
    for number in 0..due + TAIL_EVENTS {
        let event = Event::new(format!("pad-{number}"), "bench", "x.padded", "pad");
        ledger.append(AppendRequest::of(vec![event]))?.wait()?;
    }
    Ok(tally.records)
}

/// Measures the seconds for opening all groups and for sealing them again, and the time that each takes to give a few events.
fn open_and_seal(
    stored: &StoredArchive,
    keyring: &Keyring,
    few: &Latencies,
) -> Result<(f64, f64), BenchError> {
    let wrong = |source: ArchiveError| {
        let error = bitacora_archiver::StoredError::Archive { object: stored.shown(), source };
        BenchError::Archive(error.into())
    };
    let manifest = stored.outline().manifest().manifest();
    let key = ArchiveKey::unwrap(manifest, keyring).map_err(wrong)?;
    let plan =
        ArchivePlan { origin: manifest.origin.clone(), range: manifest.range, revision: manifest.revision() };
    // The key is thrown away with the sealed bytes, so that it need not be random.
    let mut byte = 0_u8;
    let secrets = ArchiveSecrets::generate(&mut |bytes| {
        byte = byte.wrapping_add(1);
        bytes.fill(byte);
    });
    let again = secrets.key(&plan);
    let mut zstd = Decompressor::new().map_err(ArchiveError::Zstd).map_err(wrong)?;
    let (mut opened_s, mut sealed_s) = (0.0, 0.0);
    for entry in stored.outline().table().groups() {
        let bytes = stored.part(entry).map_err(|error| BenchError::Archive(error.into()))?;
        let began = Instant::now();
        let rows = open_group(&key, entry, &bytes, &mut zstd).map_err(wrong)?;
        opened_s += began.elapsed().as_secs_f64();
        let began = Instant::now();
        take_few(&open_columns(&key, entry, &bytes, &mut zstd).map_err(wrong)?, entry).map_err(wrong)?;
        few.add(began.elapsed());
        sealed_s += seal_again(&again, entry.position, &rows).map_err(wrong)?;
    }
    Ok((opened_s, sealed_s))
}

fn take_few(group: &ColumnGroup, entry: &PartEntry) -> Result<Rows, ArchiveError> {
    let first = Position::new(entry.position).unwrap_or(Position::FIRST);
    let indices = (0..group.len()).step_by(group.len().div_ceil(FEW_EVENTS).max(1));
    group.rows(indices).map_err(|source| ArchiveError::Columns { first, source })
}

fn seal_again(key: &ArchiveKey, first: u64, rows: &Rows) -> Result<f64, ArchiveError> {
    let mut collector = GroupCollector::new(Position::new(first).unwrap_or(Position::FIRST));
    let mut groups: Vec<_> = rows.iter().filter_map(|row| collector.push(row)).collect();
    groups.extend(collector.take());
    let began = Instant::now();
    for group in &groups {
        seal_group(key, group, GROUP_LEVEL)?;
    }
    Ok(began.elapsed().as_secs_f64())
}

/// The sizes of archives.
#[derive(Default)]
struct Sizes {
    bytes: u64,
    index: u64,
}

impl Sizes {
    fn add(&mut self, stored: &StoredArchive) {
        self.bytes += stored.bytes();
        let entries = stored.outline().table().entries().iter();
        let index = entries.filter(|entry| entry.kind == PartKind::Index);
        self.index += index.map(|entry| u64::from(entry.stored_bytes)).sum::<u64>();
    }

    fn to_measurement(&self, what: String, lines: u64, long: u64) -> Measurement {
        let bytes = as_number(self.bytes);
        Measurement::new("archive/size", what)
            .with(Figure::LineBytes, as_number(lines))
            .with(Figure::PackedBytes, bytes)
            .with(Figure::IndexBytes, as_number(self.index))
            .with(Figure::TimesSmaller, as_number(lines) / bytes)
            .with(Figure::ShareOfZstd19, bytes / as_number(long))
    }
}

/// Lines of JSON, packed by zstd.
struct ZstdResult {
    lines: u64,
    bytes: u64,
    seconds: f64,
}

impl ZstdResult {
    fn to_measurement(&self, name: &str, what: &str) -> Measurement {
        Measurement::new(name, what)
            .with(Figure::PackedBytes, as_number(self.bytes))
            .with(Figure::TimesSmaller, as_number(self.lines) / as_number(self.bytes))
            .with(Figure::BytesPerS, as_number(self.lines) / self.seconds)
    }
}

fn packed(
    paths: &[PathBuf],
    level: i32,
    is_long: bool,
    listener: MeasurementListener<'_>,
) -> Result<ZstdResult, BenchError> {
    listener(&format!("the same lines by zstd -{level}"));
    let failed = |source| BenchError::System { what: "packing the lines with zstd", source };
    let began = Instant::now();
    let mut encoder = zstd::stream::write::Encoder::new(ByteCounter::default(), level).map_err(failed)?;
    if is_long {
        encoder.long_distance_matching(true).map_err(failed)?;
        encoder.window_log(LONG_WINDOW).map_err(failed)?;
    }
    let mut lines = 0;
    for path in paths {
        lines += pack_file(path, &mut encoder)
            .map_err(|source| BenchError::Disk { path: path.clone(), source })?;
    }
    let bytes = encoder.finish().map_err(failed)?.0;
    Ok(ZstdResult { lines, bytes, seconds: began.elapsed().as_secs_f64() })
}

/// Writes the lines of a file, and returns their size in bytes.
fn pack_file(path: &Path, into: &mut impl Write) -> io::Result<u64> {
    let mut records = Records::open(Some(path), input_file::open, Untold)?;
    let mut bytes = 0;
    loop {
        match records.next_record()? {
            Record::End => return Ok(bytes),
            Record::TooLong(_) => {}
            Record::Text(_, line) => {
                into.write_all(line)?;
                into.write_all(b"\n")?;
                bytes += line.len() as u64 + 1;
            }
        }
    }
}
