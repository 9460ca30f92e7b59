//! A writer that has every key and writes any forgery it is told to, made from docs/formats.
//! It goes without the room that seals frames, so that it can write what that one refuses to. Its ciphertexts are made up: a verifier
//! without keys cannot tell.

use bitacora_formats::{Commitment, Frontier, Micros, Position, leaf_hash};
use ed25519_dalek::{Signer, SigningKey};

use crate::case::{Files, NOTE, leaves, segment};

/// A segment's header, field by field.
#[derive(Clone)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 8],
    pub(crate) format: u16,
    pub(crate) flags: u16,
    /// Added to the length that the header has.
    pub(crate) more_bytes: u32,
    pub(crate) ledger: [u8; 16],
    pub(crate) generation: u32,
    pub(crate) epoch: u32,
    pub(crate) number: u32,
    pub(crate) signer: u32,
    pub(crate) first: u64,
    pub(crate) tree_size: u64,
    pub(crate) previous_hash: [u8; 32],
    pub(crate) previous_signature: [u8; 64],
    pub(crate) segment_key: [u8; 32],
    pub(crate) ledger_key: [u8; 32],
    pub(crate) peaks: Vec<[u8; 32]>,
    /// The key that certifies it.
    pub(crate) certifier: SigningKey,
}

/// A frame, field by field.
#[derive(Clone)]
pub(crate) struct Frame {
    pub(crate) magic: [u8; 4],
    pub(crate) format: u16,
    pub(crate) codec: u8,
    pub(crate) flags: u8,
    pub(crate) number: u64,
    pub(crate) first: u64,
    pub(crate) count: u32,
    pub(crate) body_bytes: u32,
    pub(crate) sealed_bytes: u32,
    pub(crate) reserved: u32,
    pub(crate) time: u64,
    pub(crate) previous_hash: [u8; 32],
    pub(crate) tree_size: u64,
    pub(crate) tree_root: [u8; 32],
    pub(crate) ciphertext: Vec<u8>,
    /// The signature that its hash is chained to.
    pub(crate) previous_signature: [u8; 64],
    /// The key that signs it.
    pub(crate) signer: SigningKey,
    /// Instead of what it signs.
    pub(crate) signature: Option<[u8; 64]>,
}

/// A footer, field by field.
#[derive(Clone)]
pub(crate) struct Footer {
    pub(crate) format: u16,
    pub(crate) flags: u16,
    pub(crate) frames: u32,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) tree_size: u64,
    pub(crate) tree_root: [u8; 32],
    pub(crate) first_time: u64,
    pub(crate) last_time: u64,
    pub(crate) previous_hash: [u8; 32],
    pub(crate) signer: SigningKey,
}

/// A ledger being written.
#[derive(Clone)]
pub(crate) struct LedgerWriter {
    /// The ledger's signing keys, number 1 first; the last one certifies.
    pub(crate) keys: Vec<SigningKey>,
    pub(crate) time: u64,
    pub(crate) generation: u32,
    pub(crate) epoch: u32,
    hash: [u8; 32],
    signature: [u8; 64],
    /// The chain hash after the last frame.
    pub(crate) last_frame: [u8; 32],
    pub(crate) tree: Frontier,
    frames: u64,
    pub(crate) segment: u32,
    first: u64,
    first_time: u64,
    segment_signer: SigningKey,
    pub(crate) files: Files,
}

/// The time of the first frame.
pub(crate) const BEGAN: u64 = 1_800_000_000_000_000;
/// Of made-up ciphertext.
const SEALED_BYTES: u32 = 20;
pub(crate) const LEDGER: [u8; 16] = [0x5e; 16];

impl LedgerWriter {
    /// With segment 1 begun, and one frame of one event in it.
    pub(crate) fn begun() -> Self {
        Self::not_begun().begin(|_| {}).frame(1, |_| {})
    }

    pub(crate) fn not_begun() -> Self {
        Self {
            keys: vec![key(1)],
            time: BEGAN,
            generation: 1,
            epoch: 1,
            hash: [0; 32],
            signature: [0; 64],
            last_frame: [0; 32],
            tree: Frontier::new(),
            frames: 0,
            segment: 0,
            first: 1,
            first_time: 0,
            segment_signer: key(100),
            files: Files::default(),
        }
    }

