//! The command line: global options, commands, and the place of the ledger.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bitacora_archiver::ArchivePlace;
use bitacora_formats::LedgerName;
use bitacora_ledger::Environment;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::admin_token;
use crate::anchor::AnchorPlace;
use crate::archives;
use crate::commands::annotate::AnnotateArguments;
use crate::commands::append::AppendArguments;
use crate::commands::approvals::ApprovalsArguments;
use crate::commands::archive::ArchiveArguments;
use crate::commands::bench::BenchArguments;
use crate::commands::breakers::BreakersArguments;
use crate::commands::budgets::BudgetsArguments;
use crate::commands::calls::CallsArguments;
use crate::commands::checkpoints::CheckpointsArguments;
use crate::commands::clock::ClockArguments;
use crate::commands::completions::CompletionsArguments;
use crate::commands::contracts::ContractsArguments;
use crate::commands::costs::CostsArguments;
use crate::commands::decide::DecideArguments;
use crate::commands::gaps::GapsArguments;
use crate::commands::grants::GrantsArguments;
use crate::commands::import::ImportArguments;
use crate::commands::imports::ImportsArguments;
use crate::commands::keys::KeysCommand;
use crate::commands::mode::ModeArguments;
use crate::commands::outcome::OutcomeArguments;
use crate::commands::panic::{AgentsArguments, PanicArguments};
use crate::commands::policy::PolicyArguments;
use crate::commands::projections::ProjectionsArguments;
use crate::commands::prove::ProveArguments;
use crate::commands::quickstart::QuickstartArguments;
use crate::commands::rates::RatesArguments;
use crate::commands::read::ReadArguments;
use crate::commands::recover::RecoverArguments;
use crate::commands::replay::ReplayArguments;
use crate::commands::report::ReportArguments;
use crate::commands::runs::RunsArguments;
use crate::commands::serve::ServeArguments;
use crate::commands::sessions::SessionsArguments;
use crate::commands::starter::StarterArguments;
use crate::commands::tail::TailArguments;
use crate::commands::token::TokenCommand;
use crate::commands::tools::ToolsArguments;
use crate::commands::trust::TrustArguments;
use crate::commands::verify::VerifyArguments;
use crate::keyring_file::lies_in_data;
use crate::place_parser::PlaceParser;
use crate::token::{self, Named, TokenError};
use bitacora_client::{Connection, LedgerDoubt, ServiceUrl, Token};

/// The default address of the service: it listens there, and commands look for it there.
pub(crate) const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7717);
/// The ledger's default name.
const DEFAULT_LEDGER: &str = "main";
/// The keyring in the current folder, under its name in the documents. The admin token is looked for beside it.
const KEYRING_HERE: &str = "bitacora.keyring";

/// A ledger that records what AI agents do, and decides what they may do.
#[derive(Debug, Parser)]
#[command(name = "bitacora", version, about, propagate_version = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The global options.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// Write JSON: one document on one line, or a line for each item where items come one by one.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The data folder.
    #[arg(long, global = true, env = "BITACORA_DATA", value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,
    /// The keyring's file, never inside the data folder. [default: bitacora/keyring in the configuration folder]
    #[arg(long, global = true, env = "BITACORA_KEYRING", value_name = "FILE")]
    keyring: Option<PathBuf>,
    /// The anchor, which remembers the last tree heads so that an older copy of a ledger is refused: a folder,
    /// s3://BUCKET/PREFIX (gs://, az://; credentials from the environment), or 'none'. [default: the keyring's name
    /// with .anchors]
    #[arg(long, global = true, env = "BITACORA_ANCHOR", hide_env_values = true, value_name = "PLACE", value_parser = PlaceParser::<AnchorPlace>::new())]
    anchor: Option<AnchorPlace>,
    /// The store of archives: a folder, or s3://BUCKET/PREFIX (gs://, az://; credentials from the environment).
    /// [default: archives in the data folder]
    #[arg(long, global = true, env = "BITACORA_ARCHIVE_STORE", hide_env_values = true, value_name = "PLACE", value_parser = PlaceParser::<ArchivePlace>::new())]
    archive_store: Option<ArchivePlace>,
    /// Accept an anchor that remembers nothing of a ledger; it begins with the tree heads that are there. Refused by default.
    #[arg(long, global = true)]
    pub(crate) new_anchor: bool,
    /// Continue without the anchor while it is unreachable, also where it remembers ledgers; an older copy then opens unnoticed.
    #[arg(long, global = true)]
    pub(crate) anchor_optional: bool,
    /// The service: http://HOST:PORT or unix:PATH. [default: http://127.0.0.1:7717, where no data folder is named]
    #[arg(long, global = true, env = "BITACORA_URL", value_name = "URL")]
    pub(crate) url: Option<ServiceUrl>,
    /// The file with the token for the service. [default: the token in BITACORA_TOKEN; for people, and a service on
    /// this machine, the admin token beside the keyring]
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The ledger's name.
    #[arg(long, global = true, env = "BITACORA_LEDGER", value_name = "NAME", default_value = DEFAULT_LEDGER)]
    pub(crate) ledger: LedgerName,
    #[arg(skip)]
    said: Said,
    /// The doubt about the ledger that was named in answers.
    #[arg(skip)]
    pub(crate) doubt: LedgerDoubt,
}

