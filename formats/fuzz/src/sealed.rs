//! Parts of derived state with any contents, sealed correctly.
//!
//! Only a valid seal lets hostile contents reach the decoder behind it. The layouts are those of `docs/formats`,
//! written a second time.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce};
use bitacora_formats::{ID_BLOCK_BYTES, IdTableHeader, IndexHeader, KeyUse, Secret, TipTableHeader, derive};

/// Bytes of the tag behind the ciphertext.
pub const TAG_BYTES: usize = 16;

/// Bytes of an id table's header that its blocks are bound to.
const ID_HEADER_FIELDS_BYTES: usize = 80;
/// Bytes at the end of a block of identities: the keyed hash over the others.
const ID_BLOCK_CHECK_BYTES: usize = 16;
/// Bytes before a sealed chunk of stream tips, which its key follows from.
const SIV_BYTES: usize = 16;

/// The key of derived state that everything is sealed with.
#[must_use]
pub fn key() -> Secret {
    Secret::take(&mut [0x11; 32])
}

/// Puts the check that this block of this table must have at its end.
pub fn id_block(header: &IdTableHeader, number: u64, block: &mut [u8; ID_BLOCK_BYTES]) {
    let header = header.encode();
    let key = derive(KeyUse::IdTableBlock, key().expose(), &[&header[..ID_HEADER_FIELDS_BYTES]]);
    let (body, check) = block.split_at_mut(ID_BLOCK_BYTES - ID_BLOCK_CHECK_BYTES);
    let hash = blake3::Hasher::new_keyed(key.expose()).update(&number.to_le_bytes()).update(body).finalize();
    check.copy_from_slice(&hash.as_bytes()[..ID_BLOCK_CHECK_BYTES]);
}

/// Returns the stored bytes of a chunk of this table that holds `plain`.
#[must_use]
pub fn tip_chunk(header: &TipTableHeader, chunk: u64, plain: &[u8]) -> Vec<u8> {
    let (header, number) = (header.encode(), chunk.to_le_bytes());
    let siv = derive(KeyUse::TipTableSiv, key().expose(), &[&header, &number, plain]);
    let siv = &siv.expose()[..SIV_BYTES];
    let key = derive(KeyUse::TipTable, key().expose(), &[&header, &number, siv]);
    [siv, &seal(&key, [0; 12], &[], plain)].concat()
}

/// A part of this block of the index: part 0 is its directory, the others are its pages.
#[must_use]
pub fn index_part(header: &IndexHeader, part: u32, plain: &[u8]) -> Vec<u8> {
    let key = derive(KeyUse::IndexBlock, key().expose(), &[&header.digest]);
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&part.to_le_bytes());
    seal(&key, nonce, &header.encode(), plain)
}

fn seal(key: &Secret, nonce: [u8; 12], covered: &[u8], plain: &[u8]) -> Vec<u8> {
    let mut sealed = plain.to_vec();
    let cipher = Aes256Gcm::new(key.expose().into());
    let tag = cipher.encrypt_inout_detached(&Nonce::from(nonce), covered, sealed.as_mut_slice().into());
    sealed.extend_from_slice(&tag.expect("an input is far shorter than what a cipher takes"));
    sealed
}
