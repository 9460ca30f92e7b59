use ed25519_dalek::Signer;

use super::*;
use crate::{KeyUse, chain_hasher};
use bitacora_testkit::{hex_block, text_block};

const DOCUMENT: &str = include_str!("../../../docs/formats/keyring.md");

/// Bytes 0, 1, 2 … for ever: different at every draw, the same in every run.
fn counting() -> impl FnMut(&mut [u8]) {
    let mut next = 0_u8;
    move |bytes| {
        bytes.fill_with(|| {
            next = next.wrapping_add(1);
            next.wrapping_sub(1)
        });
    }
}

fn rotated() -> Keyring {
    let mut random = counting();
    let mut keyring = Keyring::generate(&mut random);
    keyring.rotate_encryption(&mut random).unwrap();
    keyring.rotate_signing(&mut random).unwrap();
    keyring
}

/// The text with one line replaced and the check made right again, so that only the line itself is wrong.
fn with_line(text: &str, number: usize, line: &str) -> String {
    let mut lines: Vec<_> = text.lines().collect();
    lines[number - 1] = line;
    checked(&lines)
}

fn checked(lines: &[&str]) -> String {
    let mut text: String =
        lines.iter().filter(|line| !line.starts_with("check ")).flat_map(|line| [*line, "\n"]).collect();
    let check = chain_hasher(KeyUse::KeyringCheck).update(text.as_bytes()).finalize();
    text.push_str(&format!("check {check}\n"));
    text
}

