//! The names of the files in a ledger's folder of segments.

use std::path::{Path, PathBuf};

use bitacora_formats::SegmentNumber;

/// The name of a segment's file.
pub(crate) fn segment_file_name(number: SegmentNumber) -> String {
    format!("{:010}.seg", number.0)
}

/// Its file, relative to the ledger's folder.
pub(super) fn shown(number: SegmentNumber) -> String {
    format!("{SEGMENTS}/{}", segment_file_name(number))
}

/// The number in a segment's file name; `None` for anything that is not exactly such a name.
pub(crate) fn segment_number(name: &str) -> Option<SegmentNumber> {
    let digits = name.strip_suffix(".seg")?;
    let number = SegmentNumber(digits.parse().ok()?);
    (number.0 > 0 && segment_file_name(number) == name).then_some(number)
}

/// The name of the file that a released segment leaves.
pub(crate) fn released_file_name(number: SegmentNumber) -> String {
    format!("{:010}.released", number.0)
}

/// The number in the name of the file of a released segment; `None` for anything that is not exactly such a name.
pub(crate) fn released_number(name: &str) -> Option<SegmentNumber> {
    let digits = name.strip_suffix(".released")?;
    let number = SegmentNumber(digits.parse().ok()?);
    (number.0 > 0 && released_file_name(number) == name).then_some(number)
}

/// The name of the folder of segments in the ledger's.
pub(crate) const SEGMENTS: &str = "segments";

pub(crate) fn segments_folder(ledger: &Path) -> PathBuf {
    ledger.join(SEGMENTS)
}
