//! `disconnect`: the hooks leave the settings, the spool is delivered, and the token is revoked.

use std::env;

use bitacora_api::LedgerAnswer;
use bitacora_client::Connection as ServiceConnection;
use bitacora_connect::{
    ConnectLock, Connection, DeliveryPlace, Disconnected, PendingToken, Spool, SpoolContents, WatchUnit,
    WatchUnitError, deliver_spooled, uninstall,
};
use clap::Args;
use serde_json::json;

use super::agent_mode::AgentMode;
use super::holder::revoke_pending;
use super::revocation::{is_others_token, revoke_hooks_token};
use super::{ConnectFailure, HarnessArgument, ScopeArguments, Target, usual_place};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::access::event_loop;
use crate::ledger_access::context::CommandContext;

/// The most spooled inputs that are delivered at disconnecting: all that a spool holds.
const DELIVERIES: usize = 10_000;

#[derive(Debug, Args)]
pub(crate) struct DisconnectArguments {
    /// The harness.
    harness: HarnessArgument,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Give up events in the spool that the service does not take.
    #[arg(long)]
    discard: bool,
}

pub(crate) fn disconnect(
    arguments: &DisconnectArguments,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let target = Target::of(arguments.harness, &arguments.scope)?;
    if !target.file.exists() {
        return revoke_noted(&target, context);
    }
    let _lock = ConnectLock::take(&target.places).map_err(ConnectFailure::from)?;
    let connection = Connection::load_to_replace(&target.file).map_err(ConnectFailure::from)?;
    let spooled = empty_spool(&connection, arguments.discard)?;
    // Whatever stops this from here on, the next connect, disconnect or doctor knows of the token.
    PendingToken::of_connection(&connection).note(&target.file).map_err(ConnectFailure::from)?;
    let done = uninstall(&connection, &target.file).map_err(ConnectFailure::from)?;
    // The settings are clean, whatever becomes of the unit and the token.
    let unit = remove_unit(&target);
    let revoked = revoke_holder(&connection, "disconnected", context);
    if revoked.is_ok() {
        PendingToken::forget(&target.file, &connection.principal).map_err(ConnectFailure::from)?;
    }
    report(&connection, done, &spooled, unit, revoked, context)
}

/// Revokes the tokens of a connection that is gone, where an earlier command did not come to that.
fn revoke_noted(target: &Target, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let noted = PendingToken::all_of(&target.file);
    if noted.is_empty() {
        let place = target.settings.clone();
        return Err(ConnectFailure::NotConnected { harness: target.dialect.name(), place }.into());
    }
    let _lock = ConnectLock::take(&target.places).map_err(ConnectFailure::from)?;
    let path = format!("ledgers/{}", context.global.ledger);
    let about: LedgerAnswer = context.service()?.get_of_all(&path)?.read()?;
    revoke_pending(None, &target.file, about.answer_key.as_deref(), context)?;
    let left = PendingToken::all_of(&target.file);
    for token in noted.iter().filter(|token| !left.contains(token)) {
        context.say(format_args!("token      {} is revoked", token.principal))?;
    }
    for token in &left {
        context.say(format_args!(
            "token      not revoked: another ledger has it; {}, then remove {}",
            token.revoke_advice(),
            token.place.display()
        ))?;
    }
    Ok(if left.is_empty() { Exit::Done } else { Exit::Failed })
}

/// The end of a spool.
#[derive(Default)]
pub(super) struct EmptiedSpool {
    delivered: usize,
    discarded: usize,
    unreadable: usize,
    /// Lost inputs that the ledger was told of, and those that it is never told of.
    losses_told: usize,
    losses_discarded: usize,
}

/// Delivers what waits in a spool whose key goes away. What the service does not take is given up with `discard` alone.
pub(super) fn empty_spool(connection: &Connection, discard: bool) -> Result<EmptiedSpool, ConnectFailure> {
    // Without a token that is one, nothing in the spool can be read.
    let Ok(token) = connection.token() else { return Ok(EmptiedSpool::default()) };
    let spool = Spool::of(&connection.state, &token);
    let SpoolContents { events, unreadable } = spool.contents()?;
    let lost = spool.losses_untold()?.untold;
    if events == 0 && lost == 0 {
        return Ok(EmptiedSpool { unreadable, ..EmptiedSpool::default() });
    }
    let why = match deliver(connection, &spool) {
        Ok(()) => String::new(),
        Err(why) => format!(" ({why})"),
    };
    let (left, untold) = (spool.contents()?.events, spool.losses_untold()?.untold);
    if left.saturating_add(untold) > 0 && !discard {
        let (url, ledger) = usual_place();
        let command = format!("{} --discard", connection.disconnect_command((&url, ledger)));
        return Err(ConnectFailure::SpoolHolds { events: left, lost: untold, why, discard: command });
    }
    let discarded = if left > 0 { spool.discard()? } else { 0 };
    let losses_discarded = if untold > 0 { spool.discard_losses()? } else { 0 };
    let (delivered, losses_told) = (events.saturating_sub(left), lost.saturating_sub(untold));
    Ok(EmptiedSpool { delivered, discarded, unreadable, losses_told, losses_discarded })
}

