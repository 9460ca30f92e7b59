//! Shared code of the fuzz targets: makes mutated bytes consistent, so that runs pass the checksums.

pub mod mend;
pub mod sealed;
mod segment;
pub mod signed;

use std::fmt::Display;

/// Panics unless the error reads as one line that says something.
pub fn assert_one_line(error: &impl Display) {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains(['\n', '\r']), "{text:?}");
}
