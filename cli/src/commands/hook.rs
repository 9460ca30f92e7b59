//! `hook`: the process that a harness runs before and after each tool call.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use bitacora_connect::{HookExit, HookProgram, run_hook};
use clap::Args;

/// The arguments that `connect` writes into a harness's settings.
#[derive(Debug, Args)]
pub(crate) struct HookCommandArguments {
    /// `claude`, `codex`, `gemini` or `cursor`, then --connection FILE and --enforce, as `connect` writes them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS", required = true)]
    arguments: Vec<OsString>,
}

/// Runs as the hook of a harness: stdin to stdout. The exit code is the harness's language: 2 blocks a call.
pub(crate) fn run(arguments: &HookCommandArguments) -> ExitCode {
    run_as_hook(&arguments.arguments)
}

/// Runs as the hook with these arguments.
pub(crate) fn run_as_hook(arguments: &[OsString]) -> ExitCode {
    let HookExit { stdout, stderr, code } =
        run_hook(arguments, io::stdin(), |name: &str| std::env::var(name).ok());
    let written = writeln!(io::stdout(), "{stdout}").and_then(|()| io::stdout().flush());
    if !stderr.is_empty() {
        // If nobody listens there, there is nobody to tell.
        let _unheard = writeln!(io::stderr(), "{stderr}").is_err();
    }
    // A verdict that the harness did not hear blocks the call where calls are enforced: the settings end in `|| exit 2`.
    if written.is_err() && code == 0 { ExitCode::FAILURE } else { ExitCode::from(code) }
}

/// Writes the version of the binary `bitacora-hook`: `doctor` asks for it.
pub(crate) fn say_version() -> ExitCode {
    let version = format!("{} {}", HookProgram::SMALL, env!("CARGO_PKG_VERSION"));
    if writeln!(io::stdout(), "{version}").is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
