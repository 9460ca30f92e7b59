//! The rounds of the scrub: every frame on this disk is read and opened again and again, at a pace that callers do not notice.
//!
//! A frame is opened as a read opens it, so damage is found, reported and answered in the same way. One frame is in memory at a time.

use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::{Decompressor, Position};

use crate::host::scrub_progress::ScrubOptions;
use crate::log_fault::LogFault;
use crate::read_error::ReadError;
use crate::segments::{FrameEntry, Segment};
use crate::shared_state::SharedState;

/// The events that end a round early.
enum RoundStop {
    Damage(LogFault),
    /// The next round may succeed.
    Failure(ReadError),
    Closing,
}

/// Goes round until the ledger closes, or damage is found: that leaves the ledger read-only.
pub(crate) fn run(shared: &SharedState, options: ScrubOptions) {
    loop {
        match round(shared, options) {
            Ok(()) => {
                let (now, passed) = (shared.environment.clock.now(), shared.environment.clock.passed());
                shared.change_scrub(|progress| {
                    progress.rounds += 1;
                    progress.completed = Some((now, passed));
                });
            }
            Err(RoundStop::Damage(fault)) => return shared.write.is_damaged_by(&fault),
            Err(RoundStop::Failure(error)) => {
                tracing::error!(%error, "the scrub could not read the log; the next round tries again");
            }
            Err(RoundStop::Closing) => return,
        }
        if shared.pace.sleep_or_stop(options.pause).is_err() {
            return;
        }
    }
}

/// Opens every frame that lies in a file and was durable when the round began.
fn round(shared: &SharedState, options: ScrubOptions) -> Result<(), RoundStop> {
    let head = shared.read.head().position;
    let mut decompressor = Decompressor::new().map_err(|_| RoundStop::Failure(ReadError::Memory))?;
    let mut next = shared.read.segments.holding(Position::FIRST);
    while let Some(segment) = next {
        if !segment.is_archived() && !segment.is_lost() {
            segment_frames(shared, &segment, head, &mut decompressor, options)?;
        }
        next = shared.read.segments.after(&segment).filter(|after| after.first <= head);
    }
    Ok(())
}

fn segment_frames(
    shared: &SharedState,
    segment: &Arc<Segment>,
    head: Position,
    decompressor: &mut Decompressor,
    options: ScrubOptions,
) -> Result<(), RoundStop> {
    let mut place = segment.find(segment.first).map_err(stop)?;
    while let Some(found) = place.filter(|found| found.header.first_position <= head) {
        segment.open(&found, decompressor).map_err(stop)?;
        let bytes = found.header.stored_bytes;
        shared.change_scrub(|progress| progress.bytes += bytes);
        rest(shared, &found, options)?;
        place = segment.following(&found).map_err(stop)?;
    }
    Ok(())
}

/// Rests for as long as a frame takes at the pace of the options.
fn rest(shared: &SharedState, frame: &FrameEntry, options: ScrubOptions) -> Result<(), RoundStop> {
    let micros = frame.header.stored_bytes.saturating_mul(1_000_000) / options.bytes_per_s.max(1);
    shared.pace.sleep_or_stop(Duration::from_micros(micros)).map_err(|_| RoundStop::Closing)
}

fn stop(error: ReadError) -> RoundStop {
    match error {
        ReadError::Corrupt(fault) => RoundStop::Damage(fault),
        error => RoundStop::Failure(error),
    }
}
