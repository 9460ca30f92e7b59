//! The keys of one ledger that every event needs, ready for use.
//!
//! The derivations stand in `docs/formats/keys.md`.

use std::fmt;

use zeroize::Zeroize;

use crate::kdf::{self, Derivation};
use crate::{Commitment, EventKey, KeyUse, Keyring, LedgerId, Record, Secret, StreamKey, derive};

/// The keyed names and commitments of one ledger.
///
/// On the path of every append, so the part of each derivation that is the same for all events is put together once, here.
#[derive(Clone)]
pub struct LedgerKeys {
    ledger: LedgerId,
    stream_key: Derivation,
    blind: Derivation,
    subject_name: Derivation,
    index_key: Secret,
}

impl LedgerKeys {
    /// The keys of `ledger` under `keyring`. They never change: neither key they come from rotates.
    #[must_use]
    pub fn new(keyring: &Keyring, ledger: LedgerId) -> Self {
        let derived_state = keyring.derived_state_key().expose();
        let fields: &[&[u8]] = &[&ledger.0];
        Self {
            ledger,
            stream_key: Derivation::new(KeyUse::StreamKey, derived_state, fields),
            blind: Derivation::new(KeyUse::Blind, keyring.blinding_key().expose(), fields),
            subject_name: Derivation::new(KeyUse::SubjectName, derived_state, fields),
            index_key: derive(KeyUse::DerivedState, derived_state, fields),
        }
    }

    /// The ledger whose keys these are.
    #[must_use]
    pub fn ledger(&self) -> LedgerId {
        self.ledger
    }

    /// Returns the blind of the event with this `source` and `id`, and its name in indexes. Both come of one
    /// derivation, since every append needs both. The blind tells nothing of the name.
    #[must_use]
    pub fn identity(&self, source: &str, id: &str) -> (Secret, EventKey) {
        let mut both = self.blind.extended::<48>(&[source, id]);
        let (mut blind, mut key) = ([0; 32], [0; 16]);
        let (first, rest) = both.split_at(blind.len());
        blind.copy_from_slice(first);
        key.copy_from_slice(rest);
        both.zeroize();
        (Secret::take(&mut blind), EventKey(key))
    }

    /// The name in indexes of the event with this `source` and `id`.
    #[must_use]
    pub fn event_key(&self, source: &str, id: &str) -> EventKey {
        self.identity(source, id).1
    }

    /// The name in indexes of a stream.
    #[must_use]
    pub fn stream_key(&self, stream: &str) -> StreamKey {
        StreamKey(name(&self.stream_key, &[stream]))
    }

    /// The blind of the event with this `source` and `id`. Who learns it can check that one event's record against its
    /// commitment, and nothing else.
    #[must_use]
    pub fn blind(&self, source: &str, id: &str) -> Secret {
        kdf::secret(self.blind.of(&[source, id]))
    }

    /// The commitment to `record`, the encoded record of the event with this `source` and `id`.
    #[must_use]
    pub fn commitment(&self, source: &str, id: &str, record: &[u8]) -> Commitment {
        commitment(&self.blind(source, id), record)
    }

    /// The commitment in the leaf of a record that is read: computed from its bytes, or the one that an expired record keeps.
    ///
    /// An expired record says itself what its commitment is. So a reader that must not believe it compares the leaf with the tree.
    #[must_use]
    pub fn commitment_of(&self, record: &Record<'_>, bytes: &[u8]) -> Commitment {
        match record.expired() {
            Some(expired) => expired.commitment,
            None => self.commitment(&record.source, &record.id, bytes),
        }
    }

    /// The key that this ledger's derived state is sealed under.
    #[must_use]
    pub fn index_key(&self) -> &Secret {
        &self.index_key
    }

    /// The name of a data subject in the store of subject keys.
    #[must_use]
    pub fn subject_name_key(&self, subject: &str) -> [u8; 16] {
        name(&self.subject_name, &[subject])
    }
}

impl Drop for LedgerKeys {
    fn drop(&mut self) {
        for derivation in [&mut self.stream_key, &mut self.blind, &mut self.subject_name] {
            derivation.zeroize();
        }
    }
}

impl fmt::Debug for LedgerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LedgerKeys(…)")
    }
}

/// The commitment to `record` under a blind: BLAKE3 keyed with the blind, over the record's bytes.
#[must_use]
pub fn commitment(blind: &Secret, record: &[u8]) -> Commitment {
    Commitment(*blake3::keyed_hash(blind.expose(), record).as_bytes())
}

