use super::*;
use crate::headed_example::{TIME, events, head, keyring, origin};
use crate::tree::Frontier;
use crate::tree_head::TreeHead;
use bitacora_testkit::text_block;

const DOCUMENT: &str = include_str!("../../../docs/formats/receipt.md");

fn receipt() -> InclusionReceipt {
    let [event, heading] = events();
    InclusionReceipt {
        position: event.position,
        leaf: LeafEntry { time: TIME, commitment: event.commitment },
        proof: vec![heading.leaf()],
        tree_head: head().sign(&keyring()),
    }
}

fn verify(receipt: &InclusionReceipt) -> Result<(InclusionReceipt, SignedTreeHead), ReceiptError> {
    UnverifiedReceipt::parse(&receipt.to_string())?.verify(&origin().keys(keyring().signing_chain()))
}

#[test]
fn the_worked_example_of_the_document_holds() {
    assert_eq!(receipt().to_string(), text_block(DOCUMENT, 0));
    let (verified, signed) = verify(&receipt()).unwrap();
    assert_eq!((verified, signed.head()), (receipt(), &head()));
}

#[test]
fn the_only_event_of_a_tree_has_a_receipt_without_hashes() {
    let mut frontier = Frontier::new();
    frontier.push(events()[0].leaf());
    let head = TreeHead { origin: origin(), size: 1, root: frontier.root() };
    let only = InclusionReceipt { proof: Vec::new(), tree_head: head.sign(&keyring()), ..receipt() };
    assert!(verify(&only).is_ok());
}

#[test]
fn a_receipt_of_another_event_or_with_other_hashes_is_refused() {
    let position = Position::new(2).unwrap();
    let other_time = LeafEntry { time: crate::Micros(1), ..receipt().leaf };
    for other in [
        InclusionReceipt { position, ..receipt() },
        InclusionReceipt { leaf: other_time, ..receipt() },
        InclusionReceipt { proof: Vec::new(), ..receipt() },
        InclusionReceipt { proof: [receipt().proof, receipt().proof].concat(), ..receipt() },
        InclusionReceipt { proof: vec![TreeHash([0; 32])], ..receipt() },
    ] {
        assert!(matches!(verify(&other), Err(ReceiptError::Proof(_))), "{other:?}");
    }
    let most = InclusionReceipt { proof: vec![TreeHash([0; 32]); MAX_INCLUSION_HASHES], ..receipt() };
    assert!(matches!(verify(&most), Err(ReceiptError::Proof(ProofError::Length { found: 64, .. }))));
    let many = InclusionReceipt { proof: vec![TreeHash([0; 32]); MAX_INCLUSION_HASHES + 1], ..receipt() };
    assert_eq!(verify(&many), Err(ReceiptError::Hashes));
}

#[test]
fn a_receipt_that_nobody_known_signed_is_refused() {
    let parsed = UnverifiedReceipt::parse(&receipt().to_string()).unwrap();
    assert!(matches!(parsed.verify(&[]), Err(ReceiptError::TreeHead(TreeHeadError::Note(_)))));
}

#[test]
fn a_text_of_another_form_is_refused() {
    let text = receipt().to_string();
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        UnverifiedReceipt::parse(&text.replacen(from, to, 1)).unwrap_err()
    };
    assert_eq!(refused("proof@v1", "proof@v2"), ReceiptError::NotAReceipt);
    assert_eq!(refused("proof@v1\n", "proof@v1"), ReceiptError::NotAReceipt);
    assert_eq!(refused("extra ", "extra  "), ReceiptError::Entry);
    assert_eq!(refused("extra AA", "extra AAAAAA"), ReceiptError::Entry);
    assert_eq!(refused("extra AAAAAAAAAAE", "extra AAAAAAAAAAA"), ReceiptError::Entry, "position 0");
    for index in ["index 1", "index 00", "index +0", "inde 0", "index"] {
        assert_eq!(refused("index 0", index), ReceiptError::Index, "{index}");
    }
    assert_eq!(refused("index 0\n", "index 0\nAAAA\n"), ReceiptError::Hashes);
    assert_eq!(refused("=\n\nmain/", "=\nmain/"), ReceiptError::Hashes);
    assert!(matches!(refused("\n2\n", "\n02\n"), ReceiptError::TreeHead(TreeHeadError::Size)));
    let longest = text.clone() + &"\n".repeat(MAX_RECEIPT_BYTES - text.len());
    assert!(matches!(UnverifiedReceipt::parse(&longest), Err(ReceiptError::TreeHead(_))));
    let refused = ReceiptError::TooLong { bytes: MAX_RECEIPT_BYTES + 1 };
    assert_eq!(UnverifiedReceipt::parse(&(longest + "\n")), Err(refused));
}
