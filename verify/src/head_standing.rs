//! The standing of a signed tree head: the keys and witnesses that speak for it.

use bitacora_formats::{Cosignature, CosignatureError, SignedTreeHead, WitnessPolicy};

/// The standing of a proof's tree head with the verifier's keys and witnesses.
#[derive(Default)]
pub(super) struct HeadStanding {
    /// Set when a known key signed, or endorsed the key that signed and enough witnesses cosigned.
    pub(super) trusted: bool,
    /// Set when a known key signed, or endorsed the key that signed.
    pub(super) endorsed: bool,
    /// The cosignatures of known witnesses on the head, and whether they are enough; `None` where nobody asked.
    witnessed: Option<(Vec<Cosignature>, bool)>,
}

impl HeadStanding {
    /// Returns the standing by keys alone.
    pub(super) fn by_keys(trusted: bool, endorsed: bool) -> Self {
        Self { trusted, endorsed, witnessed: None }
    }

    /// Checks the cosignatures of the head.
    pub(super) fn check_witnesses(
        &mut self,
        head: &SignedTreeHead,
        policy: &WitnessPolicy,
    ) -> Result<(), CosignatureError> {
        let by = head.note().cosigned_by(&policy.witness_keys())?;
        let met = policy.is_met(by.iter().map(|cosignature| &cosignature.key));
        // A key that was only endorsed counts once enough witnesses have cosigned a head by it.
        self.trusted |= met && self.endorsed;
        self.witnessed = Some((by, met));
        Ok(())
    }

    /// Returns the cosignatures of known witnesses.
    pub(super) fn cosignatures(&self) -> &[Cosignature] {
        self.witnessed.as_ref().map_or(&[], |(by, _)| by)
    }

    /// Returns whether enough witnesses cosigned, where somebody asked.
    pub(super) fn is_witnessed(&self) -> Option<bool> {
        self.witnessed.as_ref().map(|(_, met)| *met)
    }

    /// Returns `true` if witnesses were asked for, and too few of them cosigned.
    pub(super) fn lacks_witnesses(&self) -> bool {
        self.is_witnessed() == Some(false)
    }

    pub(super) fn not_proven(&self) -> &'static str {
        match self.is_witnessed() {
            Some(true) => "that others were shown the same tree, but by the word of these witnesses",
            _ => "that others were shown the same tree: compare the tree head with one that they have",
        }
    }

    pub(super) fn assurance(&self) -> &'static str {
        if self.trusted {
            "a key that you know signed the tree head, or endorsed the one that did and your witnesses cosigned it"
        } else if self.endorsed {
            "a key that you know endorsed the one that signed the tree head; a seed of it that leaked could have endorsed it too: bring the key that signed, or witnesses"
        } else {
            "none: the keys came with the evidence; name one that you know with --vkey"
        }
    }
}