/// Returns the first 16 bytes of the derived value. A name may be shorter than a key, because only a holder of the key
/// can make names collide.
fn name(derivation: &Derivation, fields: &[&str]) -> [u8; 16] {
    let hash = derivation.of(fields);
    let mut name = [0; 16];
    name.copy_from_slice(hash.as_bytes().split_at(16).0);
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitacora_testkit::{hex_block, text_block};

    const DOCUMENT: &str = include_str!("../../docs/formats/keys.md");
    const KEYRING_DOCUMENT: &str = include_str!("../../docs/formats/keyring.md");

    fn keyring() -> Keyring {
        Keyring::parse(text_block(KEYRING_DOCUMENT, 0)).unwrap()
    }

    fn ledger() -> LedgerId {
        LedgerId(std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap()))
    }

    #[test]
    fn the_document_shows_this_ledgers_keys() {
        let keys = LedgerKeys::new(&keyring(), ledger());
        let shown = [
            keys.event_key("agent/7", "e-1").0.to_vec(),
            keys.stream_key("run/42").0.to_vec(),
            keys.subject_name_key("person/9").to_vec(),
            keys.index_key().expose().to_vec(),
            keys.blind("agent/7", "e-1").expose().to_vec(),
            keys.commitment("agent/7", "e-1", b"record").0.to_vec(),
        ];
        assert_eq!(hex::encode(shown.concat()), hex::encode(hex_block(DOCUMENT, 2)));
    }

    #[test]
    fn an_expired_record_keeps_the_commitment_of_the_whole_one() {
        let keys = LedgerKeys::new(&keyring(), ledger());
        let event = crate::Event::new("e-1", "agent/7", "x.noted", "s");
        let crate::EventDraft::Clear(record) = Record::draft(event, 0) else { panic!("nothing to seal") };
        let bytes = crate::encode_record(&record).unwrap();
        let commitment = keys.commitment_of(&record, &bytes);
        assert_eq!(commitment, keys.commitment("agent/7", "e-1", &bytes));
        let policy = crate::Position::new(9).unwrap();
        let left = record.expire(crate::Expired { policy, commitment });
        let bytes = crate::encode_record(&left).unwrap();
        assert_ne!(keys.commitment("agent/7", "e-1", &bytes), commitment);
        assert_eq!(keys.commitment_of(&left, &bytes), commitment);
    }

    #[test]
    fn precomputing_changes_no_value() {
        let (keyring, ledger) = (keyring(), ledger());
        let keys = LedgerKeys::new(&keyring, ledger);
        let derived =
            |purpose, key: &Secret, fields: &[&[u8]]| derive(purpose, key.expose(), fields).expose().to_vec();
        let (state, fields) = (keyring.derived_state_key(), [&ledger.0[..], b"s", b"i"]);
        let (blind, name) = keys.identity("s", "i");
        assert_eq!((blind.expose(), name), (keys.blind("s", "i").expose(), keys.event_key("s", "i")));
        assert_eq!(keys.stream_key("s").0, derived(KeyUse::StreamKey, state, &fields[..2])[..16]);
        assert_eq!(keys.subject_name_key("s"), derived(KeyUse::SubjectName, state, &fields[..2])[..16]);
        assert_eq!(&keys.index_key().expose()[..], derived(KeyUse::DerivedState, state, &fields[..1]));
        let blind = derived(KeyUse::Blind, keyring.blinding_key(), &fields);
        assert_eq!(&keys.blind("s", "i").expose()[..], blind);
        let expected = *blake3::keyed_hash(&blind.try_into().unwrap(), b"record").as_bytes();
        assert_eq!(keys.commitment("s", "i", b"record").0, expected);
    }

    #[test]
    fn every_input_has_a_part_in_every_value() {
        let (keyring, ledger) = (keyring(), ledger());
        let values = |keyring: &Keyring, ledger, source: &str, id: &str| {
            let keys = LedgerKeys::new(keyring, ledger);
            [keys.event_key(source, id).0.to_vec(), keys.commitment(source, id, b"record").0.to_vec()]
        };
        let mut draw = 9_u8;
        let other_keyring = Keyring::generate(&mut |bytes| {
            draw += 1;
            bytes.fill(draw);
        });
        let first = values(&keyring, ledger, "agent/7", "e-1");
        for other in [
            values(&other_keyring, ledger, "agent/7", "e-1"),
            values(&keyring, LedgerId([0; 16]), "agent/7", "e-1"),
            values(&keyring, ledger, "agent/", "7e-1"),
            values(&keyring, ledger, "agent/7", "e-2"),
        ] {
            assert!(first.iter().zip(&other).all(|(one, other)| one != other));
        }
    }
}
