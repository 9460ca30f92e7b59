//! A sorted map with cheap copies: they share their entries in chunks until one of them changes.
//!
//! A reader that looks at many entries takes a copy of the state. A later change of the original copies the chunk around the
//! changed entry, [`MAX_CHUNK`] entries at most, and no more.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::iter::Peekable;
use std::sync::Arc;

/// Entries that are shared together. A full chunk becomes two.
const MAX_CHUNK: usize = 128;

/// A sorted map. Its chunks are never empty, and the keys of each are before those of the next.
#[derive(Debug, Clone)]
pub(crate) struct PersistentMap<K, V> {
    chunks: Vec<Arc<Vec<(K, V)>>>,
    len: usize,
}

impl<K, V> Default for PersistentMap<K, V> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<K, V> PersistentMap<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns all entries, by their keys.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter().map(|(key, value)| (key, value)))
    }
}

impl<K: Ord, V> PersistentMap<K, V> {
    pub(crate) fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let chunk = self.chunks.get(self.chunk_of(key))?;
        let at = place_in(chunk, key).ok()?;
        chunk.get(at).map(|(_, value)| value)
    }

    /// Returns the entries from this key on.
    pub(crate) fn iter_from<'a, Q>(
        &'a self,
        key: &Q,
    ) -> impl DoubleEndedIterator<Item = (&'a K, &'a V)> + use<'a, K, V, Q>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let chunks = self.chunks.get(self.chunk_of(key)..).unwrap_or_default();
        let (first, rest) = chunks.split_first().map_or((&[][..], chunks), |(first, rest)| {
            let (Ok(at) | Err(at)) = place_in(first, key);
            (first.get(at..).unwrap_or_default(), rest)
        });
        let rest = rest.iter().flat_map(|chunk| chunk.iter());
        first.iter().chain(rest).map(|(key, value)| (key, value))
    }

    /// Returns every entry that is new or differs from the one in `before`, and every key that is gone since (with `None`), by
    /// their keys. Shared chunks are skipped as a whole: between a map and a recent copy of it this takes time in proportion to the
    /// changes.
    pub(crate) fn changes_since<'a>(&'a self, before: &'a Self) -> Vec<(&'a K, Option<&'a V>)>
    where
        V: PartialEq,
    {
        let (mut ours, mut theirs) = (self.chunks.as_slice(), before.chunks.as_slice());
        let (mut new, mut old) = (Vec::new(), Vec::new());
        loop {
            // A chunk that both have is met on both sides at once: what ends before it was passed by then.
            let order = match (ours.first(), theirs.first()) {
                (None, None) => break,
                (Some(one), Some(other)) if Arc::ptr_eq(one, other) => {
                    (ours, theirs) = (rest(ours), rest(theirs));
                    continue;
                }
                (Some(one), Some(other)) => last_key(one).cmp(&last_key(other)),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
            };
            if order.is_le() {
                new.extend(ours.first().into_iter().flat_map(|chunk| chunk.iter()));
                ours = rest(ours);
            }
            if order.is_ge() {
                old.extend(theirs.first().into_iter().flat_map(|chunk| chunk.iter()));
                theirs = rest(theirs);
            }
        }
        differences(new.into_iter().peekable(), old.into_iter().peekable())
    }

    /// Returns the chunk that has this key, if any has: the first that does not end before it.
    fn chunk_of<Q>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let ends_before =
            |chunk: &Arc<Vec<(K, V)>>| chunk.last().is_some_and(|(last, _)| last.borrow() < key);
        self.chunks.partition_point(ends_before)
    }
}

impl<K: Ord + Clone, V: Clone> PersistentMap<K, V> {
    pub(crate) fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let at = self.chunk_of(key);
        let chunk = self.chunks.get_mut(at)?;
        let place = place_in(chunk, key).ok()?;
        Arc::make_mut(chunk).get_mut(place).map(|(_, value)| value)
    }

    /// Puts a value under a key, and returns the one that it replaces.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        // A key past all others goes to the end of the last chunk.
        let at = self.chunk_of(&key).min(self.chunks.len().saturating_sub(1));
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.chunks.push(Arc::new(vec![(key, value)]));
            self.len += 1;
            return None;
        };
        let chunk = Arc::make_mut(chunk);
        match place_in(chunk, &key) {
            Ok(place) => chunk.get_mut(place).map(|(_, before)| std::mem::replace(before, value)),
            Err(place) => {
                chunk.insert(place, (key, value));
                self.len += 1;
                if chunk.len() > MAX_CHUNK {
                    // Keys that only grow leave full chunks behind them.
                    let kept = if place == MAX_CHUNK { MAX_CHUNK } else { MAX_CHUNK / 2 };
                    let upper = Arc::new(chunk.split_off(kept));
                    self.chunks.insert(at + 1, upper);
                }
                None
            }
        }
    }

    /// Takes an entry away, if it is there.
    pub(crate) fn remove_entry<Q>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let at = self.chunk_of(key);
        let chunk = self.chunks.get_mut(at)?;
        let place = place_in(chunk, key).ok()?;
        let entry = Arc::make_mut(chunk).remove(place);
        self.len -= 1;
        if chunk.is_empty() {
            self.chunks.remove(at);
        } else {
            self.join(at);
            at.checked_sub(1).into_iter().for_each(|before| self.join(before));
        }
        Some(entry)
    }

    /// Makes one chunk of this one and the next where both are small, so that there are never many more than the entries need.
    fn join(&mut self, at: usize) {
        let Some([chunk, next]) = self.chunks.get_mut(at..at + 2) else { return };
        if chunk.len() + next.len() <= MAX_CHUNK / 2 {
            Arc::make_mut(chunk).extend(next.iter().cloned());
            self.chunks.remove(at + 1);
        }
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for PersistentMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for PersistentMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

fn rest<T>(chunks: &[T]) -> &[T] {
    chunks.get(1..).unwrap_or_default()
}

fn last_key<K, V>(chunk: &[(K, V)]) -> Option<&K> {
    chunk.last().map(|(key, _)| key)
}

/// Returns the entries of `new` that `old` has not, or has otherwise, and the keys that only `old` has. Both are sorted.
fn differences<'a, K: Ord + 'a, V: PartialEq + 'a>(
    mut new: Peekable<impl Iterator<Item = &'a (K, V)>>,
    mut old: Peekable<impl Iterator<Item = &'a (K, V)>>,
) -> Vec<(&'a K, Option<&'a V>)> {
    let mut found = Vec::new();
    loop {
        let order = match (new.peek(), old.peek()) {
            (None, None) => return found,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((one, _)), Some((other, _))) => one.cmp(other),
        };
        let one = if order.is_le() { new.next() } else { None };
        let other = if order.is_ge() { old.next() } else { None };
        match (one, other) {
            (Some((key, value)), other) if other.is_none_or(|(_, before)| before != value) => {
                found.push((key, Some(value)));
            }
            (None, Some((key, _))) => found.push((key, None)),
            _ => {}
        }
    }
}

