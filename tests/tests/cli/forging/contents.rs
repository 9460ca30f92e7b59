//! Forged contents: invalid records and bodies, a foreign tree, a first event that makes no ledger.

use bitacora_formats::{Codec, Data, Json, LedgerId};
use bitacora_verify::FaultKind;

use super::{Forger, begun, body_of, hex, record_of};
use crate::sample::event;

#[test]
fn a_tree_that_is_not_that_of_the_records_is_found() {
    let mut forger = begun();
    let body = body_of(1, &record_of(event("1", "s")), None);
    let root = forger.grow(&record_of(event("2", "s")));
    forger.seal(&body, Codec::Stored, body.len(), 1, root);
    assert!(matches!(forger.found(), (FaultKind::TreeRoot { .. }, 2)));
}

#[test]
fn a_first_event_that_is_not_the_making_of_this_ledger_is_found() {
    let key = hex(&Forger::new().keyring.signing().public);
    let id = LedgerId([5; 16]);
    for (what, data) in [
        ("ledger", format!(r#"{{"ledger":"{}","name":"main","signingKey":"{key}"}}"#, LedgerId([6; 16]))),
        ("signingKey", format!(r#"{{"ledger":"{id}","name":"main","signingKey":"{}"}}"#, hex(&[7; 32]))),
        ("name", format!(r#"{{"ledger":"{id}","name":"other","signingKey":"{key}"}}"#)),
        ("data", "{}".to_owned()),
    ] {
        let mut forger = Forger::new();
        let mut created = forger.created();
        created.data = Data::Json(Json::check(data.into_bytes()).unwrap());
        forger.honest(created, 1);
        let (kind, position) = forger.found();
        assert!(matches!(&kind, FaultKind::Genesis { what: found, .. } if *found == what), "{what}: {kind}");
        assert_eq!(position, 1);
    }
    let mut forger = Forger::new();
    forger.honest(event("1", "s"), 1);
    assert!(matches!(forger.found(), (FaultKind::Genesis { what: "type", .. }, 1)));
}

#[test]
fn a_body_or_record_that_is_none_is_found() {
    let mut forger = begun();
    let record = record_of(event("1", "s"));
    let root = forger.grow(&record);
    forger.seal(b"no body at all", Codec::Stored, 14, 1, root);
    assert!(matches!(forger.found(), (FaultKind::Body(_), 2)));

    let mut forger = begun();
    let root = forger.grow(&record);
    let body = body_of(1, b"no record", None);
    forger.seal(&body, Codec::Stored, body.len(), 1, root);
    assert!(matches!(forger.found(), (FaultKind::Record(_), 2)));

    let mut forger = begun();
    forger.grow(&record);
    let root = forger.grow(&record);
    let body = body_of(1, &record, None);
    forger.seal(&body, Codec::Stored, body.len(), 2, root);
    assert!(matches!(forger.found(), (FaultKind::Body(_), 2)), "a frame that counts more events than it has");
}

#[test]
fn a_part_that_no_record_names_is_found() {
    let mut forger = begun();
    let record = record_of(event("1", "s"));
    let root = forger.grow(&record);
    let body = body_of(1, &record, Some(b"something hidden"));
    forger.seal(&body, Codec::Stored, body.len(), 1, root);
    assert!(matches!(forger.found(), (FaultKind::PartPresence { .. }, 2)));
}

#[test]
fn a_frame_that_unpacks_to_more_than_it_says_is_refused_unread() {
    let bomb = zstd::bulk::compress(&vec![0; 256 * 1024 * 1024], 1).unwrap();
    let mut forger = begun();
    let root = forger.grow(&record_of(event("1", "s")));
    forger.seal(&bomb, Codec::Zstd, bomb.len() + 1, 1, root);
    assert!(matches!(forger.found(), (FaultKind::Open(_), 2)));
}
