//! The opening of a ledger for writing: lock, replay, recover, then start the threads and record the opening.
//!
//! Each step is a type, and its only constructor consumes the step before. So a step cannot be left out, and none can come before
//! another. [`open_with`] is the whole chain, with the reason for each place.

mod folder;
mod log_read;
mod next_numbers;
mod recording;
mod repair;
mod threads;

use std::path::Path;
use std::sync::Arc;

use bitacora_formats::Keyring;

use self::folder::{KeyedFolder, LockedFolder};
use self::log_read::{ComparedLog, CompleteLog, DiskLog, FirstRead, NamedLog};
use self::recording::{RecordedOpening, SigningLedger};
use self::repair::{DurableLog, RepairedFolder};
use self::threads::RunningLedger;
use crate::host::environment::Environment;
use crate::loss::{DeclaredLoss, LossPolicy};
use crate::open_error::OpenError;
use crate::opening::open_ledger::OpenLedger;
use crate::options::Options;

pub(crate) fn open(
    environment: &Environment,
    folder: &Path,
    keyring: Arc<Keyring>,
    options: Options,
) -> Result<OpenLedger, OpenError> {
    open_with(environment, folder, keyring, options, LossPolicy::Refuse).map(|(ledger, _)| ledger)
}

/// Opens a ledger that lost what others remember, in a new generation. Returned `Ok` ⇒ its first event, which says what was
/// lost, is durable.
pub(crate) fn declare_loss(
    environment: &Environment,
    folder: &Path,
    keyring: Arc<Keyring>,
    options: Options,
) -> Result<(OpenLedger, DeclaredLoss), OpenError> {
    let (ledger, loss) = open_with(environment, folder, keyring, options, LossPolicy::Declare)?;
    loss.map(|loss| (ledger, loss)).ok_or(OpenError::NothingLost)
}

/// Opens a ledger whose disk did not have frames that lie in quarantine now. Returned `Ok` ⇒ they are durable in their places, and
/// the log says so unless the disk is full.
pub(crate) fn put_back(
    environment: &Environment,
    folder: &Path,
    keyring: Arc<Keyring>,
    options: Options,
) -> Result<OpenLedger, OpenError> {
    open_with(environment, folder, keyring, options, LossPolicy::PutBack).map(|(ledger, _)| ledger)
}

fn open_with(
    environment: &Environment,
    folder: &Path,
    keyring: Arc<Keyring>,
    options: Options,
    loss_policy: LossPolicy,
) -> Result<(OpenLedger, Option<DeclaredLoss>), OpenError> {
    options.check()?;
    // No other process writes from here on, and the folder stays the same whatever takes its name later.
    let folder = LockedFolder::lock(environment, folder, keyring, options, loss_policy)?;
    // Before anything is removed or made again: a wrong keyring would find all derived state unfit.
    let folder = KeyedFolder::check(folder)?;
    let log = match FirstRead::read(folder)? {
        FirstRead::Log(log) => *log,
        FirstRead::Unreadable(served) => return Ok((served, None)),
    };
    // Only a log that was read shows that the keyring is the ledger's; only then may tables go.
    let log = DiskLog::read_again(log)?;
    // Before the quarantine is searched: none of another ledger's files are moved.
    let log = NamedLog::check(log)?;
    // Before the comparison: frames that come back may be all that others remember and the log lacks.
    let log = CompleteLog::put_back(log)?;
    // Before the first byte of the log is cut: what others remember may show that this is an old copy.
    let log = ComparedLog::compare(log)?;
    // Before anything is built on what was read: the page cache may show bytes that the disk lacks.
    let log = DurableLog::settle(log)?;
    // After the log: files beside it are made again from what is durable in it.
    let folder = RepairedFolder::repair(log)?;
    let ledger = RunningLedger::start(folder)?;
    // The first events of the epoch say what the opening did. They come before those of callers, who have no handle yet.
    let ledger = RecordedOpening::record(ledger)?;
    // After the log says the loss: the anchor would remember a generation that has not begun.
    SigningLedger::start(ledger).map(SigningLedger::into_parts)
}
