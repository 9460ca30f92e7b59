//! A snapshot of the state that decides, as it stood at a segment's end.
//!
//! Layout: `docs/formats/state_snapshot.md`.
//!
//! It can be made again from the log. It only spares an opening the folding of old events; where it is in doubt, they
//! are folded again.

#[cfg(test)]
mod tests;

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce, Tag};
use subtle::ConstantTimeEq;

use crate::fields::{Fields, ShortField};
use crate::kdf::derive;
use crate::{
    ChainHash, Codec, CompressionError, Compressor, Decompressor, KeyUse, LedgerId, Position, Secret,
    SegmentNumber,
};

/// The magic that a snapshot begins with.
pub const STATE_SNAPSHOT_MAGIC: [u8; 8] = *b"BITACSNP";
/// The one format that is written, and the one that can be read.
pub const STATE_SNAPSHOT_FORMAT: u16 = 1;
/// Bytes of the state in one piece; only the last piece holds fewer.
pub const STATE_PIECE_BYTES: usize = 1024 * 1024;
/// Bytes of the largest state that is kept in a snapshot.
pub const MAX_STATE_BYTES: usize = 1024 * 1024 * 1024;
/// Bytes of a header.
pub const STATE_SNAPSHOT_HEADER_BYTES: usize = 84;
/// Bytes of the largest snapshot.
pub const MAX_STATE_SNAPSHOT_BYTES: usize = STATE_SNAPSHOT_HEADER_BYTES
    + MAX_STATE_BYTES
    + MAX_STATE_BYTES.div_ceil(STATE_PIECE_BYTES) * PIECE_OVERHEAD_BYTES;

/// Codec, length, siv, tag.
const PIECE_OVERHEAD_BYTES: usize = 1 + 4 + SIV_BYTES + TAG_BYTES;
const SIV_BYTES: usize = 16;
const TAG_BYTES: usize = 16;

/// An error in the bytes of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StateSnapshotError {
    /// No snapshot begins so.
    #[error("found {}, expected the first bytes of a state snapshot", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error(
        "found state snapshot format {found}, expected {STATE_SNAPSHOT_FORMAT}; a newer version may read it"
    )]
    Format {
        /// The format there is.
        found: u16,
    },
    /// It ends within a field.
    #[error("found a state snapshot of {found} bytes, expected {needed} or more")]
    Length {
        /// Bytes up to the end of that field.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Something stands behind the last piece.
    #[error("something follows the last piece of the state snapshot")]
    Trailing,
    /// The header's numbers cannot be those of a snapshot.
    #[error("the header of a state snapshot contradicts itself")]
    Impossible,
    /// The state is larger than any that is kept.
    #[error("a state of {bytes} bytes; a snapshot holds at most {MAX_STATE_BYTES}")]
    TooLarge {
        /// Its bytes.
        bytes: usize,
    },
    /// The piece was not sealed for this place of this snapshot, or with another keyring.
    #[error(
        "piece {piece} of the state snapshot is not what was written, or was written with another keyring"
    )]
    NotAuthentic {
        /// The piece's number, from 0.
        piece: u64,
    },
    /// The opened piece cannot be decompressed.
    #[error("piece {piece} of the state snapshot: {source}")]
    Compression {
        /// The piece's number, from 0.
        piece: u64,
        /// The error of the decompressor.
        source: CompressionError,
    },
}

impl From<ShortField> for StateSnapshotError {
    fn from(ended: ShortField) -> Self {
        Self::Length { needed: ended.needed, found: ended.found }
    }
}

/// The beginning of a snapshot: the ledger and reactor of its state, and the place in the log at which it stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateSnapshotHeader {
    /// The version of the reactor that folded the state.
    pub reactor: u32,
    /// The ledger.
    pub ledger: LedgerId,
    /// The last event that is folded: the last one of the segment.
    pub position: Position,
    /// Bytes of the state.
    pub state_bytes: u64,
    /// The chain hash at the end of the segment.
    pub hash: ChainHash,
    /// The segment at whose end the state stood so.
    pub segment: SegmentNumber,
}

