//! The whole parts of a ledger behind damage: certified segments, and the frames in them that open.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bitacora_formats::{
    ChainTip, FOOTER_BYTES, FRAME_OVERHEAD_BYTES, Keyring, LedgerId, Position, SegmentEnd, SegmentFooter,
    SegmentHeader, SegmentNumber, Signature, StoredFrame, TreeHash, is_all_zeros,
};

use crate::archive_tier::ArchiveTier;
use crate::heads::head_files;
use crate::host::disk::{Disk, DiskFile, OpenMode, is_no_file};
use crate::log_fault::LogFault;
use crate::read_error::ReadError;
use crate::receipt::Head;
use crate::replay::{ReplayedLog, TailState};
use crate::segment_index::{FrameStorage, IndexedSegment};
use crate::segment_list::SegmentList;
use crate::segments::{
    FrameOutline, SEGMENTS, Segment, released_file_name, released_number, segment_file_name, segment_number,
    segments_folder,
};

/// Bytes between a signature's first one and the frame behind it: the signature, and a checksum.
const SIGNATURE_BEFORE: usize = size_of::<Signature>() + size_of::<u32>();

/// A damaged ledger, as far as it is whole.
pub(crate) struct EventsBehindDamage {
    /// Those that are whole, and between them what is lost.
    pub(crate) segments: Vec<Arc<Segment>>,
    /// The header of the last one.
    pub(crate) header: SegmentHeader,
    pub(crate) end: SegmentEnd,
    /// The damage that events behind the end are lost by, if any are.
    pub(crate) lost_end: Option<LogFault>,
}

/// A damaged ledger: its place, its keyring and its damage.
pub(crate) struct DamagedLedger<'a> {
    pub(crate) disk: &'a dyn Disk,
    /// Of the ledger.
    pub(crate) folder: &'a Path,
    pub(crate) keyring: &'a Keyring,
    /// The damage that is known.
    pub(crate) fault: &'a LogFault,
}

/// A segment that is whole as far as its header says.
struct CertifiedSegment {
    number: SegmentNumber,
    indexed: IndexedSegment,
}

/// Has a log whose damage is known stand with all that is whole of it; any other is left as it is.
pub(crate) fn take_in(
    disk: &dyn Disk,
    folder: &Path,
    keyring: &Keyring,
    replayed: &mut ReplayedLog,
) -> io::Result<()> {
    let TailState::Corrupt(fault) = &replayed.tail else { return Ok(()) };
    let whole = DamagedLedger { disk, folder, keyring, fault }
        .whole(Some(replayed.ledger), |_| Arc::clone(&replayed.tier))?
        .filter(|whole| whole.end.next_position > replayed.end.next_position);
    if let Some((head, whole)) = whole.and_then(|whole| Some((whole.head()?, whole))) {
        (replayed.head, replayed.end, replayed.segments) = (head, whole.end, whole.segments);
        (replayed.behind, replayed.lost_end) = (Some(whole.header), whole.lost_end);
    }
    Ok(())
}

impl EventsBehindDamage {
    pub(crate) fn head(&self) -> Option<Head> {
        let position = Position::new(self.end.next_position.get() - 1)?;
        Some(Head { position, hash: self.end.tip.hash, time: self.end.time, tree_root: self.end.tree_root })
    }
}

