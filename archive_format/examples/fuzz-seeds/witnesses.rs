//! Seeds that witnesses make and read: cosigned notes, policies, requests and answers.

use bitacora_formats::{AddCheckpoint, TreeHash, WitnessKey, cosign, prove_consistency, sign_note};
use ed25519_dalek::SigningKey;

use crate::Seeds;
use crate::notes::{keyring, origin};

/// The names of the witnesses that the targets know, and the seeds of their keys.
const WITNESSES: [(&str, [u8; 32]); 2] = [("witness.example/w", [0x31; 32]), ("other.example", [0x32; 32])];
const TEXT: &str =
    "main/a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0/g1\n9\nBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n";

pub(crate) fn all() -> Vec<Seeds> {
    vec![
        Seeds { target: "cosignature", inputs: bytes(cosigned()) },
        Seeds { target: "witness_policy", inputs: bytes(policies()) },
        Seeds { target: "add_checkpoint", inputs: bytes(asked()) },
    ]
}

fn bytes(texts: Vec<String>) -> Vec<Vec<u8>> {
    texts.into_iter().map(String::into_bytes).collect()
}

fn note() -> String {
    sign_note(TEXT, &origin().to_string(), keyring().signing().key).unwrap()
}

/// The lines of both witnesses, the first one's twice.
fn lines() -> [String; 3] {
    [(0, 1_800_000_000), (1, 1), (0, 1_800_000_060)].map(|(place, seconds)| {
        let (name, seed) = WITNESSES[place];
        format!("{}\n", cosign(TEXT, name, &SigningKey::from_bytes(&seed), seconds).unwrap())
    })
}

fn keys() -> [WitnessKey; 2] {
    WITNESSES
        .map(|(name, seed)| WitnessKey::new(name, SigningKey::from_bytes(&seed).verifying_key()).unwrap())
}

/// A note with no cosignature, with one, and with all; and the witnesses' keys.
fn cosigned() -> Vec<String> {
    let (note, lines) = (note(), lines());
    let mut texts = vec![note.clone(), format!("{note}{}", lines[0]), format!("{note}{}", lines.concat())];
    texts.extend(keys().iter().map(ToString::to_string));
    texts
}

/// No witness asked for, one, and groups of groups.
fn policies() -> Vec<String> {
    let [one, other] = keys();
    let log = &origin().keys(keyring().signing_chain())[0];
    let third = WitnessKey::new("third", SigningKey::from_bytes(&[0x33; 32]).verifying_key()).unwrap();
    let witnesses = format!("witness w1 {one} https://w.example/\nwitness w2 {other}\nwitness w3\t{third}\n");
    vec![
        "quorum none\n".to_owned(),
        format!("# one\n\nlog {log} https://log.example/\nwitness w {one}\nquorum w\n"),
        format!("{witnesses}group two 2 w1 w2 w3\nquorum two\n"),
        format!("{witnesses}group any any w1 w2\ngroup all all any w3\nquorum all\n"),
    ]
}

/// Requests with proofs of three lengths, an answer with lines and one with a size.
fn asked() -> Vec<String> {
    let any = |_, _| Ok::<_, ()>(TreeHash([6; 32]));
    let mut texts: Vec<String> = [(0, 9), (5, 9), (8, 9)]
        .map(|(old, size)| {
            let proof = prove_consistency(old, size, any).unwrap().unwrap();
            AddCheckpoint::new(old, &proof, &note()).unwrap().to_string()
        })
        .into();
    texts.extend([lines().concat(), "9\n".to_owned()]);
    texts
}
