//! A ledger's folder for a verifier: segments by number, and the note of signing keys.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bitacora_archive_format::ArchiveRange;
use bitacora_formats::limits::{
    MAX_DECLARED_LOSS_BYTES, MAX_KEYRING_BYTES, MAX_MANIFEST_BYTES, MAX_SEGMENT_BYTES,
};
use bitacora_formats::{MAX_RELEASED_BYTES, SegmentNumber, is_all_zeros};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

/// The note of signing keys, in the ledger's folder.
pub(super) const NOTE: &str = "signing-keys.note";
/// The declaration of a loss that the log does not record yet, in the ledger's folder.
const DECLARED_LOSS: &str = "declared-loss";
/// The folder of the segments, in the ledger's folder.
const SEGMENTS: &str = "segments";
/// The folder of the tree's leaves, in the ledger's folder.
pub(super) const TREE: &str = "tree";
/// In the folder of the tree, the level above the leaves.
const LEVEL_1: &str = "level-1";
/// The name in findings of the level above the leaves.
pub(super) const SHOWN_LEVEL_1: &str = "tree/level-1";
/// The folder of the archives' manifests, in the ledger's folder.
const ARCHIVES: &str = "archives";
/// The name in findings of archives, where a single one is not known.
pub(super) const SHOWN_ARCHIVES: &str = ARCHIVES;
/// The suffix of a manifest.
const MANIFEST: &str = ".manifest";
/// The suffix of the file that a released segment leaves.
const RELEASED: &str = ".released";
/// The suffix of a file that is about to replace another.
const UNFINISHED: &str = ".new";
/// The size of one read while only zeros were found.
const PIECE_BYTES: usize = 1024 * 1024;

/// The folder of one ledger.
pub(crate) struct LedgerFolder<'a> {
    path: &'a Path,
}

/// The contents of the folder of segments.
pub(crate) struct SegmentListing {
    /// The segments, in order.
    pub(crate) segments: Vec<SegmentNumber>,
    /// The released segments, of which only links are left, in order.
    pub(super) released: Vec<SegmentNumber>,
    /// The number of files and folders that no ledger makes there, or among the leaves.
    pub(super) strangers: usize,
}

impl<'a> LedgerFolder<'a> {
    pub(crate) fn new(path: &'a Path) -> Self {
        Self { path }
    }

    /// Lists every segment, written or not.
    pub(crate) fn list(&self) -> io::Result<SegmentListing> {
        let mut listing = SegmentListing { segments: Vec::new(), released: Vec::new(), strangers: 0 };
        for entry in fs::read_dir(self.segments())? {
            let name = entry?.file_name();
            let name = name.to_str().unwrap_or_default();
            match (segment_number(name), number_in(name, RELEASED)) {
                (Some(number), _) => listing.segments.push(number),
                (None, Some(number)) => listing.released.push(number),
                (None, None) => listing.strangers += 1,
            }
        }
        listing.segments.sort_unstable();
        listing.released.sort_unstable();
        let mut all = [&*listing.segments, &*listing.released].concat();
        all.sort_unstable();
        listing.strangers += self.tree_strangers(&all);
        Ok(listing)
    }

    /// Counts the files among the leaves that a ledger with these segments does not make there. A folder that cannot be
    /// listed counts as empty: opening its files fails as well, and is reported then.
    fn tree_strangers(&self, segments: &[SegmentNumber]) -> usize {
        let Ok(entries) = fs::read_dir(self.path.join(TREE)) else { return 0 };
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
        let belongs = |name: &str| {
            let name = name.strip_suffix(UNFINISHED).unwrap_or(name);
            name == LEVEL_1
                || number_in(name, ".leaves")
                    .or_else(|| number_in(name, ".heads"))
                    .or_else(|| number_in(name, ".cosigned"))
                    .is_some_and(|number| segments.binary_search(&number).is_ok())
        };
        names.filter(|name| !name.to_str().is_some_and(belongs)).count()
    }

