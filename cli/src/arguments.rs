//! The command line: the global options and a command.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

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
use crate::commands::config::ConfigArguments;
use crate::commands::connect::{ConnectArguments, DisconnectArguments};
use crate::commands::console::ConsoleArguments;
use crate::commands::contracts::ContractsArguments;
use crate::commands::costs::CostsArguments;
use crate::commands::decide::DecideArguments;
use crate::commands::doctor::DoctorArguments;
use crate::commands::erase::EraseArguments;
use crate::commands::export::ExportArguments;
use crate::commands::gaps::GapsArguments;
use crate::commands::grants::GrantsArguments;
use crate::commands::holds::HoldsArguments;
use crate::commands::hook::HookCommandArguments;
use crate::commands::import::ImportArguments;
use crate::commands::imports::ImportsArguments;
use crate::commands::keys::KeysCommand;
use crate::commands::mcp::McpArguments;
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
use crate::commands::retention::RetentionArguments;
use crate::commands::runs::RunsArguments;
use crate::commands::serve::ServeArguments;
use crate::commands::sessions::SessionsArguments;
use crate::commands::starter::StarterArguments;
use crate::commands::status::StatusArguments;
use crate::commands::tail::TailArguments;
use crate::commands::tiers::TiersArguments;
use crate::commands::token::TokenCommand;
use crate::commands::tools::ToolsArguments;
use crate::commands::trust::TrustArguments;
use crate::commands::verify::VerifyArguments;
use crate::commands::watch::WatchArguments;
use crate::help;
use crate::options::global::Global;
use crate::settings;

/// A ledger that records what AI agents do, and decides what they may do.
#[derive(Debug, Parser)]
#[command(name = "bitacora", version, about, propagate_version = true)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: ProgramCommand,
}

