//! Tests of lost manifests: their events are read from the store all the same, and they come back.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use bitacora_archive_format::ArchiveRange;
use bitacora_archiver::{
    AcceptedArchive, ArchivePace, ArchiveRun, ArchiverError, ManifestFolderError, ManifestHome, Release,
    Rules, known_archives,
};
use bitacora_formats::{ChainHash, Generation, Position};
use bitacora_ledger::{Ledger, ReadError};

use super::fixture::{ArchiveFixture, EventFacts, forced, seen, wait_until};
use super::packed::packed_again;

/// A ledger of which everything is archived, in several archives, and released.
struct ReleasedLedger {
    fixture: ArchiveFixture,
    archived: Vec<AcceptedArchive>,
    /// The events that every reader has to see.
    events: EventFacts,
}

impl ReleasedLedger {
    fn new() -> Self {
        let fixture = ArchiveFixture::new();
        // Each opening begins a segment.
        for from in (1..2_800).step_by(200) {
            let ledger = fixture.open();
            fixture.fill(&ledger, from, 200);
            ledger.close().unwrap();
        }
        let ledger = fixture.open();
        fixture.fill(&ledger, 2_801, 200);
        wait_until(|| ledger.status().is_proven && ledger.status().heads.size > 2_900);
        let rules = Rules { archive_events: 768, ..forced() };
        let run = ArchiveRun { rules, pace: ArchivePace::Full { threads: 2 }, release: Release::OnceProven };
        let outcome = fixture.archiver(&ledger).run(&run).unwrap();
        let released = outcome.released.unwrap();
        assert!(released.last > outcome.archived.last().unwrap().range.first(), "{released:?}");
        assert_eq!(outcome.archived.len(), 4);
        let events = seen(&ledger, 3_000).unwrap();
        ledger.close().unwrap();
        Self { fixture, archived: outcome.archived, events }
    }

    fn range(&self, index: usize) -> ArchiveRange {
        self.archived.get(index).unwrap().range
    }

    fn kept(&self, index: usize) -> PathBuf {
        let name = format!("{}.manifest", self.range(index).file_stem());
        self.fixture.ledger().join("archives").join(name)
    }

    fn stored(&self, index: usize) -> PathBuf {
        self.fixture.folder.path().join("cold").join(&self.archived.get(index).unwrap().name)
    }

    fn flip(&self, index: usize) {
        let mut bytes = fs::read(self.kept(index)).unwrap();
        let middle = bytes.len() / 2;
        *bytes.get_mut(middle).unwrap() ^= 1;
        fs::write(self.kept(index), bytes).unwrap();
    }

    /// Opens it for writing, without archiving.
    fn read_and_close(&self) -> Result<EventFacts, ReadError> {
        let ledger = self.fixture.open();
        let seen = seen(&ledger, 3_000);
        ledger.close().unwrap();
        seen
    }

    fn open_for_reading(&self) -> Ledger {
        let ArchiveFixture { environment, keyring, .. } = &self.fixture;
        Ledger::open_for_reading(environment, &self.fixture.ledger(), Arc::clone(keyring), None).unwrap()
    }

    fn homes(&self) -> (Vec<ManifestHome>, Vec<ManifestFolderError>) {
        let ArchiveFixture { environment, keyring, objects, .. } = &self.fixture;
        let (ledger, folder) = (self.open_for_reading().id(), self.fixture.ledger());
        let kept =
            known_archives((objects, &*environment.disk), &folder, ledger, keyring.signing_chain()).unwrap();
        (kept.archives.iter().map(|one| one.home).collect(), kept.lost)
    }
}

