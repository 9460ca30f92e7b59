//! Signed texts made right again after a mutation: checks, roots, and the signature of a known key.
//!
//! The layouts are those of `docs/formats`, written a second time.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bitacora_formats::{
    Commitment, Keyring, LeafEntry, Position, ProofError, Secret, TreeHash, VerifierKey, WitnessKey,
    commitment, cosign, sign_note, verify_inclusion,
};
use ed25519_dalek::SigningKey;
use serde_json::{Map, Value};

use crate::mend::Extent;

/// The separator between a note's text and its signatures.
const EMPTY_LINE: &str = "\n\n";
/// The offset of a record's length in an entry of heads, behind position and blind.
const HEAD_RECORD_OFFSET: usize = 4 + 8 + 32;
/// Bytes of the header of a file of heads.
const HEADS_HEADER_BYTES: usize = 32;
/// Bytes of a key's id, before a signature.
const KEY_ID_BYTES: usize = 4;
/// Bytes of an archive's header, of an entry of its table, and of its trailer.
const ARCHIVE_HEADER_BYTES: usize = 40;
const PART_ENTRY_BYTES: usize = 56;
const ARCHIVE_TRAILER_BYTES: usize = 32;
/// Bytes of a checksum.
const CRC_BYTES: usize = 4;

/// The keyring of the seeds.
pub static KEYRING: LazyLock<Keyring> = LazyLock::new(|| {
    let mut next = 0_u8;
    let mut counting = |bytes: &mut [u8]| {
        for byte in bytes {
            *byte = next;
            next = next.wrapping_add(1);
        }
    };
    let mut keyring = Keyring::generate(&mut counting);
    keyring.rotate_signing(&mut counting).expect("a first rotation finds room");
    keyring
});

/// The name that the seeds are signed under.
pub const NAME: &str = "main/a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0/g1";

/// The keys of the seeds under their name.
pub static KEYS: LazyLock<Vec<VerifierKey>> = LazyLock::new(|| {
    let chain = KEYRING.signing_chain();
    let publics = (1..=chain.active_index()).filter_map(|number| chain.key(number));
    publics.map(|public| VerifierKey::new(NAME, *public).expect("the name is one")).collect()
});

/// The witnesses of the seeds.
pub static WITNESSES: LazyLock<Vec<WitnessKey>> = LazyLock::new(|| {
    let witness = |(name, key): &(&str, SigningKey)| WitnessKey::new(name, key.verifying_key());
    witness_keys().iter().map(|named| witness(named).expect("the name is one")).collect()
});

