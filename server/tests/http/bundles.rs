//! Evidence bundles, checked by the second verifier: a program of another language that was written from the formats alone.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::service::{TestService, event};

const LEDGER: &str = "/v1/ledgers/main";
const SECOND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/second/bitacora_verify.py");

/// A Python with the second verifier's packages, if there is one.
fn python() -> Option<OsString> {
    let python = std::env::var_os("BITACORA_PYTHON").unwrap_or_else(|| "python3".into());
    let asked = Command::new(&python).args(["-c", "import cryptography, blake3"]).output();
    asked.is_ok_and(|asked| asked.status.success()).then_some(python)
}

/// The members of a bundle, in their order.
type BundleMembers = Vec<(String, Vec<u8>)>;

fn members(bundle: &[u8]) -> BundleMembers {
    let mut archive = tar::Archive::new(bundle);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().to_str().unwrap().to_owned(), bytes)
    });
    entries.collect()
}

fn member<'a>(members: &'a mut BundleMembers, name: &str) -> &'a mut Vec<u8> {
    &mut members.iter_mut().find(|(found, _)| found == name).unwrap().1
}

/// Writes a bundle of these members. A forger makes the manifest fit.
fn written(mut members: BundleMembers, is_forged: bool, path: &Path) {
    if is_forged {
        let mut manifest: Value = serde_json::from_slice(member(&mut members, "manifest.json")).unwrap();
        let others = members.iter().filter(|(name, _)| name != "manifest.json");
        let listed = others.map(|(name, bytes)| {
            let digest = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            json!({"name": name, "bytes": bytes.len().to_string(), "sha256": digest})
        });
        manifest["members"] = listed.collect();
        *member(&mut members, "manifest.json") = manifest.to_string().into_bytes();
    }
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in &members {
        let mut header = tar::Header::new_ustar();
        header.set_path(name).unwrap();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, bytes.as_slice()).unwrap();
    }
    fs::write(path, builder.into_inner().unwrap()).unwrap();
}

struct Sample {
    service: TestService,
    vkey: String,
    last: u64,
}

impl Sample {
    fn new() -> Self {
        let service = TestService::signing();
        let plain: Vec<String> = (0..40).map(|n| event(&format!("e{n}"), "s")).collect();
        service.append(format!("[{}]", plain.join(","))).expect(201);
        let several = json!([
            {"specversion": "1.0", "id": "odd", "source": "a", "type": "x.odd", "subject": "s", "tags": "b c",
             "session": "s1", "run": "r1", "count": -7, "flag": true, "word": "a\"\\ü", "data": {"text": "a\u{2028}b \u{1f600}"}},
            {"specversion": "1.0", "id": "bytes", "source": "a", "type": "x.bytes", "subject": "s", "session": "s1",
             "datacontenttype": "application/octet-stream", "data_base64": "AAECAw=="},
            {"specversion": "1.0", "id": "person", "source": "a", "type": "x.told", "subject": "s", "session": "s1",
             "datasubject": "customer-9", "data": {"call": "me"}},
            {"specversion": "1.0", "id": "secret", "source": "a", "type": "x.told", "subject": "s",
             "data": {"key": "AKIAIOSFODNN7EXAMPLE"}},
            {"specversion": "1.0", "id": "none", "source": "a", "type": "x.told", "subject": "s", "run": "r1"},
        ]);
        let laid_out = "{\"specversion\":\"1.0\",\"id\":\"lines\",\"source\":\"a\",\"type\":\"x.told\",\"subject\":\"s\",\"data\":{ \"a\" :\r\n [1.50, 1e3] }}";
        let answer = service.append(several.to_string()).expect(201).json();
        service.append(format!("[{laid_out}]")).expect(201);
        let last: u64 = answer["last"].as_str().unwrap().parse().unwrap();
        // It waits for a head over the last event.
        service.get(&format!("{LEDGER}/receipts/{}", last + 1)).expect(200);
        let vkey = service.get(LEDGER).expect(200).json()["verifierKey"].as_str().unwrap().to_owned();
        Self { service, vkey, last: last + 1 }
    }

