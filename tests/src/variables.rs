//! The program's variables, of which a test passes on none.

use std::process::Command;

/// Leaves out every variable of the program's: those of the person who runs the tests, and those of the tests themselves.
pub fn remove_variables(command: &mut Command) {
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.to_string_lossy().starts_with("BITACORA_")) {
        command.env_remove(name);
    }
}
