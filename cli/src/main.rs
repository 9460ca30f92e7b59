//! The binary `bitacora`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bitacora_cli::main()
}
