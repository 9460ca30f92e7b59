//! Proofs of one event: made from a folder or from a service, and checked where nothing else is.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bitacora_formats::{HeadStep, HeadsWalk, Keyring, LedgerOrigin, UnverifiedTreeHead, parse_signing_chain};
use bitacora_tests::service::ServiceFolder;
use serde_json::Value;

use crate::sample::{Sample, code, command, told, why};

/// A position of the sample with an event in clear, and one with an event about a person.
const CLEAR: &str = "3";
const SEALED: &str = "4";

/// A sample with heads, and its key as a verifier key.
fn sample() -> (Sample, String) {
    let sample = Sample::with_heads(2);
    let bytes = fs::read(sample.heads(2)).unwrap();
    let HeadStep::Entry(entry) = HeadsWalk::new(&bytes).step() else { panic!("no head") };
    let origin = UnverifiedTreeHead::parse(&entry.note).unwrap().origin().clone();
    let key = origin.keys(sample.keyring.signing_chain()).first().unwrap().to_string();
    (sample, key)
}

/// Makes a proof and gives its text.
fn prove(sample: &Sample, arguments: &[&str]) -> String {
    let output = sample.run(&[&["prove"], arguments].concat());
    assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Checks a proof on its own: no data folder, no keyring.
fn check(sample: &Sample, proof: &str, more: &[&str]) -> (i32, Value) {
    let file = sample.folder.path().join("proof");
    fs::write(&file, proof).unwrap();
    let output = command(&["verify", "--json", "--evidence"]).arg(&file).args(more).output().unwrap();
    (code(&output), told(&output))
}

#[test]
fn evidence_shows_the_event_and_holds_by_a_key_that_is_known() {
    let (sample, key) = sample();
    let proof = prove(&sample, &[CLEAR]);
    let (code, told) = check(&sample, &proof, &["--vkey", &key]);
    assert_eq!((code, &told["proven"]["trusted"]), (0, &true.into()), "{told}");
    assert_eq!(told["proven"]["position"], CLEAR);
    assert_eq!(told["proven"]["event"]["id"], "e0.0");
    let (code, told) = check(&sample, &proof, &[]);
    assert_eq!((code, &told["proven"]["trusted"]), (10, &false.into()), "{told}");
}

#[test]
fn every_event_under_the_last_head_can_be_proven() {
    let (sample, key) = sample();
    for position in 1..=sample.verify(false).heads.unwrap().last_size {
        let proof = prove(&sample, &[&position.to_string()]);
        assert_eq!(check(&sample, &proof, &["--vkey", &key]).0, 0, "position {position}");
    }
    let output = sample.run(&["prove", "1000"]);
    assert_eq!(code(&output), 1);
    assert!(why(&output).contains("no tree head in the folder covers position 1000"));
}

#[test]
fn what_is_sealed_is_disclosed_on_purpose_alone() {
    let (sample, key) = sample();
    let trusted = ["--vkey", &*key];
    let (code, told) = check(&sample, &prove(&sample, &[SEALED]), &trusted);
    assert_eq!((code, &told["proven"]["partDisclosed"]), (0, &false.into()), "{told}");
    assert!(told["proven"]["event"]["datasubject"].is_null() && told["proven"]["event"]["data"].is_null());
    let (code, told) = check(&sample, &prove(&sample, &[SEALED, "--with-part"]), &trusted);
    assert_eq!((code, &told["proven"]["event"]["datasubject"]), (0, &"person/9".into()), "{told}");
    let bare = prove(&sample, &[SEALED, "--bare"]);
    assert!(!bare.contains("blind") && !bare.contains("record"), "{bare}");
    assert_eq!(check(&sample, &bare, &trusted).0, 0);
    assert!(why(&sample.run(&["prove", CLEAR, "--with-part"])).contains("leave --with-part away"));
    fs::remove_dir_all(sample.ledger().join("subjects")).unwrap();
    assert!(why(&sample.run(&["prove", SEALED, "--with-part"])).contains("erased"));
}

#[test]
fn the_event_of_another_position_is_not_shown_by_a_proof_that_holds() {
    let (sample, key) = sample();
    let [one, other] =
        ["3", "5"].map(|position| serde_json::from_str::<Value>(&prove(&sample, &[position])).unwrap());
    for members in [&["record"][..], &["record", "blind"], &["record", "blind", "commitment"], &["position"]]
    {
        let mut forged = one.clone();
        members.iter().for_each(|member| forged[member] = other[member].clone());
        let (code, told) = check(&sample, &forged.to_string(), &["--vkey", &key]);
        assert_eq!((code, &told["proven"]), (40, &Value::Null), "{members:?}: {told}");
    }
}

#[test]
fn a_key_of_somebody_else_or_a_text_that_is_no_proof_ends_with_40() {
    let (sample, _) = sample();
    let proof = prove(&sample, &[CLEAR]);
    let parsed: Value = serde_json::from_str(&proof).unwrap();
    let origin = UnverifiedTreeHead::parse(parsed["treeHead"].as_str().unwrap()).unwrap().origin().clone();
    assert_eq!(check(&sample, &proof, &["--vkey", &stranger(&origin)]).0, 40);
    assert_eq!(check(&sample, "{}", &[]).0, 40);
    assert_eq!(check(&sample, "", &[]).0, 40);
    let missing = command(&["verify", "--evidence", "/no/such/file"]).output().unwrap();
    assert_eq!(code(&missing), 50);
}

#[test]
fn a_receipt_needs_a_key_and_shows_no_event() {
    let (sample, key) = sample();
    let receipt = prove(&sample, &[CLEAR, "--receipt"]);
    assert!(receipt.starts_with("c2sp.org/tlog-proof@v1\n"), "{receipt}");
    let (code, told) = check(&sample, &receipt, &["--vkey", &key]);
    assert_eq!((code, &told["proven"]["position"]), (0, &CLEAR.into()), "{told}");
    assert!(told["proven"]["event"].is_null());
    assert_eq!(check(&sample, &receipt, &[]).0, 50);
    assert_eq!(check(&sample, &receipt.replacen("index 2", "index 3", 1), &["--vkey", &key]).0, 40);
}

#[test]
fn a_proof_is_written_to_a_file_of_its_owners_and_replaces_none() {
    use std::os::unix::fs::PermissionsExt;
    let (sample, _) = sample();
    let file = sample.folder.path().join("evidence.json");
    let arguments = ["prove", CLEAR, "--out", file.to_str().unwrap()];
    assert_eq!(code(&sample.run(&arguments)), 0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read(&file).unwrap();
    assert_eq!(code(&sample.run(&arguments)), 1);
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_receipt_under_a_key_that_is_not_at_hand_is_undecided() {
    let (sample, key) = sample();
    let mut keyring = Keyring::parse(&sample.keyring.to_text()).unwrap();
    keyring.rotate_signing(&mut |bytes| bytes.fill(9)).unwrap();
    let sample = Sample { folder: sample.folder, keyring: std::sync::Arc::new(keyring) };
    crate::sample::write_keyring(&sample.keyring_file(), &sample.keyring);
    sample.open_with(&Sample::options_with_heads()).close().unwrap();
    let receipt = prove(&sample, &[CLEAR, "--receipt"]);
    let (code, told) = check(&sample, &receipt, &["--vkey", &key]);
    assert_eq!((code, &told["verdict"]), (50, &"incomplete".into()), "{told}");
    assert!(told["fault"].as_str().unwrap().contains("or evidence"), "{told}");
    let origin = UnverifiedTreeHead::parse(receipt.split_once("\n\n").unwrap().1).unwrap().origin().clone();
    let signer = origin.keys(sample.keyring.signing_chain())[1].to_string();
    assert_eq!(check(&sample, &receipt, &["--vkey", &signer]).0, 0);
    // Evidence brings them all, and an endorsement that a leaked seed can make is no reason to trust.
    let (code, told) = check(&sample, &prove(&sample, &[CLEAR]), &["--vkey", &key]);
    assert_eq!(
        (code, &told["proven"]["endorsed"], &told["proven"]["trusted"]),
        (10, &true.into(), &false.into()),
        "{told}"
    );
    assert_eq!(check(&sample, &prove(&sample, &[CLEAR]), &["--vkey", &key, "--vkey", &signer]).0, 0);
    let other = origin.to_string().replacen("main", "other", 1);
    let stranger = key.replacen(&origin.to_string(), &other, 1);
    assert!(stranger.parse::<bitacora_formats::VerifierKey>().is_err(), "a name is part of a key's id");
}

/// A service that answers each request with the next of these.
pub(crate) fn answering(answers: Vec<String>) -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            let length = answer.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}"
            )
            .unwrap();
        }
    });
    url
}

