//! A bounded cache of the entries used lately.

use std::collections::HashMap;

/// Remembers at least the last `limit / 2` different entries that were put or got, and never more than `limit`.
#[derive(Debug)]
pub(super) struct RecentEntries<V> {
    newer: HashMap<[u8; 16], V>,
    /// The former `newer` entries; dropped as a whole when `newer` is full again.
    older: HashMap<[u8; 16], V>,
    limit: usize,
}

impl<V: Clone> RecentEntries<V> {
    pub(super) fn new(limit: usize) -> Self {
        Self { newer: HashMap::new(), older: HashMap::new(), limit }
    }

    pub(super) fn get(&mut self, key: &[u8; 16]) -> Option<V> {
        if let Some(value) = self.newer.get(key) {
            return Some(value.clone());
        }
        let value = self.older.remove(key)?;
        self.put(*key, value.clone());
        Some(value)
    }

    pub(super) fn put(&mut self, key: [u8; 16], value: V) {
        if self.newer.len() >= self.limit / 2 {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(key, value);
    }

    pub(super) fn remove(&mut self, key: &[u8; 16]) {
        self.newer.remove(key);
        self.older.remove(key);
    }

    /// Drops the entries that `stays` does not hold for.
    pub(super) fn retain(&mut self, stays: impl Fn(&V) -> bool) {
        self.newer.retain(|_, value| stays(value));
        self.older.retain(|_, value| stays(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> [u8; 16] {
        [number; 16]
    }

    #[test]
    fn the_least_used_go_first_and_the_limit_holds() {
        let mut recent = RecentEntries::new(8);
        for number in 0..100 {
            recent.put(key(number), number);
            assert_eq!(recent.get(&key(0)), Some(0), "kept by use, at {number}");
            assert!(recent.newer.len() + recent.older.len() <= 8);
        }
        assert_eq!(
            (recent.get(&key(99)), recent.get(&key(97)), recent.get(&key(5))),
            (Some(99), Some(97), None)
        );
    }
}
