//! The read-back before a tree head is signed: stored bytes against the chain, leaves against the root.
//!
//! A signature over what only memory says would vouch for bytes that no disk has. Everything is opened anew for it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bitacora_formats::{
    ChainHash, FrameHeader, Frontier, LEAF_ENTRY_BYTES, LEAVES_HEADER_BYTES, LeavesHeader,
    MAX_SEGMENT_HEADER_BYTES, PassStep, Position, SegmentEnd, SegmentHeader, SegmentNumber, SegmentPass,
    TreeHash,
};
use rustix::io::Errno;

use crate::host::disk::{Disk, DiskFile, OpenMode};
use crate::read::leaf_repair;
use crate::segments::{segment_file_name, segments_folder};
use crate::shared_state::SharedState;
use crate::tree::leaves::{self, TREE, leaves_file_name};

/// Bytes that are read at once; a frame that is longer is read whole.
const WINDOW_BYTES: usize = 512 * 1024;

/// The durable bytes up to the end of a frame, as read back from the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadBack {
    /// The segment that the frame lies in.
    pub(crate) segment: SegmentNumber,
    /// The last position of the frame: the size of the tree.
    pub(crate) size: Position,
    pub(crate) root: TreeHash,
    pub(crate) hash: ChainHash,
    /// The offset of the frame's end in the segment's file.
    pub(crate) end: u64,
}

/// Reads behind the writer, each byte of an epoch once.
pub(crate) struct BackReader {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    /// The end of the last segment that is behind.
    before: SegmentEnd,
    /// The tree over all leaves that were read back.
    tree: Frontier,
    segment: Option<OpenSegment>,
    window: Vec<u8>,
}

struct OpenSegment {
    pass: SegmentPass,
    header: SegmentHeader,
    /// The first position whose leaf is still to be read.
    next: Position,
}

/// The files of a segment, opened for one reading.
struct Files {
    segment: Arc<dyn DiskFile>,
    leaves: Option<Arc<dyn DiskFile>>,
}

impl BackReader {
    /// Begins behind the segment that ends so.
    pub(crate) fn new(shared: &SharedState, before: SegmentEnd) -> Self {
        let (disk, folder) = (Arc::clone(&shared.environment.disk), shared.folder.clone());
        Self { disk, folder, before, tree: Frontier::new(), segment: None, window: Vec::new() }
    }

    /// Reads through the frame that holds `position`.
    ///
    /// # Errors
    /// What the disk says, or what is not as it was written: nothing of it may be signed.
    pub(crate) fn read_through(&mut self, shared: &SharedState, position: Position) -> io::Result<ReadBack> {
        loop {
            let mut segment = match self.segment.take() {
                Some(segment) => segment,
                None => self.begin()?,
            };
            let files = self.open(segment.header.number)?;
            if let Some(found) = self.read_segment(shared, &mut segment, &files, position)? {
                self.segment = Some(segment);
                return Ok(found);
            }
            let bytes = files.segment.len()?;
            let passed = segment.pass.finish(bytes).filter(|passed| passed.is_closed);
            self.before = passed.ok_or_else(|| differs("a segment that ended"))?.end;
        }
    }

    /// The next segment, from its header on; also after a failure, when it is read again.
    fn begin(&mut self) -> io::Result<OpenSegment> {
        let number = self.before.number.next().ok_or_else(|| differs("a segment's number"))?;
        let files = self.open(number)?;
        let mut start = vec![0; MAX_SEGMENT_HEADER_BYTES];
        let read = files.segment.read_at(&mut start, 0)?;
        start.truncate(read);
        let begun = SegmentPass::start(&start, false);
        let begun = begun.filter(|(_, header)| self.before.check_next(header, self.before.time).is_ok());
        let (pass, header) = begun.ok_or_else(|| differs("a segment's header"))?;
        // It has the size and root that the segment before ended with.
        self.tree = header.frontier.clone();
        let next = header.first_position;
        Ok(OpenSegment { pass, header, next })
    }

    fn open(&self, number: SegmentNumber) -> io::Result<Files> {
        let segment =
            self.disk.open(&segments_folder(&self.folder).join(segment_file_name(number)), OpenMode::Read)?;
        let leaves = self.disk.open(&self.folder.join(TREE).join(leaves_file_name(number)), OpenMode::Read);
        Ok(Files { segment, leaves: leaves.ok() })
    }

    /// Reads on in a segment; `None` if it ends before the frame with `position`.
    fn read_segment(
        &mut self,
        shared: &SharedState,
        segment: &mut OpenSegment,
        files: &Files,
        position: Position,
    ) -> io::Result<Option<ReadBack>> {
        let mut wanted = WINDOW_BYTES;
        loop {
            let offset = segment.pass.offset();
            self.window.resize(wanted, 0);
            let read = read_up_to(&*files.segment, &mut self.window, offset)?;
            self.window.truncate(read);
            let window = std::mem::take(&mut self.window);
            let found = self.read_window(shared, segment, files, &window, position);
            self.window = window;
            match found? {
                WindowEnd::Found(found) => return Ok(Some(found)),
                WindowEnd::Closed => return Ok(None),
                WindowEnd::More { .. } if read < wanted => return Err(differs("the end of a frame")),
                WindowEnd::More { needed } => wanted = needed.max(WINDOW_BYTES),
            }
        }
    }

