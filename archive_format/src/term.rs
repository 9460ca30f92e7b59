//! Terms of an archive's index: the labels by which its events are found.

use serde::Deserialize;
use siphasher::sip::SipHasher24;

use bitacora_formats::{KeyUse, derive};
use bitacora_formats::{Record, RecordData, Secret};
use bitacora_vocabulary::Dimension;

/// Bits of a term.
pub(super) const TERM_BITS: u32 = 52;

/// A label of events that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArchiveLabel {
    /// The event's `type`.
    Kind = 1,
    /// Its `subject`.
    Stream = 2,
    /// Its `actor`.
    Actor = 3,
    /// Its `agent`.
    Agent = 4,
    /// Its `session`.
    Session = 5,
    /// Its `run`.
    Run = 6,
    /// Its `call`.
    Call = 7,
    /// One of its tags.
    Tag = 8,
    /// The `dimension` that its data names.
    Dimension = 9,
}

impl ArchiveLabel {
    /// Every label, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Kind,
        Self::Stream,
        Self::Actor,
        Self::Agent,
        Self::Session,
        Self::Run,
        Self::Call,
        Self::Tag,
        Self::Dimension,
    ];
    /// The highest number.
    pub(super) const MAX_NUMBER: u8 = Self::Dimension as u8;

    /// The label's number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Its place among all of them.
    pub(super) const fn index(self) -> usize {
        self as usize - 1
    }
}

/// The keyed hash of a label and its value. Two values may share one, which costs a look at a group that does not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArchiveTerm {
    pub(super) label: ArchiveLabel,
    /// The lowest [`TERM_BITS`] bits.
    pub(super) hash: u64,
}

impl ArchiveTerm {
    /// The label.
    #[must_use]
    pub fn label(self) -> ArchiveLabel {
        self.label
    }
}

/// Makes the terms of one archive: SipHash-2-4 under a key for each label.
pub struct ArchiveTerms {
    hashers: [SipHasher24; ArchiveLabel::ALL.len()],
}

impl ArchiveTerms {
    pub(super) fn new(data_key: &Secret) -> Self {
        let hashers = ArchiveLabel::ALL.map(|label| {
            let key = derive(KeyUse::ArchiveTerm, data_key.expose(), &[&[label.number()]]);
            let (half, _) = key.expose().split_first_chunk().unwrap_or((&[0; 16], &[]));
            SipHasher24::new_with_key(half)
        });
        Self { hashers }
    }

    /// The term of a label's value.
    #[must_use]
    pub fn term(&self, label: ArchiveLabel, value: &str) -> ArchiveTerm {
        let hash = self.hashers.get(label.index()).map_or(0, |hasher| hasher.hash(value.as_bytes()));
        ArchiveTerm { label, hash: hash >> (u64::BITS - TERM_BITS) }
    }

    /// The term of a dimension. An event of a dimension with a workspace is found by that of the same dimension without one, too.
    #[must_use]
    pub fn dimension(&self, dimension: &Dimension) -> ArchiveTerm {
        self.term(ArchiveLabel::Dimension, &dimension.every_part().join("\0"))
    }

    /// Gives every term of a record.
    pub(super) fn of_record(&self, record: &Record<'_>, mut take: impl FnMut(ArchiveTerm)) {
        use ArchiveLabel::{Actor, Agent, Call, Kind, Run, Session, Stream, Tag};
        let Record { kind, stream, actor, agent, session, run, call, tags, data, .. } = record;
        take(self.term(Kind, kind));
        take(self.term(Stream, stream));
        let optional = [(Actor, actor), (Agent, agent), (Session, session), (Run, run), (Call, call)];
        for (label, value) in optional {
            if let Some(value) = value {
                take(self.term(label, value));
            }
        }
        tags.iter().for_each(|tag| take(self.term(Tag, tag)));
        if let Some(dimension) = dimension_of(data) {
            take(self.dimension(&dimension.in_workspace(None)));
            if dimension.workspace().is_some() {
                take(self.dimension(&dimension));
            }
        }
    }
}

/// The member of JSON data that names a dimension.
#[derive(Deserialize)]
struct DimensionMember {
    dimension: Dimension,
}

/// The dimension that data names in its member `dimension`; data that is sealed for a data subject names none here.
fn dimension_of(data: &RecordData<'_>) -> Option<Dimension> {
    const MEMBER: &[u8] = b"\"dimension\"";
    let RecordData::Json(json) = data else { return None };
    let text = json.as_bytes();
    // Most data has no such member: reading it as JSON costs more than all else that is done with an event here.
    text.windows(MEMBER.len()).any(|window| window == MEMBER).then_some(())?;
    serde_json::from_slice::<DimensionMember>(text).ok().map(|data| data.dimension)
}
