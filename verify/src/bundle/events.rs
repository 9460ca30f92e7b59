//! The events of a bundle, each beside the line that opens and proves it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bitacora_formats::{
    Commitment, MAX_INCLUSION_HASHES, Micros, Position, Secret, TreeHash, TreeHead, commitment,
    decode_record, leaf_hash, verify_inclusion,
};

use super::error::BundleError;
use super::event_line;
use super::json_object::JsonObject;
use super::manifest::BundleManifest;
use super::members::{BundleMembers, EVENTS, PROOFS};

/// The members of a line of proofs, in their order.
const PROOF_MEMBERS: [&str; 6] = ["position", "time", "commitment", "blind", "record", "proof"];
/// The members of the line of an event whose content expired: nothing is left that gives its commitment.
const EXPIRED_MEMBERS: [&str; 4] = ["position", "time", "commitment", "proof"];

/// A line of proofs: nothing of it is believed yet.
pub(super) struct ProofLine {
    pub(super) position: Position,
    pub(super) time: Micros,
    pub(super) commitment: Commitment,
    /// `None` if the content expired.
    pub(super) opening: Option<RecordOpening>,
    proof: Vec<TreeHash>,
}

/// The record of an event, with the blind of its commitment.
pub(super) struct RecordOpening {
    blind: Secret,
    pub(super) record: Vec<u8>,
}

/// The content of an event, as far as it is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProvenContent {
    /// All of it.
    Whole,
    /// All but the data, which is sealed under a data subject's key.
    Sealed,
    /// None of it: it is said to be expired.
    Expired,
}

/// The counts of events whose content is not proven, or not all of it.
#[derive(Debug, Default)]
pub(super) struct ContentCounts {
    pub(super) sealed: u64,
    pub(super) expired: u64,
}

impl ContentCounts {
    fn add(&mut self, content: ProvenContent) {
        self.sealed += u64::from(content == ProvenContent::Sealed);
        self.expired += u64::from(content == ProvenContent::Expired);
    }
}

/// Checks every event. Returns the counts of those whose content is not proven, or not all of it.
pub(super) fn check_events(
    members: &BundleMembers<'_>,
    manifest: &BundleManifest,
    head: &TreeHead,
) -> Result<ContentCounts, BundleError> {
    let (events, proofs) = (lines(members, EVENTS)?, lines(members, PROOFS)?);
    for (member, count) in [(EVENTS, events.len()), (PROOFS, proofs.len())] {
        if count as u64 != manifest.events || count == 0 {
            let what = format!(
                "found {count} lines, expected {} by the manifest, and one at least",
                manifest.events
            );
            return Err(BundleError::Form { member, what });
        }
    }
    let (mut first, mut before, mut counts) = (None, manifest.after, ContentCounts::default());
    for (event, proof) in events.into_iter().zip(proofs) {
        let proof = ProofLine::read(proof).map_err(|what| BundleError::Form {
            member: PROOFS,
            what: format!("the line after position {before}: {what}"),
        })?;
        proof.check(head)?;
        counts.add(event_line::check(event, &proof, manifest)?);
        before = next_place(proof.position.get(), before, manifest)?;
        first = first.or(Some(before));
    }
    let span = (first.unwrap_or_default(), before);
    if span != (manifest.first, manifest.last) {
        return Err(place(
            format!("{} to {}", span.0, span.1),
            format!("{} to {}", manifest.first, manifest.last),
        ));
    }
    if manifest.is_of_a_range() && before != manifest.until {
        return Err(place(format!("{before} as the last one"), manifest.until.to_string()));
    }
    Ok(counts)
}

/// Returns the lines of a member, which ends in a line feed.
fn lines<'a>(members: &BundleMembers<'a>, member: &'static str) -> Result<Vec<&'a str>, BundleError> {
    let text = members.text(member)?;
    match text.strip_suffix('\n') {
        Some(text) => Ok(text.split('\n').collect()),
        None if text.is_empty() => Ok(Vec::new()),
        None => Err(BundleError::Form { member, what: "found a last line without its line feed".to_owned() }),
    }
}

fn place(found: String, expected: String) -> BundleError {
    BundleError::Place { found, expected }
}

/// Returns the position, if it may follow the one before.
fn next_place(found: u64, before: u64, manifest: &BundleManifest) -> Result<u64, BundleError> {
    if found <= before || found > manifest.until {
        return Err(place(found.to_string(), format!("one past {before}, up to {}", manifest.until)));
    }
    // With times alone, events before the first are those of another time.
    let has_gap = found != before + 1 && !manifest.is_of_a_session();
    if has_gap && (manifest.is_of_a_range() || before != manifest.after) {
        return Err(place(found.to_string(), format!("{}, which is missing", before + 1)));
    }
    Ok(found)
}

impl ProofLine {
    fn read(line: &str) -> Result<Self, String> {
        let object = JsonObject::read(line)?;
        let is_expired = object.names().eq(EXPIRED_MEMBERS);
        if !is_expired && !object.names().eq(PROOF_MEMBERS) {
            return Err(format!("found other members, expected {} in this order", PROOF_MEMBERS.join(", ")));
        }
        let digits = |name: &str| {
            let text = object.text(name)?;
            let hash: TreeHash = text
                .parse()
                .map_err(|_| format!("found {text:?} in {name}, expected 64 hexadecimal digits"))?;
            Ok::<_, String>(hash.0)
        };
        let base64 =
            |name: &str, text: &str| BASE64.decode(text).map_err(|_| format!("found no base64 in {name}"));
        let hashes: Vec<String> = object.value("proof", "list of texts")?;
        if hashes.len() > MAX_INCLUSION_HASHES {
            return Err(format!("found {} hashes, expected at most {MAX_INCLUSION_HASHES}", hashes.len()));
        }
        let hash = |text: &String| {
            let bytes = base64("proof", text)?.try_into();
            bytes.map(TreeHash).map_err(|_| "found a hash in proof that has not 32 bytes".to_owned())
        };
        let opening = if is_expired {
            None
        } else {
            let blind = Secret::take(&mut digits("blind")?);
            Some(RecordOpening { blind, record: base64("record", &object.text("record")?)? })
        };
        Ok(Self {
            position: Position::new(object.decimal("position")?).ok_or("found position 0")?,
            time: Micros(object.decimal("time")?),
            commitment: Commitment(digits("commitment")?),
            opening,
            proof: hashes.iter().map(hash).collect::<Result<_, _>>()?,
        })
    }

    /// Checks that the tree holds the leaf, and that blind and record give its commitment where the content is not expired.
    fn check(&self, head: &TreeHead) -> Result<(), BundleError> {
        let (position, expected) = (self.position, self.commitment);
        let leaf = leaf_hash(position, self.time, &expected);
        verify_inclusion(&leaf, position.get() - 1, head.size, &self.proof, &head.root)
            .map_err(|source| BundleError::Proof { position, source })?;
        let Some(RecordOpening { blind, record }) = &self.opening else { return Ok(()) };
        let found = commitment(blind, record);
        if found != expected {
            return Err(BundleError::Commitment { position, found, expected });
        }
        decode_record(record).map(drop).map_err(|source| BundleError::Record { position, source })
    }
}
