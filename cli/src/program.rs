//! The program: from the command line to the exit code.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use crate::arguments::{CommandLine, ProgramCommand};
use crate::commands;
use crate::commands::serve::SettingsReader;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::options::global::Global;
use crate::settings;
use crate::terminal::note;
use crate::terminal::output::{OutputError, printable};
use crate::terminal::problem::{problem, usage_problem};

/// Runs the program on this process's arguments, environment and standard streams.
#[must_use]
pub fn main() -> ExitCode {
    match CommandLine::read() {
        Ok(CommandLine { command: ProgramCommand::Hook(hook), .. }) => commands::hook::run(&hook),
        Ok(arguments) => run(arguments).into(),
        Err(error) => {
            if !error.use_stderr() {
                return match error.print() {
                    // A pipe that is closed has been read as far as was wanted.
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Exit::Failed.into(),
                    Ok(()) | Err(_) => Exit::Done.into(),
                };
            }
            let text = error.to_string();
            let is_json = std::env::args_os().any(|argument| argument == "--json");
            let shown = if is_json { usage_problem(&text) } else { printable_lines(&text) };
            // If nobody listens there, there is nobody to tell.
            let _unheard = writeln!(io::stderr(), "{}", shown.trim_end()).is_err();
            Exit::Usage.into()
        }
    }
}

/// Returns the lines of a text that holds arguments, which may come from elsewhere.
fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

fn run(CommandLine { global, command }: CommandLine) -> Exit {
    let reads_events = matches!(command, ProgramCommand::Read(_) | ProgramCommand::Tail(_));
    let mut context = CommandContext::new(global);
    let ended = dispatch(command, &mut context);
    let closed = context.end();
    let ended = ended.and_then(|exit| closed.map(|()| exit));
    let flushed = context.output.flush();
    let global = &context.global;
    if let Some(asked) = global.asked_elsewhere() {
        // The variable may name another ledger than whoever reads the answer thinks of.
        note(&format!("asked {asked}"));
    }
    let doubt = global.doubt.reason();
    if let Some(reason) = &doubt {
        note(&format!("the answer rests on less than the ledger held: {reason}"));
    }
    let in_doubt = |exit| if doubt.is_some() { exit_in_doubt(reads_events, exit) } else { exit };
    match (ended.map(in_doubt), flushed) {
        (Ok(exit), Ok(()) | Err(OutputError::Closed)) => exit,
        (Ok(exit), Err(error)) => {
            tell(&CommandError::from(error), global);
            // A result that is worse than a failure to print it stays what it is.
            if exit == Exit::Done { Exit::Failed } else { exit }
        }
        (Err(error), _) => {
            tell(&error, global);
            in_doubt(error.exit())
        }
    }
}

/// Returns the exit of a command whose ledger is in doubt: it saw only a part of the ledger.
fn exit_in_doubt(reads_events: bool, exit: Exit) -> Exit {
    match exit {
        Exit::Done => Exit::Incomplete,
        Exit::Failed if reads_events => Exit::Incomplete,
        exit => exit,
    }
}

/// Runs the binary `bitacora-hook` on this process's arguments and standard streams.
#[must_use]
pub fn hook_main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let [only] = arguments.as_slice()
        && only == "--version"
    {
        return commands::hook::say_version();
    }
    commands::hook::run_as_hook(&arguments)
}

/// Returns the reader of the settings on this process's command line.
fn read_settings() -> SettingsReader {
    let line: Vec<_> = std::env::args_os().collect();
    Arc::new(move || Ok(settings::read(&line)?))
}

