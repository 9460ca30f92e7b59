//! A cache of compiled things, from one event to the next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The compiled form of the newest revision of each thing that was asked for: as many as the state holds of them.
pub(crate) struct CompiledCache<K, V> {
    /// The revision that was compiled and its compiled form, by key.
    by_key: Mutex<BTreeMap<K, (u64, Arc<V>)>>,
}

impl<K, V> Default for CompiledCache<K, V> {
    fn default() -> Self {
        Self { by_key: Mutex::default() }
    }
}

impl<K: Ord, V> CompiledCache<K, V> {
    /// Returns the compiled form of this revision; `None` where it does not compile, which registering it would have refused.
    pub(crate) fn get(&self, key: K, revision: u64, compile: impl FnOnce() -> Option<V>) -> Option<Arc<V>> {
        let kept =
            self.lock().get(&key).filter(|(kept, _)| *kept == revision).map(|(_, kept)| Arc::clone(kept));
        if kept.is_some() {
            return kept;
        }
        // Outside the lock: others go on meanwhile, and at worst it is done twice.
        let compiled = Arc::new(compile()?);
        self.lock().insert(key, (revision, Arc::clone(&compiled)));
        Some(compiled)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<K, (u64, Arc<V>)>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
