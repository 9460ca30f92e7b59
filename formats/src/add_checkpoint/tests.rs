//! Requests and answers checked against those that c2sp.org/tlog-witness shows.

use super::*;
use crate::headed_example::{events, head, keyring};
use crate::limits::MAX_NOTE_BYTES;
use bitacora_testkit::text_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/add_checkpoint.md");
const ASKED: &str = "old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=
";
const ANSWERED: &str = "— witness.example/w1 CMp+6LWBU0anHGH5aNDTJkH/gj79sG+T6+iP2ThYN5krrDJbR1HDnucjL39QsZTSvVjyQLrdk3DXDqI5G2HgLatVs0pWh6Up69HVOw==
— witness.example/w1 I7rEps0pvK2UqkS2gSpVUDhrhVtQV9lgF6pRrWAvjJHjyWpW7VcE3SiOlVlbQNt64vWhO+DlkL0+UfzuOBMh9ChdMkP1vi/lCAsmlw==
— witness.example/w2 AWui8Sk55XjYLOijihBjhqEH6nS1ndDymE0a+6idX7pLcnoB+dhnz0854aLZgrrKbYKA7nC3HNJhm/kWl7oJlqU3rXXvpysAdyP3wQ==
";

fn note() -> String {
    head().sign(&keyring())
}

#[test]
fn the_worked_example_of_the_document_holds() {
    let asked = AddCheckpoint::new(1, &[events()[1].leaf()], &note()).unwrap();
    assert_eq!(asked.to_string(), text_block(DOCUMENT, 0));
    assert_eq!(AddCheckpoint::parse(text_block(DOCUMENT, 0)).unwrap(), asked);
    let cosignatures = parse_added_cosignatures(text_block(DOCUMENT, 1)).unwrap();
    assert_eq!(cosignatures[0].name(), "witness.example/w1");
    assert_eq!(parse_known_size(text_block(DOCUMENT, 2)), Ok(1));
}

#[test]
fn the_request_of_others_is_read_and_written_as_it_is() {
    let asked = AddCheckpoint::parse(ASKED).unwrap();
    assert_eq!((asked.old(), asked.proof().len(), asked.to_string()), (20_852_014, 4, ASKED.to_owned()));
    assert!(asked.checkpoint().starts_with("example.com/behind-the-sofa\n20852163\n"));
}

#[test]
fn the_answer_of_others_is_read() {
    let lines = parse_added_cosignatures(ANSWERED).unwrap();
    assert_eq!(lines.iter().map(|line| format!("{line}\n")).collect::<String>(), ANSWERED);
}

#[test]
fn a_first_request_has_no_proof() {
    let first = AddCheckpoint::new(0, &[], &note()).unwrap();
    assert_eq!(first.to_string(), format!("old 0\n\n{}", note()));
    assert_eq!(AddCheckpoint::parse(&first.to_string()), Ok(first));
    let some = [TreeHash([1; 32])];
    assert_eq!(AddCheckpoint::new(0, &some, &note()), Err(AddCheckpointError::NothingToProve));
}

#[test]
fn as_many_hashes_as_the_limit_says_are_taken_and_no_more() {
    let hashes = [TreeHash([1; 32]); MAX_ADD_CHECKPOINT_HASHES + 1];
    let most = AddCheckpoint::new(9, &hashes[1..], &note()).unwrap();
    assert_eq!(AddCheckpoint::parse(&most.to_string()), Ok(most.clone()));
    assert_eq!(AddCheckpoint::new(9, &hashes, &note()), Err(AddCheckpointError::TooManyHashes));
    let line = format!("{}\n", BASE64.encode([1; 32]));
    let many = most.to_string().replacen(&line, &line.repeat(2), 1);
    assert_eq!(AddCheckpoint::parse(&many), Err(AddCheckpointError::TooManyHashes));
}

#[test]
fn texts_that_are_no_requests_are_refused() {
    let parse = |text: String| AddCheckpoint::parse(&text).unwrap_err();
    for old in
        ["", "old", "old ", "old -1", "old 01", "old +1", "old 1 ", "Old 1", "old 18446744073709551616"]
    {
        assert_eq!(parse(format!("{old}\n\n{}", note())), AddCheckpointError::Old, "{old}");
    }
    assert_eq!(parse("old 1".to_owned()), AddCheckpointError::Old);
    let hash = BASE64.encode([1; 32]);
    for lines in ["AAAA\n\n", &hash[1..], &format!("{hash}\n"), &format!("{hash}\r\n\n")] {
        assert_eq!(parse(format!("old 1\n{lines}")), AddCheckpointError::Hashes, "{lines}");
    }
    assert_eq!(parse(format!("old 1\n{hash}\n\n")), AddCheckpointError::Checkpoint(NoteError::NoSignatures));
    let text = format!("old 1\n\n{}", "a".repeat(MAX_ADD_CHECKPOINT_BYTES));
    assert_eq!(parse(text.clone()), AddCheckpointError::TooLong { bytes: text.len() });
}

#[test]
fn answers_that_are_none_are_refused() {
    for answer in ["", "\n", "no\n", ANSWERED.trim_end(), &format!("{ANSWERED}\n"), &format!("\n{ANSWERED}")]
    {
        assert_eq!(parse_added_cosignatures(answer), Err(AddCheckpointError::Answer), "{answer}");
    }
    let bytes = MAX_NOTE_BYTES + 1;
    let long = "a".repeat(bytes);
    assert_eq!(parse_added_cosignatures(&long), Err(AddCheckpointError::LongAnswer { bytes }));
    assert_eq!(parse_known_size("20852014\n"), Ok(20_852_014));
    for answer in ["", "7", "7\n\n", "07\n", "+7\n", " 7\n", "7\r\n", "18446744073709551616\n"] {
        assert_eq!(parse_known_size(answer), Err(AddCheckpointError::KnownSize), "{answer}");
    }
}
