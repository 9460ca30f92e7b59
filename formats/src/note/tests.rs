//! Signed notes checked against the vectors of Go's module `golang.org/x/mod`.
//!
//! The vectors are those of sumdb/note/note_test.go: keys, signatures and the texts that must be refused.

use ed25519_dalek::SigningKey;

use super::*;

const PETER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const ENOCH: &str = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop";
/// The private half of Peter's key: kind and seed.
const PETER_SEED: &str = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const TEXT: &str =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const PETER_LINE: &str = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
const ENOCH_LINE: &str = "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n";

fn key(text: &str) -> VerifierKey {
    text.parse().unwrap()
}

fn note(lines: &[&str]) -> String {
    format!("{TEXT}\n{}", lines.concat())
}

fn verify(note: &str, keys: &[VerifierKey]) -> Result<SignedNote, NoteError> {
    UnverifiedNote::parse(note)?.verify(keys)
}

fn peters_key() -> SigningKey {
    let bytes = BASE64.decode(PETER_SEED).unwrap();
    SigningKey::from_bytes(bytes[1..].try_into().unwrap())
}

#[test]
fn a_verifier_key_of_others_is_read_and_written_as_it_is() {
    for text in [PETER, ENOCH] {
        assert_eq!(key(text).to_string(), text);
    }
    assert_eq!(key(PETER).name(), "PeterNeumann");
    assert_eq!(key(PETER).id().to_string(), "c74f20a3");
    assert_eq!(*key(PETER).public(), peters_key().verifying_key());
}

#[test]
fn a_verifier_key_with_a_piece_missing_or_a_character_changed_is_refused() {
    for begin in 0..PETER.len() {
        for end in begin + 1..=PETER.len() {
            let whole = (begin, end) == (0, PETER.len());
            assert_eq!(PETER[begin..end].parse::<VerifierKey>().is_ok(), whole, "{begin}..{end}");
        }
    }
    for at in 0..PETER.len() {
        let mut bytes = PETER.as_bytes().to_vec();
        bytes[at] += 1;
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.parse::<VerifierKey>().is_err(), "{text}");
    }
}

#[test]
fn a_verifier_key_of_another_length_kind_or_case_is_refused() {
    let refused = |text: &str| text.parse::<VerifierKey>().unwrap_err();
    let long = "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==";
    assert_eq!(refused(long), VerifierKeyError::Form, "its base64 has no canonical end");
    let longer = BASE64.encode([&[1], &[7; 33][..]].concat());
    assert_eq!(refused(&format!("PeterNeumann+c74f20a3+{longer}")), VerifierKeyError::PublicKey);
    let kind = "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    assert_eq!(refused(kind), VerifierKeyError::Kind);
    assert_eq!(refused(&PETER.replace("c74f", "C74F")), VerifierKeyError::Form);
    assert_eq!(refused(&format!("{PETER}=")), VerifierKeyError::Form);
}

#[test]
fn a_key_that_anybody_can_sign_for_is_refused() {
    // The neutral element of the curve, and its name's id.
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let public = ed25519_dalek::VerifyingKey::from_bytes(&neutral).unwrap();
    assert_eq!(VerifierKey::new("weak", public), Err(VerifierKeyError::PublicKey));
    let encoded = BASE64.encode([&[1], &neutral[..]].concat());
    let text = format!("weak+{}+{encoded}", KeyId::of("weak", &public));
    assert_eq!(text.parse::<VerifierKey>(), Err(VerifierKeyError::PublicKey));
}

#[test]
fn the_note_of_others_is_signed_verified_and_written_to_the_same_bytes() {
    let signed = sign_note(TEXT, "PeterNeumann", &peters_key()).unwrap();
    assert_eq!(signed, note(&[PETER_LINE]));
    let verified = verify(&signed, &[key(PETER)]).unwrap();
    assert_eq!((verified.text(), verified.to_string()), (TEXT, signed));
    assert_eq!(verified.signers(), [key(PETER)]);
}

