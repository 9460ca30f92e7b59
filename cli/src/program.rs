//! The program: from the command line to the exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::arguments::{CommandLine, ProgramCommand};
use crate::commands;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::terminal::output::{Output, OutputError, printable};

/// Runs the program on this process's arguments, environment and standard streams.
#[must_use]
pub fn main() -> ExitCode {
    match CommandLine::read() {
        Ok(arguments) => run(&arguments).into(),
        Err(error) => {
            // Help and usage go where clap sends them; if nobody listens there, there is nobody to tell.
            let _unheard = error.print().is_err();
            if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
        }
    }
}

fn run(arguments: &CommandLine) -> Exit {
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
fn exit_in_doubt(command: &ProgramCommand, exit: Exit) -> Exit {
    match (exit, command) {
        (Exit::Done, _) | (Exit::Failed, ProgramCommand::Read(_) | ProgramCommand::Tail(_)) => {
            Exit::Incomplete
        }
        (exit, _) => exit,
    }
}

fn dispatch(arguments: &CommandLine, output: &mut Output) -> Result<Exit, CommandError> {
    let global = &arguments.global;
    match &arguments.command {
        ProgramCommand::Append(append) => commands::append::run(append, global, output),
        ProgramCommand::Read(read) => commands::read::run(read, global, output),
        ProgramCommand::Bench(bench) => commands::bench::run(bench, global, output),
        ProgramCommand::Decide(decide) => commands::decide::run(decide, global, output),
        ProgramCommand::Outcome(outcome) => commands::outcome::run(outcome, global, output),
        ProgramCommand::Approvals(approvals) => commands::approvals::run(approvals, global, output),
        ProgramCommand::Tools(tools) => commands::tools::run(tools, global, output),
        ProgramCommand::Policy(policy) => commands::policy::run(policy, global, output),
        ProgramCommand::Starter(starter) => commands::starter::run(starter, global, output),
        ProgramCommand::Trust(trust) => commands::trust::run(trust, global, output),
        ProgramCommand::Breakers(breakers) => commands::breakers::run(breakers, global, output),
        ProgramCommand::Calls(calls) => commands::calls::run(calls, global, output),
        ProgramCommand::Costs(costs) => commands::costs::run(costs, global, output),
        ProgramCommand::Runs(runs) => commands::runs::run(runs, global, output),
        ProgramCommand::Contracts(contracts) => commands::contracts::run(contracts, global, output),
        ProgramCommand::Sessions(sessions) => commands::sessions::run(sessions, global, output),
        ProgramCommand::Checkpoints(checkpoints) => commands::checkpoints::run(checkpoints, global, output),
        ProgramCommand::Gaps(gaps) => commands::gaps::run(gaps, global, output),
        ProgramCommand::Report(report) => commands::report::run(report, global, output),
        ProgramCommand::Annotate(annotate) => commands::annotate::run(annotate, global, output),
        ProgramCommand::Projections(projections) => commands::projections::run(projections, global, output),
        ProgramCommand::Grants(grants) => commands::grants::run(grants, global, output),
        ProgramCommand::Rates(rates) => commands::rates::run(rates, global, output),
        ProgramCommand::Budgets(budgets) => commands::budgets::run(budgets, global, output),
        ProgramCommand::Mode(mode) => commands::mode::run(mode, global, output),
        ProgramCommand::Clock(clock) => commands::clock::run(clock, global, output),
        ProgramCommand::Panic(panic) => commands::panic::run(panic, global, output),
        ProgramCommand::Agents(agents) => commands::panic::run_agents(agents, global, output),
        ProgramCommand::Imports(imports) => commands::imports::run(imports, global, output),
        ProgramCommand::Import(import) => commands::import::run(import, global, output),
        ProgramCommand::Quickstart(quickstart) => commands::quickstart::run(quickstart, global, output),
        ProgramCommand::Completions(completions) => {
            commands::completions::run(completions, &mut CommandLine::command(), global, output)
        }
        ProgramCommand::Prove(prove) => commands::prove::run(prove, global, output),
        ProgramCommand::Keys(keys) => commands::keys::run(keys, global, output),
        ProgramCommand::Recover(recover) => commands::recover::run(recover, global, output),
        ProgramCommand::Replay(replay) => commands::replay::run(replay, global, output),
        ProgramCommand::Serve(serve) => commands::serve::run(serve, global, output),
        ProgramCommand::Tail(tail) => commands::tail::run(tail, global, output),
        ProgramCommand::Token(token) => commands::token::run(token, global, output),
        ProgramCommand::Archive(archive) => commands::archive::run(archive, global, output),
        ProgramCommand::Verify(verify) => commands::verify::run(verify, global, output),
    }
}

fn tell(error: &CommandError) {
    if !error.is_silent() {
        let _unheard = writeln!(io::stderr(), "bitacora: {}", printable(&error.to_string())).is_err();
    }
}
