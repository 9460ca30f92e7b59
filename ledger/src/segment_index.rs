//! The outline of a ledger: the headers of its segments, read without the frames between them.
//! It is enough to find events, and to know which derived state fits this log.

use std::cmp::Ordering;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use bitacora_formats::{
    ChainHash, FOOTER_BYTES, FRAME_MAGIC, FrameOpener, Keyring, MAX_SEGMENT_HEADER_BYTES, Position,
    ReleasedSegment, SegmentEnd, SegmentFooter, SegmentHeader, SegmentNumber, SegmentWalk, Step,
    is_all_zeros, undo_one_flip,
};

use crate::archive_tier::ArchiveTier;
use crate::host::disk::{Disk, DiskFile, OpenMode};
use crate::segment_list::{SegmentList, read_released, segment_header};
use crate::segments::segment_file::{is_signed_by, load_segment};
use crate::segments::{Segment, segment_file_name};

/// The segments from the first one on whose headers are beyond doubt. Each header is certified by the ledger's signing key and goes on
/// from the one before, as far as headers tell; the footers say the same. Doubtful segments are left to be read byte by byte. The others
/// were not read yet, and are proven later.
pub(crate) struct SegmentIndex<'a> {
    disk: &'a dyn Disk,
    folder: &'a Path,
    segments: Vec<IndexedSegment>,
    /// The end of the last of them, once asked.
    last: OnceLock<Option<WalkedSegmentEnd>>,
}

/// One segment by its header.
pub(crate) struct IndexedSegment {
    pub(crate) header: SegmentHeader,
    footer: Option<SegmentFooter>,
    pub(crate) frames: FrameStorage,
}

/// The place of a segment's frames.
pub(crate) enum FrameStorage {
    InFile { file: Arc<dyn DiskFile>, bytes: u64, opener: FrameOpener },
    Archived(Box<ReleasedSegment>),
}

/// The end of a segment that was walked over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkedSegmentEnd {
    pub(crate) end: SegmentEnd,
    /// The offset behind its last frame.
    pub(crate) frames_end: u64,
    /// The offset behind its last byte.
    pub(crate) offset: u64,
}

impl<'a> SegmentIndex<'a> {
    /// Reads the headers of these segments, up to the first that is in doubt.
    pub(crate) fn read(
        disk: &'a dyn Disk,
        folder: &'a Path,
        keyring: &Keyring,
        SegmentList { numbers, released, .. }: &SegmentList,
    ) -> Self {
        let mut segments: Vec<IndexedSegment> = Vec::new();
        for (index, number) in numbers.iter().enumerate() {
            let read = if index < *released {
                IndexedSegment::read_released(disk, folder, keyring, *number)
            } else {
                IndexedSegment::read(disk, &folder.join(segment_file_name(*number)), keyring)
            };
            let Ok(Some(next)) = read else { break };
            if next.header.number != *number || !segments.last().is_none_or(|last| last.is_followed_by(&next))
            {
                break;
            }
            segments.push(next);
        }
        Self { disk, folder, segments, last: OnceLock::new() }
    }

    /// The last segment here.
    pub(crate) fn last(&self) -> Option<&SegmentHeader> {
        self.segments.last().map(|segment| &segment.header)
    }

    /// The chain hash at the end of a segment: by the header of the next one, or by a walk over the last one if that
    /// ends in a footer.
    pub(crate) fn end_of(&self, number: SegmentNumber) -> Option<ChainHash> {
        let after = usize::try_from(number.0).ok()?;
        if let Some(next) = self.segments.get(after) {
            return Some(next.header.previous.hash);
        }
        (self.last()?.number == number).then(|| self.last_end()).flatten().map(|whole| whole.end.tip.hash)
    }

