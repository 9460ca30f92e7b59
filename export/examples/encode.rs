//! Measures the encoders: `cargo run --release -p bitacora-export --example encode -- events.jsonl [FORMAT]`.
//!
//! The file is an export as JSON lines. Each format is written to nowhere from lines in memory; the first line is a copy and a hash.

use std::error::Error;
use std::io::{Write, sink, stdout};
use std::time::Instant;

use bitacora_export::{ContentFlags, ExportFile, ExportFormat, ExportPlan, HeadMark, LineBatch, RowFilter};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a file of JSON lines")?;
    let lines = std::fs::read(path)?;
    let mut batches = vec![LineBatch::with_room()];
    for (number, line) in (1..).zip(lines.split_inclusive(|byte| *byte == b'\n')) {
        if batches.last().is_some_and(LineBatch::is_full) {
            batches.push(LineBatch::with_room());
        }
        if let Some(batch) = batches.last_mut() {
            batch.push_with(number, ContentFlags::default(), |out| out.extend_from_slice(line));
        }
    }
    let wanted = std::env::args().nth(2);
    for format in ExportFormat::ALL {
        if wanted.as_ref().is_some_and(|wanted| wanted != format.as_str()) {
            continue;
        }
        let plan = ExportPlan {
            format,
            ledger: String::new(),
            name: String::new(),
            selection: String::new(),
            head: HeadMark { position: String::new(), hash: String::new() },
            began: String::new(),
            is_recorded: false,
        };
        let mut file = ExportFile::stream(plan, RowFilter::default(), Box::new(sink()), 0)?;
        let began = Instant::now();
        batches.iter().try_for_each(|batch| file.take(batch.clone()))?;
        let finished = file.finish(Vec::new())?;
        let seconds = began.elapsed().as_secs_f64();
        let (rows, megabytes) = (finished.tally.rows as f64, lines.len() as f64 / 1e6);
        writeln!(
            stdout(),
            "{:<12} {:>8.0} rows/s  {:>6.0} MB/s of lines  {} bytes",
            format.as_str(),
            rows / seconds,
            megabytes / seconds,
            finished.bytes
        )?;
    }
    Ok(())
}
