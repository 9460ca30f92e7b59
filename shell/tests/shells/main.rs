//! Real shells as the oracle of the reader.
//! For a readable text, the reader must name every program that bash, dash, zsh, busybox or mksh starts, and every file that is
//! made.
//!
//! Texts run in a sandbox with programs that record their arguments and do nothing else. `BITACORA_SHELL_TEXTS` is the number of
//! readable texts, `BITACORA_SHELL_SEED` the first seed; a seed is a thousand of them. A longer run prints each seed that is done,
//! and a later one goes on behind it.

#![expect(clippy::print_stdout, reason = "a long run says how far it is")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on must fail"
)]

mod costs;
mod expected;
mod known_words;
mod random;
mod sample;
mod sandbox;
mod texts;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bitacora_shell::{CommandLine, parse};
use expected::{ShellRun, differences, unnamed_files};
use random::RandomNumbers;
use sandbox::{Record, Sandbox, TextBatch};
use serde::Deserialize;
use texts::Texts;

/// Readable texts that are run, without `BITACORA_SHELL_TEXTS`.
const TEXTS: usize = 20_000;
/// Readable texts of one seed.
const TEXTS_OF_SEED: usize = 1000;
/// Texts that the sandbox is given at once.
const TEXTS_OF_BATCH: usize = 50;
/// One text in so many is run in the slow way, with nothing but programs.
const SLOW_SHARE: usize = 4;
/// The least share of all generated texts that is readable, in per cent.
const LEAST_READABLE: usize = 60;
/// Differences that a failing run shows.
const SHOWN: usize = 20;
/// The shells, as records name them.
const SHELLS: [&str; 5] = ["bash", "dash", "zsh", "busybox", "mksh"];

/// A readable text, with its number in the seed.
struct Readable {
    number: usize,
    text: String,
    line: CommandLine,
}

/// The counts of a run.
#[derive(Default)]
struct TextTally {
    generated: AtomicUsize,
    readable: AtomicUsize,
    records: AtomicUsize,
    problems: Mutex<Vec<String>>,
}

#[test]
fn shells_start_nothing_that_the_reader_did_not_say() {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let texts = number("BITACORA_SHELL_TEXTS").map_or(TEXTS, |texts| usize::try_from(texts).unwrap());
    let first = number("BITACORA_SHELL_SEED").unwrap_or(1);
    let end = first + u64::try_from(texts.div_ceil(TEXTS_OF_SEED)).unwrap();
    let sample = sample::commands();
    if sample.is_empty() {
        println!("NOT USED: no real commands in ../shared/data; set BITACORA_SAMPLE_DATA");
    }
    let attacks = attacks();
    let source = Texts { attacks: &attacks, sample: &sample };
    let (tally, next) = (TextTally::default(), AtomicU64::new(first));
    let workers = std::thread::available_parallelism().unwrap().get();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut sandbox = Sandbox::start();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end || !tally.problems.lock().unwrap().is_empty() {
                        break;
                    }
                    run_seed(seed, &source, &mut sandbox, &tally);
                }
            });
        }
    });
    let problems = tally.problems.into_inner().unwrap();
    let shown = &problems[..problems.len().min(SHOWN)];
    assert!(problems.is_empty(), "{} differences:\n{}", problems.len(), shown.join("\n"));
    let (generated, readable) = (tally.generated.into_inner(), tally.readable.into_inner());
    let records = tally.records.into_inner();
    println!("seeds {first} to {}: {readable} readable of {generated} texts, {records} records", end - 1);
    assert!(readable * 100 >= generated * LEAST_READABLE, "{readable} of {generated} texts are readable");
    assert!(records > readable * SHELLS.len(), "{records} records are too few to say anything");
}

