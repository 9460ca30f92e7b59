//! The thread that proves, after an opening, the bytes of old segments that the opening did not read.
//! It walks over every byte and puts the leaves into the tree again, without keys and without haste. Leaves that are not those of the log
//! are made from it again, with its keys.

use std::io;
use std::time::Duration;

use bitacora_formats::{
    Frontier, HeaderStep, LEAVES_HEADER_BYTES, LeavesHeader, Position, SegmentEnd, SegmentHeader,
    SegmentNumber, SegmentWalk, Step, TreeHash,
};

use crate::heads::head_files;
use crate::host::background_pace::BackgroundPace;
use crate::limits::{BACKGROUND_REST, FILL_SLICE_BYTES, FRAME_MARK_BYTES};
use crate::log_fault::LogFault;
use crate::read::leaf_repair;
use crate::segment_list::{read_released, segment_header};
use crate::segments::segment_file::{is_signed_by, load_segment};
use crate::segments::{Segments, released_file_name, segment_file_name, segments_folder};
use crate::shared_state::SharedState;
use crate::tree::leaves::{self, Count};

/// Headers that are read between two rests.
const HEADERS_BETWEEN_RESTS: u64 = 256;
/// Bytes that are walked over between two rests.
const STRIDE_BYTES: u64 = FILL_SLICE_BYTES as u64;

/// The events that end a proof early.
enum ScrubStop {
    Damage(LogFault),
    Disk(io::Error),
    Closing,
}

/// The body of the thread: waits so long, then walks from the ledger's first byte to `through`, which the opening has built on. Damage leaves
/// the ledger read-only, and the next opening reads all of it.
pub(crate) fn run(shared: &SharedState, through: &SegmentEnd, delay: Duration) {
    match pass_over(&shared.read.segments, &shared.pace)
        .and_then(|()| linger(shared, delay))
        .and_then(|()| prove(shared, through))
    {
        Ok(()) => {
            shared.set_proven();
            tracing::debug!(segment = through.number.0, "the segments before this opening are proven");
        }
        Err(ScrubStop::Damage(fault)) => shared.write.is_damaged_by(&fault),
        Err(ScrubStop::Disk(error)) => {
            tracing::error!(%error, "old segments could not be read to be proven; the next opening tries again");
        }
        Err(ScrubStop::Closing) => {}
    }
}

/// Goes from header to header, so that readers know the places of old segments' frames long before those are proven. That takes no time
/// beside reading every byte. Where frames are small, the proof is as quick.
fn pass_over(segments: &Segments, pace: &BackgroundPace) -> Result<(), ScrubStop> {
    let (mut next, mut passed) = (segments.holding(Position::FIRST), 0_u64);
    while let Some(segment) = next {
        if segment.is_released() {
            next = segments.after(&segment);
            continue;
        }
        // The proof reports damage.
        let mut place = segment.find(segment.first).ok().flatten();
        for headers in 1_u64.. {
            let Some(found) = place else { break };
            passed += 1;
            if passed.is_multiple_of(HEADERS_BETWEEN_RESTS) {
                pace.rest_or_stop().map_err(|_| ScrubStop::Closing)?;
            }
            if found.offset < headers.saturating_sub(HEADERS_BETWEEN_RESTS) * FRAME_MARK_BYTES / 4 {
                break;
            }
            place = segment.following(&found).ok().flatten();
        }
        next = segments.after(&segment);
    }
    Ok(())
}

/// Leaves the disk to the callers that waited for the opening.
fn linger(shared: &SharedState, delay: Duration) -> Result<(), ScrubStop> {
    let rests = delay.as_micros() / BACKGROUND_REST.as_micros();
    for _ in 0..rests {
        shared.pace.rest_or_stop().map_err(|_| ScrubStop::Closing)?;
    }
    Ok(())
}

