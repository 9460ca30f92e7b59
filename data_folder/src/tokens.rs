//! Tokens: their generation, the admin token's file, and the token that a user names.

pub(crate) mod admin_token;
pub(crate) mod named_token;
pub(crate) mod token;
