//! `hook`: the process that a harness runs before and after each tool call.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use bitacora_connect::{HookExit, HookProgram, run_hook};
use clap::Args;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};

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
    let HookExit { stdout, stderr, code, unheard } =
        run_hook(arguments, io::stdin(), |name: &str| std::env::var(name).ok());
    let written = writeln!(io::stdout(), "{stdout}").and_then(|()| io::stdout().flush());
    let is_heard = written.is_ok() && leads_somewhere(&io::stdout());
    if !stderr.is_empty() {
        // If nobody listens there, there is nobody to tell.
        let _unheard = writeln!(io::stderr(), "{stderr}").is_err();
    }
    // The code alone is left to say it. In some harnesses, a hook that ends with 0 and says nothing lets the call run.
    if is_heard || code != 0 { ExitCode::from(code) } else { ExitCode::from(unheard) }
}

/// Returns `true` if what is written to a stream can come to anybody: to a file, a pipe, a socket or a terminal that is open for
/// writing. At the start of a process whose stdout is closed, `/dev/null` is put in its place. Writing to what is only open for reading
/// is no error of the standard library's.
fn leads_somewhere(stream: &impl AsFd) -> bool {
    let (Ok(flags), Ok(found)) = (fcntl_getfl(stream), fstat(stream)) else { return false };
    let is_open = matches!(flags & OFlags::ACCMODE, mode if mode == OFlags::WRONLY || mode == OFlags::RDWR);
    let takes = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile | FileType::Fifo | FileType::Socket => true,
        FileType::CharacterDevice => stream.as_fd().is_terminal(),
        _ => false,
    };
    is_open && takes
}

/// Writes the version of the binary `bitacora-hook`: `doctor` asks for it.
pub(crate) fn say_version() -> ExitCode {
    let version = format!("{} {}", HookProgram::SMALL, env!("CARGO_PKG_VERSION"));
    if writeln!(io::stdout(), "{version}").is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