fn prove(shared: &SharedState, through: &SegmentEnd) -> Result<(), ScrubStop> {
    let mut end = SegmentEnd::before_first(shared.id);
    // Wanted only where the stored level is not right: one bit an event.
    let mut groups = shared.read.tree.is_lacking().then(Vec::new);
    while end.number < through.number {
        let number = end.number.next().ok_or(ScrubStop::Closing)?;
        let held = shared.read.segments.holding(end.next_position).filter(|held| held.is_released());
        if held.is_some() {
            let (header, link) = pass_released(shared, number, &end)?;
            end = link;
            if let Some(known) = &mut groups {
                match groups_from_log(shared, &header, &end) {
                    Some((_, completed)) => known.extend(completed),
                    None => groups = None,
                }
            }
            continue;
        }
        let (header, bytes_end) = segment(shared, number, &end)?;
        end = bytes_end;
        settle_heads(shared, number);
        match segment_leaves(shared, &header, &end)? {
            Some(completed) => groups.iter_mut().for_each(|groups| groups.extend(&completed)),
            None => groups = None,
        }
    }
    if end == *through {
        groups.into_iter().for_each(|groups| complete_tree(shared, groups));
        return Ok(());
    }
    let what = format!("chain hash {} at its end expected, {} found", through.tip.hash, end.tip.hash);
    Err(damage(through.number, 0, &end, what))
}

/// The links of a segment that was released. Its events are the archives' to prove, and were before it was.
fn pass_released(
    shared: &SharedState,
    number: SegmentNumber,
    before: &SegmentEnd,
) -> Result<(SegmentHeader, SegmentEnd), ScrubStop> {
    let folder = segments_folder(&shared.folder);
    let disk = &*shared.environment.disk;
    let damaged = |what: String| {
        let file = format!("segments/{}", released_file_name(number));
        ScrubStop::Damage(LogFault {
            file,
            offset: 0,
            first_position: before.next_position.get(),
            last_position: None,
            what,
        })
    };
    let missing = || damaged("what a released segment leaves expected".to_owned());
    let signers = Some(shared.keyring.signing_chain());
    let released =
        read_released(disk, &folder, number, signers).map_err(ScrubStop::Disk)?.ok_or_else(missing)?;
    let next = number.next().map(|next| segment_header(disk, &folder, next)).transpose();
    let next = next.map_err(ScrubStop::Disk)?.flatten().ok_or_else(missing)?;
    before.check_next(&released.header, released.first_time()).map_err(|kind| damaged(kind.to_string()))?;
    if released.header.verify_certificate().is_err() || !is_signed_by(&shared.keyring, &released.header) {
        return Err(damaged("a header that a signing key of the keyring certified expected".to_owned()));
    }
    let end = released.end_before(&next).map_err(|kind| damaged(kind.to_string()))?;
    Ok((released.header, end))
}

fn complete_tree(shared: &SharedState, groups: Vec<TreeHash>) {
    if shared.read.tree.complete(groups) {
        shared.write.table_writer.tree_changed();
        tracing::info!("the tree was made again from its leaves");
    } else {
        tracing::error!("the tree that the leaves make is not that of the log; proofs cannot be given");
    }
}

/// Sets aside what a crash of old left of a tree head; nobody adds to the heads of an ended segment.
fn settle_heads(shared: &SharedState, number: SegmentNumber) {
    let name = head_files::heads_file_name(number);
    if let Err(error) = head_files::settle_one(
        &*shared.environment.disk,
        &shared.folder,
        shared.write.preparer.keys().index_key(),
        &name,
    ) {
        tracing::warn!(%error, file = name, "a torn tree head could not be set aside");
    }
}

