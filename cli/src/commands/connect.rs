//! `connect` and `disconnect`: a coding agent's harness asks the ledger before each tool call, or no more.

mod first_policy;

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bitacora_api::{LedgerAnswer, ModeRequest, ModeScopeAnswer};
use bitacora_connect::{
    Connection, ConnectionError, Disconnected, HookProgram, InstallError, Places, SettingsScope, WatchUnit,
    WatchUnitError, install, settings_path, uninstall,
};
use bitacora_data_folder::generate_token;
use bitacora_harness::Dialect;
use bitacora_vocabulary::Role;
use clap::{Args, ValueEnum};
use hyper::Method;
use serde_json::json;

use self::first_policy::publish_if_none;
use super::token::{NewHolder, create, revoke};
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::options::global::LedgerLocation;
use crate::options::time::Wait;

/// The time for which a call that needs an approval is held, by default.
const DEFAULT_WAIT: &str = "5m";
/// The longest time for it: harnesses have timeouts of their own.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);
/// The number of digits of a project's digest in its connection's name.
const PROJECT_DIGITS: usize = 8;

/// A harness that can be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HarnessArgument {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
}

impl HarnessArgument {
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Self::Claude => Dialect::Claude,
            Self::Codex => Dialect::Codex,
            Self::Gemini => Dialect::Gemini,
            Self::Cursor => Dialect::Cursor,
        }
    }
}

/// The settings that are meant.
#[derive(Debug, Args)]
pub(crate) struct ScopeArguments {
    /// Connect one project: the working folder, or the one named.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = ".")]
    project: Option<PathBuf>,
    /// Connect all projects of this user (default).
    #[arg(long, conflicts_with = "project")]
    user: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConnectArguments {
    /// The harness.
    harness: HarnessArgument,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Enforce verdicts: deny blocks a call, and so does a service that does not answer. Without it calls are only recorded.
    #[arg(long)]
    enforce: bool,
    /// The agent's name in events. [default: the harness's]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The time for which a call that needs an approval is held where its user cannot be asked.
    #[arg(long, value_name = "TIME", default_value = DEFAULT_WAIT)]
    wait: Wait,
    /// Write a systemd unit of this user that keeps `bitacora watch` running.
    #[arg(long)]
    watch: bool,
    /// Publish no policy where the ledger has none. Without a policy an enforced call is denied.
    #[arg(long)]
    no_policy: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DisconnectArguments {
    /// The harness.
    harness: HarnessArgument,
    #[command(flatten)]
    scope: ScopeArguments,
}

/// The reason why a harness was not connected or disconnected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectFailure {
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error("found no connection of {harness} in {}; `bitacora connect {harness}` makes one", place.display())]
    NotConnected { harness: &'static str, place: PathBuf },
    #[error("a folder answers no hooks: start `bitacora serve`, or name a service with --url")]
    Folder,
    #[error("the system gives no random bytes: {0}; nothing was changed")]
    Random(io::Error),
    #[error("{}: {source}; nothing was changed", path.display())]
    Folders { path: PathBuf, source: io::Error },
    #[error("found no home folder; set HOME")]
    NoHome,
    #[error(
        "the ledger names no key that it signs answers with; the service is of an earlier version, or the ledger is not open"
    )]
    NoAnswerKey,
    #[error(transparent)]
    Unit(#[from] WatchUnitError),
    #[error(
        "found the connection {name}, whose hooks would run for the same calls; `bitacora disconnect {harness}` removes it"
    )]
    Overlaps { name: String, harness: String },
    #[error(
        "found the connection {name}, which {} as the agent {agent} too; name another agent with --agent",
        if *enforces { "enforces" } else { "observes" }
    )]
    OtherMode { name: String, agent: String, enforces: bool },
    #[error("found a wait of more than an hour; expected at most 1h")]
    Wait,
}

impl CommandFailure for ConnectFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Wait | Self::Folder => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

/// A harness's settings in one scope, and the connection that belongs to them.
pub(crate) struct Target {
    pub(crate) dialect: Dialect,
    pub(crate) settings: PathBuf,
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    places: Places,
}

