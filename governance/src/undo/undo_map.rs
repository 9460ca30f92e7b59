//! State that one request changes as a whole or not at all.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::undo::persistent_map::PersistentMap;

/// A sorted map whose changes since the last [`keep`](Self::keep) can be taken back.
///
/// Its order is that of its keys, so that two maps with the same contents are written alike. A copy shares its entries.
#[derive(Debug, Clone)]
pub(crate) struct UndoMap<K, V> {
    entries: PersistentMap<K, V>,
    /// The value under a key before each change, oldest first.
    undo: Vec<(K, Option<V>)>,
    /// Set while changes are not noted there: recorded changes are never taken back.
    paused: bool,
}

impl<K, V> Default for UndoMap<K, V> {
    fn default() -> Self {
        Self { entries: PersistentMap::default(), undo: Vec::new(), paused: false }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for UndoMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl<K: Ord + Clone, V: Clone> UndoMap<K, V> {
    pub(crate) fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.entries.get(key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.entries.iter()
    }

    /// Returns the entries from this key on.
    pub(crate) fn iter_from<'a>(
        &'a self,
        key: &K,
    ) -> impl DoubleEndedIterator<Item = (&'a K, &'a V)> + use<'a, K, V> {
        self.entries.iter_from(key)
    }

    /// Returns the entries behind this key, or all.
    pub(crate) fn iter_after(&self, key: Option<&K>) -> impl Iterator<Item = (&K, &V)> {
        let (all, behind) = match key {
            None => (Some(self.entries.iter()), None),
            Some(key) => {
                let from = self.entries.iter_from(key);
                let is_there = usize::from(self.entries.get(key).is_some());
                (None, Some(from.skip(is_there)))
            }
        };
        all.into_iter().flatten().chain(behind.into_iter().flatten())
    }

    /// Returns every entry that is new or another one than in `before`, and every key that is gone since, with `None`.
    pub(crate) fn changes_since<'a>(&'a self, before: &'a Self) -> Vec<(&'a K, Option<&'a V>)>
    where
        V: PartialEq,
    {
        self.entries.changes_since(&before.entries)
    }

    /// Puts a value under a key, in place of the one there.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.paused {
            self.entries.insert(key, value);
            return;
        }
        let before = self.entries.insert(key.clone(), value);
        self.undo.push((key, before));
    }

    /// Takes a key and its value away, if they are there.
    pub(crate) fn remove(&mut self, key: &K) {
        if let Some((key, before)) = self.entries.remove_entry(key)
            && !self.paused
        {
            self.undo.push((key, Some(before)));
        }
    }

    /// Takes a key and its value away, and returns both.
    pub(crate) fn take<Q>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: std::borrow::Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let taken = self.entries.remove_entry(key)?;
        if !self.paused {
            let (key, before) = taken.clone();
            self.undo.push((key, Some(before)));
        }
        Some(taken)
    }

    /// Changes the value under a key, which is made first where there is none.
    pub(crate) fn change_or<R>(
        &mut self,
        key: &K,
        first: impl FnOnce() -> V,
        change: impl FnOnce(&mut V) -> R,
    ) -> R {
        if let Some(value) = self.entries.get_mut(key) {
            if !self.paused {
                self.undo.push((key.clone(), Some(value.clone())));
            }
            return change(value);
        }
        let mut value = first();
        let result = change(&mut value);
        self.insert(key.clone(), value);
        result
    }

    /// Changes the value under a key, if there is one.
    pub(crate) fn change<R>(&mut self, key: &K, change: impl FnOnce(&mut V) -> R) -> Option<R> {
        let value = self.entries.get_mut(key)?;
        if !self.paused {
            self.undo.push((key.clone(), Some(value.clone())));
        }
        Some(change(value))
    }

    /// Makes all changes from now on final at once.
    pub(crate) fn pause(&mut self) {
        self.keep();
        self.paused = true;
    }

    /// Makes the changes from now on reversible.
    pub(crate) fn resume(&mut self) {
        self.paused = false;
    }

    /// Makes the changes so far final.
    pub(crate) fn keep(&mut self) {
        self.undo.clear();
    }

    /// Takes back all changes since the last [`keep`](Self::keep).
    pub(crate) fn discard(&mut self) {
        while let Some((key, before)) = self.undo.pop() {
            match before {
                Some(value) => self.entries.insert(key, value),
                None => self.entries.remove_entry(&key).map(|(_, value)| value),
            };
        }
    }
}

impl<K: Serialize, V: Serialize> Serialize for UndoMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries.iter())
    }
}

impl<'de, K: Deserialize<'de> + Ord + Clone, V: Deserialize<'de> + Clone> Deserialize<'de> for UndoMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::<(K, V)>::deserialize(deserializer)?;
        Ok(Self { entries: entries.into_iter().collect(), undo: Vec::new(), paused: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discarded_request_leaves_every_entry_as_it_was() {
        let mut map = UndoMap::default();
        map.insert("a", 1);
        map.insert("b", 2);
        map.keep();
        let before = map.clone();
        map.insert("a", 9);
        map.change(&"a", |value| *value += 1);
        map.remove(&"b");
        map.insert("b", 7);
        map.change_or(&"c", || 0, |value| *value += 1);
        map.remove(&"c");
        assert_ne!(map, before);
        map.discard();
        assert_eq!(map, before);
        assert_eq!(map.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn what_is_changed_during_a_pause_stands_and_what_comes_after_does_not() {
        let mut map = UndoMap::default();
        map.insert("a", 1);
        map.pause();
        map.insert("b", 2);
        map.insert("c", 3);
        map.change(&"b", |value| *value += 1);
        map.change_or(&"a", || 0, |value| *value += 1);
        assert_eq!((map.take(&"c"), map.take(&"d")), (Some(("c", 3)), None));
        map.discard();
        assert_eq!(map.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [2, 3]);
        map.resume();
        map.insert("b", 9);
        assert_eq!(map.take(&"a"), Some(("a", 2)));
        map.discard();
        assert_eq!(map.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn what_was_kept_is_not_taken_back() {
        let mut map = UndoMap::default();
        map.insert("a", 1);
        map.keep();
        map.discard();
        assert_eq!(map.get("a"), Some(&1));
    }

    #[test]
    fn entries_behind_a_key_are_all_but_those_up_to_it() {
        let mut map = UndoMap::default();
        ["!", "-", "b"].into_iter().for_each(|key| map.insert(key, ()));
        let behind =
            |key: Option<&&'static str>| map.iter_after(key).map(|(key, ())| *key).collect::<Vec<_>>();
        assert_eq!(behind(None), ["!", "-", "b"]);
        assert_eq!(behind(Some(&"!")), ["-", "b"]);
        assert_eq!(behind(Some(&"a")), ["b"]);
        assert_eq!(behind(Some(&"b")), [""; 0]);
    }
}
