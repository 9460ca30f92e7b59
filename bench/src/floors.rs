//! The floors: promised figures, not aims.

use super::results::{Figure, Results};

/// The sync time of the disk that the floors are meant for: 64 KiB in at most this, in microseconds, in half of the syncs.
const MEANT_SYNC_US: f64 = 300.0;
/// The number of events of the ledger that the floors of reads and openings are meant for.
const MEANT_EVENTS: u64 = 10_000_000;

/// The side of the floor that is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    AtLeast,
    AtMost,
}
use Bound::{AtLeast, AtMost};

/// One floor.
struct FloorRow {
    measurement: &'static str,
    figure: Figure,
    bound: Bound,
    floor: f64,
    /// The figure to aim for, if it is beyond the floor.
    aim: Option<f64>,
}

const fn row(
    measurement: &'static str,
    figure: Figure,
    bound: Bound,
    floor: f64,
    aim: Option<f64>,
) -> FloorRow {
    FloorRow { measurement, figure, bound, floor, aim }
}

const ROWS: [FloorRow; 25] = [
    row("append/256x1", Figure::EventsPerS, AtLeast, 150e3, None),
    row("append/16x100", Figure::EventsPerS, AtLeast, 350e3, None),
    row("append/4x1000", Figure::EventsPerS, AtLeast, 350e3, None),
    row("http/1x1", Figure::EventsPerS, AtLeast, 2_500.0, None),
    row("http/256x1", Figure::EventsPerS, AtLeast, 25e3, Some(50e3)),
    row("http/16x100", Figure::EventsPerS, AtLeast, 120e3, Some(300e3)),
    row("http/4x1000", Figure::EventsPerS, AtLeast, 120e3, Some(250e3)),
    row("http/4x1000", Figure::IndexLagMs, AtMost, 2_000.0, None),
    row("decide/1", Figure::TimesAnAppend, AtMost, 1.5, None),
    row("decide/256", Figure::CallsPerS, AtLeast, 10e3, None),
    row("decide/alone-1", Figure::TimesAnAppend, AtMost, 1.5, None),
    row("decide/alone-256", Figure::CallsPerS, AtLeast, 10e3, None),
    row("replay/fold", Figure::EventsPerS, AtLeast, 1e6, None),
    row("replay/open", Figure::MaxUs, AtMost, 2e6, None),
    row("roll/16x100", Figure::MaxOverP50, AtMost, 10.0, None),
    row("heads/with", Figure::ShareWithoutHeads, AtLeast, 0.85, None),
    row("load/8x1000", Figure::PeakMemoryBytes, AtMost, 300e6, None),
    row("load/8x1000", Figure::MemoryGrowth, AtMost, 1.1, None),
    row("read/scan", Figure::EventsPerS, AtLeast, 1e6, None),
    row("read/stream-cold", Figure::MaxUs, AtMost, 20e3, None),
    row("open/cold", Figure::MaxUs, AtMost, 2e6, None),
    row("open/warm", Figure::MaxUs, AtMost, 2e6, None),
    row("verify/chain", Figure::ShareOfBlake3, AtLeast, 0.6, None),
    row("verify/chain", Figure::BytesAFrame, AtLeast, 64.0 * 1024.0, None),
    row("verify/tree", Figure::EventsPerS, AtLeast, 3e6, None),
];

/// A floor beside the measured figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Floor {
    /// The measurement, for people.
    pub(crate) what: String,
    pub(crate) figure: Figure,
    pub(crate) measured: f64,
    /// Set when more is better.
    pub(crate) is_least: bool,
    pub(crate) floor: f64,
    pub(crate) aim: Option<f64>,
    pub(crate) is_met: bool,
}

/// Returns every floor with a measured figure.
pub(crate) fn floors(results: &Results) -> Vec<Floor> {
    let measured = |row: &FloorRow| {
        let measurement = results.measurements.iter().find(|found| found.name == row.measurement)?;
        let measured = *measurement.figures.get(&row.figure)?;
        let is_met = match row.bound {
            AtLeast => measured >= row.floor,
            AtMost => measured <= row.floor,
        };
        Some(Floor {
            what: measurement.what.clone(),
            figure: row.figure,
            measured,
            is_least: row.bound == AtLeast,
            floor: row.floor,
            aim: row.aim,
            is_met,
        })
    };
    ROWS.iter().filter_map(measured).collect()
}

/// Lists the differences between this run and the one that the floors are meant for.
pub(crate) fn reservations(results: &Results) -> Vec<String> {
    let mut reservations = Vec::new();
    match results.figure("disk/sync-64k", Figure::P50Us) {
        Some(sync) if sync > MEANT_SYNC_US => reservations.push(format!(
            "the floors are meant for a disk that syncs 64 KiB in {MEANT_SYNC_US} µs; this one took {sync} µs"
        )),
        Some(_) => {}
        None => reservations.push("the disk alone was not measured beside".to_owned()),
    }
    if results.events < MEANT_EVENTS {
        reservations.push(format!(
            "the floors of loads, reads and openings are meant for {MEANT_EVENTS} events; these were {}",
            results.events
        ));
    }
    if results.machine.cores != 2 {
        reservations.push(format!("the floors are meant for 2 cores; these were {}", results.machine.cores));
    }
    reservations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::BenchMachine;
    use crate::results::Measurement;
    use std::time::Duration;

    fn results(measurement: &str, figure: Figure, value: f64) -> Results {
        let mut results = Results::new(BenchMachine::default(), Duration::from_secs(1), 1);
        results.measurements.push(Measurement::new(measurement, "test").with(figure, value));
        results
    }

    #[test]
    fn a_floor_is_met_on_its_right_side() {
        for (measurement, figure, met, missed) in [
            ("append/256x1", Figure::EventsPerS, 150e3, 149e3),
            ("read/stream-cold", Figure::MaxUs, 20e3, 21e3),
        ] {
            for (value, is_met) in [(met, true), (missed, false)] {
                let floors = floors(&results(measurement, figure, value));
                let [floor] = floors.as_slice() else { panic!("found {floors:?}, expected one floor") };
                assert_eq!(floor.is_met, is_met, "{floor:?}");
            }
        }
        assert!(floors(&results("append/64x1", Figure::EventsPerS, 1.0)).is_empty());
    }

    #[test]
    fn a_slow_disk_and_a_small_ledger_are_told() {
        assert_eq!(reservations(&results("disk/sync-64k", Figure::P50Us, 4_000.0)).len(), 3);
        assert_eq!(reservations(&results("disk/sync-64k", Figure::P50Us, 165.0)).len(), 2);
    }
}
