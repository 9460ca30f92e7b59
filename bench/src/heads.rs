//! Benchmarks of the cost of signed tree heads: the same appends with and without them, in turns.

use std::time::Duration;

use bitacora_ledger::{Environment, Ledger, Options};

use super::append::{Load, event_loop};
use super::error::BenchError;
use super::keyring::options_beside;
use super::plan::MeasurementListener;
use super::pool;
use super::results::Figure;
use super::results::Measurement;
use super::scratch::Scratch;
use super::shape::LoadShape;
use super::stop::StopSignal;

const SHAPE: LoadShape = LoadShape { callers: 16, events: 100 };
/// The number of measurements of each: variations of the disk then affect both.
const TURNS: u32 = 3;

pub(super) fn measure(
    environment: &Environment,
    scratch: &Scratch,
    measured: Duration,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Vec<Measurement>, BenchError> {
    pool::prepare();
    let (mut with, mut without) = (0.0, 0.0);
    for turn in 0..TURNS {
        for heads in [true, false] {
            let name = format!("heads-{turn}-{heads}");
            listener(&format!("{}, turn {}", said(heads), turn + 1));
            let place = scratch.place(&name)?;
            let anchored = options_beside(&place.keyring(), environment);
            let options = if heads { anchored } else { Options { heads: None, ..anchored } };
            let keyring = place.begin(environment, &options)?;
            let ledger = Ledger::open(environment, &place.ledger()?, keyring, options)?;
            let load = Load { ledger: &ledger, shape: SHAPE, measured, stop };
            let measurement = load.run(&event_loop()?, Measurement::new(&name, ""))?;
            ledger.close()?;
            let rate = measurement.figures.get(&Figure::EventsPerS).copied().unwrap_or_default();
            *(if heads { &mut with } else { &mut without }) += rate / f64::from(TURNS);
        }
    }
    let row = |name, heads| Measurement::new(name, said(heads));
    Ok(vec![
        row("heads/without", false).with(Figure::EventsPerS, without),
        row("heads/with", true)
            .with(Figure::EventsPerS, with)
            .with(Figure::ShareWithoutHeads, with / without),
    ])
}

fn said(heads: bool) -> String {
    format!("in process, {SHAPE}, {} tree heads", if heads { "with" } else { "without" })
}
