//! Growth of the tree by whole groups of leaves.

use super::error::ArchiveError;
use super::range::ArchiveRange;
use bitacora_formats::TreeHash;
use bitacora_formats::{Frontier, TILE_HEIGHT, fold_complete, node_hash};

/// The roots of the complete subtrees that the range is made of, from those of its groups of leaves.
pub(super) fn subtree_roots(range: ArchiveRange, groups: &[TreeHash]) -> Result<Vec<TreeHash>, ArchiveError> {
    let error = ArchiveError::Tree { what: "the number of roots" };
    if groups.len() as u64 != range.leaf_groups() {
        return Err(error);
    }
    let mut rest = groups;
    let mut roots = Vec::new();
    for height in range.subtrees() {
        let count = 1_usize.checked_shl(height.saturating_sub(TILE_HEIGHT));
        let parts = count.and_then(|count| rest.split_at_checked(count));
        let (parts, after) = parts.ok_or(error.clone())?;
        roots.push(fold_complete(parts).ok_or(error.clone())?);
        rest = after;
    }
    Ok(roots)
}

/// The tree after the range, from the one before it and the roots of the subtrees between.
pub(super) fn grown(before: &Frontier, range: ArchiveRange, roots: &[TreeHash]) -> Option<Frontier> {
    let (mut size, mut peaks) = (before.size(), before.peaks().to_vec());
    if size != range.tree_before() || range.subtrees().count() != roots.len() {
        return None;
    }
    for (mut height, root) in range.subtrees().zip(roots) {
        let mut merged = *root;
        let leaves = 1_u64.checked_shl(height)?;
        // A subtree lies on the left as long as the size has its bit.
        while size.checked_shr(height).is_some_and(|bits| bits & 1 == 1) {
            merged = node_hash(&peaks.pop()?, &merged);
            height += 1;
        }
        peaks.push(merged);
        size = size.checked_add(leaves)?;
    }
    Frontier::from_parts(size, &peaks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitacora_formats::leaf_hash;
    use bitacora_formats::{Commitment, Micros, Position};

    #[test]
    fn any_range_grows_the_tree_as_its_leaves_do() {
        const LEAVES: u64 = 256 * 21;
        let (mut tree, mut frontiers, mut groups) = (Frontier::new(), vec![Frontier::new()], Vec::new());
        for number in 1..=LEAVES {
            let commitment = Commitment(*blake3::hash(&number.to_le_bytes()).as_bytes());
            let leaf = leaf_hash(Position::new(number).unwrap(), Micros(7), &commitment);
            if let Some(group) = tree.push_grouping(leaf) {
                groups.push(group);
                frontiers.push(tree.clone());
            }
        }
        for first in 0..21 {
            for last in first + 1..=21_usize {
                let range = ArchiveRange::new(first as u64 * 256 + 1, last as u64 * 256).unwrap();
                let roots = subtree_roots(range, &groups[first..last]).unwrap();
                let after = grown(&frontiers[first], range, &roots);
                assert_eq!(after.as_ref(), Some(&frontiers[last]), "{range}");
                let other = roots.iter().skip(1).copied().collect::<Vec<_>>();
                assert_eq!(grown(&frontiers[first], range, &other), None);
                assert!(subtree_roots(range, &groups[first..last - 1]).is_err());
                assert_eq!(grown(&frontiers[last], range, &roots), None);
            }
        }
    }
}