    /// Begins a segment; `forge` may change any field of its header.
    pub(crate) fn begin(mut self, forge: impl FnOnce(&mut Header)) -> Self {
        self.segment += 1;
        (self.frames, self.first, self.first_time) = (0, self.tree.size() + 1, self.time);
        self.segment_signer = key(100 + u8::try_from(self.segment).unwrap());
        let certifier = self.keys.last().unwrap().clone();
        let mut header = Header {
            magic: *b"BITACSEG",
            format: 1,
            flags: 0,
            more_bytes: 0,
            ledger: LEDGER,
            generation: self.generation,
            epoch: self.epoch,
            number: self.segment,
            signer: u32::try_from(self.keys.len()).unwrap(),
            first: self.first,
            tree_size: self.tree.size(),
            previous_hash: self.hash,
            previous_signature: self.signature,
            segment_key: self.segment_signer.verifying_key().to_bytes(),
            ledger_key: certifier.verifying_key().to_bytes(),
            peaks: self.tree.peaks().iter().map(|peak| peak.0).collect(),
            certifier,
        };
        forge(&mut header);
        let bytes = header.encode();
        let chained = bytes.len() - 4;
        self.hash = derive("segment chain", &[&bytes[..chained]]);
        self.signature = bytes[chained - 64..chained].try_into().unwrap();
        self.files.set(&segment(self.segment), bytes);
        let of =
            [&b"BITACLVS\x01\0\0\0"[..], &self.segment.to_le_bytes(), &LEDGER, &self.first.to_le_bytes()];
        self.files.set(&leaves(self.segment), of.concat());
        self
    }

    /// Adds a frame of so many events, and their leaves; `forge` may change any field of it.
    pub(crate) fn frame(self, count: u32, forge: impl FnOnce(&mut Frame)) -> Self {
        let first = self.tree.size() + 1;
        let positions = first..first + u64::from(count);
        let commitments = positions.map(|position| [u8::try_from(position % 251).unwrap(); 32]);
        self.frame_of(&commitments.collect::<Vec<_>>(), forge)
    }

    /// The same, of events with these commitments.
    pub(crate) fn frame_of(mut self, commitments: &[[u8; 32]], forge: impl FnOnce(&mut Frame)) -> Self {
        let first = self.tree.size() + 1;
        let mut entries = Vec::new();
        for (position, commitment) in (first..).zip(commitments) {
            let commitment = Commitment(*commitment);
            self.tree.push(leaf_hash(Position::new(position).unwrap(), Micros(self.time), &commitment));
            entries.extend(self.time.to_be_bytes());
            entries.extend(commitment.0);
        }
        if self.frames == 0 {
            self.first_time = self.time;
        }
        self.frames += 1;
        let mut frame = Frame {
            magic: *b"BITF",
            format: 1,
            codec: 0,
            flags: 0,
            number: self.frames,
            first,
            count: u32::try_from(commitments.len()).unwrap(),
            body_bytes: SEALED_BYTES,
            sealed_bytes: SEALED_BYTES,
            reserved: 0,
            time: self.time,
            previous_hash: self.hash,
            tree_size: self.tree.size(),
            tree_root: self.tree.root().0,
            ciphertext: vec![0xc1; SEALED_BYTES as usize],
            previous_signature: self.signature,
            signer: self.segment_signer.clone(),
            signature: None,
        };
        forge(&mut frame);
        let bytes = frame.encode(&mut self.hash, &mut self.signature);
        self.last_frame = self.hash;
        self.files.change(&segment(self.segment), |segment| segment.extend(bytes));
        self.files.change(&leaves(self.segment), |leaves| leaves.extend(entries));
        self
    }

    /// Ends the segment with a footer; `forge` may change any field of it.
    pub(crate) fn end(mut self, forge: impl FnOnce(&mut Footer)) -> Self {
        let mut footer = Footer {
            format: 1,
            flags: 0,
            frames: u32::try_from(self.frames).unwrap(),
            first: self.first,
            last: self.tree.size(),
            tree_size: self.tree.size(),
            tree_root: self.tree.root().0,
            first_time: self.first_time,
            last_time: self.time,
            previous_hash: self.hash,
            signer: self.segment_signer.clone(),
        };
        forge(&mut footer);
        let bytes = footer.encode(&mut self.hash, &mut self.signature);
        self.files.change(&segment(self.segment), |segment| segment.extend(bytes));
        self
    }

