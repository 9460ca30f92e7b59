//! Links that sign in once, for a few minutes.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use zeroize::Zeroizing;

use super::secret::{NoRandomness, equal, random_secret};
use crate::limits::{LINK_LIFE, MAX_LINKS, MAX_LINKS_OF_A_TOKEN};

/// The links that nobody has used yet, the oldest first.
#[derive(Default)]
pub(crate) struct SignInLinks(Mutex<VecDeque<Link>>);

/// A link's code, and the token that it signs in with.
struct Link {
    code: String,
    token: Zeroizing<String>,
    until: Instant,
}

impl SignInLinks {
    /// Makes a link for the holder of a token, and returns its code.
    pub(crate) fn make(&self, token: &str, now: Instant) -> Result<String, NoRandomness> {
        let code = random_secret()?;
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.until > now);
        let of_token = |links: &VecDeque<Link>| links.iter().filter(|link| *link.token == token).count();
        if of_token(&links) >= MAX_LINKS_OF_A_TOKEN
            && let Some(oldest) = links.iter().position(|link| *link.token == token)
        {
            links.remove(oldest);
        } else if links.len() >= MAX_LINKS {
            links.pop_front();
        }
        links.push_back(Link { code: code.clone(), token: token.to_owned().into(), until: now + LINK_LIFE });
        Ok(code)
    }

    /// Returns the token of a link without using it up.
    pub(crate) fn look(&self, code: &str, now: Instant) -> Option<Zeroizing<String>> {
        let links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = links.iter().find(|link| link.until > now && equal(&link.code, code))?;
        Some(found.token.clone())
    }

    /// Uses a link up, and returns its token.
    pub(crate) fn take(&self, code: &str, now: Instant) -> Option<Zeroizing<String>> {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.until > now);
        let found = links.iter().position(|link| equal(&link.code, code))?;
        links.remove(found).map(|link| link.token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_signs_in_once_and_not_after_its_time() {
        let (links, now) = (SignInLinks::default(), Instant::now());
        let code = links.make("bt_1", now).unwrap();
        assert!(links.take("", now).is_none());
        assert_eq!(*links.take(&code, now).unwrap(), "bt_1");
        assert!(links.take(&code, now).is_none(), "used up");
        let late = links.make("bt_1", now).unwrap();
        assert!(links.take(&late, now + LINK_LIFE).is_none());
    }

    #[test]
    fn many_links_of_one_token_end_none_of_another() {
        let (links, now) = (SignInLinks::default(), Instant::now());
        let mine = links.make("bt_1", now).unwrap();
        let theirs: Vec<_> = (0..100).map(|_| links.make("bt_2", now).unwrap()).collect();
        assert!(links.take(&theirs[0], now).is_none());
        assert!(links.take(&theirs[99], now).is_some());
        assert!(links.take(&mine, now).is_some());
    }
}
