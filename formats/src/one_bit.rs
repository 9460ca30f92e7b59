//! The repair of one flipped bit: a checksum locates it, and a signature or seal proves the old bytes.

/// Returns the result of `read` on the bytes with one bit changed, for the first bit for which it has a result. `read`
/// must accept only bytes that nobody else can have made: a checksum alone is no proof.
#[must_use]
pub fn undo_one_flip<T>(bytes: &[u8], read: impl Fn(&[u8]) -> Option<T>) -> Option<(T, Vec<u8>)> {
    let mut changed = bytes.to_vec();
    for at in 0..changed.len() {
        for bit in 0..u8::BITS {
            flip(&mut changed, at, bit);
            if let Some(made) = read(&changed) {
                return Some((made, changed));
            }
            flip(&mut changed, at, bit);
        }
    }
    None
}

fn flip(bytes: &mut [u8], at: usize, bit: u32) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flipped_bit_is_undone_and_two_are_not() {
        let is = |bytes: &[u8]| (bytes == b"what it was").then_some(());
        let mut bytes = b"what it was".to_vec();
        bytes[3] ^= 0x10;
        assert_eq!(undo_one_flip(&bytes, is), Some(((), b"what it was".to_vec())));
        bytes[9] ^= 1;
        assert_eq!(undo_one_flip(&bytes, is), None);
        assert_eq!(undo_one_flip(b"", is), None);
    }
}
