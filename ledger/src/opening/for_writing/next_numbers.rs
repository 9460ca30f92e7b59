//! The numbers that an opening for writing takes.

use bitacora_formats::{Epoch, SegmentNumber};

use crate::open_error::OpenError;
use crate::replay::ReplayedLog;

/// The epoch and the first segment of an opening.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextNumbers {
    pub(super) epoch: Epoch,
    pub(super) segment: SegmentNumber,
}

impl NextNumbers {
    /// The numbers behind those of the log. None are used twice: data keys are derived from them.
    pub(super) fn of(replayed: &ReplayedLog) -> Result<Self, OpenError> {
        let epoch = replayed.epoch.next().ok_or(OpenError::Exhausted("epochs"))?;
        let segment = replayed.last_segment.next().ok_or(OpenError::Exhausted("segment numbers"))?;
        Ok(Self { epoch, segment })
    }
}
