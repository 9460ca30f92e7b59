//! The input of a hook: its bytes, or, of one that is too long, the beginning with the length and the digest of all.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

use crate::limits::{MAX_COUNTED_BYTES, MAX_INPUT_BYTES};

/// The bytes of one step of counting.
const STEP_BYTES: usize = 64 * 1024;

/// The input as the harness wrote it.
pub(super) struct InputBody {
    /// Its bytes, at most [`MAX_INPUT_BYTES`] and one.
    pub(super) bytes: Vec<u8>,
    /// The length of all of it.
    pub(super) length: u64,
    /// The digest of all of it, hexadecimal.
    pub(super) sha256: Option<String>,
}

impl InputBody {
    /// Reads an input. What goes past the limit is counted where `counts` says so, and kept nowhere.
    pub(super) fn read(mut input: impl Read, counts: bool) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let most = MAX_INPUT_BYTES.saturating_add(1);
        input.by_ref().take(most).read_to_end(&mut bytes)?;
        let mut body = Self { length: u64::try_from(bytes.len()).unwrap_or(u64::MAX), bytes, sha256: None };
        if body.is_whole() || !counts {
            return Ok(body);
        }
        let mut digest = Sha256::new_with_prefix(&body.bytes);
        let mut step = vec![0; STEP_BYTES];
        while body.length < MAX_COUNTED_BYTES {
            let read = input.read(&mut step)?;
            if read == 0 {
                body.sha256 = Some(hex::encode(digest.finalize()));
                return Ok(body);
            }
            digest.update(step.get(..read).unwrap_or_default());
            body.length = body.length.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        }
        Ok(body)
    }

    /// Returns `true` if nothing of it is left out.
    pub(super) fn is_whole(&self) -> bool {
        self.length <= MAX_INPUT_BYTES
    }

    /// Returns the digest of all of it, if it is known.
    pub(super) fn digest(&self) -> Option<String> {
        if self.is_whole() { Some(hex::encode(Sha256::digest(&self.bytes))) } else { self.sha256.clone() }
    }
}
