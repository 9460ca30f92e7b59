//! The id of a request, which stays the same when it is sent again.

use std::hash::{BuildHasher as _, RandomState};

/// Returns a new id: 128 bits that nobody else has.
pub(crate) fn request_id() -> String {
    // Each of these has keys of its own, which the system's randomness begins.
    let random = || RandomState::new().hash_one(());
    format!("{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_are_the_same() {
        let threads: Vec<_> = (0..8)
            .map(|_| std::thread::spawn(|| (0..500).map(|_| request_id()).collect::<Vec<_>>()))
            .collect();
        let ids: Vec<String> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert!(ids.iter().all(|id| id.len() == 32));
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 4_000);
    }
}
