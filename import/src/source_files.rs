//! The search for the files to import, below the paths that a user names.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::source_file::{FileIdentity, SourceFile};

/// The most files of one import.
const MAX_FILES: usize = 100_000;
/// The most names in one folder, ignored ones included.
const MAX_ENTRIES: usize = 1_000_000;
/// The depth of folders that are searched.
const MAX_DEPTH: usize = 32;
/// The suffixes of files in a folder that are imported; a file that is named itself is always imported.
const ENDINGS: [&str; 2] = [".jsonl", ".ndjson"];
/// The suffixes that may follow on a compressed file.
const PACKED: [&str; 2] = [".zst", ".gz"];
/// The name of stdin in ids.
const STDIN: &str = "stdin";

/// The reason why there is nothing to import.
#[derive(Debug, thiserror::Error)]
pub enum SourceFilesError {
    /// A path or a folder could not be read.
    #[error("{}: {source}; nothing was imported", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The folder holds nothing to import.
    #[error("{}: no file here ends in .jsonl or .ndjson; name the files themselves", .0.display())]
    Empty(PathBuf),
    /// The folder holds too much for one import.
    #[error("{}: more than {MAX_FILES} files, or {MAX_ENTRIES} names in a folder; import some folders of it at a time", .0.display())]
    TooMany(PathBuf),
    /// The folder has folders too far below it.
    #[error("{}: folders lie more than {MAX_DEPTH} deep; import some of them at a time", .0.display())]
    TooDeep(PathBuf),
}

/// A function that refuses what is no regular file: by its name, and by what the system says of it.
pub type CheckFile = fn(&Path, &Metadata) -> io::Result<()>;

/// Returns the files that the paths name, those of a folder in the order of their names. The path `-` is stdin.
///
/// # Errors
/// [`SourceFilesError`].
pub fn find_sources(paths: &[PathBuf], check: CheckFile) -> Result<Vec<SourceFile>, SourceFilesError> {
    let mut files = Vec::new();
    for path in paths {
        if path == Path::new("-") {
            let about = about_stdin().map_err(|source| failed(path, source))?;
            let identity = Some(FileIdentity::from(&about));
            files.push(SourceFile { path: None, name: STDIN.to_owned(), bytes: 0, identity });
            continue;
        }
        let about = fs::metadata(path).map_err(|source| failed(path, source))?;
        if about.is_dir() {
            let before = files.len();
            collect(path, path, 0, &mut files)?;
            if files.len() == before {
                return Err(SourceFilesError::Empty(path.clone()));
            }
        } else {
            check(path, &about).map_err(|source| failed(path, source))?;
            let name = unpacked(&path.file_name().unwrap_or_default().to_string_lossy());
            let identity = Some(FileIdentity::from(&about));
            files.push(SourceFile { path: Some(path.clone()), name, bytes: about.len(), identity });
        }
        if files.len() > MAX_FILES {
            return Err(SourceFilesError::TooMany(path.clone()));
        }
    }
    Ok(files)
}

/// Collects the files of a folder. Links to folders are not followed: their contents lie elsewhere, or above.
fn collect(
    root: &Path,
    folder: &Path,
    depth: usize,
    files: &mut Vec<SourceFile>,
) -> Result<(), SourceFilesError> {
    if depth > MAX_DEPTH {
        return Err(SourceFilesError::TooDeep(folder.to_owned()));
    }
    let entries = fs::read_dir(folder).map_err(|source| failed(folder, source))?;
    let entries = entries.take(MAX_ENTRIES + 1).collect::<io::Result<Vec<_>>>();
    let mut entries = entries.map_err(|source| failed(folder, source))?;
    if entries.len() > MAX_ENTRIES {
        return Err(SourceFilesError::TooMany(folder.to_owned()));
    }
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let kind = entry.file_type().map_err(|source| failed(&path, source))?;
        if kind.is_dir() {
            collect(root, &path, depth + 1, files)?;
        } else if is_taken(&path) {
            // A link that leads nowhere, and what is no regular file, is told of when it is read.
            let about = fs::metadata(&path).ok();
            let bytes = about.as_ref().map_or(0, Metadata::len);
            let name = unpacked(&path.strip_prefix(root).unwrap_or(&path).to_string_lossy());
            let identity = about.as_ref().map(FileIdentity::from);
            files.push(SourceFile { name, path: Some(path), bytes, identity });
        }
        if files.len() > MAX_FILES {
            return Err(SourceFilesError::TooMany(root.to_owned()));
        }
    }
    Ok(())
}

fn about_stdin() -> io::Result<Metadata> {
    File::from(io::stdin().as_fd().try_clone_to_owned()?).metadata()
}

fn is_taken(path: &Path) -> bool {
    let name = unpacked(&path.file_name().unwrap_or_default().to_string_lossy());
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn unpacked(name: &str) -> String {
    let bare = PACKED.iter().find_map(|packed| name.strip_suffix(packed));
    bare.unwrap_or(name).to_owned()
}

fn failed(path: &Path, source: io::Error) -> SourceFilesError {
    SourceFilesError::Read { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn check(_: &Path, about: &Metadata) -> io::Result<()> {
        if about.is_file() { Ok(()) } else { Err(io::Error::other("no regular file")) }
    }

    fn find(paths: &[PathBuf]) -> Result<Vec<SourceFile>, SourceFilesError> {
        find_sources(paths, check)
    }

    fn names(paths: &[PathBuf]) -> Vec<String> {
        find(paths).unwrap().into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn a_folder_means_its_lines_of_json_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("b");
        fs::create_dir(&below).unwrap();
        for name in ["z.jsonl", "a.ndjson.zst", "b/c.jsonl.gz", "notes.txt", "b/settings.json"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), below.join("up.jsonl")).unwrap();
        let all = names(&[folder.path().to_owned()]);
        // The link is a file by its name; reading it will tell.
        assert_eq!(all, ["a.ndjson", "b/c.jsonl", "b/up.jsonl", "z.jsonl"]);
        assert_eq!(names(&[below.join("settings.json"), "-".into()]), ["settings.json", "stdin"]);
    }

    #[test]
    fn a_folder_without_any_is_an_error_and_so_is_a_path_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        assert!(matches!(find(std::slice::from_ref(&path)), Err(SourceFilesError::Empty(_))));
        for no_file in [path.join("no"), "/dev/zero".into()] {
            assert!(matches!(find(&[no_file]), Err(SourceFilesError::Read { .. })));
        }
        let pipe = path.join("pipe.jsonl");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let why = find(std::slice::from_ref(&pipe)).unwrap_err().to_string();
        assert!(why.contains("no regular file"), "{why}");
        // In a folder it is one of its files, and told of when it is read.
        assert_eq!(names(&[path]), ["pipe.jsonl"]);
    }
}
