//! The generations of a ledger, and the loss at the end of each.

use serde_json::{Value, json};

use crate::{DeclaredLoss, GenerationStart, LostHead, Report};

/// Describes the generations. Every one after the first begins with a declared loss.
pub(super) fn lines(report: &Report) -> Vec<String> {
    let Some(generation) = report.generation else { return Vec::new() };
    let mut lines = vec![match report.generations.len() {
        1 if generation.0 == 1 => "1, no loss was declared".to_owned(),
        _ => format!("{generation}: losses were declared"),
    }];
    for begun in after_losses(report) {
        lines.push(format!(
            "generation {} begins at position {}, after a declared loss: heads and receipts of the one before may cover more than is left",
            begun.generation, begun.first_position
        ));
        match &begun.declared {
            Some(loss) => lines.extend(loss_lines(loss)),
            None => lines.push(format!("what was lost before it: not read, {}", why_unread(report))),
        }
    }
    lines
}

/// Returns the generations that began with a loss.
pub(super) fn after_losses(report: &Report) -> impl Iterator<Item = &GenerationStart> {
    report.generations.iter().filter(|begun| begun.follows_loss())
}

/// Returns the reason why the event that declares the loss was not read.
pub(super) fn why_unread(report: &Report) -> &'static str {
    match report.contents {
        None => "the event that says it is encrypted; --with-keys opens it",
        Some(_) => "the event that says it was not opened",
    }
}

fn loss_lines(loss: &DeclaredLoss) -> [String; 2] {
    let lost = match (&loss.lost, loss.lost_positions()) {
        (None, _) => {
            "lost before it: behind what is left; no tree head that was known covers any of it".to_owned()
        }
        (Some(head), Some((first, last))) => format!(
            "lost before it: positions {first} to {last}, by {}; what was appended behind that head is lost too, and nothing here tells how much",
            head_text(head)
        ),
        (Some(head), None) => format!("lost before it: another history, that of {}", head_text(head)),
    };
    let retained = &loss.retained;
    let frames = if loss.in_other_frames { ", in frames that were made again since" } else { "" };
    let kept = format!("kept: positions 1 to {}, root {}{frames}", retained.position, retained.tree_root);
    [lost, kept]
}

fn head_text(head: &LostHead) -> String {
    let mut told = format!("the tree head of size {}", head.size);
    if let Some(root) = head.root {
        told.push_str(&format!(" and root {root}"));
    }
    match &head.note {
        Some(note) => told.push_str(&format!(
            ", which signing key {} signed in generation {}",
            note.signing_key, note.generation
        )),
        None => told.push_str(", of which a witness told"),
    }
    told
}

pub(super) fn to_json(report: &Report) -> Vec<Value> {
    let begun = |begun: &GenerationStart| {
        json!({
            "generation": begun.generation.0,
            "firstPosition": begun.first_position.to_string(),
            "declaredLoss": begun.declared.as_ref().map(loss_json),
        })
    };
    report.generations.iter().map(begun).collect()
}

fn loss_json(loss: &DeclaredLoss) -> Value {
    let head = loss.lost.as_ref().map(|head| {
        let note = head.note.as_ref();
        json!({
            "size": head.size.to_string(),
            "root": head.root.map(|root| root.to_string()),
            "note": note.map(|note| &note.text),
            "generation": note.map(|note| note.generation.0),
            "signedBy": note.map(|note| note.signing_key),
        })
    });
    let positions = loss.lost_positions();
    let retained = &loss.retained;
    json!({
        "lostHead": head,
        "firstLost": positions.map(|(first, _)| first.to_string()),
        "lastLost": positions.map(|(_, last)| last.to_string()),
        "retained": {
            "size": retained.position.to_string(),
            "root": retained.tree_root.to_string(),
            "hash": retained.hash.to_string(),
            "inOtherFrames": loss.in_other_frames,
        },
    })
}
