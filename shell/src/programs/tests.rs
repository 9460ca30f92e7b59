//! What is said of programs.

use crate::{Reading, read};

/// The parts of a text, or the construct that makes it unreadable.
fn said(text: &str) -> String {
    match read(text) {
        Reading::Readable(actions) => {
            let parts: Vec<String> = actions
                .iter()
                .map(|action| format!("{} {:?} {:?}", action.part, action.effect, action.files))
                .collect();
            parts.join(" & ")
        }
        Reading::Unreadable(unreadable, _) => format!("{unreadable:?}"),
    }
}

#[test]
fn shown() {
    println!("{}", said("cat x"));
}