impl Target {
    pub(crate) fn of(harness: HarnessArgument, scope: &ScopeArguments) -> Result<Self, ConnectFailure> {
        let variable = |name: &str| env::var(name).ok();
        let places = Places::of_user(variable)?;
        let dialect = harness.dialect();
        let (settings, name) = match &scope.project {
            Some(folder) => {
                let folder = folder
                    .canonicalize()
                    .map_err(|source| ConnectFailure::Folders { path: folder.clone(), source })?;
                let digest = bitacora_harness::pairing_digest("project", "", &folder.to_string_lossy());
                let digest: String = digest.chars().take(PROJECT_DIGITS).collect();
                let path = settings_path(dialect, SettingsScope::Project { folder: &folder });
                (path, format!("{}-{digest}", dialect.name()))
            }
            None => {
                let home = variable("HOME").map(PathBuf::from).ok_or(ConnectFailure::NoHome)?;
                (settings_path(dialect, SettingsScope::User { home: &home }), dialect.name().to_owned())
            }
        };
        let file = places.connection(&name);
        Ok(Self { dialect, settings, name, file, places })
    }
}

pub(crate) fn run(arguments: &ConnectArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let wait = arguments.wait.0;
    if wait > LONGEST_WAIT {
        return Err(ConnectFailure::Wait.into());
    }
    let target = Target::of(arguments.harness, &arguments.scope)?;
    let url = match context.global.place() {
        LedgerLocation::Service(url) => url.to_string(),
        LedgerLocation::Folder(_) => return Err(ConnectFailure::Folder.into()),
    };
    let agent = arguments.agent.clone().unwrap_or_else(|| target.dialect.harness().to_owned());
    refuse_conflict(&target, &agent, arguments.enforce)?;
    // Asked before anything is changed: a service that is not there, or takes no operator, ends the command here.
    let published = if arguments.no_policy { None } else { publish_if_none(context)? };
    let about = format!("ledgers/{}", context.global.ledger);
    let about: LedgerAnswer = context.service()?.get_of_all(&about)?.read()?;
    let answer_key = about.answer_key.ok_or(ConnectFailure::NoAnswerKey)?;
    let mode = if arguments.enforce { "enforce" } else { "observe" };
    let scope = ModeScopeAnswer { tool: None, agent: Some(agent.clone()), role: None };
    let connection = connection(arguments, &target, ServiceFacts { url, answer_key }, agent, context)?;
    let program =
        env::current_exe().map_err(|source| ConnectFailure::Folders { path: "bitacora".into(), source })?;
    let program = HookProgram::beside(&program);
    // A change that fails half-way leaves the stricter of both: enforcing comes before the settings, observing after them.
    let request = ModeRequest { mode: mode.to_owned(), scope: Some(scope), note: None };
    if arguments.enforce {
        context.send(&Method::PUT, "mode", Some(&request))?;
    }
    let connection =
        install(connection, &target.file, target.dialect, &program).map_err(ConnectFailure::from)?;
    if !arguments.enforce {
        context.send(&Method::PUT, "mode", Some(&request))?;
    }
    report(&connection, &target, &program, published.as_deref(), context)?;
    say_watch(arguments.watch, context)?;
    Ok(Exit::Done)
}

/// Refuses a connection that another one contradicts: hooks of the user and of a project run for the same calls, and an agent has one mode.
fn refuse_conflict(target: &Target, agent: &str, enforce: bool) -> Result<(), ConnectFailure> {
    let harness = target.dialect.name();
    let files = target
        .places
        .all_connections()
        .map_err(|source| ConnectFailure::Folders { path: target.places.connections().to_owned(), source })?;
    for file in files.into_iter().filter(|file| *file != target.file) {
        let Ok(other) = Connection::load(&file) else { continue };
        if other.harness != harness {
            continue;
        }
        if other.name == harness || target.name == harness {
            return Err(ConnectFailure::Overlaps { name: other.name, harness: other.harness });
        }
        if other.agent == agent && other.enforce != enforce {
            let (name, enforces) = (other.name, other.enforce);
            return Err(ConnectFailure::OtherMode { name, agent: other.agent, enforces });
        }
    }
    Ok(())
}

/// The service's address, and the key of its answers.
struct ServiceFacts {
    url: String,
    answer_key: String,
}

/// Makes the connection, with the token of the one before if it was for the same agent and ledger.
fn connection(
    arguments: &ConnectArguments,
    target: &Target,
    service: ServiceFacts,
    agent: String,
    context: &CommandContext,
) -> Result<Connection, CommandError> {
    let ServiceFacts { url, answer_key } = service;
    let ledger = context.global.ledger.to_string();
    let earlier = Connection::load(&target.file).ok();
    let same =
        |earlier: &Connection| earlier.url == url && earlier.ledger == ledger && earlier.agent == agent;
    let (token, principal) = match earlier.filter(same) {
        Some(earlier) => (earlier.token, earlier.principal),
        None => {
            let token = generate_token().map_err(ConnectFailure::Random)?;
            let name = format!("hooks of {}", target.name);
            let holder =
                NewHolder { role: Role::Agent, name: Some(&name), agent: Some(&agent), expires: None };
            let created = create(&context.global, &token, &holder)?;
            (token.reveal().to_owned(), created.principal.to_string())
        }
    };
    Ok(Connection {
        form: Connection::form(),
        name: target.name.clone(),
        harness: target.dialect.name().to_owned(),
        settings: target.settings.clone(),
        original: None,
        written: String::new(),
        url,
        ledger,
        token,
        answer_key,
        agent,
        principal,
        enforce: arguments.enforce,
        wait_s: arguments.wait.0.as_secs(),
        state: target.places.state_of(&target.name),
        connected: microseconds_now(),
    })
}