/// The options given on the command line itself, apart from variables and defaults.
#[derive(Debug, Clone, Default)]
struct Said {
    /// Set when the data folder or the service stands on the command line.
    place: bool,
    /// Set when the ledger's name stands on the command line.
    ledger: bool,
    /// Set when the command has chosen the place by [`Global::place`].
    is_chosen: Arc<AtomicBool>,
}

impl Arguments {
    /// Reads the command line of this process.
    ///
    /// # Errors
    /// An answer of the parser, help and version too, or two places at once.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        Self::read_from(std::env::args_os())
    }

    fn read_from(line: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(line)?;
        let mut arguments = Self::from_arg_matches(&matches)?;
        let takes_both = matches!(&arguments.command, Command::Replay(replay) if replay.is_live());
        let settled = arguments.global.settle(&matches, takes_both);
        settled.map_err(|error| command.error(ErrorKind::ArgumentConflict, error))?;
        Ok(arguments)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a demo: a new ledger filled with an invented hour of several agents, verified and served.
    Quickstart(QuickstartArguments),
    /// Append events from a file or stdin; each is accepted once, also when it is sent again.
    Append(AppendArguments),
    /// Read events: lines for people or, with --json, one JSON object a line.
    Read(ReadArguments),
    /// Import transcripts and logs of agents, CloudEvents, or any lines of JSON; each event once.
    Import(Box<ImportArguments>),
    /// List imports, show the change that each would make, and accept them.
    Imports(ImportsArguments),
    /// Ask whether a tool call may begin; the decision is recorded before it is shown.
    Decide(Box<DecideArguments>),
    /// Report the outcome of a call.
    Outcome(Box<OutcomeArguments>),
    /// List calls: caller, decision, reason and outcome.
    Calls(Box<CallsArguments>),
    /// Show costs and usage of models and tools, by model, task, agent or day.
    Costs(CostsArguments),
    /// List runs: state, steps and costs.
    Runs(RunsArguments),
    /// List sessions: agent, program, times and results.
    Sessions(Box<SessionsArguments>),
    /// List, save, fork, copy and delete checkpoints of threads.
    Checkpoints(Box<CheckpointsArguments>),
    /// Show contracts, the conditions before and after calls, with their checks and rollbacks.
    Contracts(ContractsArguments),
    /// List calls with an incomplete record.
    Gaps(GapsArguments),
    /// Summarize the history on one page.
    Report(ReportArguments),
    /// Add a note to an event, a call or a dimension; show notes.
    Annotate(Box<AnnotateArguments>),
    /// Show the progress of read models; rebuild one.
    Projections(ProjectionsArguments),
    /// List pending approvals, and answer them.
    Approvals(Box<ApprovalsArguments>),
    /// List, register and revoke tools.
    Tools(ToolsArguments),
    /// Show, publish, activate, compare and try policies.
    Policy(PolicyArguments),
    /// Compare the ledger with the built-in policy and tools; upgrade it to them.
    Starter(StarterArguments),
    /// Show and set the trust in tools by context; answer suggestions.
    Trust(Box<TrustArguments>),
    /// Show, close and configure circuit breakers.
    Breakers(BreakersArguments),
    /// List, give and revoke grants, the standing consent to calls.
    Grants(Box<GrantsArguments>),
    /// Show rate limits and what is left of them; set limits.
    Rates(RatesArguments),
    /// Show budgets and what is left of them; set budgets.
    Budgets(Box<BudgetsArguments>),
    /// Show or change the enforcement mode.
    Mode(ModeArguments),
    /// Show whether the ledger's clock jumped; accept its time.
    Clock(ClockArguments),
    /// Show, engage or release the panic stop, which denies every call.
    Panic(PanicArguments),
    /// List, suspend and resume agents.
    Agents(AgentsArguments),
    /// Create, show, rotate, retire, restore, lock and unlock the keyring.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Export a proof of one event for a third party; `verify --evidence` checks it.
    Prove(ProveArguments),
    /// Reopen a ledger that is behind its anchor; starts a new generation and records the loss.
    Recover(RecoverArguments),
    /// Rebuild the state that decides from the log; compare it with another state.
    Replay(ReplayArguments),
    /// Serve the ledgers of the data folder over HTTP.
    Serve(ServeArguments),
    /// Show the newest events and follow: lines for people or, with --json, one JSON object a line.
    Tail(TailArguments),
    /// Create, list and revoke tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Move old events into sealed, provable archives; list, check, fetch and restore archives.
    Archive(ArchiveArguments),
    /// Verify every byte of a ledger's folder, also while a service writes to it.
    Verify(VerifyArguments),
    /// Measure the speed of appends, reads and checks on this machine and disk.
    Bench(Box<BenchArguments>),
    /// Write shell completions.
    Completions(CompletionsArguments),
}

