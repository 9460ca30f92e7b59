//! The record of a dimension by month, as a chart.

use bitacora_api::{TrustMonthAnswer, TrustMonthList, paths};
use maud::Markup;

use crate::components::{Chart, ChartKind, Series, SeriesColour, whole};
use crate::page_error::PageError;
use crate::visit::Visit;

/// The most months of the chart, the newest ones.
const MAX_MONTHS: usize = 36;

/// Returns the chart of a dimension; nothing without the read model of trust.
pub(super) async fn chart(visit: &Visit, query: &str) -> Result<Markup, PageError> {
    let asked = visit.get::<TrustMonthList>(paths::TRUST_MONTHS, &[], query).await;
    let asked = match asked {
        // It is there, and will tell it again.
        Err(error) if error.is_told_on(visit) => return Err(error),
        asked => PageError::if_told(asked)?,
    };
    let Some(answered) = asked else { return Ok(Markup::default()) };
    let mut months = answered.value.months;
    months.truncate(MAX_MONTHS);
    months.reverse();
    let series = |name: &str, colour: SeriesColour, count: fn(&TrustMonthAnswer) -> u64| Series {
        name: name.to_owned(),
        colour,
        // Counts of calls are far below the largest whole number that `f64` holds.
        values: months.iter().map(|month| count(month) as f64).collect(),
    };
    let well: u64 = months.iter().map(went_well).sum();
    let bad: u64 = months.iter().map(|month| month.rejected + failed(month)).sum();
    let chart = Chart {
        id: "months",
        title: "Outcomes by month".to_owned(),
        description: format!(
            "In {} months {well} calls went well; {bad} were rejected or failed.",
            months.len()
        ),
        kind: ChartKind::StackedBars,
        label_name: "Month",
        labels: months.iter().map(|month| month.month.clone()).collect(),
        series: vec![
            series("went well", SeriesColour::Green, went_well),
            series("rejected by a person", SeriesColour::Orange, |month| month.rejected),
            series("failed", SeriesColour::Purple, failed),
        ],
        show: whole,
    };
    Ok(chart.markup())
}

fn went_well(month: &TrustMonthAnswer) -> u64 {
    month.approved + month.auto_approved
}

fn failed(month: &TrustMonthAnswer) -> u64 {
    month.errors + month.timeouts + month.exit_codes
}
