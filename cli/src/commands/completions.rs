//! `completions`: completion scripts for shells.

use clap::Args;
use clap_complete::Shell;
use serde_json::json;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::options::global::Global;
use crate::terminal::output::Output;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(
    arguments: &CompletionsArguments,
    command: &mut clap::Command,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "bitacora", &mut script);
    if global.json {
        let script = String::from_utf8_lossy(&script);
        output.json(&json!({"shell": arguments.shell.to_string(), "script": script}))?;
    } else {
        output.bytes(&script)?;
    }
    Ok(Exit::Done)
}
