//! A bound on the answers that lie in memory at once, over all connections.

use std::sync::Arc;

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that may be held at once, given back when they are dropped.
#[derive(Clone)]
pub(crate) struct MemoryBudget {
    bytes: Arc<Semaphore>,
    max_bytes: u32,
}

impl MemoryBudget {
    pub(crate) fn new(max_bytes: usize) -> Self {
        let max_bytes = u32::try_from(max_bytes.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Self { bytes: Arc::new(Semaphore::new(max_bytes as usize)), max_bytes }
    }

    /// Returns `true` if at least half of it is free now.
    pub(crate) fn is_half_free(&self) -> bool {
        self.bytes.available_permits() >= self.max_bytes as usize / 2
    }

    /// Waits until there is room for these bytes and takes it until they are dropped. An answer larger than the whole budget is held alone.
    pub(crate) async fn hold(&self, bytes: Vec<u8>) -> Bytes {
        let part = u32::try_from(bytes.len()).unwrap_or(u32::MAX).min(self.max_bytes);
        match Arc::clone(&self.bytes).acquire_many_owned(part).await {
            Ok(part) => Bytes::from_owner(AnswerBytes { bytes, _part: part }),
            // Closed only with the service.
            Err(_) => Bytes::from(bytes),
        }
    }
}

struct AnswerBytes {
    bytes: Vec<u8>,
    _part: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for AnswerBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn what_is_held_is_given_back_with_its_last_copy() {
        let budget = MemoryBudget::new(100);
        let held = budget.hold(vec![1; 80]).await;
        let copy = held.slice(..10);
        drop(held);
        let waiting = tokio::time::timeout(Duration::from_millis(50), budget.hold(vec![1; 30])).await;
        assert!(waiting.is_err() && !budget.is_half_free(), "a copy still lies there");
        drop(copy);
        assert_eq!(budget.hold(vec![1; 100]).await.len(), 100);
    }

    #[tokio::test]
    async fn what_is_larger_than_the_budget_waits_for_all_of_it() {
        let budget = MemoryBudget::new(100);
        let held = budget.hold(vec![1; 1]).await;
        let waiting = tokio::time::timeout(Duration::from_millis(50), budget.hold(vec![1; 1_000])).await;
        assert!(waiting.is_err());
        drop(held);
        assert_eq!(budget.hold(vec![1; 1_000]).await.len(), 1_000);
    }
}