fn witness_keys() -> [(&'static str, SigningKey); 2] {
    [("witness.example/w", 0x31), ("other.example", 0x32)]
        .map(|(name, seed)| (name, SigningKey::from_bytes(&[seed; 32])))
}

/// Puts the signature of a known key in the place of a note's first one: under its name, or under the first line of the text.
#[must_use]
pub fn note(bytes: &mut [u8], size: usize, seed: u32) -> usize {
    let extent = Extent::of(seed);
    let mended = std::str::from_utf8(&bytes[..size]).ok().and_then(|note| match extent {
        Extent::Nothing => None,
        Extent::Checksums => signed_again(note, NAME),
        Extent::Links | Extent::Places => signed_again(note, note.split('\n').next()?),
    });
    replace(bytes, size, mended)
}

/// The digests of an archive's parts in its table, then that of the table in its manifest, then the manifest's signature.
#[must_use]
pub fn archive(bytes: &mut [u8], size: usize, seed: u32) -> usize {
    let extent = Extent::of(seed);
    let mended = if extent > Extent::Nothing { archive_again(&bytes[..size]) } else { None };
    let Some(mended) = mended.filter(|mended| mended.len() <= bytes.len()) else { return size };
    bytes[..mended.len()].copy_from_slice(&mended);
    mended.len()
}

fn archive_again(bytes: &[u8]) -> Option<Vec<u8>> {
    let (before, trailer) = bytes.split_last_chunk::<ARCHIVE_TRAILER_BYTES>()?;
    let [manifest_bytes, table_bytes] = [12, 8].map(|at| {
        let field = trailer.get(at..).and_then(<[u8]>::first_chunk);
        field.and_then(|field| usize::try_from(u32::from_le_bytes(*field)).ok())
    });
    let (before, manifest) = before.split_at_checked(before.len().checked_sub(manifest_bytes?)?)?;
    let (parts, table) = before.split_at_checked(before.len().checked_sub(table_bytes?)?)?;
    let mut table = table.to_vec();
    let mut rest = parts.get(ARCHIVE_HEADER_BYTES..)?;
    for entry in table.chunks_exact_mut(PART_ENTRY_BYTES) {
        let stored = u32::from_le_bytes(*entry.get(16..)?.first_chunk()?);
        let (part, after) = rest.split_at_checked(usize::try_from(stored).ok()?)?;
        entry.get_mut(24..)?.copy_from_slice(blake3::hash(part).as_bytes());
        rest = after;
    }
    let text = std::str::from_utf8(manifest).ok()?;
    let (lines, _) = text.rsplit_once("\nparts ")?;
    let count = table.len() / PART_ENTRY_BYTES;
    let text = format!("{lines}\nparts {count} {} {}\n", table.len(), blake3::hash(&table).to_hex());
    let signed = sign_note(&text, NAME, KEYRING.signing().key).ok()?.into_bytes();
    let lengths =
        [table.len(), signed.len()].map(|length| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    let offset = (parts.len() as u64).to_le_bytes();
    let trailer = [&offset[..], lengths.as_flattened(), &trailer[16..]].concat();
    Some([parts, &table, &signed, &trailer].concat())
}

/// The first signature of a note, always; then the lines of known witnesses, each of the time that it has; then of one that a
/// cosignature can have.
#[must_use]
pub fn cosigned(bytes: &mut [u8], size: usize, seed: u32) -> usize {
    let size = note(bytes, size, 1);
    let extent = Extent::of(seed);
    let mended = std::str::from_utf8(&bytes[..size]).ok().and_then(|note| cosigned_again(note, extent));
    replace(bytes, size, mended)
}

fn cosigned_again(note: &str, extent: Extent) -> Option<String> {
    if extent < Extent::Links {
        return None;
    }
    let (text, lines) = note.rsplit_once(EMPTY_LINE)?;
    let text = format!("{text}\n");
    let witnesses = witness_keys();
    let mut mended = format!("{text}\n");
    for line in lines.split_terminator('\n') {
        let named = witnesses.iter().find(|(name, _)| line.contains(name));
        let again = named.and_then(|(name, key)| {
            let bytes = BASE64.decode(line.rsplit_once(' ')?.1).ok()?;
            let mut seconds = u64::from_be_bytes(*bytes.get(KEY_ID_BYTES..)?.first_chunk()?);
            if extent == Extent::Places {
                seconds %= 1 << 63;
            }
            cosign(&text, name, key, seconds).ok()
        });
        mended.push_str(&again.map_or_else(|| line.to_owned(), |line| line.to_string()));
        mended.push('\n');
    }
    Some(mended)
}

fn signed_again(note: &str, name: &str) -> Option<String> {
    let (text, lines) = note.rsplit_once(EMPTY_LINE)?;
    let (_, others) = lines.split_once('\n')?;
    let signed = sign_note(&format!("{text}\n"), name, KEYRING.signing().key).ok()?;
    Some(format!("{signed}{others}"))
}

/// The checksums of the entries in a file of heads; then their inner lengths; then the outer one, after the inner ones.
pub fn heads(file: &mut [u8], seed: u32) {
    let extent = Extent::of(seed);
    let mut rest = file.get_mut(HEADS_HEADER_BYTES..).unwrap_or_default();
    while extent > Extent::Nothing {
        if extent == Extent::Links {
            fit_note(rest);
        } else if extent == Extent::Places {
            fit_entry(rest);
        }
        let Some(bytes) = u32_at(rest, 0).and_then(|bytes| bytes.checked_add(4)) else { return };
        if bytes > rest.len() {
            return;
        }
        let (entry, behind) = rest.split_at_mut(bytes);
        crate::mend::mend_checksum(entry);
        rest = behind;
    }
}

/// Makes the note as long as the entry leaves room for.
fn fit_note(entry: &mut [u8]) -> Option<()> {
    let (bytes, record) = (u32_at(entry, 0)?, u32_at(entry, HEAD_RECORD_OFFSET)?);
    let at = (HEAD_RECORD_OFFSET + 4).checked_add(record)?;
    let note = (4 + bytes).checked_sub(at.checked_add(4 + CRC_BYTES)?)?;
    set_u32(entry, at, note)
}

/// Makes the entry as long as its record and note are.
fn fit_entry(entry: &mut [u8]) -> Option<()> {
    let record = u32_at(entry, HEAD_RECORD_OFFSET)?;
    let at = (HEAD_RECORD_OFFSET + 4).checked_add(record)?;
    let bytes = at.checked_add(CRC_BYTES)?.checked_add(u32_at(entry, at)?)?;
    set_u32(entry, 0, bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<usize> {
    let field = bytes.get(offset..)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*field)).ok()
}

fn set_u32(bytes: &mut [u8], offset: usize, value: usize) -> Option<()> {
    let field: &mut [u8; 4] = bytes.get_mut(offset..)?.first_chunk_mut()?;
    *field = u32::try_from(value).ok()?.to_le_bytes();
    Some(())
}

/// The index of a receipt; then the root that its proof leads to, signed; then as many hashes as its place and size ask for.
#[must_use]
pub fn receipt(bytes: &mut [u8], size: usize, seed: u32) -> usize {
    let extent = Extent::of(seed);
    let mended = std::str::from_utf8(&bytes[..size]).ok().and_then(|text| receipt_again(text, extent));
    replace(bytes, size, mended)
}

fn receipt_again(text: &str, extent: Extent) -> Option<String> {
    if extent == Extent::Nothing {
        return None;
    }
    let (proof, head) = text.split_once(EMPTY_LINE)?;
    let mut lines = proof.split('\n');
    let (first, extra, _index) = (lines.next()?, lines.next()?, lines.next()?);
    let entry = BASE64.decode(extra.strip_prefix("extra ")?).ok()?;
    let (position, leaf) = entry.split_first_chunk()?;
    let position = Position::new(u64::from_be_bytes(*position))?;
    let leaf = LeafEntry::decode(leaf.try_into().ok()?);
    let mut hashes: Vec<_> = lines.map(decode_hash).collect::<Option<_>>()?;
    let head = covering(head, position, &leaf, &mut hashes, extent).unwrap_or_else(|| head.to_owned());
    let hashes: String = hashes.iter().map(|hash| format!("{}\n", BASE64.encode(hash.0))).collect();
    Some(format!("{first}\n{extra}\nindex {}\n{hashes}\n{head}", position.get() - 1))
}

/// The evidence's commitment; then the root that its proof leads to, signed, and the known keys; then as many hashes as its
/// place and size ask for. `record` is put in the place of its own.
#[must_use]
pub fn evidence(bytes: &mut [u8], size: usize, seed: u32, record: Option<&[u8]>) -> usize {
    let mended = evidence_again(&bytes[..size], Extent::of(seed), record);
    replace(bytes, size, mended)
}

fn evidence_again(json: &[u8], extent: Extent, record: Option<&[u8]>) -> Option<String> {
    let mut members: Map<String, Value> = serde_json::from_slice(json).ok()?;
    if let Some(record) = record {
        members.insert("record".to_owned(), BASE64.encode(record).into());
    }
    if extent >= Extent::Checksums
        && let Some((blind, record)) = secret_of(&members, "blind").zip(record_in(&members))
    {
        members.insert("commitment".to_owned(), commitment(&blind, &record).to_string().into());
    }
    if extent >= Extent::Links {
        cover(&mut members, extent);
    }
    serde_json::to_string(&members).ok()
}

/// Puts a head that covers the event in the place of the evidence's own.
fn cover(members: &mut Map<String, Value>, extent: Extent) -> Option<()> {
    let text = |name: &str| members.get(name)?.as_str();
    let position: Position = text("position")?.parse().ok()?;
    let time = bitacora_formats::Micros(text("time")?.parse().ok()?);
    let commitment: Commitment = text("commitment")?.parse().ok()?;
    let hashes = members.get("proof")?.as_array()?.iter();
    let mut hashes: Vec<_> = hashes.map(|hash| decode_hash(hash.as_str()?)).collect::<Option<_>>()?;
    let leaf = LeafEntry { time, commitment };
    let head = covering(text("treeHead")?, position, &leaf, &mut hashes, extent)?;
    let hashes: Vec<Value> = hashes.iter().map(|hash| BASE64.encode(hash.0).into()).collect();
    members.insert("proof".to_owned(), hashes.into());
    members.insert("treeHead".to_owned(), head.into());
    members.insert("signingKeys".to_owned(), KEYRING.signing_chain_note().into());
    Some(())
}

/// The record of some evidence, as bytes to mutate.
#[must_use]
pub fn record_of(json: &[u8]) -> Option<Vec<u8>> {
    record_in(&serde_json::from_slice(json).ok()?)
}

fn record_in(members: &Map<String, Value>) -> Option<Vec<u8>> {
    BASE64.decode(members.get("record")?.as_str()?).ok()
}

fn secret_of(members: &Map<String, Value>, name: &str) -> Option<Secret> {
    let hash: TreeHash = members.get(name)?.as_str()?.parse().ok()?;
    Some(Secret::take(&mut { hash.0 }))
}

/// The note of a head of the same origin that these hashes lead to from the leaf; their number is made right if it goes that far.
fn covering(
    head: &str,
    position: Position,
    leaf: &LeafEntry,
    hashes: &mut Vec<TreeHash>,
    extent: Extent,
) -> Option<String> {
    let mut lines = head.split('\n');
    let (origin, size): (&str, u64) = (lines.next()?, lines.next()?.parse().ok()?);
    let nothing = TreeHash([0; 32]);
    let reached = |size, hashes: &[TreeHash]| {
        verify_inclusion(&leaf.hash(position), position.get() - 1, size, hashes, &nothing)
    };
    let (size, root) = match reached(size, hashes) {
        Err(ProofError::Root { found, .. }) => (size, found),
        _ if extent < Extent::Places => return None,
        _ => {
            let size = size.max(position.get());
            if let Err(ProofError::Length { expected, .. }) = reached(size, hashes) {
                hashes.resize(expected, TreeHash([6; 32]));
            }
            let Err(ProofError::Root { found, .. }) = reached(size, hashes) else { return None };
            (size, found)
        }
    };
    let text = format!("{origin}\n{size}\n{}\n", BASE64.encode(root.0));
    sign_note(&text, origin, KEYRING.signing().key).ok()
}

fn decode_hash(text: &str) -> Option<TreeHash> {
    BASE64.decode(text).ok()?.try_into().ok().map(TreeHash)
}

/// Writes the mended text over an input, if it fits.
fn replace(bytes: &mut [u8], size: usize, mended: Option<String>) -> usize {
    let Some(mended) = mended else { return size };
    let Some(place) = bytes.get_mut(..mended.len()) else { return size };
    place.copy_from_slice(mended.as_bytes());
    mended.len()
}
