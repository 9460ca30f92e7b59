//! The declaration of a loss, kept in the ledger's folder until an event records it.
//! So no crash leaves anything given up without a word. Layout: `docs/formats/declared_loss.md`.

use std::io;
use std::path::Path;

use bitacora_formats::limits::MAX_DECLARED_LOSS_BYTES;
use bitacora_formats::{
    DeclaredLossError, Keyring, LedgerKeys, LossDeclaration, LostHead, Secret, SegmentNumber, SigningChain,
    UnverifiedTreeHead,
};

use crate::heads::cosigned;
use crate::heads::head_files;
use crate::host::disk::{Disk, OpenMode};
use crate::host::index_folder::{INDEX, remove_tables};
use crate::host::replacement::replace;
use crate::log_fault::LogFault;
use crate::loss::{self, DeclaredLoss, LossPolicy};
use crate::open_error::OpenError;
use crate::replay::{ReplayedLog, TailState};
use crate::segment_list::segment_header;
use crate::segments::segments_folder;
use crate::signing::known_heads::{self, KnownHeads};

/// The file of a declaration that the log does not say yet.
const FILE: &str = "declared-loss";
/// The suffix of its name while it is written.
const UNFINISHED: &str = ".new";

/// A declaration that was begun, as an opening finds it.
pub(crate) enum LossProgress {
    /// None, or one that the log has said, or whose loss is none any more.
    Nothing,
    /// One that this ledger's keys sealed. Its owner goes on with it, no opening does so by itself.
    Declared(LossDeclaration),
    /// One that nothing is believed of.
    Unbelieved(DeclaredLossError),
}

impl LossProgress {
    /// Looks for one that the log does not say.
    pub(crate) fn look(disk: &dyn Disk, ledger: &Path, replayed: &ReplayedLog) -> Result<Self, OpenError> {
        let bytes = read(disk, ledger).map_err(in_step(ledger, "reading the loss that was declared"))?;
        let Some(bytes) = bytes else { return Ok(Self::Nothing) };
        match LossDeclaration::read_file(replayed.keys.index_key(), &bytes) {
            Ok(declared) if is_back(replayed, &declared) => Ok(Self::Nothing),
            Ok(declared) if known_heads::is_loss_recorded(replayed, declared.generation)? => {
                Ok(Self::Nothing)
            }
            Ok(declared) => Ok(Self::Declared(declared)),
            Err(error) => Ok(Self::Unbelieved(error)),
        }
    }

    /// Returns why the ledger takes no appends before its owner declares the loss, to its end or again.
    pub(crate) fn fault(&self, replayed: &ReplayedLog) -> Option<LogFault> {
        let what = match self {
            Self::Nothing => return None,
            Self::Declared(declared) => format!(
                "found the loss of generation {} declared and not recorded; finish it with `bitacora recover --declare-loss`",
                declared.generation
            ),
            Self::Unbelieved(error) => {
                format!("{error}; declare the loss again with `bitacora recover --declare-loss`")
            }
        };
        let first_position = replayed.head.position.get().saturating_add(1);
        Some(LogFault { file: FILE.to_owned(), offset: 0, first_position, last_position: None, what })
    }

    /// `true`: the ledger was made again of its archives, ends where they did, and nobody remembers more. An opening begins the
    /// generation that says so; it gives nothing up.
    pub(crate) fn gives_up_nothing(
        &self,
        replayed: &ReplayedLog,
        known_heads: Option<&KnownHeads>,
    ) -> Result<bool, OpenError> {
        let Self::Declared(declared) = self else { return Ok(false) };
        let is_whole = !replayed.tail.is_corrupt();
        if !declared.restored || !is_whole || replayed.head.position != declared.retained {
            return Ok(false);
        }
        Ok(known_heads.map(KnownHeads::lost_head).transpose()?.flatten().is_none())
    }

    fn declared(&self) -> Option<&LossDeclaration> {
        match self {
            Self::Declared(declared) => Some(declared),
            _ => None,
        }
    }
}

/// Gives up the damaged events, and those that others remember beyond the rest. The declaration is durable before anything is changed; an
/// opening after a crash does the same again.
pub(crate) fn begin_generation(
    disk: &dyn Disk,
    ledger: &Path,
    replayed: &mut ReplayedLog,
    known_heads: Option<&mut KnownHeads>,
    (loss_policy, begun): (LossPolicy, &LossProgress),
    signers: &SigningChain,
) -> Result<DeclaredLoss, OpenError> {
    let lost = known_heads.as_deref().map(KnownHeads::lost_head).transpose()?.flatten();
    let is_damaged = replayed.tail.is_corrupt();
    if lost.is_none() && !is_damaged && matches!(begun, LossProgress::Nothing) {
        return Err(OpenError::NothingLost);
    }
    let (declared, retained) = (begun.declared(), replayed.head);
    let last = known_heads.as_deref().map_or(replayed.generation, KnownHeads::last_generation);
    let next = last.next().unwrap_or(last);
    let generation = declared.map_or(next, |declared| declared.generation.max(next));
    if let Some(declared) =
        declared.filter(|declared| declared.generation > next && !is_explained(declared, signers))
    {
        return Err(OpenError::GenerationJumps { found: declared.generation, expected: next });
    }
    let lost = newer(declared.and_then(|declared| declared.lost.clone()), lost);
    let anchored = known_heads.as_deref().and_then(KnownHeads::anchored_note);
    let anchored = anchored.or_else(|| declared?.anchored.clone());
    let restored = declared.is_some_and(|declared| declared.restored);
    let declaration = LossDeclaration { generation, retained: retained.position, lost, anchored, restored };
    if loss_policy == LossPolicy::Declare {
        remove_tables(disk, &ledger.join(INDEX)).map_err(in_step(ledger, "removing the tables"))?;
    }
    if declared != Some(&declaration) {
        keep(disk, ledger, replayed.keys.index_key(), &declaration)
            .map_err(in_step(ledger, "keeping what is declared"))?;
    }
    let unrecorded = |source| {
        let what = format!("giving up what is lost of {}", ledger.display());
        OpenError::Unrecorded { what, generation, source }
    };
    give_up(disk, ledger, replayed).map_err(unrecorded)?;
    if let Some(known_heads) = known_heads {
        known_heads.begin_generation(generation);
    }
    replayed.generation = generation;
    let LossDeclaration { lost, anchored, .. } = declaration;
    Ok(DeclaredLoss { generation, lost, anchored, retained })
}

