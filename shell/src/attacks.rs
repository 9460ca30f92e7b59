//! Texts that once hid the programs they run, or that could, by class. None of them is readable.
//!
//! `shell/tests/attacks.json` has a class for each construct that hid something, with the ways in which it was, or can be, dressed
//! up; `cmd` stands for anything. The oracle mutates the same texts.

use serde::Deserialize;

use crate::{Construct, parse};

/// Texts that hide the programs they run in one way.
#[derive(Deserialize)]
struct Class {
    class: String,
    /// The constructs that may be named for them.
    found: Vec<String>,
    texts: Vec<String>,
}

fn classes() -> Vec<Class> {
    serde_json::from_str(include_str!("../tests/attacks.json")).unwrap()
}

#[test]
fn no_text_of_any_class_is_read() {
    let mut wrong = Vec::new();
    for Class { class, found, texts } in classes() {
        let is_empty = |construct: &Construct| {
            found.iter().any(|name| name == "Empty") && *construct != Construct::TooLong
        };
        let is_found =
            |construct: &Construct| found.contains(&format!("{construct:?}")) || is_empty(construct);
        for text in texts {
            // As it stands, behind a command on another line and on the same one, and as the last one of a pipe.
            let forms = [text.clone(), format!("ls\n{text}"), format!("ls; {text}"), format!("ls | {text}")];
            for form in forms {
                match parse(&form) {
                    Err(unreadable) if is_found(&unreadable.construct) => {}
                    // Blanks behind a whole command are no attack.
                    Ok(_) if text.trim().is_empty() && form != text => {}
                    other => wrong.push(format!("{class}: {form:?}: {other:?}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
