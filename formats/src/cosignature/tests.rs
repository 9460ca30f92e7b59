//! Cosignatures checked against those of a public log.
//!
//! The checkpoint and the keys of others are those of the staging log arche2025h1 as its witnesses cosigned it on 2026-05-23.

use super::*;
use crate::headed_example::{head, keyring, origin};
use crate::note::VerifierKey;
use bitacora_testkit::text_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/cosignature.md");
const STAGING: &str = "arche2025h1.staging.ct.transparency.dev
1432088532
U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=

— arche2025h1.staging.ct.transparency.dev zTM8sQAAAZ5W0WdjBAMARjBEAiBjW5IQf9pvsYLfQFX6hoGREPMHbdQ3urbllzalApkptQIgIpwtEroeW2BXaHAI4kJXFbon5Ch9MNL5zRNZ55lvGt0=
— arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=
— transparency.dev/DEV:witness-little-garden 2AQqhwAAAABqEiEgzgFIqqhbUoDwjMWE6UP8nd8/KYTzwZ2rhIgcqoXHAwVkjZr4AscylP3v7sEodkRAErumC2q44vdgJY096st5BQ==
— witness1.smartit.nu/witness1 pIyCDwAAAABqEiEghIp82KWebrw7/oHQwlTAm3g2RKS4+eebl8eO0WH+/iEcxZ75W3u5hNI7TOQtmJbqmNWVuE0tgh0XwzdZsDsUAQ==
— remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==
— witness.stagemole.eu Z/euoAAAAABqEiEgw0i+7g2ENfDAWHmtRzCfKTHSDwYDJA2NmKeGi9Y8FtEyOUvVr+AJmIY/2TUFucgKi7lI7cUiOvKFYe/TmN9DAg==
";
const STAGING_LOG: &str =
    "arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f";
const REMORA: &str = "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2";
const STAGEMOLE: &str = "witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv";
const LITTLE_GARDEN: &str =
    "transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM";
const SMARTIT: &str = "witness1.smartit.nu/witness1+a48c820f+BPSFWg9G6KPiO7QPryYO5Xq4oYJJ+kAvLKLSimDhoxMO";
/// 2026-05-23T21:50:24Z, when they cosigned it.
const THEN: u64 = 1_779_573_024;
/// The private half of the document's witness.
const SEED: [u8; 32] = [0x77; 32];
const NAME: &str = "witness.example/w1";
const SECONDS: u64 = 1_800_000_001;

fn key(text: &str) -> WitnessKey {
    text.parse().unwrap()
}

fn witness() -> WitnessKey {
    WitnessKey::new(NAME, SigningKey::from_bytes(&SEED).verifying_key()).unwrap()
}

fn line(seconds: u64) -> NoteSignature {
    cosign(&head().text(), NAME, &SigningKey::from_bytes(&SEED), seconds).unwrap()
}

/// The head of the document with these lines after the ledger's signature.
fn note(lines: &[String]) -> UnverifiedNote {
    UnverifiedNote::parse(&format!("{}{}\n", head().sign(&keyring()), lines.join("\n"))).unwrap()
}

fn signed(note: UnverifiedNote) -> SignedNote {
    note.verify(&origin().keys(keyring().signing_chain())).unwrap()
}

#[test]
fn the_worked_example_of_the_document_holds() {
    let own = signed(UnverifiedNote::parse(&head().sign(&keyring())).unwrap());
    let cosigned = own.with_cosignatures(&[line(SECONDS)], &[witness()]).unwrap();
    assert_eq!(cosigned.to_string(), text_block(DOCUMENT, 0));
    assert_eq!(format!("{}\n", witness()), text_block(DOCUMENT, 1));
    assert_eq!(message(&head().text(), SECONDS), text_block(DOCUMENT, 2));
    let expected = [Cosignature { key: witness(), seconds: SECONDS }];
    assert_eq!(cosigned.cosigned_by(&[key(REMORA), witness()]).unwrap(), expected);
}

