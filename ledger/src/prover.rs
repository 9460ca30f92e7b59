//! The thread that proves, after an opening that did not read them, the bytes of old segments: every one of them walked
//! over, without keys and without haste.

use std::io;

use bitacora_formats::{HeaderStep, SegmentEnd, SegmentNumber, SegmentWalk, Step};

use crate::fault::Fault;
use crate::limits::FILL_SLICE_BYTES;
use crate::replay::{is_signed_by, load_segment};
use crate::segments::{segment_file_name, segments_folder};
use crate::shared::Shared;
use crate::status::{ReadOnlyReason, WriterState};

/// Bytes that are walked over between two rests.
const STRIDE_BYTES: u64 = FILL_SLICE_BYTES as u64;

/// What ends a proof early.
enum Stop {
    Damage(Fault),
    Disk(io::Error),
    Closing,
}

/// The body of the thread: walks from the ledger's first byte to `through`, which the opening has built on. Damage leaves
/// the ledger read-only, and the next opening reads all of it.
pub(crate) fn run(shared: &Shared, through: &SegmentEnd) {
    match prove(shared, through) {
        Ok(()) => {
            shared.set_proven();
            tracing::debug!(segment = through.number.0, "the segments before this opening are proven");
        }
        Err(Stop::Damage(fault)) => {
            tracing::error!(%fault, "the log is damaged; nothing more is taken until the file is restored");
            shared.set_writer(WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)));
            shared.keeper.distrust();
        }
        Err(Stop::Disk(error)) => {
            tracing::error!(%error, "old segments could not be read to be proven; the next opening tries again");
        }
        Err(Stop::Closing) => {}
    }
}

fn prove(shared: &Shared, through: &SegmentEnd) -> Result<(), Stop> {
    let mut end = SegmentEnd::before_first(shared.id);
    while end.number < through.number {
        let number = end.number.next().ok_or(Stop::Closing)?;
        end = segment(shared, number, &end)?;
    }
    if end == *through {
        return Ok(());
    }
    let what = format!("chain hash {} at its end expected, {} found", through.tip.hash, end.tip.hash);
    Err(damage(through.number, 0, &end, what))
}

/// Walks over one segment that must go on from `before`; where it ends.
fn segment(shared: &Shared, number: SegmentNumber, before: &SegmentEnd) -> Result<SegmentEnd, Stop> {
    let path = segments_folder(&shared.folder).join(segment_file_name(number));
    let bytes = load_segment(&*shared.environment.disk, &path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => damage(number, 0, before, "the file is missing".to_owned()),
        io::ErrorKind::UnexpectedEof => damage(number, 0, before, "the file was cut".to_owned()),
        _ => Stop::Disk(error),
    })?;
    let (mut walk, header) = SegmentWalk::start(&bytes, Some(before)).map_err(|step| match step {
        HeaderStep::Unwritten => damage(number, 0, before, step.to_string()),
        HeaderStep::Torn(found) | HeaderStep::Corrupt(found) => {
            damage(number, found.offset, before, found.kind.to_string())
        }
    })?;
    if !is_signed_by(&shared.keyring, &header) {
        let what =
            format!("a signing key of the keyring expected, {} found", hex::encode(header.signing_public));
        return Err(damage(number, 0, before, what));
    }
    let readers = shared.segments.holding(header.first_position);
    let mut rested = 0;
    loop {
        match walk.next_step() {
            Step::Frame(frame) => {
                if let Some(segment) = &readers {
                    segment.note_passed(frame.stored.header().first_position, frame.offset);
                }
            }
            Step::Footer(_) => {}
            Step::End => return Ok(*walk.end()),
            Step::Torn(found) | Step::Corrupt(found) => {
                return Err(damage(number, found.offset, walk.end(), found.kind.to_string()));
            }
        }
        if walk.offset() >= rested + STRIDE_BYTES {
            rested = walk.offset();
            shared.pace.rest_or_stop().map_err(|_| Stop::Closing)?;
        }
    }
}

fn damage(number: SegmentNumber, offset: u64, before: &SegmentEnd, what: String) -> Stop {
    let file = format!("segments/{}", segment_file_name(number));
    Stop::Damage(Fault { file, offset, first_position: before.next_position.get(), what })
}