fn microseconds_now() -> Option<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(now.as_micros()).ok()
}

/// Writes the unit of the watch where it is asked for, and says how the watch is started.
fn say_watch(is_asked: bool, context: &mut CommandContext) -> Result<(), CommandError> {
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

/// Removes the unit of the watch with the last connection. Whether it was removed; an error is one to tell.
fn remove_unit(target: &Target) -> Result<bool, WatchUnitError> {
    if target.places.all_connections().is_ok_and(|connections| connections.is_empty()) {
        return WatchUnit::of_user(|name| env::var(name).ok())?.remove();
    }
    Ok(false)
}

fn report(
    connection: &Connection,
    target: &Target,
    program: &HookProgram,
    published: Option<&str>,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let mode = if connection.enforce { "enforce" } else { "observe" };
    if context.is_json() {
        return context.print(&json!({
            "harness": connection.harness, "settings": connection.settings, "connection": target.file,
            "agent": connection.agent, "principal": connection.principal, "url": connection.url,
            "ledger": connection.ledger, "mode": mode, "program": program.path(), "policy": published,
        }));
    }
    context.say(format_args!(
        "connected  {} to ledger {} at {}",
        connection.harness, connection.ledger, connection.url
    ))?;
    context.say(format_args!("settings   {}", connection.settings.display()))?;
    context.say(format_args!(
        "agent      {}, with a token of its own in {}",
        connection.agent,
        target.file.display()
    ))?;
    let what = match connection.enforce {
        true => "enforce: denied calls are blocked, and so are calls that the service cannot decide",
        false => "observe: every call runs, and is recorded with its would-be verdict",
    };
    context.say(format_args!("mode       {what}"))?;
    if let Some(version) = published {
        context.say(format_args!("policy     none was there: registered the starter's tools, activated its policy as version {version}"))?;
    }
    if target.dialect == Dialect::Codex {
        context.say("stdin      Codex runs no hook for input to a running program; `codex features disable unified_exec_tty` keeps agents from typing there")?;
    }
    let name = &connection.harness;
    context.say(format_args!(
        "next       start a new session of {name}, then `bitacora calls`; `bitacora doctor {name}` checks it"
    ))?;
    Ok(Exit::Done)
}

pub(crate) fn disconnect(
    arguments: &DisconnectArguments,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let target = Target::of(arguments.harness, &arguments.scope)?;
    let connection = load(&target)?;
    let done = uninstall(&connection, &target.file).map_err(ConnectFailure::from)?;
    // The settings are clean, whatever becomes of the unit and the token.
    let unit = remove_unit(&target);
    let revoked = revoke(&context.global, &connection.principal, Some("disconnected"));
    if context.is_json() {
        let settings = match done {
            Disconnected::Restored => "restored",
            Disconnected::EntriesRemoved => "entries-removed",
            Disconnected::NothingThere => "nothing-there",
        };
        return context.print(&json!({
            "harness": connection.harness, "path": connection.settings, "settings": settings, "tokenRevoked": revoked.is_ok(),
            "unitRemoved": matches!(unit, Ok(true)),
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
    match unit {
        Ok(true) => context.say(format_args!(
            "watch      removed {}; stop it: systemctl --user stop {0} && systemctl --user daemon-reload",
            WatchUnit::NAME
        ))?,
        Ok(false) => {}
        Err(error) => context.say(format_args!("watch      {error}"))?,
    }
    context.say(match revoked {
        Ok(position) => format!("token      revoked at position {position}"),
        Err(error) => format!(
            "token      not revoked: {error}; `bitacora token revoke {}` does it later",
            connection.principal
        ),
    })?;
    Ok(Exit::Done)
}

/// Reads the connection of a target.
pub(crate) fn load(target: &Target) -> Result<Connection, ConnectFailure> {
    if !Path::exists(&target.file) {
        let place = target.settings.clone();
        return Err(ConnectFailure::NotConnected { harness: target.dialect.name(), place });
    }
    Ok(Connection::load(&target.file)?)
}
