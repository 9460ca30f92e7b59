//! Evidence of one event, made piece by piece from docs/formats, and the signed notes that it takes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::writer::{BEGAN, hex, key, note};

/// Evidence of an event in a tree, piece by piece.
#[derive(Clone)]
pub(crate) struct EventEvidence {
    pub(crate) origin: String,
    pub(crate) position: String,
    pub(crate) time: String,
    pub(crate) commitment: [u8; 32],
    pub(crate) blind: [u8; 32],
    pub(crate) record: Vec<u8>,
    pub(crate) proof: Vec<Vec<u8>>,
    pub(crate) size: String,
    pub(crate) root: [u8; 32],
    pub(crate) keys: Vec<SigningKey>,
    /// The number of the key that signs.
    pub(crate) signer: usize,
    /// Changes the head's note once it is signed.
    pub(crate) mend_note: fn(String) -> String,
    /// Changes the whole once it is JSON.
    pub(crate) mend: fn(&mut Value),
}

/// A forgery: its name, and the change that makes it.
pub(crate) type EvidenceForgery<T> = (&'static str, fn(&mut T));

pub(crate) const ORIGIN: &str = "main/5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e/g1";

impl EventEvidence {
    /// Of the event at `position` in a tree of `size` events.
    pub(crate) fn of(position: usize, size: usize) -> Self {
        let (blind, record) = ([7; 32], record());
        let commitment = *blake3::keyed_hash(&blind, &record).as_bytes();
        let of =
            |at: usize| if at + 1 == position { commitment } else { [u8::try_from(at % 251).unwrap(); 32] };
        let leaves: Vec<[u8; 32]> = (0..size).map(|at| leaf(at as u64 + 1, &of(at))).collect();
        Self {
            origin: ORIGIN.to_owned(),
            position: position.to_string(),
            time: BEGAN.to_string(),
            commitment,
            blind,
            record,
            proof: path(position - 1, &leaves).into_iter().map(|hash| hash.to_vec()).collect(),
            size: size.to_string(),
            root: root(&leaves),
            keys: vec![key(1), key(2)],
            signer: 1,
            mend_note: |note| note,
            mend: |_| {},
        }
    }

    pub(crate) fn with(mut self, forge: impl FnOnce(&mut Self)) -> Self {
        forge(&mut self);
        self
    }

    pub(crate) fn head(&self) -> String {
        let text = format!("{}\n{}\n{}\n", self.origin, self.size, BASE64.encode(self.root));
        let line = signature_line(&self.origin, &self.keys[self.signer], &text);
        (self.mend_note)(format!("{text}\n{line}"))
    }

    pub(crate) fn json(&self) -> Vec<u8> {
        let mut value = json!({
            "format": "bitacora-evidence v1",
            "position": self.position,
            "time": self.time,
            "commitment": hex(&self.commitment),
            "blind": hex(&self.blind),
            "record": BASE64.encode(&self.record),
            "proof": self.proof.iter().map(|hash| BASE64.encode(hash)).collect::<Vec<_>>(),
            "treeHead": self.head(),
            "signingKeys": note(&self.keys),
        });
        (self.mend)(&mut value);
        value.to_string().into_bytes()
    }
}

/// A record with no more than it has to have.
pub(crate) fn record() -> Vec<u8> {
    let mut record = vec![1];
    for text in ["e-01", "urn:test", "x.noted", "s"] {
        record.push(u8::try_from(text.len()).unwrap());
        record.extend(text.as_bytes());
    }
    // No optional attribute, tags, extensions, data, redactions.
    record.extend([0; 11 + 4]);
    record
}

pub(crate) fn key_id(name: &str, key: &SigningKey) -> [u8; 4] {
    let public = key.verifying_key().to_bytes();
    let hash = Sha256::digest([name.as_bytes(), b"\n\x01", &public].concat());
    [hash[0], hash[1], hash[2], hash[3]]
}

pub(crate) fn signature_line(name: &str, key: &SigningKey, text: &str) -> String {
    let signature = key.sign(text.as_bytes()).to_bytes();
    format!("\u{2014} {name} {}\n", BASE64.encode([&key_id(name, key)[..], &signature].concat()))
}

pub(crate) fn verifier_key(name: &str, key: &SigningKey) -> String {
    let typed = [&[1][..], key.verifying_key().as_bytes()].concat();
    format!("{name}+{}+{}", hex(&key_id(name, key)), BASE64.encode(typed))
}

fn leaf(position: u64, commitment: &[u8; 32]) -> [u8; 32] {
    let bytes = [&[0][..], &position.to_be_bytes(), &BEGAN.to_be_bytes(), commitment].concat();
    Sha256::digest(bytes).into()
}

/// RFC 6962, section 2.1: the root of these leaves.
fn root(leaves: &[[u8; 32]]) -> [u8; 32] {
    match leaves {
        [] => Sha256::digest([]).into(),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            Sha256::digest([&[1][..], &root(left), &root(right)].concat()).into()
        }
    }
}

/// RFC 6962, section 2.1.1: what proves a leaf.
fn path(index: usize, leaves: &[[u8; 32]]) -> Vec<[u8; 32]> {
    if leaves.len() < 2 {
        return Vec::new();
    }
    let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
    let (mut below, beside) = match index.checked_sub(left.len()) {
        None => (path(index, left), root(right)),
        Some(index) => (path(index, right), root(left)),
    };
    below.push(beside);
    below
}
