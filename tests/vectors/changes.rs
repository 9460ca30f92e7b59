//! Changes of whole files: removed, doubled, swapped, brought from elsewhere, or replaced by no file.

use std::ops::Range;

use bitacora_formats::{FOOTER_BYTES, FrameHeader, SegmentHeader};

use crate::case::{Case, CaseEntry, ExpectedFinding, Files, LEVEL, NOTE, leaves, segment};
use crate::real;
use crate::writer::{LedgerWriter, key, note};

fn invalid(name: &str, files: Files, file: &str, kind: &'static str) -> Case {
    Case::new(name, files, ExpectedFinding::invalid(file, kind))
}

/// Returns the ranges of a segment's frames.
pub(crate) fn frames(segment: &[u8]) -> Vec<Range<usize>> {
    let mut begin = SegmentHeader::parse(segment).unwrap().stored_bytes();
    let mut found = Vec::new();
    while let Ok(header) = FrameHeader::parse(&segment[begin..]) {
        let end = begin + header.stored_bytes();
        found.push(begin..end);
        begin = end;
    }
    found
}

/// Segments that are not where they were.
pub(crate) fn of_segments() -> Vec<Case> {
    let (whole, other) = (real::several_segments(), real::several_segments());
    let with = |change: &dyn Fn(&mut Files)| {
        let mut files = whole.clone();
        change(&mut files);
        files
    };
    let bytes = |number: u32| whole.bytes(&segment(number)).to_vec();
    let zeros = |length: u64| CaseEntry::Zeros(length);
    vec![
        invalid("segment-removed", with(&|files| files.remove(&segment(2))), &segment(2), "missing"),
        invalid("first-segment-removed", with(&|files| files.remove(&segment(1))), &segment(1), "missing"),
        invalid(
            "all-segments-removed",
            with(&|files| files.0.retain(|name, _| !name.starts_with("segments/"))),
            &segment(1),
            "missing",
        ),
        invalid("segment-doubled", with(&|files| files.set(&segment(5), bytes(4))), &segment(5), "header"),
        invalid(
            "segments-swapped",
            with(&|files| {
                files.set(&segment(2), bytes(3));
                files.set(&segment(3), bytes(2));
            }),
            &segment(2),
            "header",
        ),
        invalid(
            "segment-of-another-ledger",
            with(&|files| files.set(&segment(2), other.bytes(&segment(2)).to_vec())),
            &segment(2),
            "header",
        ),
        invalid(
            "all-segments-of-another-ledger",
            with(&|files| (1..=4).for_each(|n| files.set(&segment(n), other.bytes(&segment(n)).to_vec()))),
            NOTE,
            "signer",
        ),
        invalid("segment-blank", with(&|files| files.put(&segment(2), zeros(5_000))), &segment(2), "blank"),
        invalid("segment-empty", with(&|files| files.put(&segment(2), zeros(0))), &segment(2), "blank"),
        invalid(
            "nothing-but-blank-segments",
            with(&|files| (1..=4).for_each(|number| files.put(&segment(number), zeros(5_000)))),
            &segment(1),
            "missing",
        ),
        invalid(
            "segment-longer-than-any",
            with(&|files| files.put(&segment(5), zeros(64 * 1024 * 1024 + 1))),
            &segment(5),
            "size",
        ),
        invalid(
            "segment-behind-a-hole",
            with(&|files| files.set("segments/4294967295.seg", bytes(2))),
            &segment(5),
            "missing",
        ),
        invalid(
            "zeros-behind-a-hole",
            with(&|files| files.put("segments/0000009999.seg", zeros(65_536))),
            &segment(5),
            "missing",
        ),
        invalid(
            "nothing-behind-a-hole",
            with(&|files| files.put(&segment(6), zeros(0))),
            &segment(5),
            "missing",
        ),
        invalid(
            "zeros-behind-a-hole-and-behind-the-last-segment",
            with(&|files| {
                files.put(&segment(5), zeros(65_536));
                files.put(&segment(7), zeros(65_536));
            }),
            &segment(6),
            "missing",
        ),
        invalid(
            "last-segment-removed-and-the-next-one-made-ahead",
            with(&|files| {
                files.remove(&segment(4));
                files.put(&segment(5), zeros(65_536));
            }),
            &segment(4),
            "missing",
        ),
        invalid(
            "first-segment-blank-before-a-hole",
            with(&|files| {
                files.put(&segment(1), zeros(5_000));
                files.remove(&segment(2));
            }),
            &segment(2),
            "missing",
        ),
    ]
}

