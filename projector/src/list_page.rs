//! The answer to a question about a list.

use bitacora_formats::Position;

/// A piece of a list, as it stood at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage<T> {
    /// The items, in the order that was asked for.
    pub items: Vec<T>,
    /// `true` if there are more behind them.
    pub more: bool,
    /// Every event up to here is in the answer.
    pub position: Position,
}

impl<T> ListPage<T> {
    /// At most `limit` of these items.
    pub(crate) fn take<E>(
        items: impl Iterator<Item = Result<T, E>>,
        limit: usize,
        position: Position,
    ) -> Result<Self, E> {
        let mut items = items;
        let page = items.by_ref().take(limit).collect::<Result<Vec<_>, _>>()?;
        // The one behind the page need not be read: its content may have left the store.
        let more = items.next().is_some();
        Ok(Self { items: page, more, position })
    }
}
