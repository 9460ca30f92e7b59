//! Any text is a note with cosignatures, a witness's key or a typed error.
//!
//! The target works out the cosigners and their times a second time. Cosignatures added to a signed note leave one
//! line a witness, and the note stays unchanged.
#![no_main]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bitacora_formats::limits::MAX_COSIGNATURE_SECONDS;
use bitacora_formats::{Cosignature, NoteSignature, SignedNote, UnverifiedNote, WitnessKey, cosign};
use bitacora_formats_fuzz::assert_one_line;
use bitacora_formats_fuzz::signed::{KEYS, WITNESSES, cosigned};
use ed25519_dalek::{Signature, SigningKey};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    cosigned(data, size, seed)
});

fuzz_target!(|text: &str| {
    match text.parse::<WitnessKey>() {
        Err(error) => assert_one_line(&error),
        Ok(key) => {
            assert_eq!(key.to_string(), text);
            assert_eq!(WitnessKey::new(key.name(), *key.public()), Ok(key));
        }
    }
    check_cosigning(text);
    let Ok(note) = UnverifiedNote::parse(text) else { return };
    let (signed_text, _) = text.rsplit_once("\n\n").unwrap();
    let expected = cosigners(&format!("{signed_text}\n"), note.signatures());
    let found = note.cosigned_by(&WITNESSES);
    if let Err(error) = &found {
        assert_one_line(error);
    }
    assert_eq!(found.ok(), expected);
    if let Ok(signed) = note.verify(&KEYS) {
        check_added(signed, expected);
    }
});

/// Checks that any text that can be cosigned is the text of a valid note.
fn check_cosigning(text: &str) {
    let (seconds, key) = (text.len() as u64, SigningKey::from_bytes(&[0x31; 32]));
    if let Ok(line) = cosign(text, WITNESSES[0].name(), &key, seconds) {
        let note = UnverifiedNote::parse(&format!("{text}\n{line}\n")).unwrap();
        let expected = Cosignature { key: WITNESSES[0].clone(), seconds };
        assert_eq!(note.cosigned_by(&WITNESSES), Ok(vec![expected]));
    }
}

/// The witnesses that cosigned; `None` if a line of one is wrong. Their ids differ.
fn cosigners(text: &str, lines: &[NoteSignature]) -> Option<Vec<Cosignature>> {
    let mut latest = vec![None; WITNESSES.len()];
    for line in lines {
        let is_claimed = |key: &WitnessKey| (key.name(), key.id()) == (line.name(), line.key());
        let Some(place) = WITNESSES.iter().position(is_claimed) else { continue };
        let line = line.to_string();
        let bytes = BASE64.decode(line.rsplit_once(' ').unwrap().1).unwrap();
        let seconds = u64::from_be_bytes(*bytes.get(4..)?.first_chunk()?);
        let signature = Signature::from_slice(bytes.get(12..)?).ok()?;
        let message = format!("cosignature/v1\ntime {seconds}\n{text}");
        WITNESSES[place].public().verify_strict(message.as_bytes(), &signature).ok()?;
        if seconds > MAX_COSIGNATURE_SECONDS {
            return None;
        }
        latest[place] = latest[place].max(Some(seconds));
    }
    let all = WITNESSES.iter().zip(latest);
    Some(all.filter_map(|(key, seconds)| Some(Cosignature { key: key.clone(), seconds: seconds? })).collect())
}

/// Its own lines, added again to a note and to it without them.
fn check_added(signed: SignedNote, expected: Option<Vec<Cosignature>>) {
    let lines = signed.signatures().to_vec();
    let added = signed.clone().with_cosignatures(&lines, &WITNESSES);
    let Some(expected) = expected else { return assert!(added.is_err()) };
    let added = added.unwrap();
    assert_eq!((added.text(), added.signers()), (signed.text(), signed.signers()));
    assert!(added.signatures().len() <= lines.len());
    let by_witness = |line: &&NoteSignature| {
        WITNESSES.iter().any(|key| (key.name(), key.id()) == (line.name(), line.key()))
    };
    assert_eq!(added.signatures().iter().filter(by_witness).count(), expected.len());
    let again = UnverifiedNote::parse(&added.to_string()).unwrap();
    assert_eq!(again.cosigned_by(&WITNESSES), Ok(expected));
    assert_eq!(again.verify(&KEYS).as_ref(), Ok(&added));
    assert_eq!(added.clone().with_cosignatures(&lines, &WITNESSES), Ok(added));
}
