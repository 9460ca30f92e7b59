//! P10: contents, names and keys of events are unreadable without the keyring, in derived state too.

use bitacora_formats::{Data, Json};
use bitacora_ledger::AppendRequest;

use crate::indexed::{files, index_of, wait_until_caught_up};
use crate::workload::{event, keyring, machine_with_ledger, open};

#[test]
fn no_file_shows_a_word_of_an_event_or_a_key() {
    let machine = machine_with_ledger(100);
    let ledger = index_of(&machine);
    let mut secret = event(1);
    secret.id = "identity-of-the-event".into();
    secret.source = "urn:source-of-the-event".into();
    secret.stream = "stream-of-the-event".into();
    secret.agent = Some("agent-of-the-event".into());
    secret.session = Some("session-of-the-event".into());
    secret.tags = vec!["tag-of-the-event".into()];
    secret.datasubject = Some("person-of-the-event".into());
    secret.data = Data::Json(Json::check(br#"{"words":"contents-of-the-event"}"#.to_vec()).unwrap());
    ledger.append(AppendRequest::of(vec![secret])).unwrap().wait().unwrap();
    wait_until_caught_up(&ledger);
    ledger.close().unwrap();
    assert!(!files(&machine).is_empty(), "the index is among what is looked at");

    let mut hidden: Vec<Vec<u8>> =
        ["identity", "source", "stream", "agent", "session", "tag", "person", "contents"]
            .iter()
            .map(|part| format!("{part}-of-the-event").into_bytes())
            .collect();
    let keyring = keyring();
    for secret in [keyring.active_kek().1, keyring.blinding_key(), keyring.derived_state_key()] {
        hidden.push(secret.expose().to_vec());
        hidden.push(hex(secret.expose()).into_bytes());
    }
    for path in machine.disk.paths() {
        let Ok(contents) = machine.disk.contents(&path) else { continue };
        for words in &hidden {
            let shown = contents.windows(words.len()).any(|window| window == words);
            assert!(!shown, "{} shows {:?}", path.display(), String::from_utf8_lossy(words));
        }
        assert!(!path.to_string_lossy().contains("of-the-event"), "{}", path.display());
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn an_event_of_a_data_subject_reads_back_whole() {
    let machine = machine_with_ledger(101);
    let ledger = open(&machine).unwrap();
    let mut personal = event(1);
    personal.datasubject = Some("ana@example.org".into());
    let appended = ledger.append(AppendRequest::of(vec![personal.clone()])).unwrap().wait().unwrap();
    let again = ledger.append(AppendRequest::of(vec![personal.clone()])).unwrap().wait().unwrap();
    assert!(again.only_duplicates());
    ledger.close().unwrap();
    drop(ledger);
    let ledger = open(&machine).unwrap();
    let stored = ledger.event(appended.first).unwrap();
    assert_eq!((stored.event, stored.erased), (personal, false));
}