    /// Returns the end of the last segment, if that is whole and has its footer.
    pub(crate) fn last_end(&self) -> Option<WalkedSegmentEnd> {
        *self.last.get_or_init(|| {
            let name = segment_file_name(self.last()?.number);
            let bytes = load_segment(self.disk, &self.folder.join(name)).ok()?;
            let (mut walk, _) = SegmentWalk::start(&bytes, None).ok()?;
            let mut frames_end = None;
            loop {
                match walk.next_step() {
                    Step::Frame(_) => {}
                    Step::Footer(_) => frames_end = Some(walk.offset() - FOOTER_BYTES as u64),
                    Step::End => {
                        return frames_end.map(|frames_end| WalkedSegmentEnd {
                            end: *walk.end(),
                            frames_end,
                            offset: walk.offset(),
                        });
                    }
                    Step::Torn(_) | Step::Corrupt(_) => return None,
                }
            }
        })
    }

    /// The segments through this one, for readers; `None` if the end of one cannot be told.
    pub(crate) fn segments_through(
        self,
        number: SegmentNumber,
        tier: &Arc<dyn ArchiveTier>,
    ) -> Option<Vec<Arc<Segment>>> {
        let segment = self.segments.get(usize::try_from(number.0.checked_sub(1)?).ok()?)?;
        let (frames_end, next) = match self.segments.get(usize::try_from(number.0).ok()?) {
            Some(next) => (segment.frames_end()?, next.header.first_position),
            None => self.last_end().map(|whole| (whole.frames_end, whole.end.next_position))?,
        };
        let last = segment.header.clone();
        self.segments_until(&last, frames_end, Position::new(next.get() - 1)?, tier)
    }

    /// The segments through this one, whose frames end at a place and with a position that are known.
    pub(crate) fn segments_until(
        self,
        last: &SegmentHeader,
        frames_end: u64,
        last_position: Position,
        tier: &Arc<dyn ArchiveTier>,
    ) -> Option<Vec<Arc<Segment>>> {
        let count = usize::try_from(last.number.0).ok()?;
        let nexts: Vec<_> = self
            .segments
            .iter()
            .map(|next| (next.header.first_position, next.header.frontier.root()))
            .collect();
        let mut segments = Vec::with_capacity(count);
        for (number, segment) in (1..=count).zip(self.segments) {
            let is_last = number == count;
            let frames_until = if is_last { frames_end } else { segment.frames_end()? };
            let next = nexts.get(number);
            let after = next.and_then(|(first, _)| Position::new(first.get() - 1));
            let position = if is_last { last_position } else { after? };
            let IndexedSegment { header, frames, .. } = segment;
            segments.push(Arc::new(match frames {
                FrameStorage::InFile { file, opener, .. } => {
                    let frames = header.stored_bytes() as u64..frames_until;
                    Segment::ended(&header, file, opener, frames, Some(position))
                }
                FrameStorage::Archived(released) => Segment::released(&released, next?.1, Arc::clone(tier)),
            }));
        }
        (segments.len() == count).then_some(segments)
    }
}

/// The bytes that may be a header: what stands before the first frame.
fn header_bytes(start: &[u8]) -> Option<&[u8]> {
    let end = start.windows(FRAME_MAGIC.len()).position(|found| found == FRAME_MAGIC)?;
    start.get(..end)
}

/// The chain hash at the end of a segment, by the header of the next one, which the opening has looked at.
fn end_by_next_header(disk: &dyn Disk, folder: &Path, number: SegmentNumber) -> Option<ChainHash> {
    let header = segment_header(disk, folder, number.next()?).ok()??;
    Some(header.previous.hash)
}

/// The chain hash at the end of this segment of a log whose last one ends so; `None` of one behind that, and where it cannot be
/// told.
pub(crate) fn end_of_segment(
    disk: &dyn Disk,
    folder: &Path,
    number: SegmentNumber,
    last: &SegmentEnd,
) -> Option<ChainHash> {
    match number.cmp(&last.number) {
        Ordering::Less => end_by_next_header(disk, folder, number),
        Ordering::Equal => Some(last.tip.hash),
        Ordering::Greater => None,
    }
}

impl IndexedSegment {
    /// `None` where there is any doubt.
    pub(crate) fn read(disk: &dyn Disk, path: &Path, keyring: &Keyring) -> io::Result<Option<Self>> {
        Self::read_by(disk, path, keyring, |start| SegmentHeader::parse(start).ok())
    }