fn dispatch(command: ProgramCommand, context: &mut CommandContext) -> Result<Exit, CommandError> {
    use ProgramCommand as Command;
    // Commands on a service take the whole context, those on files the options and stdout.
    match command {
        Command::Outcome(outcome) => commands::outcome::run(*outcome, context),
        Command::Decide(decide) => commands::decide::run(*decide, context),
        Command::Approvals(approvals) => commands::approvals::run(*approvals, context),
        Command::Tools(tools) => commands::tools::run(tools, context),
        Command::Policy(policy) => commands::policy::run(policy, context),
        Command::Starter(starter) => commands::starter::run(&starter, context),
        Command::Trust(trust) => commands::trust::run(*trust, context),
        Command::Breakers(breakers) => commands::breakers::run(breakers, context),
        Command::Calls(calls) => commands::calls::run(&calls, context),
        Command::Costs(costs) => commands::costs::run(&costs, context),
        Command::Runs(runs) => commands::runs::run(&runs, context),
        Command::Contracts(contracts) => commands::contracts::run(&contracts, context),
        Command::Sessions(sessions) => commands::sessions::run(&sessions, context),
        Command::Checkpoints(checkpoints) => commands::checkpoints::run(*checkpoints, context),
        Command::Gaps(gaps) => commands::gaps::run(&gaps, context),
        Command::Report(report) => commands::report::run(&report, context),
        Command::Export(export) => commands::export::run(*export, context),
        Command::Annotate(annotate) => commands::annotate::run(*annotate, context),
        Command::Erase(erase) => commands::erase::run(*erase, context),
        Command::Holds(holds) => commands::holds::run(*holds, context),
        Command::Retention(retention) => commands::retention::run(*retention, context),
        Command::Tiers(tiers) => commands::tiers::run(&tiers, context),
        Command::Projections(projections) => commands::projections::run(&projections, context),
        Command::Grants(grants) => commands::grants::run(*grants, context),
        Command::Rates(rates) => commands::rates::run(rates, context),
        Command::Budgets(budgets) => commands::budgets::run(*budgets, context),
        Command::Mode(mode) => commands::mode::run(mode, context),
        Command::Clock(clock) => commands::clock::run(clock, context),
        Command::Panic(panic) => commands::panic::run(panic, context),
        Command::Agents(agents) => commands::panic::run_agents(agents, context),
        Command::Console(console) => commands::console::run(&console, context),
        Command::Status(status) => commands::status::run(&status, context),
        Command::Connect(connect) => commands::connect::run(&connect, context),
        Command::Disconnect(disconnect) => commands::connect::disconnect(&disconnect, context),
        Command::Doctor(doctor) => commands::doctor::run(&doctor, context),
        Command::Watch(watch) => commands::watch::run(&watch, context),
        Command::Mcp(mcp) => commands::mcp::run(&mcp, context),
        // Its exit codes are the harness's, so it ran before anything of this.
        Command::Hook(_) => Ok(Exit::Done),
        Command::Imports(imports) => commands::imports::run(imports, context),
        Command::Append(append) => commands::append::run(&append, &context.global, &mut context.output),
        Command::Read(read) => commands::read::run(&read, &context.global, &mut context.output),
        Command::Tail(tail) => commands::tail::run(&tail, &context.global, &mut context.output),
        Command::Import(import) => commands::import::run(&import, &context.global, &mut context.output),
        Command::Verify(verify) => commands::verify::run(&verify, &context.global, &mut context.output),
        Command::Prove(prove) => commands::prove::run(&prove, context),
        Command::Keys(keys) => commands::keys::run(&keys, &context.global, &mut context.output),
        Command::Recover(recover) => commands::recover::run(&recover, &context.global, &mut context.output),
        Command::Replay(replay) => commands::replay::run(&replay, &context.global, &mut context.output),
        Command::Archive(archive) => commands::archive::run(&archive, &context.global, &mut context.output),
        Command::Serve(_) => commands::serve::run(read_settings(), &mut context.output),
        Command::Config(config) => {
            commands::config::run(&config, &read_settings(), &settings::SHOWN_SETTINGS, &mut context.output)
        }
        Command::Quickstart(quickstart) => {
            commands::quickstart::run(&quickstart, &context.global, &mut context.output)
        }
        Command::Token(token) => commands::token::run(&token, &context.global, &mut context.output),
        Command::Bench(bench) => commands::bench::run(&bench, &context.global, &mut context.output),
        Command::Completions(completions) => commands::completions::run(
            &completions,
            &mut CommandLine::parser(),
            &context.global,
            &mut context.output,
        ),
    }
}

/// Writes why a command failed: in words, or as a problem document with `--json`.
fn tell(error: &CommandError, global: &Global) {
    if error.is_silent() {
        return;
    }
    if global.json {
        let _unheard = writeln!(io::stderr(), "{}", problem(error)).is_err();
    } else {
        note(&error.to_string());
    }
}