#[test]
fn a_manifest_that_is_damaged_or_gone_comes_back_from_its_archive() {
    let archives = ReleasedLedger::new();
    for index in 0..4 {
        let whole = fs::read(archives.kept(index)).unwrap();
        for damage in [ReleasedLedger::flip, |archives: &ReleasedLedger, index| {
            fs::remove_file(archives.kept(index)).unwrap();
        }] {
            damage(&archives, index);
            let left = fs::read(archives.kept(index)).ok();
            // A reader changes nothing, and reads everything.
            assert!(seen(&archives.open_for_reading(), 3_000).unwrap() == archives.events, "{index}");
            assert_eq!(archives.homes().0[index], ManifestHome::Archive);
            assert_eq!(fs::read(archives.kept(index)).ok(), left);
            // A writer puts it back.
            assert!(archives.read_and_close().unwrap() == archives.events, "{index}");
            assert_eq!(fs::read(archives.kept(index)).unwrap(), whole);
            assert!(archives.read_and_close().unwrap() == archives.events, "{index}");
        }
        let (homes, lost) = archives.homes();
        assert_eq!((homes[index], lost.len()), (ManifestHome::PutBack, 0));
        let aside = format!("{}.damaged", archives.kept(index).display());
        assert!(fs::read(aside).unwrap() != whole);
    }
    // All at once, and once more of one that was put aside already.
    (0..4).for_each(|index| archives.flip(index));
    assert!(archives.read_and_close().unwrap() == archives.events);
    (0..4).for_each(|index| fs::remove_file(archives.kept(index)).unwrap());
    assert!(archives.read_and_close().unwrap() == archives.events);
    assert_eq!(archives.homes().0, [ManifestHome::PutBack; 4]);
    assert!(fs::exists(format!("{}.damaged.2", archives.kept(0).display())).unwrap());
    // And where not even the folder is left.
    fs::remove_dir_all(archives.fixture.ledger().join("archives")).unwrap();
    assert!(archives.read_and_close().unwrap() == archives.events);
    assert_eq!(archives.homes().0, [ManifestHome::Kept; 4]);
}

#[test]
fn what_does_not_come_back_is_out_of_reach_by_itself() {
    let archives = ReleasedLedger::new();
    for index in 0..4 {
        let (kept, stored) =
            (fs::read(archives.kept(index)).unwrap(), fs::read(archives.stored(index)).unwrap());
        archives.flip(index);
        fs::remove_file(archives.stored(index)).unwrap();
        let ledger = archives.fixture.open();
        let Err(ReadError::Archive(error)) = seen(&ledger, 3_000) else { panic!("read out of nothing") };
        let range = archives.range(index);
        assert_eq!(
            (error.first, error.last, error.code()),
            (range.first(), range.last(), "archive-unavailable")
        );
        // Its last events may lie in a segment that stays.
        let middle = Position::new(range.first().get().midpoint(range.last().get())).unwrap();
        let Err(ReadError::Archive(error)) = ledger.event(middle) else { panic!("read out of nothing") };
        assert_eq!((error.first, error.last), (range.first(), range.last()));
        for other in (0..4).filter(|other| *other != index) {
            // A frame may lie in two archives: those of whole frames.
            let (first, last) =
                (archives.range(other).first().get() + 20, archives.range(other).last().get() - 20);
            for position in [first, first.midpoint(last), last] {
                ledger.event(Position::new(position).unwrap()).unwrap();
            }
        }
        let (homes, lost) = archives.homes();
        assert_eq!((homes.len(), lost.len()), (3, 1), "{lost:?}");
        assert!(
            matches!(lost[0], ManifestFolderError::Lost { first, .. } if first == range.first().get()),
            "{lost:?}"
        );
        let refused = archives.fixture.archiver(&ledger).plan(&forced());
        assert!(matches!(refused, Err(ArchiverError::Kept(ManifestFolderError::Lost { .. }))), "{refused:?}");
        // Once the archive is there again, so are the events, by the same handle.
        fs::write(archives.stored(index), stored).unwrap();
        assert!(seen(&ledger, 3_000).unwrap() == archives.events);
        assert_eq!(fs::read(archives.kept(index)).unwrap(), kept);
        ledger.close().unwrap();
    }
}

