//! The comparison of recorded removals with what the files hold.
//!
//! Everything that is called a notice here is vouched for: an expired record by the signature of its segment or archive, an archive before
//! a recorded revision by the absence of the event that seals that revision.

use std::collections::BTreeMap;

use bitacora_archive_format::{ArchiveRange, SignedManifest};
use bitacora_formats::{Generation, Position};
use sha2::{Digest as _, Sha256};

use super::fault::{Fault, FaultKind, Gap};
use super::folder::{SHOWN_ARCHIVES, shown_manifest};
use super::notice::Notice;
use super::removals::{RecordedRevision, Removals};

/// The events that were opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenedExtent {
    /// All of them.
    Whole,
    /// All behind this position, and perhaps others.
    Behind(u64),
    /// Some.
    Part,
}

impl OpenedExtent {
    fn is_whole(self) -> bool {
        self == Self::Whole
    }

    /// Returns `true` if every event behind this one was opened.
    fn is_whole_behind(self, event: Position) -> bool {
        match self {
            Self::Whole => true,
            Self::Behind(position) => event.get() > position,
            Self::Part => false,
        }
    }
}

/// The results of the comparison that are no faults.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RemovalFindings {
    pub(super) gaps: Vec<Gap>,
    pub(super) notices: Vec<Notice>,
}

/// An archive by its kept manifest.
#[derive(Debug, Clone, Copy)]
struct KeptRevision {
    range: ArchiveRange,
    generation: Generation,
    number: u64,
    manifest_sha256: [u8; 32],
}

impl KeptRevision {
    fn of(signed: &SignedManifest) -> Self {
        let manifest = signed.manifest();
        Self {
            range: manifest.range,
            generation: manifest.origin.generation,
            number: manifest.revision().get().into(),
            manifest_sha256: sha256(signed.note().to_string().as_bytes()),
        }
    }

    fn is(&self, recorded: &RecordedRevision) -> bool {
        (self.number, self.manifest_sha256) == (recorded.number, recorded.manifest_sha256)
    }
}

pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The result for one archive.
enum RevisionFinding {
    Fits,
    Notice(Notice),
    Gap(Gap),
}

impl Removals {
    /// Compares what was found with the kept manifests. Where all events were opened, each removal must be recorded, or have been recorded
    /// behind a declared loss. `digest_now` gives the digest of the manifest that the folder has for a range by now: a service may have
    /// put another one in its place since the archives were read.
    pub(super) fn check(
        &self,
        manifests: &[SignedManifest],
        opened: OpenedExtent,
        digest_now: impl Fn(ArchiveRange) -> Option<[u8; 32]>,
    ) -> Result<RemovalFindings, Fault> {
        let mut findings = RemovalFindings::default();
        for kept in manifests.iter().map(KeptRevision::of) {
            match self.check_revision(&kept, opened, &digest_now) {
                Ok(RevisionFinding::Fits) => {}
                Ok(RevisionFinding::Notice(notice)) => findings.notices.push(notice),
                Ok(RevisionFinding::Gap(gap)) => findings.gaps.push(gap),
                Err(kind) => {
                    let (first, last) = (kept.range.first(), kept.range.last());
                    return Err(Fault::at(shown_manifest(kept.range), 0, first, Some(last), kind));
                }
            }
        }
        if opened.is_whole() {
            findings.notices.extend(self.check_found()?);
        }
        Ok(findings)
    }

