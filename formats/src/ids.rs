//! Identities, places and times as types, so that no two of them can be mistaken for one another.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use zeroize::Zeroize;

/// An error in the text of an identity or place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not a decimal number from 1 to 2^64 - 1.
    #[error("not a decimal number from 1 to 18446744073709551615")]
    NotAPlace,
    /// Not a decimal number from 0 to 2^64 - 1.
    #[error("not a decimal number from 0 to 18446744073709551615")]
    NotAnAfter,
    /// Not 32 hexadecimal digits.
    #[error("not 32 lower-case hexadecimal digits")]
    NotALedgerId,
    /// Not a ledger's name.
    #[error("not a ledger name: 1 to {max} characters of a-z, 0-9 and '-', beginning with a letter or digit", max = LedgerName::MAX_BYTES)]
    NotALedgerName,
    /// Not 64 hexadecimal digits.
    #[error("not 64 lower-case hexadecimal digits")]
    NotAHash,
}

macro_rules! place {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU64);

        impl $name {
            /// The first one: 1.
            pub const FIRST: Self = Self(NonZeroU64::MIN);

            /// The place with this number; `None` for 0, which is no place.
            #[must_use]
            pub const fn new(number: u64) -> Option<Self> {
                match NonZeroU64::new(number) {
                    Some(number) => Some(Self(number)),
                    None => None,
                }
            }

            /// The number, 1-based.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0.get()
            }

            /// The one that follows; `None` past 2^64 - 1.
            #[must_use]
            pub const fn next(self) -> Option<Self> {
                self.plus(1)
            }

            /// The one `distance` later; `None` past 2^64 - 1.
            #[must_use]
            pub const fn plus(self, distance: u64) -> Option<Self> {
                match self.0.checked_add(distance) {
                    Some(number) => Some(Self(number)),
                    None => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                plain_decimal(text).and_then(Self::new).ok_or(IdError::NotAPlace)
            }
        }
    };
}

place! {
    /// The place of an event in its ledger: 1, 2, 3 … without gaps.
    ///
    /// Keys that hold one write it big-endian, so that their order is the ledger's order.
    Position
}
place! {
    /// The place of an event in its stream: 1, 2, 3 … without gaps.
    StreamVersion
}

/// An exclusive lower bound: everything after this position (or stream version). 0 means from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct After(u64);

impl After {
    /// After nothing: from the first event on.
    pub const START: Self = Self(0);

    /// After the place with this number; 0 is [`After::START`].
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number of the last place that is *not* meant.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The first position that is meant; `None` past 2^64 - 1.
    #[must_use]
    pub const fn first_position(self) -> Option<Position> {
        match self.0.checked_add(1) {
            Some(number) => Position::new(number),
            None => None,
        }
    }
}

impl From<Position> for After {
    fn from(position: Position) -> Self {
        Self(position.get())
    }
}

impl From<StreamVersion> for After {
    fn from(version: StreamVersion) -> Self {
        Self(version.get())
    }
}

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for After {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        plain_decimal(text).map(Self).ok_or(IdError::NotAnAfter)
    }
}

/// Digits only: `u64::from_str` would also take a leading `+`.
fn plain_decimal(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The first one: 1.
            pub const FIRST: Self = Self(1);

            /// The one that follows; `None` past 2^32 - 1.
            #[must_use]
            pub const fn next(self) -> Option<Self> {
                match self.0.checked_add(1) {
                    Some(number) => Some(Self(number)),
                    None => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

counter! {
    /// The ledger's life between declared losses, from 1.
    Generation
}
counter! {
    /// One opening of the ledger for writing, from 1.
    Epoch
}
counter! {
    /// The number of a segment file in its ledger, from 1.
    SegmentNumber
}

/// A time in microseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

/// The random identity of a ledger, fixed at its creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerId(pub [u8; 16]);

impl fmt::Display for LedgerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for LedgerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LedgerId({self})")
    }
}

impl FromStr for LedgerId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        lower_hex(text).map(Self).ok_or(IdError::NotALedgerId)
    }
}

/// A ledger's name: 1 to 64 characters of `a-z`, `0-9` and `-`, beginning with a letter or digit.
///
/// It is also the name of the ledger's folder, so no other characters are allowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerName(String);

impl LedgerName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 64;

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LedgerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for LedgerName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let well_formed = (1..=Self::MAX_BYTES).contains(&text.len())
            && !text.starts_with('-')
            && text.bytes().all(allowed);
        well_formed.then(|| Self(text.to_owned())).ok_or(IdError::NotALedgerName)
    }
}

macro_rules! hash {
    ($(#[$doc:meta])* $name:ident, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $bytes]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                lower_hex(text).map(Self).ok_or(IdError::NotAHash)
            }
        }
    };
}

hash! {
    /// A link of the ledger's hash chain: it commits to every stored byte before it.
    ChainHash, 32
}
hash! {
    /// The commitment to one record, keyed with its blind; it reveals nothing without the blind.
    Commitment, 32
}
hash! {
    /// A node of the RFC 6962 tree: a leaf, an inner node or the root.
    TreeHash, 32
}
hash! {
    /// An Ed25519 signature.
    Signature, 64
}
hash! {
    /// The keyed hash of an event's identity (`source` and `id`), for dedupe without names in clear.
    EventKey, 16
}
hash! {
    /// The keyed hash of a stream's name.
    StreamKey, 16
}

fn lower_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let lower = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mut bytes = [0; N];
    (lower && hex::decode_to_slice(text, &mut bytes).is_ok()).then_some(bytes)
}

/// Thirty-two secret bytes, erased from memory when dropped and never printed.
#[derive(Clone, PartialEq, Eq, zeroize::ZeroizeOnDrop)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Takes the bytes; the caller's copy is erased.
    #[must_use]
    pub fn take(bytes: &mut [u8; 32]) -> Self {
        let secret = Self(*bytes);
        bytes.zeroize();
        secret
    }

    /// The bytes, for the moment of use only.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_plain_decimal_from_one() {
        assert_eq!("17".parse(), Ok(Position::new(17).unwrap()));
        for text in ["", "0", "-1", "+1", " 1", "1.0", "18446744073709551616", "٣"] {
            assert_eq!(text.parse::<Position>(), Err(IdError::NotAPlace), "{text:?}");
        }
        assert_eq!(Position::new(u64::MAX).unwrap().next(), None);
    }

    #[test]
    fn a_ledger_name_cannot_leave_its_folder() {
        assert!("main".parse::<LedgerName>().is_ok());
        for text in ["", "-a", "../x", "a/b", "a.b", "A", "a\0", "é", &"a".repeat(65)] {
            assert_eq!(text.parse::<LedgerName>(), Err(IdError::NotALedgerName), "{text:?}");
        }
    }

    #[test]
    fn a_hash_is_lower_case_hex_of_its_length() {
        let hash: ChainHash = "00ff".repeat(16).parse().unwrap();
        assert_eq!(hash.to_string(), "00ff".repeat(16));
        for text in ["00", &"00FF".repeat(16), &"00ff".repeat(17)] {
            assert_eq!(text.parse::<ChainHash>(), Err(IdError::NotAHash), "{text:?}");
        }
    }

    #[test]
    fn a_secret_is_never_printed() {
        let mut bytes = [7; 32];
        let secret = Secret::take(&mut bytes);
        assert_eq!((bytes, format!("{secret:?}").as_str()), ([0; 32], "Secret(…)"));
    }
}