/// The groups of the tree that an ended segment completes, by its leaves; these are made again where they do not give
/// the root that its last frame states. `None` where they cannot be.
fn segment_leaves(
    shared: &SharedState,
    header: &SegmentHeader,
    end: &SegmentEnd,
) -> Result<Option<Vec<TreeHash>>, ScrubStop> {
    let count = end.next_position.get() - header.first_position.get();
    let leaves =
        LeavesHeader { ledger: shared.id, segment: header.number, first_position: header.first_position };
    let disk = &*shared.environment.disk;
    let is_right = |tree: &Frontier| tree.size() == end.tree_size && tree.root() == end.tree_root;
    let mut tree = header.frontier.clone();
    let rest = || shared.pace.rest_or_stop();
    match leaves::grow(disk, &shared.folder, &leaves, Count::Exactly(count), &mut tree, rest) {
        Ok(Some(groups)) if is_right(&tree) => return Ok(Some(groups)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(ScrubStop::Closing),
        // The exact fault is reported when they are written again.
        _ => {}
    }
    Ok(groups_from_log(shared, header, end).map(|(made, groups)| {
        leaves::SegmentLeaves::of(header.number, made).settle(disk, &shared.folder);
        groups
    }))
}

/// The file of a segment's leaves, made from its events, and the groups that they complete; `None` where they cannot be read,
/// or are not those of the log.
fn groups_from_log(
    shared: &SharedState,
    header: &SegmentHeader,
    end: &SegmentEnd,
) -> Option<(Vec<u8>, Vec<TreeHash>)> {
    let last = Position::new(end.next_position.get() - 1)?;
    let segment = header.number.0;
    let leaves =
        LeavesHeader { ledger: shared.id, segment: header.number, first_position: header.first_position };
    let made = leaf_repair::from_log(shared, &leaves, last).inspect_err(|error| {
        tracing::error!(segment, %error, "the leaves of the segment could not be made again");
    });
    let made = made.ok()?;
    let mut tree = header.frontier.clone();
    let entries = made.get(LEAVES_HEADER_BYTES..).unwrap_or_default();
    let groups = leaves::push_all(&mut tree, &mut Some(leaves.first_position), entries);
    if tree.size() != end.tree_size || tree.root() != end.tree_root {
        tracing::error!(segment, root = %end.tree_root, "the events of the segment give another root than its end states");
        return None;
    }
    Some((made, groups))
}

/// Walks over one segment that must go on from `before`; its header, and where it ends.
fn segment(
    shared: &SharedState,
    number: SegmentNumber,
    before: &SegmentEnd,
) -> Result<(SegmentHeader, SegmentEnd), ScrubStop> {
    let path = segments_folder(&shared.folder).join(segment_file_name(number));
    let bytes = load_segment(&*shared.environment.disk, &path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => damage(number, 0, before, "the file is missing".to_owned()),
        io::ErrorKind::UnexpectedEof => damage(number, 0, before, "the file was cut".to_owned()),
        _ => ScrubStop::Disk(error),
    })?;
    let (mut walk, header) = SegmentWalk::start(&bytes, Some(before)).map_err(|step| match step {
        HeaderStep::Unwritten => damage(number, 0, before, step.to_string()),
        HeaderStep::Torn(found) | HeaderStep::Corrupt(found) => {
            damage(number, found.offset, before, found.kind.to_string())
        }
    })?;
    if !is_signed_by(&shared.keyring, &header) {
        let what =
            format!("found {}, expected a signing key of the keyring", hex::encode(header.signing_public));
        return Err(damage(number, 0, before, what));
    }
    let readers = shared.read.segments.holding(header.first_position);
    let mut rested = 0;
    loop {
        match walk.next_step() {
            Step::Frame(frame) => {
                if let Some(segment) = &readers {
                    segment.note_passed(frame.stored.header().first_position, frame.offset);
                }
            }
            Step::Footer(_) => {}
            Step::End => return Ok((header, *walk.end())),
            Step::Torn(found) | Step::Corrupt(found) => {
                return Err(damage(number, found.offset, walk.end(), found.kind.to_string()));
            }
        }
        if walk.offset() >= rested + STRIDE_BYTES {
            rested = walk.offset();
            shared.pace.rest_or_stop().map_err(|_| ScrubStop::Closing)?;
        }
    }
}

fn damage(number: SegmentNumber, offset: u64, before: &SegmentEnd, what: String) -> ScrubStop {
    let file = format!("segments/{}", segment_file_name(number));
    ScrubStop::Damage(LogFault {
        file,
        offset,
        first_position: before.next_position.get(),
        last_position: None,
        what,
    })
}
