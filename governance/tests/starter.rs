//! The starter registry, and its findings about the calls of real agents.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on must fail, and says what it found"
)]

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bitacora_governance::{ArgumentFindings, ArgumentsRefusal, CompiledTool, NO_CONTEXT, Registry, examine};
use bitacora_vocabulary::ToolDocument;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Calls of a hundred that must have a context, among those whose tool has one.
const LEAST_WITH_CONTEXT: usize = 95;
/// Calls of a hundred whose command may be too much for the reader.
const MOST_OPAQUE: usize = 15;
/// Contexts that are printed.
const SHOWN: usize = 40;

#[derive(Deserialize)]
struct RecordedAction<'a> {
    tool: String,
    #[serde(borrow)]
    input: &'a RawValue,
    cwd: Option<String>,
    outcome: String,
}

fn starter() -> Registry {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("starter/tools.json");
    let documents: Vec<ToolDocument> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut registry = Registry::default();
    for document in &documents {
        registry.apply_registered(document).unwrap();
    }
    registry
}

fn recorded() -> Option<PathBuf> {
    let folder =
        std::env::var_os("BITACORA_SAMPLE_DATA").map_or_else(|| "../shared/data".into(), PathBuf::from);
    let path = folder.join("claude-code-actions.ndjson.zst");
    if path.is_file() {
        return Some(path);
    }
    println!("NOT RUN: no {}; BITACORA_SAMPLE_DATA names the folder with it", path.display());
    None
}

fn compiled(registry: &Registry) -> HashMap<String, CompiledTool> {
    let name = |tool: &ToolDocument| tool.tool.as_str().to_owned();
    let all = registry.iter().map(|tool| &tool.document);
    all.map(|tool| {
        (name(tool), CompiledTool::new(tool).unwrap_or_else(|error| panic!("{}: {error}", tool.tool)))
    })
    .collect()
}

#[test]
fn every_tool_of_the_starter_registry_can_be_registered() {
    let registry = starter();
    assert_eq!(compiled(&registry).len(), registry.len());
    assert_eq!(registry.revision(), registry.len() as u64);
}

#[test]
fn real_calls_get_a_context() {
    let Some(path) = recorded() else { return };
    let registry = starter();
    let tools = compiled(&registry);
    let lines = zstd::Decoder::new(std::fs::File::open(path).unwrap()).unwrap();
    let (mut by_context, mut refused) = (BTreeMap::new(), BTreeMap::new());
    let (mut examined, mut with_context, mut opaque, mut commands, mut unknown) = (0, 0, 0, 0, 0);
    let (mut spent, mut calls) = (Duration::ZERO, 0_u32);
    for line in BufReader::new(lines).lines() {
        let line = line.unwrap();
        let action: RecordedAction<'_> = serde_json::from_str(&line).unwrap();
        let Some(tool) = tools.get(&action.tool) else {
            unknown += 1;
            continue;
        };
        let began = Instant::now();
        let found: ArgumentFindings = examine(tool, action.input.get().as_bytes(), action.cwd.as_deref());
        spent += began.elapsed();
        calls += 1;
        if registry.get(&action.tool, None).is_some_and(|tool| tool.document.context_from.is_none()) {
            continue;
        }
        examined += 1;
        commands += usize::from(action.tool == "Bash");
        opaque += usize::from(found.opaque);
        with_context += usize::from(found.context.as_str() != NO_CONTEXT);
        *by_context.entry(format!("{} {}", action.tool, found.context)).or_insert(0) += 1;
        if let Some(refusal) = found.refusal {
            let first = found.violations.first().map(|violation| format!("{violation:?}"));
            *refused.entry((action.tool, refusal, action.outcome, first)).or_insert(0) += 1;
        }
    }
    let mut contexts: Vec<(String, usize)> = by_context.into_iter().collect();
    contexts.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
    println!(
        "{examined} calls, {with_context} with a context, {} contexts, {opaque} of {commands} commands opaque, {unknown} of tools that are not registered",
        contexts.len()
    );
    println!("{:?} a call", spent / calls.max(1));
    for (context, calls) in contexts.iter().take(SHOWN) {
        println!("{calls:6}  {context}");
    }
    for (refusal, calls) in &refused {
        println!("{calls:6}  refused: {refusal:?}");
    }
    assert!(examined > 9_000, "{examined}");
    assert!(with_context * 100 >= examined * LEAST_WITH_CONTEXT, "{with_context} of {examined}");
    assert!(opaque * 100 <= commands * MOST_OPAQUE, "{opaque} of {commands}");
    // The arguments of calls that really ran would not have kept them from running.
    let wrongly: usize = refused
        .iter()
        .filter(|((_, refusal, outcome, _), _)| outcome == "ok" && *refusal == ArgumentsRefusal::Invalid)
        .map(|(_, calls)| calls)
        .sum();
    assert_eq!(wrongly, 0, "{refused:?}");
}