#[test]
fn signatures_of_unknown_keys_are_kept_and_count_for_nothing() {
    let both = note(&[PETER_LINE, ENOCH_LINE]);
    let verified = verify(&both, &[key(PETER)]).unwrap();
    assert_eq!(verified.signers(), [key(PETER)]);
    assert_eq!(verified.to_string(), both);
    let names: Vec<_> = verified.signatures().iter().map(NoteSignature::name).collect();
    assert_eq!(names, ["PeterNeumann", "EnochRoot"]);
    assert_eq!(verify(&both, &[key(PETER), key(ENOCH)]).unwrap().signers(), [key(PETER), key(ENOCH)]);
    assert_eq!(verify(&both, &[]), Err(NoteError::NoKnownSignature));
    assert_eq!(verify(&note(&[ENOCH_LINE]), &[key(PETER)]), Err(NoteError::NoKnownSignature));
}

#[test]
fn a_key_that_signed_twice_is_one_signer() {
    let twice = verify(&note(&[PETER_LINE, PETER_LINE]), &[key(PETER)]).unwrap();
    assert_eq!((twice.signers().len(), twice.signatures().len()), (1, 2));
}

#[test]
fn a_wrong_signature_of_a_known_key_refuses_the_note_whatever_else_is_right() {
    let (front, back) = PETER_LINE.split_at(62);
    let wrong = format!("{front}ABCD{back}");
    let bad = NoteError::BadSignature { name: "PeterNeumann".to_owned(), key: key(PETER).id() };
    for lines in [vec![&*wrong], vec![PETER_LINE, &wrong], vec![&wrong, PETER_LINE, ENOCH_LINE]] {
        assert_eq!(verify(&note(&lines), &[key(PETER), key(ENOCH)]), Err(bad.clone()));
    }
    assert_eq!(verify(&note(&[PETER_LINE]).replace("answer", "Answer"), &[key(PETER)]), Err(bad));
}

#[test]
fn a_signature_under_the_id_of_a_known_key_by_another_key_is_refused() {
    let stranger = SigningKey::from_bytes(&[7; 32]);
    let bytes = stranger.sign(TEXT.as_bytes()).to_bytes().to_vec();
    let forged = NoteSignature { name: "PeterNeumann".to_owned(), key: key(PETER).id(), bytes };
    let refused = verify(&note(&[&format!("{forged}\n")]), &[key(PETER)]);
    assert!(matches!(refused, Err(NoteError::BadSignature { .. })), "{refused:?}");
}

#[test]
fn two_known_keys_that_share_a_name_and_an_id_may_both_have_signed() {
    let stranger = SigningKey::from_bytes(&[7; 32]).verifying_key();
    let twin = key(PETER).with_public(stranger);
    let verified = verify(&note(&[PETER_LINE]), &[twin, key(PETER)]).unwrap();
    assert_eq!(verified.signers(), [key(PETER)]);
}

#[test]
fn a_name_or_an_id_alone_makes_no_known_key() {
    let renamed = PETER_LINE.replace("PeterNeumann", "CarmenSandiego");
    let renumbered = PETER_LINE.replace("x08g", "xxxx");
    for line in [renamed, renumbered] {
        assert_eq!(verify(&note(&[&line]), &[key(PETER)]), Err(NoteError::NoKnownSignature), "{line}");
    }
}

/// Control characters, and those that turn the direction of a text.
const STEERING: [char; 10] = [
    '\u{7f}', '\u{80}', '\u{9b}', '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}', '\u{2066}',
    '\u{2069}',
];

#[test]
fn no_key_is_known_by_a_name_that_would_not_show_as_what_it_is() {
    let public = peters_key().verifying_key();
    for character in STEERING {
        let name = format!("Peter{character}Neumann");
        assert_eq!(VerifierKey::new(&name, public), Err(VerifierKeyError::NameCharacter), "{character:?}");
        let encoded = BASE64.encode([&[verifier_key::ED25519_KIND], public.as_bytes().as_slice()].concat());
        let written = format!("{name}+{}+{encoded}", KeyId::of(&name, &public));
        assert_eq!(written.parse::<VerifierKey>(), Err(VerifierKeyError::NameCharacter), "{character:?}");
        let line = PETER_LINE.replace("PeterNeumann", &name);
        let verified = verify(&note(&[&line, PETER_LINE]), &[key(PETER)]).unwrap();
        assert_eq!(verified.to_string(), note(&[&line, PETER_LINE]), "the line of an unknown key is kept");
    }
    assert!(VerifierKey::new("\u{e9}\u{5d0}\u{200d}", public).is_ok(), "letters of any script");
}