impl DamagedLedger<'_> {
    /// Finds what is whole. Positions rest on headers under the ledger's certificate, and on frames under the keys in them. `None` where
    /// there is nothing that can be told to be the ledger's end.
    pub(crate) fn whole(
        &self,
        ledger: Option<LedgerId>,
        tier: impl Fn(LedgerId) -> Arc<dyn ArchiveTier>,
    ) -> io::Result<Option<EventsBehindDamage>> {
        let (mut certified, left_over) = self.certified(ledger)?;
        let Some(id) = certified.first().map(|first| first.indexed.header.ledger) else { return Ok(None) };
        let tier = tier(id);
        // The last one that has a frame is the end.
        let (last, end, mut lost_end) = loop {
            let Some(last) = certified.pop() else { return Ok(None) };
            if let Some((end, lost)) = self.end_of(&last)? {
                break (last, end, lost);
            }
        };
        let header = last.indexed.header.clone();
        certified.push(last);
        let segments = self.joined(certified, &end, &tier)?;
        if let Some(number) = left_over.into_iter().find(|number| *number > end.number) {
            lost_end.get_or_insert_with(|| self.fault_at(number, 0, end.next_position, None));
        }
        let list = SegmentList::read(self.disk, &segments_folder(self.folder)).map_err(io::Error::other)?;
        let lost_end = lost_end.or_else(|| list.missing_end(&end)).or_else(|| self.lost_by_heads(&end));
        Ok(Some(EventsBehindDamage { segments, header, end, lost_end }))
    }

    /// The segments with certified headers that go on from each other, and the numbers of files that are written and are none.
    fn certified(&self, ledger: Option<LedgerId>) -> io::Result<(Vec<CertifiedSegment>, Vec<SegmentNumber>)> {
        let folder = segments_folder(self.folder);
        let entries = self.disk.list(&folder)?;
        let names = || entries.iter().map(|entry| entry.name.as_str());
        let stored: BTreeSet<_> = names().filter_map(segment_number).collect();
        let left: BTreeSet<_> = names().filter_map(released_number).collect();
        let (mut certified, mut left_over): (Vec<CertifiedSegment>, _) = (Vec::new(), Vec::new());
        for number in stored.union(&left).copied() {
            let path = folder.join(segment_file_name(number));
            let indexed = if stored.contains(&number) {
                IndexedSegment::read_damaged(self.disk, &path, self.keyring)
            } else {
                IndexedSegment::read_released(self.disk, &folder, self.keyring, number)
            };
            let next = indexed.ok().flatten().map(|indexed| CertifiedSegment { number, indexed });
            let next = next.filter(|next| ledger.is_none_or(|id| next.indexed.header.ledger == id));
            match next.filter(|next| certified.last().is_none_or(|before| before.may_precede(next))) {
                Some(next) => certified.push(next),
                None if !stored.contains(&number) || is_written(self.disk, &path)? => left_over.push(number),
                None => {}
            }
        }
        Ok((certified, left_over))
    }

    /// Puts them in a row, with what is lost between them.
    fn joined(
        &self,
        certified: Vec<CertifiedSegment>,
        end: &SegmentEnd,
        tier: &Arc<dyn ArchiveTier>,
    ) -> io::Result<Vec<Arc<Segment>>> {
        let (mut segments, mut next) = (Vec::new(), Position::FIRST);
        let mut lost_from = SegmentNumber::FIRST;
        let mut rest = certified.into_iter().peekable();
        while let Some(one) = rest.next() {
            let (number, first) = (one.number, one.indexed.header.first_position);
            if next < first {
                let root = one.indexed.header.frontier.root();
                segments.push(self.elsewhere(lost_from, (next, first), root, tier));
            }
            let behind = rest.peek();
            let neighbour = behind.filter(|next| number.next() == Some(next.number));
            let known = match (neighbour, behind) {
                (Some(next), _) => Position::new(next.indexed.header.first_position.get() - 1),
                (None, None) => Position::new(end.next_position.get() - 1),
                (None, Some(_)) => None,
            };
            let root = neighbour.map(|next| next.indexed.header.frontier.root());
            let is_joined = neighbour.is_some_and(|next| one.indexed.is_followed_by(&next.indexed));
            let Some((segment, last)) = one.segment(known, is_joined, root, tier)? else { continue };
            lost_from = number.next().unwrap_or(number);
            next = last.next().unwrap_or(last);
            segments.push(Arc::new(segment));
        }
        Ok(segments)
    }

    /// Returns the stand-in for positions that no segment has: archives, where they hold them, or the damage.
    fn elsewhere(
        &self,
        number: SegmentNumber,
        (first, before): (Position, Position),
        root: TreeHash,
        tier: &Arc<dyn ArchiveTier>,
    ) -> Arc<Segment> {
        let last = Position::new(before.get() - 1).unwrap_or(first);
        let archived = Segment::archived(number, (first, last), root, Arc::clone(tier));
        Arc::new(archived.unwrap_or_else(|| self.lost(number, first, last)))
    }

    fn lost(&self, number: SegmentNumber, first: Position, last: Position) -> Segment {
        let last = Some(last.get());
        let fault = if self.fault.first_position == first.get() {
            LogFault { last_position: last, ..self.fault.clone() }
        } else {
            self.fault_at(number, 0, first, last)
        };
        Segment::lost(number, first, fault)
    }

    fn fault_at(&self, number: SegmentNumber, offset: u64, first: Position, last: Option<u64>) -> LogFault {
        if self.fault.first_position == first.get() && last.is_none() {
            return self.fault.clone();
        }
        let folder = segments_folder(self.folder);
        let is_there = |name: &str| self.disk.exists(&folder.join(name)).unwrap_or(false);
        let (stored, released) = (segment_file_name(number), released_file_name(number));
        let (name, what) = match (is_there(&stored), is_there(&released)) {
            (true, _) => (stored, "a segment of this ledger was expected, damage was found"),
            (false, true) => (released, "a released segment of this ledger was expected, damage was found"),
            (false, false) => (stored, "the file is missing"),
        };
        LogFault {
            file: format!("{SEGMENTS}/{name}"),
            offset,
            first_position: first.get(),
            last_position: last,
            what: what.to_owned(),
        }
    }

    /// Returns the end of the segment, and the loss behind that in its file; `None` where no frame in it opens under a signature of its
    /// key.
    fn end_of(&self, last: &CertifiedSegment) -> io::Result<Option<(SegmentEnd, Option<LogFault>)>> {
        let FrameStorage::InFile { .. } = &last.indexed.frames else { return Ok(None) };
        let header = &last.indexed.header;
        let path = segments_folder(self.folder).join(segment_file_name(last.number));
        let file = self.disk.open(&path, OpenMode::Read)?;
        // The reported frames are durable.
        file.sync_data()?;
        let Some(indexed) = IndexedSegment::read_damaged(self.disk, &path, self.keyring)? else {
            return Ok(None);
        };
        let FrameStorage::InFile { opener, .. } = indexed.frames else { return Ok(None) };
        let bytes = header.stored_bytes() as u64..file.len()?;
        let segment = Segment::ended(header, Arc::clone(&file), opener, bytes, None);
        let frames = segment.whole_frames().map_err(|error| unreadable(&error))?;
        for (offset, frame) in frames.iter().rev() {
            let Some((tip, behind)) = tip_after(&*file, header, *offset, frame)? else { continue };
            let end = SegmentEnd {
                ledger: header.ledger,
                generation: header.generation,
                epoch: header.epoch,
                number: header.number,
                next_position: frame.last_position().next().unwrap_or(frame.last_position()),
                time: frame.time,
                tree_size: frame.last_position().get(),
                tree_root: frame.links.map_or_else(|| header.frontier.root(), |links| links.tree_root),
                tip,
            };
            let is_blank = is_zero_from(&*file, behind)?;
            let lost = (!is_blank).then(|| self.fault_at(last.number, behind, end.next_position, None));
            return Ok(Some((end, lost)));
        }
        Ok(None)
    }

    /// Returns the loss where a head beside the segments covers more than there is.
    fn lost_by_heads(&self, end: &SegmentEnd) -> Option<LogFault> {
        let signers = self.keyring.signing_chain();
        let (head, file) =
            head_files::last_head(self.disk, self.folder, end.ledger, Some(end.generation), signers)?;
        let (size, first) = (head.head().size, end.next_position.get());
        let what = || format!("it holds a tree head over {size} events, {} are left", first - 1);
        (size >= first).then(|| LogFault {
            file,
            offset: 0,
            first_position: first,
            last_position: Some(size),
            what: what(),
        })
    }
}