impl CommandLine {
    /// Reads the command line of this process.
    ///
    /// # Errors
    /// An answer of the parser, help and version too, or two places at once.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        Self::read_from(std::env::args_os())
    }

    /// Returns the parser, with groups and examples.
    pub(crate) fn parser() -> Command {
        help::with_help(settings::with_setting_variables(Self::command()))
    }

    fn read_from(line: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Self, clap::Error> {
        Self::parse(Self::parser(), line).map(|(arguments, _)| arguments)
    }

    /// Reads a command line with this parser, and returns what matched too.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn parse(
        mut command: Command,
        line: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<(Self, ArgMatches), clap::Error> {
        let matches = command.try_get_matches_from_mut(line)?;
        if let Some((name, option)) = help::unused_option(&matches) {
            let fault = format!("found {option}, which `bitacora {name}` does not use; leave it out");
            return Err(command.error(ErrorKind::UnknownArgument, fault));
        }
        let mut arguments = Self::from_arg_matches(&matches)?;
        let takes_both = matches!(&arguments.command, ProgramCommand::Replay(replay) if replay.is_live());
        let settled = arguments.global.settle(&matches, takes_both);
        settled.map_err(|error| command.error(ErrorKind::ArgumentConflict, error))?;
        Ok((arguments, matches))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProgramCommand {
    /// Start a demo: an invented hour of agents, verified and served.
    Quickstart(QuickstartArguments),
    /// Append events; a repeated event is accepted once.
    Append(AppendArguments),
    /// Read events, as lines of text or JSON.
    Read(ReadArguments),
    /// Import agents' transcripts and logs; each event is added once.
    Import(Box<ImportArguments>),
    /// Write events to a file as JSON lines, CloudEvents, CSV, Parquet or OCSF, with a manifest.
    Export(Box<ExportArguments>),
    /// List imports, show what each would change, and accept them.
    Imports(ImportsArguments),
    /// Ask whether a tool call may begin; records the decision first.
    Decide(Box<DecideArguments>),
    /// Report the outcome of a call.
    Outcome(Box<OutcomeArguments>),
    /// List calls: caller, decision, reason and outcome.
    Calls(Box<CallsArguments>),
    /// Show costs and usage of models and tools.
    Costs(CostsArguments),
    /// List runs: state, steps and costs.
    Runs(RunsArguments),
    /// List sessions: agent, program, times and results.
    Sessions(Box<SessionsArguments>),
    /// List, save, fork, copy and delete checkpoints of threads.
    Checkpoints(Box<CheckpointsArguments>),
    /// Show contracts (conditions on calls), checks and rollbacks.
    Contracts(ContractsArguments),
    /// List calls with an incomplete record.
    Gaps(GapsArguments),
    /// Report a day, who did what, tools, reviews, and what was learned.
    Report(ReportArguments),
    /// Add a note to an event, a call or a dimension; show notes.
    Annotate(Box<AnnotateArguments>),
    /// Erase a data subject: destroy the key of its events, for good.
    Erase(Box<EraseArguments>),
    /// List, place and release legal holds, which win over erasures and the retention policy.
    Holds(Box<HoldsArguments>),
    /// Show or set the retention policy: how long events are kept.
    Retention(Box<RetentionArguments>),
    /// Show what lies in memory, on this disk and in archives.
    Tiers(TiersArguments),
    /// Show the progress of read models; rebuild one.
    Projections(ProjectionsArguments),
    /// List pending approvals, and answer them.
    Approvals(Box<ApprovalsArguments>),
    /// List, register and revoke tools.
    Tools(ToolsArguments),
    /// Show, publish, activate, compare and try policies.
    Policy(PolicyArguments),
    /// Compare with the built-in policy and tools; upgrade to them.
    Starter(StarterArguments),
    /// Show and set the trust in tools by context; answer suggestions.
    Trust(Box<TrustArguments>),
    /// Show, close and configure circuit breakers.
    Breakers(BreakersArguments),
    /// List, give and revoke grants: standing consent to calls.
    Grants(Box<GrantsArguments>),
    /// Show rate limits and what is left; set limits.
    Rates(RatesArguments),
    /// Show budgets and what is left; set budgets.
    Budgets(Box<BudgetsArguments>),
    /// Show or change the enforcement mode.
    Mode(ModeArguments),
    /// Show whether the ledger's clock jumped; accept its time.
    Clock(ClockArguments),
    /// Show, engage or release the panic stop, which denies every call.
    Panic(PanicArguments),
    /// List, suspend and resume agents.
    Agents(AgentsArguments),
    /// Create, show, rotate, retire, restore, lock, unlock the keyring.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Export a proof of one event; `verify --evidence` checks it.
    Prove(ProveArguments),
    /// Reopen a ledger that is behind its anchor; records the loss.
    Recover(RecoverArguments),
    /// Rebuild the deciding state from the log; compare states.
    Replay(ReplayArguments),
    /// Show which ledger answers, its state, and what is pending.
    Status(StatusArguments),
    /// Connect a coding agent: its harness asks this ledger before each tool call.
    Connect(Box<ConnectArguments>),
    /// Disconnect a coding agent: restore its settings and revoke its token.
    Disconnect(DisconnectArguments),
    /// Check connected coding agents, and say how to mend what fails.
    Doctor(DoctorArguments),
    /// Watch the transcripts of connected coding agents for calls that dodged the gate.
    Watch(WatchArguments),
    /// Run as the hook of a harness, as `connect` sets it up.
    Hook(HookCommandArguments),
    /// Gate an MCP server: each tool call asks this ledger first.
    Mcp(Box<McpArguments>),
    /// Open the console in a browser, signed in with your token.
    Console(ConsoleArguments),
    /// Serve the ledgers of the data folder over HTTP.
    Serve(Box<ServeArguments>),
    /// Check and show the settings of `serve`: its file, variables and options.
    Config(ConfigArguments),
    /// Show the newest events and follow, as lines of text or JSON.
    Tail(TailArguments),
    /// Create, list and revoke tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Move old events into sealed archives; check and restore them.
    Archive(ArchiveArguments),
    /// Verify every byte of a ledger's folder, even while it is served.
    Verify(VerifyArguments),
    /// Measure appends, reads and checks on this machine and disk.
    Bench(Box<BenchArguments>),
    /// Write shell completions.
    Completions(CompletionsArguments),
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::options::global::LedgerLocation;
    use crate::options::usage::UsageError;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn what_every_command_understands_may_stand_behind_it() {
        let arguments =
            CommandLine::try_parse_from(["bitacora", "keys", "show", "--json", "--ledger", "other"]).unwrap();
        assert!(arguments.global.json);
        assert_eq!(arguments.global.ledger.as_str(), "other");
    }

    #[test]
    fn a_command_that_names_no_place_asks_the_service_at_its_usual_address() {
        let mut global = CommandLine::try_parse_from(["bitacora", "keys", "show"]).unwrap().global;
        (global.url, global.data) = (None, None);
        assert!(
            matches!(global.place(), LedgerLocation::Service(url) if url.to_string() == "http://127.0.0.1:7717")
        );
        global.data = Some(PathBuf::from("data"));
        assert!(matches!(global.place(), LedgerLocation::Folder(data) if data == Path::new("data")));
        global.url = Some("unix:socket".parse().unwrap());
        assert!(matches!(global.place(), LedgerLocation::Service(url) if url.to_string() == "unix:socket"));
    }

    /// Each way to name a place on the command line, against each way to name the other kind in a variable.
    #[test]
    fn a_place_on_the_command_line_beats_every_variable_and_two_are_refused() {
        let settled = |line: &[&str], data: Option<&str>, url: Option<&str>| {
            let matches = CommandLine::command().try_get_matches_from(line).unwrap();
            let mut global = CommandLine::from_arg_matches(&matches).unwrap().global;
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
            assert!(
                matches!(global.place(), LedgerLocation::Folder(data) if data == Path::new("here")),
                "{line:?}"
            );
            assert_eq!(global.asked_elsewhere(), None);
        }
        let global = settled(&["bitacora", "calls", "--url", "unix:s"], Some("there"), None).unwrap();
        assert!(matches!(global.place(), LedgerLocation::Service(url) if url.to_string() == "unix:s"));
        assert_eq!(global.data(), Err(UsageError::Data), "nor is the folder of the variable verified");
        let both = ["bitacora", "--url", "unix:s", "calls", "--data", "here"];
        assert_eq!(settled(&both, None, None).err(), Some(UsageError::TwoPlaces));
        assert_eq!(CommandLine::read_from(both).unwrap_err().exit_code(), 2);
        let live = ["bitacora", "replay", "--live", "--data", "d", "--url", "unix:s", "--keyring", "k"];
        let live = CommandLine::read_from(live).unwrap().global;
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
            let parsed = CommandLine::try_parse_from(["bitacora", "keys", "show", "--ledger", name]);
            assert_eq!(parsed.unwrap_err().exit_code(), 2, "{name:?}");
        }
    }
}
