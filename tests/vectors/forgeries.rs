//! Forgeries that a writer with the right keys must not get away with, nor one without some of them.

use crate::case::{Case, CaseEntry, ExpectedFinding, Files, NOTE, leaves, segment};
use crate::writer::{BEGAN, Footer, Frame, Header, LedgerWriter, key, note, note_of, with_checksum};

/// A forgery: its name, the kind of fault that it has to be found as, and the change that makes it.
type LedgerForgery<T> = (&'static str, &'static str, fn(&mut T));

fn invalid(name: &str, files: Files, file: &str, kind: &'static str) -> Case {
    Case::new(name, files, ExpectedFinding::invalid(file, kind))
}

/// A point of order 8: a verifier that takes it as a public key believes signatures that nobody made.
const SMALL_ORDER: [u8; 32] = [
    0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5,
    0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
];
/// No point of the curve has this y.
const NO_POINT: [u8; 32] = [2; 32];
/// The order of Ed25519's group, little-endian.
const GROUP_ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// Returns ledgers that are written in full, by every rule.
pub(crate) fn true_ones() -> Vec<Case> {
    let alone = |name: &str, writer: LedgerWriter| Case::new(name, writer.files(), ExpectedFinding::alone());
    let rotated = {
        let mut writer = LedgerWriter::begun().end(|_| {});
        writer.keys.push(key(2));
        (writer.generation, writer.epoch) = (2, 3);
        writer.at(BEGAN + 1).begin(|_| {}).frame(3, |_| {})
    };
    vec![
        alone("written-small", LedgerWriter::begun()),
        alone("written-with-a-footer", LedgerWriter::begun().frame(300, |_| {}).end(|_| {})),
        alone("written-of-two-segments", LedgerWriter::begun().begin(|_| {}).frame(1, |_| {})),
        alone("written-with-a-new-key-generation-and-epoch", rotated),
        alone("written-in-the-same-microsecond", LedgerWriter::begun().frame(1, |_| {}).end(|_| {})),
    ]
}

/// Returns forgeries of a header, in segment 2 behind a whole segment 1.
pub(crate) fn in_headers() -> Vec<Case> {
    let forgeries: [LedgerForgery<Header>; 22] = [
        ("header-of-format-2", "format", |header| header.format = 2),
        ("header-of-format-0", "header", |header| header.format = 0),
        ("header-with-a-flag", "header", |header| header.flags = 1),
        ("header-of-another-length", "corrupt", |header| header.more_bytes = 32),
        ("header-of-another-magic", "corrupt", |header| header.magic = *b"BITACSEH"),
        ("header-of-another-ledger", "header", |header| header.ledger = [0x5f; 16]),
        ("generation-goes-back", "header", |header| header.generation = 1),
        ("epoch-goes-back", "header", |header| header.epoch = 1),
        ("segment-of-another-number", "header", |header| header.number = 4),
        ("signer-not-in-the-note", "signer", |header| header.signer = 3),
        ("signer-0", "signer", |header| header.signer = 0),
        ("signer-comes-back", "signer", |header| {
            (header.signer, header.certifier) = (1, key(1));
            header.ledger_key = key(1).verifying_key().to_bytes();
        }),
        ("key-of-another-number", "signer", |header| header.signer = 1),
        ("key-that-is-not-in-the-note", "signer", |header| {
            header.certifier = key(9);
            header.ledger_key = key(9).verifying_key().to_bytes();
        }),
        ("certificate-by-another-key", "certificate", |header| header.certifier = key(9)),
        ("first-position-skips-one", "header", |header| header.first += 1),
        ("tree-size-skips-one", "header", |header| {
            header.tree_size += 1;
            header.first += 1;
        }),
        ("chain-hash-of-another-link", "chain", |header| header.previous_hash[31] ^= 1),
        ("signature-of-another-link", "chain", |header| header.previous_signature[63] ^= 1),
        ("peak-of-another-tree", "tree", |header| header.peaks[0][0] ^= 1),
        ("peak-too-many", "header", |header| header.peaks.push([0; 32])),
        ("peak-too-few", "header", |header| header.peaks.clear()),
    ];
    let mut before = LedgerWriter::begun();
    before.keys.push(key(2));
    (before.generation, before.epoch) = (2, 2);
    let before = before.end(|_| {}).begin(|_| {}).frame(1, |_| {}).end(|_| {});
    let wrong = forgeries.map(|(name, kind, forge)| {
        let files = before.clone().begin(forge).frame(1, |_| {}).end(|_| {}).files();
        invalid(name, files, &segment(3), kind)
    });
    let firsts: [LedgerForgery<Header>; 5] = [
        ("first-header-on-a-hash", "chain", |header| header.previous_hash[0] = 1),
        ("first-header-on-a-signature", "chain", |header| header.previous_signature[0] = 1),
        ("first-header-on-a-tree", "header", |header| (header.tree_size, header.peaks) = (1, vec![[1; 32]])),
        ("first-header-of-segment-2", "header", |header| header.number = 2),
        ("first-header-from-position-2", "header", |header| header.first = 2),
    ];
    let first = firsts.map(|(name, kind, forge)| {
        let files = LedgerWriter::not_begun().begin(forge).frame(1, |_| {}).end(|_| {}).files();
        invalid(name, files, &segment(1), kind)
    });
    wrong.into_iter().chain(first).collect()
}

