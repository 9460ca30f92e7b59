//! The replay of one segment at an opening: walks and opens its frames, and grows the tree again.

use std::sync::Arc;

use bitacora_formats::{
    FrameOpener, Frontier, HeaderStep, LeafEntry, Secret, SegmentHeader, SegmentWalk, Step, WalkedFrame,
    commitment, decode_body, decode_record,
};

use super::cursor::Progress;
use super::{Outcome, Replay, ReplayStop, damage, disk_error};
use crate::dedup::segment_ids::{KnownIdentity, SegmentIds};
use crate::host::disk::{DiskFile, OpenMode};
use crate::open_error::OpenError;
use crate::segments::segment_file::is_signed_by;
use crate::segments::{FrameOutline, Segment};
use crate::stream_tips::Tip;
use crate::tree::leaves::SegmentLeaves;

impl Replay<'_> {
    pub(super) fn segment(
        &mut self,
        name: &str,
        bytes: &[u8],
        progress: &mut Option<Progress>,
    ) -> Result<Outcome, ReplayStop> {
        let until = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1);
        // A header that is cut short is a torn write; of the ledger's first segment it is damage, since nothing stands before it.
        let expect = progress.as_ref().map(|progress| &progress.end);
        let (walk, header) = match SegmentWalk::start(bytes, expect) {
            Ok(started) => started,
            Err(HeaderStep::Torn(_)) if progress.is_some() => return Ok(Outcome::Torn { at: 0, until }),
            Err(HeaderStep::Unwritten) => return Ok(Outcome::Torn { at: 0, until }),
            Err(HeaderStep::Torn(found) | HeaderStep::Corrupt(found)) => {
                return Err(damage(name, found.offset, progress.as_ref(), &found.kind));
            }
        };
        let key = header.unwrap_key(self.keyring).map_err(|error| OpenError::Keyring {
            file: format!("segments/{name}"),
            what: error.to_string(),
        })?;
        if !is_signed_by(self.keyring, &header) {
            let found = hex::encode(header.signing_public);
            let what = format!("found {found}, expected a signing key of the keyring");
            return Err(damage(name, 0, progress.as_ref(), &what));
        }
        // The first header that can be trusted says which ledger this is, and so which tables may be its own.
        let mut now = progress.take().unwrap_or_else(|| {
            let (keys, ids, _) = self.load_tables(&header, |_| None);
            Progress::before_first(keys, &header, ids)
        });
        let outcome = self.frames(name, walk, &header, &key, &mut now);
        // Without one whole frame the ledger has no beginning: there is no progress then.
        if now.segments.is_empty() && !matches!(outcome, Err(ReplayStop::Open(_))) {
            outcome?;
            return Err(damage(name, 0, None, &"the ledger's first frame is missing"));
        }
        *progress = Some(now);
        // A segment of which not even one frame stands is as if it had not begun.
        outcome.map(|outcome| match outcome {
            Outcome::Torn { at, .. } if at <= header.stored_bytes() as u64 => Outcome::Torn { at: 0, until },
            Outcome::Torn { at, .. } => Outcome::Torn { at, until },
            whole => whole,
        })
    }

    fn frames(
        &mut self,
        name: &str,
        mut walk: SegmentWalk<'_>,
        header: &SegmentHeader,
        key: &Secret,
        progress: &mut Progress,
    ) -> Result<Outcome, ReplayStop> {
        let opener = FrameOpener::new(key);
        let file = self.reopen(name)?;
        let segment =
            Arc::new(Segment::new(header.number, header.first_position, file, FrameOpener::new(key)));
        let mut ids = (!progress.ids.covers(header.number)).then(SegmentIds::default);
        let mut leaves = SegmentLeaves::new(header.ledger, header.number, header.first_position);
        let mut frames = 0_u64;
        let outcome = loop {
            match walk.next_step() {
                Step::Frame(frame) => {
                    self.frame(&frame, &opener, progress, ids.as_mut(), &mut leaves)
                        .map_err(|what| damage(name, frame.offset, Some(progress), &what))?;
                    let stored = frame.stored.header();
                    segment.note_frame(stored.first_position, frame.offset, stored.stored_bytes() as u64);
                    progress.end = *walk.end();
                    frames += 1;
                    if frames == 1 {
                        progress.segments.push(Arc::clone(&segment));
                    }
                }
                Step::Footer(_) => progress.end = *walk.end(),
                Step::End if frames == 0 => break Outcome::Torn { at: 0, until: 0 },
                Step::End => break Outcome::Whole { end: walk.offset() },
                Step::Torn(found) => break Outcome::Torn { at: found.offset, until: 0 },
                Step::Corrupt(found) => {
                    // A last frame whose signature does not hold was taken in before it was known: it is not served.
                    progress.end = *walk.end();
                    return Err(damage(name, found.offset, Some(progress), &found.kind));
                }
            }
        };
        if let Some(ids) = ids.filter(|_| frames > 0) {
            progress.ids.add_ended(header.number, progress.end.tip.hash, Arc::new(ids));
            if self.repairs {
                progress.ids.write_some();
            }
        }
        if frames > 0
            && let Some(before) = progress.leaves.replace(leaves).filter(|_| self.repairs)
        {
            // It is followed by this one: it is durable.
            before.settle(&*self.disk, self.ledger);
        }
        Ok(outcome)
    }

    fn reopen(&self, name: &str) -> Result<Arc<dyn DiskFile>, ReplayStop> {
        let path = self.folder.join(name);
        self.disk
            .open(&path, OpenMode::Read)
            .map_err(|source| ReplayStop::Open(disk_error("opening a segment", source)))
    }

    /// Opens a frame and takes in its events; says what is wrong if it is not what the chain and the tree say.
    fn frame(
        &mut self,
        frame: &WalkedFrame<'_>,
        opener: &FrameOpener,
        progress: &mut Progress,
        ids: Option<&mut SegmentIds>,
        leaves: &mut SegmentLeaves,
    ) -> Result<(), String> {
        let header = frame.stored.header();
        let body =
            opener.open_body(&frame.stored, &mut self.decompressor).map_err(|error| error.to_string())?;
        let frontier = take_in(&FrameOutline::of(header), &body, progress, ids, |leaf| leaves.push(leaf))?;
        if frontier.root() != header.tree_root {
            let (expected, found) = (header.tree_root, frontier.root());
            return Err(format!("tree root {expected} expected, its events give {found}"));
        }
        progress.frontier = frontier;
        Ok(())
    }
}

