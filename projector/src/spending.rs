//! The spending of models and tools, counted in one way by every model that counts it.

use bitacora_api::{SpendingAnswer, TokensAnswer};
use bitacora_formats::format_usd;
use serde::{Deserialize, Serialize};

use crate::models::{FoldError, OutcomeView, Rows, Tokens};

/// Tokens of answers of models. Sums do not overflow: they are as wide as all events of a ledger can make them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenSums {
    /// Those that models read.
    pub read: u128,
    /// Those that they wrote.
    pub written: u128,
    /// Those that they read from a cache.
    pub cache_read: u128,
    /// Those that they wrote to one.
    pub cache_write: u128,
}

impl From<&TokenSums> for TokensAnswer {
    fn from(sums: &TokenSums) -> Self {
        Self {
            tokens_in: sums.read.to_string(),
            tokens_out: sums.written.to_string(),
            cache_read: sums.cache_read.to_string(),
            cache_write: sums.cache_write.to_string(),
        }
    }
}

/// Money, tokens and time that were spent, and the calls they went to. Sums do not overflow: they are as wide as all events of a ledger
/// can make them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendingSums {
    /// Answers of models.
    pub model_calls: u64,
    /// Calls of tools that told what they took.
    pub tool_calls: u64,
    /// Those of both that did not tell what they cost.
    pub without_cost: u64,
    /// The cost of the others in micro-USD.
    pub cost_micro_usd: u128,
    /// All tokens.
    pub tokens: TokenSums,
    /// Those of answers that did not tell what they cost.
    pub unpriced: TokenSums,
    /// The duration in milliseconds, as far as it was told.
    pub duration_ms: u128,
    /// The first position that counts in it.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

impl From<&SpendingSums> for SpendingAnswer {
    fn from(spending: &SpendingSums) -> Self {
        let place = |position: u64| (position > 0).then(|| position.to_string());
        Self {
            model_calls: spending.model_calls,
            tool_calls: spending.tool_calls,
            without_cost: spending.without_cost,
            cost_usd: format_usd(spending.cost_micro_usd),
            tokens_in: spending.tokens.read.to_string(),
            tokens_out: spending.tokens.written.to_string(),
            cache_read: spending.tokens.cache_read.to_string(),
            cache_write: spending.tokens.cache_write.to_string(),
            unpriced_tokens: (spending.unpriced != TokenSums::default()).then(|| (&spending.unpriced).into()),
            duration_ms: spending.duration_ms.to_string(),
            first: place(spending.first),
            last: place(spending.last),
        }
    }
}

impl OutcomeView<'_> {
    /// Returns `true` if it tells what was spent.
    pub(crate) fn is_spending(&self) -> bool {
        self.tokens.is_some() || self.cost_micro_usd.is_some()
    }
}

impl SpendingSums {
    /// Counts what an event at this position tells.
    pub(crate) fn count(&mut self, position: u64, payload: &OutcomeView<'_>, by_a_model: bool) {
        self.model_calls += u64::from(by_a_model);
        self.tool_calls += u64::from(!by_a_model);
        self.without_cost += u64::from(payload.cost_micro_usd.is_none());
        self.cost_micro_usd += u128::from(payload.cost_micro_usd.unwrap_or(0));
        self.duration_ms += u128::from(payload.duration_ms.unwrap_or(0));
        if let Some(tokens) = &payload.tokens {
            let tokens = TokenSums::from(tokens);
            self.tokens.add(&tokens);
            if payload.cost_micro_usd.is_none() {
                self.unpriced.add(&tokens);
            }
        }
        if self.first == 0 {
            self.first = position;
        }
        self.last = position;
    }

    /// Counts what is new of an answer that did not tell what it cost, and that was or will be told of more than once.
    pub(crate) fn count_news(&mut self, position: u64, news: &News) {
        let outcome = OutcomeView { tokens: Some(news.tokens), ..OutcomeView::default() };
        let (model_calls, without_cost) = (self.model_calls, self.without_cost);
        self.count(position, &outcome, true);
        if !news.is_first {
            (self.model_calls, self.without_cost) = (model_calls, without_cost);
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.model_calls += other.model_calls;
        self.tool_calls += other.tool_calls;
        self.without_cost += other.without_cost;
        self.cost_micro_usd += other.cost_micro_usd;
        self.tokens.add(&other.tokens);
        self.unpriced.add(&other.unpriced);
        self.duration_ms += other.duration_ms;
        self.first = if self.first == 0 { other.first } else { self.first.min(other.first) };
        self.last = self.last.max(other.last);
    }
}

impl From<&Tokens> for TokenSums {
    fn from(tokens: &Tokens) -> Self {
        Self {
            read: tokens.read.into(),
            written: tokens.written.into(),
            cache_read: tokens.cache_read.into(),
            cache_write: tokens.cache_write.into(),
        }
    }
}

impl TokenSums {
    fn add(&mut self, other: &Self) {
        self.read += other.read;
        self.written += other.written;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
    }
}

/// The new part of a model's answer that is told more than once.
pub(crate) struct News {
    /// `true` if nothing was counted of it yet.
    pub(crate) is_first: bool,
    /// Tokens that were not counted yet.
    pub(crate) tokens: Tokens,
}

/// Returns the new part of an answer of which these tokens are told. A log of calls tells of an answer with each of its calls, a
/// transcript once. While the answer was being written, its tokens grew. So the most that was told of each kind counts, once. `table`
/// remembers that by the answer's request.
pub(crate) fn news_of_answer(
    rows: &mut Rows<'_>,
    table: u8,
    request: &str,
    payload: &Tokens,
) -> Result<News, FoldError> {
    let key = rows.key(table, &[request]);
    let known = rows.row::<Tokens>(&key)?;
    let counted = known.unwrap_or_default();
    let most = counted.join(payload, u64::max);
    if known != Some(most) {
        rows.put(&key, &most)?;
    }
    Ok(News { is_first: known.is_none(), tokens: most.join(&counted, u64::saturating_sub) })
}

impl Tokens {
    fn join(&self, other: &Self, join: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            read: join(self.read, other.read),
            written: join(self.written, other.written),
            cache_read: join(self.cache_read, other.cache_read),
            cache_write: join(self.cache_write, other.cache_write),
        }
    }
}
