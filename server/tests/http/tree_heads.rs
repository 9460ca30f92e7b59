//! Signed tree heads and receipts, seen with the ledger's public keys alone.

use bitacora_formats::{
    InclusionReceipt, Position, SigningChain, UnverifiedReceipt, UnverifiedTreeHead, parse_signing_chain,
};

use crate::service::{TestService, event};

const LEDGER: &str = "/v1/ledgers/main";

fn signers(service: &TestService) -> SigningChain {
    let note = std::fs::read_to_string(service.folder.path().join("data/ledgers/main/signing-keys.note"));
    parse_signing_chain(&note.unwrap()).unwrap()
}

fn text(service: &TestService, path: &str) -> String {
    let answer = service.get(&format!("{LEDGER}/{path}")).expect(200);
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    String::from_utf8(answer.body).unwrap()
}

#[test]
fn a_receipt_proves_the_event_under_a_head_that_is_published() {
    let service = TestService::signing();
    let answer = service.append(format!("[{},{}]", event("a", "s"), event("b", "s"))).expect(201).json();
    let position: Position = answer["last"].as_str().unwrap().parse().unwrap();
    // It waits for a head over the event.
    let receipt = text(&service, &format!("receipts/{position}"));
    let signers = signers(&service);
    let unverified = UnverifiedTreeHead::parse(receipt.split_once("\n\n").unwrap().1).unwrap();
    let keys = unverified.origin().keys(&signers);
    let (InclusionReceipt { position: proven, leaf, .. }, head) =
        UnverifiedReceipt::parse(&receipt).unwrap().verify(&keys).unwrap();
    assert_eq!(
        (proven, leaf.commitment.to_string()),
        (position, answer["results"][1]["commitment"].as_str().unwrap().to_owned())
    );

    let (tree_head, checkpoint) = (text(&service, "treehead"), text(&service, "checkpoint"));
    assert_eq!(tree_head, checkpoint);
    let published = UnverifiedTreeHead::parse(&tree_head).unwrap().verify(&keys).unwrap();
    assert!(published.head().size >= head.head().size);
    assert_eq!(published.head().origin, head.head().origin);
    let size = published.head().size;
    let told = service.get(LEDGER).expect(200).json()["verifierKey"].as_str().unwrap().to_owned();
    assert_eq!(keys.last().unwrap().to_string(), told);
    let root = service.get(&format!("{LEDGER}/proofs/consistency?from={size}&to={size}")).expect(200).json();
    assert_eq!(root["newRoot"], published.head().root.to_string());
}

#[test]
fn what_has_no_head_has_no_receipt() {
    // It signs none.
    let service = TestService::start();
    for path in ["treehead", "checkpoint", "receipts/1"] {
        let problem = service.get(&format!("{LEDGER}/{path}")).expect(503).json();
        assert_eq!(
            (&problem["code"], &problem["retryable"]),
            (&"no-tree-head".into(), &true.into()),
            "{path}"
        );
    }
    for (path, status, code) in [
        ("receipts/99", 404, "not-found"),
        ("receipts/0", 400, "bad-position"),
        ("treehead?x=1", 400, "bad-query"),
    ] {
        let problem = service.get(&format!("{LEDGER}/{path}")).expect(status).json();
        assert_eq!(problem["code"], code, "{path}");
    }
}

#[test]
fn the_metrics_tell_how_far_heads_are_behind() {
    let service = TestService::signing();
    service.append(event("a", "s")).expect(201);
    text(&service, &format!("receipts/{}", service.tip()));
    let metrics = String::from_utf8(service.get("/metrics").expect(200).body).unwrap();
    let value = |name: &str| -> u64 {
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix(&format!("bitacora_{name}{{ledger=\"main\"}} ")));
        line.unwrap_or_else(|| panic!("{name}: {metrics}")).parse().unwrap()
    };
    assert!(value("ledger_tree_head_size") > 0 && value("ledger_tree_heads_total") > 0);
    assert_eq!(value("ledger_position"), value("ledger_tree_head_size") + value("ledger_unsigned_events"));
    assert_eq!((value("ledger_anchored_size"), value("ledger_unanchored_seconds")), (0, 0));
}

#[test]
fn an_append_that_prefers_a_signed_answer_is_answered_under_a_head() {
    let service = TestService::signing();
    let answer = service.append_with(&[("Prefer", "signed")], event("a", "s")).expect(201);
    assert_eq!(answer.header("preference-applied"), Some("signed"));
    let last: u64 = answer.json()["last"].as_str().unwrap().parse().unwrap();
    let checkpoint = text(&service, "checkpoint");
    assert!(checkpoint.lines().nth(1).unwrap().parse::<u64>().unwrap() >= last, "{checkpoint}");

    // No witness is known: it is appended, and nobody waits.
    let began = std::time::Instant::now();
    let answer = service.append_with(&[("Prefer", "witnessed, wait=60")], event("b", "s")).expect(201);
    assert_eq!(answer.header("preference-applied"), None);
    assert!(began.elapsed() < std::time::Duration::from_secs(20));
    let unsigned = TestService::roomy();
    let answer = unsigned.append_with(&[("Prefer", "signed, wait=60")], event("a", "s")).expect(201);
    assert_eq!(answer.header("preference-applied"), None);
    assert!(began.elapsed() < std::time::Duration::from_secs(20));
}
