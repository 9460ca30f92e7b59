//! The memory of the ledger's tree heads at an opening: the last one beside the segments, the anchor's.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bitacora_formats::{
    Decompressor, Generation, Keyring, LedgerId, LedgerName, LedgerOrigin, LostHead, Position, SegmentNumber,
    SignedTreeHead, TreeHead, UnverifiedTreeHead,
};

use crate::heads::cosigned::{self, CosignedFile};
use crate::heads::head_files;
use crate::heads::rollback::Rollback;
use crate::heads::signer_handle::PublishedHead;
use crate::heads::witness::recovery::WitnessFindings;
use crate::host::disk::Disk;
use crate::log_fault::LogFault;
use crate::open_error::OpenError;
use crate::options::{HeadOptions, Options};
use crate::read_error::ReadError;
use crate::replay::{ReplayedLog, TailState};
use crate::segment_list::segment_header;
use crate::segments::segment_file::is_signed_by;
use crate::segments::{Segment, segment_file_name, segments_folder};
use crate::signing::history_check::{HistoryCheck, RecordedLoss, name_of};

/// The memory of a ledger's tree heads, compared with the ledger.
pub(crate) struct KnownHeads {
    pub(crate) origin: LedgerOrigin,
    /// The anchor's memory; unknown if the anchor could not be asked.
    pub(crate) anchored: AnchoredNote,
    /// The last head beside the segments, and its file.
    kept: Option<(SignedTreeHead, String)>,
    /// The difference from the anchor's memory.
    anchor_differs: Option<(Rollback, Option<String>)>,
    /// The difference from the head beside the segments: its kind, the head and the file.
    kept_differs: Option<(Rollback, String, String)>,
    /// The last cosigned head beside the segments that still is the ledger's.
    pub(crate) cosigned: Option<CosignedFile>,
    /// The witnesses' memory.
    pub(crate) witnessed: WitnessFindings,
    /// `true` if tree heads of it were signed before, in any generation.
    pub(crate) has_heads: bool,
}

/// The memory of an anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnchoredNote {
    /// It was not asked yet, or did not answer.
    Unknown,
    /// This note; `None` where it remembers nothing.
    Known(Option<String>),
}

impl AnchoredNote {
    /// Returns `true` if it is a tree head, of any ledger.
    pub(crate) fn is_tree_head(&self) -> bool {
        matches!(self, Self::Known(Some(note)) if UnverifiedTreeHead::parse(note).is_ok())
    }
}

impl KnownHeads {
    /// Asks the anchor, and looks beside the segments.
    pub(crate) fn load(
        disk: &dyn Disk,
        folder: &Path,
        keyring: &Keyring,
        options: &HeadOptions,
        replayed: &ReplayedLog,
    ) -> Result<Self, OpenError> {
        let origin = LedgerOrigin {
            name: replayed.name(disk, folder, keyring)?,
            ledger: replayed.ledger,
            generation: replayed.generation,
        };
        let anchored = match options.anchor.as_ref().map(|anchor| anchor.load(&origin.name)) {
            None => AnchoredNote::Unknown,
            Some(Ok(note)) => AnchoredNote::Known(note),
            Some(Err(error)) if options.anchor_required || error.is_damage() => return Err(error.into()),
            Some(Err(error)) => {
                tracing::error!(%error, "the ledger opens without being compared with its anchor");
                AnchoredNote::Unknown
            }
        };
        let signers = keyring.signing_chain();
        let history = HistoryCheck::of(replayed, signers);
        let holding = |position| holding(&replayed.segments, position);
        let of_generation =
            |generation| head_files::last_head(disk, folder, replayed.ledger, generation, signers);
        let kept = of_generation(Some(replayed.generation));
        let any = kept.as_ref().map(|(head, _)| head.head().size);
        let any = any.or_else(|| Some(of_generation(None)?.0.head().size));
        let anchor_differs = match &anchored {
            AnchoredNote::Unknown => None,
            AnchoredNote::Known(_) if options.anchor_is_new && !anchored.is_tree_head() => None,
            AnchoredNote::Known(None) => any.map(|size| (Rollback::Forgotten { size }, None)),
            AnchoredNote::Known(Some(note)) => match history.check(note, holding) {
                Err(Rollback::Generation { known, .. })
                    if known < replayed.generation && is_declared_lost(&replayed.segments, note)? =>
                {
                    None
                }
                checked => checked.err().map(|error| (error, Some(note.clone()))),
            },
        };
        let differs = |head: &SignedTreeHead, file: &str| {
            let rollback = history.check_head(head, holding).err()?;
            Some((rollback, head.note().to_string(), file.to_owned()))
        };
        let mut kept_differs = kept.as_ref().and_then(|(head, file)| differs(head, file));
        let cosigned = cosigned::kept(disk, folder, (replayed.ledger, replayed.generation), signers);
        let cosigned = cosigned.into_iter().next();
        let cosigned_differs =
            cosigned.as_ref().and_then(|cosigned| differs(&cosigned.head, &cosigned.file()));
        let cosigned = cosigned.filter(|_| cosigned_differs.is_none());
        kept_differs = kept_differs.or(cosigned_differs);
        let witnessed = match &options.witnesses {
            Some(witnesses) => {
                let shown = kept.as_ref().map(|(head, _)| (head.note().to_string(), head.head().size));
                let shown = shown.or_else(|| first_head(&origin, keyring, &replayed.segments));
                let ask = |(note, size): (String, u64)| {
                    WitnessFindings::ask(witnesses, (&note, size), replayed.head.position)
                };
                shown.map(ask).unwrap_or_default()
            }
            None => WitnessFindings::default(),
        };
        let has_heads = any.is_some();
        Ok(Self { origin, anchored, kept, anchor_differs, kept_differs, cosigned, witnessed, has_heads })
    }

