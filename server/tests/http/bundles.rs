//! Evidence bundles, checked by both verifiers: that of this workspace, and a program of another language that was written
//! from the formats alone.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bitacora_verify::{CheckResult, check_bundle};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::expiring::{MILLISECONDS_OF_DAY, accept_clock, is_expired, with_old_notes};
use crate::service::{SetClock, TestService, event, wait_until};

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

/// Returns the file of these members. A forger makes the manifest fit.
fn archive(mut members: BundleMembers, is_forged: bool) -> Vec<u8> {
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
    builder.into_inner().unwrap()
}

struct Sample {
    service: TestService,
    vkey: String,
    last: u64,
    python: Option<OsString>,
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
            {"specversion": "1.0", "id": "alone", "source": "a", "type": "x.told", "subject": "s", "session": "s2",
             "data": {"a": "b", "session": "in data"}},
        ]);
        let laid_out = "{\"specversion\":\"1.0\",\"id\":\"lines\",\"source\":\"a\",\"type\":\"x.told\",\"subject\":\"s\",\"data\":{ \"a\" :\r\n [1.50, 1e3] }}";
        let answer = service.append(several.to_string()).expect(201).json();
        service.append(format!("[{laid_out}]")).expect(201);
        let last: u64 = answer["last"].as_str().unwrap().parse().unwrap();
        // It waits for a head over the last event.
        service.get(&format!("{LEDGER}/receipts/{}", last + 1)).expect(200);
        Self::of(service, last + 1)
    }

    fn of(service: TestService, last: u64) -> Self {
        let vkey = service.get(LEDGER).expect(200).json()["verifierKey"].as_str().unwrap().to_owned();
        Self { service, vkey, last, python: python() }
    }

    fn bundle(&self, query: &str) -> BundleMembers {
        let answer = self.service.get(&format!("{LEDGER}/evidence{query}")).expect(200);
        assert_eq!(answer.header("content-type"), Some("application/x-tar"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        members(&answer.body)
    }

    /// Checks a bundle of these members, with the ledger's key at hand.
    fn verify(&self, members: BundleMembers, is_forged: bool) -> (u8, String) {
        self.verify_file(&archive(members, is_forged))
    }

    /// Checks a file. The second verifier has to come to the same verdict, where a Python can run it.
    fn verify_file(&self, bytes: &[u8]) -> (u8, String) {
        let path = self.service.folder.path().join("bundle.tar");
        fs::write(&path, bytes).unwrap();
        let check = check_bundle(&path, &[self.vkey.parse().unwrap()], None).unwrap();
        let (code, text) = (check.verdict().exit_code(), check.lines().join("\n"));
        if let Some(python) = &self.python {
            let (second, said) = self.second(python, &path);
            assert_eq!(second, Some(i32::from(code)), "the verifiers disagree\n{text}\n{said}");
        }
        (code, text)
    }

    fn second(&self, python: &OsString, path: &Path) -> (Option<i32>, String) {
        let mut command = Command::new(python);
        command.args(["-I", SECOND, "--bundle"]).arg(path).args(["--vkey", &self.vkey]);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

#[test]
fn both_verifiers_take_bundles_as_they_come() {
    let sample = Sample::new();
    let last = sample.last;
    for (query, events, words) in [
        (String::new(), None, "1 of data subjects"),
        (format!("?after=3&until={last}"), Some(last - 3), "1 of data subjects"),
        (format!("?until={last}&since=2020-01-01T00:00:00Z&before=2999-01-01T00:00:00Z"), Some(last), ""),
        (format!("?until={last}&session=s1"), Some(3), "not that there are no others"),
        (format!("?until={last}&run=r1"), Some(2), "not that there are no others"),
    ] {
        let mut bundle = sample.bundle(&query);
        let lines = member(&mut bundle, "events.ndjson").iter().filter(|byte| **byte == b'\n').count() as u64;
        assert!(events.is_none_or(|events| events == lines), "{query}: {lines} events");
        let (code, text) = sample.verify(bundle, false);
        assert_eq!(code, 0, "{query}: {text}");
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
fn both_verifiers_find_every_changed_byte_that_means_something() {
    let sample = Sample::new();
    let bundle = sample.bundle(&format!("?until={}", sample.last));
    assert_eq!(sample.verify(bundle.clone(), true).0, 0, "made anew, and unchanged");
    for name in ["events.ndjson", "proofs.ndjson", "heads/proofs.note", "signing-keys.note", "manifest.json"]
    {
        let mut flipped = bundle.clone();
        let bytes = member(&mut flipped, name);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        assert_eq!(sample.verify(flipped, false).0, 40, "{name}");
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
        let (code, said) = sample.verify(forged, true);
        assert_eq!(code, 40, "{name}: {before} → {after}: {said}");
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
    let (code, said) = sample.verify(shorter, true);
    assert!(code == 40 && said.contains("expected 2, which is missing"), "{said}");
    let mut longer = bundle;
    longer.push(("../../etc/cron.d/x".to_owned(), b"x".to_vec()));
    longer.last_mut().unwrap().0 = "more".to_owned();
    assert_eq!(sample.verify(longer, true).0, 40);
}

/// Changes the text of a member.
type Forgery = (&'static str, fn(String) -> String);

/// Forgeries for which a forger makes the manifest fit; each has to be refused.
const FORGERIES: [Forgery; 25] = [
    ("manifest.json", |text| text.replace("\"ledger\":\"main\"", "\"ledger\":\"other\"")),
    ("manifest.json", |text| text.replace("v1", "v2")),
    ("manifest.json", |text| text.replace("\"after\":\"0\"", "\"after\":\"00\"")),
    ("manifest.json", |text| text.replace("\"after\":\"0\"", "\"after\":0")),
    ("manifest.json", |text| text.replace("\"after\":\"0\"", "\"after\":\"1\"")),
    ("manifest.json", |text| text.replace("\"after\":\"0\"", "\"after\":\"0\",\"since\":null")),
    ("manifest.json", |text| text.replace("\"after\":\"0\"", "\"after\":\"0\",\"more\":\"x\"")),
    ("manifest.json", |text| text.replace("\"after\":\"0\"", "\"after\":\"0\",\"session\":\"s1\"")),
    ("manifest.json", |text| text.replace("\"after\":\"0\"", "\"after\":\"0\",\"since\":\"2999\"")),
    ("manifest.json", |text| text.replace("\"after\":\"0\"", "\"after\":\"0\",\"before\":\"2001\"")),
    ("manifest.json", |text| with_time(&text, "since", "2020-01-01T00:00:00Z")),
    ("manifest.json", |text| with_time(&text, "since", "2020-01-01T00:00:00.000000+00:00")),
    ("manifest.json", |text| with_time(&text, "since", "2020-02-30T00:00:00.000000Z")),
    ("manifest.json", |text| with_time(&text, "before", "2999-01-01T00:00:00.0Z")),
    ("events.ndjson", |text| text.replace("{\"call\":\"me\"}", "{\"call\":\"me\",\"call\":\"you\"}")),
    ("manifest.json", |text| text.replace("\"first\":\"1\"", "\"first\":\"2\"")),
    ("events.ndjson", |text| text.trim_end().to_owned()),
    ("events.ndjson", |text| format!("{text}\n")),
    ("events.ndjson", |text| text.replacen("\"streamVersion\":\"1\"", "\"streamVersion\":\"01\"", 1)),
    ("events.ndjson", |text| text.replacen("\"commitment\"", "\"derived\":false,\"commitment\"", 1)),
    ("events.ndjson", |text| text.replacen(",\"event\":", ",\"erasedBy\":\"4\",\"event\":", 1)),
    ("events.ndjson", |text| text.replacen("\"redactions\":1", "\"redactions\":1.0", 1)),
    ("proofs.ndjson", |text| text.replacen("{\"position\"", "{\"position\":\"1\",\"position\"", 1)),
    ("proofs.ndjson", |text| text.replacen("\"proof\":[", "\"proof\":[\"AAAA\",", 1)),
    ("proofs.ndjson", |text| format!("[{text}")),
];

/// Returns a manifest that names a time.
fn with_time(manifest: &str, name: &str, time: &str) -> String {
    manifest.replace("\"after\":\"0\"", &format!("\"after\":\"0\",\"{name}\":\"{time}\""))
}

/// Returns the proofs with other bytes in the one record that has these.
fn with_another_id(proofs: &[u8], id: &[u8], other: &[u8]) -> Vec<u8> {
    let mut changed = 0;
    let lines = proofs.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| {
        let mut proof: Value = serde_json::from_slice(line).unwrap();
        let text = proof["record"].as_str().unwrap().to_owned();
        let mut record = BASE64.decode(&text).unwrap();
        let Some(at) = record.windows(id.len()).position(|window| window == id) else {
            return String::from_utf8(line.to_vec()).unwrap();
        };
        record[at..at + id.len()].copy_from_slice(other);
        changed += 1;
        proof["record"] = BASE64.encode(&record).into();
        // The order of the members stays: only the text of one is another.
        let line = String::from_utf8(line.to_vec()).unwrap();
        line.replace(&text, proof["record"].as_str().unwrap())
    });
    let text = lines.fold(String::new(), |text, line| text + &line + "\n");
    assert_eq!(changed, 1);
    text.into_bytes()
}

#[test]
fn both_verifiers_refuse_the_same_forgeries() {
    let sample = Sample::new();
    let bundle = sample.bundle(&format!("?until={}", sample.last));
    for (number, (name, forge)) in FORGERIES.into_iter().enumerate() {
        let mut forged = bundle.clone();
        let bytes = member(&mut forged, name);
        let text = String::from_utf8(bytes.clone()).unwrap();
        *bytes = forge(text.clone()).into_bytes();
        assert_ne!(*bytes, text.into_bytes(), "forgery {number} changes nothing");
        let (code, said) = sample.verify(forged, true);
        assert_eq!(code, 40, "forgery {number} of {name}: {said}");
    }
    // A record and its event that say the same, and not what was committed to.
    let mut other = bundle.clone();
    let events = member(&mut other, "events.ndjson");
    *events =
        String::from_utf8(events.clone()).unwrap().replace("\"id\":\"e7\"", "\"id\":\"x7\"").into_bytes();
    let proofs = member(&mut other, "proofs.ndjson");
    *proofs = with_another_id(proofs, b"\x02e7", b"\x02x7");
    let (code, said) = sample.verify(other, true);
    assert!(code == 40 && said.contains("blind and record give the commitment"), "{said}");
    // An event of another session, whose data has the text of this one.
    let mut other = sample.bundle("?session=s2");
    let manifest = member(&mut other, "manifest.json");
    *manifest = String::from_utf8(manifest.clone()).unwrap().replace("\"s2\"", "\"in data\"").into_bytes();
    let (code, said) = sample.verify(other, true);
    assert!(code == 40 && said.contains("another session"), "{said}");
}

#[test]
fn an_expired_event_stands_in_its_place_with_its_time_and_commitment() {
    let clock = SetClock::default();
    let (service, _store, _) = with_old_notes(&clock);
    clock.advance(200 * MILLISECONDS_OF_DAY);
    accept_clock(&service);
    // Archives are packed again one by one.
    wait_until(|| (50..=55).all(|position| is_expired(&service, position)));
    let sample = Sample::of(service, 60);
    let bundle = sample.bundle("?until=60");
    let (code, said) = sample.verify(bundle.clone(), false);
    assert!(
        code == 0 && said.contains("positions 1 to 60") && said.contains(" said to be expired"),
        "{said}"
    );
    let given = sample.service.get(&format!("{LEDGER}/events?after=49&until=50")).expect(200).json();
    let shown = String::from_utf8(member(&mut bundle.clone(), "events.ndjson").clone()).unwrap();
    let line: Value = serde_json::from_str(shown.lines().nth(49).unwrap()).unwrap();
    assert_eq!(line, given["events"][0]);
    let (code, said) = sample.verify(sample.bundle("?until=60&since=1970-01-01T00:00:00Z"), false);
    assert_eq!(code, 0, "{said}");

    let expired = sample.bundle("?after=49&until=55");
    let (code, said) = sample.verify(expired.clone(), false);
    assert!(code == 0 && said.contains("6 said to be expired"), "{said}");
    let forgeries: [Forgery; 9] = [
        ("proofs.ndjson", |text| text.replacen("\"time\":\"", "\"time\":\"1", 1)),
        ("proofs.ndjson", |text| text.replacen("\"commitment\":\"", "\"blind\":\"", 1)),
        ("events.ndjson", |text| text.replacen("\"commitment\":\"", "\"commitment\":\"0", 1)),
        ("events.ndjson", |text| text.replacen("\"recordedAt\":\"2", "\"recordedAt\":\"1", 1)),
        ("events.ndjson", |text| text.replacen("\"expiredBy\":\"", "\"expiredBy\":\"0", 1)),
        ("events.ndjson", |text| text.replacen("\"expiredBy\":", "\"erasedBy\":", 1)),
        ("events.ndjson", |text| text.replacen("\"subject\":\"s\"}", "\"subject\":\"s\",\"data\":1}", 1)),
        ("events.ndjson", |text| text.replacen("\"id\":\"", "\"id\":\"\\u0061", 1)),
        ("manifest.json", |text| text.replacen("\"after\":", "\"session\":\"s\",\"after\":", 1)),
    ];
    for (number, (name, forge)) in forgeries.into_iter().enumerate() {
        let mut forged = expired.clone();
        let bytes = member(&mut forged, name);
        let text = String::from_utf8(bytes.clone()).unwrap();
        *bytes = forge(text.clone()).into_bytes();
        assert_ne!(*bytes, text.into_bytes(), "forgery {number} changes nothing");
        let (code, said) = sample.verify(forged, true);
        assert_eq!(code, 40, "forgery {number} of {name}: {said}");
    }
    // A mark on an event whose content is there; and, as the format page says, a shown one may be hidden so, and is counted.
    let live = sample.bundle("?until=1");
    let mut marked = live.clone();
    let events = member(&mut marked, "events.ndjson");
    let text = String::from_utf8(events.clone()).unwrap();
    *events = text.replace(",\"event\":", ",\"expiredBy\":\"2\",\"event\":").into_bytes();
    assert_eq!(sample.verify(marked.clone(), true).0, 40);
    let line: Value = serde_json::from_str(&text).unwrap();
    let (at, event) = (text.find(",\"event\":").unwrap(), &line["event"]);
    let hidden = format!(
        ",\"expiredBy\":\"2\",\"event\":{{\"specversion\":\"1.0\",\"id\":{},\"source\":{},\"type\":{},\"subject\":{}}}}}\n",
        event["id"], event["source"], event["type"], event["subject"]
    );
    *member(&mut marked, "events.ndjson") = (text[..at].to_owned() + &hidden).into_bytes();
    let proofs = member(&mut marked, "proofs.ndjson");
    let text = String::from_utf8(proofs.clone()).unwrap();
    let (begin, end) = (text.find(",\"blind\"").unwrap(), text.find(",\"proof\"").unwrap());
    *proofs = (text[..begin].to_owned() + &text[end..]).into_bytes();
    let (code, said) = sample.verify(marked, true);
    assert!(code == 0 && said.contains("1 said to be expired"), "{said}");
}

#[test]
fn both_verifiers_refuse_hostile_archives() {
    let sample = Sample::new();
    let bundle = sample.bundle(&format!("?until={}", sample.last));
    let whole = archive(bundle.clone(), false);
    assert_eq!(sample.verify_file(&whole).0, 0);
    for cut in [0, 100, 512, 4_096, whole.len() / 2, whole.len() - 1_024, whole.len() - 1] {
        assert_eq!(sample.verify_file(&whole[..cut]).0, 40, "cut to {cut} bytes");
    }
    let longer = |more: &[u8]| [&whole[..], more].concat();
    assert_eq!(sample.verify_file(&longer(&[0; 9 * 1_024])).0, 0, "zeros, as other programs pad");
    for more in [&b"x"[..], &whole] {
        assert_eq!(sample.verify_file(&longer(more)).0, 40, "{} bytes more", more.len());
    }
    assert_eq!(sample.verify_file(&[0; 10_240]).0, 40, "zeros alone");
    // Headers whose checksum holds: of a link, a long name, a header of pax, a sparse file, and of a length without end.
    let changed = |at: usize, to: &[u8]| {
        let mut changed = whole.clone();
        changed[at..at + to.len()].copy_from_slice(to);
        changed[148..156].fill(b' ');
        let sum: usize = changed[..512].iter().map(|byte| usize::from(*byte)).sum();
        changed[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        changed
    };
    assert_eq!(sample.verify_file(&changed(156, b"0")).0, 0, "another byte for a plain file");
    for (at, to) in [
        (156, &b"2"[..]),
        (156, b"L"),
        (156, b"x"),
        (156, b"S"),
        (124, b"77777777777"),
        (124, b"\x80\0\0\0\0\0\0\0\0\0\0\x01"),
        (345, b"../.."),
        (257, b"tar"),
        (0, b"../../etc/cron.d/x"),
        (0, b"/etc/passwd"),
        (0, b"README.TXT"),
    ] {
        assert_eq!(sample.verify_file(&changed(at, to)).0, 40, "{at}: {to:?}");
    }
    for change in [
        (|members| members.swap(0, 1)) as fn(&mut BundleMembers),
        |members| drop(members.remove(0)),
        |members| drop(members.pop()),
        |members| members.extend_from_within(..1),
    ] {
        let mut other = bundle.clone();
        change(&mut other);
        assert_eq!(sample.verify(other, true).0, 40);
    }
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
