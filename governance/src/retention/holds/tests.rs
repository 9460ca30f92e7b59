use serde_json::{Value, json};

use super::*;

const KEY: [u8; 16] = [0xa1; 16];
const OTHER_KEY: [u8; 16] = [0xb2; 16];

fn position(number: u64) -> Position {
    Position::new(number).unwrap()
}

fn placed(hold: &str, scope: &Value) -> HoldPlaced {
    serde_json::from_value(json!({"hold": hold, "scope": scope, "reason": "the proceedings of case 7"}))
        .unwrap()
}

fn holds(scopes: &[(&str, Value)]) -> Holds {
    let mut holds = Holds::default();
    for (id, scope) in scopes {
        holds.apply_placed(&placed(id, scope), position(100).into(), Micros(1));
    }
    holds
}

#[test]
fn a_hold_covers_what_agrees_with_every_part_of_its_scope() {
    let key = "a1".repeat(16);
    for (scope, covered, free) in [
        (json!({}), vec![(1, "a", None), (u64::MAX - 1, "b", Some(KEY))], vec![]),
        (json!({"key": key}), vec![(7, "a", Some(KEY))], vec![(7, "a", None), (7, "a", Some(OTHER_KEY))]),
        (json!({"first": "5"}), vec![(5, "a", None), (900, "a", None)], vec![(4, "a", None)]),
        (json!({"last": "5"}), vec![(1, "a", None), (5, "a", None)], vec![(6, "a", None)]),
        (
            json!({"first": "5", "last": "5", "stream": "orders"}),
            vec![(5, "orders", Some(KEY))],
            vec![(5, "order", None), (5, "orders/7", None), (4, "orders", None), (6, "orders", None)],
        ),
        (
            json!({"key": key, "stream": "orders"}),
            vec![(9, "orders", Some(KEY))],
            vec![(9, "orders", None), (9, "a", Some(KEY)), (9, "orders", Some(OTHER_KEY))],
        ),
    ] {
        let holds = holds(&[("case-7", scope.clone())]);
        let covering = |(at, stream, key): (u64, &str, Option<[u8; 16]>)| {
            holds.covering(position(at), stream, key.map(SubjectKeyId::new)).map(|(id, _)| id.as_str())
        };
        for event in covered {
            assert_eq!(covering(event), Some("case-7"), "{scope} {event:?}");
        }
        for event in free {
            assert_eq!(covering(event), None, "{scope} {event:?}");
        }
    }
}

#[test]
fn of_several_holds_the_first_by_its_id_is_named_until_it_is_released() {
    let mut holds = holds(&[("b", json!({})), ("a", json!({"last": "9"}))]);
    let covering = |holds: &Holds, at| holds.covering(position(at), "s", None).map(|(id, _)| id.to_string());
    assert_eq!(covering(&holds, 9).as_deref(), Some("a"));
    assert_eq!(covering(&holds, 10).as_deref(), Some("b"));
    for id in ["a", "b"] {
        holds.apply_released(&Name::new(id).unwrap());
    }
    assert!(holds.is_empty() && covering(&holds, 9).is_none());
    assert_eq!(holds, Holds::default());
}

#[test]
fn holds_that_cannot_be_are_refused() {
    let standing = holds(&[("case-7", json!({"last": "9"}))]);
    let refused = |hold: &str, scope: Value| {
        let refusal = standing.may_place(&placed(hold, &scope), position(100)).unwrap_err();
        assert_eq!(refusal.code, RefusalCode::InvalidData);
        refusal.reason
    };
    assert_eq!(refused("case-7", json!({})), "hold `case-7` is in force; use another id");
    let behind = refused("b", json!({"last": "100"}));
    assert!(
        behind.starts_with("the scope ends at position 100, and the last event is before 100"),
        "{behind}"
    );
    let backward = refused("b", json!({"first": "8", "last": "7"}));
    assert_eq!(backward, "the scope begins at position 8 and ends before, at 7");
    for scope in [json!({"last": "99"}), json!({"first": "7", "last": "7"}), json!({"first": "100"})] {
        standing.may_place(&placed("b", &scope), position(100)).unwrap();
    }
    let released: HoldReleased =
        serde_json::from_value(json!({"hold": "case-`8", "reason": "closed"})).unwrap();
    let refusal = standing.may_release(&released).unwrap_err();
    assert_eq!((refusal.code, &*refusal.reason), (RefusalCode::NoSuchThing, "there is no hold `case-'8`"));
}

#[test]
fn there_is_room_for_a_bounded_number_of_holds() {
    let scopes: Vec<_> = (0..MAX_HOLDS).map(|number| (format!("h{number}"), json!({"first": "1"}))).collect();
    let scopes: Vec<_> = scopes.iter().map(|(id, scope)| (id.as_str(), scope.clone())).collect();
    let mut full = holds(&scopes);
    let refusal = full.may_place(&placed("more", &json!({})), position(2_000)).unwrap_err();
    assert_eq!(refusal.code, RefusalCode::StateFull);
    full.apply_released(&Name::new("h0").unwrap());
    full.may_place(&placed("more", &json!({})), position(2_000)).unwrap();
}
