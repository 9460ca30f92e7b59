//! Files that are written beside their place first, and what is left of them where a process was killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The mark between a file's name and random digits while it is written, in a folder that is ours alone.
pub(crate) const OWN_MARK: &str = ".new-";
/// The same in a folder of others.
pub(crate) const MARK_AMONG_OTHERS: &str = ".bitacora-new-";
/// The random bytes in such a name.
const RANDOM_BYTES: usize = 8;

/// Returns a name beside a file that no other process uses.
///
/// # Errors
/// The system gives no random bytes.
pub(crate) fn place_beside(path: &Path, mark: &str) -> io::Result<PathBuf> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("{mark}{}", hex::encode(random)));
    Ok(path.with_file_name(name))
}

/// Removes what earlier processes left beside a file among those of others. The caller holds the lock of `connect`, so nobody writes there now.
pub(crate) fn remove_remnants_of(path: &Path) {
    let Some(own) = path.file_name().and_then(|name| name.to_str()) else { return };
    remove_where(path.parent().unwrap_or(Path::new(".")), |name| {
        remnant_of(name, MARK_AMONG_OTHERS).is_some_and(|of| of == own)
    });
}

/// Removes what earlier processes left in a folder that is ours alone.
pub(crate) fn remove_remnants_in(folder: &Path) {
    remove_where(folder, |name| remnant_of(name, OWN_MARK).is_some());
}

/// Returns the name of the file that a remnant was to become.
fn remnant_of<'a>(name: &'a str, mark: &str) -> Option<&'a str> {
    let (of, random) = name.rsplit_once(mark)?;
    let is_random = hex::decode(random).is_ok_and(|bytes| bytes.len() == RANDOM_BYTES);
    is_random.then_some(of)
}

fn remove_where(folder: &Path, is_to_go: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && entry.file_name().to_str().is_some_and(&is_to_go) {
            // One that cannot be removed is in nobody's way.
            let _left = fs::remove_file(entry.path());
        }
    }
}
