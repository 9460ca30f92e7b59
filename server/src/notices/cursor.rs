//! How far a ledger's events were told of: a position in a file of the ledger's folder.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::After;
use bitacora_ledger::{Disk, OpenMode};

/// The name of the file in the ledger's folder.
const NAME: &str = "notices";
/// While it is written.
const UNFINISHED: &str = "notices.tmp";
/// How its one line begins; the position follows.
const LINE: &str = "bitacora-notices v1 after ";
/// Bytes of the longest line.
const MAX_BYTES: usize = LINE.len() + 21;

/// The file of one ledger.
pub(super) struct Cursor {
    folder: PathBuf,
}

impl Cursor {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Up to where events were told of; `None` where none ever was.
    pub(super) fn read(&self, disk: &dyn Disk) -> io::Result<Option<After>> {
        let file = match disk.open(&self.path(NAME), OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut bytes = [0; MAX_BYTES + 1];
        let read = file.read_at(&mut bytes, 0)?;
        let text = std::str::from_utf8(bytes.get(..read).unwrap_or_default()).ok();
        let position = text.and_then(|text| text.strip_prefix(LINE)?.strip_suffix('\n')?.parse().ok());
        position.map(|position| Some(After::new(position))).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{} is not what was written", self.path(NAME).display()),
            )
        })
    }

    /// Returned `Ok` ⇒ durable. A crash leaves what was there before, or this.
    pub(super) fn write(&self, disk: &dyn Disk, after: After) -> io::Result<()> {
        let unfinished = self.path(UNFINISHED);
        match disk.remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.open(&unfinished, OpenMode::CreateNew)?;
        file.write_all_at(format!("{LINE}{}\n", after.get()).as_bytes(), 0)?;
        file.sync_all()?;
        disk.rename(&unfinished, &self.path(NAME))?;
        disk.sync_folder(&self.folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::join(&self.folder, name)
    }
}
