//! The names and sentences of an invented shipping company and its software.

use super::random::DemoRandom;

const NOUNS: &[&str] = &[
    "anchor",
    "berth",
    "bill",
    "booking",
    "buoy",
    "cargo",
    "carrier",
    "chart",
    "claim",
    "container",
    "crane",
    "crew",
    "customs",
    "deck",
    "dock",
    "ferry",
    "fleet",
    "freight",
    "harbour",
    "hold",
    "invoice",
    "lane",
    "ledger",
    "manifest",
    "mooring",
    "order",
    "pallet",
    "pilot",
    "port",
    "quay",
    "rate",
    "route",
    "seal",
    "shipment",
    "slot",
    "tariff",
    "tide",
    "tracking",
    "vessel",
    "voyage",
    "warehouse",
    "watch",
    "weight",
    "winch",
];
const VERBS: &[&str] = &[
    "assign", "balance", "cancel", "check", "close", "compute", "confirm", "convert", "filter", "find",
    "format", "load", "match", "merge", "parse", "plan", "print", "reserve", "retry", "route", "schedule",
    "send", "sort", "split", "sync", "track", "update", "validate", "verify", "weigh",
];
const COMMON: &[&str] = &[
    "the",
    "a",
    "for",
    "with",
    "when",
    "before",
    "after",
    "so that",
    "and",
    "not",
    "every",
    "missing",
    "late",
    "new",
    "old",
    "empty",
    "duplicate",
    "first",
    "last",
    "slow",
];
const PROJECTS: &[&str] = &[
    "tideline",
    "harbourmaster",
    "manifest-api",
    "berth-planner",
    "customs-bridge",
    "quay-web",
    "fleet-telemetry",
    "rates",
];
const PEOPLE: &[&str] =
    &["ines", "tomas", "marta", "okoye", "lindqvist", "haruka", "pavel", "amara", "duarte", "wren"];
const CITIES: &[&str] = &["Lisbon", "Gdansk", "Mombasa", "Valparaiso", "Busan", "Halifax", "Trieste", "Cork"];

pub(super) fn noun(random: &mut DemoRandom) -> &'static str {
    random.pick(NOUNS)
}

pub(super) fn verb(random: &mut DemoRandom) -> &'static str {
    random.pick(VERBS)
}

pub(super) fn project(random: &mut DemoRandom) -> &'static str {
    random.pick(PROJECTS)
}

pub(super) fn person(random: &mut DemoRandom) -> &'static str {
    random.pick(PEOPLE)
}

pub(super) fn city(random: &mut DemoRandom) -> &'static str {
    random.pick(CITIES)
}

/// Returns a name in code.
pub(super) fn name(random: &mut DemoRandom) -> String {
    format!("{}_{}", verb(random), noun(random))
}

/// Returns a sentence of this many words.
pub(super) fn sentence(random: &mut DemoRandom, words: u64) -> String {
    let mut text = verb(random).to_owned();
    for _ in 1..words {
        let word = match random.below(5) {
            0 => verb(random),
            1 | 2 => noun(random),
            _ => random.pick(COMMON),
        };
        text.push(' ');
        text.push_str(word);
    }
    text
}

/// Returns lines of code in the language of the file.
pub(super) fn code(random: &mut DemoRandom, ending: &str, lines: u64) -> String {
    (0..lines).map(|_| line(random, ending)).collect()
}

fn line(random: &mut DemoRandom, ending: &str) -> String {
    let (one, two, number) = (name(random), noun(random), random.between(0, 900));
    match (ending, random.below(6)) {
        ("rs", 0) => format!("    let {two} = self.{one}({number})?;\n"),
        ("rs", 1) => {
            format!("    if {two}.is_empty() {{\n        return Err(Error::Missing(\"{two}\"));\n    }}\n")
        }
        ("rs", 2) => format!("pub fn {one}({two}: &{two}::Id) -> Result<u64, Error> {{\n"),
        ("rs", 3) => format!("    assert_eq!({one}(&{two}), {number});\n"),
        ("rs", _) => format!("    tracing::debug!({two} = %{two}.id, \"{one}\");\n"),
        ("py", 0) => format!("    {two} = {one}({two}_id, limit={number})\n"),
        ("py", 1) => format!("    if not {two}:\n        raise ValueError(\"no {two}\")\n"),
        ("py", 2) => format!("def {one}({two}_id: str) -> dict:\n"),
        ("py", _) => format!("    assert {one}({two}) == {number}\n"),
        ("ts", 0) => format!("  const {two} = await {one}({{ id, limit: {number} }});\n"),
        ("ts", 1) => format!("  if (!{two}) throw new Error('no {two}');\n"),
        ("ts", _) => format!("export async function {one}({two}: string) {{\n"),
        (_, 0) => format!("{two}:\n  {one}: {number}\n"),
        _ => format!("- {}\n", sentence(random, 7)),
    }
}
