//! The recipe of the built-in zstd dictionary; `docs/formats/dictionary.md` says when it may be used.
//!
//! `cargo run -p bitacora-formats --example train-dictionary > v1.zdict` trains it; the same version of zstd gives the
//! same bytes. `… --example train-dictionary measure` says what the built-in one is worth on data it has not seen.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool that is run by hand and prints what it found"
)]

mod generated;

use std::io::Write;

use bitacora_formats::Compressor;
use generated::{HELD_OUT_SEED, TRAINING_SEED, Vocabulary, frame_bodies};

/// The dictionary's size, in bytes.
const DICTIONARY_BYTES: usize = 32 * 1024;
/// Number of frames' bodies on which the dictionary is trained.
const TRAINING_BODIES: usize = 20_000;
/// Number of frames' bodies on which the dictionary is measured.
const HELD_OUT_BODIES: usize = 10_000;
/// The level it is measured at.
const LEVEL: i32 = 3;

fn main() {
    if std::env::args().any(|argument| argument == "measure") { measure() } else { train() }
}

fn train() {
    let samples = frame_bodies(TRAINING_SEED, Vocabulary::Training, TRAINING_BODIES);
    let dictionary = zstd::dict::from_samples(&samples, DICTIONARY_BYTES).unwrap();
    let bytes: usize = samples.iter().map(Vec::len).sum();
    eprintln!("{} bodies of {bytes} bytes; BLAKE3 {}", samples.len(), blake3::hash(&dictionary));
    std::io::stdout().write_all(&dictionary).unwrap();
}

fn measure() {
    let bodies = frame_bodies(HELD_OUT_SEED, Vocabulary::HeldOut, HELD_OUT_BODIES);
    println!("| bodies | mean bytes | without | with the dictionary |");
    println!("|---|---|---|---|");
    for (name, least, most) in [
        ("all", 0, usize::MAX),
        ("up to 1 KiB", 0, 1_024),
        ("1 to 4 KiB", 1_025, 4_096),
        ("4 to 16 KiB", 4_097, 16_384),
    ] {
        let chosen: Vec<_> = bodies.iter().filter(|body| (least..=most).contains(&body.len())).collect();
        let (mut raw, mut without, mut with) = (0, 0, 0);
        let mut compressor = Compressor::new(LEVEL).unwrap();
        for body in &chosen {
            raw += body.len();
            without += zstd::bulk::compress(body, LEVEL).unwrap().len();
            with += compressor.compress(body).1.len();
        }
        let hundredths =
            |compressed: usize| format!("{}.{:02}", raw / compressed, raw * 100 / compressed % 100);
        println!("| {name} | {} | {} | {} |", raw / chosen.len(), hundredths(without), hundredths(with));
    }
}
