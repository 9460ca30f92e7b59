//! The manifest of a bundle: what was asked for, and the digest of every member.

use bitacora_formats::{After, LedgerName, Micros, Position, format_time};
use bitacora_ledger::PublishedHead;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::archive::archive;
use super::{BundleSource, Selection};
use crate::json::{hex, json_of};
use crate::limits::MAX_BUNDLE_BYTES;
use crate::problem::{Code, Problem};

/// The format of bundles.
const FORMAT: &str = "bitacora-bundle v1";
/// The second verifier: one file of Python, from the formats alone.
const VERIFIER: &str = include_str!("../../../tests/second/bitacora_verify.py");
/// The page that says how to check a bundle.
const README: &str = include_str!("README.txt");

/// The events of a bundle: what was asked for, and what there is.
pub(super) struct Span {
    pub(super) from: (After, Option<Position>),
    pub(super) events: usize,
    pub(super) positions: (Position, Position),
}

/// The manifest, as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    format: &'static str,
    ledger: String,
    after: String,
    until: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    events: String,
    first: String,
    last: String,
    tree_size: String,
    members: Vec<Member>,
}

#[derive(Serialize)]
struct Member {
    name: &'static str,
    bytes: String,
    sha256: String,
}

impl Manifest {
    pub(super) fn new(name: &LedgerName, asked: &Selection, span: &Span, head: &PublishedHead) -> Self {
        let time = |time: Option<Micros>| time.map(format_time);
        let (first, last) = span.positions;
        let (after, until) = span.from;
        Self {
            format: FORMAT,
            ledger: name.to_string(),
            after: after.to_string(),
            until: until.unwrap_or(last).to_string(),
            since: time(asked.since),
            before: time(asked.before),
            session: asked.session.clone(),
            run: asked.run.clone(),
            events: span.events.to_string(),
            first: first.to_string(),
            last: last.to_string(),
            tree_size: head.size.to_string(),
            members: Vec::new(),
        }
    }
}

/// Returns the file of a bundle, with a manifest of all other members in it.
pub(super) fn sealed(
    mut manifest: Manifest,
    source: &BundleSource,
    head: &PublishedHead,
    events: &[u8],
    proofs: &[u8],
) -> Result<Vec<u8>, Problem> {
    let vkey = source.ledger.verifier_key().map(|key| key.to_string()).unwrap_or_default();
    let verifier_digest = digest(VERIFIER.as_bytes());
    let readme = README
        .replace("{events}", &manifest.events)
        .replace("{first}", &manifest.first)
        .replace("{last}", &manifest.last)
        .replace("{ledger}", &manifest.ledger)
        .replace("{verifier}", &verifier_digest)
        .replace("{key}", &vkey);
    let last = source.ledger.tree_head().filter(|last| last.size > head.size);
    let mut members: Vec<(&'static str, &[u8])> = vec![
        ("README.txt", readme.as_bytes()),
        ("bitacora_verify.py", VERIFIER.as_bytes()),
        ("signing-keys.note", source.signing_keys.as_bytes()),
        ("heads/proofs.note", head.note.as_bytes()),
    ];
    if let Some(last) = &last {
        members.push(("heads/last.note", last.note.as_bytes()));
    }
    members.extend([("events.ndjson", events), ("proofs.ndjson", proofs)]);
    let bytes: usize = members.iter().map(|(_, bytes)| bytes.len()).sum();
    if bytes > MAX_BUNDLE_BYTES {
        let detail =
            format!("the bundle would have {bytes} bytes; choose a shorter range, a session or a run");
        return Err(Problem::new(Code::BadQuery, detail));
    }
    let listed = members.iter().map(|(name, bytes)| Member {
        name,
        bytes: bytes.len().to_string(),
        sha256: digest(bytes),
    });
    manifest.members = listed.collect();
    let manifest = json_of(&manifest)?;
    members.insert(1, ("manifest.json", &manifest));
    archive(&members, source.ledger.head().time.0 / 1_000_000)
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
