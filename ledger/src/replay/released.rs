//! The replay of a released segment that no tables cover, from its archived frames.
//! They have to make the tree that the header of the next segment begins with.

use std::sync::Arc;

use bitacora_formats::{Position, ReleasedSegment, SegmentEnd, SegmentNumber};

use super::cursor::Progress;
use super::frames::take_in;
use super::{Replay, ReplayStop, damage, disk_error};
use crate::archive_tier::{ArchiveTierError, ArchiveTierErrorKind};
use crate::dedup::segment_ids::SegmentIds;
use crate::open_error::OpenError;
use crate::segment_list::{read_released, segment_header};
use crate::segments::segment_file::is_signed_by;
use crate::segments::{FrameOutline, Segment, released_file_name};

impl Replay<'_> {
    pub(super) fn released_segment(
        &mut self,
        number: SegmentNumber,
        progress: &mut Option<Progress>,
    ) -> Result<(), ReplayStop> {
        let (released, end) = self.links_of(number, progress.as_ref())?;
        let header = &released.header;
        let mut now = match progress.take() {
            Some(progress) => progress,
            None => {
                let (keys, ids, _) = self.load_tables(header, |_| None);
                Progress::before_first(keys, header, ids)
            }
        };
        let taken = self.archived_frames(&released, &end, &mut now);
        *progress = Some(now);
        taken
    }

    /// Returns the remainder of the segment and its end. The segment goes on from the one read before, and the next one from it.
    fn links_of(
        &self,
        number: SegmentNumber,
        before: Option<&Progress>,
    ) -> Result<(ReleasedSegment, SegmentEnd), ReplayStop> {
        let (disk, name) = (&*self.disk, released_file_name(number));
        let damaged = |what: &dyn std::fmt::Display| damage(&name, 0, before, what);
        let unread = |source| ReplayStop::Open(disk_error(&format!("reading {name}"), source));
        let released = read_released(disk, &self.folder, number, Some(self.keyring.signing_chain()));
        let released = released.map_err(unread)?;
        let released = released.ok_or_else(|| {
            damaged(&"the file of a released segment expected, signed by a key of the keyring")
        })?;
        let header = &released.header;
        header.verify_certificate().map_err(|error| damaged(&error))?;
        if !is_signed_by(self.keyring, header) {
            let found = hex::encode(header.signing_public);
            return Err(damaged(&format!("found {found}, expected a signing key of the keyring")));
        }
        let end_before = before.map_or_else(|| SegmentEnd::before_first(header.ledger), |before| before.end);
        end_before.check_next(header, released.first_time()).map_err(|error| damaged(&error))?;
        let next = number.next().map(|next| segment_header(disk, &self.folder, next));
        let next = next.transpose().map_err(unread)?.flatten();
        let next =
            next.ok_or_else(|| damaged(&"expected a segment behind it, found its file missing or damaged"))?;
        let end = released.end_before(&next).map_err(|error| damaged(&error))?;
        Ok((released, end))
    }

    fn archived_frames(
        &self,
        released: &ReleasedSegment,
        end: &SegmentEnd,
        progress: &mut Progress,
    ) -> Result<(), ReplayStop> {
        let header = &released.header;
        let tier = self.tier(header.ledger);
        let damaged = |first: Position, what: String| {
            let (last, kind) = (released.last_position, ArchiveTierErrorKind::Damaged);
            ReplayStop::Open(OpenError::Archive(ArchiveTierError { first, last, kind, what }))
        };
        let mut ids = (!progress.ids.covers(header.number)).then(SegmentIds::default);
        let mut next = header.first_position;
        while next <= released.last_position {
            let frame = tier.frame(next).map_err(|error| ReplayStop::Open(OpenError::Archive(error)))?;
            let outline = FrameOutline::of_archived(&frame);
            if outline.first_position != next || outline.last_position() > released.last_position {
                return Err(damaged(next, "found another, expected a frame that begins there".to_owned()));
            }
            let taken = take_in(&outline, &frame.body, progress, ids.as_mut(), |_| {});
            progress.frontier = taken.map_err(|what| damaged(next, what))?;
            let Some(after) = outline.last_position().next() else { break };
            next = after;
        }
        if progress.frontier.root() != end.tree_root {
            let (expected, found) = (end.tree_root, progress.frontier.root());
            let what = format!("tree root {expected} expected, its events give {found}");
            return Err(damaged(header.first_position, what));
        }
        progress.end = *end;
        progress.segments.push(Arc::new(Segment::released(released, end.tree_root, tier)));
        if let Some(ids) = ids {
            progress.ids.add_ended(header.number, end.tip.hash, Arc::new(ids));
            if self.repairs {
                progress.ids.write_some();
            }
        }
        Ok(())
    }
}
