//! The model, from the end of a session's transcript, for harnesses whose hooks do not name it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use bitacora_harness::MAX_NAME_BYTES;

use crate::limits::TRANSCRIPT_TAIL_BYTES;

/// The text before a model's name in a line of a transcript.
const BEFORE: &str = "\"model\":\"";
/// The model name of messages that the harness made up itself.
const SYNTHETIC: &str = "<synthetic>";

/// Returns the model that a transcript named last.
pub(super) fn model(path: &str) -> Option<String> {
    let mut file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let length = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(length.saturating_sub(TRANSCRIPT_TAIL_BYTES))).ok()?;
    let mut tail = Vec::new();
    file.take(TRANSCRIPT_TAIL_BYTES).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let names = tail.rmatch_indices(BEFORE).filter_map(|(at, before)| {
        let rest = tail.get(at.saturating_add(before.len())..)?;
        rest.split_once('"').map(|(name, _)| name)
    });
    names.into_iter().find(|name| is_model(name)).map(str::to_owned)
}

fn is_model(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@[]".contains(c);
    name != SYNTHETIC && !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.chars().all(is_plain)
}