    /// Refuses a damaged ledger that is another one than its anchor remembers, as far as what is left of it shows: not even
    /// reads may take it for the right one. That it is shorter shows nothing.
    pub(crate) fn refuse_another(
        disk: &dyn Disk,
        folder: &Path,
        keyring: &Keyring,
        options: &HeadOptions,
        replayed: &ReplayedLog,
    ) -> Result<(), OpenError> {
        let (Some(anchor), Ok(name)) = (&options.anchor, replayed.name(disk, folder, keyring)) else {
            return Ok(());
        };
        let note = match anchor.load(&name) {
            Err(error) if error.is_damage() => return Err(error.into()),
            Err(error) => {
                tracing::error!(%error, "the damaged ledger opens without being compared with its anchor");
                return Ok(());
            }
            Ok(None) => return Ok(()),
            Ok(Some(note)) => note,
        };
        let history = HistoryCheck::of(replayed, keyring.signing_chain());
        match history.check(&note, |position| holding(&replayed.segments, position)) {
            Ok(_) | Err(Rollback::Shorter { .. }) => Ok(()),
            Err(Rollback::Generation { known, .. }) if known < replayed.generation => Ok(()),
            Err(rollback) => Err(rollback.into()),
        }
    }

    /// Refuses a ledger that the keyring does not open, where the anchor remembers one under its name that this keyring has signed:
    /// then it is not the keyring that is the wrong one.
    pub(crate) fn refuse_foreign(
        disk: &dyn Disk,
        folder: &Path,
        keyring: &Keyring,
        options: &Options,
    ) -> Result<(), OpenError> {
        let anchor = options.heads.as_ref().and_then(|heads| heads.anchor.as_ref());
        let (Some(name), Some(anchor)) = (&options.name, anchor) else { return Ok(()) };
        let header = segment_header(disk, &segments_folder(folder), SegmentNumber::FIRST);
        let Ok(Some(header)) = header else { return Ok(()) };
        let note = anchor.load(name).inspect_err(|error| {
            tracing::error!(%error, "whether the ledger is the right one cannot be asked");
        });
        let Some(note) = note.ok().flatten() else { return Ok(()) };
        let head = UnverifiedTreeHead::parse(&note).ok();
        let head = head.and_then(|head| head.verify_with_chain(keyring.signing_chain()).ok());
        let Some(known) = head.map(|head| head.head().origin.clone()) else { return Ok(()) };
        if known.ledger != header.ledger {
            return Err(Rollback::OtherLedger { known, found: header.ledger }.into());
        }
        if is_signed_by(keyring, &header) { Ok(()) } else { Err(Rollback::OtherSigner(name.clone()).into()) }
    }

    /// Has an anchor that remembers nothing yet begin, before there is a head that it could have forgotten.
    pub(crate) fn begin_anchor(
        &mut self,
        options: &HeadOptions,
        keyring: &Keyring,
        segments: &[Arc<Segment>],
    ) {
        let Some(anchor) = options.anchor.as_ref().filter(|_| !self.anchored.is_tree_head()) else { return };
        let AnchoredNote::Known(expected) = &self.anchored else { return };
        let of_generation = |(head, _): &&(SignedTreeHead, String)| {
            head.head().origin.generation == self.origin.generation && self.kept_differs.is_none()
        };
        let kept = self.kept.as_ref().filter(of_generation).map(|(head, _)| head.note().to_string());
        let first = || first_head(&self.origin, keyring, segments).map(|(note, _)| note);
        let Some(note) = kept.or_else(first) else { return };
        match anchor.swap(&self.origin.name, expected.as_deref(), &note) {
            Ok(()) => self.anchored = AnchoredNote::Known(Some(note)),
            // It may have begun. The head signer asks it, and tries again.
            Err(error) => {
                tracing::warn!(%error, "the anchor does not begin yet");
                self.anchored = AnchoredNote::Unknown;
            }
        }
    }

