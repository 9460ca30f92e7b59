//! The handling of a loss at an opening: others' memories are compared before anything is given up.

use std::path::Path;

use bitacora_formats::Keyring;

use crate::environment::Environment;
use crate::error::OpenError;
use crate::known_heads::Remembered;
use crate::loss::{DeclaredLoss, OnLoss};
use crate::loss_record::{self, Begun};
use crate::options::Options;
use crate::replay::{Replayed, TailState};
use crate::segments::released_number;

/// Compares the ledger with what others remember of it, and refuses what is not the same. Gives up what is lost where its owner
/// says so now: no file does that in the owner's place.
pub(crate) fn face_loss(
    environment: &Environment,
    folder: &Path,
    keyring: &Keyring,
    options: &Options,
    replayed: &mut Replayed,
    (on_loss, begun): (OnLoss, &Begun),
) -> Result<(Option<Remembered>, Option<DeclaredLoss>), OpenError> {
    let disk = &*environment.disk;
    let is_damaged = matches!(replayed.tail, TailState::Corrupt(_));
    let asks = !is_damaged || on_loss == OnLoss::Declare;
    let heads = options.heads.as_ref();
    let recall = |heads| Remembered::recall(disk, folder, keyring, heads, replayed);
    let mut remembered = heads.filter(|_| asks).map(recall).transpose()?;
    if on_loss == OnLoss::Declare {
        refuse_archived(options, replayed)?;
    }
    if on_loss == OnLoss::Declare || begun.gives_up_nothing(replayed, remembered.as_ref())? {
        let signers = keyring.signing_chain();
        let loss = loss_record::begin_generation(
            disk,
            folder,
            replayed,
            remembered.as_mut(),
            (on_loss, begun),
            signers,
        )?;
        return Ok((remembered, Some(loss)));
    }
    if is_damaged {
        heads.map_or(Ok(()), |heads| Remembered::refuse_another(disk, folder, keyring, heads, replayed))?;
        return Ok((None, None));
    }
    remembered.iter_mut().try_for_each(|known| known.refuse_rollback(&mut replayed.tail))?;
    if let Some(fault) = begun.fault(replayed) {
        replayed.tail = TailState::Corrupt(fault);
    }
    Ok((remembered, None))
}

/// Refuses to declare events lost that lie in archives of this history, of whichever generation these are.
fn refuse_archived(options: &Options, replayed: &Replayed) -> Result<(), OpenError> {
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
