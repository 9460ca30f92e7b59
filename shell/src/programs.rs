//! What programs may do with their arguments, one entry a program.

use crate::action::Action;
use crate::line::CommandLine;
use crate::unreadable::Unreadable;

/// What the commands of a line do.
///
/// # Errors
/// A program has an argument that its entry does not list.
pub(crate) fn actions(line: &CommandLine) -> Result<Vec<Action>, Unreadable> {
    let _ = line;
    Ok(Vec::new())
}