impl StateSnapshotHeader {
    /// Reads the header that the bytes begin with. It is not authentic before a snapshot was opened under it.
    ///
    /// # Errors
    /// [`StateSnapshotError`] for anything but a header that this version writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, StateSnapshotError> {
        let mut fields = Fields::new(bytes);
        let found = fields.bytes()?;
        if found != STATE_SNAPSHOT_MAGIC {
            return Err(StateSnapshotError::Magic { found });
        }
        let found = fields.u16()?;
        if found != STATE_SNAPSHOT_FORMAT {
            return Err(StateSnapshotError::Format { found });
        }
        let (flags, reactor) = (fields.u16()?, fields.u32()?);
        let ledger = LedgerId(fields.bytes()?);
        let position = Position::new(fields.u64()?).ok_or(StateSnapshotError::Impossible)?;
        let state_bytes = fields.u64()?;
        let hash = ChainHash(fields.bytes()?);
        let segment = SegmentNumber(fields.u32()?);
        if flags != 0 || segment.0 == 0 || state_bytes > MAX_STATE_BYTES as u64 {
            return Err(StateSnapshotError::Impossible);
        }
        Ok(Self { reactor, ledger, position, state_bytes, hash, segment })
    }

    /// The header as it is stored.
    #[must_use]
    pub fn encode(&self) -> [u8; STATE_SNAPSHOT_HEADER_BYTES] {
        let Self { reactor, ledger, position, state_bytes, hash, segment } = self;
        let fields: [&[u8]; 9] = [
            &STATE_SNAPSHOT_MAGIC,
            &STATE_SNAPSHOT_FORMAT.to_le_bytes(),
            &[0; 2],
            &reactor.to_le_bytes(),
            &ledger.0,
            &position.get().to_le_bytes(),
            &state_bytes.to_le_bytes(),
            &hash.0,
            &segment.0.to_le_bytes(),
        ];
        let mut bytes = [0; STATE_SNAPSHOT_HEADER_BYTES];
        bytes.iter_mut().zip(fields.concat()).for_each(|(byte, field)| *byte = field);
        bytes
    }
}

/// Seals a snapshot of `state`. The key is that of the ledger's derived state. The keys of pieces follow from it and
/// from their contents, without chance.
///
/// # Errors
/// [`StateSnapshotError::TooLarge`]; [`StateSnapshotError::Impossible`] where the header is not that of this state.
pub fn seal_state(
    index_key: &Secret,
    header: &StateSnapshotHeader,
    state: &[u8],
    compressor: &mut Compressor,
) -> Result<Vec<u8>, StateSnapshotError> {
    if state.len() > MAX_STATE_BYTES {
        return Err(StateSnapshotError::TooLarge { bytes: state.len() });
    }
    if header.state_bytes != state.len() as u64 || header.segment.0 == 0 {
        return Err(StateSnapshotError::Impossible);
    }
    let sealer = Sealer { index_key, header: header.encode() };
    let mut bytes = sealer.header.to_vec();
    for (piece, plain) in (0..).zip(pieces_of(state)) {
        let (codec, packed) = compressor.compress(plain);
        sealer.seal(piece, codec, packed, &mut bytes)?;
    }
    Ok(bytes)
}

/// Opens a snapshot.
///
/// # Errors
/// [`StateSnapshotError`] for any bytes but those that [`seal_state`] makes with this key.
pub fn open_state(
    index_key: &Secret,
    bytes: &[u8],
    decompressor: &mut Decompressor,
) -> Result<(StateSnapshotHeader, Vec<u8>), StateSnapshotError> {
    let header = StateSnapshotHeader::parse(bytes)?;
    let sealer = Sealer { index_key, header: header.encode() };
    let expected = usize::try_from(header.state_bytes).map_err(|_| StateSnapshotError::Impossible)?;
    let mut fields = Fields::new(bytes.get(STATE_SNAPSHOT_HEADER_BYTES..).unwrap_or_default());
    let mut state = Vec::new();
    for piece in 0..count_of_pieces(expected) {
        let (codec, packed) = sealer.open(piece, &mut fields)?;
        let plain_bytes = (expected - state.len()).min(STATE_PIECE_BYTES);
        let plain = decompressor
            .decompress(codec, &packed, plain_bytes)
            .map_err(|source| StateSnapshotError::Compression { piece, source })?;
        state.extend_from_slice(&plain);
    }
    if fields.at_end() { Ok((header, state)) } else { Err(StateSnapshotError::Trailing) }
}