    fn bundle(&self, query: &str) -> BundleMembers {
        let answer = self.service.get(&format!("{LEDGER}/evidence{query}")).expect(200);
        assert_eq!(answer.header("content-type"), Some("application/x-tar"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        members(&answer.body)
    }

    /// Checks a bundle of these members, with the ledger's key at hand.
    fn verify(&self, python: &OsString, members: BundleMembers, is_forged: bool) -> Output {
        let path = self.service.folder.path().join("bundle.tar");
        written(members, is_forged, &path);
        let mut command = Command::new(python);
        command.args(["-I", SECOND, "--bundle"]).arg(path).args(["--vkey", &self.vkey]).output().unwrap()
    }
}

fn told(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_second_verifier_takes_bundles_as_they_come() {
    let (Some(python), sample) = (python(), Sample::new()) else { return };
    let last = sample.last;
    for (query, events, words) in [
        (String::new(), None, "1 events of data subjects"),
        (format!("?after=3&until={last}"), Some(last - 3), "1 events of data subjects"),
        (format!("?until={last}&since=2020-01-01T00:00:00Z&before=2999-01-01T00:00:00Z"), Some(last), ""),
        (format!("?until={last}&session=s1"), Some(3), "not that there are no others"),
        (format!("?until={last}&run=r1"), Some(2), "not that there are no others"),
    ] {
        let mut bundle = sample.bundle(&query);
        let lines = member(&mut bundle, "events.ndjson").iter().filter(|byte| **byte == b'\n').count() as u64;
        assert!(events.is_none_or(|events| events == lines), "{query}: {lines} events");
        let (code, text) = told(&sample.verify(&python, bundle, false));
        assert_eq!(code, Some(0), "{query}: {text}");
        assert!(text.contains(words), "{query}: {text}");
    }
    // The events are what the interface gives, byte for byte.
    let mut bundle = sample.bundle(&format!("?until={last}"));
    let target = format!("{LEDGER}/events?until={last}");
    let given =
        sample.service.request("GET", &target, &[("accept", "application/x-ndjson")], b"").expect(200).body;
    let end = given[..given.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
    assert_eq!(member(&mut bundle, "events.ndjson"), &given[..=end]);
}

#[test]
fn the_second_verifier_finds_every_changed_byte_that_means_something() {
    let (Some(python), sample) = (python(), Sample::new()) else { return };
    let bundle = sample.bundle(&format!("?until={}", sample.last));
    assert_eq!(told(&sample.verify(&python, bundle.clone(), true)).0, Some(0), "made anew, and unchanged");
    for name in ["events.ndjson", "proofs.ndjson", "heads/proofs.note", "signing-keys.note", "manifest.json"]
    {
        let mut flipped = bundle.clone();
        let bytes = member(&mut flipped, name);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        assert_eq!(told(&sample.verify(&python, flipped, false)).0, Some(40), "{name}");
    }
    // A forger makes the manifest fit. What an event says is bound to the signed head all the same.
    let forgeries: [(&str, &str, &str); 8] = [
        ("events.ndjson", "\"id\":\"e7\"", "\"id\":\"e8\""),
        ("events.ndjson", "\"word\":\"a", "\"word\":\"b"),
        ("events.ndjson", "\"recordedAt\":\"2", "\"recordedAt\":\"1"),
        ("events.ndjson", "\"count\":-7", "\"count\":-8"),
        ("events.ndjson", "AAECAw==", "AAECBA=="),
        ("events.ndjson", "\"redactions\":1", "\"redactions\":2"),
        ("proofs.ndjson", "\"position\":\"9\"", "\"position\":\"8\""),
        ("heads/proofs.note", "/g1\n", "/g2\n"),
    ];
    for (name, before, after) in forgeries {
        let mut forged = bundle.clone();
        let bytes = member(&mut forged, name);
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.contains(before), "{name} has no {before}");
        *bytes = text.replacen(before, after, 1).into_bytes();
        let (code, said) = told(&sample.verify(&python, forged, true));
        assert_eq!(code, Some(40), "{name}: {before} → {after}: {said}");
    }
    // A line taken out of both, and a member more.
    let mut shorter = bundle.clone();
    for name in ["events.ndjson", "proofs.ndjson"] {
        let bytes = member(&mut shorter, name);
        let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let third = second + bytes[second..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
        bytes.drain(second..third);
    }
    let mut manifest: Value = serde_json::from_slice(member(&mut shorter, "manifest.json")).unwrap();
    manifest["events"] = (sample.last - 1).to_string().into();
    *member(&mut shorter, "manifest.json") = manifest.to_string().into_bytes();
    let (code, said) = told(&sample.verify(&python, shorter, true));
    assert!(code == Some(40) && said.contains("position 2 is missing"), "{said}");
    let mut longer = bundle;
    longer.push(("../../etc/cron.d/x".to_owned(), b"x".to_vec()));
    longer.last_mut().unwrap().0 = "more".to_owned();
    assert_eq!(told(&sample.verify(&python, longer, true)).0, Some(40));
}

#[test]
fn what_is_no_bundle_is_refused() {
    let sample = Sample::new();
    let past = sample.last + 1_000;
    for (query, status, code) in [
        ("?until=0", 400, "bad-position"),
        ("?after=x", 400, "bad-position"),
        ("?after=9&until=9", 400, "bad-query"),
        ("?since=yesterday", 400, "bad-query"),
        ("?session=nobody", 404, "not-found"),
        ("?faill=1", 400, "bad-query"),
        (&format!("?until={past}"), 404, "not-found"),
    ] {
        sample.service.get(&format!("{LEDGER}/evidence{query}")).expect_problem(status, code);
    }
    // It signs no heads.
    let service = TestService::start();
    service.get(&format!("{LEDGER}/evidence")).expect_problem(503, "no-tree-head");
}

#[test]
fn the_verifier_in_a_bundle_is_the_one_of_the_sources() {
    let sample = Sample::new();
    let mut bundle = sample.bundle("");
    assert_eq!(member(&mut bundle, "bitacora_verify.py"), &fs::read(SECOND).unwrap());
    let readme = String::from_utf8(member(&mut bundle, "README.txt").clone()).unwrap();
    assert!(readme.contains(&sample.vkey) && !readme.contains('{'), "{readme}");
}