/// Takes in the events of an opened frame; the tree after them, which is not the log's yet.
pub(super) fn take_in(
    frame: &FrameOutline,
    body: &[u8],
    progress: &mut Progress,
    mut ids: Option<&mut SegmentIds>,
    mut leaf_made: impl FnMut(&LeafEntry),
) -> Result<Frontier, String> {
    let decoded = decode_body(body, frame.count).map_err(|error| error.to_string())?;
    let is_covered = progress.is_covered(frame.first_position);
    let mut frontier = progress.frontier.clone();
    let mut position = frame.first_position;
    for entry in decoded.entries() {
        let record = decode_record(entry.record).map_err(|error| error.to_string())?;
        let (blind, key) = progress.keys.identity(&record.source, &record.id);
        let commitment =
            record.expired().map_or_else(|| commitment(&blind, entry.record), |expired| expired.commitment);
        let leaf = LeafEntry { time: frame.time, commitment };
        progress.growth.groups.extend(frontier.push_grouping(leaf.hash(position)));
        leaf_made(&leaf);
        let tip = Tip { version: entry.stream_version, position };
        let stream = progress.keys.stream_key(&record.stream);
        progress.tips.insert(stream, tip);
        if !is_covered {
            progress.unsaved_tips.insert(stream, tip);
        }
        if let Some(ids) = &mut ids {
            ids.insert(key, KnownIdentity::new(position, &commitment));
        }
        position = position.next().ok_or("positions ran out")?;
    }
    Ok(frontier)
}
