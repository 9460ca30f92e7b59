//! Any leaf, place, sizes and hashes are a proof or give a typed error.
//!
//! A proof also holds by the steps that RFC 9162 gives in words. No mutation meets a root by chance. The target
//! therefore takes the root that a proof leads to from the error, and shows it again.
#![no_main]

use bitacora_formats::{ProofError, TreeHash, node_hash, verify_consistency, verify_inclusion};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((one, rest)) = bytes.split_first_chunk() else { return };
    let Some((other, rest)) = rest.split_first_chunk() else { return };
    let (one, other) = (u64::from_le_bytes(*one), u64::from_le_bytes(*other));
    let (hashes, _) = rest.as_chunks();
    let hashes: Vec<TreeHash> = hashes.iter().map(|hash| TreeHash(*hash)).collect();
    let Some((leaf, proof)) = hashes.split_first() else { return };

    let some = TreeHash([7; 32]);
    let root = match verify_inclusion(leaf, one, other, proof, &some) {
        Err(ProofError::Root { found, .. }) => Some(found),
        Err(error) => {
            assert_one_line(&error);
            None
        }
        Ok(()) => Some(some),
    };
    assert_eq!(root, included(*leaf, one, other, proof), "leaf {one} of {other}");
    if let Some(root) = root {
        assert_eq!(verify_inclusion(leaf, one, other, proof, &root), Ok(()));
    }

    if let Err(error) = verify_consistency(one, other, proof, leaf, &some) {
        assert_one_line(&error);
    }
    if let Some((old, new)) = grown(*leaf, one, other, proof) {
        assert_eq!(verify_consistency(one, other, proof, &old, &new), Ok(()), "{one} to {other}");
    } else if one > 0 && one != other {
        let shown = verify_consistency(one, other, proof, leaf, &some);
        assert!(!matches!(shown, Ok(()) | Err(ProofError::Root { .. })), "{one} to {other}: {shown:?}");
    }
});

/// RFC 9162, 2.1.3.2: the root that the proof leads to.
fn included(leaf: TreeHash, index: u64, size: u64, proof: &[TreeHash]) -> Option<TreeHash> {
    let (mut place, mut last) = (index, size.checked_sub(1).filter(|last| index <= *last)?);
    let mut reached = leaf;
    for hash in proof {
        if last == 0 {
            return None;
        }
        if place & 1 == 1 || place == last {
            reached = node_hash(hash, &reached);
            while place & 1 == 0 && place != 0 {
                (place, last) = (place >> 1, last >> 1);
            }
        } else {
            reached = node_hash(&reached, hash);
        }
        (place, last) = (place >> 1, last >> 1);
    }
    (last == 0).then_some(reached)
}

/// RFC 9162, 2.1.4.2, for sizes that differ: both roots that the proof leads to. Where the earlier tree is complete its root
/// has to be brought, and is `old` here.
fn grown(old: TreeHash, from: u64, to: u64, proof: &[TreeHash]) -> Option<(TreeHash, TreeHash)> {
    if from == 0 || from >= to || proof.is_empty() {
        return None;
    }
    let path: Vec<TreeHash> =
        from.is_power_of_two().then_some(old).into_iter().chain(proof.iter().copied()).collect();
    let (mut place, mut last) = (from - 1, to - 1);
    while place & 1 == 1 {
        (place, last) = (place >> 1, last >> 1);
    }
    let (begin, path) = path.split_first()?;
    let (mut earlier, mut later) = (*begin, *begin);
    for hash in path {
        if last == 0 {
            return None;
        }
        if place & 1 == 1 || place == last {
            earlier = node_hash(hash, &earlier);
            later = node_hash(hash, &later);
            while place & 1 == 0 && place != 0 {
                (place, last) = (place >> 1, last >> 1);
            }
        } else {
            later = node_hash(&later, hash);
        }
        (place, last) = (place >> 1, last >> 1);
    }
    (last == 0).then_some((earlier, later))
}
