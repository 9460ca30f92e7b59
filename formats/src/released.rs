//! Released segments, whose events lie in archives: header, footer, and the segment's end.
//!
//! Layout: `docs/formats/released.md`.

use crate::chain::{self, ChainTip};
use crate::damage::DamageKind;
use crate::fields::{Fields, ShortField};
use crate::footer::{FOOTER_BYTES, FooterError, SegmentFooter};
use crate::frame::{CRC_BYTES, SIGNATURE_BYTES};
use crate::ids::{ChainHash, Micros, Position, Signature};
use crate::kdf::{KeyUse, chain_hasher};
use crate::keyring::{ActiveSigner, SigningChain};
use crate::segment::{MAX_SEGMENT_HEADER_BYTES, SegmentError, SegmentHeader};
use crate::walk::SegmentEnd;

/// The magic that the file of a released segment begins with.
pub const RELEASED_MAGIC: [u8; 8] = *b"BITACREL";
/// The format that is written: signed.
pub const RELEASED_FORMAT: u16 = 2;
/// The format without a signature. It can be read, and is written no more.
const UNSIGNED_FORMAT: u16 = 1;
/// Set where a footer follows the header.
const HAS_FOOTER: u16 = 1;
/// Bytes before the segment's header.
const FIXED_BYTES: usize = 40;
/// Bytes of the signing key's number and its signature.
const SIGNED_BYTES: usize = size_of::<u32>() + SIGNATURE_BYTES;
/// Bytes of the largest file of a released segment.
pub const MAX_RELEASED_BYTES: usize =
    FIXED_BYTES + MAX_SEGMENT_HEADER_BYTES + FOOTER_BYTES + SIGNED_BYTES + CRC_BYTES;

/// A segment without its frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasedSegment {
    /// Its header, as it was.
    pub header: SegmentHeader,
    /// The position of its last event.
    pub last_position: Position,
    /// The time of its first frame, as the file says.
    pub first_time: Micros,
    /// The time of its last frame, as the file says.
    pub last_time: Micros,
    /// Its footer, if it had one.
    pub footer: Option<SegmentFooter>,
    /// The ledger's signature over all of it; `None` in format 1.
    pub signed: Option<ReleasedSignature>,
}

/// The ledger's signature over a released segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleasedSignature {
    /// The number of the ledger's signing key.
    pub key: u32,
    /// The signature.
    pub signature: Signature,
}

/// An error in the file of a released segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReleasedError {
    /// Other bytes than the file's fields take.
    #[error("found {found} bytes of a released segment, expected {needed}")]
    Length {
        /// Bytes its fields take, as far as is known.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// It begins otherwise.
    #[error("found {}, expected a released segment's first bytes", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error(
        "found released segment format {found}, expected {UNSIGNED_FORMAT} or {RELEASED_FORMAT}; a newer version may read it"
    )]
    Format {
        /// The format there is.
        found: u16,
    },
    /// Flags that no format has.
    #[error("found flags {found}, expected 0 or {HAS_FOOTER}")]
    Flags {
        /// The flags there are.
        found: u16,
    },
    /// The checksum is not that of the bytes.
    #[error("found checksum {found:08x} of a released segment, expected {expected:08x}")]
    Crc {
        /// The checksum stored with the bytes.
        expected: u32,
        /// The checksum that the bytes have.
        found: u32,
    },
    /// The segment's header cannot be read.
    #[error(transparent)]
    Header(#[from] SegmentError),
    /// The segment's footer cannot be read.
    #[error(transparent)]
    Footer(#[from] FooterError),
    /// A field that contradicts the header or the footer.
    #[error("found {field} {found}, expected {expected}")]
    Contradiction {
        /// The field's name in the layout.
        field: &'static str,
        /// The value that follows from the other fields.
        expected: u64,
        /// The value of the field.
        found: u64,
    },
    /// None of the ledger's keys has the number that the file names.
    #[error("found number {found}, expected a signing key of the ledger; the last one known is {known}")]
    UnknownKey {
        /// The number of the last known key.
        known: u32,
        /// The number in the file.
        found: u32,
    },
    /// The copy has other bytes than the file.
    #[error(
        "found a copy of a released segment's file with other bytes than the file; open the ledger for writing, which makes both alike"
    )]
    Copy,
    /// The ledger's key did not sign these bytes.
    #[error(
        "found bytes of a released segment that key {key} of the ledger did not sign; restore the file from a copy"
    )]
    Signature {
        /// The key's number.
        key: u32,
    },
}

