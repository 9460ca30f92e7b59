//! The cursor of a ledger's notices: a position in a sealed file of the ledger's folder.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::{After, ControlFile};
use bitacora_ledger::{Disk, Ledger, OpenMode};

/// The name of the file in the ledger's folder.
const NAME: &str = "notices";
/// While it is written.
const UNFINISHED: &str = "notices.tmp";
/// The beginning of its one line; the position follows.
const LINE: &str = "bitacora-notices v2 after ";
/// Bytes of the longest file: the line, and its seal.
const MAX_BYTES: usize = LINE.len() + 21 + 70;

/// The file of one ledger.
pub(super) struct Cursor {
    folder: PathBuf,
    ledger: Ledger,
}

impl Cursor {
    pub(super) fn new(folder: PathBuf, ledger: Ledger) -> Self {
        Self { folder, ledger }
    }

    /// Returns the position up to which events were told of; `None` where no file says it. A file that this ledger did not seal is an
    /// error: its writer may want that nobody is told.
    pub(super) fn read(&self, disk: &dyn Disk) -> io::Result<Option<After>> {
        let file = match disk.open(&self.path(NAME), OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut bytes = [0; MAX_BYTES + 1];
        let read = file.read_at(&mut bytes, 0)?;
        let invalid = |what: &str| {
            let what = format!("{}: {what}", self.path(NAME).display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        };
        let text = self.ledger.unseal(ControlFile::Notices, bytes.get(..read).unwrap_or_default());
        let text = text.map_err(|error| invalid(&error.to_string()))?;
        let position = text.strip_prefix(LINE).and_then(|text| text.strip_suffix('\n')?.parse().ok());
        position.map(|position| Some(After::new(position))).ok_or_else(|| invalid("found no position"))
    }

    /// Returned `Ok` ⇒ durable. A crash leaves what was there before, or this.
    pub(super) fn write(&self, disk: &dyn Disk, after: After) -> io::Result<()> {
        let unfinished = self.path(UNFINISHED);
        match disk.remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.open(&unfinished, OpenMode::CreateNew)?;
        let text = self.ledger.seal(ControlFile::Notices, &format!("{LINE}{}\n", after.get()));
        file.write_all_at(text.as_bytes(), 0)?;
        file.sync_all()?;
        disk.rename(&unfinished, &self.path(NAME))?;
        disk.sync_folder(&self.folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::join(&self.folder, name)
    }
}