/// Returns forgeries of a frame, with one before it and one behind it.
pub(crate) fn in_frames() -> Vec<Case> {
    let forgeries: [LedgerForgery<Frame>; 25] = [
        ("frame-of-format-2", "format", |frame| frame.format = 2),
        ("frame-of-format-0", "frame", |frame| frame.format = 0),
        ("frame-of-another-magic", "corrupt", |frame| frame.magic = *b"BITG"),
        ("frame-with-a-flag", "frame", |frame| frame.flags = 1),
        ("frame-with-something-reserved", "frame", |frame| frame.reserved = 1),
        ("frame-of-codec-3", "frame", |frame| frame.codec = 3),
        ("frame-number-skips-one", "frame", |frame| frame.number += 1),
        ("frame-number-twice", "frame", |frame| frame.number -= 1),
        ("frame-of-no-event", "frame", |frame| frame.count = 0),
        ("frame-of-too-many-events", "frame", |frame| frame.count = 65_537),
        ("frame-of-an-empty-body", "frame", |frame| frame.body_bytes = 0),
        ("frame-of-a-body-too-large", "frame", |frame| (frame.codec, frame.body_bytes) = (1, 16_777_217)),
        ("frame-larger-sealed-than-its-body", "frame", |frame| (frame.codec, frame.body_bytes) = (1, 19)),
        ("frame-stored-in-another-size", "frame", |frame| frame.body_bytes = 21),
        ("frame-of-no-ciphertext", "corrupt", |frame| frame.sealed_bytes = 0),
        ("frame-of-too-much-ciphertext", "corrupt", |frame| frame.sealed_bytes = u32::MAX),
        ("position-twice", "position", |frame| frame.first -= 1),
        ("position-skips-one", "position", |frame| frame.first += 1),
        ("time-goes-back", "time", |frame| frame.time = BEGAN - 1),
        ("frame-on-another-hash", "chain", |frame| frame.previous_hash[0] ^= 1),
        ("frame-on-another-signature", "signature", |frame| {
            frame.previous_signature[0] ^= 1;
            // Without the key nobody can sign for the hash that a verifier makes.
        }),
        ("tree-that-does-not-grow", "tree", |frame| frame.tree_size -= 1),
        ("tree-that-grows-too-much", "tree", |frame| frame.tree_size += 1),
        ("root-that-is-not-of-the-leaves", "leaves", |frame| frame.tree_root[0] ^= 1),
        ("resealed-with-the-data-key-alone", "signature", |frame| {
            frame.ciphertext.fill(0xee);
            frame.signer = key(66);
        }),
    ];
    let forged = forgeries.map(|(name, kind, forge)| {
        let files = LedgerWriter::begun().frame(2, forge).frame(1, |_| {}).end(|_| {}).files();
        let file = if kind == "leaves" { leaves(1) } else { segment(1) };
        invalid(name, files, &file, kind)
    });
    let signed: [LedgerForgery<Frame>; 4] = [
        ("signature-of-zeros", "signature", |frame| frame.signature = Some([0; 64])),
        ("signature-of-a-small-order-point", "signature", |frame| {
            let mut signature = [0; 64];
            signature[..32].copy_from_slice(&SMALL_ORDER);
            frame.signature = Some(signature);
        }),
        ("last-frame-resealed-with-the-data-key-alone", "signature", |frame| {
            frame.ciphertext.fill(0xee);
            frame.signer = key(66);
        }),
        ("last-frame-signed-with-the-ledgers-key", "signature", |frame| frame.signer = key(1)),
    ];
    let last = signed.map(|(name, kind, forge)| {
        invalid(name, LedgerWriter::begun().frame(2, forge).files(), &segment(1), kind)
    });
    forged
        .into_iter()
        .chain(last)
        .chain([malleated(), back_in_time(), leaves_behind(), small_order_segment_key()])
        .collect()
}

