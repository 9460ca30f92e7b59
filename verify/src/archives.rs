//! The archives of released segments: signed manifests beside the segments, and the archives' files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::Path;

use bitacora_archive_format::{
    ArchiveError, ArchiveRange, GROUP_LEAVES, Manifest, SignedManifest, UnverifiedManifest,
};
use bitacora_formats::{
    Commitment, Keyring, LedgerId, LedgerKeys, Levels, Position, SegmentHeader, SignedTreeHead, SigningChain,
    TILE_HEIGHT, TreeHash, decode_record, leaf_hash,
};

use super::archive::{ArchiveProblem, CheckedArchive};
use super::fault::{Fault, FaultKind, Gap};
use super::folder::{LedgerFolder, shown_manifest};
use super::genesis::{Genesis, check_genesis};
use super::history::History;
use super::level::LeafGroup;
use super::options::Progress;
use super::parts::erased_key;
use super::removals::Removals;
use super::streams::{EventLocation, SegmentStreams};

/// The numbers of checked archives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArchivesChecked {
    /// The signed manifests, each continuing the one before.
    pub manifests: u64,
    /// The last position that they cover.
    pub last: u64,
    /// The released segments whose links hold.
    pub released_segments: u64,
    /// The last position that stands in archives alone; 0 where every segment is there.
    pub released_through: u64,
    /// The archives that were there and hold.
    pub archives: u64,
    /// The events in them.
    pub events: u64,
    /// The size of them in bytes.
    pub bytes: u64,
    /// The events of them that were opened.
    pub opened: u64,
}

/// The archives of one ledger.
#[derive(Default)]
pub(super) struct LedgerArchives {
    /// The manifests in order, each continuing the one before; from position 1 on.
    manifests: Vec<SignedManifest>,
    /// The roots of the groups of leaves in the archives that were read, up to the first gap.
    levels: Levels,
    released_through: u64,
    /// The roots made from opened events, by the size of their tree.
    pub(super) made_roots: BTreeMap<u64, TreeHash>,
    /// The commitments of opened events that tree heads name.
    pub(super) commitments: BTreeMap<u64, Commitment>,
    /// The keys of data subjects whose erasure opened events record, with the event.
    pub(super) erased: HashMap<[u8; 16], Position>,
    pub(super) removals: Removals,
    pub(super) checked: ArchivesChecked,
}

/// The inputs for checking the archives of one ledger.
#[derive(Clone, Copy)]
pub(super) struct ArchiveChecks<'a> {
    pub(super) folder: &'a LedgerFolder<'a>,
    /// The folder of their files.
    pub(super) store: Option<&'a Path>,
    pub(super) ledger: LedgerId,
    pub(super) chain: Option<&'a SigningChain>,
    pub(super) progress: Option<&'a dyn Progress>,
}

/// The contents of the opened archives.
pub(super) struct OpenedArchives {
    pub(super) streams: SegmentStreams,
    /// The roots at the requested sizes that lie within opened archives.
    pub(super) made_roots: BTreeMap<u64, TreeHash>,
    /// The commitments at the requested positions.
    pub(super) commitments: BTreeMap<u64, Commitment>,
    /// The keys of data subjects whose erasure they record, with the event.
    pub(super) erased: HashMap<[u8; 16], Position>,
    pub(super) removals: Removals,
    /// Set when they cover all that was released.
    pub(super) is_whole: bool,
}

impl LedgerArchives {
    /// Reads the manifests, and every archive with events up to `released_through`, which no segment holds any more.
    pub(super) fn read(
        checks: ArchiveChecks<'_>,
        released_through: u64,
        gaps: &mut Vec<Gap>,
    ) -> Result<(Self, Vec<CheckedArchive>), Fault> {
        let mut archives = Self { released_through, ..Self::default() };
        archives.checked.released_through = released_through;
        archives.read_manifests(checks, gaps)?;
        let mut files = Vec::new();
        let mut is_joined = true;
        for manifest in &archives.manifests {
            let range = manifest.manifest().range;
            if range.first().get() > released_through {
                break;
            }
            match read_archive(checks, manifest) {
                Ok(archive) => {
                    archives.checked.archives += 1;
                    archives.checked.events += range.events();
                    archives.checked.bytes += archive.bytes();
                    if is_joined {
                        archive.roots().iter().for_each(|root| archives.levels.push(*root));
                    }
                    files.push(archive);
                }
                Err(ArchiveOpenError::Gap(gap)) => {
                    is_joined = false;
                    gaps.push(gap);
                }
                Err(ArchiveOpenError::Fault(fault)) => return Err(fault),
            }
        }
        let covered = archives.checked.last;
        if covered < released_through {
            let what = "no manifest of them is beside the segments".to_owned();
            gaps.push(Gap::Archive { first: covered + 1, last: released_through, what });
        }
        Ok((archives, files))
    }