    fn read_window(
        &mut self,
        shared: &SharedState,
        segment: &mut OpenSegment,
        files: &Files,
        window: &[u8],
        position: Position,
    ) -> io::Result<WindowEnd> {
        let start = segment.pass.offset();
        loop {
            let at = usize::try_from(segment.pass.offset() - start).unwrap_or(usize::MAX);
            let frame = match segment.pass.step(window.get(at..).unwrap_or_default()) {
                PassStep::Frame(frame) => frame,
                PassStep::More { needed } => return Ok(WindowEnd::More { needed }),
                PassStep::Zeros => return Ok(WindowEnd::Closed),
                PassStep::Doubt => return Err(differs("a frame")),
            };
            let header = frame.stored.header();
            self.read_leaves(shared, segment, files, header)?;
            let size = header.last_position();
            if size >= position {
                if !frame.tip.is_signed_by(&segment.header.ephemeral_public) {
                    return Err(differs("a frame's signature"));
                }
                let (root, hash, end) = (header.tree_root, frame.tip.hash, segment.pass.offset());
                let segment = segment.header.number;
                return Ok(WindowEnd::Found(ReadBack { segment, size, root, hash, end }));
            }
        }
    }

    /// Puts the leaves of a frame into the tree, as they lie beside the segment; if they do not, as its records give them.
    fn read_leaves(
        &mut self,
        shared: &SharedState,
        segment: &mut OpenSegment,
        files: &Files,
        frame: &FrameHeader,
    ) -> io::Result<()> {
        let leaves = LeavesHeader {
            ledger: segment.header.ledger,
            segment: segment.header.number,
            first_position: segment.header.first_position,
        };
        let before = frame.first_position.get() - leaves.first_position.get();
        let mut entries = vec![0; frame.count as usize * LEAF_ENTRY_BYTES];
        let stored = files
            .leaves
            .as_ref()
            .is_some_and(|file| file.read_exact_at(&mut entries, LeavesHeader::file_bytes(before)).is_ok());
        let mut tree = self.tree.clone();
        if stored {
            leaves::push_all(&mut tree, &mut Some(segment.next), &entries);
        }
        if tree.root() != frame.tree_root {
            let of_frame = LeavesHeader { first_position: frame.first_position, ..leaves };
            let made =
                leaf_repair::from_log(shared, &of_frame, frame.last_position()).map_err(io::Error::other)?;
            tree = self.tree.clone();
            leaves::push_all(
                &mut tree,
                &mut Some(segment.next),
                made.get(LEAVES_HEADER_BYTES..).unwrap_or_default(),
            );
            leaf_repair::request(shared, leaves.segment, leaves.first_position);
        }
        if tree.root() != frame.tree_root || tree.size() != frame.tree_size {
            return Err(differs("the root over the leaves"));
        }
        self.tree = tree;
        segment.next = frame.last_position().next().ok_or_else(|| differs("a position"))?;
        Ok(())
    }
}

/// The end of a window's reading.
enum WindowEnd {
    Found(ReadBack),
    /// The segment has ended.
    Closed,
    /// The next frame is longer.
    More {
        needed: usize,
    },
}

fn read_up_to(file: &dyn DiskFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        let rest = buffer.get_mut(read..).unwrap_or_default();
        match file.read_at(rest, offset + read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// A difference between the bytes that the disk gives and those that were written to it.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not on the disk as it was written")]
struct ReadBackMismatch(&'static str);

fn differs(what: &'static str) -> io::Error {
    io::Error::other(ReadBackMismatch(what))
}

/// Errors that say nothing of the disk: this process or this machine lacks something for now, or the file may not be opened.
const NOT_ASKED: [Errno; 7] =
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::INTR, Errno::AGAIN, Errno::ACCESS, Errno::PERM];

/// `true`: the disk does not have what was written, or cannot give it any more. `false`: it could not be asked, by [`NOT_ASKED`]; every
/// other error counts against it.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    !error.raw_os_error().is_some_and(|code| NOT_ASKED.iter().any(|known| known.raw_os_error() == code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_the_disk_counts_and_a_lack_of_descriptors_does_not() {
        let mut gone = vec![
            differs("a frame"),
            io::ErrorKind::NotFound.into(),
            io::ErrorKind::UnexpectedEof.into(),
            io::Error::other("a frame that does not open"),
        ];
        // Errors of block layers and file systems for media, checksums, timeouts, and disks that went away.
        gone.extend([
            Errno::IO.into(),
            Errno::NOENT.into(),
            Errno::UCLEAN.into(),
            Errno::BADMSG.into(),
            Errno::ILSEQ.into(),
            Errno::NODATA.into(),
            Errno::REMOTEIO.into(),
            Errno::TIMEDOUT.into(),
            Errno::NODEV.into(),
            Errno::NXIO.into(),
            Errno::STALE.into(),
            Errno::NOTCONN.into(),
            Errno::ISDIR.into(),
        ]);
        for error in gone {
            assert!(is_gone(&error), "{error}");
        }
        for error in NOT_ASKED.map(io::Error::from) {
            assert!(!is_gone(&error), "{error}");
        }
    }
}
