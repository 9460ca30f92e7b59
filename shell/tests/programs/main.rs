//! The claims of the table of programs, beside the real programs and beside the commands of real agents.

#![expect(clippy::print_stdout, reason = "what was measured is printed")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on must fail")]

#[path = "../shells/sample.rs"]
mod sample;
mod unlisted;