/// Runs the texts of one seed.
fn run_seed(seed: u64, source: &Texts<'_>, sandbox: &mut Sandbox, tally: &TextTally) {
    let mut random = RandomNumbers::new(seed);
    let (mut generated, mut readable, mut records) = (0, 0, 0);
    let (mut slow, mut quick) = (Vec::new(), Vec::new());
    while readable < TEXTS_OF_SEED {
        let text = source.next(&mut random);
        let is_slow = random.below(SLOW_SHARE) == 0;
        generated += 1;
        let Ok(line) = parse(&text) else { continue };
        // `kill` itself could end what watches; as a function it does nothing.
        let is_slow = is_slow && !text.contains("kill");
        let (queue, way) = if is_slow { (&mut slow, "programs") } else { (&mut quick, "functions") };
        queue.push(Readable { number: readable, text, line });
        readable += 1;
        if queue.len() >= TEXTS_OF_BATCH {
            records += run_batch(seed, way, &std::mem::take(queue), sandbox, tally);
        }
    }
    records += run_batch(seed, "programs", &slow, sandbox, tally);
    records += run_batch(seed, "functions", &quick, sandbox, tally);
    println!("seed {seed} done: {readable} readable of {generated} texts, {records} records");
    tally.generated.fetch_add(generated, Ordering::Relaxed);
    tally.readable.fetch_add(readable, Ordering::Relaxed);
    tally.records.fetch_add(records, Ordering::Relaxed);
}

/// Runs texts in one way, and compares. Returns how many records there were.
fn run_batch(
    seed: u64,
    way: &'static str,
    texts: &[Readable],
    sandbox: &mut Sandbox,
    tally: &TextTally,
) -> usize {
    let locale = if seed.is_multiple_of(2) { "C.UTF-8" } else { "C" };
    let names: BTreeSet<String> = texts.iter().flat_map(|one| names(&one.text)).collect();
    let batch = TextBatch {
        way,
        locale,
        names: names.into_iter().collect(),
        texts: texts.iter().map(|one| (one.number, one.text.as_str())).collect(),
    };
    let records = sandbox.run(&batch);
    let mut found = Vec::new();
    for shell in SHELLS {
        let of_shell: Vec<&Record> = records.iter().filter(|record| record.shell == shell).collect();
        let run = ShellRun { way, shell };
        for one in texts {
            let own: Vec<&Record> =
                of_shell.iter().copied().filter(|record| record.number == one.number).collect();
            let mut problems = differences(run, &one.line, &own);
            if way == "programs" {
                problems.extend(unnamed_files(&[&one.line], &own));
            }
            found.extend(problems.iter().map(|problem| format!("{problem} of {:?}", one.text)));
        }
        if way == "functions" {
            let lines: Vec<&CommandLine> = texts.iter().map(|one| &one.line).collect();
            let all: Vec<&str> = texts.iter().map(|one| one.text.as_str()).collect();
            let problems = unnamed_files(&lines, &of_shell);
            found.extend(problems.iter().map(|problem| format!("{problem} by {shell} of one of {all:?}")));
        }
    }
    let is_of_batch = |record: &&Record| texts.iter().any(|one| one.number == record.number);
    found.extend(
        records.iter().filter(|record| !is_of_batch(record)).map(|late| format!("{late:?} came late")),
    );
    let problems = found.into_iter().map(|problem| format!("seed {seed}, {way}, {locale}: {problem}"));
    tally.problems.lock().unwrap().extend(problems);
    records.len()
}

/// Returns every name that a shell could take for a program's, of a text and of the same text without quotes.
fn names(text: &str) -> Vec<String> {
    let without_quotes: String =
        text.chars().filter(|letter| !matches!(letter, '\'' | '"' | '\\' | '\n')).collect();
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.+".contains(letter);
    let of_texts = [text, &without_quotes]
        .map(|text| text.split(|letter| !is_of_name(letter)).map(str::to_owned).collect::<Vec<String>>());
    let is_name = |name: &String| !matches!(name.as_str(), "" | "." | "..") && name.len() < 100;
    of_texts.concat().into_iter().filter(is_name).collect()
}

/// The texts of every class that no reader may read.
fn attacks() -> Vec<String> {
    #[derive(Deserialize)]
    struct Class {
        texts: Vec<String>,
    }
    let classes: Vec<Class> = serde_json::from_str(include_str!("../attacks.json")).unwrap();
    classes.into_iter().flat_map(|class| class.texts).collect()
}