    /// Returns the ranges of the archives whose manifests are kept, in order. Other files there are ignored.
    pub(super) fn manifests(&self) -> io::Result<Vec<ArchiveRange>> {
        let mut ranges = Vec::new();
        for entry in fs::read_dir(self.path.join(ARCHIVES))? {
            let name = entry?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(MANIFEST));
            ranges.extend(stem.and_then(ArchiveRange::of_file_stem));
        }
        ranges.sort_unstable();
        Ok(ranges)
    }

    /// Reads the manifest of an archive; of a file longer than any manifest, one byte more.
    pub(super) fn manifest(&self, range: ArchiveRange) -> io::Result<Vec<u8>> {
        self.load_whole(&shown_manifest(range), MAX_MANIFEST_BYTES)
    }

    /// Reads the `.released` file of a segment; of a longer file than any, one byte more.
    pub(super) fn load_released(&self, number: SegmentNumber) -> io::Result<Vec<u8>> {
        self.load_whole(&shown_released(number), MAX_RELEASED_BYTES)
    }

    /// Reads the copy of a segment's `.released` file; `None` where there is none.
    pub(super) fn load_released_copy(&self, number: SegmentNumber) -> io::Result<Option<Vec<u8>>> {
        match self.load_whole(&shown_released_copy(number), MAX_RELEASED_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            loaded => loaded.map(Some),
        }
    }

    /// Reads the declaration of a loss that the log does not record yet; of a longer file than any, one byte more.
    pub(super) fn declared_loss(&self) -> io::Result<Vec<u8>> {
        self.load_whole(DECLARED_LOSS, MAX_DECLARED_LOSS_BYTES)
    }

    fn load_whole(&self, name: &str, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open_regular(&self.path.join(name))?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns the numbers behind `last` that have tree heads, in order.
    pub(super) fn heads_behind(&self, last: SegmentNumber) -> io::Result<Vec<SegmentNumber>> {
        self.behind(last, ".heads")
    }

    /// Returns the numbers behind `last` that have cosigned heads, in order.
    pub(super) fn cosigned_behind(&self, last: SegmentNumber) -> io::Result<Vec<SegmentNumber>> {
        self.behind(last, ".cosigned")
    }

    /// Returns `true` if there is no such segment, or one of zeros.
    pub(super) fn holds_nothing(&self, number: SegmentNumber) -> bool {
        match self.is_blank(number) {
            Ok(is_blank) => is_blank,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    fn behind(&self, last: SegmentNumber, ending: &str) -> io::Result<Vec<SegmentNumber>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(self.path.join(TREE))? {
            let number = entry?.file_name().to_str().and_then(|name| number_in(name, ending));
            numbers.extend(number.filter(|number| *number > last));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    pub(super) fn exists(&self) -> bool {
        self.path.is_dir()
    }

    pub(super) fn segments(&self) -> PathBuf {
        self.path.join(SEGMENTS)
    }

    /// Opens the segment's file.
    pub(super) fn open(&self, number: SegmentNumber) -> io::Result<File> {
        open_regular(&self.path_of(number))
    }

    /// Opens the file of the segment's leaves.
    pub(super) fn open_leaves(&self, number: SegmentNumber) -> io::Result<File> {
        open_regular(&self.path.join(shown_leaves(number)))
    }

    /// Opens the file of the level above the leaves.
    pub(super) fn open_level(&self) -> io::Result<File> {
        open_regular(&self.path.join(SHOWN_LEVEL_1))
    }

    /// Opens the file of the segment's tree heads.
    pub(crate) fn open_heads(&self, number: SegmentNumber) -> io::Result<File> {
        open_regular(&self.path.join(shown_heads(number)))
    }

    /// Opens the file of the segment's cosigned head.
    pub(crate) fn open_cosigned(&self, number: SegmentNumber) -> io::Result<File> {
        open_regular(&self.path.join(shown_cosigned(number)))
    }

    /// Reads the whole segment; of a file longer than any segment, one byte more, which is enough to refuse it.
    pub(crate) fn load(&self, number: SegmentNumber) -> io::Result<Vec<u8>> {
        let file = self.open(number)?;
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        let mut bytes = Vec::with_capacity(length.min(MAX_SEGMENT_BYTES) + 1);
        file.take(MAX_SEGMENT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the beginning of a segment, up to `bytes`.
    pub(crate) fn load_start(&self, number: SegmentNumber, bytes: usize) -> io::Result<Vec<u8>> {
        let mut start = Vec::with_capacity(bytes);
        self.open(number)?.take(bytes as u64).read_to_end(&mut start)?;
        Ok(start)
    }

    /// Returns `true` if the segment holds only zeros: it was made ahead and is not written yet. A file longer than any
    /// segment was not made ahead.
    pub(super) fn is_blank(&self, number: SegmentNumber) -> io::Result<bool> {
        let mut file = self.open(number)?;
        if file.metadata()?.len() > MAX_SEGMENT_BYTES as u64 {
            return Ok(false);
        }
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        loop {
            piece.clear();
            (&mut file).take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
            if !is_all_zeros(&piece) {
                return Ok(false);
            }
            if piece.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Returns the size of the segment's file; 0 where it is unknown.
    pub(super) fn file_bytes(&self, number: SegmentNumber) -> u64 {
        fs::metadata(self.path_of(number)).map_or(0, |metadata| metadata.len())
    }

    /// Reads the note of signing keys; of a file longer than any note, one byte more.
    pub(super) fn note(&self) -> io::Result<Vec<u8>> {
        let mut note = Vec::new();
        open_regular(&self.path.join(NOTE))?.take(MAX_KEYRING_BYTES as u64 + 1).read_to_end(&mut note)?;
        Ok(note)
    }

    pub(super) fn path_of(&self, number: SegmentNumber) -> PathBuf {
        self.segments().join(file_name(number))
    }
}

/// Returns the name of a segment in findings: relative to the ledger's folder.
pub(super) fn shown(number: SegmentNumber) -> String {
    format!("{SEGMENTS}/{}", file_name(number))
}

/// Returns the name of a `.released` file in findings.
pub(super) fn shown_released(number: SegmentNumber) -> String {
    format!("{SEGMENTS}/{:010}{RELEASED}", number.0)
}

/// Returns the name of the copy of a `.released` file in findings.
pub(super) fn shown_released_copy(number: SegmentNumber) -> String {
    format!("{TREE}/{:010}{RELEASED}", number.0)
}

/// Returns the name of an archive's manifest in findings.
pub(super) fn shown_manifest(range: ArchiveRange) -> String {
    format!("{ARCHIVES}/{}{MANIFEST}", range.file_stem())
}

/// Returns the name of a segment's leaves in findings.
pub(super) fn shown_leaves(number: SegmentNumber) -> String {
    format!("{TREE}/{:010}.leaves", number.0)
}

/// Returns the name of a segment's tree heads in findings.
pub(super) fn shown_heads(number: SegmentNumber) -> String {
    format!("{TREE}/{:010}.heads", number.0)
}

/// Returns the name of a segment's cosigned head in findings.
pub(super) fn shown_cosigned(number: SegmentNumber) -> String {
    format!("{TREE}/{:010}.cosigned", number.0)
}

/// Opens a regular file of this folder and nothing else. Opening a pipe would wait for its writer, and the target of a
/// link is no evidence that a copy of the folder would hold.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match open(path, flags, Mode::empty()) {
        Err(Errno::LOOP) => return Err(io::Error::other("a link, no regular file")),
        opened => File::from(opened?),
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("no regular file")) }
}

fn file_name(number: SegmentNumber) -> String {
    format!("{:010}.seg", number.0)
}

/// Returns the number in the name of a file beside a segment, which has this suffix.
fn number_in(name: &str, ending: &str) -> Option<SegmentNumber> {
    segment_number(&format!("{}.seg", name.strip_suffix(ending)?))
}

/// Returns the number in a segment's file name; `None` for anything that is not exactly such a name.
fn segment_number(name: &str) -> Option<SegmentNumber> {
    let number = SegmentNumber(name.strip_suffix(".seg")?.parse().ok()?);
    (number.0 > 0 && file_name(number) == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_names_are_segments() {
        assert_eq!(segment_number("0000000001.seg"), Some(SegmentNumber(1)));
        assert_eq!(segment_number("4294967295.seg"), Some(SegmentNumber(u32::MAX)));
        for name in [
            "0000000000.seg",
            "1.seg",
            "00000000001.seg",
            "+000000001.seg",
            "4294967296.seg",
            "0000000001.SEG",
            "x",
        ] {
            assert_eq!(segment_number(name), None, "{name}");
        }
    }

    #[test]
    fn a_blank_segment_has_only_zeros_to_its_last_byte() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = LedgerFolder::new(folder.path());
        fs::create_dir(ledger.segments()).unwrap();
        let mut bytes = vec![0; PIECE_BYTES + 5];
        let blank = |bytes: &[u8]| {
            fs::write(ledger.path_of(SegmentNumber(1)), bytes).unwrap();
            ledger.is_blank(SegmentNumber(1)).unwrap()
        };
        assert!(blank(&[]) && blank(&bytes));
        *bytes.last_mut().unwrap() = 1;
        assert!(!blank(&bytes));
    }
    #[test]
    fn only_a_regular_file_of_the_folder_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, inner] = ["file", "link", "folder"].map(|name| folder.path().join(name));
        fs::write(&file, "some bytes").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        fs::create_dir(&inner).unwrap();
        assert!(open_regular(&file).is_ok());
        let refused = |path: &Path| open_regular(path).unwrap_err().to_string();
        assert_eq!((&*refused(&link), &*refused(&inner)), ("a link, no regular file", "no regular file"));
        assert_eq!(open_regular(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
