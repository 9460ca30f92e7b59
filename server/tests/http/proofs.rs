//! Tiles and proofs, checked by a client that has nothing but them and the head.

use bitacora_api::{ConsistencyAnswer, InclusionAnswer};
use bitacora_formats::{Commitment, Micros};
use bitacora_formats::{Frontier, Position, TreeHash, leaf_hash, verify_consistency, verify_inclusion};
use serde_json::Value;

use crate::service::{TestService, event};

const LEDGER: &str = "/v1/ledgers/main";

fn with_events(count: usize) -> TestService {
    let service = TestService::start();
    for chunk in (0..count).collect::<Vec<_>>().chunks(100) {
        let events: Vec<String> = chunk.iter().map(|n| event(&n.to_string(), "s")).collect();
        service.append(format!("[{}]", events.join(","))).expect(201);
    }
    service
}

fn hash(text: &str) -> TreeHash {
    text.parse().unwrap()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let pairs = (0..hex.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn hashes(texts: &[String]) -> Vec<TreeHash> {
    texts.iter().map(|text| hash(text)).collect()
}

/// The leaf of an entry of 48 bytes, as any client of a transparency log makes it.
fn leaf_of(entry: &[u8]) -> TreeHash {
    let number = |at: usize| u64::from_be_bytes(entry[at..at + 8].try_into().unwrap());
    let commitment = Commitment(entry[16..48].try_into().unwrap());
    leaf_hash(Position::new(number(0)).unwrap(), Micros(number(8)), &commitment)
}

/// The path of a tile so wide of the tree of this size, and its width.
fn tile_path(level: &str, index: u64, width: u64) -> String {
    let partial = if width == 256 { String::new() } else { format!(".p/{width}") };
    format!("{LEDGER}/tile/{level}/{index:03}{partial}")
}

#[test]
fn the_tree_is_made_again_from_its_entries_and_from_its_tiles() {
    let service = with_events(600);
    let head = service.get(&format!("{LEDGER}/head")).expect(200).json();
    let (size, root) = (service.tip(), hash(head["treeRoot"].as_str().unwrap()));
    let (mut from_entries, mut from_tiles) = (Frontier::new(), Frontier::new());
    for index in 0..size.div_ceil(256) {
        let width = (size - index * 256).min(256);
        let answer = service.get(&tile_path("entries", index, width)).expect(200);
        assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
        assert_eq!(answer.header("cache-control"), Some("private, max-age=31536000, immutable"));
        assert_eq!(answer.body.len() as u64, width * 50);
        for (entry, at) in answer.body.chunks(50).zip(index * 256 + 1..) {
            assert_eq!(entry[..10], [&[0, 48][..], &u64::to_be_bytes(at)].concat());
            from_entries.push(leaf_of(&entry[2..]));
        }
        let answer = service.get(&tile_path("0", index, width)).expect(200);
        assert_eq!(answer.body.len() as u64, width * 32);
        answer.body.chunks(32).for_each(|hash| from_tiles.push(TreeHash(hash.try_into().unwrap())));
    }
    assert_eq!((from_entries.root(), from_tiles.root()), (root, root));
    let level_1 = service.get(&tile_path("1", 0, 2)).expect(200).body;
    let first = service.get(&tile_path("0", 0, 256)).expect(200).body;
    let mut group = Frontier::new();
    first.chunks(32).for_each(|hash| group.push(TreeHash(hash.try_into().unwrap())));
    assert_eq!(group.root().0, level_1[..32]);
}

#[test]
fn proofs_hold_for_a_client_that_knows_the_head() {
    let service = with_events(300);
    let root = |answer: &Value| hash(answer["treeRoot"].as_str().unwrap());
    let before = service.get(&format!("{LEDGER}/head")).expect(200).json();
    let size = service.tip();
    service.append(format!("[{}]", event("later", "s"))).expect(201);
    let after = service.get(&format!("{LEDGER}/head")).expect(200).json();

    for position in [1, 2, 256, 257, size] {
        let target = format!("{LEDGER}/proofs/inclusion?position={position}&size={size}");
        let answer = service.get(&target).expect(200);
        assert_eq!(answer.header("ledger-position"), Some((size + 1).to_string().as_str()));
        let proof: InclusionAnswer = serde_json::from_value(answer.json()).unwrap();
        let leaf = leaf_of(&bytes_of(&proof.entry));
        assert_eq!((hash(&proof.leaf_hash), hash(&proof.root)), (leaf, root(&before)));
        verify_inclusion(&leaf, position - 1, size, &hashes(&proof.hashes), &root(&before)).unwrap();
    }
    let target = format!("{LEDGER}/proofs/consistency?from={size}");
    let proof: ConsistencyAnswer = serde_json::from_value(service.get(&target).expect(200).json()).unwrap();
    assert_eq!((proof.from, proof.to), (size.to_string(), (size + 1).to_string()));
    let (old, new) = (root(&before), root(&after));
    verify_consistency(size, size + 1, &hashes(&proof.hashes), &old, &new).unwrap();
    assert_eq!((hash(&proof.old_root), hash(&proof.new_root)), (old, new));
    let empty: ConsistencyAnswer = serde_json::from_value(
        service.get(&format!("{LEDGER}/proofs/consistency?from=0&to=1")).expect(200).json(),
    )
    .unwrap();
    assert_eq!((hash(&empty.old_root), empty.hashes.len()), (Frontier::new().root(), 0));
}

#[test]
fn what_is_not_there_or_not_asked_well_is_refused() {
    let service = with_events(10);
    let size = service.tip();
    let past = size + 1;
    for (target, status, code) in [
        ("tile/0/000", 404, "not-found"),
        ("tile/1/000.p/1", 404, "not-found"),
        ("tile/0/001.p/1", 404, "not-found"),
        (&format!("tile/entries/000.p/{past}"), 404, "not-found"),
        ("tile/63/x018/x446/x744/x073/x709/x551/615", 404, "not-found"),
        ("tile/64/000", 404, "no-such-resource"),
        ("tile/0/0", 404, "no-such-resource"),
        ("tile/0/000.p/0", 404, "no-such-resource"),
        ("tile/0/x000/001", 404, "no-such-resource"),
        ("tile/entries", 404, "no-such-resource"),
        ("tile/", 404, "no-such-resource"),
        ("tile", 404, "no-such-resource"),
        ("tile/0/000.p/1?x=1", 400, "bad-query"),
        ("proofs", 404, "no-such-resource"),
        ("proofs/inclusion", 400, "bad-query"),
        ("proofs/inclusion?position=0", 400, "bad-position"),
        ("proofs/inclusion?position=1&size=0", 400, "bad-position"),
        ("proofs/inclusion?position=3&size=2", 400, "bad-query"),
        ("proofs/inclusion?position=1&position=2", 400, "bad-query"),
        ("proofs/inclusion?position=1&leaf=2", 400, "bad-query"),
        (&format!("proofs/inclusion?position=1&size={past}"), 404, "not-found"),
        (&format!("proofs/inclusion?position={past}"), 404, "not-found"),
        ("proofs/inclusion?position=18446744073709551615&size=18446744073709551615", 404, "not-found"),
        ("proofs/consistency", 400, "bad-query"),
        ("proofs/consistency?to=1", 400, "bad-query"),
        ("proofs/consistency?from=-1", 400, "bad-position"),
        ("proofs/consistency?from=%2B1", 400, "bad-position"),
        ("proofs/consistency?from=2&to=1", 400, "bad-query"),
        (&format!("proofs/consistency?from=1&to={past}"), 404, "not-found"),
        (&format!("proofs/consistency?from={past}"), 404, "not-found"),
        ("proofs/consistency?from=18446744073709551616", 400, "bad-position"),
    ] {
        let problem = service.get(&format!("{LEDGER}/{target}")).expect_problem(status, code);
        assert_eq!(problem["sideEffects"], "none", "{target}");
    }
    service.get("/v1/ledgers/nobody/tile/0/000").expect_problem(404, "ledger-not-found");
    service.get("/v1/ledgers/nobody/proofs/inclusion?position=1").expect_problem(404, "ledger-not-found");
    service.get(&format!("{LEDGER}/tile/0/000.p/{size}")).expect(200);
}
