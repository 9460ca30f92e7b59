//! The one binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    bitacora_cli::main()
}
