//! Signing in: a token or a link becomes a session, which a cookie names.

mod acts;
mod cookie;
mod links;
mod secret;
mod sessions;

pub(crate) use self::acts::{ActEnd, ActTurn, EndOfAct, is_act};
pub(crate) use self::cookie::{cookies_of, ended_below, ended_cookie, named, session_cookie};
pub(crate) use self::links::SignInLinks;
pub(crate) use self::secret::{NoRandomness, random_bits, random_secret};
pub(crate) use self::sessions::{Notice, Session, Sessions};