/// The last signature with the group's order added to its scalar: it holds where nobody looks at that.
fn malleated() -> Case {
    let mut files = LedgerWriter::begun().frame(1, |_| {}).files();
    files.change(&segment(1), |bytes| {
        let frame = bytes.len() - 256;
        let scalar = bytes.len() - 36;
        let mut carry = 0;
        for (byte, order) in bytes[scalar..scalar + 32].iter_mut().zip(GROUP_ORDER) {
            let sum = u16::from(*byte) + u16::from(order) + carry;
            (*byte, carry) = (sum.to_le_bytes()[0], sum >> 8);
        }
        let body = bytes[frame..bytes.len() - 4].to_vec();
        bytes.truncate(frame);
        bytes.extend(with_checksum(body));
    });
    invalid("signature-with-another-scalar", files, &segment(1), "signature")
}

/// Leaves that go on behind a segment that another one follows, though it has no footer.
fn leaves_behind() -> Case {
    let mut files = LedgerWriter::begun().begin(|_| {}).frame(1, |_| {}).files();
    files.change(&leaves(1), |leaves| leaves.extend([7; 40]));
    invalid("leaf-too-many-in-a-segment-without-footer", files, &leaves(1), "leaves")
}

/// Time that goes back from one segment to the next.
fn back_in_time() -> Case {
    let writer = LedgerWriter::begun().end(|_| {}).at(BEGAN - 1).begin(|_| {}).frame(1, |_| {});
    invalid("time-goes-back-between-segments", writer.files(), &segment(2), "time")
}

/// The identity as a segment's key: where small orders are not refused, one signature holds for every message.
fn small_order_segment_key() -> Case {
    let (mut key, mut signature) = ([0; 32], [0; 64]);
    (key[0], signature[0]) = (1, 1);
    let writer = LedgerWriter::not_begun().begin(|header| header.segment_key = key);
    let files = writer.frame(1, |frame| frame.signature = Some(signature)).files();
    invalid("segment-key-of-small-order", files, &segment(1), "signature")
}