impl CertifiedSegment {
    /// Returns `true` where the other one may be of the same history, further on.
    fn may_precede(&self, next: &Self) -> bool {
        let (one, two) = (&self.indexed.header, &next.indexed.header);
        one.ledger == two.ledger
            && one.generation <= two.generation
            && one.epoch <= two.epoch
            && one.first_position < two.first_position
    }

    /// The segment for readers, and its last position; `None` where nothing of it can be read. `known` is its last position, where
    /// the header behind it tells; `root` the tree's root there.
    fn segment(
        self,
        known: Option<Position>,
        is_joined: bool,
        root: Option<TreeHash>,
        tier: &Arc<dyn ArchiveTier>,
    ) -> io::Result<Option<(Segment, Position)>> {
        let joined_end = self.indexed.frames_end().filter(|_| is_joined);
        let IndexedSegment { header, frames, .. } = self.indexed;
        let (file, opener) = match frames {
            FrameStorage::InFile { file, opener, .. } => (file, opener),
            FrameStorage::Archived(released) => {
                let last = released.last_position;
                let segment = root.filter(|_| is_joined && known == Some(last));
                return Ok(segment.map(|root| (Segment::released(&released, root, Arc::clone(tier)), last)));
            }
        };
        let bytes = header.stored_bytes() as u64..joined_end.map_or_else(|| file.len(), Ok)?;
        let segment = Segment::ended(&header, file, opener, bytes, known);
        if let Some(last) = known {
            return Ok(Some((segment, last)));
        }
        let frames = segment.whole_frames().map_err(|error| unreadable(&error))?;
        Ok(frames.last().map(|(_, frame)| (segment, frame.last_position())))
    }
}

