//! State that changes seldom and is read by many: handed out whole, replaced whole.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value that is shared with its readers. A change is made on a copy, and can be taken back.
#[derive(Debug, Clone, Default)]
pub(crate) struct CowCell<T> {
    current: Arc<T>,
    /// The value before the first change since the last [`keep`](Self::keep).
    before: Option<Arc<T>>,
}

impl<T: Clone> CowCell<T> {
    pub(crate) fn get(&self) -> &T {
        &self.current
    }

    /// Returns the value as it is now, for as long as it is held.
    pub(crate) fn share(&self) -> Arc<T> {
        Arc::clone(&self.current)
    }

    /// Returns `true` if both are the very same value: nothing was changed in between.
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.current, &other.current)
    }

    pub(crate) fn change<R>(&mut self, change: impl FnOnce(&mut T) -> R) -> R {
        if self.before.is_none() {
            self.before = Some(Arc::clone(&self.current));
        }
        change(Arc::make_mut(&mut self.current))
    }

    /// Nothing: where a copy is kept, to be taken back, it is the readers' too.
    pub(crate) fn pause(&mut self) {
        self.keep();
    }

    /// Nothing.
    pub(crate) fn resume(&mut self) {}

    /// Makes the changes so far final.
    pub(crate) fn keep(&mut self) {
        self.before = None;
    }

    /// Takes back all changes since the last [`keep`](Self::keep).
    pub(crate) fn discard(&mut self) {
        if let Some(before) = self.before.take() {
            self.current = before;
        }
    }
}

impl<T: PartialEq> PartialEq for CowCell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.current == other.current
    }
}

impl<T: Serialize> Serialize for CowCell<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.current.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for CowCell<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { current: Arc::new(T::deserialize(deserializer)?), before: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_a_value_keeps_it_and_a_discarded_change_is_gone() {
        let mut cow_cell = CowCell::<u32>::default();
        cow_cell.change(|value| *value = 1);
        cow_cell.keep();
        let held = cow_cell.share();
        cow_cell.change(|value| *value = 2);
        cow_cell.change(|value| *value = 3);
        assert_eq!((*held, *cow_cell.get()), (1, 3));
        cow_cell.discard();
        assert_eq!(*cow_cell.get(), 1);
        cow_cell.discard();
        assert_eq!(*cow_cell.get(), 1);
    }
}
