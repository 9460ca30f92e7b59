//! The real program and a witness over HTTP: cosigned heads are served and kept, whatever it answers.
//! An older copy of the data folder is refused by the witness alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bitacora_formats::{UnverifiedReceipt, UnverifiedTreeHead, VerifierKey};
use bitacora_tests::folders::copy_folder;
use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::{ServiceFolder, ServiceProcess};
use bitacora_tests::witness::{TestWitness, WitnessBehavior};
use bitacora_tests::witness_service::WitnessService;
use serde_json::Value;

const LEDGER: &str = "/v1/ledgers/main";

/// A service, and a witness that cosigns for its ledger.
struct CosignedFixture {
    folder: tempfile::TempDir,
    service: ServiceFolder,
    witness: TestWitness,
    listening: WitnessService,
    log: VerifierKey,
}

impl CosignedFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = ServiceFolder::new(crate::PROGRAM, folder.path());
        let witness = TestWitness::new("witness.example/loopback", 5).unwrap();
        let mut first = service.start().unwrap();
        let shown = HttpClient::connect(first.address).unwrap().get(LEDGER, "application/json").unwrap();
        let shown: Value = serde_json::from_slice(&shown.body).unwrap();
        let log: VerifierKey = shown["verifierKey"].as_str().unwrap().parse().unwrap();
        assert!(first.terminate().unwrap().success());
        witness.trust(log.clone());
        let listening = WitnessService::start(&witness).unwrap();
        let (key, url) = (witness.witness_key(), listening.url());
        let policy = format!("# who is asked\nlog {log}\nwitness one {key} {url}\nquorum one\n");
        fs::write(folder.path().join("policy"), policy).unwrap();
        Self { folder, service, witness, listening, log }
    }

    fn policy(&self) -> PathBuf {
        self.folder.path().join("policy")
    }

    /// With the witness, and without any other memory.
    fn start(&self) -> std::io::Result<ServiceProcess> {
        self.service.start_with(|command| {
            command.args(["--anchor", "none", "--witnesses"]).arg(self.policy());
        })
    }

    /// Serves, appends events with these numbers, and ends; how many events the ledger has then.
    fn append(&self, numbers: std::ops::Range<u32>) {
        let mut service = self.start().unwrap();
        let mut client = HttpClient::connect(service.address).unwrap();
        numbers.for_each(|number| append(&mut client, number));
        assert!(service.terminate().unwrap().success());
    }

    /// Returns the number of events under the note, if the ledger signed it and the witness cosigned it.
    fn cosigned_size(&self, note: &str) -> Option<u64> {
        let head = UnverifiedTreeHead::parse(note).unwrap().verify(std::slice::from_ref(&self.log)).unwrap();
        let by = head.note().cosigned_by(std::slice::from_ref(self.witness.witness_key())).unwrap();
        (by.len() == 1).then(|| head.head().size)
    }

    /// Checks that an auditor who knows the policy alone finds the folder verified, and the proof of an event from it.
    fn is_verified(&self) {
        let judged = |command: &mut Command| {
            let output = command.output().unwrap();
            let told = String::from_utf8_lossy(&output.stdout).into_owned();
            (output.status.code(), told + &String::from_utf8_lossy(&output.stderr))
        };
        let verify = || self.service.command("verify");
        let (code, told) = judged(verify().arg("--witnesses").arg(self.policy()));
        assert_eq!(code, Some(0), "{told}");
        let proof = self.folder.path().join("proof");
        let mut prove = self.service.command("prove");
        prove.args(["2", "--keyring"]).arg(self.service.keyring()).arg("--out").arg(&proof);
        let (code, told) = judged(&mut prove);
        assert_eq!(code, Some(0), "{told}");
        let mut verify = Command::new(crate::PROGRAM);
        verify.arg("verify").arg("--evidence").arg(&proof).arg("--witnesses").arg(self.policy());
        let (code, told) = judged(&mut verify);
        assert_eq!(code, Some(0), "{told}");
    }

    fn kept(&self) -> Option<u64> {
        let notes = fs::read_dir(self.service.data().join("ledgers/main/tree")).unwrap();
        let notes = notes.map(|entry| entry.unwrap().path());
        let note = notes.filter(|path| path.extension().is_some_and(|end| end == "cosigned")).max()?;
        self.cosigned_size(&fs::read_to_string(note).unwrap())
    }
}

fn append(client: &mut HttpClient, number: u32) {
    let event = format!(
        r#"{{"specversion":"1.0","id":"e{number}","source":"urn:test","type":"x.noted","subject":"s"}}"#
    );
    let answer = client.post(&format!("{LEDGER}/events"), "application/cloudevents+json", event.as_bytes());
    assert_eq!(answer.unwrap().status, 201);
}

fn text(client: &mut HttpClient, path: &str) -> String {
    let answer = client.get(path, "text/plain").unwrap();
    let body = String::from_utf8(answer.body).unwrap();
    assert_eq!(answer.status, 200, "{path}: {body}");
    body
}

