//! Access: the role that each path takes, and the caller's identity.

pub(crate) mod authenticator;
pub(crate) mod caller;
pub(crate) mod path_roles;