fn deliver(connection: &Connection, spool: &Spool) -> Result<(), String> {
    let service = connection.service().map_err(|error| error.to_string())?;
    let token = connection.token().map_err(|error| error.to_string())?;
    let key = connection.answer_key().map_err(|error| error.to_string())?;
    let event_loop = event_loop().map_err(|error| error.to_string())?;
    let mut service = ServiceConnection::new(service, Some(token));
    let place = DeliveryPlace { ledger: &connection.ledger, answer_key: Some(&key) };
    let delivered = event_loop.block_on(deliver_spooled(spool, &mut service, place, DELIVERIES));
    delivered.map(|_| ()).map_err(|error| error.to_string())
}

/// Revokes the token of a connection, if the service that is asked serves its ledger. Returns the record's position, or `None`
/// where it had been revoked before; an error is one to tell.
pub(super) fn revoke_holder(
    connection: &Connection,
    note: &str,
    context: &mut CommandContext,
) -> Result<Option<String>, String> {
    let path = format!("ledgers/{}", context.global.ledger);
    let (url, ledger) = usual_place();
    let later = format!("`{}` does it later", connection.revoke_command((&url, ledger)));
    let asked = |context: &mut CommandContext| -> Result<LedgerAnswer, CommandError> {
        Ok(context.service()?.get_of_all(&path)?.read()?)
    };
    match asked(context) {
        Ok(about) if about.answer_key.as_deref() != Some(connection.answer_key.as_str()) => {
            Err(format!("the service that was asked has another ledger; {later}"))
        }
        Ok(_) => match revoke_hooks_token(&connection.name, &connection.principal, note, context) {
            Err(error) if is_others_token(&error) => Err(error.to_string()),
            revoked => revoked.map_err(|error| format!("{error}; {later}")),
        },
        Err(error) => Err(format!("{error}; {later}")),
    }
}

/// Removes the unit of the watch with the last connection. Whether it was removed; an error is one to tell.
fn remove_unit(target: &Target) -> Result<bool, WatchUnitError> {
    if target.places.all_connections().is_ok_and(|connections| connections.is_empty()) {
        return WatchUnit::of_user(|name| env::var(name).ok())?.remove();
    }
    Ok(false)
}

fn report(
    connection: &Connection,
    done: Disconnected,
    spooled: &EmptiedSpool,
    unit: Result<bool, WatchUnitError>,
    revoked: Result<Option<String>, String>,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let &EmptiedSpool { delivered, discarded, unreadable, losses_told, losses_discarded } = spooled;
    if context.is_json() {
        let settings = match done {
            Disconnected::Restored => "restored",
            Disconnected::EntriesRemoved => "entries-removed",
            Disconnected::NothingThere => "nothing-there",
        };
        return context.print(&json!({
            "harness": connection.harness, "path": connection.settings, "settings": settings, "tokenRevoked": revoked.is_ok(),
            "unitRemoved": matches!(unit, Ok(true)),
            "spool": {"delivered": delivered, "discarded": discarded, "unreadable": unreadable},
            "losses": {"told": losses_told, "discarded": losses_discarded},
        }));
    }
    let place = connection.settings.display();
    context.say(match done {
        Disconnected::Restored => format!("settings   {place} has its earlier bytes again"),
        Disconnected::EntriesRemoved => {
            format!("settings   {place} was changed since; only the hooks were taken out")
        }
        Disconnected::NothingThere => format!("settings   {place} held no hook of this connection"),
    })?;
    if delivered + discarded + unreadable > 0 {
        context.say(format_args!(
            "spool      {delivered} events delivered, {discarded} given up, {unreadable} files of another token left in {}",
            connection.state.join("spool").display()
        ))?;
    }
    if losses_told + losses_discarded > 0 {
        context.say(format_args!(
            "lost       {losses_told} lost inputs told to the ledger, {losses_discarded} given up"
        ))?;
    }
    match unit {
        Ok(true) => context.say(format_args!(
            "watch      removed {}; stop it: systemctl --user stop {0} && systemctl --user daemon-reload",
            WatchUnit::NAME
        ))?,
        Ok(false) => {}
        Err(error) => context.say(format_args!("watch      {error}"))?,
    }
    context.say(match revoked {
        Ok(Some(position)) => format!("token      revoked at position {position}"),
        Ok(None) => "token      had been revoked before".to_owned(),
        Err(error) => format!("token      not revoked: {error}"),
    })?;
    if let Ok(mode) = AgentMode::read(connection.agent.clone(), context)
        && mode.before == "enforce"
    {
        context.say(format_args!(
            "mode       the ledger goes on to enforce for the agent {0}; `bitacora mode observe --agent {0}` ends that",
            connection.agent
        ))?;
    }
    Ok(Exit::Done)
}
