//! The files of the tree's leaves, one beside each segment. Layout: `docs/formats/leaves.md`.
//!
//! They are derived: a write that fails here fails no append, and what is missing or differs is made again from the log.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::{
    Commitment, Frontier, LEAF_ENTRY_BYTES, LeafEntry, LeavesHeader, LedgerId, Micros, Position,
    SegmentNumber, TreeHash,
};

use crate::host::disk::{Disk, DiskFile, OpenMode};
use crate::host::index_folder::make_folder;
use crate::host::replacement::{open_anew, replace};
use crate::limits::FILL_SLICE_BYTES;

/// The name of the tree's folder in the ledger's.
pub(crate) const TREE: &str = "tree";

/// The suffix of a file that is to replace another.
const UNFINISHED: &str = ".new";

/// Bytes of the entries that are read at once.
const SLICE_BYTES: u64 = (FILL_SLICE_BYTES - FILL_SLICE_BYTES % LEAF_ENTRY_BYTES) as u64;

/// The name of the file of a segment's leaves.
pub(crate) fn leaves_file_name(number: SegmentNumber) -> String {
    format!("{:010}.leaves", number.0)
}

/// The number in the name of a file of leaves; `None` for anything that is not exactly such a name.
pub(crate) fn leaves_number(name: &str) -> Option<SegmentNumber> {
    let number = SegmentNumber(name.strip_suffix(".leaves")?.parse().ok()?);
    (number.0 > 0 && leaves_file_name(number) == name).then_some(number)
}

/// The leaves of the live segment; the committer owns them.
pub(crate) struct LiveLeaves {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    ledger: LedgerId,
    current: Option<LiveLeavesFile>,
    /// The buffer of one write, kept for the next.
    bytes: Vec<u8>,
}

struct LiveLeavesFile {
    number: SegmentNumber,
    first: Position,
    /// `None` once something failed: the rest is made again from the log.
    file: Option<Arc<dyn DiskFile>>,
    written: u64,
}

/// The leaves of a segment that ended, to be made durable.
pub(crate) struct EndedLeaves {
    pub(crate) number: SegmentNumber,
    pub(crate) first: Position,
    /// `None` if some of them are not in their file.
    pub(crate) file: Option<Arc<dyn DiskFile>>,
}

impl LiveLeaves {
    pub(crate) fn new(disk: Arc<dyn Disk>, ledger_folder: &Path, ledger: LedgerId) -> Self {
        Self { disk, folder: ledger_folder.join(TREE), ledger, current: None, bytes: Vec::new() }
    }

    /// A segment begins: its file is made anew, whatever stood there.
    pub(crate) fn begin(&mut self, number: SegmentNumber, first: Position) {
        let opened = open_anew(&*self.disk, &self.folder.join(leaves_file_name(number)));
        let file = opened.map_err(|error| Self::warn(number, &error)).ok();
        self.current = Some(LiveLeavesFile { number, first, file, written: 0 });
    }

    /// A frame is durable: its entries follow, in one write that is not synced. Nobody was told of the frame yet.
    ///
    /// Syscalls: `pwrite64`.
    pub(crate) fn append(&mut self, time: Micros, commitments: &[Commitment]) {
        let Some(current) = &mut self.current else { return };
        let Some(file) = &current.file else { return };
        self.bytes.clear();
        if current.written == 0 {
            let header =
                LeavesHeader { ledger: self.ledger, segment: current.number, first_position: current.first };
            self.bytes.extend_from_slice(&header.encode());
        }
        for commitment in commitments {
            LeafEntry { time, commitment: *commitment }.encode(&mut self.bytes);
        }
        match file.write_all_at(&self.bytes, current.written) {
            Ok(()) => current.written += self.bytes.len() as u64,
            Err(error) => {
                Self::warn(current.number, &error);
                current.file = None;
            }
        }
    }

    /// The segment ended.
    pub(crate) fn end(&mut self) -> Option<EndedLeaves> {
        let LiveLeavesFile { number, first, file, .. } = self.current.take()?;
        Some(EndedLeaves { number, first, file })
    }

    fn warn(number: SegmentNumber, error: &io::Error) {
        tracing::warn!(segment = number.0, %error, "leaves of the tree could not be written; they are made again later");
    }
}

/// The leaves of a segment that was read, as their file has to be.
pub(crate) struct SegmentLeaves {
    number: SegmentNumber,
    bytes: Vec<u8>,
}

impl SegmentLeaves {
    pub(crate) fn new(ledger: LedgerId, number: SegmentNumber, first_position: Position) -> Self {
        let bytes = LeavesHeader { ledger, segment: number, first_position }.encode().to_vec();
        Self { number, bytes }
    }

    /// These bytes, which are a whole file.
    pub(crate) fn of(number: SegmentNumber, bytes: Vec<u8>) -> Self {
        Self { number, bytes }
    }

    pub(crate) fn push(&mut self, leaf: &LeafEntry) {
        leaf.encode(&mut self.bytes);
    }

    /// Has the file hold them. Where that fails, they are made again later.
    pub(crate) fn settle(&self, disk: &dyn Disk, ledger_folder: &Path) {
        if let Err(error) = settle(disk, ledger_folder, self.number, &self.bytes) {
            LiveLeaves::warn(self.number, &error);
        }
    }
}

