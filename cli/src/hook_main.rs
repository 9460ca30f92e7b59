//! The binary `bitacora-hook`: the command `bitacora hook` alone, which starts in a fraction of the time.

use std::process::ExitCode;

fn main() -> ExitCode {
    bitacora_cli::hook_main()
}
