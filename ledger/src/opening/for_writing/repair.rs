//! The steps of an opening for writing that change the folder: the log is made durable, and the files beside it are repaired.

use crate::heads::head_files;
use crate::loss::DeclaredLoss;
use crate::open_error::OpenError;
use crate::opening::events_behind_damage;
use crate::opening::for_writing::folder::OpeningContext;
use crate::opening::for_writing::log_read::{ComparedLog, ComparedParts};
use crate::opening::loss_record;
use crate::opening::recover;
use crate::opening::released_files;
use crate::opening::signing_keys;
use crate::replay::{ReplayedLog, TailState};
use crate::segments::quarantine::{self, CutRecord};
use crate::signing::known_heads::KnownHeads;
use crate::tree::leaves;

use bitacora_formats::SegmentNumber;

/// A log that is durable to its end, with nothing behind it; or a damaged one that was not touched.
pub(super) struct DurableLog<'a>(LogParts<'a>);

/// The parts of an opening after the comparison.
struct LogParts<'a> {
    context: OpeningContext<'a>,
    replayed: ReplayedLog,
    known_heads: Option<KnownHeads>,
    loss: Option<DeclaredLoss>,
}

impl<'a> DurableLog<'a> {
    pub(super) fn settle(log: ComparedLog<'a>) -> Result<Self, OpenError> {
        let ComparedParts { context, mut replayed, trial, known_heads, mut loss } = log.into_parts();
        let (disk, folder) = (context.disk(), context.folder);
        recover::settle(disk, folder, &replayed).map_err(context.failed("making durable what was read"))?;
        if let Some(loss) = &mut loss {
            // The rest is read again: the ids, the leaves and the last hash of the segment that was cut are unknown.
            replayed = context.replay(None)?;
            drop(trial);
            if let TailState::Corrupt(fault) = replayed.tail {
                return Err(OpenError::Corrupt(fault));
            }
            replayed.generation = loss.generation;
            loss.retained = replayed.head;
            recover::settle(disk, folder, &replayed)
                .map_err(context.failed("making durable what is left"))?;
        }
        Ok(Self(LogParts { context, replayed, known_heads, loss }))
    }
}

/// A folder whose files beside the log are those of the log. Of a damaged log, whose folder stays as it is, the whole segments behind
/// the damage are known.
pub(super) struct RepairedFolder<'a> {
    log: LogParts<'a>,
    cuts: Vec<CutRecord>,
}

/// The parts of a [`RepairedFolder`].
pub(super) struct RepairedParts<'a> {
    pub(super) context: OpeningContext<'a>,
    pub(super) replayed: ReplayedLog,
    pub(super) known_heads: Option<KnownHeads>,
    pub(super) loss: Option<DeclaredLoss>,
    /// Cuts that the log does not say yet.
    pub(super) cuts: Vec<CutRecord>,
}

impl<'a> RepairedFolder<'a> {
    pub(super) fn repair(DurableLog(mut log): DurableLog<'a>) -> Result<Self, OpenError> {
        let LogParts { context, replayed, loss, .. } = &mut log;
        let (disk, folder, keyring) = (context.disk(), context.folder, &context.keyring);
        if replayed.tail.is_corrupt() {
            events_behind_damage::take_in(disk, folder, keyring, replayed)
                .map_err(context.failed("looking for what is whole"))?;
            return Ok(Self { log, cuts: Vec::new() });
        }
        leaves::make_tree_folder(disk, folder);
        if let Some(leaves) = &replayed.leaves {
            leaves.settle(disk, folder);
        }
        // The files of segments that were not read are left to the background scrub.
        let read_from = replayed.unread.map_or(SegmentNumber::FIRST, |unread| unread.number);
        head_files::settle(disk, folder, replayed.keys.index_key(), read_from);
        released_files::mend(disk, folder, keyring, &replayed.segments);
        if loss.is_none() {
            loss_record::forget(disk, folder)
                .map_err(context.failed("removing the loss that the log says"))?;
        }
        signing_keys::write_note(disk, folder, keyring)
            .map_err(context.failed("writing the signing keys' note"))?;
        let cuts = quarantine::unrecorded(disk, folder, replayed.keys.index_key())
            .map_err(context.failed("listing the quarantine"))?;
        Ok(Self { log, cuts })
    }

    pub(super) fn into_parts(self) -> RepairedParts<'a> {
        let Self { log: LogParts { context, replayed, known_heads, loss }, cuts } = self;
        RepairedParts { context, replayed, known_heads, loss, cuts }
    }
}
