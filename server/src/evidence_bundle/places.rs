//! The places for bundles that are being made: few, and one of them at most for each caller.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::http::pool::{CallerKey, Pool, PoolPart};

/// The bundles that one caller may have made at once. Its others wait for its own, and so never for the places of others.
const BUNDLES_OF_A_CALLER: usize = 1;

/// The places of all callers.
pub(crate) struct BundlePlaces {
    places: Pool,
    of_callers: Mutex<HashMap<CallerKey, Arc<Semaphore>>>,
}

/// A place, given back when dropped.
pub(crate) struct BundlePlace {
    // Dropped first: the caller's next bundle finds this place free.
    _place: PoolPart,
    _of_caller: OwnedSemaphorePermit,
}

impl BundlePlaces {
    pub(crate) fn new(most: usize) -> Self {
        Self { places: Pool::new(most), of_callers: Mutex::default() }
    }

    /// Takes a place within this time; none if there is none by then.
    pub(crate) async fn take(&self, caller: &CallerKey, wait: Duration) -> Option<BundlePlace> {
        let own = self.of(caller);
        let taken = timeout(wait, async {
            let of_caller = own.acquire_owned().await.ok()?;
            let place = self.places.take(caller, 1, wait).await.ok()?;
            Some(BundlePlace { _place: place, _of_caller: of_caller })
        });
        taken.await.ok().flatten()
    }

    /// Returns the turns of a caller. Those that nobody holds or waits for are forgotten.
    fn of(&self, caller: &CallerKey) -> Arc<Semaphore> {
        let mut of_callers = self.of_callers.lock().unwrap_or_else(PoisonError::into_inner);
        of_callers.retain(|_, turns| {
            Arc::strong_count(turns) > 1 || turns.available_permits() < BUNDLES_OF_A_CALLER
        });
        let own = of_callers.entry(caller.clone());
        Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(BUNDLES_OF_A_CALLER))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);
    const SHORT: Duration = Duration::from_millis(10);

    #[tokio::test(start_paused = true)]
    async fn one_caller_never_holds_all_places() {
        let places = Arc::new(BundlePlaces::new(2));
        let [one, other] = ["one", "other"].map(CallerKey::new);
        let first = places.take(&one, LONG).await.unwrap();
        let (of_one, caller) = (Arc::clone(&places), one.clone());
        let second = tokio::spawn(async move { of_one.take(&caller, LONG).await.is_some() });
        assert!(places.take(&one, SHORT).await.is_none(), "its own bundle is not ready yet");
        let of_other = places.take(&other, SHORT).await.unwrap();
        assert!(places.take(&CallerKey::new("third"), SHORT).await.is_none(), "there are two places");
        drop(first);
        assert!(second.await.unwrap(), "it had its turn");
        drop(of_other);
        places.take(&one, SHORT).await.unwrap();
        let _third = places.take(&CallerKey::new("third"), SHORT).await.unwrap();
        assert_eq!(places.of_callers.lock().unwrap().len(), 1, "callers that are gone take no memory");
    }
}
