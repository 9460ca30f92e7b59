//! The one key derivation: BLAKE3 `derive_key` under a context that names the use.
//!
//! Every key, keyed name and chained hash of Bitacora is made here, under one row of the table in
//! `docs/formats/keys.md`; a test compares the two. Two uses never share a context, so that a value made for one can
//! never be taken for the other.

use std::sync::LazyLock;

use blake3::hazmat::{ContextKey, HasherExt, hash_derive_key_context};
use zeroize::Zeroize;

use crate::Secret;

/// The input that is hashed under a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyInput {
    /// A 32-byte key, then each field behind its length (u32, little-endian): [`derive()`].
    KeyAndFields,
    /// The bytes of a layout as they are, which hold fixed-width fields only: [`chain_hasher`].
    Bytes,
}

macro_rules! key_uses {
    ($($(#[$doc:meta])* $name:ident = $context:literal, $input:ident;)+) => {
        /// The use of a derived value. Each is one row of the table in `docs/formats/keys.md`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum KeyUse {
            $($(#[$doc])* $name,)+
        }

        impl KeyUse {
            /// Every use, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The BLAKE3 context string of this use.
            #[must_use]
            pub const fn context(self) -> &'static str {
                match self {
                    $(Self::$name => concat!("bitacora v1 ", $context),)+
                }
            }

            /// Returns the kind of input that is hashed under this context.
            #[must_use]
            pub const fn input(self) -> KeyInput {
                match self {
                    $(Self::$name => KeyInput::$input,)+
                }
            }

            /// The hasher of this context with nothing hashed yet. Made once: `derive_key` hashes the context first,
            /// which would double the cost of a short input.
            fn fresh_hasher(self) -> blake3::Hasher {
                match self {
                    $(Self::$name => {
                        static FRESH: LazyLock<blake3::Hasher> =
                            LazyLock::new(|| blake3::Hasher::new_derive_key(KeyUse::$name.context()));
                        FRESH.clone()
                    })+
                }
            }
        }
    };
}

key_uses! {
    /// Wraps a segment's data key under a key-encryption key.
    SegmentWrap = "segment wrap", KeyAndFields;
    /// The value in a segment's header that only its own data key gives; AES-GCM alone does not commit to its key.
    SegmentKeyCommitment = "segment key commitment", KeyAndFields;
    /// Keys the `siv` over a frame's compressed body.
    SegmentSiv = "segment siv", KeyAndFields;
    /// Keys the hash of a frame's header that is the frame's key.
    SegmentFrame = "segment frame", KeyAndFields;
    /// The blind of one event's commitment, and behind it the event's name in indexes.
    Blind = "blind", KeyAndFields;
    /// The name of a stream in indexes.
    StreamKey = "stream key", KeyAndFields;
    /// The key of one ledger's derived state.
    DerivedState = "derived state", KeyAndFields;
    /// The seal of a control file.
    ControlFile = "control file", KeyAndFields;
    /// Keys the hash over a whole id table.
    IdTable = "id table", KeyAndFields;
    /// Keys the hash over one block of an id table.
    IdTableBlock = "id table block", KeyAndFields;
    /// Keys the `siv` over one chunk of a tip table.
    TipTableSiv = "tip table siv", KeyAndFields;
    /// Seals one chunk of a tip table.
    TipTable = "tip table", KeyAndFields;
    /// Keys the `siv` over one piece of a state snapshot.
    StateSnapshotSiv = "state snapshot siv", KeyAndFields;
    /// Seals one piece of a state snapshot.
    StateSnapshot = "state snapshot", KeyAndFields;
    /// Keys the hash of one kind of label in the index.
    IndexTerm = "index term", KeyAndFields;
    /// The digest of a block of the index.
    IndexDigest = "index digest", KeyAndFields;
    /// Seals one block of the index.
    IndexBlock = "index block", KeyAndFields;
    /// The digest of an index, from those of its blocks.
    IndexState = "index state", Bytes;
    /// Keys the hash that stands for values in the keys of a read model's rows.
    ReadModelName = "read model name", KeyAndFields;
    /// Keys the hash of a read model's rows.
    ReadModelRow = "read model row", KeyAndFields;
    /// Seals the rows of a read model.
    ReadModelSeal = "read model seal", KeyAndFields;
    /// The digest of a read model, from the sum of its rows' hashes.
    ReadModelState = "read model state", Bytes;
    /// The digest of one part of the state of governance.
    GovernancePart = "governance part", Bytes;
    /// The digest of the state of governance, from those of its parts.
    GovernanceState = "governance state", Bytes;
    /// The name of a data subject in the store of subject keys.
    SubjectName = "subject name", KeyAndFields;
    /// Seals one file of the store of subject keys.
    SubjectWrap = "subject wrap", KeyAndFields;
    /// Keys the hash `S` of a subject's part.
    SubjectBlind = "subject blind", KeyAndFields;
    /// Seals one subject's part.
    SubjectPart = "subject part", KeyAndFields;
    /// Stands for the action of a call whose arguments are sealed.
    SubjectAction = "subject action", KeyAndFields;
    /// Keys the digest that a piece of content is kept under.
    ContentDigest = "content digest", KeyAndFields;
    /// The same for content that is sealed under a data subject's key.
    SubjectContent = "subject content", KeyAndFields;
    /// Wraps an archive's data key under a key-encryption key.
    ArchiveWrap = "archive wrap", KeyAndFields;
    /// The value in an archive's manifest that only its own data key gives.
    ArchiveKeyCommitment = "archive key commitment", KeyAndFields;
    /// Keys the `siv` over one part of an archive.
    ArchiveSiv = "archive siv", KeyAndFields;
    /// Keys the hash of a part's place and `siv` that is the part's key.
    ArchivePart = "archive part", KeyAndFields;
    /// Keys the hash of one kind of label in an archive's index.
    ArchiveTerm = "archive term", KeyAndFields;
    /// The key that signs answers of the service.
    AnswerSigning = "answer signing", KeyAndFields;
    /// The hash that the ledger's signing key signs in a segment's header.
    SegmentCertificate = "segment certificate", Bytes;
    /// The hash of a released segment that the ledger's signing key signs.
    ReleasedSegment = "released segment", Bytes;
    /// A frame's link of the chain.
    FrameChain = "frame chain", Bytes;
    /// A segment header's link of the chain.
    SegmentChain = "segment chain", Bytes;
    /// A segment footer's link of the chain.
    SegmentFooter = "segment footer", Bytes;
    /// The hash of its successor that a signing key signs.
    SigningKeyEndorsement = "signing key endorsement", Bytes;
    /// The check over the keyring's lines.
    KeyringCheck = "keyring check", Bytes;
}

/// Derives the value of `purpose` from `key` and `fields`: BLAKE3
/// `derive_key(context, key ‖ for each field: its length, u32 little-endian ‖ field)`.
#[must_use]
pub fn derive(purpose: KeyUse, key: &[u8; 32], fields: &[&[u8]]) -> Secret {
    let mut hasher = keyed_hasher(purpose, key, fields);
    let secret = finish(&hasher);
    hasher.zeroize();
    secret
}

/// A hasher under the context of `purpose`, for the bytes of a layout; its result is `derive_key(context, bytes)`.
#[must_use]
pub fn chain_hasher(purpose: KeyUse) -> blake3::Hasher {
    debug_assert_eq!(purpose.input(), KeyInput::Bytes, "{purpose:?} takes a key and fields");
    purpose.fresh_hasher()
}

/// [`derive()`] under one key and first fields for many lists of further fields.
///
/// It keeps bytes instead of a hasher's state: that is thirty times as large, and copying it costs more than hashing them.
#[derive(Clone, Zeroize)]
pub(crate) struct Derivation {
    context: ContextKey,
    prefix: Vec<u8>,
}

impl Derivation {
    pub(crate) fn new(purpose: KeyUse, key: &[u8; 32], fields: &[&[u8]]) -> Self {
        debug_assert_eq!(purpose.input(), KeyInput::KeyAndFields, "{purpose:?} takes bytes");
        // Room for all of it at once: what grows leaves copies behind.
        let mut prefix =
            Vec::with_capacity(key.len() + fields.iter().map(|field| 4 + field.len()).sum::<usize>());
        prefix.extend_from_slice(key);
        for field in fields {
            prefix.extend_from_slice(&length_of(field));
            prefix.extend_from_slice(field);
        }
        Self { context: hash_derive_key_context(purpose.context()), prefix }
    }

    /// The value for these further fields.
    pub(crate) fn of(&self, fields: &[&str]) -> blake3::Hash {
        self.hasher(fields).finalize()
    }

    /// Derives the value for these further fields and the bytes after it in the extended output. One block of hashing
    /// gives 64 bytes of it.
    pub(crate) fn extended<const BYTES: usize>(&self, fields: &[&str]) -> [u8; BYTES] {
        let mut output = [0; BYTES];
        self.hasher(fields).finalize_xof().fill(&mut output);
        output
    }

    fn hasher(&self, fields: &[&str]) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_from_context_key(&self.context);
        hasher.update(&self.prefix);
        for field in fields {
            feed(&mut hasher, field.as_bytes());
        }
        hasher
    }
}

/// The state of [`derive()`] after `key` and `fields`.
pub(crate) fn keyed_hasher(purpose: KeyUse, key: &[u8; 32], fields: &[&[u8]]) -> blake3::Hasher {
    debug_assert_eq!(purpose.input(), KeyInput::KeyAndFields, "{purpose:?} takes bytes");
    let mut hasher = purpose.fresh_hasher();
    hasher.update(key);
    for field in fields {
        feed(&mut hasher, field);
    }
    hasher
}

/// Feeds one field behind its length, so that no two lists of fields hash the same bytes.
fn feed(hasher: &mut blake3::Hasher, field: &[u8]) {
    hasher.update(&length_of(field));
    hasher.update(field);
}

fn length_of(field: &[u8]) -> [u8; 4] {
    // No field comes near 4 GiB (see `limits`); the clamp keeps the function total.
    u32::try_from(field.len()).unwrap_or(u32::MAX).to_le_bytes()
}

/// The derived value as a secret, leaving no other copy of it.
#[must_use]
pub fn finish(hasher: &blake3::Hasher) -> Secret {
    secret(hasher.finalize())
}

/// A derived value as a secret, leaving no other copy of it.
pub(crate) fn secret(mut hash: blake3::Hash) -> Secret {
    let mut bytes = *hash.as_bytes();
    hash.zeroize();
    Secret::take(&mut bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitacora_testkit::hex_block;

    const KEYS_DOCUMENT: &str = include_str!("../../docs/formats/keys.md");

    /// The cells of the table's rows: the lines that begin with a variant's name in code quotes.
    fn table_rows() -> Vec<Vec<&'static str>> {
        let rows = KEYS_DOCUMENT.lines().filter(|line| line.starts_with("| `"));
        rows.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`')).collect())
            .collect()
    }

    #[test]
    fn the_table_in_the_document_is_the_enum() {
        let documented: Vec<_> = table_rows().iter().map(|row| (row[0], row[1], row[2])).collect();
        let names: Vec<_> = KeyUse::ALL.iter().map(|purpose| format!("{purpose:?}")).collect();
        let coded: Vec<_> = KeyUse::ALL
            .iter()
            .zip(&names)
            .map(|(purpose, name)| {
                let input = match purpose.input() {
                    KeyInput::KeyAndFields => "key",
                    KeyInput::Bytes => "bytes",
                };
                (name.as_str(), purpose.context(), input)
            })
            .collect();
        assert_eq!(documented, coded);
    }

    #[test]
    fn no_two_uses_share_a_context() {
        let contexts: std::collections::BTreeSet<_> = KeyUse::ALL.iter().map(|use_| use_.context()).collect();
        assert_eq!(contexts.len(), KeyUse::ALL.len());
    }

    #[test]
    fn the_worked_derivation_in_the_document_holds() {
        let key = std::array::from_fn(|index| u8::try_from(index).unwrap());
        let ledger: [u8; 16] = std::array::from_fn(|index| 0xa0 + u8::try_from(index).unwrap());
        let derived = derive(KeyUse::Blind, &key, &[&ledger, b"agent/7", b"e-1"]);
        let hashed = blake3::derive_key(KeyUse::Blind.context(), &hex_block(KEYS_DOCUMENT, 0));
        assert_eq!(derived.expose(), &hashed);
        assert_eq!(derived.expose().to_vec(), hex_block(KEYS_DOCUMENT, 1));
    }

    #[test]
    fn moving_a_byte_between_fields_changes_the_value() {
        let value = |fields: &[&[u8]]| derive(KeyUse::StreamKey, &[1; 32], fields);
        let all = [value(&[b"ab", b"c"]), value(&[b"a", b"bc"]), value(&[b"abc"]), value(&[b"abc", b""])];
        for (index, one) in all.iter().enumerate() {
            assert!(all.iter().skip(index + 1).all(|other| other != one), "{index}");
        }
    }

    #[test]
    fn a_chain_hash_is_plain_derive_key_of_its_bytes() {
        let mut hasher = chain_hasher(KeyUse::FrameChain);
        hasher.update(b"ab").update(b"c");
        assert_eq!(*hasher.finalize().as_bytes(), blake3::derive_key("bitacora v1 frame chain", b"abc"));
    }

    #[test]
    fn every_use_hashes_under_its_own_context() {
        for purpose in KeyUse::ALL {
            let expected = blake3::derive_key(purpose.context(), b"x");
            assert_eq!(*purpose.fresh_hasher().update(b"x").finalize().as_bytes(), expected, "{purpose:?}");
        }
    }
}
