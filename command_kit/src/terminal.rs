//! The writing of results and progress.

pub mod browser;
pub mod logging;
pub mod output;
pub mod passphrase;
pub mod problem;
pub mod progress;
pub mod stored_line;
pub mod table;

use std::io::{self, Write};

use self::output::printable;

/// Writes a line on stderr; if nobody reads it, there is nobody to tell.
pub fn note(line: &str) {
    let _unheard = writeln!(io::stderr(), "bitacora: {}", printable(line)).is_err();
}
