//! Sessions: the token that each of them asks with, and the acts that its forms did.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::secret::{NoRandomness, equal, random_secret};
use crate::limits::{MAX_SESSIONS, MAX_SESSIONS_OF_A_TOKEN, SESSION_LIFE};

/// Acts of a session whose repetition is recognised.
const KNOWN_ACTS: usize = 512;
/// Notices of a session that wait for their page.
const WAITING_NOTICES: usize = 16;

/// The sessions of all viewers. They are in memory alone, and end with the service.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<String, Arc<Session>>>);

/// A viewer who signed in. It has no `Debug`, as it holds a token.
pub(crate) struct Session {
    /// The viewer's token; none where the service is open.
    pub(crate) token: Option<String>,
    /// The secret that every form of this session carries.
    pub(crate) form_secret: String,
    began: Instant,
    until: Instant,
    acts: Mutex<VecDeque<String>>,
    notices: Mutex<VecDeque<(String, Notice)>>,
}

/// The effect of an act, told on the page that follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) text: String,
    /// `true` if the act was refused.
    pub(crate) is_refusal: bool,
}

impl Sessions {
    /// Begins a session, and returns its id.
    pub(crate) fn begin(
        &self,
        token: Option<String>,
        now: Instant,
    ) -> Result<(String, Arc<Session>), NoRandomness> {
        let id = random_secret()?;
        let session = Arc::new(Session {
            token,
            form_secret: random_secret()?,
            began: now,
            until: now + SESSION_LIFE,
            acts: Mutex::default(),
            notices: Mutex::default(),
        });
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, session| session.until > now);
        let same = all.iter().filter(|(_, other)| other.token == session.token);
        if same.count() >= MAX_SESSIONS_OF_A_TOKEN {
            remove_oldest(&mut all, |other| other.token == session.token);
        } else if all.len() >= MAX_SESSIONS {
            remove_oldest(&mut all, |_| true);
        }
        all.insert(id.clone(), Arc::clone(&session));
        Ok((id, session))
    }

    /// Returns a session that has not ended.
    pub(crate) fn find(&self, id: &str, now: Instant) -> Option<Arc<Session>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(id).filter(|session| session.until > now).cloned()
    }

    /// Ends a session.
    pub(crate) fn end(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

fn remove_oldest(all: &mut HashMap<String, Arc<Session>>, of: impl Fn(&Session) -> bool) {
    let oldest = all.iter().filter(|(_, session)| of(session)).min_by_key(|(_, session)| session.began);
    if let Some(id) = oldest.map(|(id, _)| id.clone()) {
        all.remove(&id);
    }
}

impl Session {
    /// Returns `true` if a form is one of this session's.
    pub(crate) fn made(&self, sent: &str) -> bool {
        equal(&self.form_secret, sent)
    }

    /// Takes note of an act. Returns `false` if its form was sent before.
    pub(crate) fn is_first(&self, act: &str) -> bool {
        let mut acts = self.acts.lock().unwrap_or_else(PoisonError::into_inner);
        if acts.iter().any(|known| known == act) {
            return false;
        }
        if acts.len() >= KNOWN_ACTS {
            acts.pop_front();
        }
        acts.push_back(act.to_owned());
        true
    }

    /// Forgets an act that was refused, so that its form can be sent again.
    pub(crate) fn forget(&self, act: &str) {
        self.acts.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| known != act);
    }

    /// Keeps a notice for the page after the act.
    pub(crate) fn tell(&self, act: &str, notice: Notice) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() >= WAITING_NOTICES {
            notices.pop_front();
        }
        notices.push_back((act.to_owned(), notice));
    }

    /// Takes the notice of an act.
    pub(crate) fn take_notice(&self, act: &str) -> Option<Notice> {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        let found = notices.iter().position(|(of, _)| of == act)?;
        notices.remove(found).map(|(_, notice)| notice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_after_its_life_and_when_it_is_ended() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let (id, _) = sessions.begin(Some("bt_1".to_owned()), now).unwrap();
        assert!(sessions.find(&id, now).is_some());
        assert!(sessions.find(&id, now + SESSION_LIFE).is_none());
        sessions.end(&id);
        assert!(sessions.find(&id, now).is_none());
    }

    #[test]
    fn many_sessions_of_one_token_end_none_of_another() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let (mine, _) = sessions.begin(Some("bt_1".to_owned()), now).unwrap();
        for second in 0..100 {
            let later = now + std::time::Duration::from_secs(second);
            sessions.begin(Some("bt_2".to_owned()), later).unwrap();
        }
        assert!(sessions.find(&mine, now).is_some());
        assert_eq!(sessions.0.lock().unwrap().len(), 1 + MAX_SESSIONS_OF_A_TOKEN);
    }

    #[test]
    fn a_form_acts_once() {
        let (_, session) = Sessions::default().begin(None, Instant::now()).unwrap();
        assert!(session.is_first("a"));
        assert!(!session.is_first("a"));
        session.forget("a");
        assert!(session.is_first("a"));
    }
}
