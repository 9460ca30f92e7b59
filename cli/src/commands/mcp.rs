//! `mcp`: a gate between an MCP client and an MCP server, and a server that answers questions about the ledger.

use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bitacora_connect::{Connection, ConnectionError, Places, Spool};
use bitacora_data_folder::TokenError;
use bitacora_mcp::{
    Gate, GateSettings, LONGEST_WAIT, McpError, QuestionSettings, ServerCommand, ServerName, Service,
    UpstreamAddress, UpstreamUrl, new_session, run_proxy, run_questions, spool_name, working_folder,
};
use clap::{Args, Subcommand};
use tokio::runtime::Runtime;

use crate::commands::connect::usual_place;
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::ledger_access::access::event_loop;
use crate::ledger_access::context::CommandContext;
use crate::options::global::LedgerLocation;
use crate::options::time::Wait;
use crate::terminal::note;

/// The variables that name the session and the run of an agent, for its calls.
const SESSION: &str = "BITACORA_SESSION";
const RUN: &str = "BITACORA_RUN";
/// The notice where any program at the service's address is believed.
const UNVERIFIED: &str = "answers are not verified, so any program at the service's address is believed; name the ledger's key with \
     --answer-key, or a connection with --connection";
/// The time for which a call that needs an approval is held, by default.
const DEFAULT_WAIT: &str = "5m";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArguments {
    #[command(subcommand)]
    questions: Option<McpCommand>,
    /// The command of the server, behind `--`.
    #[arg(
        last = true,
        value_name = "COMMAND",
        required_unless_present = "upstream",
        conflicts_with = "upstream"
    )]
    command: Vec<String>,
    /// The address of a server that is reached over streamable HTTP, instead of a command.
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// The file with the bearer token for that server.
    #[arg(long, value_name = "FILE", requires = "upstream")]
    upstream_token_file: Option<PathBuf>,
    /// The server's name in calls: `mcp__NAME__TOOL`. [default: its program's]
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Take service, ledger and token of a connected harness, such as claude.
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// The key that the ledger signs its answers with, 64 hexadecimal digits: `answerKey` of GET /v1/ledgers/NAME.
    #[arg(long, value_name = "KEY", value_parser = answer_key, conflicts_with = "connection")]
    answer_key: Option<[u8; 32]>,
    /// The time for which a call that needs an approval is held; 0 does not hold it.
    #[arg(long, value_name = "TIME", default_value = DEFAULT_WAIT)]
    wait: Wait,
    /// Hand on calls that nobody could decide about, unless the service said that it enforces. Without it they are refused.
    #[arg(long)]
    observe: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve questions of an agent about its own calls: why denied, what is allowed, what happened. It changes nothing.
    Serve {
        /// Take service, ledger and token of a connected harness, such as claude.
        #[arg(long, value_name = "NAME")]
        connection: Option<String>,
        /// The key that the ledger signs its answers with, 64 hexadecimal digits: `answerKey` of GET /v1/ledgers/NAME.
        #[arg(long, value_name = "KEY", value_parser = answer_key, conflicts_with = "connection")]
        answer_key: Option<[u8; 32]>,
    },
}

/// Parses the key of a ledger's answers.
fn answer_key(text: &str) -> Result<[u8; 32], ConnectionError> {
    let mut key = [0; 32];
    hex::decode_to_slice(text, &mut key).map_err(|_| ConnectionError::AnswerKey)?;
    Ok(key)
}

/// The reason why no session began, or how it ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum McpFailure {
    #[error(transparent)]
    Mcp(#[from] McpError),
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(
        "found no agent's token; name one with --token-file, BITACORA_TOKEN or --connection: `bitacora token create --role agent --agent NAME > NAME.token` makes one"
    )]
    NoToken,
    #[error("a folder answers no agent: start `bitacora serve`, or name a service with --url")]
    Folder,
    #[error("found a ledger's name that is none in the connection: {0}")]
    Ledger(String),
    #[error("{}: {source}; nothing was started", path.display())]
    UpstreamToken { path: PathBuf, source: io::Error },
    #[error(
        "found --observe for a connection that is enforced; run `{connect}` first, or leave --observe out"
    )]
    Enforced { connect: String },
    #[error("found a wait of more than an hour; expected at most 1h")]
    Wait,
}

impl CommandFailure for McpFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Wait | Self::Folder | Self::NoToken | Self::Enforced { .. } => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