/// Returns `true` if there is one, whether the log says it or not.
pub(crate) fn is_declared(disk: &dyn Disk, ledger: &Path) -> io::Result<bool> {
    disk.exists(&ledger.join(FILE))
}

/// The log says it, or has no need to. Returned `Ok` ⇒ durable.
///
/// Syscalls: `unlink`, `fsync` of the folder.
pub(crate) fn forget(disk: &dyn Disk, ledger: &Path) -> io::Result<()> {
    if !is_declared(disk, ledger)? {
        return Ok(());
    }
    disk.remove_file(&ledger.join(FILE))?;
    disk.sync_folder(ledger)
}

/// Tells the caller of a failed opening that a loss is declared by now, and that the next opening goes on with it.
pub(crate) fn name_declared_loss(
    disk: &dyn Disk,
    ledger: &Path,
    keyring: &Keyring,
    error: OpenError,
) -> OpenError {
    let OpenError::Disk { what, source } = error else { return error };
    match declared_here(disk, ledger, keyring) {
        Some(LossDeclaration { generation, .. }) => OpenError::Unrecorded { what, generation, source },
        None => OpenError::Disk { what, source },
    }
}

/// The declaration in this folder, if the keys of the ledger there sealed it.
fn declared_here(disk: &dyn Disk, ledger: &Path, keyring: &Keyring) -> Option<LossDeclaration> {
    let header = segment_header(disk, &segments_folder(ledger), SegmentNumber::FIRST).ok()??;
    let keys = LedgerKeys::new(keyring, header.ledger);
    LossDeclaration::read_file(keys.index_key(), &read(disk, ledger).ok()??).ok()
}

/// `true`: a head of the generation before the declared one was known, signed by this ledger.
fn is_explained(declared: &LossDeclaration, signers: &SigningChain) -> bool {
    let lost = declared.lost.as_ref().and_then(|lost| lost.note.as_ref());
    let signed = |note: &String| UnverifiedTreeHead::parse(note).ok()?.verify_with_chain(signers).ok();
    let mut heads = [lost, declared.anchored.as_ref()].into_iter().flatten().filter_map(signed);
    heads.any(|head| head.head().origin.generation.next() == Some(declared.generation))
}

/// Returns `true` if the owner has put back what was declared lost. After a crash alone nothing stands behind what was retained.
fn is_back(replayed: &ReplayedLog, declared: &LossDeclaration) -> bool {
    let is_longer = replayed.head.position > declared.retained;
    let is_whole = !replayed.tail.is_corrupt();
    is_longer && is_whole && declared.lost.as_ref().is_none_or(|lost| known_heads::is_reached(replayed, lost))
}

fn give_up(disk: &dyn Disk, ledger: &Path, replayed: &mut ReplayedLog) -> io::Result<()> {
    let (retained, generation) = (replayed.head.position, replayed.generation);
    match &replayed.tail {
        TailState::Corrupt(fault) => {
            replayed.tail = loss::give_up_behind(disk, ledger, replayed, fault)?;
        }
        _ => loss::give_up_beside(disk, ledger, replayed)?,
    }
    loss::give_up_manifests(disk, ledger, replayed)?;
    head_files::set_aside_beyond(disk, ledger, retained, generation)?;
    cosigned::set_aside_beyond(disk, ledger, retained, generation)
}

/// The one that covers more; of two that cover as many the first.
fn newer(one: Option<LostHead>, other: Option<LostHead>) -> Option<LostHead> {
    match (one, other) {
        (Some(one), Some(other)) if other.size > one.size => Some(other),
        (one, other) => one.or(other),
    }
}

/// Returned `Ok` ⇒ durable; a crash before leaves the one that was there, or none.
///
/// Syscalls: those of [`replace`], with `pwrite64`.
pub(crate) fn keep(
    disk: &dyn Disk,
    ledger: &Path,
    key: &Secret,
    declaration: &LossDeclaration,
) -> io::Result<()> {
    let text = declaration.to_file(key);
    replace(disk, ledger, FILE, UNFINISHED, |file| file.write_all_at(text.as_bytes(), 0))
}

fn read(disk: &dyn Disk, ledger: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match disk.open(&ledger.join(FILE), OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    // One byte more than one has is enough to refuse it.
    let mut bytes = vec![0; length.min(MAX_DECLARED_LOSS_BYTES + 1)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}

fn in_step(ledger: &Path, what: &str) -> impl FnOnce(io::Error) -> OpenError {
    let what = format!("{what} of {}", ledger.display());
    move |source| OpenError::Disk { what, source }
}
