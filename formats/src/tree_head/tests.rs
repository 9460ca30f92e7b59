use super::*;
use crate::headed_example::{head, keyring, origin};
use crate::note::sign_note;
use bitacora_testkit::text_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/tree_head.md");

fn verify(note: &str) -> Result<SignedTreeHead, TreeHeadError> {
    UnverifiedTreeHead::parse(note)?.verify_with_chain(keyring().signing_chain())
}

/// A text signed with the ledger's key, whatever it says.
fn signed(text: &str) -> String {
    sign_note(text, &origin().to_string(), keyring().signing().key).unwrap()
}

#[test]
fn the_worked_example_of_the_document_holds() {
    let shown = text_block(DOCUMENT, 0);
    assert_eq!(head().sign(&keyring()), shown);
    let verified = verify(shown).unwrap();
    assert_eq!((verified.head(), verified.note().to_string()), (&head(), shown.to_owned()));
    let keys = origin().keys(keyring().signing_chain());
    let written: Vec<_> = keys.iter().map(|key| format!("{key}\n")).collect();
    assert_eq!(written.concat(), text_block(DOCUMENT, 1));
}

#[test]
fn a_head_of_a_retired_key_of_the_chain_verifies() {
    let mut keyring = keyring();
    let note = head().sign(&keyring);
    keyring.rotate_signing(&mut |bytes| bytes.fill(9)).unwrap();
    let keys = origin().keys(keyring.signing_chain());
    assert_eq!(keys.len(), 3);
    let verified = UnverifiedTreeHead::parse(&note).unwrap().verify(&keys).unwrap();
    assert_eq!(verified.note().signers(), &keys[1..2]);
}

#[test]
fn signatures_of_witnesses_are_kept() {
    let mut note = head().sign(&keyring());
    note.push_str("\u{2014} witness.example AAAAAAE=\n");
    let verified = verify(&note).unwrap();
    assert_eq!(verified.note().to_string(), note);
    assert_eq!(verified.note().signers().len(), 1);
}

#[test]
fn a_head_that_only_others_signed_is_refused() {
    let stranger = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let note = sign_note(&head().text(), "witness.example", &stranger).unwrap();
    let witness = VerifierKey::new("witness.example", stranger.verifying_key()).unwrap();
    let refused = UnverifiedTreeHead::parse(&note).unwrap().verify(&[witness]);
    assert_eq!(refused, Err(TreeHeadError::NotItsOwn { origin: origin() }));
    assert_eq!(verify(&note), Err(NoteError::NoKnownSignature.into()));
}

#[test]
fn a_key_of_the_chain_under_the_name_of_another_ledger_is_refused() {
    let other = LedgerOrigin { name: "other".parse().unwrap(), ..origin() };
    let note = sign_note(&head().text(), &other.to_string(), keyring().signing().key).unwrap();
    assert_eq!(verify(&note), Err(NoteError::NoKnownSignature.into()));
    let keys = other.keys(keyring().signing_chain());
    let refused = UnverifiedTreeHead::parse(&note).unwrap().verify(&keys);
    assert_eq!(refused, Err(TreeHeadError::NotItsOwn { origin: origin() }));
}

#[test]
fn a_changed_character_is_refused_or_shows_nothing() {
    let note = head().sign(&keyring());
    for at in 0..note.len() {
        let mut bytes = note.clone().into_bytes();
        bytes[at] ^= 1;
        if let Ok(text) = String::from_utf8(bytes) {
            assert!(verify(&text).is_err(), "{text}");
        }
    }
}

#[test]
fn a_text_that_is_no_head_is_refused_although_it_is_signed() {
    let root = BASE64.encode(head().root.0);
    let origin = origin().to_string();
    let refused = |text: String| verify(&signed(&text)).unwrap_err();
    for size in ["", "+2", "02", "-2", "2 ", "0x2", "18446744073709551616"] {
        assert_eq!(refused(format!("{origin}\n{size}\n{root}\n")), TreeHeadError::Size, "{size}");
    }
    for root in ["", "AAAA", &root[1..], &format!("{root}AAAA"), &root.replace('=', "")] {
        assert_eq!(refused(format!("{origin}\n2\n{root}\n")), TreeHeadError::Root, "{root}");
    }
    for text in [format!("{origin}\n2\n"), format!("{origin}\n2\n{root}\nmore\n")] {
        assert_eq!(refused(text), TreeHeadError::Lines);
    }
    assert_eq!(refused(format!("\n{origin}\n2\n{root}\n")), TreeHeadError::Origin);
}

#[test]
fn a_name_that_is_no_origin_is_refused() {
    let id = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf";
    assert_eq!(format!("main/{id}/g1").parse(), Ok(origin()));
    for text in [
        format!("main/{id}"),
        format!("main/{id}/1"),
        format!("main/{id}/g0"),
        format!("main/{id}/g01"),
        format!("main/{id}/g+1"),
        format!("main/{id}/g4294967296"),
        format!("main/{id}/g1/"),
        format!("main/{}/g1", id.to_uppercase()),
        format!("main/{}/g1", &id[1..]),
        format!("Main/{id}/g1"),
        format!("/{id}/g1"),
        String::new(),
    ] {
        assert_eq!(text.parse::<LedgerOrigin>(), Err(TreeHeadError::Origin), "{text}");
    }
}