    fn read_manifests(&mut self, checks: ArchiveChecks<'_>, gaps: &mut Vec<Gap>) -> Result<(), Fault> {
        let ranges = match checks.folder.manifests() {
            Ok(ranges) => ranges,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let what = format!("their manifests cannot be listed: {error}");
                gaps.push(Gap::Archive { first: 1, last: self.released_through.max(1), what });
                return Ok(());
            }
        };
        for range in ranges {
            let bytes = match checks.folder.manifest(range) {
                Ok(bytes) => bytes,
                Err(error) => {
                    let (first, last) = (range.first().get(), range.last().get());
                    gaps.push(Gap::Archive { first, last, what: format!("their manifest: {error}") });
                    return Ok(());
                }
            };
            let manifest =
                read_manifest(&bytes, range, checks).map_err(|error| manifest_fault(range, error))?;
            if let Some(before) = self.manifests.last() {
                let hole = before.manifest().range.last().get() + 1..range.first().get();
                if !hole.is_empty() {
                    self.report_hole(hole.start, hole.end - 1, gaps);
                    return Ok(());
                }
                let follows = manifest.manifest().follows(before.manifest());
                follows.map_err(|error| manifest_fault(range, error))?;
            } else if range.first() > Position::FIRST {
                self.report_hole(1, range.first().get() - 1, gaps);
                return Ok(());
            }
            self.checked.manifests += 1;
            self.checked.last = range.last().get();
            self.manifests.push(manifest);
        }
        Ok(())
    }

    /// Reports a hole between manifests. Manifests behind it continue nothing known; for events that are still in
    /// segments, this does not matter.
    fn report_hole(&self, first: u64, last: u64, gaps: &mut Vec<Gap>) {
        // The released part of the hole is reported once all manifests are read.
        if first > self.released_through {
            let what = "no manifest of them is beside the segments, and there are later ones".to_owned();
            gaps.push(Gap::Archive { first, last, what });
        }
    }

    /// Checks that a segment, released or not, begins as the archives say.
    pub(super) fn check_header(&self, header: &SegmentHeader) -> Result<(), FaultKind> {
        let differs = |what| Err(FaultKind::ArchivedSegment { what });
        let first = header.first_position;
        let holds = |manifest: &&SignedManifest| manifest.manifest().range.contains(first);
        if let Some(manifest) = self.manifests.iter().find(holds) {
            let line = manifest.manifest().segments.iter().find(|segment| segment.first == first);
            let is_same = line.is_some_and(|line| {
                (line.number, line.epoch, line.generation, line.hash)
                    == (header.number, header.epoch, header.generation, header.previous.hash)
            });
            if !is_same {
                return differs("the segment that the manifest says to begin there");
            }
        }
        // Without keys, an archive gives no subtree smaller than a group of leaves.
        let size = header.frontier.size();
        let mut start = 0;
        for (height, peak) in
            (0..u64::BITS).rev().filter(|height| size >> height & 1 == 1).zip(header.frontier.peaks())
        {
            let end = start + (1 << height);
            let is_known = height >= TILE_HEIGHT && end <= self.levels.groups() * GROUP_LEAVES;
            if is_known && self.levels.subtree(start, height) != Some(*peak) {
                return differs("the tree that its archives make");
            }
            start = end;
        }
        Ok(())
    }

    /// Returns the groups of leaves of the archives that were read.
    pub(super) fn groups(&self) -> impl Iterator<Item = LeafGroup> + '_ {
        (0..).zip(self.levels.row(1)).map(|(number, root)| LeafGroup { number, root: *root })
    }

    /// Checks that a group of leaves completed by segments is the one in the archives, where it is in one.
    pub(super) fn check_group(&self, group: LeafGroup) -> Result<(), TreeHash> {
        let known = usize::try_from(group.number).ok().and_then(|number| self.levels.row(1).get(number));
        known.map_or(Ok(()), |known| if *known == group.root { Ok(()) } else { Err(*known) })
    }

    /// Returns `true` if all that was released is in archives that were read and hold.
    pub(super) fn are_whole(&self) -> bool {
        self.levels.groups() * GROUP_LEAVES >= self.released_through
    }

    /// Returns the last position that stands in archives alone; 0 where every segment is here.
    pub(super) fn released_through(&self) -> u64 {
        self.released_through
    }

    /// Checks that the ends of the archives are ends of the frames that are still here.
    pub(super) fn check_links(&self, history: &History<'_>) -> Result<(), Fault> {
        for signed in &self.manifests {
            let manifest = signed.manifest();
            for link in [manifest.chain_before, manifest.chain_after] {
                let here = link.position.get() > self.released_through;
                if here && history.hash_before(link.position) != Some(link.hash) {
                    return Err(manifest_fault(
                        manifest.range,
                        ArchiveError::Contents { what: "the link of the chain" },
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns the manifests, in order.
    pub(super) fn manifests(&self) -> &[SignedManifest] {
        &self.manifests
    }

    /// Returns the root of the tree of this size, as far as archives, heads in them, or their opened events give it.
    pub(super) fn root_at(&self, size: u64) -> Option<TreeHash> {
        if let Some(made) = self.made_roots.get(&size) {
            return Some(*made);
        }
        let heads = self.manifests.iter().filter_map(SignedManifest::tree_head).map(SignedTreeHead::head);
        if let Some(head) = heads.into_iter().find(|head| head.size == size) {
            return Some(head.root);
        }
        let ends = |manifest: &&SignedManifest| manifest.manifest().range.last().get() == size;
        self.manifests.iter().find(ends).map(|manifest| manifest.manifest().root_after)
    }
}

/// Opens every archive, and checks its contents against its manifest. If the archives are all that was released, each
/// event has to be the next one of its stream. The leaves are computed from the events. From the leaves come the roots
/// of the trees of `sizes`, which ascend, and the commitments at the positions of `headed`.
pub(super) fn open(
    files: &[CheckedArchive],
    (keyring, genesis): (&Keyring, Option<Genesis<'_>>),
    (sizes, headed): (&[u64], &HashSet<u64>),
    checks: ArchiveChecks<'_>,
    (is_whole, checked): (bool, &mut ArchivesChecked),
    gaps: &mut Vec<Gap>,
) -> Result<OpenedArchives, Fault> {
    let (streams, made_roots) = (SegmentStreams::default(), BTreeMap::new());
    let (commitments, erased, removals) = (BTreeMap::new(), HashMap::new(), Removals::default());
    let mut opened = OpenedArchives { streams, made_roots, commitments, erased, removals, is_whole };
    let keys = LedgerKeys::new(keyring, checks.ledger);
    for archive in files {
        let manifest = archive.outline().manifest().manifest();
        let range = manifest.range;
        let mut wanted = sizes.iter().copied().skip_while(|size| *size < range.first().get()).peekable();
        let mut tree = manifest.tree_before.clone();
        let done = archive.open(keyring, |first, rows| {
            let positions = (0..).map_while(|distance| Position::new(first)?.plus(distance));
            for (position, row) in positions.zip(rows.iter()) {
                let record = decode_record(row.record)
                    .map_err(|error| StreamFault(position, FaultKind::Record(error)))?;
                if let Some(genesis) = genesis.filter(|_| position == Position::FIRST) {
                    check_genesis(&record, genesis).map_err(|kind| StreamFault(position, kind))?;
                }
                opened.erased.extend(erased_key(&record).map(|key| (key, position)));
                opened.removals.note(position, &record);
                if headed.contains(&position.get()) {
                    let commitment = keys.commitment_of(&record, row.record);
                    opened.commitments.insert(position.get(), commitment);
                }
                if wanted.peek().is_some_and(|size| *size <= range.last().get()) {
                    let commitment = keys.commitment_of(&record, row.record);
                    tree.push(leaf_hash(position, row.time, &commitment));
                    while wanted.next_if_eq(&position.get()).is_some() {
                        opened.made_roots.insert(position.get(), tree.root());
                    }
                }
                // Behind a hole nobody knows the streams; from there on the segments that are here follow them.
                if !opened.is_whole || position.get() > checked.released_through {
                    break;
                }
                let location = EventLocation { position, offset: 0 };
                let stream = keys.stream_key(&record.stream);
                let followed = opened.streams.follow(stream, row.stream_version.get(), location);
                followed.map_err(|kind| StreamFault(position, kind))?;
            }
            checked.opened += rows.len() as u64;
            Ok::<(), OpenError>(())
        });
        let (name, (first, last)) = (object_name(manifest), (range.first(), range.last()));
        match done {
            Ok(()) => {}
            Err(OpenError::Problem(ArchiveProblem::Wrong { error, .. }))
                if matches!(
                    error,
                    ArchiveError::KeyMissing { .. }
                        | ArchiveError::KeyRetired { .. }
                        | ArchiveError::WrongKey { .. }
                        | ArchiveError::Zstd(_)
                ) =>
            {
                opened.is_whole = false;
                gaps.push(Gap::Archive { first: first.get(), last: last.get(), what: error.to_string() });
            }
            Err(OpenError::Problem(problem)) => match problem_of(name, range, problem) {
                ArchiveOpenError::Fault(fault) => return Err(fault),
                ArchiveOpenError::Gap(gap) => {
                    opened.is_whole = false;
                    gaps.push(gap);
                }
            },
            Err(OpenError::Stream(StreamFault(position, kind))) => {
                return Err(Fault::at(name, 0, position, Some(position), kind));
            }
        }
    }
    Ok(opened)
}

/// An event of an archive that is invalid, or not the next one of its stream.
struct StreamFault(Position, FaultKind);

enum OpenError {
    Problem(ArchiveProblem),
    Stream(StreamFault),
}

impl From<ArchiveProblem> for OpenError {
    fn from(problem: ArchiveProblem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StreamFault> for OpenError {
    fn from(fault: StreamFault) -> Self {
        Self::Stream(fault)
    }
}

enum ArchiveOpenError {
    Fault(Fault),
    Gap(Gap),
}

fn read_archive(
    checks: ArchiveChecks<'_>,
    kept: &SignedManifest,
) -> Result<CheckedArchive, ArchiveOpenError> {
    let manifest = kept.manifest();
    let range = manifest.range;
    let (first, last) = (range.first().get(), range.last().get());
    let gap = |what: String| ArchiveOpenError::Gap(Gap::Archive { first, last, what });
    let name = object_name(manifest);
    let Some(store) = checks.store else {
        return Err(gap(
            "no folder with archives is named; fetch them into one, and name it with --archive-store"
                .to_owned(),
        ));
    };
    let path = store.join(&name);
    let archive = match CheckedArchive::check(&path, checks.chain, checks.progress) {
        Ok(archive) => archive,
        Err(ArchiveProblem::Unreadable(error)) => return Err(gap(format!("{name}: {error}"))),
        Err(problem) => return Err(problem_of(name, range, problem)),
    };
    if archive.outline().manifest().note() != kept.note() {
        let error = ArchiveError::Contents { what: "the manifest that is kept beside the segments" };
        let offset = archive.outline().table().end();
        return Err(problem_of(name, range, ArchiveProblem::Wrong { offset, error }));
    }
    Ok(archive)
}

fn problem_of(name: String, range: ArchiveRange, problem: ArchiveProblem) -> ArchiveOpenError {
    let (first, last) = (range.first(), range.last());
    match problem {
        ArchiveProblem::Wrong { offset, error } => {
            ArchiveOpenError::Fault(Fault::at(name, offset, first, Some(last), FaultKind::Archive(error)))
        }
        ArchiveProblem::Unreadable(error) => {
            let what = format!("{name}: {error}");
            ArchiveOpenError::Gap(Gap::Archive { first: first.get(), last: last.get(), what })
        }
    }
}

/// Returns an archive's name in findings: that in a store.
pub(super) fn object_name(manifest: &Manifest) -> String {
    manifest.object_name()
}

fn read_manifest(
    bytes: &[u8],
    range: ArchiveRange,
    checks: ArchiveChecks<'_>,
) -> Result<SignedManifest, ArchiveError> {
    let unverified = UnverifiedManifest::parse(bytes)?;
    let verified = match checks.chain {
        Some(chain) => unverified.verify(chain),
        None => unverified.verify_alone(),
    };
    let verified = verified?;
    let manifest = verified.manifest();
    if manifest.origin.ledger != checks.ledger {
        let (expected, found) = (checks.ledger.to_string(), manifest.origin.ledger.to_string());
        return Err(ArchiveError::Other { expected, found });
    }
    if manifest.range != range {
        let (expected, found) = (range.to_string(), manifest.range.to_string());
        return Err(ArchiveError::Other { expected, found });
    }
    Ok(verified)
}

fn manifest_fault(range: ArchiveRange, error: ArchiveError) -> Fault {
    Fault::at(shown_manifest(range), 0, range.first(), Some(range.last()), FaultKind::Archive(error))
}
