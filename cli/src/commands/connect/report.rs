//! The output of `connect`, and the systemd unit of the watch.

use std::env;

use bitacora_connect::{Connection, HookProgram, WatchUnit, key_fingerprint};
use bitacora_harness::Dialect;
use serde_json::json;

use super::{ConnectFailure, Target};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;

/// Writes the unit of the watch where it is asked for, and says how the watch is started.
pub(super) fn say_watch(is_asked: bool, context: &mut CommandContext) -> Result<(), CommandError> {
    if !is_asked {
        return context.say("watch      `bitacora watch` finds calls that dodge the gate; --watch writes a systemd unit for it");
    }
    let variable = |name: &str| env::var(name).ok();
    let unit = WatchUnit::of_user(variable).map_err(ConnectFailure::from)?;
    let program =
        env::current_exe().map_err(|source| ConnectFailure::Folders { path: "bitacora".into(), source })?;
    unit.write(&program, variable).map_err(ConnectFailure::from)?;
    context.say(format_args!(
        "watch      {}; start it: systemctl --user daemon-reload && systemctl --user enable --now {}",
        unit.path().display(),
        WatchUnit::NAME
    ))
}

/// Says what was connected, and what comes next.
pub(super) fn say(
    connection: &Connection,
    target: &Target,
    program: &HookProgram,
    published: Option<&str>,
    warnings: &[String],
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let mode = if connection.enforce { "enforce" } else { "observe" };
    let key = key_fingerprint(&connection.answer_key).unwrap_or_default();
    if context.is_json() {
        return context.print(&json!({
            "harness": connection.harness, "settings": connection.settings, "connection": target.file,
            "agent": connection.agent, "principal": connection.principal, "url": connection.url,
            "ledger": connection.ledger, "mode": mode, "keyFingerprint": key, "program": program.path(), "policy": published,
            "warnings": warnings,
        }));
    }
    context.say(format_args!(
        "connected  {} to ledger {} at {}",
        connection.harness, connection.ledger, connection.url
    ))?;
    context.say(format_args!("settings   {}", connection.settings.display()))?;
    for warning in warnings {
        context.say(format_args!("warning    {warning}: hooks may not run, and calls not be recorded"))?;
    }
    context.say(format_args!(
        "agent      {}, with a token of its own in {}",
        connection.agent,
        target.file.display()
    ))?;
    context.say(format_args!(
        "answers    taken with key {key} alone; `bitacora keys show --data FOLDER` beside the service shows it"
    ))?;
    let what = match connection.enforce {
        true => "enforce: denied calls are blocked, and so are calls that the service cannot decide",
        false => "observe: every call runs, and is recorded with its would-be verdict",
    };
    context.say(format_args!("mode       {what}"))?;
    if let Some(version) = published {
        context.say(format_args!("policy     none was there: registered the starter's tools, activated its policy as version {version}"))?;
    }
    let name = &connection.harness;
    if target.dialect == Dialect::Codex {
        context.say("trust      Codex runs new and changed hooks only after you trusted them: start `codex`, open /hooks, trust them; `codex exec` never asks")?;
        context.say("stdin      Codex runs no hook for input to a running program; `codex features disable unified_exec_tty` keeps agents from typing there")?;
    }
    context.say(format_args!(
        "next       start a new session of {name}, then `bitacora calls`; `{}` checks it",
        connection.doctor_command()
    ))?;
    Ok(Exit::Done)
}
