//! `connect` and `disconnect`: a coding agent's harness asks the ledger before each tool call, or no more.

mod agent_mode;
mod disconnect;
mod first_policy;
mod holder;
mod report;
mod revocation;

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bitacora_api::LedgerAnswer;
use bitacora_client::ServiceUrl;
use bitacora_connect::{
    ConflictError, ConnectLock, Connection, ConnectionError, Credentials, HookProgram, InstallError,
    Installed, Places, Preparation, SettingsObstacle, SettingsScope, SpoolError, USUAL_WAIT_S,
    WatchUnitError, key_fingerprint, refuse_conflict, settings_obstacles, settings_path,
};
use bitacora_harness::Dialect;
use clap::{Args, ValueEnum};

use self::agent_mode::AgentMode;
pub(crate) use self::disconnect::{DisconnectArguments, disconnect};
use self::first_policy::publish_if_none;
use self::holder::Holder;
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::options::global::{DEFAULT_ADDRESS, DEFAULT_LEDGER, LedgerLocation};
use crate::options::time::Wait;

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
    pub(crate) const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::Cursor];

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

impl ScopeArguments {
    pub(crate) fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }
}

#[derive(Debug, Args)]
pub(crate) struct ConnectArguments {
    /// The harness.
    harness: HarnessArgument,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Enforce verdicts: deny blocks a call, and so does a service that does not answer.
    #[arg(long)]
    enforce: bool,
    /// Let every call run, and record it. [default: as connected before, else this]
    #[arg(long, conflicts_with = "enforce")]
    observe: bool,
    /// The agent's name in events. [default: as connected before, else the harness's]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The time for which a call that needs an approval is held where its user cannot be asked. [default: as connected before, else 5m]
    #[arg(long, value_name = "TIME")]
    wait: Option<Wait>,
    /// Write a systemd unit of this user that keeps `bitacora watch` running.
    #[arg(long)]
    watch: bool,
    /// Publish no policy where the ledger has none. Without a policy an enforced call is denied.
    #[arg(long)]
    no_policy: bool,
    /// Take the key that the ledger signs its answers with anew. Compare it with `bitacora keys show --data FOLDER` beside the service.
    #[arg(long)]
    new_answer_key: bool,
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
    #[error(
        "{url}: the service says that the ledger's key is {found}, and this connection knows {known}; another program may answer there. \
        `bitacora keys show --data FOLDER` beside the service shows the key; `--new-answer-key` takes the new one. Nothing was changed"
    )]
    OtherAnswerKey { url: String, known: String, found: String },
    #[error(transparent)]
    Unit(#[from] WatchUnitError),
    #[error(transparent)]
    Conflict(#[from] ConflictError),
    #[error(transparent)]
    Obstacle(#[from] SettingsObstacle),
    #[error(
        "the token is none of an admin, so it makes no token for the agent; use the admin's, such as KEYRING.admin-token"
    )]
    NotAdmin,
    #[error(
        "{principal} is no holder that `connect` made for {connection}, so it is not revoked; `bitacora token list` shows the holders named hooks of {connection}"
    )]
    OthersToken { connection: String, principal: String },
    #[error("{0}; nobody knows whether it enforced: connect with --enforce or --observe")]
    Damaged(ConnectionError),
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error(
        "found {events} events in the spool{} that the service does not have{why}; start the service, or give them up with `{discard}`", and_marks(*lost)
    )]
    SpoolHolds { events: usize, lost: usize, why: String, discard: String },
    #[error("{cause}; this could not be taken back: {left}")]
    HalfWay { cause: CommandError, left: String },
    #[error("found a wait of more than an hour; expected at most 1h")]
    Wait,
}

fn and_marks(lost: usize) -> String {
    if lost > 0 { format!(" and {lost} marks of lost inputs") } else { String::new() }
}