pub(crate) fn run(arguments: &McpArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    if let Some(McpCommand::Serve { connection, answer_key }) = &arguments.questions {
        let agent = AgentAccess::of(connection.as_deref(), *answer_key, context)?;
        let settings = QuestionSettings { session: variable(SESSION), run: variable(RUN) };
        return finish(event_loop()?, run_questions(agent.service, settings));
    }
    if arguments.wait.0 > LONGEST_WAIT {
        return Err(McpFailure::Wait.into());
    }
    let (named, address) = arguments.server().map_err(CommandError::from)?;
    let server = match &arguments.server {
        Some(name) => ServerName::new(name),
        None => named,
    };
    let server = server.map_err(McpFailure::from)?;
    let agent = AgentAccess::of(arguments.connection.as_deref(), arguments.answer_key, context)?;
    if let Some(connect) = agent.enforced.filter(|_| arguments.observe) {
        return Err(McpFailure::Enforced { connect }.into());
    }
    let settings = GateSettings {
        server,
        session: session()?,
        run: variable(RUN),
        cwd: working_folder().filter(|_| arguments.upstream.is_none()),
        wait: arguments.wait.0,
        observe: arguments.observe || agent.observes,
        spool: agent.spool,
    };
    finish(event_loop()?, run_proxy(Gate::new(agent.service, settings), address))
}

fn finish(
    runtime: Runtime,
    session: impl Future<Output = Result<(), McpError>>,
) -> Result<Exit, CommandError> {
    let ended = runtime.block_on(session).map_err(McpFailure::from);
    // The thread that reads stdin may still be in a read, which nobody can end.
    runtime.shutdown_timeout(Duration::ZERO);
    ended?;
    Ok(Exit::Done)
}

impl McpArguments {
    /// Returns the name that the server has by itself, and its place.
    fn server(&self) -> Result<(Result<ServerName, McpError>, UpstreamAddress), McpFailure> {
        let Some(url) = &self.upstream else {
            let command = ServerCommand { words: self.command.clone() };
            return Ok((ServerName::of_command(&self.command), UpstreamAddress::Command(command)));
        };
        let read = |path: &PathBuf| {
            fs::read_to_string(path)
                .map_err(|source| McpFailure::UpstreamToken { path: path.clone(), source })
        };
        let token = self.upstream_token_file.as_ref().map(read).transpose()?;
        let url = UpstreamUrl::new(url, token.as_deref())?;
        Ok((ServerName::of_host(url.host()), UpstreamAddress::Url(url)))
    }
}

/// The ledger as an agent asks it.
struct AgentAccess {
    service: Service,
    spool: Option<Spool>,
    /// `true` if the connection was made for observing.
    observes: bool,
    /// Of an enforced connection: the command by which it is made for observing.
    enforced: Option<String>,
}

impl AgentAccess {
    fn of(
        connection: Option<&str>,
        answer_key: Option<[u8; 32]>,
        context: &CommandContext,
    ) -> Result<Self, McpFailure> {
        let places = Places::of_user(|name| env::var(name).ok());
        if let Some(name) = connection {
            let connection = Connection::load(&places?.connection(name))?;
            let (url, token) = (connection.service()?, connection.token()?);
            let ledger =
                connection.ledger.parse().map_err(|_| McpFailure::Ledger(connection.ledger.clone()))?;
            let spool = Some(Spool::of(&connection.state, &token));
            let service = Service::new(url, ledger, Some(token), Some(connection.answer_key()?));
            let observes = !connection.enforce;
            let (url, ledger) = usual_place();
            let observed = Connection { enforce: false, ..connection }.connect_command((&url, ledger));
            let enforced = (!observes).then(|| format!("{observed} --observe"));
            return Ok(Self { service, spool, observes, enforced });
        }
        let LedgerLocation::Service(url) = context.global.place() else { return Err(McpFailure::Folder) };
        let token = context.global.agents_token()?.ok_or(McpFailure::NoToken)?;
        let spool = places.ok().map(|places| Spool::of(&places.state_of(spool_name()), &token));
        let service = Service::new(url, context.global.ledger.clone(), Some(token), answer_key);
        if answer_key.is_none() {
            note(UNVERIFIED);
        }
        Ok(Self { service, spool, observes: false, enforced: None })
    }
}

/// Returns the session that calls belong to: the agent's own where it names one.
fn session() -> Result<String, McpFailure> {
    match variable(SESSION) {
        Some(session) => Ok(session),
        None => Ok(new_session()?),
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