    /// Refuses a ledger that is not the one which the anchor or a witness remembers. One that has less than the heads beside its
    /// segments say, or other events, is damaged.
    pub(crate) fn refuse_rollback(&mut self, tail: &mut TailState) -> Result<(), OpenError> {
        if let Some((rollback, _)) = self.anchor_differs.take() {
            return Err(rollback.into());
        }
        if let Some(rollback) = self.witnessed.differs.take() {
            return Err(rollback.into());
        }
        if let Some((rollback, note, file)) = &self.kept_differs {
            let first_position = size_of(note).saturating_add(1);
            let what = rollback.to_string();
            *tail = TailState::Corrupt(LogFault {
                file: file.clone(),
                offset: 0,
                first_position,
                last_position: None,
                what,
            });
        }
        Ok(())
    }

    /// The newest head that the ledger does not reach any more; `None` if it reaches all that are known.
    pub(crate) fn lost_head(&self) -> Result<Option<LostHead>, OpenError> {
        let anchored = self.anchor_differs.as_ref().map(|(rollback, note)| (rollback, note.as_ref()));
        let kept = self.kept_differs.as_ref().map(|(rollback, note, _)| (rollback, Some(note)));
        let witnessed = self.witnessed.differs.as_ref().map(|rollback| (rollback, None));
        let mut newest: Option<LostHead> = None;
        for (rollback, note) in [anchored, kept, witnessed].into_iter().flatten() {
            let (size, root) = match rollback {
                Rollback::Shorter { known: size, root, .. }
                | Rollback::OtherRoot { size, known: root, .. }
                | Rollback::Generation { size, root, .. } => (*size, Some(*root)),
                Rollback::Witnessed { known: size, .. } | Rollback::WitnessedHistory { size, .. } => {
                    (*size, None)
                }
                // Neither a loss of this ledger nor one that it can speak of.
                other => return Err(other.clone().into()),
            };
            if newest.as_ref().is_none_or(|newest| newest.size < size) {
                newest = Some(LostHead { size, root, note: note.cloned() });
            }
        }
        Ok(newest)
    }

    /// The note that the anchor remembers.
    pub(crate) fn anchored_note(&self) -> Option<String> {
        match &self.anchored {
            AnchoredNote::Known(note) => note.clone(),
            AnchoredNote::Unknown => None,
        }
    }

    /// The last generation that is known of.
    pub(crate) fn last_generation(&self) -> Generation {
        match self.anchor_differs {
            Some((Rollback::Generation { known, .. }, _)) => known.max(self.origin.generation),
            _ => self.origin.generation,
        }
    }

    /// A generation begins: what witnesses have cosigned is of the one before.
    pub(crate) fn begin_generation(&mut self, generation: Generation) {
        self.origin.generation = generation;
        self.cosigned = None;
        self.witnessed = WitnessFindings::default();
    }

    /// The last head that still is the ledger's.
    pub(crate) fn latest(&self) -> Option<PublishedHead> {
        let (head, _) = self.kept.as_ref().filter(|_| self.kept_differs.is_none())?;
        Some(head.into())
    }
}

/// The size in a head's note that was verified before.
pub(crate) fn size_of(note: &str) -> u64 {
    note.lines().nth(1).and_then(|size| size.parse().ok()).unwrap_or(0)
}

/// Returns `true` if the ledger's own generation began by giving up the head of this note, or by moving on from it. The anchor is then to
/// be moved on.
pub(crate) fn is_declared_lost(segments: &[Arc<Segment>], note: &str) -> Result<bool, OpenError> {
    Ok(last_recorded_loss(segments)?.is_some_and(|said| said.notes.iter().any(|lost| lost == note)))
}

/// Returns `true` if the log records the loss that this generation, or one after it, began with.
pub(crate) fn is_loss_recorded(replayed: &ReplayedLog, generation: Generation) -> Result<bool, OpenError> {
    let may_be_recorded = replayed.generation >= generation;
    Ok(may_be_recorded
        && last_recorded_loss(&replayed.segments)?.is_some_and(|said| said.generation >= generation))
}

