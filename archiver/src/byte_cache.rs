//! A cache of the entries read last, within a budget of bytes.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// Values by keys; those that were not asked for the longest go once the bytes of all are more than the budget.
#[derive(Debug)]
pub(crate) struct ByteCache<K, V> {
    budget_bytes: usize,
    entries: Mutex<CacheEntries<K, V>>,
}

#[derive(Debug)]
struct CacheEntries<K, V> {
    values: HashMap<K, Value<V>>,
    bytes: usize,
    /// Counts every use, so that the last ones have the greatest numbers.
    uses: u64,
}

#[derive(Debug)]
struct Value<V> {
    value: Arc<V>,
    bytes: usize,
    last_use: u64,
}

impl<K: Copy + Eq + Hash, V> ByteCache<K, V> {
    pub(crate) fn new(budget_bytes: usize) -> Self {
        let entries = CacheEntries { values: HashMap::new(), bytes: 0, uses: 0 };
        Self { budget_bytes, entries: Mutex::new(entries) }
    }

    /// The value of this key, if it is still there.
    pub(crate) fn get(&self, key: &K) -> Option<Arc<V>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.uses += 1;
        let now = entries.uses;
        let found = entries.values.get_mut(key)?;
        found.last_use = now;
        Some(Arc::clone(&found.value))
    }

    /// Forgets the values whose keys are told.
    pub(crate) fn forget(&self, is_told: impl Fn(&K) -> bool) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = 0;
        entries.values.retain(|key, value| {
            let stays = !is_told(key);
            bytes += if stays { value.bytes } else { 0 };
            stays
        });
        entries.bytes = bytes;
    }

    /// Keeps a value that takes this many bytes. One that is larger than the budget is not kept.
    pub(crate) fn put(&self, key: K, value: Arc<V>, bytes: usize) {
        if bytes > self.budget_bytes {
            return;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.uses += 1;
        let last_use = entries.uses;
        let replaced = entries.values.insert(key, Value { value, bytes, last_use });
        entries.bytes = entries.bytes + bytes - replaced.map_or(0, |replaced| replaced.bytes);
        while entries.bytes > self.budget_bytes {
            // There are few: a budget holds some dozens of groups.
            let oldest = entries.values.iter().min_by_key(|(_, value)| value.last_use).map(|(key, _)| *key);
            let Some(gone) = oldest.and_then(|oldest| entries.values.remove(&oldest)) else { break };
            entries.bytes -= gone.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_for_the_longest_goes_first() {
        let cache = ByteCache::new(30);
        for key in 0..3 {
            cache.put(key, Arc::new(key * 10), 10);
        }
        assert_eq!(cache.get(&0).as_deref(), Some(&0));
        cache.put(3, Arc::new(30), 10);
        let there: Vec<_> = (0..4).map(|key| cache.get(&key).is_some()).collect();
        assert_eq!(there, [true, false, true, true]);
    }

    #[test]
    fn the_budget_holds_whatever_is_put() {
        let cache = ByteCache::new(30);
        for key in 0..100_usize {
            let bytes = key * 7 % 40;
            cache.put(key % 10, Arc::new(()), bytes);
            let entries = cache.entries.lock().unwrap();
            assert_eq!(entries.bytes, entries.values.values().map(|value| value.bytes).sum::<usize>());
            assert!(entries.bytes <= 30);
        }
        cache.put(1_000, Arc::new(()), 31);
        assert!(cache.get(&1_000).is_none());
    }

    #[test]
    fn what_is_told_is_forgotten_and_its_bytes_are_free() {
        let cache = ByteCache::new(30);
        (0..3).for_each(|key| cache.put(key, Arc::new(()), 10));
        cache.forget(|key| *key != 1);
        assert_eq!([0, 1, 2].map(|key| cache.get(&key).is_some()), [false, true, false]);
        (4..6).for_each(|key| cache.put(key, Arc::new(()), 10));
        assert_eq!([1, 4, 5].map(|key| cache.get(&key).is_some()), [true; 3]);
    }

    #[test]
    fn a_value_that_is_put_again_counts_once() {
        let cache = ByteCache::new(30);
        for _ in 0..10 {
            cache.put(1, Arc::new("a"), 10);
            cache.put(2, Arc::new("b"), 20);
        }
        assert!(cache.get(&1).is_some() && cache.get(&2).is_some());
    }
}
