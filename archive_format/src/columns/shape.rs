//! Shapes of JSON texts: the white space, keys and order that are left without the scalar values.

use super::limits::MAX_SHAPE_HOLES;
use bitacora_formats::limits::MAX_JSON_DEPTH;

/// Stands in a shape for what is between the quotes of a string. No JSON text has this byte.
pub(super) const STRING_HOLE: u8 = 1;
/// Stands in a shape for a number, `true`, `false` or `null`. No JSON text has this byte.
pub(super) const BARE_HOLE: u8 = 2;

/// Takes JSON apart: writes its shape behind `shape` and its values behind `values`.
///
/// Returns `None` for bytes that are no JSON that can be rebuilt so, or that have too many values. `shape` and
/// `values` then mean nothing.
///
/// The grammar is checked only as far as rebuilding needs it: any bytes that come apart come back byte for byte.
pub(super) fn take_apart<'a>(json: &'a [u8], shape: &mut Vec<u8>, values: &mut Vec<&'a [u8]>) -> Option<()> {
    let start = values.len();
    let mut rest = json;
    // A bit for the open scope and for each one around it: set for an object.
    let (mut objects, mut depth) = (0_u64, 0);
    // Set if the next string is a member's name.
    let mut name_next = false;
    while let Some((byte, after)) = rest.split_first() {
        match byte {
            b'"' => {
                let length = string_length(after)?;
                let (content, behind) = after.split_at_checked(length)?;
                shape.push(b'"');
                if name_next {
                    shape.extend_from_slice(content);
                } else {
                    shape.push(STRING_HOLE);
                    values.push(content);
                }
                shape.push(b'"');
                name_next = false;
                rest = behind.get(1..)?;
                continue;
            }
            b'{' | b'[' => {
                if depth == MAX_JSON_DEPTH.min(63) {
                    return None;
                }
                depth += 1;
                objects = objects << 1 | u64::from(*byte == b'{');
                name_next = *byte == b'{';
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                objects >>= 1;
                name_next = false;
            }
            b',' => name_next = objects & 1 == 1,
            b':' => name_next = false,
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                let is_bare = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                let length = rest.iter().position(|byte| !is_bare(byte)).unwrap_or(rest.len());
                let (value, behind) = rest.split_at_checked(length)?;
                shape.push(BARE_HOLE);
                values.push(value);
                rest = behind;
                continue;
            }
            _ => return None,
        }
        shape.push(*byte);
        rest = after;
    }
    (depth == 0 && values.len() - start <= MAX_SHAPE_HOLES).then_some(())
}

/// Bytes up to the quote that ends a string; `None` where none does, or a byte is in it that a shape gives a meaning.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
        let at = from + text.get(from..)?.iter().position(special)?;
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => from = at + 2,
            _ => return None,
        }
    }
}

/// The path of each hole of a shape: names of members joined by a zero byte, none for elements of arrays, and last the
/// kind of the hole.
pub(super) fn paths(shape: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    // The path of the value that comes next, and where the path of each open scope ends in it.
    let (mut path, mut scopes, mut rest) = (Vec::new(), Vec::<usize>::new(), shape);
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' if after.first() != Some(&STRING_HOLE) || after.get(1) != Some(&b'"') => {
                let Some(length) = string_length(after) else { return found };
                path.truncate(scopes.last().copied().unwrap_or_default());
                path.push(0);
                path.extend_from_slice(after.get(..length).unwrap_or_default());
                rest = after.get(length + 1..).unwrap_or_default();
            }
            b'{' | b'[' => {
                path.push(*byte);
                scopes.push(path.len());
            }
            b'}' | b']' => path.truncate(scopes.pop().unwrap_or_default().saturating_sub(1)),
            &STRING_HOLE | &BARE_HOLE => {
                let mut whole = path.clone();
                whole.push(*byte);
                found.push(whole);
                // The quote that ends a string begins none.
                if *byte == STRING_HOLE {
                    rest = after.get(1..).unwrap_or_default();
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the number of holes in a shape.
pub(super) fn holes(shape: &[u8]) -> usize {
    shape.iter().filter(|byte| matches!(**byte, STRING_HOLE | BARE_HOLE)).count()
}