/// An option that the command needs and did not get, or options that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("no data folder; name it with --data or BITACORA_DATA")]
    Data,
    #[error("no keyring, and no home folder to look in; name it with --keyring or BITACORA_KEYRING")]
    Keyring,
    #[error(
        "{}: the anchor lies in the data folder {}; name a place outside, so that who puts a copy of the data back does not put back what it is compared with",
        path.display(), data.display()
    )]
    AnchorInData { path: PathBuf, data: PathBuf },
    #[error(
        "{count} imports begin with {beginning}; name more of the digest, which `bitacora imports` shows"
    )]
    ImportBeginning { beginning: String, count: usize },
    #[error(
        "found --data and --url, expected one of them: a command asks a folder or a service; leave one out"
    )]
    TwoPlaces,
    #[error("it is not said what the note is on; name --position, --call or --tool")]
    NoteOnNothing,
    #[error(
        "a replay reads a folder, and none is named; name it with --data, or try a policy on the service with `bitacora policy dry-run` and `bitacora policy what-if`"
    )]
    ReplayFolder,
}

/// The place of a ledger.
pub(crate) enum Place<'a> {
    Service(ServiceUrl),
    /// A ledger in this data folder.
    Folder(&'a Path),
}

impl Global {
    /// Records the options on the command line itself: a place there beats every variable.
    ///
    /// # Errors
    /// [`UsageError::TwoPlaces`], unless the command works on a folder and a service at once.
    fn settle(&mut self, matches: &ArgMatches, takes_both: bool) -> Result<(), UsageError> {
        let is_said = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        let (data, url) = (is_said("data"), is_said("url"));
        (self.said.place, self.said.ledger) = (data || url, is_said("ledger"));
        match (data, url) {
            _ if takes_both => {}
            (true, true) => return Err(UsageError::TwoPlaces),
            (true, false) => self.url = None,
            (false, true) => self.data = None,
            (false, false) => {}
        }
        Ok(())
    }

    /// Returns `true` if the ledger's name stands on the command line.
    pub(crate) fn is_ledger_named(&self) -> bool {
        self.said.ledger
    }

    /// Describes the ledger that was asked, where the command line itself does not name its place.
    pub(crate) fn asked_elsewhere(&self) -> Option<String> {
        if self.said.place || !self.said.is_chosen.load(Ordering::Relaxed) {
            return None;
        }
        let (place, said) = match (&self.url, &self.data) {
            (Some(url), _) => (format!("at {url}"), "BITACORA_URL"),
            (None, Some(data)) => (format!("in {}", data.display()), "BITACORA_DATA"),
            (None, None) => (format!("at http://{DEFAULT_ADDRESS}"), "the usual address"),
        };
        Some(format!("ledger {} {place} ({said})", self.ledger))
    }

