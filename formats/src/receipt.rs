//! Receipts: proofs that an event is in the tree, for clients of logs (c2sp.org/tlog-proof).
//!
//! Layout: `docs/formats/receipt.md`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::ids::{Position, TreeHash};
use crate::leaves::{LEAF_ENTRY_BYTES, LeafEntry};
use crate::limits::MAX_RECEIPT_BYTES;
use crate::note::VerifierKey;
use crate::proof::{MAX_INCLUSION_HASHES, ProofError, verify_inclusion};
use crate::tree_head::{SignedTreeHead, TreeHeadError, UnverifiedTreeHead};

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";
const EXTRA: &str = "extra ";
const INDEX: &str = "index ";
/// Bytes that are hashed for a leaf, after RFC 6962's prefix: position, time and commitment.
const ENTRY_BYTES: usize = 8 + LEAF_ENTRY_BYTES;

/// An error in the text of a receipt, or in its proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// More text than a receipt can have.
    #[error("not a receipt: {bytes} bytes; at most {MAX_RECEIPT_BYTES} are taken")]
    TooLong {
        /// Bytes there are.
        bytes: usize,
    },
    /// The first line is another one.
    #[error("not a receipt: '{FIRST_LINE}' expected as its first line")]
    NotAReceipt,
    /// The entry is not there, or none of a ledger.
    #[error("not a receipt of an event: 'extra' and 48 bytes in base64 expected as its second line")]
    Entry,
    /// The index is not there, or not that of the entry.
    #[error("not a receipt of an event: 'index' and its position less one expected as the third line")]
    Index,
    /// The proof is not hashes, or does not end.
    #[error(
        "not a receipt: hashes of 32 bytes in base64, a line each, and an empty line expected after the index"
    )]
    Hashes,
    /// The tree head shows nothing.
    #[error(transparent)]
    TreeHead(#[from] TreeHeadError),
    /// The proof shows nothing.
    #[error("the receipt does not hold: {0}")]
    Proof(#[from] ProofError),
}

/// An event as the tree knows it, and the proof that a tree head covers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionReceipt {
    /// The position of the event.
    pub position: Position,
    /// Its time and commitment.
    pub leaf: LeafEntry,
    /// The inclusion proof, the lowest hash first.
    pub proof: Vec<TreeHash>,
    /// The note of the tree head.
    pub tree_head: String,
}

/// A receipt as it is written, before anything of it is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnverifiedReceipt {
    receipt: InclusionReceipt,
    head: UnverifiedTreeHead,
}

impl fmt::Display for InclusionReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut entry = self.position.get().to_be_bytes().to_vec();
        self.leaf.encode(&mut entry);
        writeln!(f, "{FIRST_LINE}\n{EXTRA}{}", BASE64.encode(entry))?;
        writeln!(f, "{INDEX}{}", self.position.get() - 1)?;
        self.proof.iter().try_for_each(|hash| writeln!(f, "{}", BASE64.encode(hash.0)))?;
        write!(f, "\n{}", self.tree_head)
    }
}

impl UnverifiedReceipt {
    /// Reads a receipt, of which nothing is believed yet.
    ///
    /// # Errors
    /// A [`ReceiptError`] for the first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, ReceiptError> {
        if text.len() > MAX_RECEIPT_BYTES {
            return Err(ReceiptError::TooLong { bytes: text.len() });
        }
        let rest = text.strip_prefix(FIRST_LINE).and_then(|rest| rest.strip_prefix('\n'));
        let (entry, rest) =
            rest.ok_or(ReceiptError::NotAReceipt)?.split_once('\n').ok_or(ReceiptError::Entry)?;
        let (position, leaf) = parse_entry(entry).ok_or(ReceiptError::Entry)?;
        let (index, rest) = rest.split_once('\n').ok_or(ReceiptError::Index)?;
        if index.strip_prefix(INDEX) != Some(&(position.get() - 1).to_string()) {
            return Err(ReceiptError::Index);
        }
        let (proof, tree_head) = parse_proof(rest)?;
        let head = UnverifiedTreeHead::parse(tree_head)?;
        let receipt = InclusionReceipt { position, leaf, proof, tree_head: tree_head.to_owned() };
        Ok(Self { receipt, head })
    }

    /// Checks that the proof makes the root that the tree head names, whoever signed that: all that can be checked without a key.
    ///
    /// # Errors
    /// [`ReceiptError::Proof`]; the receipt holds for nobody then.
    pub fn check_proof(&self) -> Result<(), ReceiptError> {
        let InclusionReceipt { position, leaf, proof, .. } = &self.receipt;
        let (size, root) = (self.head.size(), self.head.root());
        Ok(verify_inclusion(&leaf.hash(*position), position.get() - 1, size, proof, &root)?)
    }

    /// Verifies the tree head with keys that are known, and that it covers the event.
    ///
    /// # Errors
    /// A [`ReceiptError`]; nothing is proven then.
    pub fn verify(self, keys: &[VerifierKey]) -> Result<(InclusionReceipt, SignedTreeHead), ReceiptError> {
        let proven = self.check_proof();
        let head = self.head.verify(keys)?;
        proven?;
        Ok((self.receipt, head))
    }
}

fn parse_entry(line: &str) -> Option<(Position, LeafEntry)> {
    let bytes = BASE64.decode(line.strip_prefix(EXTRA)?).ok()?;
    let bytes: [u8; ENTRY_BYTES] = bytes.try_into().ok()?;
    let (position, leaf) = bytes.split_first_chunk()?;
    Some((Position::new(u64::from_be_bytes(*position))?, LeafEntry::decode(leaf.try_into().ok()?)))
}

/// Splits off the hashes, and the text after the empty line behind them.
fn parse_proof(mut text: &str) -> Result<(Vec<TreeHash>, &str), ReceiptError> {
    let mut proof = Vec::new();
    loop {
        let (line, rest) = text.split_once('\n').ok_or(ReceiptError::Hashes)?;
        text = rest;
        if line.is_empty() {
            return Ok((proof, text));
        }
        let hash = BASE64.decode(line).ok().and_then(|bytes| bytes.try_into().ok());
        proof.push(TreeHash(hash.ok_or(ReceiptError::Hashes)?));
        if proof.len() > MAX_INCLUSION_HASHES {
            return Err(ReceiptError::Hashes);
        }
    }
}

#[cfg(test)]
mod tests;
