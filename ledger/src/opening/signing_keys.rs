//! The clear note of the keys that signed this ledger's segments, each endorsed by the one before.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::Keyring;

use crate::host::disk::{Disk, OpenMode};
use crate::host::replacement::replace;

/// The note's name in the ledger's folder.
const NOTE: &str = "signing-keys.note";
/// No note is longer; a longer file is replaced.
const MAX_NOTE_BYTES: u64 = 1024 * 1024;
/// The suffix of its name while it is written.
const UNFINISHED: &str = ".new";

fn note_path(ledger: &Path) -> PathBuf {
    ledger.join(NOTE)
}

/// Brings the note up to the keyring. Returned `Ok` ⇒ durable; a crash before leaves the old note or the new one.
pub(crate) fn write_note(disk: &dyn Disk, ledger: &Path, keyring: &Keyring) -> io::Result<()> {
    let note = keyring.signing_chain_note();
    if current(disk, ledger)?.as_deref() == Some(note.as_bytes()) {
        return Ok(());
    }
    replace(disk, ledger, NOTE, UNFINISHED, |file| file.write_all_at(note.as_bytes(), 0))
}

fn current(disk: &dyn Disk, ledger: &Path) -> io::Result<Option<Vec<u8>>> {
    let path = note_path(ledger);
    if !disk.exists(&path)? {
        return Ok(None);
    }
    let file = disk.open(&path, OpenMode::Read)?;
    let length = file.len()?.min(MAX_NOTE_BYTES);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}
