//! The generator of the hour that `bitacora quickstart` reads: several invented agents at work.
//!
//! `cargo run -p bitacora-import --example demo-hour` writes `demo/src/demo-hour.ndjson.zst` anew;
//! the same version of zstd gives the same bytes.
//!
//! Coding agents, operators, analysts and support agents start sessions, get prompts, call models and tools, fail, are
//! denied calls, save checkpoints and send out subagents. All of it is invented; its shape is that of real sessions.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a tool that is run by hand and prints what it found"
)]

mod agent;
mod calls;
mod random;
mod words;

use std::fs;
use std::path::Path;

use bitacora_formats::{Micros, format_time, parse_time};
use bitacora_import::EventDraft;

use agent::Agent;
use random::DemoRandom;

/// The file, below the workspace.
const FILE: &str = "demo/src/demo-hour.ndjson.zst";
/// One seed gives one hour.
const SEED: u64 = 1_519;
const EVENTS: u64 = 10_000;
const AGENTS: u64 = 12;
/// The length of the hour.
const HOUR_US: u64 = 3_600_000_000;
/// The recorded end; `quickstart` moves it to its own time.
const END: &str = "2026-11-20T12:00:00Z";
/// The strongest compression of zstd, which is done once.
const LEVEL: i32 = 22;

fn main() {
    let mut lines = String::new();
    for event in hour(parse_time(END).unwrap()) {
        lines.push_str(&event.to_json());
        lines.push('\n');
    }
    let compressed = zstd::bulk::compress(lines.as_bytes(), LEVEL).unwrap();
    fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FILE), &compressed).unwrap();
    println!("{EVENTS} events, {} bytes, {} compressed, in {FILE}", lines.len(), compressed.len());
}

/// Returns the events of an hour that ends then, in the order of their times.
fn hour(end: Micros) -> impl Iterator<Item = EventDraft> {
    let mut random = DemoRandom::new(SEED);
    let mut all: Vec<(u64, EventDraft)> = Vec::new();
    for number in 0..AGENTS {
        let quota = EVENTS / AGENTS + u64::from(number < EVENTS % AGENTS);
        let mut agent = Agent::new(random.fork(), number);
        let events = agent.work(quota);
        // An agent's last event comes close before the end; work and time need not agree to the second.
        let worked_us = events.last().map_or(1, |last| last.at_ms * 1_000).max(1);
        let span_us = u128::from(HOUR_US - random.between(0, HOUR_US / 200));
        for event in events {
            let at_us = u128::from(event.at_ms * 1_000) * span_us / u128::from(worked_us);
            // Times are told in milliseconds, as most clients do.
            let time = (end.0 - HOUR_US + u64::try_from(at_us).unwrap()) / 1_000 * 1_000;
            all.push((time, event.draft));
        }
    }
    all.sort_by_key(|(time, _)| *time);
    all.into_iter().map(|(time, draft)| EventDraft { time: Some(shown_time(time)), ..draft })
}

fn shown_time(micros: u64) -> String {
    format_time(Micros(micros)).replace("000Z", "Z")
}
