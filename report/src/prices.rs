//! Prices of models' tokens, from a user's list, for answers without a reported cost.

use bitacora_api::TokensAnswer;
use bitacora_formats::{UsdError, parse_usd};
use serde::Deserialize;

/// The number of tokens that a price is for.
const TOKENS_OF_PRICE: u128 = 1_000_000;

/// The cost of tokens by their prices. It is exact, so that sums do not depend on the order of their parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    /// The number of tokens, times the price of a million of them in millionths of a US dollar.
    exact: u128,
}

impl Estimate {
    /// Adds another cost.
    pub fn add(&mut self, other: Self) {
        self.exact = self.exact.saturating_add(other.exact);
    }

    /// Returns the cost in millionths of a US dollar, rounded up.
    #[must_use]
    pub fn micros(self) -> u128 {
        self.exact.div_ceil(TOKENS_OF_PRICE)
    }
}

/// A list of prices. The first one whose model matches holds.
#[derive(Debug)]
pub struct Prices(Vec<Price>);

/// The price of a million tokens, in millionths of a US dollar.
#[derive(Debug)]
struct Price {
    /// The model's name, or its beginning and a `*`.
    model: String,
    read: u128,
    written: u128,
    cache_read: Option<u128>,
    cache_write: Option<u128>,
}

/// A price as it is written, in US dollars for a million tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Written")]
struct PriceText {
    model: String,
    r#in: String,
    out: String,
    cache_read: Option<String>,
    cache_write: Option<String>,
}

/// The reason why a text is no list of prices.
#[derive(Debug, thiserror::Error)]
pub enum PricesError {
    /// Not the JSON of a list.
    #[error("the prices are not what is expected: {0}")]
    Unfit(String),
    /// A price that is no amount of US dollars.
    #[error("the price of model `{model}`: {source}")]
    Price {
        /// The model as the list names it.
        model: String,
        /// The fault in the amount.
        source: UsdError,
    },
}

impl Prices {
    /// Parses a list: `[{"model": "m-*", "in": "3", "out": "15", "cache_read": "0.3", "cache_write": "3.75"}]`.
    ///
    /// # Errors
    /// [`PricesError`].
    pub fn parse(json: &str) -> Result<Self, PricesError> {
        let written: Vec<PriceText> =
            serde_json::from_str(json).map_err(|error| PricesError::Unfit(error.to_string()))?;
        let price = |written: PriceText| {
            let of_text = |text: String| {
                let model = written.model.clone();
                parse_usd(&text).map_err(|source| PricesError::Price { model, source })
            };
            Ok(Price {
                read: of_text(written.r#in)?,
                written: of_text(written.out)?,
                cache_read: written.cache_read.map(of_text).transpose()?,
                cache_write: written.cache_write.map(of_text).transpose()?,
                model: written.model,
            })
        };
        written.into_iter().map(price).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the cost of these tokens of this model; `None` where one of them has no price.
    #[must_use]
    pub fn estimate(&self, model: &str, tokens: &TokensAnswer) -> Option<Estimate> {
        let price = self.0.iter().find(|price| price.is_of(model))?;
        let parts = [
            (&tokens.tokens_in, Some(price.read)),
            (&tokens.tokens_out, Some(price.written)),
            (&tokens.cache_read, price.cache_read),
            (&tokens.cache_write, price.cache_write),
        ];
        let mut exact = 0_u128;
        for (count, price) in parts {
            let count: u128 = count.parse().ok()?;
            if count > 0 {
                exact = exact.checked_add(count.checked_mul(price?)?)?;
            }
        }
        Some(Estimate { exact })
    }
}

impl Price {
    fn is_of(&self, model: &str) -> bool {
        match self.model.strip_suffix('*') {
            Some(begin) => model.starts_with(begin),
            None => self.model == model,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(counts: [u64; 4]) -> TokensAnswer {
        let [tokens_in, tokens_out, cache_read, cache_write] = counts.map(|count| count.to_string());
        TokensAnswer { tokens_in, tokens_out, cache_read, cache_write }
    }

    #[test]
    fn the_first_price_that_matches_holds_and_parts_of_a_millionth_count_as_one() {
        let prices = Prices::parse(
            r#"[{"model":"big-1","in":"5","out":"25","cache_read":"0.5","cache_write":"6.25"},
                {"model":"big-*","in":"1","out":"1"}]"#,
        )
        .unwrap();
        let all = tokens([1_000_000, 100_000, 2_000_000, 8]);
        let micros =
            |model: &str, tokens: &TokensAnswer| prices.estimate(model, tokens).map(Estimate::micros);
        assert_eq!(micros("big-1", &all), Some(5_000_000 + 2_500_000 + 1_000_000 + 50));
        assert_eq!(micros("big-2", &tokens([1, 1, 0, 0])), Some(2));
        assert_eq!(micros("big-1", &tokens([0, 0, 1, 0])), Some(1));
        let mut twice = prices.estimate("big-1", &tokens([0, 0, 1, 0])).unwrap();
        twice.add(twice);
        assert_eq!(twice.micros(), 1, "two halves of a millionth");
        assert_eq!(prices.estimate("big-2", &all), None, "tokens of a cache have no price");
        assert_eq!(prices.estimate("small", &all), None);
        assert_eq!(prices.estimate("-", &all), None);
        let most = TokensAnswer { tokens_in: u128::MAX.to_string(), ..all };
        assert_eq!(prices.estimate("big-1", &most), None);
    }

    #[test]
    fn what_is_no_list_of_prices_is_refused() {
        for (text, why) in [
            ("", "the prices are not what is expected: EOF"),
            ("{}", "expected a sequence"),
            (r#"[{"model":"m","in":"1"}]"#, "missing field `out`"),
            (r#"[{"model":"m","in":"1","out":"2","each":"3"}]"#, "unknown field `each`"),
            (r#"[{"model":"m","in":1,"out":"2"}]"#, "expected a string"),
            (r#"[{"model":"m","in":"1","out":"-2"}]"#, "model `m`: US dollars"),
        ] {
            let said = Prices::parse(text).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