/// A frame that ends with its archive is whole, whatever is lost behind it.
#[test]
fn a_frame_before_what_is_lost_is_read() {
    let fixture = ArchiveFixture::new();
    for from in [1, 401] {
        let ledger = fixture.open();
        (from..from + 400).for_each(|number| fixture.fill_one(&ledger, number));
        ledger.close().unwrap();
    }
    let ledger = fixture.open();
    fixture.fill(&ledger, 1_000, 200);
    wait_until(|| ledger.status().is_proven && ledger.status().heads.size > 900);
    let run =
        |rules| ArchiveRun { rules, pace: ArchivePace::Full { threads: 2 }, release: Release::OnceProven };
    let outcome = fixture.archiver(&ledger).run(&run(Rules { archive_events: 256, ..forced() })).unwrap();
    let second = &outcome.archived[1];
    // A tree head that was signed just then may share a frame with an event at an edge, which is then lost with the rest.
    let whole = [second.range.first(), second.range.last()].map(|edge| ledger.frame_of(edge).unwrap());
    if (whole[0].first, whole[1].last) != (second.range.first(), second.range.last()) {
        ledger.close().unwrap();
        return a_frame_before_what_is_lost_is_read();
    }
    ledger.close().unwrap();
    fs::remove_file(fixture.folder.path().join("cold").join(&second.name)).unwrap();
    let kept = format!("{}.manifest", second.range.file_stem());
    fs::remove_file(fixture.ledger().join("archives").join(kept)).unwrap();
    let ledger = fixture.open();
    let mut frames = 0;
    for edge in [second.range.first().get() - 1, second.range.last().get() + 1] {
        let edge = Position::new(edge).unwrap();
        ledger
            .frames(edge, edge, &mut |_| {
                frames += 1;
                std::ops::ControlFlow::Break(())
            })
            .unwrap();
    }
    assert_eq!(frames, 2);
    assert!(ledger.event(second.range.first()).is_err());
}

#[test]
fn archiving_puts_back_what_is_lost_before_it_goes_on() {
    let archives = ReleasedLedger::new();
    let kept: Vec<_> = (0..4).map(|index| fs::read(archives.kept(index)).unwrap()).collect();
    archives.flip(1);
    fs::remove_file(archives.kept(3)).unwrap();
    let ledger = archives.fixture.open();
    archives.fixture.archiver(&ledger).plan(&forced()).unwrap();
    assert!(!fs::exists(archives.kept(3)).unwrap(), "a plan changes nothing");
    let outcome = archives.fixture.archive_all(&ledger);
    assert!(outcome.archived.iter().all(|one| one.range.first() > archives.range(3).last()), "{outcome:?}");
    for (index, kept) in kept.iter().enumerate() {
        assert!(fs::read(archives.kept(index)).unwrap() == *kept, "{index}");
    }
    assert!(seen(&ledger, 3_000).unwrap() == archives.events);
}

/// Also a signature of the ledger's is not enough: what comes back has to be of this history.
#[test]
fn what_is_of_another_history_does_not_come_back() {
    let archives = ReleasedLedger::new();
    let begins = |index: usize| archives.range(index).first();
    // With a generation before it that is later, and with segments that begin otherwise.
    for (index, generation) in [(1, Generation(2)), (3, Generation::FIRST), (1, Generation::FIRST)] {
        let stored = fs::read(archives.stored(index)).unwrap();
        let (fixture, name) = (&archives.fixture, &archives.archived[index].name);
        let (bytes, name) = packed_again(fixture, &fixture.objects, (name, generation), |facts| {
            let hash = ChainHash([7; 32]);
            if generation == Generation::FIRST {
                facts.segments.last_mut().unwrap().hash = hash;
            }
        });
        fs::remove_file(archives.stored(index)).unwrap();
        let path = fixture.folder.path().join("cold").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::remove_file(archives.kept(index)).unwrap();
        let Err(ReadError::Archive(error)) = archives.read_and_close() else {
            panic!("taken for the ledger's")
        };
        assert_eq!(error.first, begins(index), "{error}");
        assert!(!fs::exists(archives.kept(index)).unwrap());
        fs::remove_file(path).unwrap();
        fs::write(archives.stored(index), stored).unwrap();
        assert!(archives.read_and_close().unwrap() == archives.events);
    }
}
