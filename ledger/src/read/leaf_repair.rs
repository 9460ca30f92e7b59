//! The repair of the tree's leaves from the log, where their files lack them or differ.

use std::io;

use bitacora_formats::{LeafEntry, LeavesHeader, Position, SegmentNumber};

use crate::read::log_reader::LogReader;
use crate::read_error::ReadError;
use crate::shared_state::SharedState;
use crate::tree::leaves::EndedLeaves;

/// Has the leaves beside a segment made again, which cannot be read or are not those of the log; not while the segment is still being
/// written.
pub(crate) fn request(shared: &SharedState, number: SegmentNumber, first: Position) {
    let held = shared.read.segments.holding(first).filter(|held| !held.is_released());
    let is_ended = held.and_then(|held| shared.read.segments.after(&held)).is_some();
    if is_ended && shared.read.tree.repair_leaves(number, first) {
        shared.write.table_writer.tree_changed();
    }
}

/// Makes durable what the tree knows of ended segments.
pub(crate) fn settle_tree(shared: &SharedState) {
    shared.read.tree.settle(&|ended| made_again(shared, ended));
}

/// Returns the leaves of an ended segment, made from its events; `None` if it was released.
fn made_again(shared: &SharedState, ended: &EndedLeaves) -> io::Result<Option<Vec<u8>>> {
    let segment = shared.read.segments.holding(ended.first).ok_or(io::ErrorKind::NotFound)?;
    if segment.is_released() {
        return Ok(None);
    }
    let after = shared.read.segments.after(&segment).map(|next| next.first.get());
    let last = after.map_or(shared.read.head().position.get(), |after| after.saturating_sub(1));
    let last = Position::new(last).ok_or(io::ErrorKind::InvalidData)?;
    let header = LeavesHeader { ledger: shared.id, segment: ended.number, first_position: ended.first };
    from_log(shared, &header, last).map(Some).map_err(io::Error::other)
}

/// The file of a segment's leaves as it has to be, made from the log with its keys; the events up to `last` are in it.
pub(crate) fn from_log(
    shared: &SharedState,
    header: &LeavesHeader,
    last: Position,
) -> Result<Vec<u8>, ReadError> {
    let mut bytes = header.encode().to_vec();
    let mut reader = LogReader::new(shared);
    let mut next = Some(reader.frame_with(header.first_position)?);
    while let Some(frame) = next {
        let time = frame.place.header.time;
        for entry in reader.decode(&frame)?.entries() {
            let record = reader.record(&frame, entry)?;
            let keys = shared.write.preparer.keys();
            let commitment = keys.commitment_of(&record, entry.record);
            LeafEntry { time, commitment }.encode(&mut bytes);
        }
        next = if frame.place.header.last_position() < last { reader.frame_after(&frame)? } else { None };
    }
    Ok(bytes)
}
