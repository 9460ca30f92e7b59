//! What the fuzz targets share: mutated bytes made consistent again, so that a checksum is not where every run ends.

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
