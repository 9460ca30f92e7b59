//! Any text is a signed note, a verifier key or a typed error, and each has one text.
//!
//! The target works out the signers of a note a second time. Any text that is signed is read back.
#![no_main]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bitacora_formats::{NoteError, NoteSignature, UnverifiedNote, VerifierKey, sign_note};
use bitacora_formats_fuzz::assert_one_line;
use bitacora_formats_fuzz::signed::{KEYRING, KEYS, NAME, note};
use ed25519_dalek::Signature;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    note(data, size, seed)
});

fuzz_target!(|text: &str| {
    match text.parse::<VerifierKey>() {
        Err(error) => assert_one_line(&error),
        Ok(key) => {
            assert_eq!(key.to_string(), text);
            assert_eq!(VerifierKey::new(key.name(), *key.public()), Ok(key));
        }
    }
    match UnverifiedNote::parse(text) {
        Err(error) => assert_one_line(&error),
        Ok(note) => check_note(note, text),
    }
    if let Ok(signed) = sign_note(text, NAME, KEYRING.signing().key) {
        let signed = UnverifiedNote::parse(&signed).unwrap().verify(&KEYS).unwrap();
        assert_eq!((signed.text(), signed.signers()), (text, &KEYS[1..]));
    }
});

fn check_note(note: UnverifiedNote, text: &str) {
    assert_eq!(note.to_string(), text);
    let (signed_text, _) = text.rsplit_once("\n\n").unwrap();
    let expected = signers(&format!("{signed_text}\n"), note.signatures());
    let found = note.verify(&KEYS);
    if let Ok(signed) = &found {
        assert_eq!(signed.text(), format!("{signed_text}\n"));
        assert_eq!(signed.to_string(), text);
    }
    assert_eq!(found.map(|signed| signed.signers().to_vec()), expected);
}

/// The known keys whose signatures these are. Their ids differ.
fn signers(text: &str, signatures: &[NoteSignature]) -> Result<Vec<VerifierKey>, NoteError> {
    let mut signers: Vec<VerifierKey> = Vec::new();
    for signature in signatures {
        let is_claimed = |key: &&VerifierKey| (key.name(), key.id()) == (signature.name(), signature.key());
        let Some(key) = KEYS.iter().find(is_claimed) else { continue };
        let line = signature.to_string();
        let bytes = BASE64.decode(line.rsplit_once(' ').unwrap().1).unwrap();
        let signed = Signature::from_slice(&bytes[4..])
            .is_ok_and(|signature| key.public().verify_strict(text.as_bytes(), &signature).is_ok());
        if !signed {
            return Err(NoteError::BadSignature { name: key.name().to_owned(), key: key.id() });
        }
        if !signers.contains(key) {
            signers.push(key.clone());
        }
    }
    if signers.is_empty() { Err(NoteError::NoKnownSignature) } else { Ok(signers) }
}
