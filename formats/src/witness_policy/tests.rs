use super::*;
use crate::headed_example::{keyring, origin};
use bitacora_testkit::text_block;
use ed25519_dalek::SigningKey;

const DOCUMENT: &str = include_str!("../../../docs/formats/witness_policy.md");

/// The key of the witness with this number.
fn witness(number: u8) -> WitnessKey {
    let public = SigningKey::from_bytes(&[number; 32]).verifying_key();
    WitnessKey::new(&format!("witness.example/w{number}"), public).unwrap()
}

/// The lines of three witnesses, `a`, `b` and `c`, which are 1, 2 and 3.
fn three() -> String {
    let lines = ["a", "b", "c"].iter().zip(1..);
    lines.map(|(name, number)| format!("witness {name} {}\n", witness(number))).collect()
}

fn parse(text: &str) -> Result<WitnessPolicy, WitnessPolicyError> {
    WitnessPolicy::parse(text.as_bytes())
}

/// Returns the error in these lines after those of the three witnesses.
fn refused(lines: &str) -> WitnessPolicyError {
    parse(&format!("{}{lines}\n", three())).unwrap_err()
}

/// Returns the sets of the witnesses 1, 2 and 3 that are enough, a bit for each witness.
fn enough(lines: &str) -> Vec<u8> {
    let policy = parse(&format!("{}{lines}\n", three())).unwrap();
    let set = |bits: u8| (1..=3).filter(move |number| bits >> (number - 1) & 1 == 1).map(witness);
    (0..8).filter(|bits| policy.is_met(&set(*bits).collect::<Vec<_>>())).collect()
}

#[test]
fn the_worked_example_of_the_document_holds() {
    let policy = parse(text_block(DOCUMENT, 0)).unwrap();
    let names: Vec<_> = policy.witnesses().iter().map(|witness| witness.name.as_str()).collect();
    assert_eq!(names, ["X1", "X2", "X3", "Y1"]);
    assert_eq!(policy.witnesses()[0].url.as_deref(), Some("https://x1.example/witness"));
    assert_eq!(policy.witnesses()[1].url, None);
    assert_eq!(policy.logs()[0].key, origin().keys(keyring().signing_chain())[0]);
    let keys = policy.witness_keys();
    assert!(policy.is_met([&keys[0], &keys[2], &keys[3]]));
    assert!(!policy.is_met(&keys[..3]), "Y1 is missing");
    assert!(!policy.is_met([&keys[0], &keys[3]]), "one of X is missing");
}

