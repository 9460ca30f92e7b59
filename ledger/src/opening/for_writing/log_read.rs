//! The steps of an opening for writing that read the log and compare it. None of them changes a byte of the log, but the one that puts
//! frames back.

use crate::host::index_folder::{INDEX, ScratchTables, remove_tables};
use crate::loss::{DeclaredLoss, LossPolicy};
use crate::open_error::OpenError;
use crate::opening::for_writing::folder::{KeyedFolder, OpeningContext};
use crate::opening::for_writing::next_numbers::NextNumbers;
use crate::opening::loss_policy::{face_loss, refuse_unknown_end};
use crate::opening::loss_record::LossProgress;
use crate::opening::open_ledger::OpenLedger;
use crate::opening::put_back;
use crate::opening::released_files;
use crate::opening::snapshot_open;
use crate::replay::{ReplayedLog, TailState};
use crate::segments::quarantine::UnwrittenFrames;
use crate::signing::known_heads::{KnownHeads, refuse_other_name};

/// A log as the last replay read it, with what the steps behind it need.
struct LogRead<'a> {
    context: OpeningContext<'a>,
    replayed: ReplayedLog,
    /// The tables of a replay that used none of the ledger's; kept until the next replay.
    trial: Option<ScratchTables>,
}

/// The result of the first replay. It may have taken from tables what they cover.
pub(super) enum FirstRead<'a> {
    Log(Box<CandidateLog<'a>>),
    /// Nothing before the damage can be read, so there is nothing to write on. What is whole behind it is served.
    Unreadable(OpenLedger),
}

/// A log that was read, perhaps in part by tables.
pub(super) struct CandidateLog<'a>(LogRead<'a>);

impl<'a> FirstRead<'a> {
    pub(super) fn read(folder: KeyedFolder<'a>) -> Result<Self, OpenError> {
        let context = folder.into_context();
        match context.replay(None) {
            Ok(replayed) => Ok(Self::Log(Box::new(CandidateLog(LogRead { context, replayed, trial: None })))),
            Err(OpenError::Corrupt(fault)) if context.loss_policy == LossPolicy::Refuse => {
                let OpeningContext { outside, folder, keyring, options, lock, .. } = context;
                let served = snapshot_open::open_damaged(outside, folder, &keyring, &options, fault)?;
                served.keep_locked(lock);
                Ok(Self::Unreadable(served))
            }
            Err(error) => {
                if let OpenError::Keyring { .. } = &error {
                    context.refuse_foreign()?;
                }
                Err(error)
            }
        }
    }
}

/// A log as the disk has it, where tables may remember more than there is.
pub(super) struct DiskLog<'a>(LogRead<'a>);

impl<'a> DiskLog<'a> {
    /// Reads the log again where something is lost. The ledger's own tables stay until it is known that there is a loss: of a ledger whose
    /// keys are retired they cannot be made again.
    pub(super) fn read_again(CandidateLog(mut log): CandidateLog<'a>) -> Result<Self, OpenError> {
        let LogRead { context, replayed, trial } = &mut log;
        let (disk, folder) = (context.disk(), context.folder);
        let unwritten = UnwrittenFrames::all(disk, folder, replayed.keys.index_key());
        if context.loss_policy == LossPolicy::Declare {
            let tables = ScratchTables::new(&context.environment.disk, folder)
                .map_err(context.failed("trying the log"))?;
            *replayed = context.replay(Some(tables.folder()))?;
            refuse_unknown_end(&replayed.tail)?;
            *trial = Some(tables);
        } else if !unwritten.map_err(context.failed("listing the quarantine"))?.is_empty() {
            // Acknowledged frames were lost: tables that cover them would hide that.
            remove_tables(disk, &folder.join(INDEX)).map_err(context.failed("removing the tables"))?;
            *replayed = context.replay(None)?;
        }
        Ok(Self(log))
    }
}

/// A log of the ledger that is asked for, with numbers left for another epoch.
pub(super) struct NamedLog<'a>(LogRead<'a>);

impl<'a> NamedLog<'a> {
    pub(super) fn check(DiskLog(mut log): DiskLog<'a>) -> Result<Self, OpenError> {
        let LogRead { context, replayed, .. } = &mut log;
        let (disk, folder, keyring) = (context.disk(), context.folder, &context.keyring);
        refuse_other_name(context.options.name.as_ref(), || replayed.name(disk, folder, keyring))?;
        if context.loss_policy == LossPolicy::Refuse && !replayed.tail.is_corrupt() {
            let unsigned = released_files::unsigned_again(disk, folder, keyring, replayed);
            let unsigned = unsigned.map_err(context.failed("reading what is left of released segments"))?;
            if let Some(fault) = unsigned {
                replayed.tail = TailState::Corrupt(fault);
            }
        }
        NextNumbers::of(replayed)?;
        Ok(Self(log))
    }
}

/// A log that no frame in quarantine continues, or that is damaged where one does.
pub(super) struct CompleteLog<'a>(LogRead<'a>);

impl<'a> CompleteLog<'a> {
    pub(super) fn put_back(NamedLog(mut log): NamedLog<'a>) -> Result<Self, OpenError> {
        let LogRead { context, replayed, .. } = &mut log;
        let OpeningContext { environment, folder, keyring, options, loss_policy, .. } = &*context;
        put_back::face(environment, folder, keyring, options, replayed, *loss_policy)?;
        Ok(Self(log))
    }
}

/// A log that was compared with what others remember of it. A loss that its owner declares is given up by now; any other is refused, or
/// has made the log damaged.
pub(super) struct ComparedLog<'a> {
    log: LogRead<'a>,
    known_heads: Option<KnownHeads>,
    loss: Option<DeclaredLoss>,
}

/// The parts of a [`ComparedLog`].
pub(super) struct ComparedParts<'a> {
    pub(super) context: OpeningContext<'a>,
    pub(super) replayed: ReplayedLog,
    pub(super) trial: Option<ScratchTables>,
    pub(super) known_heads: Option<KnownHeads>,
    pub(super) loss: Option<DeclaredLoss>,
}

impl<'a> ComparedLog<'a> {
    pub(super) fn compare(CompleteLog(mut log): CompleteLog<'a>) -> Result<Self, OpenError> {
        let LogRead { context, replayed, .. } = &mut log;
        let OpeningContext { environment, folder, keyring, options, loss_policy, .. } = &*context;
        let progress = LossProgress::look(context.disk(), folder, replayed)?;
        let (known_heads, loss) =
            face_loss(environment, folder, keyring, options, replayed, (*loss_policy, &progress))?;
        Ok(Self { log, known_heads, loss })
    }

    pub(super) fn into_parts(self) -> ComparedParts<'a> {
        let Self { log: LogRead { context, replayed, trial }, known_heads, loss } = self;
        ComparedParts { context, replayed, trial, known_heads, loss }
    }
}