    /// Returns the data folder, which the command cannot do without.
    pub(crate) fn data(&self) -> Result<&Path, UsageError> {
        self.data.as_deref().ok_or(UsageError::Data)
    }

    /// Returns the place of the ledger: the service that is named, else the data folder that is named, else the service
    /// at its default address.
    pub(crate) fn place(&self) -> Place<'_> {
        self.said.is_chosen.store(true, Ordering::Relaxed);
        match (&self.url, self.data.as_deref()) {
            (Some(url), _) => Place::Service(url.clone()),
            (None, Some(data)) => Place::Folder(data),
            (None, None) => Place::Service(ServiceUrl::Tcp(DEFAULT_ADDRESS.to_string())),
        }
    }

    /// Returns a connection to the service at `url`, with the token for it.
    pub(crate) fn client(&self, url: &ServiceUrl) -> Result<Connection, TokenError> {
        let token = match self.named_token()? {
            Named::Token(token) => Some(token),
            Named::Nothing => None,
            // A token that nobody named is sent to no other machine.
            Named::Unsaid if url.is_on_this_machine() => self.admin_token()?,
            Named::Unsaid => None,
        };
        Ok(Connection::new(url.clone(), token).noting(&self.doubt))
    }

    /// Returns the token of an agent: one that is named. The admin token is never taken for it.
    pub(crate) fn agents_token(&self) -> Result<Option<Token>, TokenError> {
        Ok(match self.named_token()? {
            Named::Token(token) => Some(token),
            Named::Nothing | Named::Unsaid => None,
        })
    }

    fn named_token(&self) -> Result<Named, TokenError> {
        token::named(self.token_file.as_deref(), self.data.as_deref())
    }

    /// Returns the admin token beside the keyring that is named. If none is named, looks beside `bitacora.keyring` in
    /// the current folder, then beside the keyring in the user's configuration folder.
    fn admin_token(&self) -> Result<Option<Token>, TokenError> {
        let keyrings = match &self.keyring {
            Some(keyring) => vec![keyring.clone()],
            None => [Some(PathBuf::from(KEYRING_HERE)), default_keyring()].into_iter().flatten().collect(),
        };
        for keyring in keyrings {
            if let Some(token) = admin_token::read(&admin_token::beside(&keyring), self.data.as_deref())? {
                return Ok(Some(token));
            }
        }
        Ok(None)
    }

    /// Returns the keyring's file: the one that was named, else the one in the user's configuration folder.
    pub(crate) fn keyring(&self) -> Result<PathBuf, UsageError> {
        self.keyring.clone().or_else(default_keyring).ok_or(UsageError::Keyring)
    }

    /// Returns `true` if there is a keyring to read: one was named, or one lies in the user's configuration folder.
    pub(crate) fn has_keyring(&self) -> bool {
        self.keyring.is_some() || default_keyring().is_some_and(|path| path.exists())
    }

    /// Returns the anchor that the command line names, if it names one.
    ///
    /// # Errors
    /// [`UsageError::AnchorInData`].
    pub(crate) fn named_anchor(&self) -> Result<Option<&AnchorPlace>, UsageError> {
        self.anchor.as_ref().map(|anchor| self.outside_data(anchor).map(|()| anchor)).transpose()
    }

    /// Returns the place of the anchor: the one that is named, else the one beside the keyring.
    pub(crate) fn anchor(&self) -> Result<AnchorPlace, UsageError> {
        let anchor = self.anchor.clone().map_or_else(|| Ok(AnchorPlace::beside(&self.keyring()?)), Ok)?;
        self.outside_data(&anchor)?;
        Ok(anchor)
    }

    /// Returns the store of archives: the one that is named, else the one beside the ledgers of this data folder.
    pub(crate) fn archive_place(&self, data: &Path) -> ArchivePlace {
        self.archive_store.clone().unwrap_or_else(|| archives::beside(data))
    }

    /// Returns the environment for ledgers in this data folder.
    pub(crate) fn environment(&self, data: &Path) -> Environment {
        archives::environment(&archives::store_at(self.archive_place(data)))
    }

    fn outside_data(&self, anchor: &AnchorPlace) -> Result<(), UsageError> {
        match (anchor, &self.data) {
            (AnchorPlace::Folder(path), Some(data)) if lies_in_data(path, data) => {
                Err(UsageError::AnchorInData { path: path.clone(), data: data.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// Returns the keyring's default path by the XDG base directory specification: a configuration folder that is not
/// absolute does not count.
fn default_keyring() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("bitacora").join("keyring"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn what_every_command_understands_may_stand_behind_it() {
        let arguments =
            Arguments::try_parse_from(["bitacora", "keys", "show", "--json", "--ledger", "other"]).unwrap();
        assert!(arguments.global.json);
        assert_eq!(arguments.global.ledger.as_str(), "other");
    }

    #[test]
    fn a_command_that_names_no_place_asks_the_service_at_its_usual_address() {
        let mut global = Arguments::try_parse_from(["bitacora", "keys", "show"]).unwrap().global;
        (global.url, global.data) = (None, None);
        assert!(matches!(global.place(), Place::Service(url) if url.to_string() == "http://127.0.0.1:7717"));
        global.data = Some(PathBuf::from("data"));
        assert!(matches!(global.place(), Place::Folder(data) if data == Path::new("data")));
        global.url = Some("unix:socket".parse().unwrap());
        assert!(matches!(global.place(), Place::Service(url) if url.to_string() == "unix:socket"));
    }

    /// Each way to name a place on the command line, against each way to name the other kind in a variable.
    #[test]
    fn a_place_on_the_command_line_beats_every_variable_and_two_are_refused() {
        let settled = |line: &[&str], data: Option<&str>, url: Option<&str>| {
            let matches = Arguments::command().try_get_matches_from(line).unwrap();
            let mut global = Arguments::from_arg_matches(&matches).unwrap().global;
            // As clap fills in variables: where the command line says nothing.
            global.data = global.data.or_else(|| data.map(PathBuf::from));
            global.url = global.url.or_else(|| url.map(|url| url.parse().unwrap()));
            global.settle(&matches, false).map(|()| global)
        };
        for line in [
            ["bitacora", "--data", "here", "calls"].to_vec(),
            ["bitacora", "calls", "--data", "here"].to_vec(),
            ["bitacora", "sessions", "list", "--data=here"].to_vec(),
        ] {
            let global = settled(&line, None, Some("http://127.0.0.1:1")).unwrap();
            assert!(matches!(global.place(), Place::Folder(data) if data == Path::new("here")), "{line:?}");
            assert_eq!(global.asked_elsewhere(), None);
        }
        let global = settled(&["bitacora", "calls", "--url", "unix:s"], Some("there"), None).unwrap();
        assert!(matches!(global.place(), Place::Service(url) if url.to_string() == "unix:s"));
        assert_eq!(global.data(), Err(UsageError::Data), "nor is the folder of the variable verified");
        let both = ["bitacora", "--url", "unix:s", "calls", "--data", "here"];
        assert_eq!(settled(&both, None, None).err(), Some(UsageError::TwoPlaces));
        assert_eq!(Arguments::read_from(both).unwrap_err().exit_code(), 2);
        let live = ["bitacora", "replay", "--live", "--data", "d", "--url", "unix:s", "--keyring", "k"];
        let live = Arguments::read_from(live).unwrap().global;
        assert!(live.data.is_some() && live.url.is_some());

        for (data, url, expected) in [
            (Some("d"), None, "ledger main in d (BITACORA_DATA)"),
            (Some("d"), Some("unix:s"), "ledger main at unix:s (BITACORA_URL)"),
            (None, None, "ledger main at http://127.0.0.1:7717 (the usual address)"),
        ] {
            let global = settled(&["bitacora", "--ledger", "main", "calls"], data, url).unwrap();
            assert_eq!(global.asked_elsewhere(), None, "nobody was asked yet");
            let _place = global.place();
            assert_eq!(global.asked_elsewhere().as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_ledger_that_would_leave_its_folder_is_a_usage_error() {
        for name in ["../main", "a/b", "", "A"] {
            let parsed = Arguments::try_parse_from(["bitacora", "keys", "show", "--ledger", name]);
            assert_eq!(parsed.unwrap_err().exit_code(), 2, "{name:?}");
        }
    }
}