    /// Reads a segment that is known to be damaged in the same way. One flipped bit of its header is undone, where its certificate shows
    /// which one it was.
    pub(crate) fn read_damaged(disk: &dyn Disk, path: &Path, keyring: &Keyring) -> io::Result<Option<Self>> {
        let certified = |start: &[u8]| {
            SegmentHeader::parse(start).ok().filter(|header| header.verify_certificate().is_ok())
        };
        Self::read_by(disk, path, keyring, |start| {
            certified(start).or_else(|| {
                let bytes = header_bytes(start);
                bytes.and_then(|bytes| undo_one_flip(bytes, certified)).map(|(header, _)| header)
            })
        })
    }

    fn read_by(
        disk: &dyn Disk,
        path: &Path,
        keyring: &Keyring,
        parse: impl Fn(&[u8]) -> Option<SegmentHeader>,
    ) -> io::Result<Option<Self>> {
        let file = disk.open(path, OpenMode::Read)?;
        let bytes = file.len()?;
        let mut start = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX).min(MAX_SEGMENT_HEADER_BYTES)];
        file.read_exact_at(&mut start, 0)?;
        let Some(header) = parse(&start) else { return Ok(None) };
        if header.verify_certificate().is_err() || !is_signed_by(keyring, &header) {
            return Ok(None);
        }
        let Ok(key) = header.unwrap_key(keyring) else { return Ok(None) };
        let mut end = [0; FOOTER_BYTES];
        let Some(offset) = bytes.checked_sub(FOOTER_BYTES as u64) else { return Ok(None) };
        file.read_exact_at(&mut end, offset)?;
        // Zeros behind a footer, where the file could not be trimmed, or behind the frames of a live segment.
        let footer = SegmentFooter::parse(&end).ok();
        let opener = FrameOpener::new(&key);
        let bytes = if is_all_zeros(&end) { 0 } else { bytes };
        Ok(Some(Self { header, footer, frames: FrameStorage::InFile { file, bytes, opener } }))
    }

    /// The same of a segment that was released.
    pub(crate) fn read_released(
        disk: &dyn Disk,
        folder: &Path,
        keyring: &Keyring,
        number: SegmentNumber,
    ) -> io::Result<Option<Self>> {
        let signers = Some(keyring.signing_chain());
        let Some(released) = read_released(disk, folder, number, signers)? else { return Ok(None) };
        let header = released.header.clone();
        if header.verify_certificate().is_err() || !is_signed_by(keyring, &header) {
            return Ok(None);
        }
        let footer = released.footer;
        Ok(Some(Self { header, footer, frames: FrameStorage::Archived(Box::new(released)) }))
    }

    /// Returns `true` if the next header goes on from this segment, as far as can be told without reading all of it.
    pub(crate) fn is_followed_by(&self, next: &Self) -> bool {
        if let FrameStorage::Archived(released) = &self.frames {
            return released.end_before(&next.header).is_ok();
        }
        let (one, two) = (&self.header, &next.header);
        let goes_on = one.ledger == two.ledger
            && one.generation <= two.generation
            && one.epoch <= two.epoch
            && one.number.next() == Some(two.number)
            && one.first_position < two.first_position;
        let is_footed = self.footer.as_ref().is_none_or(|footer| {
            footer.first_position == one.first_position
                && footer.last_position.next() == Some(two.first_position)
                && footer.tree_size == two.frontier.size()
                && footer.tree_root == two.frontier.root()
        });
        goes_on && is_footed && self.frames_end().is_some()
    }

    /// Returns the offset behind the last frame of an ended segment: before the footer, or where an opening cut the file.
    pub(crate) fn frames_end(&self) -> Option<u64> {
        let FrameStorage::InFile { bytes, .. } = &self.frames else { return Some(0) };
        let footer = if self.footer.is_some() { FOOTER_BYTES as u64 } else { 0 };
        bytes.checked_sub(footer).filter(|end| *end > self.header.stored_bytes() as u64)
    }
}
