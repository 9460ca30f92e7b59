//! The same program as `bitacora`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bitacora_cli::main()
}
