//! P4: an event id is accepted once in the ledger's life; a retry gets the original answer.

use bitacora_ledger::{AppendError, AppendRequest, ReceiptStatus};

use crate::workload::{Memory, event, machine_with_ledger, open};

#[test]
fn a_retry_gets_the_original_answer_over_segments_and_openings() {
    let machine = machine_with_ledger(40);
    let mut memory = Memory::default();
    let mut answers = Vec::new();
    for round in 0..4_u64 {
        let ledger = open(&machine).unwrap();
        for number in round * 400..(round + 1) * 400 {
            answers.push(memory.append(&ledger, number).unwrap());
        }
        assert!(round == 0 || ledger.status().segments > 3, "the run spans segments");
        for (number, answer) in (0_u64..).zip(&answers).step_by(37) {
            let again = ledger.append(AppendRequest::of(vec![event(number)])).unwrap().wait().unwrap();
            assert!(again.only_duplicates());
            let (mut original, repeated) = (answer.results.clone(), again.results);
            original[0].status = ReceiptStatus::Duplicate;
            assert_eq!(repeated, original);
        }
        memory.check(&ledger);
        ledger.close().unwrap();
    }
}

#[test]
fn concurrent_retries_are_accepted_once() {
    let machine = machine_with_ledger(41);
    let ledger = open(&machine).unwrap();
    for number in 0..50 {
        let pending: Vec<_> =
            (0..6).map(|_| ledger.append(AppendRequest::of(vec![event(number)])).unwrap()).collect();
        let answers: Vec<_> = pending.into_iter().map(|pending| pending.wait().unwrap()).collect();
        let created = answers.iter().filter(|answer| !answer.only_duplicates()).count();
        assert_eq!(created, 1);
        assert!(answers.iter().all(|answer| answer.first == answers[0].first));
    }
}

#[test]
fn the_same_id_with_other_content_is_refused_also_after_a_restart() {
    let machine = machine_with_ledger(42);
    let ledger = open(&machine).unwrap();
    let position = ledger.append(AppendRequest::of(vec![event(1)])).unwrap().wait().unwrap().first;
    ledger.close().unwrap();
    drop(ledger);
    let ledger = open(&machine).unwrap();
    let head = ledger.head();
    for change in 0..4 {
        let mut changed = event(1);
        match change {
            0 => changed.kind = "x.other".into(),
            1 => changed.actor = Some("admin:somebody".into()),
            2 => changed.stream = "elsewhere".into(),
            _ => changed.data = bitacora_formats::Data::None,
        }
        let refused = ledger.append(AppendRequest::of(vec![changed])).unwrap().wait();
        assert!(
            matches!(refused, Err(AppendError::IdReused { index: 0, position: at }) if at == position),
            "{refused:?}"
        );
    }
    assert_eq!(ledger.head(), head);
}

#[test]
fn a_request_of_new_and_known_events_adds_the_new_ones() {
    let machine = machine_with_ledger(43);
    let ledger = open(&machine).unwrap();
    let known = ledger.append(AppendRequest::of(vec![event(5)])).unwrap().wait().unwrap();
    let mixed = ledger.append(AppendRequest::of(vec![event(6), event(5), event(7)])).unwrap().wait().unwrap();
    let status: Vec<_> = mixed.results.iter().map(|result| result.status).collect();
    assert_eq!(status, [ReceiptStatus::Created, ReceiptStatus::Duplicate, ReceiptStatus::Created]);
    assert_eq!(mixed.results[1].position, known.first);
    assert_eq!(mixed.results[2].position.get(), mixed.results[0].position.get() + 1);
}
