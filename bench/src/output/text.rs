//! Benchmark results for people on a terminal, beside those of an earlier run if there is one.

use crate::floors::{Floor, floors, reservations};
use crate::results::{Figure, Measurement, Results, UnmeasuredPart};
use bitacora_formats::printable;

/// The columns of measurements that have answers.
pub(super) const COLUMNS: [(Figure, &str); 5] = [
    (Figure::P50Us, "p50 µs"),
    (Figure::P99Us, "p99 µs"),
    (Figure::P999Us, "p99.9 µs"),
    (Figure::MaxUs, "max µs"),
    (Figure::EventsPerS, "events/s"),
];
/// The width of a measurement's name and of a column, characters.
const NAME_WIDTH: usize = 52;
const COLUMN_WIDTH: usize = 11;

/// Returns the results as lines for a terminal, beside those of an earlier run.
#[must_use]
pub fn lines(results: &Results, earlier: Option<&Results>) -> Vec<String> {
    let mut lines = vec![setting(results)];
    let names = COLUMNS.map(|(_, name)| format!("{name:>COLUMN_WIDTH$}")).concat();
    lines.push(format!("{:NAME_WIDTH$}{names}", ""));
    for measurement in &results.measurements {
        lines.extend(of_one(measurement, earlier));
    }
    lines.extend(results.failures.iter().map(of_failure));
    let floors = floors(results);
    if !floors.is_empty() {
        lines.push(String::new());
        lines.push("Floors".to_owned());
        lines.extend(floors.iter().map(of_floor));
        lines.extend(reservations(results).into_iter().map(|reservation| format!("note: {reservation}")));
    }
    lines
}

/// Describes the machine, the disk and the durations of a run.
pub(super) fn setting(results: &Results) -> String {
    let machine = &results.machine;
    printable(&format!(
        "bitacora {}; {} cores of {}, {} MiB of memory, {}, Linux {}; {} s each after a warm-up",
        results.version,
        machine.cores,
        machine.cpu,
        machine.memory_mib,
        machine.file_system,
        machine.kernel,
        results.measured_s
    ))
}

pub(super) fn of_failure(failure: &UnmeasuredPart) -> String {
    printable(&format!("{} was not measured: {}", failure.part, failure.what))
}

fn of_one(measurement: &Measurement, earlier: Option<&Results>) -> Vec<String> {
    let column = |figure| measurement.figures.get(&figure).map_or_else(String::new, |value| grouped(*value));
    let columns = COLUMNS.map(|(figure, _)| format!("{:>COLUMN_WIDTH$}", column(figure))).concat();
    let mut lines = vec![format!("{:NAME_WIDTH$}{columns}", printable(&measurement.what))];
    if let Some(earlier) = earlier {
        let ratio = |figure| {
            let before = earlier.figure(&measurement.name, figure).filter(|before| *before > 0.0)?;
            Some(format!("{:.2}×", measurement.figures.get(&figure)? / before))
        };
        let columns = COLUMNS
            .map(|(figure, _)| format!("{:>COLUMN_WIDTH$}", ratio(figure).unwrap_or_default()))
            .concat();
        lines.push(format!("{:NAME_WIDTH$}{columns}", "    of the earlier run"));
    }
    let rest = measurement.figures.iter();
    let rest = rest.filter(|(figure, _)| COLUMNS.iter().all(|(column, _)| column != *figure));
    let rest: Vec<String> =
        rest.map(|(name, value)| format!("{} {}", name.said(), precise(*value))).collect();
    if !rest.is_empty() {
        lines.push(format!("    {}", rest.join(", ")));
    }
    lines
}

fn of_floor(floor: &Floor) -> String {
    let Floor { what, figure, measured, .. } = floor;
    let verdict = if floor.is_met { "met   " } else { "MISSED" };
    format!("{verdict} {}: {} {}, {}", printable(what), precise(*measured), figure.said(), bound(floor))
}

/// Returns the bound of a figure, and its aim if there is one.
pub(super) fn bound(floor: &Floor) -> String {
    let side = if floor.is_least { "≥" } else { "≤" };
    let aim = floor.aim.map_or_else(String::new, |aim| format!(", aim {}", precise(aim)));
    format!("{side} {}{aim}", precise(floor.floor))
}

/// Formats a figure without a fraction, its digits in groups of three.
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a figure with its significant digits.
pub(super) fn precise(value: f64) -> String {
    if value >= 100.0 { grouped(value) } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        for (value, shown) in [(0.0, "0"), (999.4, "999"), (1_000.0, "1,000"), (1_234_567.0, "1,234,567")] {
            assert_eq!(grouped(value), shown);
        }
        assert_eq!(precise(1.234), "1.23");
    }
}
