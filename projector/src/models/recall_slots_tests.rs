//! Places of recalled builds: their number, their rate, and their shares.

use std::time::{Duration, Instant};

use bitacora_formats::LedgerId;

use super::recall_slots::{RecallBounds, RecallRefusal, RecallSlots, RecallWait};

const HELD: Duration = Duration::from_secs(120);
const MODELS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

fn ledger(number: u8) -> LedgerId {
    LedgerId([number; 16])
}

fn slots(at_once: usize, of_ledger: usize) -> RecallSlots {
    RecallSlots::new(RecallBounds { at_once, of_ledger, held: HELD, ..RecallBounds::default() })
}

fn seconds(wait: RecallWait) -> (RecallRefusal, u64) {
    (wait.why, wait.at_least.as_secs())
}

/// Takes places of a ledger, one after another, whose builds answer at once.
fn taken(slots: &RecallSlots, of: u8, models: usize, now: Instant) -> Vec<u64> {
    let take = |model: &&'static str| {
        let number = slots.take(ledger(of), model, now).unwrap();
        slots.set_settled(number, true, now);
        number
    };
    MODELS[..models].iter().map(take).collect()
}

#[test]
fn no_more_begin_in_an_hour_than_may_whoever_asks() {
    let (slots, begin) = (slots(8, 4), Instant::now());
    let (mut begun, mut now) = (Vec::new(), begin);
    while now < begin + Duration::from_secs(3 * 3_600) {
        for number in 0..8 {
            for model in MODELS {
                // As one that is damaged as soon as it answers.
                if let Ok(place) = slots.take(ledger(number), model, now) {
                    slots.free(place);
                    begun.push((now, number));
                }
            }
        }
        now += Duration::from_secs(10);
    }
    for (first, number) in &begun {
        let hour = *first..*first + Duration::from_secs(3_600);
        let within = begun.iter().filter(|(time, _)| hour.contains(time));
        assert!(within.clone().count() <= 24);
        assert!(within.filter(|(_, of)| of == number).count() <= 8);
    }
    assert_eq!(begun.len(), 3 * 24);
}

#[test]
fn a_refusal_says_how_long_it_lasts() {
    let (slots, begin) = (slots(8, 4), Instant::now());
    let after = |seconds| begin + Duration::from_secs(seconds);
    let places = taken(&slots, 1, 4, begin);
    // It goes when nobody asks for 10 minutes, at the earliest.
    let refused = slots.take(ledger(1), "e", after(60)).unwrap_err();
    assert_eq!(seconds(refused), (RecallRefusal::Places, 9 * 60));
    for place in places {
        slots.free(place);
    }
    for model in &MODELS[..4] {
        slots.free(slots.take(ledger(1), model, after(100)).unwrap());
    }
    let refused = slots.take(ledger(1), "a", after(3_000)).unwrap_err();
    assert_eq!(seconds(refused), (RecallRefusal::Rate, 600));
    assert!(slots.take(ledger(1), "a", after(3_600)).is_ok());
}

#[test]
fn a_service_that_began_enough_says_when_it_begins_again() {
    let (slots, begin) = (slots(8, 8), Instant::now());
    for number in 0..3 {
        for model in MODELS {
            let now = begin + Duration::from_secs(u64::from(number));
            slots.free(slots.take(ledger(number), model, now).unwrap());
        }
    }
    let now = begin + Duration::from_secs(1_000);
    let refused = slots.take(ledger(7), "a", now).unwrap_err();
    assert_eq!(seconds(refused), (RecallRefusal::Rate, 2_600));
}

#[test]
fn the_place_that_answered_the_longest_goes_when_a_ledger_without_one_waits() {
    let (slots, begin) = (slots(4, 4), Instant::now());
    let after = |seconds| begin + Duration::from_secs(seconds);
    // The last one does not answer yet, so it stays.
    let places = MODELS[..4].iter().map(|model| slots.take(ledger(1), model, begin).unwrap());
    let places: Vec<_> = places.collect();
    for (place, time) in places.iter().zip([after(10), after(10), begin]) {
        slots.set_settled(*place, true, time);
    }
    let goes = |now| places.iter().position(|place| slots.has_to_go(*place, now));
    assert_eq!(goes(after(500)), None, "nobody waits");
    let refused = slots.take(ledger(2), "a", after(119)).unwrap_err();
    assert_eq!((seconds(refused), goes(after(119))), ((RecallRefusal::Places, 1), None));
    assert_eq!((goes(after(120)), goes(after(130))), (Some(2), Some(2)));
    slots.free(places[2]);
    // Whoever waits comes before the ledger that gave it up.
    assert!(slots.take(ledger(1), "a", after(121)).is_err());
    assert!(slots.take(ledger(2), "a", after(122)).is_ok());
    // One place each less would only go to and fro: 3 and 1, then 2 and 2.
    assert!(slots.take(ledger(2), "b", after(131)).is_err());
    assert_eq!(goes(after(131)), Some(0));
    slots.free(places[0]);
    assert!(slots.take(ledger(2), "b", after(132)).is_ok());
    assert!(slots.take(ledger(2), "c", after(133)).is_err());
    assert_eq!(goes(after(133)), None);
}

#[test]
fn two_ledgers_take_no_place_from_one_another_in_turns() {
    let (slots, begin) = (slots(3, 3), Instant::now());
    let places = [taken(&slots, 1, 2, begin), taken(&slots, 2, 1, begin)].concat();
    let now = begin + 2 * HELD;
    assert!(slots.take(ledger(2), "b", now).is_err());
    assert!(places.iter().all(|place| !slots.has_to_go(*place, now)));
}

#[test]
fn a_waiter_that_asks_no_more_is_forgotten() {
    let (slots, begin) = (slots(1, 1), Instant::now());
    let after = |seconds| begin + Duration::from_secs(seconds);
    let place = taken(&slots, 1, 1, begin)[0];
    assert!(slots.take(ledger(2), "a", after(200)).is_err());
    assert!(slots.has_to_go(place, after(230)));
    assert!(!slots.has_to_go(place, after(231)));
    assert!(slots.take(ledger(2), "a", after(240)).is_err());
    slots.free(place);
    assert!(slots.take(ledger(1), "a", after(270)).is_err(), "the other one came first");
    assert!(slots.take(ledger(1), "a", after(271)).is_ok());
}

#[test]
fn one_that_cannot_go_on_keeps_no_other_ledger_out() {
    let (slots, begin) = (slots(1, 1), Instant::now());
    let after = |seconds| begin + Duration::from_secs(seconds);
    let place = slots.take(ledger(1), "a", begin).unwrap();
    slots.set_settled(place, true, after(10));
    slots.set_settled(place, true, after(100));
    assert!(slots.take(ledger(2), "a", after(130)).is_err());
    assert!(slots.has_to_go(place, after(130)));
    // It goes on.
    slots.set_settled(place, false, after(130));
    assert!(!slots.has_to_go(place, after(130)));
}