#[test]
fn a_quorum_is_met_by_as_many_members_as_it_says() {
    assert_eq!(enough("quorum b"), [2, 3, 6, 7]);
    assert_eq!(enough("group g all a b c\nquorum g"), [7]);
    assert_eq!(enough("group g any a b c\nquorum g"), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(enough("group g 2 a b c\nquorum g"), [3, 5, 6, 7]);
    assert_eq!(enough("group g any a b\ngroup h all g c\nquorum h"), [5, 6, 7]);
    assert_eq!(enough("group g 2 a b\nquorum c"), [4, 5, 6, 7]);
    assert_eq!(enough("quorum none"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(!parse("quorum none\n").unwrap().asks_for_witnesses());
    assert!(parse(&format!("{}quorum a\n", three())).unwrap().asks_for_witnesses());
}

#[test]
fn a_key_that_comes_twice_or_from_elsewhere_counts_for_nothing_more() {
    let policy = parse(&format!("{}group g 2 a b c\nquorum g\n", three())).unwrap();
    assert!(!policy.is_met([&witness(1), &witness(1), &witness(4), &witness(5)]));
    // Its public key under another name is another witness.
    let renamed = WitnessKey::new("witness.example/w9", *witness(2).public()).unwrap();
    assert!(!policy.is_met([&witness(1), &renamed]));
}

#[test]
fn spaces_tabs_comments_and_empty_lines_are_passed_over() {
    let text = format!(
        "\n \t \n# quorum none\n\t#\u{e9}\n \twitness\t a  {}\t https://a/ \n quorum a\t\n",
        witness(1)
    );
    let policy = parse(&text).unwrap();
    assert_eq!((policy.witnesses()[0].name.as_str(), policy.logs().len()), ("a", 0));
    assert_eq!(policy.witnesses()[0].url.as_deref(), Some("https://a/"));
}

#[test]
fn names_are_bytes() {
    let kelvin = "\u{212a}";
    let text = format!("witness K {}\nwitness {kelvin} {}\nquorum {kelvin}\n", witness(1), witness(2));
    let policy = parse(&text).unwrap();
    assert!(policy.is_met([&witness(2)]) && !policy.is_met([&witness(1)]));
    // Two names that are no text, and would show as the same.
    let mut bytes = format!("witness ? {}\nwitness ! {}\nquorum !\n", witness(1), witness(2)).into_bytes();
    bytes.iter_mut().filter(|byte| **byte == b'?').for_each(|byte| *byte = 0xfe);
    bytes.iter_mut().filter(|byte| **byte == b'!').for_each(|byte| *byte = 0xff);
    let policy = WitnessPolicy::parse(&bytes).unwrap();
    assert!(policy.is_met([&witness(2)]) && !policy.is_met([&witness(1)]));
}

#[test]
fn a_line_of_another_form_is_refused() {
    let key = witness(4).to_string();
    let form = |form| WitnessPolicyError::Form { line: 4, form };
    for line in ["log", &format!("log {key} u v")] {
        assert_eq!(refused(line), form("log <vkey> [<url>]"));
    }
    for line in ["witness", "witness d", &format!("witness d {key} u v")] {
        assert_eq!(refused(line), form("witness <name> <vkey> [<url>]"));
    }
    for line in ["group", "group g", "group g all"] {
        assert_eq!(refused(line), form("group <name> <k|all|any> <member>..."));
    }
    for line in ["quorum", "quorum a b"] {
        assert_eq!(refused(line), form("quorum <name|none>"));
    }
    for line in ["Quorum a", "quorums a", "a quorum"] {
        assert_eq!(refused(line), WitnessPolicyError::Keyword { line: 4 });
    }
}

#[test]
fn a_control_character_and_a_line_without_end_are_refused() {
    for line in ["quorum a\r", "quorum\u{b}a", "quorum a\u{7f}", "# \u{0}"] {
        assert_eq!(refused(line), WitnessPolicyError::ControlCharacter { line: 4 }, "{line:?}");
    }
    assert_eq!(parse(&format!("{}quorum a", three())), Err(WitnessPolicyError::Unended));
    let bytes = MAX_POLICY_BYTES + 1;
    assert_eq!(parse(&"\n".repeat(bytes)), Err(WitnessPolicyError::TooLong { bytes }));
}

#[test]
fn a_key_that_is_none_or_of_another_kind_is_refused() {
    let log = origin().keys(keyring().signing_chain())[0].to_string();
    let as_witness = WitnessPolicyError::WitnessKey { line: 4, error: WitnessKeyError::LogKey };
    assert_eq!(refused(&format!("witness d {log}")), as_witness);
    let as_log = WitnessPolicyError::LogKey { line: 4, error: VerifierKeyError::Kind };
    assert_eq!(refused(&format!("log {}", witness(4))), as_log);
    let wrong = witness(4).to_string().replace("w4", "w5");
    assert!(matches!(refused(&format!("witness d {wrong}")), WitnessPolicyError::WitnessKey { line: 4, .. }));
    let none = WitnessPolicyError::LogKey { line: 4, error: VerifierKeyError::Form };
    assert_eq!(refused("log key"), none);
}

#[test]
fn a_key_that_comes_twice_under_any_name_is_refused() {
    let same = WitnessPolicyError::SameKey { line: 4 };
    let renamed = WitnessKey::new("other.example", *witness(2).public()).unwrap();
    assert_eq!(refused(&format!("witness d {}", witness(2))), same);
    assert_eq!(refused(&format!("witness d {renamed}")), same);
    let log = &origin().keys(keyring().signing_chain())[0];
    let renamed = VerifierKey::new("other.example", *log.public()).unwrap();
    let twice = parse(&format!("log {log}\nlog {renamed}\nquorum none\n"));
    assert_eq!(twice, Err(WitnessPolicyError::SameKey { line: 2 }));
    // One operator of both may use one key for both; the kinds of their signatures differ.
    let both = WitnessKey::new("w", *log.public()).unwrap();
    assert!(parse(&format!("log {log}\nwitness w {both}\nquorum w\n")).is_ok());
}

#[test]
fn names_are_given_once_before_they_are_used_and_counted_once() {
    let line = 4;
    let unknown = |name: &str| WitnessPolicyError::Unknown { line, name: name.to_owned() };
    let same = |name: &str| WitnessPolicyError::SameName { line, name: name.to_owned() };
    let counted = |line, name: &str| WitnessPolicyError::Counted { line, name: name.to_owned() };
    assert_eq!(refused(&format!("witness a {}", witness(4))), same("a"));
    assert_eq!(refused("group b any a"), same("b"));
    assert_eq!(refused("group g any d"), unknown("d"));
    assert_eq!(refused("group g any g"), unknown("g"));
    assert_eq!(refused("quorum d"), unknown("d"));
    assert_eq!(refused(&format!("quorum d\nwitness d {}", witness(4))), unknown("d"));
    assert_eq!(refused("group g any a a"), counted(4, "a"));
    assert_eq!(refused("group g any a\ngroup h any b a"), counted(5, "a"));
    for text in [format!("witness none {}", witness(4)), "group none any a".into(), "group g any none".into()]
    {
        assert_eq!(refused(&text), WitnessPolicyError::None { line }, "{text}");
    }
}

#[test]
fn a_group_asks_for_one_to_all_of_its_members() {
    for threshold in ["0", "3", "02", "+1", "-1", "1.0", "ALL", "99999999999999999999"] {
        let expected = WitnessPolicyError::Threshold { line: 4, members: 2 };
        assert_eq!(refused(&format!("group g {threshold} a b")), expected, "{threshold}");
    }
}

#[test]
fn a_policy_has_one_quorum() {
    assert_eq!(parse(""), Err(WitnessPolicyError::NoQuorum));
    assert_eq!(parse(&three()), Err(WitnessPolicyError::NoQuorum));
    for second in ["quorum a", "quorum none"] {
        let expected = WitnessPolicyError::SecondQuorum { line: 5 };
        assert_eq!(refused(&format!("quorum a\n{second}")), expected);
        assert_eq!(refused(&format!("quorum none\n{second}")), expected);
    }
}

#[test]
fn as_many_lines_as_the_limit_says_are_taken_and_no_more() {
    let limit = u8::try_from(MAX_POLICY_LINES).unwrap();
    let witnesses = |count: u8| -> String {
        (1..=count).map(|number| format!("witness w{number} {}\n", witness(number))).collect()
    };
    assert!(parse(&format!("{}quorum w1\n", witnesses(limit))).is_ok());
    let many = parse(&witnesses(limit + 1));
    assert_eq!(many, Err(WitnessPolicyError::TooMany { line: MAX_POLICY_LINES + 1 }));
    let groups = |count: u8| -> String {
        (1..=count).map(|number| format!("group g{number} any w{number}\n")).collect()
    };
    let most = format!("{}{}quorum g{limit}\n", witnesses(limit), groups(limit));
    let policy = parse(&most).unwrap();
    assert!(policy.is_met([&witness(limit)]) && !policy.is_met([&witness(1)]));
    let one_more = format!("{}{}group g all g1\nquorum g\n", witnesses(limit), groups(limit));
    assert_eq!(parse(&one_more), Err(WitnessPolicyError::TooMany { line: 2 * MAX_POLICY_LINES + 1 }));
}
