//! Requests to a witness for a cosignature, and its answers (c2sp.org/tlog-witness).
//!
//! Layout: `docs/formats/add_checkpoint.md`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::ids::TreeHash;
use crate::limits::{MAX_ADD_CHECKPOINT_BYTES, MAX_ADD_CHECKPOINT_HASHES, MAX_ADDED_COSIGNATURES_BYTES};
use crate::note::{NoteError, NoteSignature, UnverifiedNote, parse_signature_lines};
use crate::tree_head::plain_number;

/// The path of the endpoint, behind a witness's submission prefix and a slash.
pub const ADD_CHECKPOINT_PATH: &str = "add-checkpoint";
/// The content type of an answer that gives a size.
pub const SIZE_CONTENT_TYPE: &str = "text/x.tlog.size";

const OLD: &str = "old ";

/// An error in the text of a request to a witness, or of its answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddCheckpointError {
    /// More text than a request can have.
    #[error("not a request to cosign: {bytes} bytes; at most {MAX_ADD_CHECKPOINT_BYTES} are taken")]
    TooLong {
        /// Bytes there are.
        bytes: usize,
    },
    /// The first line gives no size.
    #[error("not a request to cosign: 'old' and a size without leading zeros expected as its first line")]
    Old,
    /// The proof is not hashes, or does not end.
    #[error(
        "not a request to cosign: hashes of 32 bytes in base64, a line each, and an empty line expected after the size"
    )]
    Hashes,
    /// More hashes than a proof can have.
    #[error("not a request to cosign: more than {MAX_ADD_CHECKPOINT_HASHES} hashes")]
    TooManyHashes,
    /// A proof from nothing has nothing to prove.
    #[error("not a request to cosign: hashes after the size 0, from which there is nothing to prove")]
    NothingToProve,
    /// The checkpoint is no signed note.
    #[error(transparent)]
    Checkpoint(NoteError),
    /// More text than an answer can have.
    #[error("not a witness's answer: {bytes} bytes; at most {MAX_ADDED_COSIGNATURES_BYTES} are taken")]
    LongAnswer {
        /// Bytes there are.
        bytes: usize,
    },
    /// The answer is not signature lines.
    #[error("not a witness's answer: one or more lines of signatures expected, and nothing else")]
    Answer,
    /// The answer is no size.
    #[error("not a witness's answer: a size without leading zeros and a newline expected, and nothing else")]
    KnownSize,
}

/// A note to cosign, and the proof that its tree begins with the one that the witness knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddCheckpoint {
    old: u64,
    proof: Vec<TreeHash>,
    checkpoint: String,
}

impl AddCheckpoint {
    /// Asks to cosign a note, the witness having cosigned the size `old` last; 0 if it has none.
    ///
    /// # Errors
    /// [`AddCheckpointError::NothingToProve`] or [`AddCheckpointError::TooManyHashes`] for a proof that no witness takes,
    /// [`AddCheckpointError::Checkpoint`] for a checkpoint that is no signed note.
    pub fn new(old: u64, proof: &[TreeHash], checkpoint: &str) -> Result<Self, AddCheckpointError> {
        if proof.len() > MAX_ADD_CHECKPOINT_HASHES {
            return Err(AddCheckpointError::TooManyHashes);
        }
        if old == 0 && !proof.is_empty() {
            return Err(AddCheckpointError::NothingToProve);
        }
        UnverifiedNote::parse(checkpoint).map_err(AddCheckpointError::Checkpoint)?;
        Ok(Self { old, proof: proof.to_vec(), checkpoint: checkpoint.to_owned() })
    }

    /// Reads a request, of which nothing is believed yet: neither the proof is checked nor any signature.
    ///
    /// # Errors
    /// An [`AddCheckpointError`] for the first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, AddCheckpointError> {
        if text.len() > MAX_ADD_CHECKPOINT_BYTES {
            return Err(AddCheckpointError::TooLong { bytes: text.len() });
        }
        let (first, mut rest) = text.split_once('\n').ok_or(AddCheckpointError::Old)?;
        let old = first.strip_prefix(OLD).and_then(plain_number).ok_or(AddCheckpointError::Old)?;
        let mut proof = Vec::new();
        loop {
            let (line, after) = rest.split_once('\n').ok_or(AddCheckpointError::Hashes)?;
            rest = after;
            if line.is_empty() {
                return Self::new(old, &proof, rest);
            }
            if proof.len() >= MAX_ADD_CHECKPOINT_HASHES {
                return Err(AddCheckpointError::TooManyHashes);
            }
            let hash = BASE64.decode(line).ok().and_then(|bytes| bytes.try_into().ok());
            proof.push(TreeHash(hash.ok_or(AddCheckpointError::Hashes)?));
        }
    }

    /// The size that the witness is said to have cosigned last; 0 if none.
    #[must_use]
    pub fn old(&self) -> u64 {
        self.old
    }

    /// The consistency proof from that size to the checkpoint's, the lowest hash first.
    #[must_use]
    pub fn proof(&self) -> &[TreeHash] {
        &self.proof
    }

    /// The note.
    #[must_use]
    pub fn checkpoint(&self) -> &str {
        &self.checkpoint
    }
}

impl fmt::Display for AddCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{OLD}{}", self.old)?;
        self.proof.iter().try_for_each(|hash| writeln!(f, "{}", BASE64.encode(hash.0)))?;
        write!(f, "\n{}", self.checkpoint)
    }
}

/// Reads the signature lines that a witness answers with. They show nothing before they are verified, as
/// [`crate::SignedNote::with_cosignatures`] does.
///
/// # Errors
/// [`AddCheckpointError::LongAnswer`] or [`AddCheckpointError::Answer`].
pub fn parse_added_cosignatures(answer: &str) -> Result<Vec<NoteSignature>, AddCheckpointError> {
    if answer.len() > MAX_ADDED_COSIGNATURES_BYTES {
        return Err(AddCheckpointError::LongAnswer { bytes: answer.len() });
    }
    parse_signature_lines(answer).map_err(|_| AddCheckpointError::Answer)
}

/// Reads the size that a witness answers with where it has cosigned another one than it was told.
///
/// # Errors
/// [`AddCheckpointError::KnownSize`].
pub fn parse_known_size(answer: &str) -> Result<u64, AddCheckpointError> {
    answer.strip_suffix('\n').and_then(plain_number).ok_or(AddCheckpointError::KnownSize)
}

#[cfg(test)]
mod tests;