/// Returns the tip of the chain after a frame that opened, and the offset behind the bytes that it covers. It covers the footer behind the
/// frame, where that is the segment's. `None` where no signature of the segment's key shows the tip.
fn tip_after(
    file: &dyn DiskFile,
    header: &SegmentHeader,
    offset: u64,
    frame: &FrameOutline,
) -> io::Result<Option<(ChainTip, u64)>> {
    let (from, behind) = (offset.saturating_sub(SIGNATURE_BEFORE as u64), offset + frame.stored_bytes);
    let mut bytes = vec![0; usize::try_from(behind - from).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, from)?;
    let (before, stored) = bytes.split_at_checked(SIGNATURE_BEFORE).unwrap_or_default();
    let (Some(before), Ok(stored)) = (before.first_chunk(), StoredFrame::parse(stored)) else {
        return Ok(None);
    };
    let before = ChainTip { hash: stored.header().previous, signature: Signature(*before) };
    let key = &header.ephemeral_public;
    let mut footer = [0; FOOTER_BYTES];
    let is_read = file.read_exact_at(&mut footer, behind).is_ok();
    let footer = SegmentFooter::parse(&footer).ok().filter(|_| is_read);
    let linked = stored.link(&before).ok().filter(|tip| tip.is_signed_by(key));
    // Where the signature before the frame is damaged, the footer says the hash that the frame's own is over.
    let tip = linked.or_else(|| {
        let signature = stored.link(&before).ok()?.signature;
        footer.map(|footer| ChainTip { hash: footer.previous, signature }).filter(|tip| tip.is_signed_by(key))
    });
    let Some(tip) = tip else { return Ok(None) };
    let after = footer.map(|footer| ChainTip { hash: footer.hash_after(&tip), signature: footer.signature });
    match after.filter(|after| after.is_signed_by(key)) {
        Some(after) => Ok(Some((after, behind + FOOTER_BYTES as u64))),
        None => Ok(Some((tip, behind))),
    }
}

/// Returns `true` where the file holds anything but zeros.
fn is_written(disk: &dyn Disk, path: &Path) -> io::Result<bool> {
    let file = match disk.open(path, OpenMode::Read) {
        Err(error) if is_no_file(&error) => return Ok(true),
        opened => opened?,
    };
    Ok(!is_zero_from(&*file, 0)?)
}

fn is_zero_from(file: &dyn DiskFile, from: u64) -> io::Result<bool> {
    let mut bytes = vec![0; usize::try_from(file.len()?.saturating_sub(from)).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, from)?;
    Ok(is_all_zeros(&bytes))
}

fn unreadable(error: &ReadError) -> io::Error {
    io::Error::other(error.to_string())
}

const _: () = assert!(FRAME_OVERHEAD_BYTES > SIGNATURE_BEFORE);