#[test]
fn the_checkpoint_that_others_cosigned_verifies() {
    let keys = [REMORA, STAGEMOLE, LITTLE_GARDEN, SMARTIT].map(key);
    let log: VerifierKey = STAGING_LOG.parse().unwrap();
    let note = UnverifiedNote::parse(STAGING).unwrap().verify(&[log]).unwrap();
    let expected = keys.clone().map(|key| Cosignature { key, seconds: THEN });
    assert_eq!(note.cosigned_by(&keys).unwrap(), expected);
    assert_eq!(note.cosigned_by(&[]).unwrap(), []);
    let other = UnverifiedNote::parse(&STAGING.replace("1432088532", "1432088533")).unwrap();
    assert!(matches!(other.cosigned_by(&keys[..1]), Err(CosignatureError::BadSignature { .. })));
}

#[test]
fn a_witness_key_of_others_is_read_and_written_as_it_is() {
    for text in [REMORA, STAGEMOLE, LITTLE_GARDEN, SMARTIT] {
        assert_eq!(key(text).to_string(), text);
    }
    for begin in 0..REMORA.len() {
        for end in begin + 1..=REMORA.len() {
            let whole = (begin, end) == (0, REMORA.len());
            assert_eq!(REMORA[begin..end].parse::<WitnessKey>().is_ok(), whole, "{begin}..{end}");
        }
    }
}

#[test]
fn a_key_of_another_kind_or_that_anybody_can_sign_for_is_refused() {
    assert_eq!(STAGING_LOG.parse::<WitnessKey>(), Err(WitnessKeyError::LogKey));
    let kind = |kind: u8| format!("witness.example+00000000+{}", BASE64.encode([kind; 1313]));
    assert_eq!(kind(6).parse::<WitnessKey>(), Err(WitnessKeyError::MlDsa));
    assert_eq!(kind(5).parse::<WitnessKey>(), Err(WitnessKeyError::Kind { kind: 5 }));
    assert_eq!(kind(4).parse::<WitnessKey>(), Err(VerifierKeyError::PublicKey.into()));
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let weak = VerifyingKey::from_bytes(&neutral).unwrap();
    assert_eq!(WitnessKey::new("weak", weak), Err(VerifierKeyError::PublicKey));
    assert_eq!(WitnessKey::new("a+b", *witness().public()), Err(VerifierKeyError::Name));
    let turned = WitnessKey::new("a\u{202e}b", *witness().public());
    assert_eq!(turned, Err(VerifierKeyError::NameCharacter));
}

#[test]
fn a_line_of_another_name_or_id_is_not_looked_at() {
    let text = line(SECONDS).to_string();
    let renamed = text.replace(NAME, "witness.example/w2");
    let stranger = cosign(&head().text(), NAME, &SigningKey::from_bytes(&[7; 32]), SECONDS).unwrap();
    let note = note(&[renamed, stranger.to_string(), "\u{2014} witness.example/w1 AAAAAAE=".to_owned()]);
    assert_eq!(note.cosigned_by(&[witness()]).unwrap(), []);
}

#[test]
fn a_line_of_a_known_witness_that_is_not_its_cosignature_refuses_the_note() {
    let bad = CosignatureError::BadSignature { name: NAME.to_owned(), key: witness().id() };
    let with = |bytes: Vec<u8>| NoteSignature::new(NAME, witness().id(), bytes).to_string();
    let own = line(SECONDS);
    let mut later = own.bytes().to_vec();
    later[7] += 1;
    let plain = SigningKey::from_bytes(&SEED).sign(head().text().as_bytes()).to_bytes();
    let stranger = cosign(&head().text(), NAME, &SigningKey::from_bytes(&[7; 32]), SECONDS).unwrap();
    let other_text = cosign("other\n", NAME, &SigningKey::from_bytes(&SEED), SECONDS).unwrap();
    for bytes in [
        later,
        own.bytes()[..71].to_vec(),
        [own.bytes(), &[0]].concat(),
        own.bytes()[..7].to_vec(),
        plain.to_vec(),
        stranger.bytes().to_vec(),
        other_text.bytes().to_vec(),
    ] {
        let note = note(&[own.to_string(), with(bytes)]);
        assert_eq!(note.cosigned_by(&[witness()]), Err(bad.clone()));
        assert_eq!(signed(note).with_cosignatures(&[], &[witness()]), Err(bad.clone()));
    }
}