/// Returns `true` if the ledger has all that this head covers; for a head whose root nobody knows, as many events.
pub(crate) fn is_reached(replayed: &ReplayedLog, lost: &LostHead) -> bool {
    let Some(last) = Position::new(lost.size).filter(|last| *last <= replayed.head.position) else {
        return false;
    };
    let found = match last == replayed.head.position {
        true => Some(replayed.head.tree_root),
        false => holding(&replayed.segments, last).and_then(|segment| segment.root_after(last)),
    };
    lost.root.is_none_or(|root| found == Some(root))
}

/// The last loss that the log says.
fn last_recorded_loss(segments: &[Arc<Segment>]) -> Result<Option<RecordedLoss>, OpenError> {
    let mut decompressor = decompressor()?;
    for segment in segments.iter().rev() {
        let said = RecordedLoss::of(segment, &mut decompressor).map_err(unread)?;
        if said.is_some() {
            return Ok(said);
        }
    }
    Ok(None)
}

/// Returns a head over the first event alone, for questions where none lies beside the segments: this event was not lost, whatever else
/// was.
fn first_head(origin: &LedgerOrigin, keyring: &Keyring, segments: &[Arc<Segment>]) -> Option<(String, u64)> {
    let size = Position::FIRST.get();
    let root = holding(segments, Position::FIRST)?.root_after(Position::FIRST)?;
    let head = TreeHead { origin: origin.clone(), size, root };
    Some((head.sign(keyring), size))
}

fn decompressor() -> Result<Decompressor, OpenError> {
    Decompressor::new().map_err(|error| OpenError::Disk {
        what: "preparing to read".to_owned(),
        source: io::Error::other(error),
    })
}

fn unread(error: ReadError) -> OpenError {
    match error {
        ReadError::Corrupt(fault) => OpenError::Corrupt(fault),
        other => OpenError::Disk {
            what: "reading what the ledger says of itself".to_owned(),
            source: io::Error::other(other),
        },
    }
}

/// Refuses another ledger than the one that is asked for by its name.
pub(crate) fn refuse_other_name(
    name: Option<&LedgerName>,
    found: impl FnOnce() -> Result<LedgerName, OpenError>,
) -> Result<(), OpenError> {
    let Some(expected) = name else { return Ok(()) };
    let found = found()?;
    if found == *expected {
        return Ok(());
    }
    Err(Rollback::OtherName { expected: expected.clone(), found }.into())
}

impl ReplayedLog {
    /// The name that the ledger was made under.
    pub(crate) fn name(
        &self,
        disk: &dyn Disk,
        folder: &Path,
        keyring: &Keyring,
    ) -> Result<LedgerName, OpenError> {
        ledger_name(disk, folder, self.ledger, keyring, first_segment(self))
    }
}

/// The name that the ledger was made under, as its first segment says; where that was released, as the ledger's own tree heads
/// say, so that no archive has to be asked.
pub(crate) fn ledger_name(
    disk: &dyn Disk,
    folder: &Path,
    ledger: LedgerId,
    keyring: &Keyring,
    first: Option<Arc<Segment>>,
) -> Result<LedgerName, OpenError> {
    let by_heads = || {
        let (head, _) = head_files::last_head(disk, folder, ledger, None, keyring.signing_chain())?;
        Some(head.head().origin.name.clone())
    };
    if first.as_ref().is_some_and(|first| first.is_released() || first.is_lost())
        && let Some(name) = by_heads()
    {
        return Ok(name);
    }
    let mut decompressor = decompressor()?;
    let name = match first.map(|first| name_of(&first, &mut decompressor)).transpose() {
        Err(ReadError::Corrupt(fault)) => {
            return by_heads().ok_or(OpenError::Corrupt(fault));
        }
        name => name.map_err(unread)?,
    };
    name.flatten().ok_or_else(|| {
        let file = format!("segments/{}", segment_file_name(SegmentNumber::FIRST));
        let what = "its first event does not name the ledger".to_owned();
        OpenError::Corrupt(LogFault { file, offset: 0, first_position: 1, last_position: None, what })
    })
}

pub(crate) fn first_segment(replayed: &ReplayedLog) -> Option<Arc<Segment>> {
    holding(&replayed.segments, Position::FIRST)
}

fn holding(segments: &[Arc<Segment>], position: Position) -> Option<Arc<Segment>> {
    let after = segments.partition_point(|segment| segment.first <= position);
    segments.get(after.checked_sub(1)?).cloned()
}
