//! Results as people read them.

use crate::bench::{Figure, Measurement, Results};

/// The columns of every measurement that has answers.
const COLUMNS: [(Figure, &str); 5] = [
    (Figure::P50Us, "p50 µs"),
    (Figure::P99Us, "p99 µs"),
    (Figure::P999Us, "p99.9 µs"),
    (Figure::MaxUs, "max µs"),
    (Figure::EventsPerS, "events/s"),
];

pub(super) fn lines(results: &Results) -> Vec<String> {
    let machine = &results.machine;
    let mut lines = vec![
        format!("bitacora {}, {} s each after a warm-up", results.version, results.measured_s),
        format!(
            "{} cores of {}, {} MiB of memory, {} on Linux {}",
            machine.cores, machine.cpu, machine.memory_mib, machine.file_system, machine.kernel
        ),
    ];
    let names = COLUMNS.map(|(_, name)| format!("{name:>10}")).join(" ");
    lines.push(format!("{:48} {names}", ""));
    lines.extend(results.measurements.iter().flat_map(of_one));
    lines
}

fn of_one(measurement: &Measurement) -> Vec<String> {
    let figure = |figure: Figure| measurement.figures.get(&figure).map_or_else(String::new, |v| grouped(*v));
    let columns = COLUMNS.map(|(name, _)| format!("{:>10}", figure(name))).join(" ");
    let rest =
        measurement.figures.iter().filter(|(name, _)| COLUMNS.iter().all(|(column, _)| column != *name));
    let rest: Vec<String> =
        rest.map(|(name, value)| format!("{} {}", name.said(), precise(*value))).collect();
    let mut lines = vec![format!("{:48} {columns}", measurement.what)];
    if !rest.is_empty() {
        lines.push(format!("    {}", rest.join(", ")));
    }
    lines
}

/// A figure without a fraction, its digits in groups of three.
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

/// A figure with as many digits as say something.
fn precise(value: f64) -> String {
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
