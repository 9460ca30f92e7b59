//! The run of a plan: every group of measurements in its order.

use bitacora_ledger::Environment;

use super::dataset::Dataset;
use super::error::BenchError;
use super::plan::{BenchGroup, BenchPlan, MeasurementListener};
use super::results::Results;
use super::scratch::Scratch;
use super::stop::StopSignal;
use super::{append, archiving, bare, heads, http, machine, opening, reading, replaying, rolling, verifying};

/// Runs all measurements of the plan, in its order. A part that fails is reported in the results, beside those of the
/// others.
///
/// # Errors
/// The folder cannot be created, or the run was interrupted. The folder is removed then too.
pub fn measure(
    plan: &mut BenchPlan,
    stop: &StopSignal,
    listener: MeasurementListener<'_>,
) -> Result<Results, BenchError> {
    let environment = Environment::real();
    let scratch = Scratch::make(&plan.folder)?;
    let mut results = Results::new(machine::look_at(&plan.folder), plan.measured, plan.events);
    let groups = plan.groups.clone();
    let planned = |group: &BenchGroup| groups.contains(group);
    // First of all: the memory that a load takes is this process's, so nothing may have run in it before.
    let on_load: Vec<BenchGroup> =
        BenchGroup::ALL.into_iter().filter(planned).filter(|group| group.needs_load()).collect();
    if !on_load.is_empty() {
        measure_on_load(&environment, &scratch, &on_load, &mut results, (stop, listener))?;
    }
    for group in BenchGroup::ALL.into_iter().filter(planned).filter(|group| !group.needs_load()) {
        let measurements = match group {
            BenchGroup::Disk => bare::measure(&environment, &scratch, stop, listener),
            BenchGroup::Append => append::measure(&environment, &scratch, plan, stop, listener),
            BenchGroup::Http => http::measure(&scratch, plan, stop, listener),
            BenchGroup::Decide => http::deciding::measure(&scratch, plan, stop, listener),
            BenchGroup::Replay => replaying::measure(&environment, &scratch, plan.events, stop, listener),
            BenchGroup::Archive => match plan.records.take() {
                Some(records) => archiving::measure(&environment, &scratch, records, stop, listener),
                None => Ok(Vec::new()),
            },
            BenchGroup::Heads => heads::measure(&environment, &scratch, plan.measured, stop, listener),
            _ => rolling::measure(&environment, &scratch, plan.measured, stop, listener),
        };
        results.take(group.name(), measurements)?;
    }
    Ok(results)
}

/// Fills a ledger, and measures on it. If filling fails, none of these can be measured.
fn measure_on_load(
    environment: &Environment,
    scratch: &Scratch,
    groups: &[BenchGroup],
    results: &mut Results,
    (stop, listener): (&StopSignal, MeasurementListener<'_>),
) -> Result<(), BenchError> {
    let made = Dataset::make(environment, scratch, results.events, stop, listener);
    let (dataset, load) = match made {
        Ok(made) => made,
        Err(error) => return results.take(BenchGroup::Load.name(), Err(error)),
    };
    results.measurements.push(load);
    for group in groups {
        let measurements = match group {
            BenchGroup::Read => reading::measure(environment, &dataset, stop, listener),
            BenchGroup::Open => opening::measure(environment, &dataset, stop, listener),
            BenchGroup::Verify => verifying::measure(&dataset, stop, listener),
            _ => Ok(Vec::new()),
        };
        results.take(group.name(), measurements)?;
    }
    Ok(())
}
