//! An error as a problem document, RFC 9457, for programs.

use std::error::Error;

use bitacora_api::ProblemAnswer;
use bitacora_client::ClientError;
use bitacora_formats::printable_json;
use serde_json::json;

use crate::error::CommandError;
use crate::exit::Exit;

/// Returns the problem document of an error on one line: that of the service where it refused, else one of the program.
pub fn problem(error: &CommandError) -> String {
    let told = refusal(error.source()).and_then(|problem| serde_json::to_string(problem).ok());
    printable_json(&told.unwrap_or_else(|| local(error.exit(), &error.to_string()))).into_owned()
}

/// Returns the problem document of a command line that does not parse.
pub fn usage_problem(detail: &str) -> String {
    printable_json(&local(Exit::Usage, detail.trim_end())).into_owned()
}

fn local(exit: Exit, detail: &str) -> String {
    let (code, title) = words(exit);
    let name = format!("urn:bitacora:problem:{code}");
    json!({"type": name, "title": title, "detail": detail, "code": code, "exit": exit.code()}).to_string()
}

/// Returns the code and the title of a local error.
fn words(exit: Exit) -> (&'static str, &'static str) {
    match exit {
        Exit::Done | Exit::Failed => ("command-failed", "The command failed."),
        Exit::Usage => ("command-line", "The command line does not make sense."),
        Exit::Refused => ("command-refused", "The ledger refuses it."),
        Exit::Alone | Exit::Diverged => {
            ("ledger-diverged", "The history is not the one that others remember.")
        }
        Exit::Invalid => ("ledger-invalid", "The ledger is invalid."),
        Exit::Incomplete => ("ledger-incomplete", "A part of the ledger is missing or fails."),
        Exit::Interrupted => ("command-interrupted", "The command was interrupted."),
    }
}

/// Returns the refusal of the service that the error comes from, if it comes from one.
fn refusal<'a>(mut error: Option<&'a (dyn Error + 'static)>) -> Option<&'a ProblemAnswer> {
    while let Some(one) = error {
        if let Some(ClientError::Refused(refusal)) = one.downcast_ref() {
            return Some(&refusal.problem);
        }
        error = one.source();
    }
    None
}
