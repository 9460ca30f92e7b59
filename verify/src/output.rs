//! The results of checks as lines for people, and as JSON for programs.

mod assurance;
mod coverage;
mod generations;
mod report_view;

use std::io::{self, Write};

use bitacora_formats::{printable, printable_json};
use serde_json::Value;

pub(super) use self::assurance::{cosignature_json, time};
pub use self::report_view::ReportView;
use super::report::Verdict;

/// The result of a check, which every program shows alike.
pub trait CheckResult {
    /// Returns the verdict.
    fn verdict(&self) -> Verdict;

    /// Returns the lines for people.
    fn lines(&self) -> Vec<String>;

    /// Returns the object for programs.
    fn to_json(&self) -> Value;

    /// Writes the lines, or the object on one line. Characters that would control a terminal are escaped.
    ///
    /// # Errors
    /// The error of the writer.
    fn write(&self, as_json: bool, to: &mut dyn Write) -> io::Result<()> {
        if as_json {
            return writeln!(to, "{}", printable_json(&self.to_json().to_string()));
        }
        self.lines().iter().try_for_each(|line| writeln!(to, "{}", printable(line)))
    }
}
