//! Paths of tiles in the C2SP tlog-tiles layout: `<L>/<N>[.p/<W>]`, and `entries/<N>[.p/<W>]`.

use bitacora_formats::TILE_WIDTH;

/// The levels that a path may name.
const MAX_LEVEL: u32 = 63;
/// The prefix of each step of an index but the last.
const MORE: char = 'x';
/// Digits of each step of an index.
const STEP_DIGITS: usize = 3;

/// A tile as a path names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TilePath {
    /// `None` for entries.
    pub(crate) level: Option<u32>,
    pub(crate) index: u64,
    /// The number of its hashes or entries: all, or as many as a partial tile names.
    pub(crate) width: usize,
}

impl TilePath {
    /// The tile with this path, which has exactly one; `None` for anything else.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let (level, rest) = path.split_once('/')?;
        let level = match level {
            "entries" => None,
            number => Some(plain_number(number).and_then(|level| u32::try_from(level).ok())?),
        };
        if level.is_some_and(|level| level > MAX_LEVEL) {
            return None;
        }
        let (index, width) = match rest.split_once(".p/") {
            Some((index, width)) => {
                let width = plain_number(width).and_then(|width| usize::try_from(width).ok())?;
                (index, (1..TILE_WIDTH).contains(&width).then_some(width)?)
            }
            None => (rest, TILE_WIDTH),
        };
        Some(Self { level, index: tile_index(index)?, width })
    }
}

/// `x001/x234/067` is 1234067.
fn tile_index(text: &str) -> Option<u64> {
    let mut index = 0_u64;
    let mut steps = text.split('/').peekable();
    let mut is_first = true;
    while let Some(step) = steps.next() {
        let digits = match steps.peek() {
            Some(_) => step.strip_prefix(MORE)?,
            None => step,
        };
        let is_step = digits.len() == STEP_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = digits.parse().ok().filter(|_| is_step)?;
        // A first step of zeros would give one tile two paths.
        if is_first && number == 0 && steps.peek().is_some() {
            return None;
        }
        index = index.checked_mul(1_000)?.checked_add(number)?;
        is_first = false;
    }
    Some(index)
}

/// A decimal number without a sign or leading zeros.
fn plain_number(text: &str) -> Option<u64> {
    let is_plain = text == "0" || !text.starts_with('0');
    let has_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain && has_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_specification() {
        let whole = |level, index| Some(TilePath { level, index, width: 256 });
        assert_eq!(TilePath::parse("0/000"), whole(Some(0), 0));
        assert_eq!(TilePath::parse("1/067"), whole(Some(1), 67));
        assert_eq!(TilePath::parse("63/x001/x234/067"), whole(Some(63), 1_234_067));
        assert_eq!(TilePath::parse("entries/x001/000"), whole(None, 1_000));
        let partial = TilePath { level: Some(2), index: 999, width: 255 };
        assert_eq!(TilePath::parse("2/999.p/255"), Some(partial));
        let partial = TilePath { level: None, index: 5, width: 1 };
        assert_eq!(TilePath::parse("entries/005.p/1"), Some(partial));
        assert_eq!(TilePath::parse("0/x018/x446/x744/x073/x709/x551/615"), whole(Some(0), u64::MAX));
    }

    #[test]
    fn anything_else_is_no_tile() {
        for path in [
            "",
            "0",
            "0/",
            "/000",
            "00/000",
            "64/000",
            "-1/000",
            "+1/000",
            "a/000",
            "entries",
            "entries/",
            "0/0",
            "0/00",
            "0/0000",
            "0/x000",
            "0/x000/001",
            "0/001/002",
            "0/x001/x002",
            "0/x01/002",
            "0/001/",
            "0/001//",
            "0/ 01",
            "0/+01",
            "0/000.p",
            "0/000.p/",
            "0/000.p/0",
            "0/000.p/256",
            "0/000.p/01",
            "0/000.p/1/",
            "0/000.p/1.p/1",
            "0/x001.p/001",
            "0/٣٣٣",
            "0/x018/x446/x744/x073/x709/x551/616",
            "entries/000.p/+1",
            "0/x999/x999/x999/x999/x999/x999/x999/999",
            "Entries/000",
            "18446744073709551616/000",
        ] {
            assert_eq!(TilePath::parse(path), None, "{path}");
        }
    }
}
