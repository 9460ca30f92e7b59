//! The plan of a verification: the written segments, and the files that were only made ahead.

use std::io;
use std::path::PathBuf;
use std::thread;

use bitacora_formats::{MAX_SEGMENT_HEADER_BYTES, Position, SegmentHeader, SegmentNumber};

use super::fault::{Fault, FaultKind, Gap};
use super::folder::{LedgerFolder, SegmentListing, shown};
use super::options::TailRetries;

/// The segments of a ledger at one moment.
pub(super) struct SegmentPlan {
    /// The last written segment before a gap. All before it are complete: the first write to a segment comes after the
    /// one before was ended and synced. So a service writes meanwhile to this one or behind it.
    pub(super) last: SegmentNumber,
    /// The first segment that is there: of those before it only links are left.
    pub(super) first: SegmentNumber,
    pub(super) missing: Option<MissingFile>,
    /// The number of files of zeros behind the last one.
    pub(super) blank: usize,
    /// The number of files that no ledger makes.
    pub(super) strangers: usize,
    /// The size of the written segments.
    pub(super) bytes: u64,
}

/// A missing file, although a later one is there.
#[derive(Clone, Copy)]
pub(super) struct MissingFile {
    number: SegmentNumber,
    next: SegmentNumber,
    /// The position at which the next segment begins, if its header can be read.
    next_position: Option<Position>,
}

/// The reason why there is no plan.
pub(super) enum PlanError {
    Fault(Fault),
    Unreadable(PathBuf, io::Error),
}

impl SegmentPlan {
    /// Looks at the folder, and again if something seems to be missing: a service that starts removes files and makes them anew.
    pub(super) fn make(folder: &LedgerFolder<'_>, patience: TailRetries) -> Result<Self, PlanError> {
        let mut plan = Self::look(folder);
        for _ in 0..patience.retries {
            let settled = match &plan {
                Ok(plan) => plan.missing.is_none(),
                Err(PlanError::Fault(_)) => false,
                Err(PlanError::Unreadable(_, error)) => error.kind() != io::ErrorKind::NotFound,
            };
            if settled {
                break;
            }
            thread::sleep(patience.pause);
            plan = Self::look(folder);
        }
        plan
    }

    fn look(folder: &LedgerFolder<'_>) -> Result<Self, PlanError> {
        let listing = match folder.list() {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder.exists() => {
                return Err(PlanError::Fault(empty()));
            }
            Err(error) => return Err(PlanError::Unreadable(folder.segments(), error)),
        };
        let strangers = listing.strangers;
        let first = first_here(&listing);
        let segments: Vec<_> = listing.segments.into_iter().filter(|number| *number >= first).collect();
        let expected = (first.0..).map(SegmentNumber);
        let dense =
            expected.clone().zip(&segments).take_while(|(expected, found)| expected == *found).count();
        let missing = match (expected.clone().nth(dense), segments.get(dense)) {
            (Some(number), Some(next)) => Some(MissingFile::before(folder, number, *next)),
            _ => None,
        };
        let mut blank = 0;
        let mut last = None;
        for number in segments.iter().take(dense).rev() {
            let is_blank = folder.is_blank(*number);
            if !is_blank.map_err(|error| PlanError::Unreadable(folder.path_of(*number), error))? {
                last = Some(*number);
                break;
            }
            blank += 1;
        }
        match (last, missing) {
            (Some(last), missing) => {
                let written = expected.take_while(|number| *number <= last);
                let bytes = written.map(|number| folder.file_bytes(number)).sum();
                Ok(Self { last, first, missing, blank, strangers, bytes })
            }
            (None, Some(missing)) => Err(PlanError::Fault(missing.fault(Position::FIRST))),
            (None, None) => Err(PlanError::Fault(empty())),
        }
    }

    /// Returns the released segments, of which only links are left.
    pub(super) fn released(&self) -> impl Iterator<Item = SegmentNumber> + use<> {
        (1..self.first.0).map(SegmentNumber)
    }
}

/// Returns the first segment that was not released. Segments are released in order. Where both files of segments are
/// there, the last such segments count as segments; one with a released one behind it came back.
pub(super) fn first_here(listing: &SegmentListing) -> SegmentNumber {
    let left = |number: &SegmentNumber| listing.released.binary_search(number).is_ok();
    let is_gone = |number: &SegmentNumber| listing.segments.binary_search(number).is_err();
    let released = (1..).map(SegmentNumber).take_while(left).filter(is_gone).last();
    released.and_then(SegmentNumber::next).unwrap_or(SegmentNumber::FIRST)
}

impl MissingFile {
    fn before(folder: &LedgerFolder<'_>, number: SegmentNumber, next: SegmentNumber) -> Self {
        let start = folder.load_start(next, MAX_SEGMENT_HEADER_BYTES).unwrap_or_default();
        let next_position = SegmentHeader::parse(&start).ok().map(|header| header.first_position);
        Self { number, next, next_position }
    }

    /// Returns the fault, given that everything before `first` is there.
    pub(super) fn fault(&self, first: Position) -> Fault {
        let last = self.next_position.map(|next| next.get() - 1).filter(|last| *last >= first.get());
        Fault {
            file: shown(self.number),
            offset: 0,
            first_position: first.get(),
            last_position: last,
            kind: Box::new(FaultKind::Missing { next: shown(self.next) }),
            torn: false,
        }
    }
}

impl From<(PathBuf, io::Error)> for Gap {
    fn from((path, error): (PathBuf, io::Error)) -> Self {
        Self::Unreadable { path: path.display().to_string(), what: error.to_string() }
    }
}

fn empty() -> Fault {
    Fault {
        file: shown(SegmentNumber::FIRST),
        offset: 0,
        first_position: 1,
        last_position: None,
        kind: Box::new(FaultKind::Empty),
        torn: false,
    }
}