/// At least one, so that the header is always under a seal.
fn count_of_pieces(state_bytes: usize) -> u64 {
    state_bytes.div_ceil(STATE_PIECE_BYTES).max(1) as u64
}

fn pieces_of(state: &[u8]) -> impl Iterator<Item = &[u8]> {
    let none = state.is_empty().then_some(state);
    state.chunks(STATE_PIECE_BYTES).chain(none)
}

/// Seals and opens the pieces of one snapshot.
struct Sealer<'a> {
    index_key: &'a Secret,
    header: [u8; STATE_SNAPSHOT_HEADER_BYTES],
}

impl Sealer<'_> {
    fn seal(
        &self,
        piece: u64,
        codec: Codec,
        packed: &[u8],
        into: &mut Vec<u8>,
    ) -> Result<(), StateSnapshotError> {
        let siv = self.siv(piece, codec, packed);
        let mut sealed = packed.to_vec();
        let length = u32::try_from(sealed.len()).map_err(|_| StateSnapshotError::Impossible)?;
        let cipher = self.cipher(piece, codec, &siv);
        let tag = cipher
            .encrypt_inout_detached(&Nonce::default(), &[], sealed.as_mut_slice().into())
            .map_err(|_| StateSnapshotError::NotAuthentic { piece })?;
        into.push(codec.number());
        into.extend_from_slice(&length.to_le_bytes());
        into.extend_from_slice(&siv);
        into.extend_from_slice(&sealed);
        into.extend_from_slice(&tag);
        Ok(())
    }

    fn open(&self, piece: u64, fields: &mut Fields<'_>) -> Result<(Codec, Vec<u8>), StateSnapshotError> {
        let forged = StateSnapshotError::NotAuthentic { piece };
        let codec = Codec::from_number(fields.u8()?).ok_or(forged)?;
        let length = fields.u32()?;
        let siv: [u8; SIV_BYTES] = fields.bytes()?;
        let mut packed = fields.take(length)?.to_vec();
        let tag: [u8; TAG_BYTES] = fields.bytes()?;
        let opened = self.cipher(piece, codec, &siv).decrypt_inout_detached(
            &Nonce::default(),
            &[],
            packed.as_mut_slice().into(),
            &Tag::from(tag),
        );
        if opened.is_err() || !bool::from(self.siv(piece, codec, &packed).ct_eq(&siv)) {
            return Err(forged);
        }
        Ok((codec, packed))
    }

    fn siv(&self, piece: u64, codec: Codec, packed: &[u8]) -> [u8; SIV_BYTES] {
        let fields: [&[u8]; 4] = [&self.header, &piece.to_le_bytes(), &[codec.number()], packed];
        let derived = derive(KeyUse::StateSnapshotSiv, self.index_key.expose(), &fields);
        let mut siv = [0; SIV_BYTES];
        siv.iter_mut().zip(derived.expose()).for_each(|(byte, value)| *byte = *value);
        siv
    }

    fn cipher(&self, piece: u64, codec: Codec, siv: &[u8; SIV_BYTES]) -> Aes256Gcm {
        let fields: [&[u8]; 4] = [&self.header, &piece.to_le_bytes(), &[codec.number()], siv];
        let key = derive(KeyUse::StateSnapshot, self.index_key.expose(), &fields);
        Aes256Gcm::new(key.expose().into())
    }
}
