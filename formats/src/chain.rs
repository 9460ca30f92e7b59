//! The hash chain: every link commits to the hash and the signature of the one before.

use ed25519_dalek::{Signer, SigningKey, VerifyingKey};

use crate::ids::{ChainHash, Signature};
use crate::kdf::{KeyUse, chain_hasher};

/// The tip that the next link builds on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainTip {
    /// The hash of the last link.
    pub hash: ChainHash,
    /// The signature over that hash.
    pub signature: Signature,
}

/// The tip before the first segment of a ledger: all zeros.
#[must_use]
pub fn genesis_tip() -> ChainTip {
    ChainTip { hash: ChainHash([0; 32]), signature: Signature([0; 64]) }
}

/// A hasher under this link's context that has taken in the link before.
pub(crate) fn hasher_after(link: KeyUse, tip: &ChainTip) -> blake3::Hasher {
    let mut hasher = chain_hasher(link);
    hasher.update(&tip.hash.0).update(&tip.signature.0);
    hasher
}

/// The hash of all that the hasher has taken in.
pub(crate) fn finish(hasher: &blake3::Hasher) -> ChainHash {
    ChainHash(*hasher.finalize().as_bytes())
}

/// The link's hash and this key's signature over it.
pub(crate) fn sign(key: &SigningKey, hash: ChainHash) -> ChainTip {
    ChainTip { hash, signature: Signature(key.sign(&hash.0).to_bytes()) }
}

impl ChainTip {
    /// Returns `true` if the signature over the hash holds under this public key.
    ///
    /// The check is strict: no second form of a valid signature is taken, and a weak key signs nothing.
    #[must_use]
    pub fn is_signed_by(&self, public: &[u8; 32]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(&self.signature.0);
        VerifyingKey::from_bytes(public).is_ok_and(|key| key.verify_strict(&self.hash.0, &signature).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_its_key_and_hash_only() {
        let (key, other) = (SigningKey::from_bytes(&[1; 32]), SigningKey::from_bytes(&[2; 32]));
        let tip = sign(&key, ChainHash([3; 32]));
        assert!(tip.is_signed_by(key.verifying_key().as_bytes()));
        assert!(!tip.is_signed_by(other.verifying_key().as_bytes()));
        let moved = ChainTip { hash: ChainHash([4; 32]), ..tip };
        assert!(!moved.is_signed_by(key.verifying_key().as_bytes()));
    }

    #[test]
    fn a_weak_key_signs_nothing() {
        // With the identity point as public key, R = identity and S = 0 pass a check that is not strict.
        let mut identity = [0; 32];
        identity[0] = 1;
        let mut forged = [0; 64];
        forged[0] = 1;
        let key = VerifyingKey::from_bytes(&identity).unwrap();
        let lax =
            ed25519_dalek::Verifier::verify(&key, &[7; 32], &ed25519_dalek::Signature::from_bytes(&forged));
        assert!(lax.is_ok());
        let tip = ChainTip { hash: ChainHash([7; 32]), signature: Signature(forged) };
        assert!(!tip.is_signed_by(&identity));
    }

    #[test]
    fn a_link_takes_in_hash_then_signature() {
        let tip = ChainTip { hash: ChainHash([5; 32]), signature: Signature([6; 64]) };
        let mut hasher = hasher_after(KeyUse::FrameChain, &tip);
        let expected = [&[5; 32][..], &[6; 64], b"abc"].concat();
        assert_eq!(finish(hasher.update(b"abc")).0, blake3::derive_key("bitacora v1 frame chain", &expected));
    }
}
