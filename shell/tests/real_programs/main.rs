//! Real programs as the oracle of the table.
//! Every start, write and read of a listed program must be claimed by its entry.
//!
//! Lines are made of the table and run in a sandbox, while strace looks. They run in a project by an author who wants more to
//! happen. `BITACORA_PROGRAM_RUNS` is the number of readable lines, `BITACORA_PROGRAM_SEED` the first seed; a seed is two hundred
//! of them. A longer run prints each seed that is done, and a later one goes on behind it.

#![expect(clippy::print_stdout, reason = "a long run says how far it is")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on must fail"
)]

mod claims;
mod compare;
mod coverage;
mod exceptions;
mod faults;
mod lines;
mod project;
#[path = "../shells/random.rs"]
mod random;
mod sandbox;
mod scripts;
mod trace;
mod words;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use claims::ClaimedLine;
use lines::LineGenerator;
use project::PROJECT;
use random::RandomNumbers;
use sandbox::{Request, Sandbox};

/// Readable lines that are run, without `BITACORA_PROGRAM_RUNS`.
const RUNS: usize = 1000;
/// Readable lines of one seed.
const RUNS_OF_SEED: usize = 200;
/// The least share of all generated lines that is readable, in per cent.
const LEAST_READABLE: usize = 25;
/// Problems that end a run, and that a failing run shows.
const SHOWN: usize = 40;

/// Problems of one line that are shown.
const SHOWN_OF_LINE: usize = 6;

/// The counts of a run.
#[derive(Default)]
struct ProgramTally {
    generated: AtomicUsize,
    readable: AtomicUsize,
    problems: Mutex<Vec<String>>,
}

#[test]
fn programs_do_nothing_that_the_table_does_not_claim() {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let runs = number("BITACORA_PROGRAM_RUNS").map_or(RUNS, |runs| usize::try_from(runs).unwrap());
    let first = number("BITACORA_PROGRAM_SEED").unwrap_or(1);
    let end = first + u64::try_from(runs.div_ceil(RUNS_OF_SEED)).unwrap();
    let lines = LineGenerator { uses: coverage::uses() };
    let (tally, next) = (ProgramTally::default(), AtomicU64::new(first));
    let workers = std::thread::available_parallelism().unwrap().get();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut sandbox = Sandbox::start();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end || tally.problems.lock().unwrap().len() >= SHOWN {
                        break;
                    }
                    run_seed(seed, &lines, &mut sandbox, &tally);
                }
            });
        }
    });
    let problems = tally.problems.into_inner().unwrap();
    let shown = &problems[..problems.len().min(SHOWN)];
    assert!(problems.is_empty(), "{} lines did more than is claimed:\n{}", problems.len(), shown.join("\n"));
    let (generated, readable) = (tally.generated.into_inner(), tally.readable.into_inner());
    println!("seeds {first} to {}: {readable} readable of {generated} lines", end - 1);
    assert!(readable * 100 >= generated * LEAST_READABLE, "{readable} of {generated} lines are readable");
}

/// Runs the lines of one seed.
fn run_seed(seed: u64, lines: &LineGenerator, sandbox: &mut Sandbox, tally: &ProgramTally) {
    let mut random = RandomNumbers::new(seed);
    let (mut generated, mut readable) = (0, 0);
    while readable < RUNS_OF_SEED {
        let text = lines.next(&mut random);
        let cwd = random.one(&[PROJECT, PROJECT, PROJECT, "/scratch/project/src"]);
        let prepared = random.one(&["", "", "", "stale"]);
        generated += 1;
        let Some(line) = ClaimedLine::read(&text, cwd) else { continue };
        if !coverage::is_covered(&line) {
            continue;
        }
        readable += 1;
        let outcome = sandbox.run(Request { cwd, prepared, line: &text });
        let found = compare::problems(&line, cwd, &outcome);
        if !found.is_empty() {
            let place = cwd.trim_start_matches(PROJECT);
            let problem = format!(
                "seed {seed}, in .{place}, {prepared}: {:?}\n    {}",
                line.text,
                found[..found.len().min(SHOWN_OF_LINE)].join("\n    ")
            );
            println!("{problem}");
            tally.problems.lock().unwrap().push(problem);
        }
    }
    println!("seed {seed} done: {readable} readable of {generated} lines");
    tally.generated.fetch_add(generated, Ordering::Relaxed);
    tally.readable.fetch_add(readable, Ordering::Relaxed);
}
