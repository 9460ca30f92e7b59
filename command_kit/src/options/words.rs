//! The words of choices on the command line, as requests name them.

use serde::Serialize;
use serde_json::Value;

/// Returns the word that a choice is serialised as.
pub fn word(choice: impl Serialize) -> String {
    match serde_json::to_value(choice) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}
