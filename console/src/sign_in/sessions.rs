//! Sessions: the token that each of them asks with, and what its forms did.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bitacora_api::CallerAnswer;
use tokio::sync::{Semaphore, watch};
use zeroize::Zeroizing;

use super::acts::Acts;
use super::secret::{FormSecret, equal, random_secret};
use crate::limits::{
    MAX_OPEN_SESSIONS, MAX_SESSIONS, MAX_SESSIONS_OF_A_TOKEN, MAX_STREAMS_OF_A_SESSION, SESSION_LIFE,
};
use crate::page_error::PageError;

/// Notices of a session that wait for their page.
const WAITING_NOTICES: usize = 16;

/// The sessions of all viewers. They are in memory alone, and end with the service.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<AllSessions>);

#[derive(Default)]
struct AllSessions {
    by_id: HashMap<String, Arc<Session>>,
    /// The ids of those without a token, by the address that they are of.
    open: HashMap<Arc<str>, String>,
}

/// A viewer who is there. It has no `Debug`, as it holds a token.
pub(crate) struct Session {
    /// The viewer's token; none where the service is open.
    pub(crate) token: Option<Zeroizing<String>>,
    /// The viewer as they signed in; none where the service is open.
    pub(crate) viewer: Option<CallerAnswer>,
    /// The mark by which a browser knows the session that it began. It is no secret.
    pub(crate) mark: String,
    /// The key that the browser which began it keeps for this port alone: cookies are sent to other ports too, and set by them.
    key: String,
    /// `true` if that browser was handed the key, so that every act carries it.
    is_keyed: bool,
    /// The secret that every form of this session carries.
    form_secret: FormSecret,
    /// The acts that its forms did.
    pub(crate) acts: Acts,
    /// The places for its streams of changes.
    pub(crate) streams: Arc<Semaphore>,
    began: Instant,
    until: Instant,
    notices: Mutex<VecDeque<(String, Notice)>>,
    ended: watch::Sender<bool>,
}

/// The effect of an act, told on the page that follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) text: String,
    /// `true` if the act was refused.
    pub(crate) is_refusal: bool,
}

impl Sessions {
    /// Begins the session of a token's holder, and returns it with its id. The browser is handed its key if it can keep one.
    pub(crate) fn begin(
        &self,
        token: Zeroizing<String>,
        viewer: CallerAnswer,
        is_keyed: bool,
        now: Instant,
    ) -> Result<(String, Arc<Session>), PageError> {
        let (id, mut session) = (random_secret()?, Session::new(Some(token), Some(viewer), now)?);
        session.is_keyed = is_keyed;
        let mut all = self.lock(now);
        let is_same = |other: &Session| other.token == session.token;
        if all.by_id.values().filter(|other| is_same(other)).count() >= MAX_SESSIONS_OF_A_TOKEN {
            all.end_oldest(is_same);
        } else if all.by_id.len() >= MAX_SESSIONS {
            all.end_oldest(|other| other.token.is_some());
        }
        let session = Arc::new(session);
        all.by_id.insert(id.clone(), Arc::clone(&session));
        Ok((id, session))
    }

    /// Returns the session of all who come from this address without a token; it ends nobody else's.
    pub(crate) fn of_address(
        &self,
        address: &Arc<str>,
        now: Instant,
    ) -> Result<(String, Arc<Session>), PageError> {
        let (id, session) = (random_secret()?, Session::new(None, None, now)?);
        let mut all = self.lock(now);
        if let Some(known) = all.open.get(address)
            && let Some(session) = all.by_id.get(known)
        {
            return Ok((known.clone(), Arc::clone(session)));
        }
        if all.open.len() >= MAX_OPEN_SESSIONS {
            return Err(PageError::Busy);
        }
        let session = Arc::new(session);
        all.open.insert(Arc::clone(address), id.clone());
        all.by_id.insert(id.clone(), Arc::clone(&session));
        Ok((id, session))
    }

    /// Returns the sessions with these ids that have not ended, each once.
    pub(crate) fn living(&self, ids: &[&str], now: Instant) -> Vec<Arc<Session>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<Arc<Session>> = Vec::new();
        for session in ids.iter().filter_map(|id| all.by_id.get(*id)) {
            if session.until > now && !found.iter().any(|known| Arc::ptr_eq(known, session)) {
                found.push(Arc::clone(session));
            }
        }
        found
    }

    /// Ends a session, and what was opened in it.
    pub(crate) fn end(&self, id: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = all.by_id.remove(id) {
            session.ended.send_replace(true);
        }
    }

    /// Returns all sessions, without those whose time is over.
    fn lock(&self, now: Instant) -> MutexGuard<'_, AllSessions> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let AllSessions { by_id, open } = &mut *all;
        by_id.retain(|_, session| session.until > now);
        open.retain(|_, id| by_id.contains_key(id));
        all
    }
}

impl AllSessions {
    fn end_oldest(&mut self, of: impl Fn(&Session) -> bool) {
        let oldest =
            self.by_id.iter().filter(|(_, session)| of(session)).min_by_key(|(_, session)| session.began);
        if let Some(id) = oldest.map(|(id, _)| id.clone())
            && let Some(session) = self.by_id.remove(&id)
        {
            session.ended.send_replace(true);
        }
    }
}

