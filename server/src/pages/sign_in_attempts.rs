//! Attempts to sign in that failed, by the address that they came from.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::http::pool::CallerKey;
use crate::problem::{Code, Problem};

/// Attempts of one address that may fail within [`WINDOW`].
const MAX_FAILED_SIGN_INS: u32 = 30;
/// The time in which an address's attempts are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses whose attempts are counted; the one that began first is forgotten for another.
const MAX_COUNTED_ADDRESSES: usize = 4096;

/// The attempts that failed lately. Each address has its own number, so that none uses up another's.
#[derive(Default)]
pub(super) struct SignInAttempts(Mutex<HashMap<CallerKey, Attempts>>);

struct Attempts {
    began: Instant,
    failed: u32,
}

impl SignInAttempts {
    /// Refuses an address of which too many attempts failed.
    pub(super) fn admit(&self, address: &CallerKey, now: Instant) -> Result<(), Problem> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(of_address) = all.get(address) else { return Ok(()) };
        let left = WINDOW.saturating_sub(now.saturating_duration_since(of_address.began));
        if left.is_zero() || of_address.failed < MAX_FAILED_SIGN_INS {
            return Ok(());
        }
        let seconds = u32::try_from(left.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
        let detail = format!("too many attempts to sign in failed; try again in {seconds} seconds");
        Err(Problem::new(Code::Overloaded, detail).with_retry_after(seconds))
    }

    /// Takes note of an attempt that failed.
    pub(super) fn failed(&self, address: CallerKey, now: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_COUNTED_ADDRESSES && !all.contains_key(&address) {
            all.retain(|_, attempts| now.saturating_duration_since(attempts.began) < WINDOW);
            let oldest = all.iter().min_by_key(|(_, attempts)| attempts.began).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest.filter(|_| all.len() >= MAX_COUNTED_ADDRESSES) {
                all.remove(&oldest);
            }
        }
        let of_address = all.entry(address).or_insert(Attempts { began: now, failed: 0 });
        if now.saturating_duration_since(of_address.began) >= WINDOW {
            *of_address = Attempts { began: now, failed: 0 };
        }
        of_address.failed = of_address.failed.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_fails_too_often_waits_and_no_other_does() {
        let (attempts, now) = (SignInAttempts::default(), Instant::now());
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(CallerKey::new);
        for _ in 0..MAX_FAILED_SIGN_INS {
            assert!(attempts.admit(&one, now).is_ok());
            attempts.failed(one.clone(), now);
        }
        assert!(attempts.admit(&one, now).is_err());
        assert!(attempts.admit(&other, now).is_ok());
        assert!(attempts.admit(&one, now + WINDOW).is_ok());
    }

    #[test]
    fn many_addresses_take_bounded_memory() {
        let (attempts, now) = (SignInAttempts::default(), Instant::now());
        for number in 0..MAX_COUNTED_ADDRESSES * 2 {
            attempts.failed(CallerKey::new(&number.to_string()), now);
        }
        assert_eq!(attempts.0.lock().unwrap().len(), MAX_COUNTED_ADDRESSES);
    }
}