impl CommandFailure for ConnectFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Wait | Self::Folder | Self::Damaged(_) => Exit::Usage,
            Self::NotAdmin => Exit::Refused,
            Self::HalfWay { cause, .. } => cause.exit(),
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
    pub(crate) places: Places,
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

    /// Returns the target of a connection that is there.
    pub(crate) fn of_connection(connection: &Connection, file: PathBuf, places: &Places) -> Option<Self> {
        let dialect = connection.harness.parse().ok()?;
        let (settings, name) = (connection.settings.clone(), connection.name.clone());
        Some(Self { dialect, settings, name, file, places: places.clone() })
    }
}

/// Returns the service and the ledger that are asked without flags and variables.
pub(crate) fn usual_place() -> (String, &'static str) {
    (format!("http://{DEFAULT_ADDRESS}"), DEFAULT_LEDGER)
}

pub(crate) fn run(arguments: &ConnectArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    if arguments.wait.as_ref().is_some_and(|wait| wait.0 > LONGEST_WAIT) {
        return Err(ConnectFailure::Wait.into());
    }
    let target = Target::of(arguments.harness, &arguments.scope)?;
    let url = match context.global.place() {
        LedgerLocation::Service(url) => url,
        LedgerLocation::Folder(_) => return Err(ConnectFailure::Folder.into()),
    };
    let _lock = ConnectLock::take(&target.places).map_err(ConnectFailure::from)?;
    // Everything that can refuse on this machine comes before everything that is changed in the ledger.
    let before = match Connection::load_to_replace(&target.file) {
        Ok(before) => Some(before),
        Err(error) if target.file.exists() && !arguments.enforce && !arguments.observe => {
            return Err(ConnectFailure::Damaged(error).into());
        }
        Err(_) => None,
    };
    let connection = connection(arguments, before.as_ref(), &target, &url, context);
    refuse_conflict(&target.places, &connection).map_err(ConnectFailure::from)?;
    let (home, folder) = connection.read_places();
    let warnings = settings_obstacles(&connection, &target.file, target.dialect, (&home, &folder));
    let warnings = warnings.map_err(ConnectFailure::from)?;
    let program =
        env::current_exe().map_err(|source| ConnectFailure::Folders { path: "bitacora".into(), source })?;
    let program = HookProgram::beside(&program);
    let new = (connection.agent.clone(), connection.enforce);
    let prepared =
        Preparation::of(connection, &target.file, target.dialect, &program).map_err(ConnectFailure::from)?;
    let about = format!("ledgers/{}", context.global.ledger);
    let about: LedgerAnswer = context.service()?.get_of_all(&about)?.read()?;
    let answer_key = known_key(arguments, prepared.earlier(), about, context)?;
    let mode = AgentMode::read(new.0, context)?;
    let earlier = prepared.earlier().cloned();
    let holder = Holder::of(earlier.as_ref(), &target, &mode.agent, &answer_key, context)?;
    let credentials = holder.credentials(answer_key);
    let (installed, published) = match establish(prepared, credentials, &mode, new.1, arguments, context) {
        Ok(established) => established,
        Err(cause) => return Err(holder.take_back(cause, earlier.as_ref(), &target.file, context)),
    };
    let connection = installed.connection();
    let said = holder.settle(earlier.as_ref(), connection, &target.file, context);
    report::say(connection, &target, &program, published.as_deref(), &warnings, context)?;
    for line in said {
        context.say(line)?;
    }
    report::say_watch(arguments.watch, context)?;
    Ok(Exit::Done)
}

/// Returns the key that the ledger signs its answers with. A connection that knows one takes no other by itself: the service's word
/// for it is not signed.
fn known_key(
    arguments: &ConnectArguments,
    earlier: Option<&Connection>,
    about: LedgerAnswer,
    context: &CommandContext,
) -> Result<String, ConnectFailure> {
    let key = about.answer_key.ok_or(ConnectFailure::NoAnswerKey)?;
    let found = key_fingerprint(&key).ok_or(ConnectFailure::NoAnswerKey)?;
    let same_ledger = |earlier: &&Connection| earlier.ledger == context.global.ledger.to_string();
    match earlier.filter(same_ledger).filter(|_| !arguments.new_answer_key) {
        Some(earlier) if !earlier.answer_key.eq_ignore_ascii_case(&key) => {
            let known = key_fingerprint(&earlier.answer_key).unwrap_or_else(|| "none".to_owned());
            let url = match context.global.place() {
                LedgerLocation::Service(url) => url.to_string(),
                LedgerLocation::Folder(_) => earlier.url.clone(),
            };
            Err(ConnectFailure::OtherAnswerKey { url, known, found })
        }
        _ => Ok(key),
    }
}

