//! The links of released segments, from the first one to the first segment that is still here.

use bitacora_formats::{
    LedgerName, MAX_SEGMENT_HEADER_BYTES, Position, ReleasedError, ReleasedSegment, SegmentEnd,
    SegmentHeader, SegmentNumber, SigningChain,
};

use super::fault::{Fault, FaultKind, Gap};
use super::folder::{LedgerFolder, shown, shown_released, shown_released_copy};
use super::heads::{ReadHeads, ReleasedHead, check_released};
use super::plan::SegmentPlan;
use super::signers::Signers;

/// The released segments, with valid links.
#[derive(Default)]
pub(super) struct ReleasedSegments {
    pub(super) headers: Vec<SegmentHeader>,
    /// The end of the last of them; `None` where there is none.
    pub(super) end: Option<SegmentEnd>,
    /// The last position in them.
    pub(super) through: u64,
    /// The gaps of files with unsigned bytes, and of copies that cannot be read.
    pub(super) gaps: Vec<Gap>,
}

/// The reason why there are no links to continue.
pub(super) enum LinksError {
    Fault(Fault),
    Gap(Gap),
}

impl From<Fault> for LinksError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl ReleasedSegments {
    /// Reads and checks them, each with the header of the one behind it.
    pub(super) fn check(
        folder: &LedgerFolder<'_>,
        plan: &SegmentPlan,
        signers: &mut Signers,
    ) -> Result<Self, LinksError> {
        let mut checked = Self::default();
        let mut numbers = plan.released().peekable();
        let mut next = None;
        while let Some(number) = numbers.next() {
            let released = match next.take() {
                Some(released) => released,
                None => read(folder, number, checked.next_position())?,
            };
            next = match numbers.peek() {
                Some(behind) => Some(read(folder, *behind, released.last_position)?),
                None => None,
            };
            let behind = match &next {
                Some(behind) => behind.header.clone(),
                None => header_of(folder, plan.first, released.last_position)?,
            };
            checked.take_in(folder, (number, released), &behind, signers)?;
        }
        Ok(checked)
    }

    fn take_in(
        &mut self,
        folder: &LedgerFolder<'_>,
        (number, released): (SegmentNumber, ReleasedSegment),
        behind: &SegmentHeader,
        signers: &mut Signers,
    ) -> Result<(), Fault> {
        let header = &released.header;
        let (first, last) = (header.first_position, released.last_position);
        let fault = |kind| Fault::at(shown_released(number), 0, first, Some(last), kind);
        header.verify_certificate().map_err(|error| fault(FaultKind::Damage(error.into())))?;
        let before = self.end.unwrap_or_else(|| SegmentEnd::before_first(header.ledger));
        before.check_next(header, released.first_time()).map_err(|kind| fault(kind.into()))?;
        signers.check(shown_released(number), header)?;
        signers.check_released(&released).map_err(|error| fault(error.into()))?;
        if !released.is_covered() {
            self.gaps.push(Gap::UnsignedReleased { file: shown_released(number) });
        }
        self.end = Some(released.end_before(behind).map_err(|kind| fault(kind.into()))?);
        self.through = last.get();
        self.compare_copy(folder, number, &released)?;
        self.headers.push(released.header);
        Ok(())
    }

    /// Compares the copy, if there is one, with the file.
    fn compare_copy(
        &mut self,
        folder: &LedgerFolder<'_>,
        number: SegmentNumber,
        released: &ReleasedSegment,
    ) -> Result<(), Fault> {
        let name = shown_released_copy(number);
        match folder.load_released_copy(number) {
            Ok(copy) if copy.as_ref().is_none_or(|copy| *copy == released.encode()) => Ok(()),
            Ok(_) => {
                let (first, last) = (released.header.first_position, released.last_position);
                Err(Fault::at(name, 0, first, Some(last), ReleasedError::Copy.into()))
            }
            Err(error) => {
                self.gaps.push(Gap::Unreadable { path: name, what: error.to_string() });
                Ok(())
            }
        }
    }

    /// Checks the tree heads beside them, if the allowed signers are known.
    pub(super) fn heads(
        &self,
        folder: &LedgerFolder<'_>,
        (name, chain): (Option<&LedgerName>, Option<&SigningChain>),
        gaps: &mut Vec<Gap>,
    ) -> Result<Vec<ReleasedHead>, Fault> {
        let (mut heads, Some(chain)) = (Vec::new(), chain) else { return Ok(Vec::new()) };
        let next = self.headers.iter().skip(1).map(|header| header.first_position.get() - 1);
        for (header, last) in self.headers.iter().zip(next.chain([self.through])) {
            let mut read = ReadHeads::read(folder, header.number, chain);
            gaps.extend(read.gap.take());
            let last = Position::new(last).unwrap_or(header.first_position);
            heads.extend(check_released(read, header, last, name)?);
        }
        Ok(heads)
    }

    fn next_position(&self) -> Position {
        self.end.map_or(Position::FIRST, |end| end.next_position)
    }
}

fn read(
    folder: &LedgerFolder<'_>,
    number: SegmentNumber,
    first: Position,
) -> Result<ReleasedSegment, LinksError> {
    let name = shown_released(number);
    let bytes = folder.load_released(number);
    let bytes = bytes
        .map_err(|error| LinksError::Gap(Gap::Unreadable { path: name.clone(), what: error.to_string() }))?;
    ReleasedSegment::parse(&bytes).map_err(|error| Fault::at(name, 0, first, None, error.into()).into())
}

fn header_of(
    folder: &LedgerFolder<'_>,
    number: SegmentNumber,
    before: Position,
) -> Result<SegmentHeader, LinksError> {
    let name = shown(number);
    let start = folder.load_start(number, MAX_SEGMENT_HEADER_BYTES);
    let start = start
        .map_err(|error| LinksError::Gap(Gap::Unreadable { path: name.clone(), what: error.to_string() }))?;
    let first = before.next().unwrap_or(before);
    let fault = |error: bitacora_formats::SegmentError| {
        Fault::at(name, 0, first, None, FaultKind::Damage(error.into()))
    };
    SegmentHeader::parse(&start).map_err(|error| fault(error).into())
}
