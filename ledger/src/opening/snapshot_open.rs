//! The opening of a ledger for questions: for reading, with the state that decides, and anchor-checked.
//!
//! Nothing is appended or signed, the anchor stays where it is, and no byte of the folder is changed. So questions to a copy leave its
//! ledger as it was.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bitacora_formats::{After, Generation, Keyring, LedgerName, SegmentEnd, SignedTreeHead};
use bitacora_governance::Reactor;

use crate::derived_key;
use crate::erasure::recall::bar_erased;
use crate::heads::anchor::AnchorError;
use crate::heads::cosigned;
use crate::heads::head_files;
use crate::heads::rollback::Rollback;
use crate::host::disk::Disk;
use crate::host::environment::Environment;
use crate::host::index_folder::INDEX;
use crate::log_fault::LogFault;
use crate::open_error::OpenError;
use crate::opening::open_ledger::OpenLedger;
use crate::opening::reading::{self, ReadOnlyOpen};
use crate::options::{HeadOptions, Options};
use crate::read::log_fold::begin_in_archives;
use crate::read::state_fold::{StateFoldError, fold_state};
use crate::read_error::ReadError;
use crate::replay::refuse_wrong_keyring;
use crate::segment_index::end_of_segment;
use crate::segments::segments_folder;
use crate::shared_state::SharedState;
use crate::signing::history_check::HistoryCheck;
use crate::signing::known_heads::{AnchoredNote, KnownHeads, is_declared_lost, size_of};
use crate::tables::reactor_state::ReactorProjection;
use crate::tables::snapshots::Snapshots;
use crate::writer_state::{ReadOnlyReason, WriterState};

pub(crate) fn open(
    environment: &Environment,
    folder: &Path,
    keyring: &Arc<Keyring>,
    name: Option<&LedgerName>,
    options: &Options,
) -> Result<OpenLedger, OpenError> {
    let disk = &*environment.disk;
    // Before the log is looked at, which is never behind its anchor: another process may be writing.
    let asked = options.heads.as_ref().zip(name);
    let anchored =
        asked.map_or(Ok(AnchoredNote::Unknown), |(heads, name)| load_anchored_note(heads, name))?;
    let (reactor, governance) = options.governing.begin();
    let read = reading::open(environment, folder, Arc::clone(keyring), name, governance);
    if let Err(OpenError::Keyring { .. }) = &read {
        let named = Options { name: name.cloned(), ..options.clone() };
        KnownHeads::refuse_foreign(disk, folder, keyring, &named)?;
    }
    let ReadOnlyOpen { inner, generation, end } = read?;
    // Derived state is made again where it does not open, or is of another log.
    refuse_wrong_keyring(disk, folder, keyring)?;
    derived_key::refuse_another(disk, folder, keyring, inner.shared.id)?;
    bar_erased(&inner.shared, (options.heads.as_ref(), name), generation)?;
    let log = SnapshotLog { shared: &inner.shared, generation, end };
    let is_new = options.heads.as_ref().is_some_and(|heads| heads.anchor_is_new);
    log.refuse_rollback(&anchored, is_new)?;
    if let Some(reactor) = reactor {
        log.catch_up(&reactor)?;
    }
    Ok(inner)
}

/// Opens a ledger of which nothing before the damage can be read: as for questions, since nothing is written to it.
pub(crate) fn open_damaged(
    environment: &Environment,
    folder: &Path,
    keyring: &Arc<Keyring>,
    options: &Options,
    fault: LogFault,
) -> Result<OpenLedger, OpenError> {
    let inner = match open(environment, folder, keyring, options.name.as_ref(), options) {
        Err(OpenError::Corrupt(_)) => return Err(OpenError::Corrupt(fault)),
        opened => opened?,
    };
    let fault = inner.shared.read.segments.bounded(fault);
    inner.shared.write.set_writer(WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)));
    Ok(inner)
}

/// Returns the anchor's memory; unknown if the anchor does not answer and need not.
fn load_anchored_note(heads: &HeadOptions, name: &LedgerName) -> Result<AnchoredNote, AnchorError> {
    match heads.anchor.as_ref().map(|anchor| anchor.load(name)) {
        None => Ok(AnchoredNote::Unknown),
        Some(Ok(note)) => Ok(AnchoredNote::Known(note)),
        Some(Err(error)) if heads.anchor_required || error.is_damage() => Err(error),
        Some(Err(error)) => {
            tracing::error!(%error, "the ledger is asked without being compared with its anchor");
            Ok(AnchoredNote::Unknown)
        }
    }
}

