//! The confirmation by evidence from outside the folder, apart from what its bytes prove by themselves.

use bitacora_formats::{Cosignature, Micros, format_time};
use serde_json::{Value, json};

use crate::{Assurance, Report, WitnessedHead};

/// Returns `true` if the verifier brought anything that could be compared.
pub(super) fn is_brought(assurance: &Assurance) -> bool {
    assurance.keys > 0
        || !assurance.heads.is_empty()
        || assurance.witnessed.is_some()
        || !assurance.divergences.is_empty()
}

pub(super) fn lines(assurance: &Assurance, report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = assurance.divergences.iter().map(ToString::to_string).collect();
    if report.fault.is_some() {
        return vec!["none: what is broken is not compared".to_owned()];
    }
    if !is_brought(assurance) {
        return vec!["none: neither --vkey nor --known-head was given".to_owned()];
    }
    match (assurance.key_number, assurance.signed_by) {
        (Some(known), Some(signed_by)) if known <= signed_by && !assurance.has_key() => lines.push(format!(
            "signing key {known}, which you know, leads to key {signed_by}, which signed the last segment; nothing that you brought is by that key, and a seed of key {known} that leaked could have endorsed it: bring that key, or a head by it"
        )),
        (Some(known), Some(signed_by)) if known <= signed_by => {
            lines.push(format!("signing key {known}, which you know, vouches for key {signed_by} and all that it signed"));
        }
        (Some(known), Some(signed_by)) => lines.push(format!(
            "signing key {known}, which you know, vouches for nothing here: all is signed by key {signed_by}, and a key vouches only for those after it"
        )),
        _ => lines.push("no key that you know: --vkey names one".to_owned()),
    }
    for (file, size) in &assurance.heads {
        lines.push(format!("{file}: the tree head of size {size} is on this history"));
    }
    if let Some(witnessed) = &assurance.witnessed {
        lines.extend(witnessed_lines(witnessed, report));
    }
    if assurance.known_size().is_none() && assurance.divergences.is_empty() {
        lines.push("no tree head that you kept: --known-head names one".to_owned());
    }
    if !assurance.whole_tree {
        lines.push("the roots are only stated: not every leaf is there to make the tree of, and it was not made of the records".to_owned());
    }
    lines
}

fn witnessed_lines(witnessed: &WitnessedHead, report: &Report) -> Vec<String> {
    let WitnessedHead { file, size, by } = witnessed;
    let mut lines = vec![format!("{file}: the tree head of size {size} is cosigned by enough witnesses")];
    let cosigned = by
        .iter()
        .map(|cosignature| format!("{} cosigned it at {}", cosignature.key.name(), time(cosignature)));
    lines.extend(cosigned);
    lines.push(match events_after(witnessed, report) {
        0 => "no event is behind it".to_owned(),
        after => format!("{after} events behind it are not witnessed"),
    });
    lines
}

fn events_after(witnessed: &WitnessedHead, report: &Report) -> u64 {
    report.head.map_or(0, |head| head.position).saturating_sub(witnessed.size)
}

/// Returns the time of a cosignature, to the second.
pub(crate) fn time(cosignature: &Cosignature) -> String {
    let micros = Micros(cosignature.seconds.saturating_mul(1_000_000));
    format_time(micros).replace(".000000", "")
}

/// Lists the claims that no brought evidence confirms.
pub(super) fn not_proven(assurance: &Assurance, report: &Report) -> Vec<String> {
    let mut not_proven = Vec::new();
    let last = report.head.map_or(0, |head| head.position);
    match assurance.known_size() {
        None => not_proven
            .push("that nothing was cut from the end: that needs a tree head kept elsewhere".to_owned()),
        Some(size) if size < last => {
            not_proven.push(format!("that nothing was cut from the end behind position {size}, which the tree head you kept or your witnesses cosigned covers"));
        }
        Some(_) => {
            not_proven.push(
                "that nothing was cut from the end after the tree head you kept or your witnesses cosigned"
                    .to_owned(),
            );
        }
    }
    if !assurance.has_key() {
        not_proven
            .push("that these signing keys are the right ones: that needs a key kept elsewhere".to_owned());
    }
    not_proven
}

pub(super) fn to_json(assurance: &Assurance, report: &Report) -> Value {
    let heads = assurance.heads.iter().map(|(file, size)| json!({ "file": file, "size": size.to_string() }));
    let witnessed = assurance.witnessed.as_ref().map(|head| {
        json!({
            "file": head.file,
            "size": head.size.to_string(),
            "eventsAfter": events_after(head, report).to_string(),
            "cosignatures": head.by.iter().map(cosignature_json).collect::<Vec<_>>(),
        })
    });
    json!({
        "given": report.fault.is_none() && assurance.is_given(),
        "keys": assurance.keys,
        "keyNumber": assurance.key_number,
        "signedBy": assurance.signed_by,
        "keyVouches": assurance.has_key(),
        "knownHeads": heads.collect::<Vec<_>>(),
        "witnessed": witnessed,
        "divergences": assurance.divergences.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "wholeTree": assurance.whole_tree,
    })
}

pub(crate) fn cosignature_json(cosignature: &Cosignature) -> Value {
    json!({
        "witness": cosignature.key.name(),
        "key": cosignature.key.to_string(),
        "time": time(cosignature),
        "seconds": cosignature.seconds.to_string(),
    })
}
