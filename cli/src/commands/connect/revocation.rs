//! The revocation of tokens that `connect` made, and of no others.
//!
//! Connections and notes lie where every program of this user can write. One that names the holder of another token revokes nothing.

use bitacora_vocabulary::{PrincipalCreated, Role};

use super::ConnectFailure;
use crate::commands::token::{holders, is_no_holder, revoke};
use crate::error::CommandError;
use crate::ledger_access::context::CommandContext;

/// Returns the name under which the token of a connection is listed.
pub(super) fn holder_name(connection: &str) -> String {
    format!("hooks of {connection}")
}

/// Revokes the token that `connect` made for a connection. Returns the record's position, or `None` where nobody has the token any more.
pub(super) fn revoke_hooks_token(
    connection: &str,
    principal: &str,
    note: &str,
    context: &CommandContext,
) -> Result<Option<String>, CommandError> {
    match holders(&context.global)?.get(principal) {
        None => return Ok(None),
        Some(holder) if !is_of_hooks(holder, connection) => {
            let (connection, principal) = (connection.to_owned(), principal.to_owned());
            return Err(ConnectFailure::OthersToken { connection, principal }.into());
        }
        Some(_) => {}
    }
    match revoke(&context.global, principal, Some(note)) {
        Ok(position) => Ok(Some(position)),
        Err(error) if is_no_holder(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_of_hooks(holder: &PrincipalCreated, connection: &str) -> bool {
    holder.role == Role::Agent && holder.name.as_deref() == Some(holder_name(connection).as_str())
}

/// Returns `true` if a token was not revoked because `connect` did not make it.
pub(super) fn is_others_token(error: &CommandError) -> bool {
    let failure = error.source().and_then(|error| error.downcast_ref::<ConnectFailure>());
    matches!(failure, Some(ConnectFailure::OthersToken { .. }))
}
