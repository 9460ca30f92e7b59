//! Listings of a store's folder, taken name by name: no more names are collected than a list may have.

use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{Error, ListResult, ObjectStore};

use super::ObjectListing;

/// The source of a store's names.
pub(super) enum Names {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A store that gives so many at once as it likes.
    Pages(Arc<dyn PaginatedListStore>),
    /// A store that has all of them in memory.
    Memory(Arc<dyn ObjectStore>),
}

/// Names that were taken so far.
struct NameCollector {
    listing: ObjectListing,
    left: usize,
}

impl NameCollector {
    fn up_to(limit: usize) -> Self {
        Self { listing: ObjectListing::default(), left: limit }
    }

    /// Takes the names of a page; `false` once there are too many.
    fn page(&mut self, page: &ListResult) -> bool {
        let name = |path: &Path| path.filename().map(str::to_owned);
        let folders = page.common_prefixes.iter().filter_map(name).map(|folder| (folder, None));
        let objects = page.objects.iter().filter_map(|meta| Some((name(&meta.location)?, Some(meta.size))));
        folders.chain(objects).all(|(name, bytes)| self.one(name, bytes))
    }

    /// Takes the name of an object of so many bytes, or of a folder; `false` once there are too many.
    fn one(&mut self, name: String, bytes: Option<u64>) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        match bytes {
            Some(bytes) => self.listing.objects.push((name, bytes)),
            None => self.listing.folders.push(name),
        }
        true
    }

    fn sorted(mut self) -> ObjectListing {
        self.listing.folders.sort_unstable();
        self.listing.objects.sort_unstable();
        self.listing
    }
}

/// Lists a folder of a store that gives pages, or all at once; `None` if it has more than `limit` names. No page is asked for after that.
pub(super) async fn in_store(
    names: &Names,
    folder: &Path,
    limit: usize,
) -> Result<Option<ObjectListing>, Error> {
    let mut collector = NameCollector::up_to(limit);
    match names {
        Names::Folder(_) => {}
        Names::Memory(store) => {
            if !collector.page(&store.list_with_delimiter(Some(folder)).await?) {
                return Ok(None);
            }
        }
        Names::Pages(pages) => {
            let prefix = format!("{folder}/");
            let prefix = Some(prefix.as_str()).filter(|prefix| prefix.len() > 1);
            let mut page_token = None;
            loop {
                let delimiter = Some("/".into());
                let options =
                    PaginatedListOptions { delimiter, page_token, ..PaginatedListOptions::default() };
                let page = pages.list_paginated(prefix, options).await?;
                if !collector.page(&page.result) {
                    return Ok(None);
                }
                page_token = page.page_token;
                if page_token.is_none() {
                    break;
                }
            }
        }
    }
    Ok(Some(collector.sorted()))
}

/// Lists a folder of this machine; `None` if it has more than `limit` names. A file that somebody is writing has no name yet.
///
/// Syscalls: `openat(O_DIRECTORY)`, `getdents64` until there are too many; `statx` for each.
pub(super) fn in_folder(folder: &FilePath, limit: usize) -> io::Result<Option<ObjectListing>> {
    let mut collector = NameCollector::up_to(limit);
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(ObjectListing::default())),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        // It may go while it is looked at.
        let about = match std::fs::metadata(entry.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            about => about?,
        };
        if !about.is_dir() && is_unfinished(&name) {
            continue;
        }
        if !collector.one(name, (!about.is_dir()).then_some(about.len())) {
            return Ok(None);
        }
    }
    Ok(Some(collector.sorted()))
}

/// Returns `true` for a name under which `object_store` writes a file before the file has its own.
pub(super) fn is_unfinished(name: &str) -> bool {
    let number = name.split_once('#').map_or("", |(_, number)| number);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use object_store::ObjectMeta;
    use object_store::list::PaginatedListResult;

    use super::*;

    /// Gives pages of a folder and four objects for ever, or so many of them, and counts them.
    struct EndlessStore {
        pages: usize,
        asked: AtomicUsize,
    }

    impl PaginatedListStore for EndlessStore {
        fn list_paginated<'s, 'p, 'f>(
            &'s self,
            prefix: Option<&'p str>,
            options: PaginatedListOptions,
        ) -> Pin<Box<dyn Future<Output = object_store::Result<PaginatedListResult>> + Send + 'f>>
        where
            's: 'f,
            'p: 'f,
            Self: 'f,
        {
            Box::pin(async move {
                let number = self.asked.fetch_add(1, Ordering::Relaxed);
                assert!(number < 10, "asked for more than anybody takes");
                assert_eq!((prefix, options.delimiter.as_deref()), (Some("a/b/"), Some("/")));
                assert_eq!(options.page_token, (number > 0).then(|| format!("from {number}")));
                let object = |name: &str| ObjectMeta {
                    location: Path::from(format!("a/b/{number}{name}")),
                    last_modified: Default::default(),
                    size: 7,
                    e_tag: None,
                    version: None,
                };
                let objects = ["d", "c", "b", "a"].map(object).to_vec();
                let common_prefixes = vec![Path::from(format!("a/b/f{number}"))];
                let result = ListResult { common_prefixes, objects, extensions: Default::default() };
                let page_token = (number + 1 < self.pages).then(|| format!("from {}", number + 1));
                Ok(PaginatedListResult { result, page_token })
            })
        }
    }

    fn list(pages: usize, limit: usize) -> (Option<ObjectListing>, usize) {
        let store = Arc::new(EndlessStore { pages, asked: AtomicUsize::new(0) });
        let names = Names::Pages(Arc::clone(&store) as _);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let listed = runtime.block_on(in_store(&names, &Path::from("a/b"), limit)).unwrap();
        (listed, store.asked.load(Ordering::Relaxed))
    }

    #[test]
    fn pages_are_asked_for_until_there_are_too_many_names() {
        let (listed, asked) = list(3, 15);
        let listed = listed.unwrap();
        assert_eq!((asked, listed.folders.len(), listed.objects.len()), (3, 3, 12));
        assert!(listed.objects.is_sorted() && listed.folders == ["f0", "f1", "f2"]);
        assert_eq!(list(3, 14), (None, 3));
        assert_eq!(list(usize::MAX, 11), (None, 3));
        assert_eq!(list(usize::MAX, 4), (None, 1));
    }

    #[test]
    fn a_folder_is_read_until_there_are_too_many_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["c", "a", "b", "being-written#12", "named#so", "named#"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        std::fs::create_dir(folder.path().join("d")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("gone")).unwrap();
        let listed = in_folder(folder.path(), 6).unwrap().unwrap();
        let names: Vec<_> = listed.objects.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
        assert_eq!(names, [("a", 1), ("b", 1), ("c", 1), ("named#", 6), ("named#so", 8)]);
        assert_eq!(listed.folders, ["d"]);
        assert_eq!(in_folder(folder.path(), 5).unwrap(), None);
        assert_eq!(in_folder(&folder.path().join("none"), 0).unwrap(), Some(ObjectListing::default()));
        assert!(in_folder(&folder.path().join("a"), 9).is_err());
    }
}
