//! Proofs of the tree (RFC 9162, 2.1.3 and 2.1.4): that an event is in it, and that it only grew.
//!
//! A proof is a list of hashes without a layout of its own. The checker of a proof brings the roots. A proof that is
//! for another leaf, place or size, or has a hash too many or too few, is refused.

use crate::ids::TreeHash;
use crate::tree::{Frontier, node_hash};

/// The most hashes of an inclusion proof; a consistency proof has one more.
pub const MAX_INCLUSION_HASHES: usize = u64::BITS as usize;

/// An error because of which a proof shows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// No tree of that size has that leaf.
    #[error("found leaf {index}, expected a leaf below {size}")]
    Index {
        /// The leaf, from 0.
        index: u64,
        /// The size of the tree.
        size: u64,
    },
    /// A tree does not shrink.
    #[error("found a tree of {to} leaves, expected one that grew from {from}")]
    Shrunk {
        /// The size of the earlier tree.
        from: u64,
        /// The size of the later one.
        to: u64,
    },
    /// A proof for these sizes has another number of hashes.
    #[error("found {found} hashes of a proof, expected {expected}")]
    Length {
        /// The number of hashes that a proof must have.
        expected: usize,
        /// The number of hashes that it has.
        found: usize,
    },
    /// The hashes lead to another root of the tree, or of the earlier one.
    #[error("root {expected} expected, the proof leads to {found}")]
    Root {
        /// The root that was brought.
        expected: TreeHash,
        /// The one that the proof leads to.
        found: TreeHash,
    },
}

/// The root of the first `size` leaves. `subtree` gives the root of the `2^height` leaves from one on, and is only asked for
/// complete subtrees.
///
/// # Errors
/// The errors of `subtree`.
pub fn root_of<E>(
    size: u64,
    mut subtree: impl FnMut(u64, u32) -> Result<TreeHash, E>,
) -> Result<TreeHash, E> {
    if size == 0 { Ok(Frontier::new().root()) } else { root_between(0, size, &mut subtree) }
}

/// The hashes that lead from leaf `index`, counted from 0, to the root of the first `size` leaves, the lowest first. `None` if
/// there is no such leaf in them. `subtree` is as in [`root_of`].
///
/// # Errors
/// The errors of `subtree`.
pub fn prove_inclusion<E>(
    index: u64,
    size: u64,
    mut subtree: impl FnMut(u64, u32) -> Result<TreeHash, E>,
) -> Result<Option<Vec<TreeHash>>, E> {
    if index >= size {
        return Ok(None);
    }
    let (mut first, mut end) = (0, size);
    let mut proof = Vec::new();
    while end - first > 1 {
        let middle = first + split(end - first);
        if index < middle {
            proof.push(root_between(middle, end, &mut subtree)?);
            end = middle;
        } else {
            proof.push(root_between(first, middle, &mut subtree)?);
            first = middle;
        }
    }
    proof.reverse();
    Ok(Some(proof))
}

/// The hashes that lead from the root of the first `from` leaves to that of the first `to`. `None` if `from` is the larger.
/// `subtree` is as in [`root_of`].
///
/// # Errors
/// The errors of `subtree`.
pub fn prove_consistency<E>(
    from: u64,
    to: u64,
    mut subtree: impl FnMut(u64, u32) -> Result<TreeHash, E>,
) -> Result<Option<Vec<TreeHash>>, E> {
    if from > to {
        return Ok(None);
    }
    if from == 0 || from == to {
        return Ok(Some(Vec::new()));
    }
    let (mut first, mut end) = (0, to);
    let mut proof = Vec::new();
    // Down to the subtree that ends where the earlier tree ended.
    while from < end {
        let middle = first + split(end - first);
        if from <= middle {
            proof.push(root_between(middle, end, &mut subtree)?);
            end = middle;
        } else {
            proof.push(root_between(first, middle, &mut subtree)?);
            first = middle;
        }
    }
    if first > 0 {
        proof.push(root_between(first, end, &mut subtree)?);
    }
    proof.reverse();
    Ok(Some(proof))
}

