//! The files of a store, to be laid again, and damaged, as often as a test likes.

use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// A store as it lies there.
pub(crate) struct Image(pub(crate) Vec<StoredFile>);

/// One of its files.
#[derive(Clone)]
pub(crate) struct StoredFile {
    pub(crate) path: PathBuf,
    /// The file's bytes before the zeros at its end.
    pub(crate) bytes: Vec<u8>,
    pub(crate) length: u64,
}

impl Image {
    pub(crate) fn take(store: &Path) -> Self {
        let stored = files(store).into_iter().map(|file| {
            let mut bytes = fs::read(&file).unwrap();
            let length = bytes.len() as u64;
            while bytes.len() >= 4096 && bytes.ends_with(&[0; 4096]) {
                bytes.truncate(bytes.len() - 4096);
            }
            StoredFile { path: file.strip_prefix(store).unwrap().to_owned(), bytes, length }
        });
        Self(stored.collect())
    }

    /// Lays it in place of what is there, but for one file, if another one, or none, is to be there instead.
    pub(crate) fn lay(&self, store: &Path, damaged: Option<(&Path, Option<&StoredFile>)>) {
        let _ = fs::remove_dir_all(store);
        fs::create_dir_all(store).unwrap();
        for stored in &self.0 {
            let stored = match damaged {
                Some((path, instead)) if path == stored.path => instead,
                _ => Some(stored),
            };
            let target = store.join(stored.map_or(Path::new(""), |stored| &stored.path));
            if let Some(stored) = stored {
                fs::create_dir_all(target.parent().unwrap()).unwrap();
                fs::write(&target, &stored.bytes).unwrap();
                fs::File::options().write(true).open(&target).unwrap().set_len(stored.length).unwrap();
            }
        }
    }
}