#[test]
fn a_receipt_that_cannot_hold_is_not_given_out() {
    let (sample, _) = sample();
    let evidence: Value = serde_json::from_str(&prove(&sample, &[CLEAR])).unwrap();
    let text = |member: &str| evidence[member].as_str().unwrap().to_owned();
    let hashes: Vec<String> = {
        let receipt = prove(&sample, &[CLEAR, "--receipt"]);
        let lines = receipt.lines().skip(3).take_while(|line| !line.is_empty());
        lines.map(base64_hex).collect()
    };
    let number = |text: String| format!("{:016x}", text.parse::<u64>().unwrap());
    let entry = number(CLEAR.to_owned()) + &number(text("time")) + &text("commitment");
    let ask = |note: &str, hashes: &[String]| {
        let answer = serde_json::json!({ "position": CLEAR, "size": "1", "entry": entry, "leafHash": "", "root": "", "hashes": hashes });
        let url = answering(vec![note.to_owned(), answer.to_string()]);
        command(&["prove", CLEAR, "--receipt", "--url", &url]).output().unwrap()
    };
    let note = text("treeHead");
    assert_eq!(code(&ask(&note, &hashes)), 0);
    let mut other = hashes.clone();
    other[0] = "00".repeat(32);
    for (note, hashes, what) in [
        (note.clone(), &other, "does not hold"),
        (format!("{note}\u{2014} w\u{202e}itness AAAAAAAA\n"), &hashes, "characters"),
        (format!("{note}\u{2014} w\u{9b}itness AAAAAAAA\n"), &hashes, "characters"),
    ] {
        let refused = ask(&note, hashes);
        assert_eq!(code(&refused), 1, "{}", String::from_utf8_lossy(&refused.stdout));
        assert!(why(&refused).contains(what) || why(&refused).contains("control"), "{}", why(&refused));
    }
}

