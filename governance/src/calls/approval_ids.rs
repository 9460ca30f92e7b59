//! Ids of approvals: nobody can guess one.
//! The bytes are drawn by the caller of the examination, because no reactor knows randomness.

use bitacora_vocabulary::Name;

/// Bytes that are drawn for one id.
pub const APPROVAL_ID_BYTES: usize = 13;
/// Bits of an id that cannot be guessed: five in each character.
const APPROVAL_ID_BITS: usize = 100;
/// Bits of a character.
const CHARACTER_BITS: usize = 5;
/// Digits and letters of which no two look alike (Crockford's base 32).
const CHARACTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

const _: () =
    assert!(APPROVAL_ID_BYTES * 8 >= APPROVAL_ID_BITS && APPROVAL_ID_BITS.is_multiple_of(CHARACTER_BITS));

/// Returns the id that these bytes make: `a` and twenty characters.
pub(crate) fn drawn_id(drawn: [u8; APPROVAL_ID_BYTES]) -> Name {
    let number = drawn.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let character = |index: usize| {
        let digit = number >> (index * CHARACTER_BITS) & 0x1f;
        usize::try_from(digit).ok().and_then(|digit| CHARACTERS.get(digit)).copied().map_or('0', char::from)
    };
    let id: String =
        std::iter::once('a').chain((0..APPROVAL_ID_BITS / CHARACTER_BITS).map(character)).collect();
    Name::new(id).unwrap_or(Name::LEAST)
}

/// Returns the id that versions of the rules before version 6 give: it names the position of the cause, and anybody can guess it.
pub(crate) fn id_of_position(position: u64) -> Name {
    Name::new(format!("a{position}")).unwrap_or(Name::LEAST)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_bit_of_an_id_is_one_that_was_drawn() {
        assert_eq!(drawn_id([0; APPROVAL_ID_BYTES]).as_str(), "a00000000000000000000");
        assert_eq!(drawn_id([0xff; APPROVAL_ID_BYTES]).as_str(), "azzzzzzzzzzzzzzzzzzzz");
        let ids = (0..APPROVAL_ID_BYTES * 8).map(|bit| {
            let mut drawn = [0; APPROVAL_ID_BYTES];
            drawn[bit / 8] = 1 << (bit % 8);
            drawn_id(drawn)
        });
        let different: BTreeSet<_> = ids.collect();
        assert_eq!(
            different.len(),
            APPROVAL_ID_BITS + 1,
            "the four bits that are left over make the same one"
        );
        assert_eq!(id_of_position(17).as_str(), "a17");
    }
}
