//! One table of all, in Markdown; what Bitacora does stands beside as a multiple.

use serde_json::Value;

use crate::SHAPES;
use crate::results::{Appends, Peer, Results};

/// Bitacora's own rows, from what `bitacora bench --json` wrote.
pub fn of_bitacora(bench: &Value) -> Vec<Peer> {
    [
        ("Bitacora, in process", "append", "read/scan", true),
        ("Bitacora, HTTP", "http", "read/scan-http", false),
    ]
    .into_iter()
    .map(|(name, group, scan, is_in_process)| Peer {
        name: name.to_owned(),
        version: bench["version"].as_str().unwrap_or_default().to_owned(),
        settings: "defaults: encrypted, compressed, hash-chained, deduplicated".to_owned(),
        is_durable: true,
        is_in_process,
        appends: SHAPES
            .iter()
            .filter_map(|shape| {
                let name = format!("{group}/{}x{}", shape.clients, shape.events);
                let figure = |figure| figure_of(bench, &name, figure);
                Some(Appends {
                    clients: shape.clients,
                    events: shape.events,
                    events_per_s: figure("events_per_s")?,
                    p50_us: figure("p50_us")? as u32,
                    p99_us: figure("p99_us")? as u32,
                    max_us: figure("max_us")? as u32,
                })
            })
            .collect(),
        scan_events_per_s: figure_of(bench, scan, "events_per_s"),
        failure: None,
    })
    .collect()
}

fn figure_of(bench: &Value, name: &str, figure: &str) -> Option<f64> {
    let found = bench["measurements"].as_array()?.iter().find(|one| one["name"] == name)?;
    found["figures"][figure].as_f64()
}

pub fn lines(bitacora: &[Peer], results: &Results) -> Vec<String> {
    let shapes = SHAPES.map(|shape| format!("{} × {}", shape.clients, shape.events));
    let mut lines = vec![
        format!("| | {} | scan | answers mean | version and settings |", shapes.join(" | ")),
        "|---|---:|---:|---:|---|---|".to_owned(),
    ];
    for peer in bitacora.iter().chain(&results.peers) {
        if let Some(failure) = &peer.failure {
            lines.push(format!("| {} | | | | not measured: {failure} | |", peer.name));
            continue;
        }
        let ours = bitacora.iter().find(|ours| ours.is_in_process == peer.is_in_process);
        let ours = ours.filter(|ours| ours.name != peer.name);
        let appends = SHAPES.map(|shape| {
            let of = |peer: &Peer| peer.shaped(shape.clients, shape.events).map(|found| found.events_per_s);
            cell(of(peer), ours.and_then(of))
        });
        let scan = cell(peer.scan_events_per_s, ours.and_then(|ours| ours.scan_events_per_s));
        let durable = if peer.is_durable { "synced" } else { "**not synced**" };
        lines.push(format!(
            "| {} | {} | {scan} | {durable} | {}; {} |",
            peer.name,
            appends.join(" | "),
            peer.version,
            peer.settings
        ));
    }
    lines
}

/// Events a second, and how many times as many Bitacora does of the same kind: over the network or in the process.
fn cell(theirs: Option<f64>, ours: Option<f64>) -> String {
    match (theirs, ours) {
        (None, _) => String::new(),
        (Some(theirs), None) => grouped(theirs),
        (Some(theirs), Some(ours)) => format!("{} ({:.1}×)", grouped(theirs), ours / theirs),
    }
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
