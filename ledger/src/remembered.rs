//! What an opening recalls of the ledger's tree heads: the last one beside the segments, and the one that the anchor has.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bitacora_formats::{
    Decompressor, Generation, Keyring, LedgerName, Origin, Position, SegmentNumber, SignedTreeHead, TreeHead,
};

use crate::cosigned::{self, KeptCosigned};
use crate::declared_loss::LostHead;
use crate::disk::Disk;
use crate::error::{OpenError, ReadError};
use crate::fault::Fault;
use crate::heads;
use crate::notary::PublishedHead;
use crate::options::HeadOptions;
use crate::recollection::Recollection;
use crate::replay::{Replayed, TailState};
use crate::rollback::{Rollback, Standing, name_of, root_at};
use crate::segments::{Segment, segment_file_name};

/// What is remembered, and whether the ledger still is that.
pub(crate) struct Remembered {
    pub(crate) origin: Origin,
    /// What the anchor remembers, or why it could not be asked.
    pub(crate) anchored: Recalled,
    /// The last head beside the segments, and its file.
    kept: Option<(SignedTreeHead, String)>,
    /// How the ledger differs from what the anchor remembers.
    anchor_differs: Option<(Rollback, String)>,
    /// How it differs from what lies beside the segments: how, which head, and in which file.
    kept_differs: Option<(Rollback, String, String)>,
    /// The last cosigned head beside the segments that still is the ledger's.
    pub(crate) cosigned: Option<KeptCosigned>,
    /// What the witnesses remember.
    pub(crate) witnessed: Recollection,
}

/// What an anchor remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recalled {
    /// It was not asked yet, or did not answer.
    Unknown,
    /// This note; `None` where it remembers nothing.
    Known(Option<String>),
}

impl Remembered {
    /// Asks the anchor, and looks beside the segments.
    pub(crate) fn recall(
        disk: &dyn Disk,
        folder: &Path,
        keyring: &Keyring,
        options: &HeadOptions,
        replayed: &Replayed,
    ) -> Result<Self, OpenError> {
        let origin =
            Origin { name: ledger_name(replayed)?, ledger: replayed.ledger, generation: replayed.generation };
        let anchored = match options.anchor.as_ref().map(|anchor| anchor.recall(&origin.name)) {
            None => Recalled::Unknown,
            Some(Ok(note)) => Recalled::Known(note),
            Some(Err(error)) if options.anchor_required => return Err(error.into()),
            Some(Err(error)) => {
                tracing::error!(%error, "the ledger opens without being compared with its anchor");
                Recalled::Unknown
            }
        };
        let signers = keyring.signing_chain();
        let standing = Standing {
            ledger: replayed.ledger,
            generation: replayed.generation,
            head: replayed.head,
            signers,
        };
        let holding = |position| holding(&replayed.segments, position);
        let anchor_differs = match &anchored {
            Recalled::Known(Some(note)) => {
                standing.check(note, holding).err().map(|error| (error, note.clone()))
            }
            _ => None,
        };
        let kept = heads::last_head(disk, folder, (replayed.ledger, replayed.generation), signers);
        let differs = |head: &SignedTreeHead, file: &str| {
            let rollback = standing.check_head(head, holding).err()?;
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
                    Recollection::ask(witnesses, (&note, size), replayed.head.position)
                };
                shown.map(ask).unwrap_or_default()
            }
            None => Recollection::default(),
        };
        Ok(Self { origin, anchored, kept, anchor_differs, kept_differs, cosigned, witnessed })
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
            *tail = TailState::Corrupt(Fault { file: file.clone(), offset: 0, first_position, what });
        }
        Ok(())
    }

    /// The newest head that the ledger does not reach any more; `None` if it reaches all that are remembered.
    pub(crate) fn lost_head(&self) -> Result<Option<LostHead>, OpenError> {
        let anchored = self.anchor_differs.as_ref().map(|(rollback, note)| (rollback, Some(note)));
        let kept = self.kept_differs.as_ref().map(|(rollback, note, _)| (rollback, Some(note)));
        let witnessed = self.witnessed.differs.as_ref().map(|rollback| (rollback, None));
        let mut newest: Option<LostHead> = None;
        for (rollback, note) in [anchored, kept, witnessed].into_iter().flatten() {
            let (size, root) = match rollback {
                Rollback::Shorter { remembered: size, root, .. }
                | Rollback::OtherRoot { size, remembered: root, .. } => (*size, Some(*root)),
                Rollback::Witnessed { remembered: size, .. } | Rollback::WitnessedHistory { size, .. } => {
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

    /// A generation begins: what witnesses have cosigned is of the one before.
    pub(crate) fn begin_generation(&mut self, generation: Generation) {
        self.origin.generation = generation;
        self.cosigned = None;
        self.witnessed = Recollection::default();
    }

    /// The last head that still is the ledger's.
    pub(crate) fn latest(&self) -> Option<PublishedHead> {
        let (head, _) = self.kept.as_ref().filter(|_| self.kept_differs.is_none())?;
        let (size, root) = (head.head().size, head.head().root);
        Some(PublishedHead { size, root, note: head.note().to_string() })
    }
}

/// The size in a head's note that was verified before.
pub(crate) fn size_of(note: &str) -> u64 {
    note.lines().nth(1).and_then(|size| size.parse().ok()).unwrap_or(0)
}

/// A head over the first event alone, to ask with where none lies beside the segments: whatever was lost, this one was not.
fn first_head(origin: &Origin, keyring: &Keyring, segments: &[Arc<Segment>]) -> Option<(String, u64)> {
    let size = Position::FIRST.get();
    let root = root_at(&*holding(segments, Position::FIRST)?, Position::FIRST)?;
    let head = TreeHead { origin: origin.clone(), size, root };
    Some((head.sign(keyring), size))
}

fn ledger_name(replayed: &Replayed) -> Result<LedgerName, OpenError> {
    let mut decompressor = Decompressor::new().map_err(|error| OpenError::Disk {
        what: "preparing to read".to_owned(),
        source: io::Error::other(error),
    })?;
    let first = holding(&replayed.segments, Position::FIRST);
    let name = first.map(|first| name_of(&first, &mut decompressor)).transpose();
    let name = name.map_err(|error| match error {
        ReadError::Corrupt(fault) => OpenError::Corrupt(fault),
        other => OpenError::Disk {
            what: "reading the ledger's first event".to_owned(),
            source: io::Error::other(other),
        },
    })?;
    name.flatten().ok_or_else(|| {
        let file = format!("segments/{}", segment_file_name(SegmentNumber::FIRST));
        let what = "its first event does not name the ledger".to_owned();
        OpenError::Corrupt(Fault { file, offset: 0, first_position: 1, what })
    })
}

fn holding(segments: &[Arc<Segment>], position: Position) -> Option<Arc<Segment>> {
    let after = segments.partition_point(|segment| segment.first <= position);
    segments.get(after.checked_sub(1)?).cloned()
}
