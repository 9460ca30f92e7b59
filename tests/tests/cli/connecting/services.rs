//! Services that are not the connection's, or no more there: `doctor` and `connect` believe what the ledger signed.

use std::fs;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::answering_relay::{ANOTHER_KEY, AnsweringRelay, Conduct};
use super::{User, said};
use crate::sample::code;

impl User {
    /// The row of `doctor` for one check: its mark, its finding and its remedy.
    fn check(&self, check: &str) -> (bool, String, String) {
        let doctor = self.run(&["doctor", "claude", "--json"]);
        let findings: Value = serde_json::from_slice(&doctor.stdout).unwrap();
        let found = findings.as_array().unwrap().iter().find(|finding| finding["check"] == check);
        let found = found.unwrap_or_else(|| panic!("{check} in {findings}"));
        let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
        (found["ok"] == true, text("found"), text("remedy"))
    }

    fn answer_key(&self) -> String {
        let file = fs::read(self.connection("claude")).unwrap();
        let connection: Value = serde_json::from_slice(&file).unwrap();
        connection["answerKey"].as_str().unwrap().to_owned()
    }
}

/// The fingerprint, as its documents describe it.
fn fingerprint(key: &[u8]) -> String {
    let digest = Sha256::digest(key);
    let groups = digest[..16].chunks(2).map(|group| format!("{:02x}{:02x}", group[0], group[1]));
    groups.collect::<Vec<_>>().join("-")
}

/// The bytes of a key.
fn bytes(key: &str) -> Vec<u8> {
    (0..key.len()).step_by(2).map(|at| u8::from_str_radix(&key[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn doctor_believes_no_program_that_repeats_answers_of_the_ledger() {
    let user = User::new();
    let relay = AnsweringRelay::start(user.service.address);
    let connected = user.command_at(&relay.url(), &["connect", "claude"]).output().unwrap();
    assert_eq!(code(&connected), 0, "{}", said(&connected));
    user.hook("c1");
    // A relay that changes nothing is as good as the service.
    assert_eq!(user.faults(&["claude"]), []);
    assert!(user.check("events").0 && user.check("answers").0);
    relay.conduct(Conduct::Repeating);
    let (is_well, found, remedy) = user.check("answers");
    assert!(!is_well && found.contains("not signed by this connection's ledger"), "{found}");
    assert!(remedy.contains(&relay.url()) && remedy.contains("--new-answer-key"), "{remedy}");
    let doctor = String::from_utf8(user.run(&["doctor", "claude"]).stdout).unwrap();
    assert!(!doctor.contains("position") && !doctor.contains("in the ledger"), "{doctor}");
}

#[test]
fn connecting_again_takes_no_other_key_unless_it_is_told_to() {
    let user = User::new();
    let first = user.done(&["connect", "claude"]);
    let (key, file) = (user.answer_key(), fs::read(user.connection("claude")).unwrap());
    let own = fingerprint(&bytes(&key));
    assert!(first.contains(&own), "{first}");
    assert!(user.done(&["status"]).contains(&own));
    // The folder tells it beside a running service, and no program can answer for that.
    let (data, keyring) = (user.place.data(), user.place.keyring());
    let folder = ["keys", "show", "--data", data.to_str().unwrap(), "--keyring", keyring.to_str().unwrap()];
    assert!(user.done(&folder).contains(&own));
    let relay = AnsweringRelay::start(user.service.address);
    relay.conduct(Conduct::NamingAnotherKey);
    let refused = user.command_at(&relay.url(), &["connect", "claude"]).output().unwrap();
    let why = said(&refused);
    assert_eq!(code(&refused), 1, "{why}");
    for part in [own.as_str(), &fingerprint(&[ANOTHER_KEY.0; 32]), "--new-answer-key", &relay.url()] {
        assert!(why.contains(part), "{part} in {why}");
    }
    assert_eq!(fs::read(user.connection("claude")).unwrap(), file);
    assert_eq!(user.holders().len(), 1);
    let taken = ["connect", "claude", "--new-answer-key"];
    let taken = user.command_at(&relay.url(), &taken).output().unwrap();
    assert_eq!(code(&taken), 0, "{}", said(&taken));
    assert_eq!(user.answer_key(), ANOTHER_KEY.1.repeat(32));
}

#[test]
fn events_of_an_earlier_connection_are_none_of_this_one() {
    let user = User::new();
    user.done(&["connect", "claude"]);
    user.hook("c1");
    assert!(user.check("events").0);
    user.done(&["disconnect", "claude"]);
    user.done(&["connect", "claude"]);
    let (is_well, found, remedy) = user.check("events");
    assert!(
        !is_well && found.contains("since it was connected") && remedy.contains("new session"),
        "{found}"
    );
    user.hook("c2");
    assert!(user.check("events").0);
}

#[test]
fn doctor_tells_a_slow_harness_from_none_and_says_how_a_service_is_started() {
    let mut user = User::new();
    user.done(&["connect", "claude"]);
    let claude = user.program("claude", "exec sleep 60");
    let (is_well, found, _) = user.check("version");
    assert!(is_well && found.contains("did not answer within") && found.contains("claude"), "{found}");
    user.program("claude", "exit 1");
    assert!(!user.check("version").0);
    fs::remove_file(claude).unwrap();
    let address = user.service.address;
    user.service.terminate().unwrap();
    let (is_well, _, remedy) = user.check("service");
    let start = format!("bitacora serve --data FOLDER --keyring FILE --listen '{address}'");
    assert!(!is_well && remedy.contains(&start), "{remedy}");
}
