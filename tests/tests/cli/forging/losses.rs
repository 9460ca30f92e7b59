//! Forged beginnings of a generation: the declaration of a loss contradicts the log before it.

use bitacora_formats::{Data, Event, Generation, Json, LedgerOrigin, TreeHead};
use bitacora_verify::{FaultKind, Verdict};
use serde_json::{Value, json};

use super::{Forger, begun};
use crate::sample::event;

/// A second generation that goes on from position 2, after a head of size 5 was lost; `forge` changes what its first event says.
fn recovered(forge: impl FnOnce(&mut Value)) -> Forger {
    let mut forger = begun();
    forger.honest(event("1", "s"), 1);
    let root = forger.frontier.root();
    forger.generation = Generation(2);
    let mut forger = forger.roll();
    let origin =
        LedgerOrigin { name: "main".parse().unwrap(), ledger: forger.ledger, generation: Generation::FIRST };
    let note = TreeHead { origin, size: 5, root }.sign(&forger.keyring);
    let mut data = json!({
        "generation": 2,
        "lostHead": {"size": "5", "root": root.to_string(), "note": note},
        "retained": {"size": "2", "root": root.to_string(), "hash": forger.previous.to_string()},
    });
    forge(&mut data);
    let source = format!("urn:bitacora:ledger:{}", forger.ledger);
    let mut told = Event::new("ledger.recovered:3", source, "ledger.recovered", "ledger");
    told.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
    forger.honest(told, 2);
    forger
}

/// A text with its last digit changed.
fn other(text: &Value) -> Value {
    let text = text.as_str().unwrap();
    let (kept, last) = text.split_at(text.len() - 1);
    format!("{kept}{}", if last == "0" { "1" } else { "0" }).into()
}

#[test]
fn what_an_honest_declaration_says_is_told() {
    let report = recovered(|_| {}).verify();
    assert_eq!(report.verdict(), Verdict::Alone, "{report:?}");
    let [first, second] = &report.generations[..] else { panic!("{:?}", report.generations) };
    assert_eq!((first.first_position, &first.declared), (1, &None));
    let declared = second.declared.as_ref().unwrap();
    assert_eq!((declared.lost_positions(), declared.retained.position), (Some((3, 5)), 2));
    let note = declared.lost.as_ref().unwrap().note.as_ref().unwrap();
    assert_eq!((note.generation.0, note.signing_key), (1, 1));

    let unknown = recovered(|data| data["lostHead"] = Value::Null).verify();
    let declared = unknown.generations[1].declared.as_ref().unwrap();
    assert_eq!((&declared.lost, declared.lost_positions()), (&None, None));
    let by_a_witness = recovered(|data| {
        data["lostHead"]["root"] = Value::Null;
        data["lostHead"]["note"] = Value::Null;
    });
    let declared = by_a_witness.verify().generations[1].declared.clone().unwrap();
    assert_eq!((declared.lost_positions(), declared.lost.unwrap().note), (Some((3, 5)), None));
}

/// A change of a declaration, with its name.
type LossForgery = (&'static str, fn(&mut Value));

#[test]
fn a_declaration_of_another_loss_is_found() {
    let forgeries: [LossForgery; 8] = [
        ("generation", |data| data["generation"] = 3.into()),
        ("retained size", |data| data["retained"]["size"] = "1".into()),
        ("retained root", |data| data["retained"]["root"] = other(&data["retained"]["root"])),
        ("lost note of size", |data| data["lostHead"]["size"] = "6".into()),
        ("lost note of root", |data| data["lostHead"]["root"] = other(&data["lostHead"]["root"])),
        ("lost note", |data| {
            let note = data["lostHead"]["note"].as_str().unwrap().replace("\n5\n", "\n6\n");
            data["lostHead"]["note"] = note.into();
        }),
        ("lost note", |data| data["lostHead"]["note"] = "no note".into()),
        ("data", |data| drop(data.as_object_mut().unwrap().remove("retained"))),
    ];
    for (expected, forge) in forgeries {
        let (kind, position) = recovered(forge).found();
        let FaultKind::Recovered { what, .. } = kind else { panic!("{expected}: {kind:?}") };
        assert_eq!((what, position), (expected, 3));
    }
}

#[test]
fn a_hash_of_other_frames_is_told() {
    let report = recovered(|data| data["retained"]["hash"] = other(&data["retained"]["hash"])).verify();
    assert_eq!(report.verdict(), Verdict::Alone, "{report:?}");
    assert!(report.generations[1].declared.as_ref().unwrap().in_other_frames);
    assert!(!recovered(|_| {}).verify().generations[1].declared.as_ref().unwrap().in_other_frames);
}

#[test]
fn a_note_of_another_ledger_is_no_lost_note() {
    let mut forger = begun();
    forger.ledger.0[0] ^= 1;
    let origin =
        LedgerOrigin { name: "main".parse().unwrap(), ledger: forger.ledger, generation: Generation::FIRST };
    let root = forger.frontier.root();
    let (note, text) = (TreeHead { origin, size: 5, root }.sign(&forger.keyring), root.to_string());
    let lying = recovered(|data| {
        data["lostHead"]["root"] = text.into();
        data["lostHead"]["note"] = note.into();
    });
    let (kind, position) = lying.found();
    assert!(matches!(kind, FaultKind::Recovered { what: "lost note of ledger", .. }), "{kind:?}");
    assert_eq!(position, 3);
}

#[test]
fn a_generation_that_declares_no_loss_is_found() {
    let mut forger = begun();
    forger.generation = Generation(2);
    let mut forger = forger.roll();
    forger.honest(event("1", "s"), 1);
    let (kind, position) = forger.found();
    assert!(matches!(kind, FaultKind::Recovered { what: "first event", .. }), "{kind:?}");
    assert_eq!(position, 2);
}