/// Sets the mode, writes the connection, and publishes a first policy. Where one of them fails, mode and files are as they were.
fn establish(
    prepared: Preparation,
    credentials: Credentials,
    mode: &AgentMode,
    enforce: bool,
    arguments: &ConnectArguments,
    context: &mut CommandContext,
) -> Result<(Installed, Option<String>), CommandError> {
    // A process that is killed half-way leaves the stricter of both: enforcing comes before the settings, observing after them.
    if enforce {
        mode.set("enforce", context)?;
    }
    let installed = match prepared.commit(credentials) {
        Ok(installed) => installed,
        Err(error) => {
            let restored = if enforce { mode.restore(context) } else { Ok(()) };
            return Err(half_way(ConnectFailure::from(error).into(), restored));
        }
    };
    if !enforce && let Err(cause) = mode.set("observe", context) {
        return Err(half_way(cause, undo(&installed)));
    }
    let published = if arguments.no_policy { Ok(None) } else { publish_if_none(context) };
    match published {
        Ok(published) => Ok((installed, published)),
        Err(cause) => {
            let undone = undo(&installed).and_then(|()| mode.restore(context));
            Err(half_way(cause, undone))
        }
    }
}

fn undo(installed: &Installed) -> Result<(), CommandError> {
    Ok(installed.undo().map_err(ConnectFailure::from)?)
}

/// Returns the cause of a failure, with what could not be taken back after it.
fn half_way(cause: CommandError, taken_back: Result<(), CommandError>) -> CommandError {
    match taken_back {
        Ok(()) => cause,
        Err(left) => ConnectFailure::HalfWay { cause, left: left.to_string() }.into(),
    }
}

/// Makes the connection, without its credentials. What the command line does not say stays as it was before: connecting again never
/// ends enforcing by itself.
fn connection(
    arguments: &ConnectArguments,
    before: Option<&Connection>,
    target: &Target,
    url: &ServiceUrl,
    context: &CommandContext,
) -> Connection {
    let trust = url.trust().cloned().unwrap_or_default();
    Connection {
        form: Connection::form(),
        name: target.name.clone(),
        harness: target.dialect.name().to_owned(),
        settings: target.settings.clone(),
        original: None,
        written: String::new(),
        url: url.to_string(),
        ca_file: trust.ca_file,
        client_certificate: trust.identity.map(|identity| (identity.certificate, identity.key)),
        ledger: context.global.ledger.to_string(),
        token: String::new(),
        answer_key: String::new(),
        agent: arguments
            .agent
            .clone()
            .or_else(|| before.map(|before| before.agent.clone()))
            .unwrap_or_else(|| target.dialect.harness().to_owned()),
        principal: String::new(),
        enforce: arguments.enforce || (!arguments.observe && before.is_some_and(|before| before.enforce)),
        wait_s: match (arguments.wait, before) {
            (Some(wait), _) => wait.0.as_secs(),
            (None, Some(before)) => before.wait_s,
            (None, None) => USUAL_WAIT_S,
        },
        state: target.places.state_of(&target.name),
        connected: microseconds_now(),
    }
}

fn microseconds_now() -> Option<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(now.as_micros()).ok()
}

/// Reads the connection of a target.
pub(crate) fn load(target: &Target) -> Result<Connection, ConnectFailure> {
    if !Path::exists(&target.file) {
        let place = target.settings.clone();
        return Err(ConnectFailure::NotConnected { harness: target.dialect.name(), place });
    }
    Ok(Connection::load(&target.file)?)
}
