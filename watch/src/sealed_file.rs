//! Files of the watch's state, authenticated with a key from the agent's token.
//!
//! A forged position would hide what lies before it. So a file that this connection did not write is not believed: all is read
//! again, and recorded once. Whoever can read the token can forge the file; the same user could also change the transcripts.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use bitacora_client::Token;
use bitacora_connect::write_private;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits::MAX_STATE_BYTES;

/// The context of the key.
const KEY_CONTEXT: &str = "bitacora 2026-11 state of watch";
/// The digits of a mark.
const MARK_DIGITS: usize = 64;

/// The key of a connection's files.
#[derive(Clone)]
pub(crate) struct StateKey([u8; 32]);

impl StateKey {
    pub(crate) fn of(token: &Token) -> Self {
        Self(blake3::derive_key(KEY_CONTEXT, token.reveal().as_bytes()))
    }

    /// The name goes into the mark, so that no file takes the place of another.
    fn mark(&self, name: &str, json: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&u64::try_from(name.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(json);
        hasher.finalize()
    }

    /// Writes a file: 64 digits of its mark, a line feed, JSON.
    pub(crate) fn write<T: Serialize>(&self, folder: &Path, name: &str, value: &T) -> io::Result<()> {
        let json = serde_json::to_vec(value).map_err(io::Error::other)?;
        let mark = self.mark(name, &json);
        let text = [mark.to_hex().as_bytes(), b"\n", &json].concat();
        write_private(&folder.join(name), &text)
    }

    /// Reads a file; `None` where there is none that this connection wrote.
    pub(crate) fn read<T: DeserializeOwned>(&self, folder: &Path, name: &str) -> Option<T> {
        let mut text = Vec::new();
        let file = fs::File::open(folder.join(name)).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        file.take(MAX_STATE_BYTES).read_to_end(&mut text).ok()?;
        let (mark, rest) = text.split_at_checked(MARK_DIGITS)?;
        let json = rest.strip_prefix(b"\n")?;
        let mark = blake3::Hash::from_hex(mark).ok()?;
        // The comparison takes the same time whatever is found.
        (mark == self.mark(name, json)).then(|| serde_json::from_slice(json).ok())?
    }
}