    /// Time goes on, or back.
    pub(crate) fn at(mut self, time: u64) -> Self {
        self.time = time;
        self
    }

    /// Returns the written files, with the note of the keys so far.
    pub(crate) fn files(mut self) -> Files {
        self.files.set(NOTE, note(&self.keys).into_bytes());
        self.files
    }
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let peaks = u32::try_from(self.peaks.len()).unwrap();
        let mut bytes = Vec::new();
        bytes.extend(self.magic);
        bytes.extend(self.format.to_le_bytes());
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend((408 + 32 * peaks + self.more_bytes).to_le_bytes());
        bytes.extend(self.ledger);
        for number in [self.generation, self.epoch, self.number, self.signer] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [self.first, BEGAN, self.tree_size] {
            bytes.extend(number.to_le_bytes());
        }
        // Key-encryption key, wrap salt, wrapped data key, key commitment: for those who have keys.
        bytes.extend([0x77; 8 + 16 + 48 + 32]);
        bytes.extend(self.previous_hash);
        bytes.extend(self.previous_signature);
        bytes.extend(self.segment_key);
        bytes.extend(self.ledger_key);
        bytes.extend(peaks.to_le_bytes());
        bytes.extend(self.peaks.concat());
        let certificate = self.certifier.sign(&derive("segment certificate", &[&bytes]));
        bytes.extend(certificate.to_bytes());
        with_checksum(bytes)
    }
}

impl Frame {
    fn encode(&self, hash: &mut [u8; 32], signature: &mut [u8; 64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.magic);
        bytes.extend(self.format.to_le_bytes());
        bytes.extend([self.codec, self.flags]);
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.first.to_le_bytes());
        for number in [self.count, self.body_bytes, self.sealed_bytes, self.reserved] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.time.to_le_bytes());
        bytes.extend(self.previous_hash);
        bytes.extend(self.tree_size.to_le_bytes());
        bytes.extend(self.tree_root);
        bytes.extend([0x51; 32]);
        bytes.extend(&self.ciphertext);
        bytes.extend([0x7a; 16]);
        *hash = derive("frame chain", &[hash, &self.previous_signature, &bytes]);
        *signature = self.signature.unwrap_or_else(|| self.signer.sign(hash).to_bytes());
        bytes.extend(*signature);
        with_checksum(bytes)
    }
}

impl Footer {
    fn encode(&self, hash: &mut [u8; 32], signature: &mut [u8; 64]) -> Vec<u8> {
        let mut bytes = b"BITACEND".to_vec();
        bytes.extend(self.format.to_le_bytes());
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend(self.frames.to_le_bytes());
        for number in [self.first, self.last, self.tree_size] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.tree_root);
        bytes.extend(self.first_time.to_le_bytes());
        bytes.extend(self.last_time.to_le_bytes());
        bytes.extend(self.previous_hash);
        *hash = derive("segment footer", &[hash, signature, &bytes]);
        *signature = self.signer.sign(hash).to_bytes();
        bytes.extend(*signature);
        with_checksum(bytes)
    }
}

/// Adds the checksum of what is there.
pub(crate) fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// A signing key of its own for each number.
pub(crate) fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

pub(crate) fn derive(name: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(&format!("bitacora v1 {name}"));
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// The note of these keys, each endorsed by the one before.
pub(crate) fn note(keys: &[SigningKey]) -> String {
    note_of(&keys.iter().map(|key| key.verifying_key().to_bytes()).collect::<Vec<_>>(), keys)
}

/// The note of these public keys, whatever they are; each but the first is endorsed by the signer of the one before.
pub(crate) fn note_of(keys: &[[u8; 32]], signers: &[SigningKey]) -> String {
    let mut note = format!("bitacora-signing-keys v1\nsigning-key 1 {}\n", hex(&keys[0]));
    for (number, (pair, signer)) in (2_u32..).zip(keys.windows(2).zip(signers)) {
        let hash = derive("signing key endorsement", &[&number.to_le_bytes(), &pair[0], &pair[1]]);
        let endorsement = signer.sign(&hash).to_bytes();
        note += &format!("signing-key {number} {} {}\n", hex(&pair[1]), hex(&endorsement));
    }
    note
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