/// A log that was opened for reading.
struct SnapshotLog<'a> {
    shared: &'a SharedState,
    generation: Generation,
    end: SegmentEnd,
}

impl SnapshotLog<'_> {
    fn disk(&self) -> &dyn Disk {
        &*self.shared.environment.disk
    }

    /// Refuses a ledger that is not the one which the anchor remembers. That a damaged one is shorter shows nothing; one that
    /// has less than the heads beside its segments say, or other events, is damaged.
    fn refuse_rollback(&self, anchored: &AnchoredNote, is_new: bool) -> Result<(), OpenError> {
        let shared = self.shared;
        let signers = shared.keyring.signing_chain();
        let history = HistoryCheck {
            ledger: shared.id,
            generation: self.generation,
            head: shared.read.head(),
            signers,
        };
        let holding = |position| shared.read.segments.holding(position);
        let kept =
            |generation| head_files::last_head(self.disk(), &shared.folder, shared.id, generation, signers);
        match anchored {
            AnchoredNote::Unknown => {}
            AnchoredNote::Known(_) if is_new && !anchored.is_tree_head() => {}
            AnchoredNote::Known(None) => {
                if let Some((head, _)) = kept(Some(self.generation)).or_else(|| kept(None)) {
                    return Err(Rollback::Forgotten { size: head.head().size }.into());
                }
            }
            AnchoredNote::Known(Some(note)) => match history.check(note, holding) {
                Ok(_) => {}
                Err(Rollback::Shorter { .. }) if shared.write.is_corrupt() => {}
                Err(Rollback::Generation { known, .. })
                    if known < self.generation
                        && (shared.write.is_corrupt()
                            || is_declared_lost(&shared.read.segments.all(), note)?) => {}
                Err(rollback) => return Err(rollback.into()),
            },
        }
        let Some((head, file)) = kept(Some(self.generation)).filter(|_| !shared.write.is_corrupt()) else {
            return Ok(());
        };
        match history.check_head(&head, holding) {
            Ok(()) => shared.heads.signer.stands_at((&self.with_cosignatures(head)).into()),
            Err(rollback) => self.is_damaged(LogFault {
                file,
                offset: 0,
                first_position: size_of(&head.note().to_string()).saturating_add(1),
                last_position: None,
                what: rollback.to_string(),
            }),
        }
        Ok(())
    }

    /// Returns the same head with what witnesses added to it, if they cosigned this one.
    fn with_cosignatures(&self, signed: SignedTreeHead) -> SignedTreeHead {
        let shared = self.shared;
        let of = (shared.id, self.generation);
        let cosigned = cosigned::kept(self.disk(), &shared.folder, of, shared.keyring.signing_chain());
        let same =
            cosigned.into_iter().map(|cosigned| cosigned.head).find(|head| head.head() == signed.head());
        same.unwrap_or(signed)
    }

    /// Brings the state that decides to the head: what a snapshot or an archive holds, then what came after it.
    fn catch_up(&self, reactor: &Arc<dyn Reactor>) -> Result<(), OpenError> {
        let (shared, mut projection) = (self.shared, ReactorProjection::new(reactor));
        let environment = &shared.environment;
        let (index, key) = (shared.folder.join(INDEX), shared.write.preparer.keys().index_key().clone());
        let snapshots =
            Snapshots::new(Arc::clone(&environment.disk), index, key, shared.id, reactor.version());
        let segments = segments_folder(&shared.folder);
        let kept = snapshots
            .look_up(&mut projection, |number| end_of_segment(self.disk(), &segments, number, &self.end));
        let after = match kept {
            Some(position) => After::new(position.get()),
            None if shared.read.segments.released_through().is_some() => {
                begin_in_archives(shared, &mut projection, reactor.version())
            }
            None => After::START,
        };
        match fold_state(shared, &mut projection, &**reactor, (after, shared.read.head().position)) {
            Err(StateFoldError::Read(ReadError::Corrupt(fault))) => self.is_damaged(fault),
            Err(StateFoldError::Missing(missing)) => return Err(OpenError::State(missing)),
            caught_up => caught_up.map_err(|error| OpenError::Disk {
                what: format!("folding the events of {}", shared.folder.display()),
                source: io::Error::other(error),
            })?,
        }
        Ok(())
    }

    fn is_damaged(&self, fault: LogFault) {
        tracing::warn!(%fault, "the ledger is damaged; answers rest on what is left of it");
        self.shared.write.set_writer(WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)));
    }
}
