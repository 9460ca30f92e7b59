//! Locks of the ledgers, for acts that rest on what stands there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bitacora_formats::LedgerName;
use tokio::sync::OwnedMutexGuard;

/// A lock for each ledger: acts on one ledger run one after the other.
#[derive(Default)]
pub(crate) struct LedgerLocks(Mutex<BTreeMap<LedgerName, Arc<tokio::sync::Mutex<()>>>>);

impl LedgerLocks {
    /// Waits for a turn in a ledger, which lasts until what is returned is dropped. There are as many as open ledgers.
    pub(crate) async fn of(&self, ledger: Option<&LedgerName>) -> OwnedMutexGuard<()> {
        let turn = match ledger {
            None => Arc::default(),
            Some(ledger) => {
                let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(turns.entry(ledger.clone()).or_default())
            }
        };
        turn.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn an_act_waits_for_those_of_its_own_ledger_alone() {
        let turns = LedgerLocks::default();
        let [one, other] = ["one", "other"].map(|name| name.parse::<LedgerName>().unwrap());
        let held = turns.of(Some(&one)).await;
        let waited = |name| tokio::time::timeout(Duration::from_millis(50), turns.of(Some(name)));
        assert!(waited(&other).await.is_ok());
        assert!(waited(&one).await.is_err());
        drop(held);
        assert!(waited(&one).await.is_ok());
    }
}