    /// Checks that a kept manifest is that of the latest recorded revision.
    fn check_revision(
        &self,
        kept: &KeptRevision,
        opened: OpenedExtent,
        digest_now: impl Fn(ArchiveRange) -> Option<[u8; 32]>,
    ) -> Result<RevisionFinding, FaultKind> {
        let (first, last) = (kept.range.first(), kept.range.last());
        let of_range = self.recorded.get(&(first, last));
        let recorded = of_range.and_then(|of_range| of_range.revisions.get(&kept.generation));
        let mut newest_first = recorded.into_iter().flatten().rev();
        let latest = newest_first.next();
        let is_fitting = latest.map_or(kept.number == 0, |latest| kept.is(latest));
        let is_later = kept.number > latest.map_or(0, |latest| latest.number);
        // Where not all was opened, a later event may record a later revision.
        if is_fitting || (is_later && !opened.is_whole()) {
            return Ok(RevisionFinding::Fits);
        }
        let (first, last) = (first.get(), last.get());
        if is_later && let Some((generation, retained)) = self.loss_behind(last, Some(kept.generation)) {
            let found = kept.number;
            let gap = Gap::RevisionRecordLost { first, last, found, retained, generation };
            return Ok(RevisionFinding::Gap(gap));
        }
        let Some(latest) = latest else { return Err(FaultKind::UnrecordedRevision { found: kept.number }) };
        if digest_now(kept.range) == Some(latest.manifest_sha256) {
            let what = "a later revision took the place of their archive meanwhile; verify again".to_owned();
            return Ok(RevisionFinding::Gap(Gap::Archive { first, last, what }));
        }
        // The event that seals a revision comes behind the keeping of its manifest. So without it an earlier one is no rollback.
        let is_unsealed =
            opened.is_whole_behind(latest.event) && !self.sealed.contains(&latest.manifest_sha256);
        let is_the_one_before = newest_first.next().map_or(kept.number == 0, |before| kept.is(before));
        if is_unsealed && is_the_one_before {
            let event = latest.event.get();
            return Ok(RevisionFinding::Notice(Notice::UnfinishedRemoval { first, last, event }));
        }
        let (found, expected, event) = (kept.number, latest.number, latest.event.get());
        Err(FaultKind::ArchiveRevision { found, expected, event })
    }

    /// Checks that an event records each removal that was found, or that such an event may have been lost.
    fn check_found(&self) -> Result<Vec<Notice>, Fault> {
        let mut lost: BTreeMap<Generation, (u64, u64, u64)> = BTreeMap::new();
        for ((_, policy), (first, last)) in &self.found {
            for position in [*first, *last] {
                if self.is_recorded(position, *policy) {
                    continue;
                }
                let Some((generation, retained)) = self.loss_behind(position.get(), None) else {
                    let kind = FaultKind::UnrecordedRemoval { policy: policy.get() };
                    return Err(Fault::at(SHOWN_ARCHIVES.to_owned(), 0, *first, Some(*last), kind));
                };
                let position = position.get();
                let (first, last, _) = lost.entry(generation).or_insert((position, position, retained));
                (*first, *last) = ((*first).min(position), (*last).max(position));
            }
        }
        let notice = |(generation, (first, last, retained))| Notice::RemovalRecordLost {
            first,
            last,
            retained,
            generation,
        };
        Ok(lost.into_iter().map(notice).collect())
    }

    /// Returns the last declared loss that retained this position, with the last position that it retained: events behind that may have
    /// recorded the removal. For an archive it is one of the archive's generation.
    fn loss_behind(&self, position: u64, archived: Option<Generation>) -> Option<(Generation, u64)> {
        let of_archive = |generation: Generation| archived.is_none_or(|archived| archived < generation);
        let mut losses = self.losses.iter().rev().map(|(generation, retained)| (*generation, *retained));
        losses.find(|(generation, retained)| *retained >= position && of_archive(*generation))
    }

    /// Returns `true` if an event records that content at this position expired under this policy.
    fn is_recorded(&self, position: Position, policy: Position) -> bool {
        let ranges = self.recorded.iter().take_while(|((first, _), _)| *first <= position);
        ranges
            .into_iter()
            .any(|((_, last), of_range)| *last >= position && of_range.policies.contains(&policy))
    }
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{Commitment, Data, Event, EventDraft, Expired, Json, Record};
    use bitacora_vocabulary::{ArchiveSealed, EventData, RetentionExpired};

    use super::*;

    fn position(number: u64) -> Position {
        Position::new(number).unwrap()
    }