/// Frames that are not where they were.
pub(crate) fn of_frames() -> Vec<Case> {
    let (whole, other) = (real::several_segments(), real::several_segments());
    let name = segment(2);
    let bytes = whole.bytes(&name).to_vec();
    let places = frames(&bytes);
    assert!(places.len() >= 3, "segment 2 holds the opening and two requests");
    let rebuilt = |pieces: &[&[u8]]| {
        let mut files = whole.clone();
        let footer = &bytes[bytes.len() - FOOTER_BYTES..];
        files.set(&name, [&bytes[..places[0].start], &pieces.concat(), footer].concat());
        files
    };
    let [first, second, third] = [0, 1, 2].map(|n: usize| &bytes[places[n].clone()]);
    let theirs = &other.bytes(&name)[frames(other.bytes(&name))[1].clone()];
    let case = |case: &str, pieces: &[&[u8]], kind| invalid(case, rebuilt(pieces), &name, kind);
    vec![
        case("frame-removed", &[first, third], "frame"),
        case("first-frame-removed", &[second, third], "frame"),
        case("last-frame-removed", &[first, second], "footer"),
        case("frame-doubled", &[first, second, second, third], "frame"),
        case("frames-swapped", &[first, third, second], "frame"),
        case("frame-of-another-ledger", &[first, theirs, third], "chain"),
        case("zeros-between-frames", &[first, &[0; 64], second, third], "corrupt"),
        case("no-frame", &[], "footer"),
    ]
}

/// Leaves and the stored level.
pub(crate) fn of_the_tree() -> Vec<Case> {
    let (whole, other) = (real::two_groups(), real::two_groups());
    let with = |change: &dyn Fn(&mut Files)| {
        let mut files = whole.clone();
        change(&mut files);
        files
    };
    let bytes = |number: u32| whole.bytes(&leaves(number)).to_vec();
    let in_leaves =
        |name: &str, change: &dyn Fn(&mut Files)| invalid(name, with(change), &leaves(2), "leaves");
    let in_level = |name: &str, change: &dyn Fn(&mut Files)| invalid(name, with(change), LEVEL, "level");
    vec![
        in_leaves("leaves-swapped", &|files| {
            files.set(&leaves(2), bytes(3));
            files.set(&leaves(3), bytes(2));
        }),
        in_leaves("leaves-of-another-ledger", &|files| {
            files.set(&leaves(2), other.bytes(&leaves(2)).to_vec());
        }),
        in_leaves("leaves-of-another-ledger-under-this-header", &|files| {
            files.set(&leaves(2), [&bytes(2)[..40], &other.bytes(&leaves(2))[40..]].concat());
        }),
        in_leaves("leaf-too-many", &|files| files.change(&leaves(2), |leaves| leaves.extend([7; 40]))),
        in_leaves("leaf-too-many-of-zeros", &|files| {
            files.change(&leaves(2), |leaves| leaves.extend([0; 40]));
        }),
        in_leaves("leaves-with-one-byte-more", &|files| files.change(&leaves(2), |leaves| leaves.push(0))),
        in_leaves("leaf-doubled", &|files| {
            files.change(&leaves(2), |leaves| leaves.copy_within(80..120, 120));
        }),
        in_leaves("leaves-swapped-within-a-frame", &|files| {
            files.change(&leaves(2), |leaves| leaves[120..200].rotate_left(40));
        }),
        in_leaves("leaf-removed", &|files| files.change(&leaves(2), |leaves| drop(leaves.drain(80..120)))),
        in_leaves("leaves-emptied-before-an-opening", &|files| files.set(&leaves(2), Vec::new())),
        in_leaves("leaves-cut-in-the-header-before-an-opening", &|files| {
            files.change(&leaves(2), |leaves| leaves.truncate(39));
        }),
        in_leaves("leaves-cut-before-an-opening", &|files| {
            files.change(&leaves(2), |leaves| leaves.truncate(95));
        }),
        in_leaves("leaves-of-zeros-before-an-opening", &|files| {
            files.change(&leaves(2), |leaves| leaves[40..].fill(0));
        }),
        in_leaves("last-leaf-of-zeros-before-an-opening", &|files| {
            files.change(&leaves(2), |leaves| leaves.iter_mut().rev().take(40).for_each(|byte| *byte = 0));
        }),
        in_leaves("leaves-of-zeros-with-the-header", &|files| {
            files.change(&leaves(2), |leaves| leaves.fill(0));
        }),
        in_leaves("leaves-of-zeros-before-others", &|files| {
            files.change(&leaves(2), |leaves| leaves[40..4000].fill(0));
        }),
        in_level("level-cut-before-its-first-root", &|files| files.change(LEVEL, |level| level.truncate(32))),
        in_level("level-cut-within-its-first-root", &|files| files.change(LEVEL, |level| level.truncate(63))),
        in_level("level-cut-within-its-header", &|files| files.change(LEVEL, |level| level.truncate(31))),
        in_level("level-empty", &|files| files.set(LEVEL, Vec::new())),
        in_level("first-root-of-zeros-before-an-opening", &|files| {
            files.change(LEVEL, |level| level[32..].fill(0));
        }),
        invalid(
            "level-of-another-ledger",
            with(&|files| files.set(LEVEL, other.bytes(LEVEL).to_vec())),
            LEVEL,
            "level",
        ),
    ]
}

