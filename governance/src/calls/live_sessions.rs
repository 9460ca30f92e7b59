//! Sessions that had calls decided here.
//! A recording of one that is brought later tells of the same calls again.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::limits::MAX_LIVE_SESSIONS;
use crate::undo::undo_map::UndoMap;

/// The sessions of the last calls that were decided here. Where there are too many, the one that began first is removed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LiveSessions {
    /// The beginning of each, as the position of its first decision.
    began: UndoMap<u64, u64>,
    by_age: UndoMap<u64, u64>,
}

impl LiveSessions {
    /// Returns `true` if calls of this session were decided here. Two sessions are not expected to share a mark; if they did, a
    /// recording would not count.
    pub(crate) fn contains(&self, session: &str) -> bool {
        self.began.get(&mark(session)).is_some()
    }

    pub(crate) fn apply_decided(&mut self, session: &str, position: u64) {
        let mark = mark(session);
        if self.began.get(&mark).is_some() {
            return;
        }
        let oldest = self.by_age.iter().next().map(|(began, oldest)| (*began, *oldest));
        if let Some((began, oldest)) = oldest.filter(|_| self.began.len() >= MAX_LIVE_SESSIONS) {
            self.by_age.remove(&began);
            self.began.remove(&oldest);
        }
        self.began.insert(mark, position);
        self.by_age.insert(position, mark);
    }

    pub(crate) fn pause(&mut self) {
        self.began.pause();
        self.by_age.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.began.resume();
        self.by_age.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.began.keep();
        self.by_age.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.began.discard();
        self.by_age.discard();
    }
}

/// Returns the mark of a session's name, which may be long.
fn mark(session: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(session.as_bytes()).into();
    digest.iter().take(8).fold(0, |mark, byte| mark << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_that_began_first_is_let_go() {
        let mut sessions = LiveSessions::default();
        for position in 1..=MAX_LIVE_SESSIONS as u64 {
            sessions.apply_decided(&format!("s{position}"), position);
        }
        sessions.apply_decided("s1", 1_000_001);
        sessions.keep();
        sessions.apply_decided("another", 1_000_002);
        assert!(!sessions.contains("s1") && sessions.contains("s2") && sessions.contains("another"));
        sessions.discard();
        assert!(sessions.contains("s1") && !sessions.contains("another"));
        assert_eq!(sessions.began.len(), MAX_LIVE_SESSIONS);
    }
}