/// Returns the place of a key in a chunk, or the place where it belongs.
fn place_in<K: Borrow<Q>, V, Q: Ord + ?Sized>(chunk: &[(K, V)], key: &Q) -> Result<usize, usize> {
    chunk.binary_search_by(|(other, _)| -> Ordering { other.borrow().cmp(key) })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bitacora_testkit::SeededRng;

    use super::*;

    fn is_well_made(map: &PersistentMap<u64, u64>) {
        assert!(map.chunks.iter().all(|chunk| (1..=MAX_CHUNK).contains(&chunk.len())));
        assert!(map.iter().is_sorted_by(|(before, _), (after, _)| before < after));
        assert_eq!(map.iter().count(), map.len());
    }

    #[test]
    fn it_is_a_map_like_any_other_and_its_copies_stay_as_they_were() {
        let (mut map, mut other, mut numbers) =
            (PersistentMap::default(), BTreeMap::new(), SeededRng::new(7));
        let mut copies = Vec::new();
        for step in 0..20_000_u64 {
            // It grows, shrinks to almost nothing, and grows again.
            let (key, grows) = (numbers.below(2_000), (step / 5_000) % 2 == 0);
            if numbers.below(4) < if grows { 3 } else { 1 } {
                assert_eq!(map.insert(key, step), other.insert(key, step));
            } else if numbers.below(2) == 0 {
                assert_eq!(map.remove_entry(&key), other.remove_entry(&key));
            } else {
                let (mine, theirs) = (map.get_mut(&key), other.get_mut(&key));
                assert_eq!(mine, theirs);
                mine.into_iter().chain(theirs).for_each(|value| *value += 1);
            }
            assert_eq!(map.get(&key), other.get(&key));
            if step % 500 == 0 {
                let from = numbers.below(2_100);
                assert!(map.iter_from(&from).eq(other.range(from..)), "from {from}");
                assert!(map.iter_from(&from).rev().eq(other.range(from..).rev()));
                assert!(map.iter().eq(other.iter()) && map.iter().rev().eq(other.iter().rev()));
                is_well_made(&map);
                copies.push((map.clone(), other.clone()));
            }
        }
        for pair in copies.windows(2) {
            let [(before, _), (after, _)] = pair else { unreachable!() };
            for (from, to) in
                [(before, after), (after, before), (&PersistentMap::default(), after), (after, after)]
            {
                let mut patched = from.clone();
                let changes = to.changes_since(from);
                assert!(changes.is_sorted_by(|(one, _), (other, _)| one < other));
                let is_change = |(key, value): &(&u64, Option<&u64>)| from.get(*key) != *value;
                assert!(changes.iter().all(is_change), "what did not change is not told");
                for (key, value) in changes {
                    match value {
                        Some(value) => patched.insert(*key, *value),
                        None => patched.remove_entry(key).map(|(_, value)| value),
                    };
                }
                assert!(patched == *to);
            }
        }
        for (copy, other) in &copies {
            assert!(copy.iter().eq(other.iter()));
            assert!(*copy == other.clone().into_iter().collect() && *copy != map);
        }
    }

    #[test]
    fn a_change_after_a_copy_copies_one_chunk_and_chunks_fill_up_and_go() {
        let mut map: PersistentMap<u64, u64> = (0..10_000).map(|key| (key, key)).collect();
        assert_eq!(map.chunks.len(), 10_000_usize.div_ceil(MAX_CHUNK), "keys that grow fill their chunks");
        let copy = map.clone();
        map.insert(5_000, 1);
        let shared = map.chunks.iter().zip(&copy.chunks).filter(|(mine, theirs)| Arc::ptr_eq(mine, theirs));
        assert_eq!(shared.count(), map.chunks.len() - 1);
        for key in (0..10_000).filter(|key| key % 500 != 0) {
            map.remove_entry(&key);
        }
        is_well_made(&map);
        assert_eq!((map.len(), map.chunks.len()), (20, 1));
        for key in (0..10_000).step_by(500) {
            assert_eq!(map.remove_entry(&key), Some((key, if key == 5_000 { 1 } else { key })));
        }
        assert_eq!((map.len(), map.chunks.len(), map.get(&0)), (0, 0, None));
        assert_eq!(copy.len(), 10_000);
    }
}