impl Session {
    fn new(
        token: Option<Zeroizing<String>>,
        viewer: Option<CallerAnswer>,
        now: Instant,
    ) -> Result<Self, PageError> {
        Ok(Self {
            token,
            viewer,
            mark: random_secret()?,
            key: random_secret()?,
            is_keyed: false,
            form_secret: FormSecret::new()?,
            acts: Acts::default(),
            streams: Arc::new(Semaphore::new(MAX_STREAMS_OF_A_SESSION)),
            began: now,
            until: now + SESSION_LIFE,
            notices: Mutex::default(),
            ended: watch::Sender::new(false),
        })
    }

    /// Returns the token that it asks with.
    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_ref().map(|token| token.as_str())
    }

    /// Ready once the session was ended, or its time is over.
    pub(crate) async fn ended(&self) {
        let mut ended = self.ended.subscribe();
        tokio::select! {
            _ = ended.wait_for(|ended| *ended) => (),
            () = tokio::time::sleep_until(self.until.into()) => (),
        }
    }

    /// Returns `true` if a form is one of this session's.
    pub(crate) fn made(&self, sent: &str) -> bool {
        self.form_secret.is(sent)
    }

    /// Returns `true` for the act of a browser that signed in to this session, as far as its key tells. One that was handed none sends none.
    pub(crate) fn is_signed_in_at(&self, sent: Option<&str>) -> bool {
        match sent {
            Some(sent) => equal(&self.key, sent),
            None => !self.is_keyed,
        }
    }

    /// Returns what the answer to signing in hands to the script of the next page: the mark, and the key.
    pub(crate) fn handed_over(&self) -> Option<String> {
        self.is_keyed.then(|| format!("{}.{}", self.mark, self.key))
    }

    /// Returns the secret as the forms of one page carry it.
    pub(crate) fn form_secret(&self) -> Result<String, PageError> {
        Ok(self.form_secret.masked()?)
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

    fn begin(sessions: &Sessions, token: &str, now: Instant) -> String {
        begin_keyed(sessions, token, false, now).0
    }

    fn begin_keyed(sessions: &Sessions, token: &str, is_keyed: bool, now: Instant) -> (String, Arc<Session>) {
        let viewer = CallerAnswer {
            actor: "operator:1".to_owned(),
            role: "operator".to_owned(),
            agent: None,
            attested: false,
        };
        sessions.begin(token.to_owned().into(), viewer, is_keyed, now).unwrap()
    }

    #[tokio::test]
    async fn a_session_ends_after_its_life_and_when_it_is_ended() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let id = begin(&sessions, "bt_1", now);
        let found = sessions.living(&[&id, &id, "none"], now);
        assert_eq!(found.len(), 1, "each once");
        assert!(sessions.living(&[&id], now + SESSION_LIFE).is_empty());
        sessions.end(&id);
        assert!(sessions.living(&[&id], now).is_empty());
        found[0].ended().await;
    }

    #[test]
    fn several_that_live_are_told_apart_from_what_is_none() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let [one, other] = ["bt_1", "bt_2"].map(|token| begin(&sessions, token, now));
        assert_eq!(sessions.living(&["x", &one, ""], now).len(), 1);
        assert_eq!(sessions.living(&[&other, &one], now).len(), 2);
    }

    #[test]
    fn a_session_takes_the_acts_of_the_browser_that_was_handed_its_key() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let [(_, keyed), (_, other)] = ["bt_1", "bt_2"].map(|token| begin_keyed(&sessions, token, true, now));
        let (_, scriptless) = begin_keyed(&sessions, "bt_3", false, now);
        let (mark, key) =
            keyed.handed_over().unwrap().split_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(mark, keyed.mark);
        assert!(keyed.is_signed_in_at(Some(&key)));
        for sent in [None, Some(""), Some("none"), Some(mark.as_str())] {
            assert!(!keyed.is_signed_in_at(sent), "{sent:?}");
        }
        assert!(!other.is_signed_in_at(Some(&key)), "a session that somebody else put in its place");
        assert!(scriptless.handed_over().is_none() && scriptless.is_signed_in_at(None));
        assert!(
            !scriptless.is_signed_in_at(Some(&key)),
            "this browser runs scripts, so it is not the one that signed in"
        );
    }

    #[test]
    fn many_sessions_of_one_token_end_none_of_another() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let mine = begin(&sessions, "bt_1", now);
        for second in 0..100 {
            begin(&sessions, "bt_2", now + std::time::Duration::from_secs(second));
        }
        assert_eq!(sessions.living(&[&mine], now).len(), 1);
        assert_eq!(sessions.lock(now).by_id.len(), 1 + MAX_SESSIONS_OF_A_TOKEN);
    }

    #[test]
    fn an_address_has_one_session_and_ends_no_other() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let address = |number: usize| Arc::<str>::from(number.to_string());
        let (first, _) = sessions.of_address(&address(0), now).unwrap();
        for number in 0..3 * MAX_OPEN_SESSIONS {
            let _full = sessions.of_address(&address(number), now);
            let _same = sessions.of_address(&address(1), now).unwrap();
        }
        assert_eq!(sessions.lock(now).by_id.len(), MAX_OPEN_SESSIONS);
        assert_eq!(sessions.of_address(&address(0), now).unwrap().0, first);
        assert_ne!(sessions.of_address(&address(0), now + SESSION_LIFE).unwrap().0, first);
    }
}