/// Checks that `leaf` is leaf `index`, counted from 0, of the tree of `size` leaves with this root.
///
/// # Errors
/// A [`ProofError`], also for a proof that would do for another leaf or size.
pub fn verify_inclusion(
    leaf: &TreeHash,
    index: u64,
    size: u64,
    proof: &[TreeHash],
    root: &TreeHash,
) -> Result<(), ProofError> {
    if index >= size {
        return Err(ProofError::Index { index, size });
    }
    let (mut first, mut end) = (0, size);
    // From the root down: on which side of the path each hash lies.
    let mut sides = Vec::with_capacity(MAX_INCLUSION_HASHES);
    while end - first > 1 {
        let middle = first + split(end - first);
        let is_left = index >= middle;
        sides.push(is_left);
        if is_left {
            first = middle;
        } else {
            end = middle;
        }
    }
    check_length(sides.len(), proof)?;
    let found = proof.iter().zip(sides.iter().rev()).fold(*leaf, |below, (hash, is_left)| {
        if *is_left { node_hash(hash, &below) } else { node_hash(&below, hash) }
    });
    check_root(root, &found)
}

/// Checks that the tree of `to` leaves with `new_root` begins with the tree of `from` leaves with `old_root`.
///
/// # Errors
/// A [`ProofError`]. The empty tree has the root of the empty tree, and trees of one size have one root.
pub fn verify_consistency(
    from: u64,
    to: u64,
    proof: &[TreeHash],
    old_root: &TreeHash,
    new_root: &TreeHash,
) -> Result<(), ProofError> {
    if from > to {
        return Err(ProofError::Shrunk { from, to });
    }
    if from == 0 || from == to {
        check_length(0, proof)?;
        if from == 0 {
            check_root(old_root, &Frontier::new().root())?;
        }
        return if from == to { check_root(new_root, old_root) } else { Ok(()) };
    }
    let (mut first, mut end) = (0, to);
    let mut sides = Vec::with_capacity(MAX_INCLUSION_HASHES);
    while from < end {
        let middle = first + split(end - first);
        let is_left = from > middle;
        sides.push(is_left);
        if is_left {
            first = middle;
        } else {
            end = middle;
        }
    }
    // The path begins at the root of the earlier tree if that is complete; the root is then not in the proof.
    let begins_inside = first > 0;
    check_length(sides.len() + usize::from(begins_inside), proof)?;
    let (below, path) = match proof.split_first() {
        Some((below, path)) if begins_inside => (below, path),
        _ => (old_root, proof),
    };
    let (mut old, mut new) = (*below, *below);
    for (hash, is_left) in path.iter().zip(sides.iter().rev()) {
        if *is_left {
            old = node_hash(hash, &old);
            new = node_hash(hash, &new);
        } else {
            new = node_hash(&new, hash);
        }
    }
    check_root(old_root, &old)?;
    check_root(new_root, &new)
}

fn check_length(expected: usize, proof: &[TreeHash]) -> Result<(), ProofError> {
    let found = proof.len();
    if found == expected { Ok(()) } else { Err(ProofError::Length { expected, found }) }
}

fn check_root(expected: &TreeHash, found: &TreeHash) -> Result<(), ProofError> {
    let (expected, found) = (*expected, *found);
    if expected == found { Ok(()) } else { Err(ProofError::Root { expected, found }) }
}

/// The root over the leaves from `first` up to `end`, at least one; `first` is a multiple of the largest power of two that
/// fits between them.
fn root_between<E>(
    first: u64,
    end: u64,
    subtree: &mut impl FnMut(u64, u32) -> Result<TreeHash, E>,
) -> Result<TreeHash, E> {
    let mut parts = Vec::with_capacity(MAX_INCLUSION_HASHES);
    let mut at = first;
    while at < end {
        let height = (end - at).ilog2();
        parts.push(subtree(at, height)?);
        at += 1 << height;
    }
    let root = parts.into_iter().rev().reduce(|right, left| node_hash(&left, &right));
    Ok(root.unwrap_or_else(|| Frontier::new().root()))
}

/// The largest power of two below `leaves`, which are at least two: so many go into the left side of a tree.
fn split(leaves: u64) -> u64 {
    1 << (leaves - 1).ilog2()
}

#[cfg(test)]
mod tests;
