//! The positions of a block that a filter asks for.

use bitacora_formats::{IndexField, IndexTerm, IndexTerms, Position};
use bitacora_ledger::Filter;

use crate::open_block::OpenBlock;
use crate::stored_block::{BlockIntegrityError, Search};

/// The labels that a filter asks for: one term of each clause.
pub(crate) struct Selection {
    clauses: Vec<Vec<IndexTerm>>,
}

/// A lookup of terms.
pub(crate) trait Terms {
    /// The offsets between two of the events that carry a term, ascending.
    fn offsets(&self, term: IndexTerm, first: u64, last: u64) -> Result<Vec<u64>, BlockIntegrityError>;
}

impl Terms for OpenBlock {
    fn offsets(&self, term: IndexTerm, first: u64, last: u64) -> Result<Vec<u64>, BlockIntegrityError> {
        Ok(self.offsets(term, first, last))
    }
}

impl Terms for Search<'_> {
    fn offsets(&self, term: IndexTerm, first: u64, last: u64) -> Result<Vec<u64>, BlockIntegrityError> {
        self.offsets(term, first, last)
    }
}

impl Selection {
    /// Returns the labels that the filter asks for; `None` if it asks for nothing that is indexed.
    pub(crate) fn of(filter: &Filter, terms: &IndexTerms) -> Option<Self> {
        // Labels that few events share come first, so that the others are looked up in a smaller range.
        let single = [
            (IndexField::Call, &filter.call),
            (IndexField::Run, &filter.run),
            (IndexField::Session, &filter.session),
            (IndexField::Stream, &filter.stream),
            (IndexField::Tag, &filter.tag),
            (IndexField::Actor, &filter.actor),
            (IndexField::Agent, &filter.agent),
        ];
        let mut clauses: Vec<Vec<IndexTerm>> = single
            .into_iter()
            .filter_map(|(field, value)| value.as_deref().map(|value| vec![terms.term(field, value)]))
            .collect();
        if !filter.kinds.is_empty() {
            let mut kinds: Vec<_> =
                filter.kinds.iter().map(|kind| terms.term(IndexField::Kind, kind)).collect();
            kinds.sort_unstable();
            kinds.dedup();
            clauses.push(kinds);
        }
        (!clauses.is_empty()).then_some(Self { clauses })
    }

    /// The positions from `low` to `high` that may match, ascending, in a block that begins at `first` and covers them.
    pub(crate) fn positions(
        &self,
        block: &impl Terms,
        first: Position,
        low: Position,
        high: Position,
    ) -> Result<Vec<Position>, BlockIntegrityError> {
        let mut from = low.get().saturating_sub(first.get());
        let mut to = high.get().saturating_sub(first.get());
        let mut selected: Option<Vec<u64>> = None;
        for clause in &self.clauses {
            let found = any_of(block, clause, from, to)?;
            let both = match selected {
                Some(before) => intersection(&before, &found),
                None => found,
            };
            let (Some(least), Some(most)) = (both.first(), both.last()) else { return Ok(Vec::new()) };
            (from, to) = (*least, *most);
            selected = Some(both);
        }
        Ok(selected.unwrap_or_default().into_iter().filter_map(|offset| first.plus(offset)).collect())
    }
}

/// The offsets of events that carry one of the terms.
fn any_of(
    block: &impl Terms,
    terms: &[IndexTerm],
    from: u64,
    to: u64,
) -> Result<Vec<u64>, BlockIntegrityError> {
    let mut all = Vec::new();
    for term in terms {
        all.append(&mut block.offsets(*term, from, to)?);
    }
    if terms.len() > 1 {
        all.sort_unstable();
        all.dedup();
    }
    Ok(all)
}

/// Returns the values that stand in both, which ascend.
fn intersection(one: &[u64], other: &[u64]) -> Vec<u64> {
    let mut other = other.iter().peekable();
    let holds = |offset: &&u64| {
        while other.next_if(|next| next < offset).is_some() {}
        other.peek() == Some(offset)
    };
    one.iter().filter(holds).copied().collect()
}