impl ReleasedSegment {
    /// Reads a whole file.
    ///
    /// # Errors
    /// A [`ReleasedError`] for the first thing that is wrong. The header's certificate is not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReleasedError> {
        let mut fields = Fields::new(bytes);
        let found = fields.bytes()?;
        if found != RELEASED_MAGIC {
            return Err(ReleasedError::Magic { found });
        }
        let found = fields.u16()?;
        let signed_bytes = match found {
            RELEASED_FORMAT => SIGNED_BYTES,
            UNSIGNED_FORMAT => 0,
            found => return Err(ReleasedError::Format { found }),
        };
        let flags = fields.u16()?;
        if flags & !HAS_FOOTER != 0 {
            return Err(ReleasedError::Flags { found: flags });
        }
        let header_bytes = fields.u32()?;
        let last_position = fields.u64()?;
        let (first_time, last_time) = (Micros(fields.u64()?), Micros(fields.u64()?));
        let header = fields.take(header_bytes)?;
        let footer_bytes = if flags == HAS_FOOTER { FOOTER_BYTES } else { 0 };
        let footer = fields.take(u32::try_from(footer_bytes).unwrap_or(u32::MAX))?;
        let signed = match signed_bytes {
            0 => None,
            _ => Some(ReleasedSignature { key: fields.u32()?, signature: Signature(fields.bytes()?) }),
        };
        let expected = fields.u32()?;
        if !fields.at_end() {
            let needed = FIXED_BYTES + header.len() + footer.len() + signed_bytes + CRC_BYTES;
            return Err(ReleasedError::Length { needed: needed as u64, found: bytes.len() as u64 });
        }
        let (checked, _) = bytes.split_at(bytes.len() - CRC_BYTES);
        let found = crc32fast::hash(checked);
        if expected != found {
            return Err(ReleasedError::Crc { expected, found });
        }
        let parsed = SegmentHeader::parse(header)?;
        agrees("header bytes", parsed.stored_bytes() as u64, header_bytes.into())?;
        let footer = if footer.is_empty() { None } else { Some(SegmentFooter::parse(footer)?) };
        agrees("last position", parsed.first_position.get().max(last_position), last_position)?;
        agrees("last time", first_time.0.max(last_time.0), last_time.0)?;
        if let Some(footer) = &footer {
            agrees("last position", footer.last_position.get(), last_position)?;
            agrees("first time", footer.first_time.0, first_time.0)?;
            agrees("last time", footer.last_time.0, last_time.0)?;
            agrees("first position", parsed.first_position.get(), footer.first_position.get())?;
            agrees("tree size", last_position, footer.tree_size)?;
        }
        if let Some(signed) = &signed {
            // The file of a released segment is signed after its header was.
            let least = parsed.signing_key_index.max(signed.key);
            agrees("signing key", least.into(), signed.key.into())?;
        }
        let last_position = Position::new(last_position).unwrap_or(parsed.first_position);
        Ok(Self { header: parsed, last_position, first_time, last_time, footer, signed })
    }

    /// Returns it with the ledger's signature, as the next file of it is written.
    #[must_use]
    pub fn sign(mut self, signer: ActiveSigner<'_>) -> Self {
        let signature = Signature([0; SIGNATURE_BYTES]);
        self.signed = Some(ReleasedSignature { key: signer.index, signature });
        let signature = chain::sign(signer.key, self.signed_hash()).signature;
        self.signed = Some(ReleasedSignature { key: signer.index, signature });
        self
    }

    /// Checks the signature, where there is one, under the ledger's keys.
    ///
    /// # Errors
    /// [`ReleasedError::UnknownKey`] and [`ReleasedError::Signature`].
    pub fn check_signature(&self, signers: &SigningChain) -> Result<(), ReleasedError> {
        let Some(ReleasedSignature { key, .. }) = self.signed else { return Ok(()) };
        let unknown = ReleasedError::UnknownKey { known: signers.active_index(), found: key };
        self.check_signature_by(signers.key(key).ok_or(unknown)?.as_bytes())
    }

    /// The same, under the public key that has the number in the file.
    ///
    /// # Errors
    /// [`ReleasedError::Signature`].
    pub fn check_signature_by(&self, public: &[u8; 32]) -> Result<(), ReleasedError> {
        let Some(ReleasedSignature { key, signature }) = self.signed else { return Ok(()) };
        let tip = ChainTip { hash: self.signed_hash(), signature };
        if tip.is_signed_by(public) { Ok(()) } else { Err(ReleasedError::Signature { key }) }
    }

    /// `true`: every byte is under the ledger's signature. In other files a checksum alone covers times and footer, and they are believed
    /// for nothing: the hash of the footer takes in the last frame's signature, which the file does not hold.
    #[must_use]
    pub fn is_covered(&self) -> bool {
        self.signed.is_some()
    }

    /// Returns a time that no frame of the segment is older than: the first frame's, where the file is covered.
    #[must_use]
    pub fn first_time(&self) -> Micros {
        if self.is_covered() { self.first_time } else { self.header.created }
    }

    /// Returns it with signed values only. If its own times are not signed, the result has no footer, and the times at
    /// which it and the segment behind it were begun.
    #[must_use]
    pub fn with_covered_times(mut self, next: &SegmentHeader) -> Self {
        (self.first_time, self.last_time) = (self.first_time(), self.last_time_before(next));
        self.footer = self.footer.filter(|_| self.is_covered());
        self
    }

    fn last_time_before(&self, next: &SegmentHeader) -> Micros {
        if self.is_covered() { self.last_time } else { next.created }
    }

    fn signed_hash(&self) -> ChainHash {
        let mut bytes = self.encode();
        bytes.truncate(bytes.len() - SIGNATURE_BYTES - CRC_BYTES);
        chain::finish(chain_hasher(KeyUse::ReleasedSegment).update(&bytes))
    }

    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let format = if self.signed.is_some() { RELEASED_FORMAT } else { UNSIGNED_FORMAT };
        let flags = if self.footer.is_some() { HAS_FOOTER } else { 0 };
        let header_bytes = u32::try_from(self.header.stored_bytes()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(MAX_RELEASED_BYTES);
        bytes.extend_from_slice(&RELEASED_MAGIC);
        bytes.extend_from_slice(&format.to_le_bytes());
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(&header_bytes.to_le_bytes());
        bytes.extend_from_slice(&self.last_position.get().to_le_bytes());
        bytes.extend_from_slice(&self.first_time.0.to_le_bytes());
        bytes.extend_from_slice(&self.last_time.0.to_le_bytes());
        self.header.encode(&mut bytes);
        if let Some(footer) = &self.footer {
            footer.encode(&mut bytes);
        }
        if let Some(signed) = &self.signed {
            bytes.extend_from_slice(&signed.key.to_le_bytes());
            bytes.extend_from_slice(&signed.signature.0);
        }
        let crc = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Returns the segment's end, as far as the header of the next one goes on from it.
    ///
    /// Header and segment must agree on positions and tree, and this segment's own key must have signed the link.
    ///
    /// # Errors
    /// The [`DamageKind`] of the first thing that does not fit.
    pub fn end_before(&self, next: &SegmentHeader) -> Result<SegmentEnd, DamageKind> {
        let tip: ChainTip = next.previous;
        let tree_root = self.footer.map_or_else(|| next.frontier.root(), |footer| footer.tree_root);
        let end = SegmentEnd {
            ledger: self.header.ledger,
            generation: self.header.generation,
            epoch: self.header.epoch,
            number: self.header.number,
            next_position: self.last_position.next().unwrap_or(self.last_position),
            time: self.last_time_before(next),
            tree_size: self.last_position.get(),
            tree_root,
            tip,
        };
        end.check_next(next, end.time)?;
        if self.footer.is_some_and(|footer| footer.signature != tip.signature) {
            return Err(DamageKind::PreviousSignature);
        }
        if tip.is_signed_by(&self.header.ephemeral_public) {
            Ok(end)
        } else {
            Err(DamageKind::Signature { hash: tip.hash })
        }
    }
}

fn agrees(field: &'static str, expected: u64, found: u64) -> Result<(), ReleasedError> {
    if expected == found { Ok(()) } else { Err(ReleasedError::Contradiction { field, expected, found }) }
}

impl From<ShortField> for ReleasedError {
    fn from(ended: ShortField) -> Self {
        Self::Length { needed: ended.needed, found: ended.found }
    }
}

#[cfg(test)]
mod tests;
