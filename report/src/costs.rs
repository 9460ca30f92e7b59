//! Sums of costs, with estimates from a list of prices where there is one.

use std::collections::BTreeMap;

use bitacora_api::{CostAnswer, CostList, SpendingAnswer};
use bitacora_formats::{format_usd, parse_usd};
use serde_json::{Map, Value, json};

use crate::prices::{Estimate, Prices};

/// The spending of one group.
pub struct CostGroup {
    /// The group's keys, in the order that was asked for.
    pub of: Vec<String>,
    /// The sums of the group.
    pub spending: CostSums,
}

/// Spending, as numbers.
#[derive(Default)]
pub struct CostSums {
    calls: u128,
    /// The number of calls without a reported cost or a price.
    unpriced: u128,
    told: u128,
    /// The estimated cost of calls that reported none; `None` without prices.
    estimated: Option<Estimate>,
    tokens_in: u128,
    tokens_out: u128,
    cache_read: u128,
    cache_write: u128,
    /// The first and the last position that count in it; 0 where nothing does.
    first: u128,
    last: u128,
}

/// Returns the headings of [`CostSums::cells`].
#[must_use]
pub fn cost_headings(with_prices: bool) -> Vec<&'static str> {
    let estimated = with_prices.then_some("estimated");
    let rest = ["calls", "unpriced", "tokens in", "out", "from cache", "to cache", "positions"];
    std::iter::once("USD").chain(estimated).chain(rest).collect()
}

/// Sums up a list by group, and in total. Prices need the model, so the list may be split by it; those parts are joined again here.
#[must_use]
pub fn sum_costs(
    list: &CostList,
    of: impl Fn(&CostAnswer) -> Vec<String>,
    prices: Option<&Prices>,
) -> (Vec<CostGroup>, CostSums) {
    let (mut sums, mut total): (BTreeMap<Vec<String>, CostSums>, _) = (BTreeMap::new(), CostSums::default());
    for cost in &list.costs {
        let (of, model) = (of(cost), cost.model.as_deref().unwrap_or("-"));
        let spending = CostSums::of(&cost.spending, prices.map(|prices| (prices, model)));
        total.add(&spending);
        sums.entry(of).or_default().add(&spending);
    }
    (sums.into_iter().map(|(of, spending)| CostGroup { of, spending }).collect(), total)
}

impl CostSums {
    fn of(answer: &SpendingAnswer, priced: Option<(&Prices, &str)>) -> Self {
        let number = |text: &str| text.parse().unwrap_or_default();
        let place = |position: &Option<String>| position.as_deref().map_or(0, number);
        let unpriced = u128::from(answer.without_cost);
        let estimate = priced
            .zip(answer.unpriced_tokens.as_ref())
            .and_then(|((prices, model), tokens)| prices.estimate(model, tokens));
        Self {
            calls: u128::from(answer.model_calls) + u128::from(answer.tool_calls),
            unpriced: if estimate.is_some() { 0 } else { unpriced },
            told: parse_usd(&answer.cost_usd).unwrap_or_default(),
            estimated: priced.map(|_| estimate.unwrap_or_default()),
            tokens_in: number(&answer.tokens_in),
            tokens_out: number(&answer.tokens_out),
            cache_read: number(&answer.cache_read),
            cache_write: number(&answer.cache_write),
            first: place(&answer.first),
            last: place(&answer.last),
        }
    }

    fn add(&mut self, other: &Self) {
        let sums = [
            (&mut self.calls, other.calls),
            (&mut self.unpriced, other.unpriced),
            (&mut self.told, other.told),
            (&mut self.tokens_in, other.tokens_in),
            (&mut self.tokens_out, other.tokens_out),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        if let Some(more) = other.estimated {
            self.estimated.get_or_insert_default().add(more);
        }
        self.first = if self.first == 0 { other.first } else { self.first.min(other.first) };
        self.last = self.last.max(other.last);
    }

    /// Formats it for people, under [`cost_headings`]. The cost of calls that reported none is left out.
    #[must_use]
    pub fn cells(&self) -> Vec<String> {
        let is_untold =
            self.told == 0 && self.calls > 0 && (self.unpriced == self.calls || self.is_estimated());
        let told = if is_untold { "-".to_owned() } else { format_usd(self.told) };
        let numbers =
            [self.calls, self.unpriced, self.tokens_in, self.tokens_out, self.cache_read, self.cache_write];
        std::iter::once(told)
            .chain(self.estimated_usd())
            .chain(numbers.map(|number| number.to_string()))
            .chain([format!("{}-{}", self.first, self.last)])
            .collect()
    }

    /// Describes the total, in words.
    #[must_use]
    pub fn note(&self) -> String {
        let unpriced = match self.unpriced {
            0 => String::new(),
            unpriced => {
                format!("; {unpriced} of {} calls do not say what they cost, and are not in it", self.calls)
            }
        };
        match self.estimated_usd() {
            Some(estimated) => {
                format!(
                    "{} USD as told, {} USD as estimated by prices{unpriced}",
                    format_usd(self.told),
                    estimated
                )
            }
            None if self.is_untold() => {
                format!(
                    "none of {} calls says what it cost; tokens are known, and --prices estimates",
                    self.calls
                )
            }
            None => format!("{} USD{unpriced}", format_usd(self.told)),
        }
    }

    /// Returns the members of the sum, for programs.
    fn members(&self) -> Map<String, Value> {
        let texts = [
            ("costUsd", format_usd(self.told)),
            ("tokensIn", self.tokens_in.to_string()),
            ("tokensOut", self.tokens_out.to_string()),
            ("cacheRead", self.cache_read.to_string()),
            ("cacheWrite", self.cache_write.to_string()),
            ("first", self.first.to_string()),
            ("last", self.last.to_string()),
        ];
        let estimated = self.estimated_usd().map(|estimated| ("estimatedUsd", estimated));
        let numbers = [("calls", self.calls), ("unpriced", self.unpriced)];
        // No count of calls is past what a number of JSON may be.
        let numbers = numbers.map(|(name, count)| (name, u64::try_from(count).unwrap_or(u64::MAX).into()));
        let texts = texts.into_iter().chain(estimated).map(|(name, text)| (name, text.into()));
        numbers.into_iter().chain(texts).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns `true` if no call of it reported a cost.
    #[must_use]
    pub fn is_untold(&self) -> bool {
        self.calls > 0 && self.calls == self.unpriced
    }

    fn is_estimated(&self) -> bool {
        self.estimated.is_some_and(|estimated| estimated.micros() > 0)
    }

    fn estimated_usd(&self) -> Option<String> {
        self.estimated.map(|estimate| format_usd(estimate.micros()))
    }
}

/// Returns the sums for programs; `names` are those of the parts of [`CostGroup::of`].
#[must_use]
pub fn costs_json(names: &[String], sums: &[CostGroup], total: &CostSums) -> Value {
    let one = |sum: &CostGroup| {
        let of = names.iter().cloned().zip(sum.of.iter().map(|of| Value::from(of.as_str())));
        Value::Object(of.chain(sum.spending.members()).collect())
    };
    json!({"costs": sums.iter().map(one).collect::<Vec<_>>(), "total": total.members()})
}
