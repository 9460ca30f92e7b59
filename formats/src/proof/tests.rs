//! Tests against the transparency community's proofs and the RFC's own algorithms, and of bad proofs.

use sha2::{Digest, Sha256};

use super::*;

/// Leaves, roots and proofs over them: github.com/transparency-dev/merkle, proof/verify_test.go (`leaves`, `roots`,
/// `inclusionProofs`, `consistencyProofs`), there with leaves counted from 1; Apache License 2.0.
const LEAVES: [&str; 8] =
    ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
const ROOTS: [&str; 8] = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];
const INCLUSION: [(u64, u64, &[&str]); 5] = [
    (0, 1, &[]),
    (
        0,
        8,
        &[
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        5,
        8,
        &[
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (2, 3, &["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]),
    (
        1,
        5,
        &[
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    ),
];
const CONSISTENCY: [(u64, u64, &[&str]); 5] = [
    (1, 1, &[]),
    (
        1,
        8,
        &[
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        6,
        8,
        &[
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (
        2,
        5,
        &[
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    ),
    (
        6,
        7,
        &[
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
];

fn hash(text: &str) -> TreeHash {
    text.parse().unwrap()
}

fn hashes(texts: &[&str]) -> Vec<TreeHash> {
    texts.iter().map(|text| hash(text)).collect()
}

fn leaf_of(input: &[u8]) -> TreeHash {
    TreeHash(Sha256::new().chain_update([0]).chain_update(input).finalize().into())
}

fn community_leaves() -> Vec<TreeHash> {
    LEAVES.iter().map(|leaf| leaf_of(&hex::decode(leaf).unwrap())).collect()
}

fn leaves(count: u64) -> Vec<TreeHash> {
    (0..count).map(|n| leaf_of(&n.to_be_bytes())).collect()
}

/// A source of complete subtrees, which refuses to be asked for anything else.
fn subtrees(leaves: &[TreeHash]) -> impl FnMut(u64, u32) -> Result<TreeHash, String> + '_ {
    |first, height| {
        assert!(first.is_multiple_of(1 << height), "2^{height} leaves from {first}");
        let from = usize::try_from(first).unwrap();
        let part = leaves.get(from..from + (1 << height)).ok_or("past the end")?;
        crate::tree::fold_complete(part).ok_or_else(|| "not complete".to_owned())
    }
}

fn root(leaves: &[TreeHash], size: u64) -> TreeHash {
    root_of(size, subtrees(leaves)).unwrap()
}

/// RFC 9162, 2.1.3.2, step by step.
fn included_by_the_rfc(leaf: TreeHash, index: u64, size: u64, proof: &[TreeHash], root: TreeHash) -> bool {
    if index >= size {
        return false;
    }
    let (mut leaf_number, mut last, mut reached) = (index, size - 1, leaf);
    for hash in proof {
        if last == 0 {
            return false;
        }
        if leaf_number & 1 == 1 || leaf_number == last {
            reached = node_hash(hash, &reached);
            while leaf_number & 1 == 0 && leaf_number != 0 {
                leaf_number >>= 1;
                last >>= 1;
            }
        } else {
            reached = node_hash(&reached, hash);
        }
        leaf_number >>= 1;
        last >>= 1;
    }
    last == 0 && reached == root
}

#[test]
fn the_communitys_inclusion_proofs_are_made_and_hold() {
    let leaves = community_leaves();
    for (index, size, proof) in INCLUSION {
        let proof = hashes(proof);
        assert_eq!(
            prove_inclusion(index, size, subtrees(&leaves)),
            Ok(Some(proof.clone())),
            "{index} of {size}"
        );
        let (leaf, root) =
            (leaves[usize::try_from(index).unwrap()], hash(ROOTS[usize::try_from(size).unwrap() - 1]));
        assert_eq!(verify_inclusion(&leaf, index, size, &proof, &root), Ok(()), "{index} of {size}");
    }
}

#[test]
fn the_communitys_consistency_proofs_are_made_and_hold() {
    let leaves = community_leaves();
    for (from, to, proof) in CONSISTENCY {
        let proof = hashes(proof);
        assert_eq!(prove_consistency(from, to, subtrees(&leaves)), Ok(Some(proof.clone())), "{from} to {to}");
        let [old, new] = [from, to].map(|size| hash(ROOTS[usize::try_from(size).unwrap() - 1]));
        assert_eq!(verify_consistency(from, to, &proof, &old, &new), Ok(()), "{from} to {to}");
    }
}

#[test]
fn every_proof_of_small_trees_holds_and_none_for_anything_else() {
    let leaves = leaves(36);
    let mut proofs = 0;
    for size in 1..=33 {
        let expected = root(&leaves, size);
        for index in 0..size {
            let proof = prove_inclusion(index, size, subtrees(&leaves)).unwrap().unwrap();
            let leaf = leaves[usize::try_from(index).unwrap()];
            for (other_index, other_size) in (0..35).flat_map(|index| (0..36).map(move |size| (index, size)))
            {
                let holds = verify_inclusion(&leaf, other_index, other_size, &proof, &expected).is_ok();
                let by_rfc = included_by_the_rfc(leaf, other_index, other_size, &proof, expected);
                assert_eq!(holds, by_rfc, "{index} of {size} shown as {other_index} of {other_size}");
                assert!(
                    !holds || other_index == index || other_size != size,
                    "{index} of {size} as {other_index}"
                );
                proofs += u32::from(holds);
            }
            for other in leaves.iter().filter(|other| **other != leaf) {
                assert!(verify_inclusion(other, index, size, &proof, &expected).is_err());
            }
        }
    }
    assert!(proofs >= 33 * 34 / 2);
}

#[test]
fn every_growth_of_small_trees_is_proven_and_no_other() {
    let leaves = leaves(34);
    for to in 0..=33 {
        for from in 0..=to {
            let proof = prove_consistency(from, to, subtrees(&leaves)).unwrap().unwrap();
            let (old, new) = (root(&leaves, from), root(&leaves, to));
            assert_eq!(verify_consistency(from, to, &proof, &old, &new), Ok(()), "{from} to {to}");
            if from < to {
                assert!(verify_consistency(from, to, &proof, &new, &old).is_err(), "{from} to {to}, swapped");
            }
            let wrong = leaf_of(b"wrong");
            assert!(verify_consistency(from, to, &proof, &wrong, &new).is_err(), "{from} to {to}, old");
            if from > 0 {
                assert!(verify_consistency(from, to, &proof, &old, &wrong).is_err(), "{from} to {to}, new");
            }
            for (at, _) in proof.iter().enumerate() {
                let mut changed = proof.clone();
                changed[at].0[0] ^= 8;
                assert!(verify_consistency(from, to, &changed, &old, &new).is_err(), "{from} to {to}, {at}");
            }
            assert_length(&proof, |proof| verify_consistency(from, to, proof, &old, &new));
        }
    }
}

/// Hashes too many, at the end and at the front, and too few are named as that.
fn assert_length(proof: &[TreeHash], check: impl Fn(&[TreeHash]) -> Result<(), ProofError>) {
    let expected = proof.len();
    let longer: Vec<_> = proof.iter().copied().chain([leaf_of(b"more")]).collect();
    assert_eq!(check(&longer), Err(ProofError::Length { expected, found: expected + 1 }));
    let earlier: Vec<_> = [leaf_of(b"more")].into_iter().chain(proof.iter().copied()).collect();
    assert_eq!(check(&earlier), Err(ProofError::Length { expected, found: expected + 1 }));
    if let Some((_, shorter)) = proof.split_last() {
        assert_eq!(check(shorter), Err(ProofError::Length { expected, found: expected - 1 }));
        assert_eq!(check(&[]), Err(ProofError::Length { expected, found: 0 }));
    }
}

#[test]
fn an_inclusion_proof_with_hashes_too_many_too_few_or_changed_is_refused() {
    let leaves = leaves(300);
    for (index, size) in [(0, 1), (0, 2), (1, 2), (255, 256), (256, 257), (7, 300), (299, 300)] {
        let proof = prove_inclusion(index, size, subtrees(&leaves)).unwrap().unwrap();
        let (leaf, root) = (leaves[usize::try_from(index).unwrap()], root(&leaves, size));
        assert_eq!(verify_inclusion(&leaf, index, size, &proof, &root), Ok(()));
        assert_length(&proof, |proof| verify_inclusion(&leaf, index, size, proof, &root));
        for (at, bit) in (0..proof.len()).zip([1, 8, 128].into_iter().cycle()) {
            let mut changed = proof.clone();
            changed[at].0[31] ^= bit;
            assert!(matches!(
                verify_inclusion(&leaf, index, size, &changed, &root),
                Err(ProofError::Root { .. })
            ));
        }
    }
}

#[test]
fn the_empty_tree_holds_nothing_and_everything_grows_from_it() {
    let (leaves, some) = (leaves(4), leaf_of(b"some"));
    let empty = Frontier::new().root();
    assert_eq!(root(&leaves, 0), empty);
    for (index, size) in [(0, 0), (1, 0), (1, 1), (u64::MAX, 0), (u64::MAX, u64::MAX)] {
        assert_eq!(verify_inclusion(&some, index, size, &[], &some), Err(ProofError::Index { index, size }));
        assert_eq!(prove_inclusion(index, size, subtrees(&leaves)), Ok(None));
    }
    assert_eq!(verify_consistency(0, 0, &[], &empty, &empty), Ok(()));
    assert_eq!(verify_consistency(0, 3, &[], &empty, &root(&leaves, 3)), Ok(()));
    for (from, to, old, new) in
        [(0, 0, some, empty), (0, 0, empty, some), (0, 1, some, some), (0, 0, some, some)]
    {
        assert!(verify_consistency(from, to, &[], &old, &new).is_err(), "{from} to {to}");
    }
    assert!(verify_consistency(0, 1, &[empty], &empty, &some).is_err());
    assert!(verify_consistency(1, 1, &[], &some, &empty).is_err());
    assert!(verify_consistency(1, 1, &[some], &some, &some).is_err());
    assert_eq!(verify_consistency(2, 1, &[], &some, &some), Err(ProofError::Shrunk { from: 2, to: 1 }));
    assert_eq!(prove_consistency(2, 1, subtrees(&leaves)), Ok(None));
}

#[test]
fn sizes_up_to_the_last_are_met_without_overflow() {
    let some = leaf_of(b"some");
    let any = |_: u64, _: u32| Ok::<_, ()>(some);
    let longest = prove_inclusion(u64::MAX - 2, u64::MAX - 1, any).unwrap().unwrap();
    assert!(longest.len() <= MAX_INCLUSION_HASHES, "{}", longest.len());
    assert!(verify_inclusion(&some, u64::MAX - 2, u64::MAX - 1, &longest, &some).is_err());
    let growth = prove_consistency((1 << 63) + 1, u64::MAX, any).unwrap().unwrap();
    assert!(verify_consistency((1 << 63) + 1, u64::MAX, &growth, &some, &some).is_err());
    assert_eq!(prove_inclusion(0, u64::MAX, any).unwrap().unwrap().len(), MAX_INCLUSION_HASHES);
    assert!(root_of(u64::MAX, any).is_ok());
}

#[test]
fn a_source_that_fails_fails_the_proof() {
    let leaves = leaves(10);
    assert_eq!(prove_inclusion(3, 12, subtrees(&leaves)), Err("past the end".to_owned()));
    assert_eq!(prove_consistency(3, 12, subtrees(&leaves)), Err("past the end".to_owned()));
}
