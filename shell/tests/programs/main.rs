//! The claims of the table of programs, compared with real programs and with real agents' commands.

#![expect(clippy::print_stdout, reason = "what was measured is printed")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on must fail")]

#[path = "../shells/sample.rs"]
mod sample;
mod unlisted;
