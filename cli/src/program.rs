//! The program: from the command line to the exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::arguments::{Arguments, Command};
use crate::commands;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::{Output, OutputError, printable};

/// Runs the program on this process's arguments, environment and standard streams.
#[must_use]
pub fn main() -> ExitCode {
    match Arguments::read() {
        Ok(arguments) => run(&arguments).into(),
        Err(error) => {
            // Help and usage go where clap sends them; if nobody listens there, there is nobody to tell.
            let _unheard = error.print().is_err();
            if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
        }
    }
}

fn run(arguments: &Arguments) -> Exit {
    let mut output = Output::stdout();
    let ended = dispatch(arguments, &mut output);
    let flushed = output.flush();
    if let Some(asked) = arguments.global.asked_elsewhere() {
        // The variable may name another ledger than whoever reads the answer thinks of.
        let _unheard = writeln!(io::stderr(), "bitacora: asked {}", printable(&asked)).is_err();
    }
    let doubt = arguments.global.doubt.reason();
    if let Some(reason) = &doubt {
        let reason = printable(reason);
        let _unheard =
            writeln!(io::stderr(), "bitacora: the answer rests on less than the ledger held: {reason}")
                .is_err();
    }
    let in_doubt = |exit| if doubt.is_some() { exit_in_doubt(&arguments.command, exit) } else { exit };
    let ended = ended.map(in_doubt);
    match (ended, flushed) {
        (Ok(exit), Ok(()) | Err(OutputError::Closed)) => exit,
        (Ok(exit), Err(error)) => {
            tell(&CommandError::from(error));
            // A result that is worse than a failure to print it stays what it is.
            if exit == Exit::Done { Exit::Failed } else { exit }
        }
        (Err(error), _) => {
            tell(&error);
            in_doubt(error.exit())
        }
    }
}

/// Returns the exit of a command whose ledger is in doubt: it saw only a part of the ledger.
fn exit_in_doubt(command: &Command, exit: Exit) -> Exit {
    match (exit, command) {
        (Exit::Done, _) | (Exit::Failed, Command::Read(_) | Command::Tail(_)) => Exit::Incomplete,
        (exit, _) => exit,
    }
}

fn dispatch(arguments: &Arguments, output: &mut Output) -> Result<Exit, CommandError> {
    let global = &arguments.global;
    match &arguments.command {
        Command::Append(append) => commands::append::run(append, global, output),
        Command::Read(read) => commands::read::run(read, global, output),
        Command::Bench(bench) => commands::bench::run(bench, global, output),
        Command::Decide(decide) => commands::decide::run(decide, global, output),
        Command::Outcome(outcome) => commands::outcome::run(outcome, global, output),
        Command::Approvals(approvals) => commands::approvals::run(approvals, global, output),
        Command::Tools(tools) => commands::tools::run(tools, global, output),
        Command::Policy(policy) => commands::policy::run(policy, global, output),
        Command::Starter(starter) => commands::starter::run(starter, global, output),
        Command::Trust(trust) => commands::trust::run(trust, global, output),
        Command::Breakers(breakers) => commands::breakers::run(breakers, global, output),
        Command::Calls(calls) => commands::calls::run(calls, global, output),
        Command::Costs(costs) => commands::costs::run(costs, global, output),
        Command::Runs(runs) => commands::runs::run(runs, global, output),
        Command::Contracts(contracts) => commands::contracts::run(contracts, global, output),
        Command::Sessions(sessions) => commands::sessions::run(sessions, global, output),
        Command::Checkpoints(checkpoints) => commands::checkpoints::run(checkpoints, global, output),
        Command::Gaps(gaps) => commands::gaps::run(gaps, global, output),
        Command::Report(report) => commands::report::run(report, global, output),
        Command::Annotate(annotate) => commands::annotate::run(annotate, global, output),
        Command::Projections(projections) => commands::projections::run(projections, global, output),
        Command::Grants(grants) => commands::grants::run(grants, global, output),
        Command::Rates(rates) => commands::rates::run(rates, global, output),
        Command::Budgets(budgets) => commands::budgets::run(budgets, global, output),
        Command::Mode(mode) => commands::mode::run(mode, global, output),
        Command::Clock(clock) => commands::clock::run(clock, global, output),
        Command::Panic(panic) => commands::panic::run(panic, global, output),
        Command::Agents(agents) => commands::panic::run_agents(agents, global, output),
        Command::Imports(imports) => commands::imports::run(imports, global, output),
        Command::Import(import) => commands::import::run(import, global, output),
        Command::Quickstart(quickstart) => commands::quickstart::run(quickstart, global, output),
        Command::Completions(completions) => {
            commands::completions::run(completions, &mut Arguments::command(), global, output)
        }
        Command::Prove(prove) => commands::prove::run(prove, global, output),
        Command::Keys(keys) => commands::keys::run(keys, global, output),
        Command::Recover(recover) => commands::recover::run(recover, global, output),
        Command::Replay(replay) => commands::replay::run(replay, global, output),
        Command::Serve(serve) => commands::serve::run(serve, global, output),
        Command::Tail(tail) => commands::tail::run(tail, global, output),
        Command::Token(token) => commands::token::run(token, global, output),
        Command::Archive(archive) => commands::archive::run(archive, global, output),
        Command::Verify(verify) => commands::verify::run(verify, global, output),
    }
}

fn tell(error: &CommandError) {
    if !error.is_silent() {
        let _unheard = writeln!(io::stderr(), "bitacora: {}", printable(&error.to_string())).is_err();
    }
}
