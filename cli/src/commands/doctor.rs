//! `doctor`: whether a connected harness reaches the ledger, is obeyed, and what to mend.

mod examination;

use std::env;
use std::path::{Path, PathBuf};

use bitacora_connect::{Connection, ConnectionError, PendingToken, Places};
use clap::Args;
use serde::Serialize;

use self::examination::Examination;
use super::connect::{ConnectFailure, HarnessArgument, ScopeArguments, Target, load};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::rows::{Row, RowTable};
use crate::terminal::table::{Cell, TextTable, cells};

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// The harness. [default: every connection of this user, also those of projects]
    harness: Option<HarnessArgument>,
    #[command(flatten)]
    scope: ScopeArguments,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    harness: String,
    connection: String,
    check: &'static str,
    ok: bool,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Row for Finding {
    const HEADINGS: &'static [&'static str] = &["connection", "check", "", "found", "remedy"];

    fn cells(&self) -> Vec<Cell> {
        let mark = if self.ok { "ok" } else { "FAIL" };
        cells![&self.connection, self.check, mark, &self.found, self.remedy.as_deref().unwrap_or("-")]
    }
}

pub(crate) fn run(arguments: &DoctorArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let variable = |name: &str| env::var(name).ok();
    let places = Places::of_user(variable).map_err(ConnectFailure::from)?;
    let mut findings = Vec::new();
    for (file, target) in files(arguments, &places)? {
        let loaded = match &target {
            Some(target) => match load(target) {
                Err(ConnectFailure::Connection(error)) => Err(error),
                Err(ConnectFailure::NotConnected { .. }) if !PendingToken::all_of(&file).is_empty() => {
                    continue;
                }
                loaded => Ok(loaded?),
            },
            None => Connection::load(&file),
        };
        match loaded {
            Ok(connection) => {
                let target = target.or_else(|| Target::of_connection(&connection, file.clone(), &places));
                match target {
                    Some(target) => Examination::new(&target, &connection, &mut findings).all()?,
                    None => findings.push(unreadable(&file, "it names no harness", arguments)),
                }
            }
            // A damaged file is a fault of this connection, and of no other.
            Err(error) => findings.push(unreadable_connection(&file, &error, arguments)),
        }
    }
    findings.extend(noted_tokens(arguments, &places)?);
    let is_well = findings.iter().all(|finding| finding.ok);
    if context.is_json() {
        context.print(&findings)?;
    } else {
        let none = "no harness is connected; `bitacora connect claude` connects one";
        TextTable::of(&findings).write(none, &mut context.output)?;
    }
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}

/// Returns the files of the connections that are meant, and the target where the command line names it.
fn files(
    arguments: &DoctorArguments,
    places: &Places,
) -> Result<Vec<(PathBuf, Option<Target>)>, ConnectFailure> {
    let harnesses = match (arguments.harness, arguments.scope.project().is_some()) {
        (Some(harness), _) => vec![harness],
        (None, true) => HarnessArgument::ALL.to_vec(),
        (None, false) => {
            let path = places.connections().to_owned();
            let all = places.all_connections();
            let all = all.map_err(|source| ConnectFailure::Folders { path, source })?;
            return Ok(all.into_iter().map(|file| (file, None)).collect());
        }
    };
    let mut files = Vec::new();
    for harness in harnesses {
        let target = Target::of(harness, &arguments.scope)?;
        if arguments.harness.is_some() || target.file.exists() {
            files.push((target.file.clone(), Some(target)));
        }
    }
    Ok(files)
}

/// Names tokens of connections that are gone, where revoking them did not come to its end.
fn noted_tokens(arguments: &DoctorArguments, places: &Places) -> Result<Vec<Finding>, ConnectFailure> {
    let named = arguments.harness.map(|harness| Target::of(harness, &arguments.scope)).transpose()?;
    let gone = PendingToken::all(places).into_iter().filter(|(file, _)| !file.exists());
    let meant = gone.filter(|(file, _)| named.as_ref().is_none_or(|target| target.file == *file));
    Ok(meant
        .map(|(file, token)| {
            let found = format!("{} of a connect or disconnect that did not end", token.principal);
            let disconnect = unreadable(&file, &found, arguments);
            let (harness, flag) = named_in(&disconnect.connection, arguments);
            let remedy = Some(format!("bitacora disconnect {harness}{flag}"));
            Finding { check: "token", remedy, ..disconnect }
        })
        .collect())
}

fn unreadable_connection(file: &Path, error: &ConnectionError, arguments: &DoctorArguments) -> Finding {
    let why = match error {
        ConnectionError::Exposed { .. } => {
            format!("{error}; others may have read it, so make it unreadable to them and connect again")
        }
        other => other.to_string(),
    };
    unreadable(file, &why, arguments)
}

/// The flags of a connection that cannot be read are unknown, but for those that its name says.
fn unreadable(file: &Path, why: &str, arguments: &DoctorArguments) -> Finding {
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let (harness, flag) = named_in(&name, arguments);
    let remedy = format!(
        "bitacora connect {harness}{flag}, with the flags of before; then revoke the earlier token, which `bitacora token list` shows as \"hooks of {name}\""
    );
    Finding {
        harness,
        connection: name,
        check: "connection",
        ok: false,
        found: why.to_owned(),
        remedy: Some(remedy),
    }
}

/// Returns the harness in a connection's name, and the flag of its scope.
fn named_in(name: &str, arguments: &DoctorArguments) -> (String, String) {
    let (harness, is_project) = name.split_once('-').map_or((name, false), |(harness, _)| (harness, true));
    let flag = match (is_project, arguments.scope.project()) {
        (true, Some(folder)) => format!(" --project {}", folder.display()),
        (true, None) => " --project FOLDER".to_owned(),
        (false, _) => String::new(),
    };
    (harness.to_owned(), flag)
}