#[test]
fn texts_that_are_no_notes_are_refused() {
    let refused = |note: String| UnverifiedNote::parse(&note).unwrap_err();
    assert_eq!(refused(TEXT.to_owned()), NoteError::NoSignatures);
    assert_eq!(refused(format!("{TEXT}\n")), NoteError::NoSignatures);
    assert_eq!(refused(note(&[PETER_LINE.trim_end()])), NoteError::Unended);
    assert_eq!(refused(format!("\u{1}{}", note(&[PETER_LINE]))), NoteError::ControlCharacter);
    assert_eq!(refused(note(&[PETER_LINE]).replace('\n', "\r\n")), NoteError::ControlCharacter);
    let lines = [
        PETER_LINE.replace("PeterNeumann", "Bad Name"),
        PETER_LINE.replace("PeterNeumann", "Bad\u{a0}Name"),
        PETER_LINE.replace("PeterNeumann", "Bad+Name"),
        PETER_LINE.replace("PeterNeumann", ""),
        PETER_LINE.replace("PeterNeumann", &"n".repeat(MAX_KEY_NAME_BYTES + 1)),
        PETER_LINE.replace('—', "-"),
        PETER_LINE.replace("nAM=", "nAN="),
        "— PeterNeumann x08gow==\n".to_owned(),
        "Unexpected line.\n".to_owned(),
    ];
    for line in lines {
        assert_eq!(refused(note(&[ENOCH_LINE, &line])), NoteError::SignatureLine { line: 2 }, "{line}");
    }
}

#[test]
fn as_many_signatures_as_the_limit_says_are_taken_and_no_more() {
    let most = PETER_LINE.repeat(MAX_NOTE_SIGNATURES);
    assert!(verify(&note(&[&most]), &[key(PETER)]).is_ok());
    assert_eq!(verify(&note(&[&most, PETER_LINE]), &[key(PETER)]), Err(NoteError::TooManySignatures));
    let long = "a".repeat(MAX_NOTE_BYTES);
    let bytes = note(&[PETER_LINE]).len() + MAX_NOTE_BYTES;
    assert_eq!(UnverifiedNote::parse(&(long + &note(&[PETER_LINE]))), Err(NoteError::TooLong { bytes }));
}

#[test]
fn the_longest_note_is_signed_and_read_back() {
    let sign = |text: &str| sign_note(text, "PeterNeumann", &peters_key());
    let beside_text = sign("\n").unwrap().len() - 1;
    let longest = "a".repeat(MAX_NOTE_BYTES - beside_text - 1) + "\n";
    let signed = sign(&longest).unwrap();
    assert_eq!(signed.len(), MAX_NOTE_BYTES);
    let names = UnverifiedNote::parse(&signed).unwrap();
    assert_eq!(names.signatures().iter().map(NoteSignature::name).collect::<Vec<_>>(), ["PeterNeumann"]);
    assert_eq!(verify(&signed, &[key(PETER)]).unwrap().text(), longest);
    assert_eq!(sign(&format!("a{longest}")), Err(NoteError::TooLong { bytes: MAX_NOTE_BYTES + 1 }));
}

#[test]
fn the_last_empty_line_parts_the_text_from_the_signatures() {
    let text = "first\n\nsecond\n\n\n";
    let signed = sign_note(text, "PeterNeumann", &peters_key()).unwrap();
    assert_eq!(verify(&signed, &[key(PETER)]).unwrap().text(), text);
}

#[test]
fn what_no_note_can_hold_is_not_signed() {
    let sign = |text: &str, name: &str| sign_note(text, name, &peters_key()).unwrap_err();
    assert_eq!(sign("abc", "PeterNeumann"), NoteError::Text);
    assert_eq!(sign("a\tbc\n", "PeterNeumann"), NoteError::Text);
    assert_eq!(sign(TEXT, "a+b"), NoteError::KeyName);
    for character in STEERING {
        assert_eq!(sign(TEXT, &format!("a{character}b")), NoteError::KeyName, "{character:?}");
    }
    let long = "a".repeat(MAX_NOTE_BYTES) + "\n";
    assert!(matches!(sign(&long, "a"), NoteError::TooLong { .. }));
}