#[test]
fn a_time_beyond_the_limit_is_refused_although_it_is_signed() {
    let seconds = MAX_COSIGNATURE_SECONDS + 1;
    let time = CosignatureError::Time { name: NAME.to_owned(), seconds };
    let signing = SigningKey::from_bytes(&SEED);
    assert_eq!(cosign(&head().text(), NAME, &signing, seconds), Err(time.clone()));
    let signature = signing.sign(message(&head().text(), seconds).as_bytes()).to_bytes();
    let bytes = [&seconds.to_be_bytes()[..], &signature].concat();
    let forged = NoteSignature::new(NAME, witness().id(), bytes).to_string();
    assert_eq!(note(&[forged]).cosigned_by(&[witness()]), Err(time));
    let last = note(&[line(MAX_COSIGNATURE_SECONDS).to_string()]);
    assert_eq!(last.cosigned_by(&[witness()]).unwrap()[0].seconds, MAX_COSIGNATURE_SECONDS);
}

#[test]
fn a_witness_that_cosigned_twice_is_one_with_its_latest_time() {
    let twice = note(&[line(7).to_string(), line(9).to_string(), line(8).to_string()]);
    let expected = [Cosignature { key: witness(), seconds: 9 }];
    assert_eq!(twice.cosigned_by(&[witness()]).unwrap(), expected);
    let merged = signed(twice).with_cosignatures(&[line(10), line(3)], &[witness()]).unwrap();
    assert_eq!(merged.to_string(), note(&[line(10).to_string()]).to_string());
}

#[test]
fn two_known_keys_that_share_a_name_and_an_id_may_both_have_cosigned() {
    let twin = witness().with_public(SigningKey::from_bytes(&[7; 32]).verifying_key());
    let found = note(&[line(SECONDS).to_string()]).cosigned_by(&[twin, witness()]).unwrap();
    assert_eq!(found, [Cosignature { key: witness(), seconds: SECONDS }]);
}

#[test]
fn what_is_added_is_what_known_witnesses_cosigned() {
    let stranger = cosign(&head().text(), "stranger", &SigningKey::from_bytes(&[7; 32]), 5).unwrap();
    let kept = note(&["\u{2014} other.example AAAAAAE=".to_owned()]);
    let merged = signed(kept.clone()).with_cosignatures(&[stranger.clone(), line(5)], &[witness()]).unwrap();
    assert_eq!(merged.to_string(), format!("{kept}{}\n", line(5)));
    let bad = cosign("other\n", NAME, &SigningKey::from_bytes(&SEED), 5).unwrap();
    assert!(signed(kept).with_cosignatures(&[bad], &[witness()]).is_err());
    let full = vec![stranger.to_string(); MAX_NOTE_SIGNATURES - 1];
    let refused = signed(note(&full)).with_cosignatures(&[line(5)], &[witness()]);
    assert_eq!(refused, Err(NoteError::TooManySignatures.into()));
}

#[test]
fn what_no_note_can_hold_is_not_cosigned() {
    let cosign = |text, name| cosign(text, name, &SigningKey::from_bytes(&SEED), 1).unwrap_err();
    assert_eq!(cosign("text", NAME), NoteError::Text.into());
    assert_eq!(cosign("te\txt\n", NAME), NoteError::Text.into());
    assert_eq!(cosign("text\n", "a b"), NoteError::KeyName.into());
    assert_eq!(cosign("text\n", "a\u{9b}b"), NoteError::KeyName.into());
}
