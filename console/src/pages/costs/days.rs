//! The chart of costs by day, a series for each of the dearest models.

use std::collections::BTreeMap;

use bitacora_api::CostList;
use jiff::civil::Date;
use maud::Markup;

use crate::components::{Chart, ChartKind, Series, SeriesColour, dollars, whole};

/// The most days of the chart, the newest ones.
const MAX_DAYS: usize = 92;
/// The most models that have a series of their own.
const MAX_MODELS: usize = 5;
/// The name of all other models.
const OTHERS: &str = "others";

/// Returns the chart of sums by day and model.
pub(super) fn chart(list: &CostList) -> Markup {
    let mut of_models: BTreeMap<&str, f64> = BTreeMap::new();
    let mut spent: BTreeMap<(Date, &str), f64> = BTreeMap::new();
    for sum in &list.costs {
        let Some(day) = sum.day.as_deref().and_then(|day| day.parse().ok()) else { continue };
        let model = sum.model.as_deref().unwrap_or("-");
        let amount = sum.spending.cost_usd.parse().unwrap_or(0.0);
        *of_models.entry(model).or_default() += amount;
        *spent.entry((day, model)).or_default() += amount;
    }
    let mut models: Vec<_> = of_models.into_iter().collect();
    models.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let (named, others) = models.split_at(models.len().min(MAX_MODELS));
    let days = days(spent.keys().map(|(day, _)| *day));
    let values = |models: &[(&str, f64)]| -> Vec<f64> {
        let at = |day: &Date| models.iter().filter_map(|(model, _)| spent.get(&(*day, *model))).sum();
        days.iter().map(at).collect()
    };
    let name =
        |model: &str| if model == "-" { "tools and unknown models".to_owned() } else { model.to_owned() };
    let coloured = named.iter().zip(SeriesColour::ALL);
    let mut series: Vec<_> =
        coloured.map(|(one, colour)| Series { name: name(one.0), colour, values: values(&[*one]) }).collect();
    if !others.is_empty() {
        series.push(Series { name: OTHERS.to_owned(), colour: SeriesColour::Grey, values: values(others) });
    }
    let total: f64 = models.iter().map(|(_, amount)| amount).sum();
    Chart {
        id: "costs-by-day",
        title: "US dollars by day, UTC".to_owned(),
        description: format!("{} in {} days.", dollars(total), days.len()),
        kind: ChartKind::StackedBars,
        label_name: "Day",
        labels: days.iter().map(ToString::to_string).collect(),
        series,
        show: dollars,
    }
    .markup()
}

/// Returns the chart of tokens by day. Those of caches are left out: they are far more, and cost little.
pub(super) fn tokens_chart(list: &CostList) -> Markup {
    let mut of_days: BTreeMap<Date, (f64, f64)> = BTreeMap::new();
    for sum in &list.costs {
        let Some(day) = sum.day.as_deref().and_then(|day| day.parse().ok()) else { continue };
        let (read, written) = of_days.entry(day).or_default();
        *read += sum.spending.tokens_in.parse().unwrap_or(0.0);
        *written += sum.spending.tokens_out.parse().unwrap_or(0.0);
    }
    let days = days(of_days.keys().copied());
    let series = |name: &str, colour, tokens: fn(&(f64, f64)) -> f64| Series {
        name: name.to_owned(),
        colour,
        values: days.iter().map(|day| of_days.get(day).map_or(0.0, tokens)).collect(),
    };
    Chart {
        id: "tokens-by-day",
        title: "Tokens by day, UTC".to_owned(),
        description: format!("Tokens that models read and wrote in {} days, without caches.", days.len()),
        kind: ChartKind::Lines,
        label_name: "Day",
        labels: days.iter().map(ToString::to_string).collect(),
        series: vec![
            series("read", SeriesColour::Blue, |tokens| tokens.0),
            series("written", SeriesColour::Orange, |tokens| tokens.1),
        ],
        show: whole,
    }
    .markup()
}

/// Returns every day from the first to the last one, the newest ones of too many.
fn days(found: impl Iterator<Item = Date> + Clone) -> Vec<Date> {
    let (Some(first), Some(last)) = (found.clone().min(), found.max()) else { return Vec::new() };
    let mut days = Vec::new();
    let mut day = last;
    while day >= first && days.len() < MAX_DAYS {
        days.push(day);
        let Ok(before) = day.yesterday() else { break };
        day = before;
    }
    days.reverse();
    days
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_without_costs_are_days_too() {
        let day = |text: &str| text.parse::<Date>().unwrap();
        let found = days([day("2026-03-01"), day("2026-02-27")].into_iter());
        assert_eq!(found, [day("2026-02-27"), day("2026-02-28"), day("2026-03-01")]);
        assert_eq!(days([day("0001-01-01"), day("2026-03-01")].into_iter()).len(), MAX_DAYS);
        assert!(days(std::iter::empty()).is_empty());
    }
}