/// Has a file of leaves hold exactly these bytes, durably; whether it had to be written.
///
/// Returned `Ok` ⇒ durable, with its name. A crash before leaves the file as it was, or whole.
///
/// Syscalls: `openat`, `statx`, `pread64`, `fsync` of the file and the folder; where it differs also those of [`replace`].
pub(crate) fn settle(
    disk: &dyn Disk,
    ledger_folder: &Path,
    number: SegmentNumber,
    bytes: &[u8],
) -> io::Result<()> {
    let folder = ledger_folder.join(TREE);
    make_folder(disk, &folder)?;
    let path = folder.join(leaves_file_name(number));
    match holds(disk, &path, bytes) {
        Ok(Some(file)) => {
            file.sync_all()?;
            return disk.sync_folder(&folder);
        }
        Ok(None) => {
            tracing::warn!(
                segment = number.0,
                "the leaves beside the segment were not those of its events; they are written again"
            );
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            tracing::info!(
                segment = number.0,
                "the leaves beside the segment are not there; they are written"
            );
        }
        Err(error) => {
            tracing::warn!(segment = number.0, %error, "the leaves beside the segment could not be read; they are written again");
        }
    }
    write(disk, &folder, number, bytes)
}

/// Makes the file of the leaves of a ledger that is being created.
///
/// Returned `Ok` ⇒ durable, with its name. A crash before leaves a ledger that is none yet.
///
/// Syscalls: those of [`replace`].
pub(crate) fn create(
    disk: &dyn Disk,
    ledger_folder: &Path,
    number: SegmentNumber,
    bytes: &[u8],
) -> io::Result<()> {
    let folder = ledger_folder.join(TREE);
    make_folder(disk, &folder)?;
    write(disk, &folder, number, bytes)
}

fn write(disk: &dyn Disk, folder: &Path, number: SegmentNumber, bytes: &[u8]) -> io::Result<()> {
    replace(disk, folder, &leaves_file_name(number), UNFINISHED, |file| file.write_all_at(bytes, 0))
}

/// The file, if it holds exactly these bytes.
fn holds(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<Option<Arc<dyn DiskFile>>> {
    let file = disk.open(path, OpenMode::Read)?;
    if file.len()? != bytes.len() as u64 {
        return Ok(None);
    }
    let mut slice = vec![0; FILL_SLICE_BYTES.min(bytes.len())];
    let mut offset = 0;
    for expected in bytes.chunks(FILL_SLICE_BYTES) {
        let slice = slice.get_mut(..expected.len()).unwrap_or_default();
        file.read_exact_at(slice, offset)?;
        if slice != expected {
            return Ok(None);
        }
        offset += expected.len() as u64;
    }
    Ok(Some(file))
}

/// Forgets the leaves of a segment that holds no frame. Returned `Ok` ⇒ durable.
///
/// Syscalls: `unlink`, `fsync` of the folder.
pub(crate) fn forget(disk: &dyn Disk, ledger_folder: &Path, number: SegmentNumber) -> io::Result<()> {
    let folder = ledger_folder.join(TREE);
    match disk.remove_file(&folder.join(leaves_file_name(number))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| disk.sync_folder(&folder)),
    }
}

/// Makes the folder where a ledger has none yet, and removes what a crash left unfinished. Where that fails nothing is lost
/// but time.
pub(crate) fn make_tree_folder(disk: &dyn Disk, ledger_folder: &Path) {
    let folder = ledger_folder.join(TREE);
    let cleared = make_folder(disk, &folder).and_then(|()| {
        let is_unfinished = |name: &str| name.ends_with(&format!(".leaves{UNFINISHED}"));
        let mut unfinished = disk.list(&folder)?.into_iter().filter(|entry| is_unfinished(&entry.name));
        unfinished.try_for_each(|entry| disk.remove_file(&folder.join(entry.name)))
    });
    if let Err(error) = cleared {
        tracing::warn!(%error, "the folder of the tree could not be made ready; its leaves are written later");
    }
}

/// The number of leaves that a file should have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    /// Those of an ended segment.
    Exactly(u64),
    /// Those that are known of one that may be written on.
    AtLeast(u64),
}

/// Grows a tree by the leaves in the file of a segment, `rest` being called now and then; the roots of the groups that it
/// completed on the way. `None` if the file is not one of these many leaves of this segment.
pub(crate) fn grow(
    disk: &dyn Disk,
    ledger_folder: &Path,
    header: &LeavesHeader,
    count: Count,
    tree: &mut Frontier,
    mut rest: impl FnMut() -> io::Result<()>,
) -> io::Result<Option<Vec<TreeHash>>> {
    let path = ledger_folder.join(TREE).join(leaves_file_name(header.segment));
    let file = match disk.open(&path, OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let found = file.len()?;
    let (until, fits) = match count {
        Count::Exactly(count) => (LeavesHeader::file_bytes(count), found == LeavesHeader::file_bytes(count)),
        Count::AtLeast(count) => (LeavesHeader::file_bytes(count), found >= LeavesHeader::file_bytes(count)),
    };
    let mut start = header.encode();
    if !fits {
        return Ok(None);
    }
    file.read_exact_at(&mut start, 0)?;
    if start != header.encode() {
        return Ok(None);
    }
    let mut groups = Vec::new();
    let mut position = Some(header.first_position);
    let mut offset = LeavesHeader::file_bytes(0);
    while offset < until {
        let length = usize::try_from((until - offset).min(SLICE_BYTES)).unwrap_or(FILL_SLICE_BYTES);
        let mut slice = vec![0; length];
        file.read_exact_at(&mut slice, offset)?;
        groups.extend(push_all(tree, &mut position, &slice));
        offset += length as u64;
        rest()?;
    }
    Ok(Some(groups))
}

/// Puts these entries into the tree, the first at `position`; the groups that they complete.
pub(crate) fn push_all(
    tree: &mut Frontier,
    position: &mut Option<Position>,
    entries: &[u8],
) -> Vec<TreeHash> {
    let mut groups = Vec::new();
    for entry in LeafEntry::all(entries) {
        let Some(here) = *position else { break };
        groups.extend(tree.push_grouping(entry.hash(here)));
        *position = here.next();
    }
    groups
}
