//! The handling of a loss at an opening: others' memories are compared before anything is given up.

use std::path::Path;

use bitacora_formats::Keyring;

use crate::host::environment::Environment;
use crate::loss::{DeclaredLoss, LossPolicy};
use crate::open_error::OpenError;
use crate::opening::loss_record::{self, LossProgress};
use crate::options::Options;
use crate::replay::{ReplayedLog, TailState};
use crate::segments::released_number;
use crate::signing::known_heads::KnownHeads;

/// Compares the ledger with what others remember of it, and refuses what is not the same. Gives up what is lost where its owner
/// says so now: no file does that in the owner's place.
pub(crate) fn face_loss(
    environment: &Environment,
    folder: &Path,
    keyring: &Keyring,
    options: &Options,
    replayed: &mut ReplayedLog,
    (loss_policy, progress): (LossPolicy, &LossProgress),
) -> Result<(Option<KnownHeads>, Option<DeclaredLoss>), OpenError> {
    let disk = &*environment.disk;
    let is_damaged = replayed.tail.is_corrupt();
    let asks = !is_damaged || loss_policy == LossPolicy::Declare;
    let heads = options.heads.as_ref();
    let load = |heads| KnownHeads::load(disk, folder, keyring, heads, replayed);
    let mut known_heads = heads.filter(|_| asks).map(load).transpose()?;
    if loss_policy == LossPolicy::Declare {
        refuse_archived(options, replayed)?;
    }
    if loss_policy == LossPolicy::Declare || progress.gives_up_nothing(replayed, known_heads.as_ref())? {
        let signers = keyring.signing_chain();
        let loss = loss_record::begin_generation(
            disk,
            folder,
            replayed,
            known_heads.as_mut(),
            (loss_policy, progress),
            signers,
        )?;
        return Ok((known_heads, Some(loss)));
    }
    if is_damaged {
        heads.map_or(Ok(()), |heads| KnownHeads::refuse_another(disk, folder, keyring, heads, replayed))?;
        return Ok((None, None));
    }
    known_heads.iter_mut().try_for_each(|known| known.refuse_rollback(&mut replayed.tail))?;
    if let Some(fault) = progress.fault(replayed) {
        replayed.tail = TailState::Corrupt(fault);
    }
    Ok((known_heads, None))
}

/// Refuses to declare events lost that lie in archives of this history, of whichever generation these are.
fn refuse_archived(options: &Options, replayed: &ReplayedLog) -> Result<(), OpenError> {
    let retained = replayed.head.position;
    match options.archived {
        Some(through) if through > retained => Err(OpenError::Archived { retained, through }),
        _ => Ok(()),
    }
}

/// Refuses to declare a loss behind what is left of a released segment. Archives have its events; without them the file alone tells
/// where the log goes on.
pub(crate) fn refuse_unknown_end(tail: &TailState) -> Result<(), OpenError> {
    match tail {
        TailState::Corrupt(fault) if fault.file.rsplit('/').next().and_then(released_number).is_some() => {
            Err(OpenError::Corrupt(fault.clone()))
        }
        _ => Ok(()),
    }
}
