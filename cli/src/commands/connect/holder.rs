//! The token of a connection: the one before while it is taken, else a new one.
//!
//! A new token's holder is noted beside the connection before it is made, and so is the one that it replaces. So a connect that is
//! killed leaves notes, and the next one revokes what no connection has.

use std::path::{Path, PathBuf};

use bitacora_api::HeadAnswer;
use bitacora_client::{ClientError, Connection as ServiceConnection};
use bitacora_connect::{Connection, Credentials, PendingToken, Spool};
use bitacora_data_folder::generate_token;
use bitacora_vocabulary::Role;

use super::disconnect::{empty_spool, revoke_holder};
use super::revocation::{holder_name, is_others_token, revoke_hooks_token};
use super::{ConnectFailure, Target, half_way};
use crate::commands::token::{
    NewHolder, TokenFailure, create_as, is_forbidden, is_no_holder, new_principal, revoke,
};
use crate::error::CommandError;
use crate::ledger_access::access::event_loop;
use crate::ledger_access::context::CommandContext;
use crate::options::global::LedgerLocation;

/// The holder of a connection's token.
pub(super) struct Holder {
    token: String,
    principal: String,
    is_new: bool,
}

impl Holder {
    /// Returns the holder of the connection before, if it was for the same agent and ledger and its token is still taken; else makes
    /// a new one.
    pub(super) fn of(
        earlier: Option<&Connection>,
        target: &Target,
        agent: &str,
        answer_key: &str,
        context: &mut CommandContext,
    ) -> Result<Self, CommandError> {
        revoke_pending(earlier, &target.file, Some(answer_key), context)?;
        let of_agent = earlier.filter(|earlier| is_same(earlier, agent, answer_key));
        if let Some(earlier) = of_agent
            && Connection::load(&target.file).is_ok()
            && is_taken(earlier, context)?
        {
            let (token, principal) = (earlier.token.clone(), earlier.principal.clone());
            return Ok(Self { token, principal, is_new: false });
        }
        if let Some(earlier) = earlier
            && of_agent.is_none()
        {
            // Its events are another agent's, or of another ledger: only its own token may bring them there.
            empty_spool(earlier, false)?;
        }
        let token = generate_token().map_err(ConnectFailure::Random)?;
        let principal = new_principal()?;
        let url = match context.global.place() {
            LedgerLocation::Service(url) => url.to_string(),
            LedgerLocation::Folder(_) => String::new(),
        };
        let (answer_key, ledger) = (answer_key.to_owned(), context.global.ledger.to_string());
        let pending =
            PendingToken { principal: principal.clone(), answer_key, url, ledger, place: PathBuf::new() };
        pending.note(&target.file).map_err(ConnectFailure::from)?;
        if let Some(earlier) = earlier {
            // It stays noted until it is revoked: this connect may be killed before that.
            PendingToken::of_connection(earlier).note(&target.file).map_err(ConnectFailure::from)?;
        }
        let name = holder_name(&target.name);
        let holder = NewHolder { role: Role::Agent, name: Some(&name), agent: Some(agent), expires: None };
        let made = Self { token: token.reveal().to_owned(), principal, is_new: true };
        match create_as(&context.global, &made.principal, &token, &holder) {
            Ok(_) => Ok(made),
            Err(cause) => {
                // It may have been made all the same. The note stays until it is known to be gone.
                match revoke(&context.global, &made.principal, Some("connect failed")) {
                    Err(error) if !is_no_holder(&error) => {}
                    _ => PendingToken::forget(&target.file, &made.principal).map_err(ConnectFailure::from)?,
                }
                forget_connected(earlier, &target.file)?;
                Err(if is_forbidden(&cause) { ConnectFailure::NotAdmin.into() } else { cause })
            }
        }
    }

    /// Returns what the connection gets.
    pub(super) fn credentials(&self, answer_key: String) -> Credentials {
        Credentials { token: self.token.clone(), principal: self.principal.clone(), answer_key }
    }

    /// Revokes a new token after a failure, and returns the failure.
    pub(super) fn take_back(
        &self,
        cause: CommandError,
        earlier: Option<&Connection>,
        file: &Path,
        context: &CommandContext,
    ) -> CommandError {
        if !self.is_new {
            return cause;
        }
        match revoke(&context.global, &self.principal, Some("connect failed")) {
            // The note stays, and the next connect revokes it.
            Err(left) if !is_no_holder(&left) => half_way(cause, Err(left)),
            _ => {
                let forgotten = PendingToken::forget(file, &self.principal);
                let forgotten = forgotten.map_err(|error| ConnectFailure::from(error).into());
                half_way(cause, forgotten.and_then(|()| forget_connected(earlier, file)))
            }
        }
    }