#[test]
fn the_longest_origin_is_a_key_name() {
    let name = "n".repeat(LedgerName::MAX_BYTES).parse().unwrap();
    let longest = LedgerOrigin { name, generation: Generation(u32::MAX), ..origin() };
    assert_eq!(longest.keys(keyring().signing_chain()).len(), 2);
    let head = TreeHead { origin: longest, size: u64::MAX, root: TreeHash([0xff; 32]) };
    assert_eq!(verify(&head.sign(&keyring())).unwrap().head(), &head);
}

#[test]
fn a_head_of_the_empty_tree_has_the_root_of_the_empty_tree() {
    let empty = TreeHead { size: 0, root: Frontier::new().root(), ..head() };
    assert_eq!(verify(&empty.sign(&keyring())).unwrap().head(), &empty);
    let other = TreeHead { size: 0, ..head() };
    assert_eq!(verify(&other.sign(&keyring())), Err(TreeHeadError::EmptyRoot));
    let one = TreeHead { size: 1, ..head() };
    assert_eq!(verify(&one.sign(&keyring())).unwrap().head(), &one);
}

#[test]
fn a_ledger_is_the_same_by_id_and_name_in_every_generation() {
    let later = LedgerOrigin { generation: Generation(7), ..origin() };
    let renamed = LedgerOrigin { name: "other".parse().unwrap(), ..origin() };
    let other = LedgerOrigin { ledger: LedgerId([0; 16]), ..origin() };
    assert!(origin().is_same_ledger(&later));
    assert!(!origin().is_same_ledger(&renamed) && !origin().is_same_ledger(&other));
}

#[test]
fn a_key_has_its_place_in_the_chain_of_its_own_ledger_alone() {
    let (origin, keyring) = (origin(), keyring());
    let chain = keyring.signing_chain();
    let keys = origin.keys(chain);
    let places: Vec<_> = keys.iter().map(|key| origin.place_of(key, chain)).collect();
    assert_eq!(places, [Ok(1), Ok(2)]);
    let renamed = LedgerOrigin { name: "other".parse().unwrap(), ..origin.clone() };
    assert_eq!(renamed.place_of(&keys[1], chain), Err(KeyProblem::OtherLedger));
    let stranger = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key();
    let stranger = VerifierKey::new(&origin.to_string(), stranger).unwrap();
    assert_eq!(origin.place_of(&stranger, chain), Err(KeyProblem::NotInChain));
}

#[test]
fn the_last_key_of_the_chain_that_signed_as_the_ledger_is_told() {
    let mut keyring = keyring();
    let second = head().sign(&keyring);
    keyring.rotate_signing(&mut |bytes| bytes.fill(9)).unwrap();
    let chain = keyring.signing_chain();
    let line = |note: &str| note.rsplit_once("\n\n").unwrap().1.to_owned();
    let told = |note: &str, keys: &[VerifierKey]| {
        let parsed = UnverifiedTreeHead::parse(note).unwrap();
        assert_eq!(parsed.size(), 2);
        parsed.verify(keys).unwrap().signing_key(chain)
    };
    let mut keys = origin().keys(chain);
    assert_eq!(told(&second, &keys), Some(2));
    let both = head().sign(&keyring) + &line(&second);
    assert_eq!(told(&both, &keys), Some(3));
    // The third key again, under a name that is not the ledger's.
    let third = VerifierKey::new("other", *keys[2].public()).unwrap();
    let elsewhere = sign_note(&head().text(), "other", keyring.signing().key).unwrap();
    keys.push(third);
    assert_eq!(told(&(second.clone() + &line(&elsewhere)), &keys), Some(2));
    let stranger = Keyring::generate(&mut |bytes| bytes.fill(3));
    let verified = UnverifiedTreeHead::parse(&second).unwrap().verify(&keys).unwrap();
    assert_eq!(verified.signing_key(stranger.signing_chain()), None);
}

#[test]
fn a_head_keeps_the_cosignatures_that_are_added() {
    let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let witness = WitnessKey::new("witness.example", key.verifying_key()).unwrap();
    let line = crate::cosign(&head().text(), "witness.example", &key, 5).unwrap();
    let signed = verify(&head().sign(&keyring())).unwrap();
    let cosigned = signed.with_cosignatures(&[line], std::slice::from_ref(&witness)).unwrap();
    assert_eq!(cosigned.head(), &head());
    let by = cosigned.note().cosigned_by(std::slice::from_ref(&witness)).unwrap();
    assert_eq!(by.iter().map(|by| (&by.key, by.seconds)).collect::<Vec<_>>(), [(&witness, 5)]);
}
