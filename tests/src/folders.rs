//! Copies of folders, as thieves and backups make them.

use std::fs;
use std::io;
use std::path::Path;

/// Copies a folder with all it holds; what is in both is replaced.
///
/// # Errors
/// What the disk says; a part may be copied then.
pub fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