    /// Ends a connect that succeeded: hands the spool over to a new token, and revokes the one before. Returns what to say.
    pub(super) fn settle(
        &self,
        earlier: Option<&Connection>,
        connection: &Connection,
        file: &Path,
        context: &mut CommandContext,
    ) -> Vec<String> {
        let mut said = Vec::new();
        if !self.is_new {
            return said;
        }
        if let Some(earlier) = earlier {
            if is_same(earlier, &connection.agent, &connection.answer_key) {
                match hand_over(earlier, connection) {
                    Ok(0) => {}
                    Ok(events) => {
                        said.push(format!("spool      {events} events wait, now for the new token"));
                    }
                    Err(error) => said.push(format!("spool      not handed over: {error}")),
                }
            }
            let revoked = revoke_holder(earlier, "connected again", context);
            if revoked.is_ok()
                && let Err(error) = PendingToken::forget(file, &earlier.principal)
            {
                said.push(format!("token      {error}"));
            }
            match revoked {
                Ok(Some(position)) => {
                    said.push(format!("token      the one before was revoked at position {position}"));
                }
                Ok(None) => {}
                Err(error) => said.push(format!("token      the one before was not revoked: {error}")),
            }
        }
        if let Err(error) = PendingToken::forget(file, &connection.principal) {
            said.push(format!("token      {error}"));
        }
        said
    }
}

fn is_same(earlier: &Connection, agent: &str, answer_key: &str) -> bool {
    earlier.agent == agent && earlier.answer_key == answer_key
}

fn hand_over(earlier: &Connection, connection: &Connection) -> Result<usize, ConnectFailure> {
    let (Ok(before), Ok(now)) = (earlier.token(), connection.token()) else { return Ok(0) };
    Ok(Spool::of(&earlier.state, &before).hand_over(&Spool::of(&connection.state, &now))?)
}

/// Removes the note of a token that stays in use.
fn forget_connected(earlier: Option<&Connection>, file: &Path) -> Result<(), CommandError> {
    let forgotten = earlier.map_or(Ok(()), |earlier| PendingToken::forget(file, &earlier.principal));
    Ok(forgotten.map_err(ConnectFailure::from)?)
}

/// Revokes noted tokens that no connection has. Those of another ledger stay noted: the service that is asked cannot revoke them.
pub(super) fn revoke_pending(
    connected: Option<&Connection>,
    file: &Path,
    answer_key: Option<&str>,
    context: &CommandContext,
) -> Result<(), CommandError> {
    for pending in PendingToken::all_of(file) {
        let is_connected = connected.is_some_and(|connected| connected.principal == pending.principal);
        if !is_connected {
            if Some(pending.answer_key.as_str()) != answer_key {
                continue;
            }
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            let note = "connect or disconnect did not end";
            match revoke_hooks_token(&name, &pending.principal, note, context) {
                // The note is none of `connect`, and nothing of this connection waits to be revoked by it.
                Err(error) if !is_others_token(&error) => return Err(error),
                _ => {}
            }
        }
        PendingToken::forget(file, &pending.principal).map_err(ConnectFailure::from)?;
    }
    Ok(())
}

/// Asks the ledger with an agent's token: whether it is taken.
fn is_taken(earlier: &Connection, context: &CommandContext) -> Result<bool, CommandError> {
    let Ok(token) = earlier.token() else { return Ok(false) };
    let LedgerLocation::Service(url) = context.global.place() else { return Ok(false) };
    let path = format!("/v1/ledgers/{}/head", context.global.ledger);
    let mut service = ServiceConnection::new(url, Some(token));
    let answer =
        event_loop()?.block_on(async { service.get(&path, "application/json").await?.whole().await });
    match answer {
        Ok(answer) => Ok(serde_json::from_slice::<HeadAnswer>(&answer).is_ok()),
        Err(ClientError::Refused(refusal)) if matches!(refusal.problem.status, 401 | 403) => Ok(false),
        Err(error) => Err(TokenFailure::Client(error).into()),
    }
}
