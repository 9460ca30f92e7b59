//! Benchmark results as Markdown tables, for a document.

use super::text::{COLUMNS, bound, grouped, of_failure, precise, setting};
use crate::floors::{floors, reservations};
use crate::results::{Figure, Results};

/// The figures that are noted behind the columns of a measurement, where they were measured.
const NOTED: [Figure; 19] = [
    Figure::EventsAFrame,
    Figure::Compression,
    Figure::StoredBytesAnEvent,
    Figure::DiskBusy,
    Figure::CallerCores,
    Figure::ServiceCores,
    Figure::Segments,
    Figure::MaxOverP50,
    Figure::IndexLagMs,
    Figure::BytesPerS,
    Figure::BytesAFrame,
    Figure::ShareOfBlake3,
    Figure::MemoryGrowth,
    Figure::PeakMemoryBytes,
    Figure::LineBytes,
    Figure::PackedBytes,
    Figure::IndexBytes,
    Figure::TimesSmaller,
    Figure::ShareOfZstd19,
];

/// Returns the results as lines of Markdown.
#[must_use]
pub fn lines(results: &Results) -> Vec<String> {
    let mut lines = vec![setting(results), String::new()];
    lines.push(format!("| | {} | |", COLUMNS.map(|(_, name)| name).join(" | ")));
    lines.push(format!("|---|{}---|", "---:|".repeat(COLUMNS.len())));
    for measurement in &results.measurements {
        let figure = |figure| measurement.figures.get(&figure).copied();
        let columns = COLUMNS.map(|(name, _)| figure(name).map_or_else(String::new, grouped)).join(" | ");
        let notes = NOTED.iter().filter_map(|name| Some((name, figure(*name)?)));
        let notes: Vec<String> =
            notes.map(|(name, value)| format!("{} {}", precise(value), name.said())).collect();
        lines.push(format!("| {} | {columns} | {} |", measurement.what, notes.join(", ")));
    }
    if !results.failures.is_empty() {
        lines.push(String::new());
        lines.extend(results.failures.iter().map(|failure| format!("- {}.", of_failure(failure))));
    }
    lines.extend([
        String::new(),
        "| floor | measured | to reach | |".to_owned(),
        "|---|---:|---:|---|".to_owned(),
    ]);
    for floor in floors(results) {
        let verdict = if floor.is_met { "met" } else { "**missed**" };
        let (measured, bound) = (precise(floor.measured), bound(&floor));
        lines.push(format!("| {}: {} | {measured} | {bound} | {verdict} |", floor.what, floor.figure.said()));
    }
    let reservations = reservations(results);
    if !reservations.is_empty() {
        lines.push(String::new());
        lines.extend(reservations.iter().map(|reservation| format!("- {reservation}.")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_the_columns_of_its_head() {
        let saved = r#"{"form":"bitacora-bench 1","version":"0.1.0","measured_s":4.0,"events":1000,
            "machine":{"cores":2,"cpu":"c","memory_mib":1,"file_system":"ext4","kernel":"6"},
            "measurements":[{"name":"append/256x1","what":"256 callers","figures":{"events_per_s":1000.0,
            "p50_us":3.5,"compression":4.0}}]}"#;
        let lines = lines(&serde_json::from_str(saved).unwrap());
        let columns = |line: &str| line.matches('|').count();
        let rows: Vec<&String> = lines.iter().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), 6, "{lines:#?}");
        assert!(rows[..3].iter().all(|row| columns(row) == columns(rows[0])), "{rows:#?}");
        assert!(rows[3..].iter().all(|row| columns(row) == columns(rows[3])), "{rows:#?}");
        assert!(rows[5].contains("**missed**"), "{rows:#?}");
    }
}
