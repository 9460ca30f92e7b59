//! Signing in: a token or a link becomes a session, which a cookie names.

mod cookie;
mod links;
mod secret;
mod sessions;

pub(crate) use self::cookie::{cookie_of, ended_cookie, named, session_cookie};
pub(crate) use self::links::SignInLinks;
pub(crate) use self::secret::{NoRandomness, random_bits, random_secret};
pub(crate) use self::sessions::{Notice, Session, Sessions};