/// Zeros without end, which nobody reads to their end.
pub(crate) fn of_endless_zeros() -> Vec<Case> {
    const TERABYTES_8: u64 = 8 << 40;
    let whole = real::two_groups();
    let endless = |name: &str, kept: usize| {
        let mut files = whole.clone();
        let bytes = files.bytes(name)[..kept].to_vec();
        files.put(name, CaseEntry::Sparse(bytes, TERABYTES_8));
        files
    };
    let all = |name: &str| whole.bytes(name).len();
    let name = leaves(2);
    vec![
        invalid("endless-zeros-from-a-leaf-on", endless(&name, 80), &name, "leaves"),
        invalid("endless-zeros-behind-the-leaves", endless(&name, all(&name)), &name, "leaves"),
        invalid("endless-zeros-from-the-first-group-on", endless(LEVEL, 32), LEVEL, "level"),
        Case::new("endless-zeros-from-the-second-group-on", endless(LEVEL, 64), ExpectedFinding::alone()),
        Case::new("endless-zeros-behind-the-level", endless(LEVEL, all(LEVEL)), ExpectedFinding::alone()),
    ]
}

/// Things that are no files, or files that lie elsewhere.
pub(crate) fn of_what_is_no_file() -> Vec<Case> {
    let whole = real::several_segments();
    let mut cases = Vec::new();
    for (what, name) in
        [("segment", segment(2)), ("last-segment", segment(4)), ("leaves", leaves(2)), ("note", NOTE.into())]
    {
        for (kind, entry) in [
            ("folder", CaseEntry::Folder),
            ("pipe", CaseEntry::Pipe),
            ("link-to-itself", CaseEntry::Link(name.rsplit('/').next().unwrap().to_owned())),
            ("link-to-nothing", CaseEntry::Link("/nothing/here".to_owned())),
            ("link-to-a-device", CaseEntry::Link("/dev/zero".to_owned())),
        ] {
            let mut files = whole.clone();
            files.put(&name, entry);
            cases.push(Case::new(format!("{what}-is-a-{kind}"), files, ExpectedFinding::incomplete()));
        }
        // The bytes are the right ones, wherever they lie.
        let mut files = whole.clone();
        let bytes = files.bytes(&name).to_vec();
        files.set("elsewhere", bytes);
        let up = if name.contains('/') { "../elsewhere" } else { "elsewhere" };
        files.put(&name, CaseEntry::HardLink("elsewhere".into()));
        cases.push(Case::new(format!("{what}-is-a-hard-link"), files.clone(), ExpectedFinding::alone()));
        files.put(&name, CaseEntry::Link(up.into()));
        cases.push(Case::new(
            format!("{what}-is-a-link-to-the-same-bytes"),
            files,
            ExpectedFinding::incomplete(),
        ));
    }
    let mut doubled = whole.clone();
    doubled.put(&segment(3), CaseEntry::HardLink(segment(2)));
    cases.push(invalid("segment-is-a-hard-link-to-another", doubled, &segment(3), "header"));
    let mut without_note = whole.clone();
    without_note.remove(NOTE);
    cases.push(Case::new("note-removed", without_note, ExpectedFinding::incomplete()));
    cases.push(invalid("nothing-at-all", Files::default(), &segment(1), "missing"));
    cases
}

/// A ledger whose every event is by a writer that was given another note: what it says of itself holds, and is not this ledger.
pub(crate) fn of_the_note() -> Vec<Case> {
    let mut files = LedgerWriter::begun().files();
    files.set(NOTE, note(&[key(1), key(2)]).into_bytes());
    vec![Case::new("note-with-a-key-not-used-yet", files, ExpectedFinding::alone())]
}