fn problem(text: &str) -> (usize, LineProblem) {
    match Keyring::parse(text) {
        Err(KeyringError::Line { line, problem }) => (line, problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_document_shows_this_keyring_and_its_note() {
    let keyring = rotated();
    assert_eq!(keyring.to_text().as_str(), text_block(DOCUMENT, 0));
    assert_eq!(keyring.signing_chain_note(), text_block(DOCUMENT, 1));
    assert_eq!(Keyring::parse(text_block(DOCUMENT, 0)).unwrap().to_text().as_str(), text_block(DOCUMENT, 0));
    let chain = parse_signing_chain(text_block(DOCUMENT, 1)).unwrap();
    assert_eq!(&chain, keyring.signing_chain());

    let hash = blake3::derive_key(KeyUse::SigningKeyEndorsement.context(), &hex_block(DOCUMENT, 0));
    assert_eq!(hex::encode(hash), hex::encode(hex_block(DOCUMENT, 1)));
    let line = text_block(DOCUMENT, 0).lines().find(|line| line.starts_with("signing-key 2 ")).unwrap();
    let endorsement: crate::Signature = line.split(' ').next_back().unwrap().parse().unwrap();
    let signature = ed25519_dalek::Signature::from_bytes(&endorsement.0);
    assert!(chain.key(1).unwrap().verify_strict(&hash, &signature).is_ok());
}

#[test]
fn rotation_applies_forward_and_keeps_what_reading_needs() {
    let mut random = counting();
    let mut keyring = Keyring::generate(&mut random);
    let (first_id, first_key) = (keyring.active_kek().0, keyring.active_kek().1.clone());
    let first_public = keyring.signing().public;
    let second_id = keyring.rotate_encryption(&mut random).unwrap();
    assert_eq!(keyring.rotate_signing(&mut random), Ok(2));
    let keyring = Keyring::parse(&keyring.to_text()).unwrap();
    assert_eq!((keyring.active_kek().0, keyring.kek(first_id)), (second_id, Some(&first_key)));
    assert_eq!(keyring.kek(KekId([0xee; 8])), None);
    let chain = keyring.signing_chain();
    assert_eq!(chain.key(1).unwrap().to_bytes(), first_public);
    assert_eq!(chain.key(2).unwrap().to_bytes(), keyring.signing().public);
    assert_eq!((chain.key(0), chain.key(3), chain.key(u32::MAX)), (None, None, None));
    let signature = keyring.signing().key.sign(b"x");
    assert!(chain.key(keyring.signing().index).unwrap().verify_strict(b"x", &signature).is_ok());
}

#[test]
fn the_private_half_of_a_retired_signing_key_is_gone() {
    let mut random = counting();
    let mut keyring = Keyring::generate(&mut random);
    let seed = hex::encode(keyring.signing().key.as_bytes());
    assert!(keyring.to_text().contains(&seed));
    keyring.rotate_signing(&mut random).unwrap();
    assert!(!keyring.to_text().contains(&seed));
}

#[test]
fn a_full_keyring_reads_back_and_takes_no_more() {
    let mut random = counting();
    let mut draws = 0_u64;
    let mut distinct = |bytes: &mut [u8]| {
        random(bytes);
        draws += 1;
        bytes[..8].copy_from_slice(&draws.to_le_bytes());
    };
    let mut keyring = Keyring::generate(&mut distinct);
    for _ in 1..MAX_KEYS {
        keyring.rotate_encryption(&mut distinct).unwrap();
        keyring.rotate_signing(&mut distinct).unwrap();
    }
    assert_eq!(keyring.rotate_encryption(&mut distinct), Err(KeyringError::Full { max: MAX_KEYS }));
    assert_eq!(keyring.rotate_signing(&mut distinct), Err(KeyringError::Full { max: MAX_KEYS }));
    let text = keyring.to_text();
    assert_eq!(Keyring::parse(&text).unwrap().to_text(), text);

    let lines: Vec<_> = text.lines().collect();
    let extra = format!("encryption-key {} {}", "f".repeat(16), "0".repeat(64));
    let overfull = checked(&[&lines[..2], &[&extra], &lines[2..]].concat());
    assert_eq!(problem(&overfull), (MAX_KEYS + 2, LineProblem::TooMany { max: MAX_KEYS }));
}

#[test]
fn randomness_that_repeats_itself_is_refused() {
    let mut stuck = |bytes: &mut [u8]| bytes.fill(7);
    let mut keyring = Keyring::generate(&mut stuck);
    let text = keyring.to_text();
    assert_eq!(keyring.rotate_encryption(&mut stuck), Err(KeyringError::NotRandom));
    assert_eq!(keyring.rotate_signing(&mut stuck), Err(KeyringError::NotRandom));
    assert_eq!(keyring.to_text(), text);
}

#[test]
fn an_age_file_says_so() {
    for text in ["age-encryption.org/v1\n-> scrypt", "-----BEGIN AGE ENCRYPTED FILE-----\n"] {
        assert!(matches!(Keyring::parse(text), Err(KeyringError::AgeFile)), "{text}");
    }
    assert!(!Keyring::is_age_file(text_block(DOCUMENT, 0).as_bytes()));
}

#[test]
fn what_is_no_keyring_at_all_says_so() {
    for text in
        ["", "\n", "bitacora-keyring v1", "bitacora-signing-keys v1\n", "\u{feff}bitacora-keyring v1\n"]
    {
        assert_eq!(Keyring::parse(text).err(), Some(KeyringError::NotAKeyring), "{text:?}");
    }
    assert_eq!(Keyring::parse("bitacora-keyring v3\n").err(), Some(KeyringError::UnknownVersion));
    let long = format!("{}{}", text_block(DOCUMENT, 0), "\n".repeat(MAX_KEYRING_BYTES));
    assert_eq!(Keyring::parse(&long).err(), Some(KeyringError::TooLong { max_bytes: MAX_KEYRING_BYTES }));
}

#[test]
fn each_wrong_line_is_named_with_what_is_wrong() {
    use LineProblem::*;
    let good = text_block(DOCUMENT, 0);
    let lines: Vec<_> = good.lines().collect();
    let missing = |number: usize| checked(&[&lines[..number - 1], &lines[number..]].concat());
    let form = |words: &str| (words.to_owned(), Form { form: "<keyword> <64 digits>" });
    let other_public = hex::encode(SigningKey::from_bytes(&[9; 32]).verifying_key().to_bytes());
    let (genesis, successor) = (lines[5], lines[6]);

    assert_eq!(problem(&with_line(good, 4, "colour blue")), (4, Unknown), "unknown line");
    assert_eq!(problem(&with_line(good, 4, "")), (4, Unknown), "blank line");
    assert_eq!(problem(&missing(5)), (5, Missing { keyword: "derived-state-key" }), "missing line");
    assert_eq!(
        problem(&checked(&lines[..1])),
        (2, Missing { keyword: "encryption-key" }),
        "nothing but a check"
    );
    assert_eq!(problem(&lines[..2].join("\n")), (2, Unterminated), "cut in a line");
    assert_eq!(
        problem(&format!("{}\n", lines[..8].join("\n"))),
        (9, Missing { keyword: "check" }),
        "cut at a line"
    );
    assert_eq!(problem(good.trim_end()), (9, Unterminated), "no newline after the check");
    assert_eq!(problem(&with_line(good, 4, &format!("blinding-key {}", "a".repeat(300)))).0, 4);
    let too_long = with_line(good, 4, &format!("blinding-key {}", "a".repeat(MAX_LINE_BYTES)));
    assert_eq!(problem(&too_long), (4, TooLong { max_bytes: MAX_LINE_BYTES }), "over-long line");
    let twice = with_line(good, 3, &format!("encryption-key {} {}", &lines[1][15..31], "0".repeat(64)));
    assert_eq!(problem(&twice), (3, DuplicateId), "duplicate id");
    assert_eq!(
        problem(&with_line(good, 7, &successor.replacen(" 2 ", " 3 ", 1))),
        (7, Index { expected: 2 })
    );
    assert_eq!(problem(&missing(7)), (7, Seed), "the active signing key is missing");
    assert_eq!(problem(&missing(6)).0, 6, "the first signing key is missing");
    let swapped = with_line(good, 6, &format!("signing-key 1 {other_public}"));
    assert_eq!(problem(&swapped), (7, Endorsement), "endorsed by another key");
    let weak = with_line(good, 6, &format!("signing-key 1 {}{}", "01", "0".repeat(62)));
    assert_eq!(problem(&weak), (6, PublicKey), "a key of small order");
    let seed = with_line(good, 8, &format!("signing-seed {}", "0".repeat(64)));
    assert_eq!(problem(&seed), (8, Seed), "the seed of another key");
    let check = good.replace(lines[8], &format!("check {}", "0".repeat(64)));
    assert_eq!(problem(&check), (9, Check), "wrong check");
    assert_eq!(problem(&format!("{good}\n")), (10, AfterEnd), "a line after the check");
    assert_eq!(
        problem(&good.replace('\n', "\r\n").replacen('\r', "", 1)).0,
        2,
        "line ends of another system"
    );
    let (key, problem_of_key) = form("blinding-key ");
    for digits in ["", &"a".repeat(63), &"a".repeat(65), &"A".repeat(64), &"g".repeat(64), &" a".repeat(32)] {
        assert_eq!(
            problem(&with_line(good, 4, &format!("{key}{digits}"))),
            (4, problem_of_key),
            "{digits:?}"
        );
    }
    assert_eq!(problem(&with_line(good, 6, &genesis.replacen(" 1 ", " 01 ", 1))).0, 6, "a padded index");
}

#[test]
fn no_single_changed_or_missing_byte_is_accepted() {
    let good = text_block(DOCUMENT, 0);
    for at in 0..good.len() {
        let mut bytes = good.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
        assert!(Keyring::parse(std::str::from_utf8(&bytes).unwrap()).is_err(), "byte {at} changed");
        bytes.remove(at);
        assert!(Keyring::parse(std::str::from_utf8(&bytes).unwrap()).is_err(), "byte {at} missing");
        assert!(Keyring::parse(&good[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn a_note_that_does_not_prove_its_keys_is_refused() {
    let good = text_block(DOCUMENT, 1);
    let lines: Vec<_> = good.lines().collect();
    let refused = |text: &str| parse_signing_chain(text).unwrap_err();
    let at = |line, problem| SigningChainError::Line { line, problem };
    assert_eq!(refused(""), SigningChainError::NotANote);
    assert_eq!(refused("bitacora-signing-keys v1\n"), at(2, LineProblem::Missing { keyword: "signing-key" }));
    assert_eq!(refused(&format!("{good}more\n")), at(4, LineProblem::Unknown));
    assert_eq!(refused(&lines[..3].join("\n")), at(3, LineProblem::Unterminated));
    assert_eq!(
        refused(&" ".repeat(MAX_KEYRING_BYTES + 1)),
        SigningChainError::TooLong { max_bytes: MAX_KEYRING_BYTES }
    );
    let mut forged = lines[2].to_owned();
    forged.replace_range(forged.len() - 1.., if forged.ends_with('0') { "1" } else { "0" });
    assert_eq!(refused(&good.replace(lines[2], &forged)), at(3, LineProblem::Endorsement));
    for byte in 0..good.len() {
        let mut bytes = good.as_bytes().to_vec();
        bytes[byte] = if bytes[byte] == b'7' { b'8' } else { b'7' };
        assert!(parse_signing_chain(std::str::from_utf8(&bytes).unwrap()).is_err(), "byte {byte}");
    }
}

#[test]
fn no_message_and_no_debug_text_holds_a_key() {
    let good = text_block(DOCUMENT, 0);
    let keyring = Keyring::parse(good).unwrap();
    let debug = format!("{keyring:?}");
    let error = Keyring::parse(&good.replace("check ", "chuck ")).unwrap_err().to_string();
    assert_eq!(
        error,
        "keyring line 9: no such line exists in this format; restore the keyring from its backup"
    );
    for line in good.lines().filter(|line| line.contains("-key ") || line.contains("seed")) {
        let secret = line.split(' ').next_back().unwrap();
        assert!(line.starts_with("signing-key") || !debug.contains(secret), "{line}");
    }
}

#[test]
fn the_document_shows_a_keyring_of_which_a_key_is_retired_and_its_offline_keyring() {
    let mut keyring = rotated();
    let first = keyring.kek_ids().next().unwrap();
    let mut offline = OfflineKeys::default();
    keyring.retire(&[first], &mut offline).unwrap();
    assert_eq!(keyring.to_text().as_str(), text_block(DOCUMENT, 2));
    assert_eq!(offline.to_text().as_str(), text_block(DOCUMENT, 3));
    let again = Keyring::parse(text_block(DOCUMENT, 2)).unwrap();
    assert_eq!(again.to_text().as_str(), text_block(DOCUMENT, 2));
    assert!(again.is_retired(first) && again.kek(first).is_none());
    let offline = OfflineKeys::parse(text_block(DOCUMENT, 3)).unwrap();
    assert_eq!(offline.to_text().as_str(), text_block(DOCUMENT, 3));
}

#[test]
fn keys_go_into_an_offline_keyring_and_come_back() {
    let (mut random, whole) = (counting(), rotated());
    let mut keyring = Keyring::parse(&whole.to_text()).unwrap();
    let (first, active) = (keyring.kek_ids().next().unwrap(), keyring.active_kek().0);
    let (key, mut offline) = (keyring.kek(first).unwrap().clone(), OfflineKeys::default());
    assert_eq!(keyring.retire(&[first, active], &mut offline), Err(RetirementError::Active { id: active }));
    let stranger = KekId([0xee; 8]);
    assert_eq!(keyring.retire(&[stranger], &mut offline), Err(RetirementError::NotHere { id: stranger }));
    assert_eq!(keyring.to_text(), whole.to_text());

    keyring.retire(&[first], &mut offline).unwrap();
    assert!(keyring.kek(first).is_none() && keyring.is_retired(first) && offline.key(first) == Some(&key));
    assert!(!keyring.to_text().contains(&hex::encode(key.expose())));
    // A crash before the keyring was written leaves the key in both; it is retired again.
    Keyring::parse(&whole.to_text()).unwrap().retire(&[first], &mut offline).unwrap();
    assert_eq!(offline.ids().collect::<Vec<_>>(), [first]);

    assert_eq!(keyring.restore(&offline), Ok(vec![first]));
    assert_eq!(keyring.restore(&offline), Ok(vec![]));
    assert_eq!(keyring.to_text(), whole.to_text());
    random(&mut [0]);
    let mut other = Keyring::generate(&mut random);
    other.rotate_encryption(&mut random).unwrap();
    let mut foreign = OfflineKeys::default();
    let theirs = other.kek_ids().next().unwrap();
    other.retire(&[theirs], &mut foreign).unwrap();
    let refused = keyring.restore(&foreign).unwrap_err();
    assert_eq!(refused, RetirementError::Foreign { id: theirs });
}

#[test]
fn a_keyring_with_retired_keys_is_read_strictly() {
    let text = text_block(DOCUMENT, 2);
    let lines: Vec<_> = text.lines().collect();
    let retired = lines.iter().position(|line| line.starts_with("retired-key ")).unwrap();
    let active = lines[retired - 1].split(' ').nth(1).unwrap();
    let same = format!("retired-key {active}");
    for (line, expected) in [
        (lines[retired].to_uppercase().replace("RETIRED-KEY", "retired-key") + "A", 1),
        (same, 2),
        ("retired-key".to_owned(), 3),
    ] {
        let (at, problem) = problem(&with_line(text, retired + 1, &line));
        assert_eq!(at, retired + 1);
        let is_expected = match expected {
            1 => matches!(problem, LineProblem::Form { .. }),
            2 => problem == LineProblem::DuplicateId,
            _ => matches!(problem, LineProblem::Unknown | LineProblem::Missing { .. }),
        };
        assert!(is_expected, "{line}: {problem:?}");
    }
    // The first version has no such line, the second one has at least one.
    assert!(Keyring::parse(&with_line(text, 1, "bitacora-keyring v1")).is_err());
    let none: Vec<_> = lines.iter().copied().filter(|line| !line.starts_with("retired-key ")).collect();
    assert!(Keyring::parse(&checked(&none)).is_err());
    let offline = text_block(DOCUMENT, 3);
    for (at, _) in offline.bytes().enumerate() {
        let mut bytes = offline.as_bytes().to_vec();
        bytes[at] ^= 1;
        let is_read = std::str::from_utf8(&bytes).is_ok_and(|text| OfflineKeys::parse(text).is_ok());
        assert!(!is_read, "byte {at}");
        assert!(OfflineKeys::parse(&offline[..at]).is_err(), "cut at {at}");
    }
}
