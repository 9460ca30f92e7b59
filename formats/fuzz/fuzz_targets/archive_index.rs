//! Any bytes are a piece of an archive's index, or its times, or a typed error.
//!
//! A look-up in a piece names groups that exist, in order.
#![no_main]

use bitacora_archive_format::{ArchiveHeader, ArchiveKey, ArchiveLabel, GroupTimes, IndexShard};
use bitacora_formats::{Generation, LedgerId, Micros};
use bitacora_formats_fuzz::{assert_one_line, sealed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let groups = usize::from(bytes.last().copied().unwrap_or(3)) + 1;
    for groups in [1, 3, groups] {
        match GroupTimes::parse(bytes, groups) {
            Err(error) => assert_one_line(&error),
            Ok(times) => {
                assert_eq!(times.all().len(), groups);
                assert!(times.all().is_sorted());
                for (first, last) in times.all() {
                    assert!(!times.groups_between(*first, *last).is_empty());
                }
                assert_eq!(times.groups_between(Micros(0), Micros(u64::MAX)), 0..groups);
            }
        }
        for shards in [1, 4] {
            ask(bytes, shards, groups);
        }
    }
});

fn ask(bytes: &[u8], shards: usize, groups: usize) {
    let shard = match IndexShard::parse(bytes, shards, groups) {
        Err(error) => return assert_one_line(&error),
        Ok(shard) => shard,
    };
    let header = ArchiveHeader { ledger: LedgerId([0xA0; 16]), generation: Generation(1), first: 1 };
    let key = ArchiveKey::new(&sealed::key(), header);
    for value in ["", "x.noted", "c17"] {
        let term = key.terms().term(ArchiveLabel::Call, value);
        assert!(IndexShard::number_of(term, shards) < shards);
        match shard.groups_with(term) {
            Err(error) => assert_one_line(&error),
            Ok(found) => {
                assert!(found.is_sorted_by(|one, other| one < other));
                assert!(found.iter().all(|group| *group < groups));
            }
        }
    }
}
