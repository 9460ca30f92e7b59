//! Random texts that nobody guesses.

use subtle::ConstantTimeEq as _;

use crate::limits::SECRET_BYTES;

/// The system gives no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes: {0}")]
pub(crate) struct NoRandomness(getrandom::Error);

/// Returns random bytes.
pub(crate) fn random_bits() -> Result<[u8; SECRET_BYTES], NoRandomness> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(NoRandomness)?;
    Ok(bytes)
}

/// Returns a random text of letters and digits.
pub(crate) fn random_secret() -> Result<String, NoRandomness> {
    Ok(hex::encode(random_bits()?))
}

/// Compares a secret with what was sent, in a time that does not depend on where they differ.
pub(crate) fn equal(secret: &str, sent: &str) -> bool {
    secret.as_bytes().ct_eq(sent.as_bytes()).into()
}

/// A secret that pages hold. Each page holds it under another mask, so that nobody measures it by the size of compressed pages.
pub(crate) struct FormSecret([u8; SECRET_BYTES]);

impl FormSecret {
    pub(crate) fn new() -> Result<Self, NoRandomness> {
        random_bits().map(Self)
    }

    /// Returns it under a new mask: the mask, then the secret with the bits of the mask turned over.
    pub(crate) fn masked(&self) -> Result<String, NoRandomness> {
        let mask = random_bits()?;
        Ok(hex::encode([mask, turned(&self.0, &mask)].concat()))
    }

    /// Returns `true` for the secret under any mask, in a time that does not depend on where another one differs.
    pub(crate) fn is(&self, sent: &str) -> bool {
        let mut bytes = [0; 2 * SECRET_BYTES];
        if hex::decode_to_slice(sent, &mut bytes).is_err() {
            return false;
        }
        let (mask, masked) = bytes.split_at(SECRET_BYTES);
        turned(&self.0, mask).ct_eq(masked).into()
    }
}

/// Returns these bits, of which those of the mask are turned over.
fn turned(bits: &[u8; SECRET_BYTES], mask: &[u8]) -> [u8; SECRET_BYTES] {
    let mut turned = *bits;
    for (bits, mask) in turned.iter_mut().zip(mask) {
        *bits ^= mask;
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_looks_the_same_and_is_taken_under_a_mask_alone() {
        let secret = FormSecret::new().unwrap();
        let [one, other] = [(); 2].map(|()| secret.masked().unwrap());
        assert_ne!(one, other);
        let bare = hex::encode(secret.0);
        assert!(!one.contains(&bare) && !other.contains(&bare));
        assert!(secret.is(&one) && secret.is(&other));
        for sent in
            [&bare, "", &bare.repeat(2), &one[1..], &format!("{one}00"), &one.replace(['0', '1'], "2")]
        {
            assert!(!secret.is(sent), "{sent}");
        }
        assert!(!FormSecret::new().unwrap().is(&one));
    }
}