/// Returns forgeries of a footer.
pub(crate) fn in_footers() -> Vec<Case> {
    let forgeries: [LedgerForgery<Footer>; 12] = [
        ("footer-of-format-2", "format", |footer| footer.format = 2),
        ("footer-of-format-0", "footer", |footer| footer.format = 0),
        ("footer-with-a-flag", "footer", |footer| footer.flags = 1),
        ("footer-of-more-frames", "footer", |footer| footer.frames += 1),
        ("footer-from-another-position", "footer", |footer| footer.first += 1),
        ("footer-to-another-position", "footer", |footer| footer.last += 1),
        ("footer-of-another-tree-size", "footer", |footer| footer.tree_size += 1),
        ("footer-of-another-root", "footer", |footer| footer.tree_root[0] ^= 1),
        ("footer-of-another-first-time", "footer", |footer| footer.first_time -= 1),
        ("footer-of-another-last-time", "footer", |footer| footer.last_time += 1),
        ("footer-on-another-hash", "footer", |footer| footer.previous_hash[0] ^= 1),
        ("footer-by-another-key", "signature", |footer| footer.signer = key(66)),
    ];
    let forged = forgeries.map(|(name, kind, forge)| {
        invalid(name, LedgerWriter::begun().frame(2, |_| {}).end(forge).files(), &segment(1), kind)
    });
    let twice = LedgerWriter::begun().end(|_| {}).end(|_| {}).files();
    let alone = LedgerWriter::not_begun().begin(|_| {});
    let more = [
        invalid("footer-twice", twice, &segment(1), "behind-footer"),
        invalid(
            "frame-behind-a-footer",
            LedgerWriter::begun().end(|_| {}).frame(1, |_| {}).files(),
            &segment(1),
            "behind-footer",
        ),
        invalid("footer-without-frames", alone.clone().end(|_| {}).files(), &segment(1), "footer"),
        invalid("header-alone", alone.files(), &segment(1), "no-frame"),
    ];
    forged.into_iter().chain(more).collect()
}

/// Notes of signing keys that are not what they must be, beside a ledger that is.
pub(crate) fn in_notes() -> Vec<Case> {
    let whole = LedgerWriter::begun().files();
    let text = note(&[key(1), key(2)]);
    let first = note(&[key(1)]);
    let endorsed_by_another = first.clone() + note(&[key(3), key(2)]).lines().last().unwrap() + "\n";
    let capitals = first[..first.len() - 65].to_owned() + &first[first.len() - 65..].to_uppercase();
    // A later key that nothing was signed with yet; the one before endorses whatever it is told.
    let no_point = note_of(&[key(1).verifying_key().to_bytes(), NO_POINT], &[key(1)]);
    let small_order = note_of(&[key(1).verifying_key().to_bytes(), SMALL_ORDER], &[key(1)]);
    let cases = [
        ("note-of-another-ledger", "signer", note(&[key(9)])),
        ("note-empty", "note", String::new()),
        ("note-without-keys", "note", "bitacora-signing-keys v1\n".into()),
        ("note-of-version-2", "note", first.replace("v1", "v2")),
        ("note-without-the-last-newline", "note", first.trim_end().into()),
        ("note-with-an-empty-line", "note", first.clone() + "\n"),
        ("note-with-a-carriage-return", "note", first.replace('\n', "\r\n")),
        ("note-with-two-spaces", "note", first.replace("key 1 ", "key 1  ")),
        ("note-in-capitals", "note", capitals),
        ("note-from-key-0", "note", first.replace("key 1 ", "key 0 ")),
        ("note-with-a-leading-zero", "note", first.replace("key 1 ", "key 01 ")),
        ("note-that-skips-a-key", "note", text.replace("key 2 ", "key 3 ")),
        ("note-with-a-key-twice", "note", text.clone() + text.lines().last().unwrap() + "\n"),
        ("note-endorsed-by-another-key", "endorsement", endorsed_by_another),
        ("note-without-an-endorsement", "note", text[..text.len() - 130].to_owned() + "\n"),
        ("note-with-a-small-order-key", "note", small_order),
        ("note-with-a-key-that-is-no-point", "note", no_point),
        ("note-that-is-not-ascii", "note", first.replace("v1", "v\u{661}")),
        ("note-with-more-behind", "note", first + "check 00\n"),
    ];
    let changed = cases.into_iter().map(|(name, kind, text)| {
        let mut files = whole.clone();
        files.set(NOTE, text.into_bytes());
        invalid(name, files, NOTE, kind)
    });
    let mut large = whole.clone();
    large.put(NOTE, CaseEntry::Zeros(1024 * 1024 * 1024));
    changed.chain([invalid("note-of-a-gigabyte", large, NOTE, "size")]).collect()
}