#[test]
fn what_would_steer_a_terminal_goes_to_a_file_alone() {
    let sample = Sample::with_heads(2);
    let evidence: Value = serde_json::from_str(&prove(&sample, &[CLEAR])).unwrap();
    let note = evidence["treeHead"].as_str().unwrap();
    let steering = format!("{note}\u{2014} w\u{202e}itness\u{9b} AAAAAAAA\n");
    // Beside the last segment that has heads.
    let number = sample.segments().into_iter().rev().find(|number| sample.heads(*number).exists()).unwrap();
    fs::write(sample.heads(number).with_extension("cosigned"), &steering).unwrap();
    let file = sample.folder.path().join("kept");
    for more in [&[][..], &["--receipt"]] {
        let refused = sample.run(&[&["prove", CLEAR], more].concat());
        assert_eq!((code(&refused), refused.stdout.len()), (1, 0), "{more:?}");
        assert!(why(&refused).contains("--out"), "{}", why(&refused));
        let kept = sample.run(&[&["prove", CLEAR, "--out", file.to_str().unwrap()], more].concat());
        assert_eq!(code(&kept), 0, "{}", String::from_utf8_lossy(&kept.stderr));
        assert!(fs::read_to_string(&file).unwrap().contains('\u{202e}'), "{more:?}: the line is kept");
        fs::remove_file(&file).unwrap();
    }
}

fn base64_hex(text: &str) -> String {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_service_gives_receipts_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(crate::PROGRAM, folder.path());
    let mut service = place.start().unwrap();
    let url = format!("unix:{}", place.socket().display());
    let prove = |more: &[&str]| command(&[&["prove", "1", "--url", &url], more].concat()).output().unwrap();
    let refused = prove(&[]);
    assert_eq!(code(&refused), 2);
    assert!(why(&refused).contains("add --receipt"));
    // A head is signed within a second.
    let began = Instant::now();
    let output = loop {
        let output = prove(&["--receipt"]);
        if code(&output) == 0 || began.elapsed() > Duration::from_secs(30) {
            break output;
        }
        sleep(Duration::from_millis(100));
    };
    assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    service.terminate().unwrap();

    let receipt = String::from_utf8(output.stdout).unwrap();
    let (_, note) = receipt.split_once("\n\n").unwrap();
    let origin = UnverifiedTreeHead::parse(note).unwrap().origin().clone();
    let chain = fs::read_to_string(place.data().join("ledgers/main/signing-keys.note")).unwrap();
    let key = origin.keys(&parse_signing_chain(&chain).unwrap()).first().unwrap().to_string();
    let file = folder.path().join("receipt");
    fs::write(&file, &receipt).unwrap();
    let output = command(&["verify", "--json", "--vkey", &key, "--evidence"]).arg(&file).output().unwrap();
    assert_eq!((code(&output), &told(&output)["proven"]["position"]), (0, &"1".into()));
    let mut service = place.start().unwrap();
    let known = prove(&["--receipt", "--vkey", &key]);
    assert_eq!(code(&known), 0, "{}", String::from_utf8_lossy(&known.stderr));
    refuses_a_stranger(&prove(&["--receipt", "--vkey", &stranger(&origin)]));
    service.terminate().unwrap();
}

/// A key under a ledger's name that is none of its own.
fn stranger(origin: &LedgerOrigin) -> String {
    let thief = Keyring::generate(&mut |bytes| bytes.fill(3));
    origin.keys(thief.signing_chain())[0].to_string()
}

/// Checks that a stranger, who knows another key than the one that signed, gets nothing.
fn refuses_a_stranger(output: &std::process::Output) {
    assert_eq!((code(output), output.stdout.len()), (1, 0), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(why(output).contains("by the keys of --vkey"), "{}", why(output));
}

#[test]
fn a_proof_is_given_out_only_by_a_key_that_is_known_where_one_is_named() {
    let (sample, key) = sample();
    let receipt = prove(&sample, &[CLEAR, "--receipt", "--vkey", &key]);
    prove(&sample, &[CLEAR, "--vkey", &key]);
    let origin = UnverifiedTreeHead::parse(receipt.split_once("\n\n").unwrap().1).unwrap().origin().clone();
    let (stranger, file) = (stranger(&origin), sample.folder.path().join("refused"));
    for more in [&["--receipt"][..], &[], &["--bare"]] {
        let asked = [&["prove", CLEAR, "--vkey", &stranger, "--out", file.to_str().unwrap()], more].concat();
        refuses_a_stranger(&sample.run(&asked));
        assert!(!file.exists(), "{more:?}");
    }
}