/// The value of a metric of the one ledger.
fn metric(client: &mut HttpClient, name: &str) -> u64 {
    let all = text(client, "/metrics");
    let line = all.lines().find(|line| line.starts_with(&format!("bitacora_{name}{{")));
    let value = line.and_then(|line| line.rsplit(' ').next()).unwrap_or_else(|| panic!("no {name} in {all}"));
    value.parse().unwrap()
}

#[test]
fn what_a_witness_cosigned_is_served_and_kept_and_a_close_leaves_all_of_it_cosigned() {
    let fixture = CosignedFixture::new();
    let mut service = fixture.start().unwrap();
    let mut client = HttpClient::connect(service.address).unwrap();
    append(&mut client, 1);
    // Before there is a quorum, the newest head is given all the same; the witness publisher starts every ten seconds.
    let patience = Instant::now() + Duration::from_secs(120);
    let cosigned = loop {
        let answer = client.get(&format!("{LEDGER}/checkpoint"), "text/plain").unwrap();
        let note = String::from_utf8(answer.body).unwrap();
        match (answer.status == 200).then(|| fixture.cosigned_size(&note)).flatten() {
            Some(size) => break size,
            None => assert!(Instant::now() < patience, "nothing was cosigned: {note}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(metric(&mut client, "ledger_witnessed_size"), cosigned);
    let receipt = text(&mut client, &format!("{LEDGER}/receipts/2"));
    let (_, head) =
        UnverifiedReceipt::parse(&receipt).unwrap().verify(std::slice::from_ref(&fixture.log)).unwrap();
    assert_eq!(fixture.cosigned_size(&head.note().to_string()), Some(cosigned), "a receipt brings it along");
    // From here on the witness is away: the newest head goes on, the cosigned one stays.
    fixture.witness.set_behavior(WitnessBehavior::Unreachable);
    append(&mut client, 2);
    while metric(&mut client, "ledger_tree_head_size") <= cosigned {
        assert!(Instant::now() < patience, "no newer head");
        std::thread::sleep(Duration::from_millis(50));
    }
    let checkpoint = text(&mut client, &format!("{LEDGER}/checkpoint"));
    assert_eq!(fixture.cosigned_size(&checkpoint), Some(cosigned));
    let newest = text(&mut client, &format!("{LEDGER}/treehead"));
    assert_eq!(fixture.cosigned_size(&newest), None);
    assert!(metric(&mut client, "ledger_unwitnessed_events") > 0);
    fixture.witness.set_behavior(WitnessBehavior::Honest);
    assert!(service.terminate().unwrap().success());
    let kept = fixture.kept().unwrap();
    assert!(kept > cosigned);
    assert_eq!(fixture.witness.size(), kept);
    fixture.is_verified();
}

#[test]
fn an_older_copy_is_refused_by_the_witness_alone_and_the_folder_is_unchanged() {
    let fixture = CosignedFixture::new();
    fixture.append(0..3);
    let (data, copy) = (fixture.service.data(), fixture.folder.path().join("copy"));
    copy_folder(&data, &copy).unwrap();
    fixture.append(3..6);
    fs::remove_dir_all(&data).unwrap();
    copy_folder(&copy, &data).unwrap();
    let refused = fixture.start().unwrap_err();
    assert!(refused.to_string().contains("30"), "{refused}");
    assert_eq!(contents(&data), contents(&copy));
    // A witness that does not answer lets it open: that is what the anchor is for.
    fixture.witness.set_behavior(WitnessBehavior::Unreachable);
    fixture.append(6..7);
}

#[test]
fn whatever_a_witness_answers_the_service_appends_and_ends() {
    let fixture = CosignedFixture::new();
    let wrong = [
        WitnessBehavior::FalseSignature,
        WitnessBehavior::ForeignLine,
        WitnessBehavior::Garbage,
        WitnessBehavior::Huge,
        WitnessBehavior::NonsenseConflict,
        WitnessBehavior::Failing,
    ];
    for (number, behavior) in (0..).zip(wrong) {
        fixture.witness.set_behavior(behavior);
        let asked = fixture.witness.asked();
        fixture.append(number..number + 1);
        assert!(fixture.witness.asked() > asked, "{behavior:?}");
        assert_eq!(fixture.kept(), None, "{behavior:?}");
    }
    fixture.witness.set_behavior(WitnessBehavior::Slow);
    let began = Instant::now();
    fixture.append(10..11);
    assert!(began.elapsed() < Duration::from_secs(60), "an opening and a close wait 5 s each at most");
    fixture.witness.set_behavior(WitnessBehavior::Honest);
    fixture.append(11..12);
    assert_eq!(fixture.kept(), Some(fixture.witness.size()));
    drop(fixture.listening);
}

/// Every file below with what it holds.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}