    fn record(kind: &'static str, data: String) -> Record<'static> {
        let mut event = Event::new("e", "urn:test", kind, "retention");
        event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
        match Record::draft(event, 0) {
            EventDraft::Clear(record) => record,
            EventDraft::Sensitive { .. } => panic!("it names nobody"),
        }
    }

    fn expired(policy: u64) -> Record<'static> {
        record("x.note", "{}".to_owned())
            .expire(Expired { policy: position(policy), commitment: Commitment([7; 32]) })
    }

    /// The removal that makes this revision, whose manifest has a digest of its number.
    fn removal((first, last): (u64, u64), policy: u64, revision: u64) -> Record<'static> {
        let digest = hex::encode(digest(revision));
        record(
            RetentionExpired::KIND,
            format!(
                r#"{{"first":"{first}","last":"{last}","events":1,"archive":"l/g1/a.r{revision}.bca","revision":{revision},"manifest_sha256":"{digest}","policy":"{policy}"}}"#
            ),
        )
    }

    fn sealed((first, last): (u64, u64), revision: u64) -> Record<'static> {
        let digest = hex::encode(digest(revision));
        record(
            ArchiveSealed::KIND,
            format!(
                r#"{{"archive":"l/g1/a.r{revision}.bca","first":"{first}","last":"{last}","bytes":1,"manifest_sha256":"{digest}"}}"#
            ),
        )
    }

    fn loss(generation: u32, retained: u64) -> Record<'static> {
        let hash = "11".repeat(32);
        record(
            "ledger.recovered",
            format!(
                r#"{{"generation":{generation},"lostHead":null,"retained":{{"size":"{retained}","root":"{hash}","hash":"{hash}"}}}}"#
            ),
        )
    }

    fn digest(revision: u64) -> [u8; 32] {
        [u8::try_from(revision).unwrap(); 32]
    }

    /// The archive of positions 1 to 512, as generation 1 made it.
    fn kept(number: u64) -> KeptRevision {
        let range = ArchiveRange::new(1, 512).unwrap();
        KeptRevision { range, generation: Generation(1), number, manifest_sha256: digest(number) }
    }

    fn looked(removals: &Removals, number: u64, opened: OpenedExtent) -> String {
        let found = removals.check_revision(&kept(number), opened, |_| None);
        match found {
            Ok(RevisionFinding::Fits) => "fits".to_owned(),
            Ok(RevisionFinding::Notice(notice)) => format!("notice: {notice}"),
            Ok(RevisionFinding::Gap(gap)) => format!("gap: {gap}"),
            Err(fault) => format!("fault: {fault}"),
        }
    }

    #[test]
    fn removed_content_needs_an_event_that_records_its_removal_under_its_policy() {
        let mut removals = Removals::default();
        removals.note(position(300), &expired(7));
        removals.note(position(310), &expired(7));
        let check = |removals: &Removals, opened| removals.check(&[], opened, |_| None);
        assert!(check(&removals, OpenedExtent::Behind(1)).is_ok(), "the rest was not opened");
        let unrecorded = |removals: &Removals| {
            let fault = check(removals, OpenedExtent::Whole).unwrap_err();
            assert!(matches!(*fault.kind, FaultKind::UnrecordedRemoval { policy: 7 }), "{fault}");
            (fault.first_position, fault.last_position)
        };
        assert_eq!(unrecorded(&removals), (300, Some(310)));
        removals.note(position(900), &removal((300, 309), 7, 1));
        removals.note(position(901), &removal((1, 400), 8, 1));
        assert_eq!(unrecorded(&removals), (300, Some(310)), "one of them, and another policy");
        let mut whole = Removals::default();
        whole.note(position(902), &removal((1, 400), 7, 2));
        whole.add(removals);
        assert_eq!(check(&whole, OpenedExtent::Whole), Ok(RemovalFindings::default()));
    }

    #[test]
    fn removed_content_behind_a_declared_loss_is_a_notice() {
        let mut removals = Removals::default();
        removals.note(position(300), &expired(7));
        removals.note(position(512), &expired(7));
        removals.note(position(513), &loss(2, 512));
        let found = removals.check(&[], OpenedExtent::Whole, |_| None).unwrap();
        let (first, last, retained, generation) = (300, 512, 512, Generation(2));
        assert_eq!(found.notices, [Notice::RemovalRecordLost { first, last, retained, generation }]);
        // An event behind the loss expired since: that is recorded behind it.
        removals.note(position(513), &expired(7));
        let fault = removals.check(&[], OpenedExtent::Whole, |_| None).unwrap_err();
        assert!(matches!(*fault.kind, FaultKind::UnrecordedRemoval { policy: 7 }), "{fault}");
    }

    #[test]
    fn an_earlier_archive_is_a_notice_until_the_log_seals_the_later_one() {
        let mut removals = Removals::default();
        removals.note(position(900), &removal((1, 512), 7, 1));
        let unfinished = "notice: event 900 records that expired content of positions 1 to 512 is removed";
        for opened in [OpenedExtent::Whole, OpenedExtent::Behind(899)] {
            assert!(looked(&removals, 0, opened).starts_with(unfinished), "{opened:?}");
            assert_eq!(looked(&removals, 1, opened), "fits");
        }
        let rolled_back = "fault: found revision 0 of an archive, expected revision 1";
        for opened in [OpenedExtent::Behind(900), OpenedExtent::Part] {
            assert!(looked(&removals, 0, opened).starts_with(rolled_back), "an event behind it may seal it");
        }
        removals.note(position(901), &sealed((1, 512), 1));
        assert!(looked(&removals, 0, OpenedExtent::Whole).starts_with(rolled_back));

        // The next removal is recorded: the archive before it is the first removal's, and no earlier one.
        removals.note(position(950), &removal((1, 512), 8, 2));
        assert!(looked(&removals, 1, OpenedExtent::Whole).starts_with("notice: event 950 "));
        let rolled_back = "fault: found revision 0 of an archive, expected revision 2";
        assert!(looked(&removals, 0, OpenedExtent::Whole).starts_with(rolled_back));
        let other = KeptRevision { manifest_sha256: digest(9), ..kept(1) };
        assert!(removals.check_revision(&other, OpenedExtent::Whole, |_| None).is_err(), "another archive");
    }

    #[test]
    fn an_archive_that_was_replaced_meanwhile_was_not_checked() {
        let mut removals = Removals::default();
        removals.note(position(900), &removal((1, 512), 7, 1));
        removals.note(position(901), &sealed((1, 512), 1));
        let found = removals.check_revision(&kept(0), OpenedExtent::Whole, |_| Some(digest(1)));
        assert!(matches!(found, Ok(RevisionFinding::Gap(Gap::Archive { first: 1, last: 512, .. }))));
    }

    #[test]
    fn a_later_archive_needs_an_event_unless_that_was_lost() {
        let mut removals = Removals::default();
        assert_eq!(looked(&removals, 0, OpenedExtent::Whole), "fits");
        assert_eq!(looked(&removals, 1, OpenedExtent::Behind(1)), "fits", "the rest was not opened");
        let unrecorded = "fault: found revision 1 of an archive, expected an event";
        assert!(looked(&removals, 1, OpenedExtent::Whole).starts_with(unrecorded));
        removals.note(position(501), &loss(2, 500));
        assert!(
            looked(&removals, 1, OpenedExtent::Whole).starts_with(unrecorded),
            "not all of it was retained"
        );
        removals.note(position(701), &loss(3, 700));
        let lost = "gap: found revision 1 of the archive of positions 1 to 512, and no event records it";
        assert!(looked(&removals, 1, OpenedExtent::Whole).starts_with(lost));
        let newer = KeptRevision { generation: Generation(3), ..kept(1) };
        let found = removals.check_revision(&newer, OpenedExtent::Whole, |_| None);
        assert!(found.is_err(), "made after the loss");
        removals.note(position(900), &removal((1, 512), 7, 1));
        removals.note(position(901), &sealed((1, 512), 1));
        assert!(looked(&removals, 2, OpenedExtent::Whole).starts_with("gap: found revision 2 "));
        assert!(looked(&removals, 0, OpenedExtent::Whole).starts_with("fault: "));
    }
}
