//! Evidence as JSON: one object, its members in one order.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use zeroize::Zeroizing;

use super::{Evidence, EvidenceContent, EvidenceError, RevealedPart};
use crate::ids::{After, Micros, Secret, TreeHash};
use crate::limits::{MAX_EVIDENCE_BYTES, MAX_PART_BYTES, MAX_RECORD_BYTES};
use crate::proof::MAX_INCLUSION_HASHES;

/// The format that is written, and the one that can be read.
pub const EVIDENCE_FORMAT: &str = "bitacora-evidence v1";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[serde(expecting = "struct Text")]
struct EvidenceText<'a> {
    #[serde(borrow)]
    format: Cow<'a, str>,
    #[serde(borrow)]
    position: Cow<'a, str>,
    #[serde(borrow)]
    time: Cow<'a, str>,
    #[serde(borrow)]
    commitment: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    blind: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    record: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    part_blind: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    part: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "few_hashes")]
    proof: Vec<String>,
    #[serde(borrow)]
    tree_head: Cow<'a, str>,
    #[serde(borrow)]
    signing_keys: Cow<'a, str>,
}

impl Evidence {
    /// The evidence as JSON, ending in a newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        let content = self.content.as_ref();
        let part = content.and_then(|content| content.part.as_ref());
        let hexadecimal = |secret: &Secret| hex::encode(secret.expose()).into();
        let text = EvidenceText {
            format: EVIDENCE_FORMAT.into(),
            position: self.position.to_string().into(),
            time: self.time.0.to_string().into(),
            commitment: self.commitment.to_string().into(),
            blind: content.map(|content| hexadecimal(&content.blind)),
            record: content.map(|content| BASE64.encode(&content.record).into()),
            part_blind: part.map(|part| hexadecimal(&part.blind)),
            part: part.map(|part| BASE64.encode(&*part.part).into()),
            proof: self.proof.iter().map(|hash| BASE64.encode(hash.0)).collect(),
            tree_head: self.tree_head.as_str().into(),
            signing_keys: self.signing_keys.as_str().into(),
        };
        // Texts alone: nothing in it cannot be written.
        let mut json = serde_json::to_string_pretty(&text).unwrap_or_default();
        json.push('\n');
        json
    }
}

pub(super) fn parse(json: &[u8]) -> Result<Evidence, EvidenceError> {
    if json.len() > MAX_EVIDENCE_BYTES {
        return Err(EvidenceError::TooLong { bytes: json.len() });
    }
    let text: EvidenceText<'_> = serde_json::from_slice(json)
        .map_err(|error| EvidenceError::Form { what: error.to_string().escape_debug().to_string() })?;
    if text.format != EVIDENCE_FORMAT {
        return Err(EvidenceError::Format);
    }
    Ok(Evidence {
        position: parse_decimal(&text.position).ok_or(member("position", "a decimal number from 1 on"))?,
        time: parse_time(&text.time)?,
        commitment: text.commitment.parse().map_err(|_| member("commitment", HEXADECIMAL))?,
        content: parse_content(&text)?,
        proof: text.proof.iter().map(|hash| parse_hash(hash)).collect::<Result<_, _>>()?,
        tree_head: text.tree_head.into_owned(),
        signing_keys: text.signing_keys.into_owned(),
    })
}

const HEXADECIMAL: &str = "64 lower-case hexadecimal digits";

fn member(member: &'static str, form: &'static str) -> EvidenceError {
    EvidenceError::Member { member, form }
}

/// A number in the one text that it has: without zeros before it.
fn parse_decimal<N: FromStr + ToString>(text: &str) -> Option<N> {
    text.parse().ok().filter(|number: &N| number.to_string() == text)
}

fn parse_time(text: &str) -> Result<Micros, EvidenceError> {
    let time: After = parse_decimal(text).ok_or(member("time", "a decimal number of microseconds"))?;
    Ok(Micros(time.get()))
}

fn parse_content(text: &EvidenceText<'_>) -> Result<Option<EvidenceContent>, EvidenceError> {
    let part = match (&text.part_blind, &text.part) {
        (None, None) => None,
        (Some(blind), Some(part)) => Some(RevealedPart {
            blind: parse_secret("partBlind", blind)?,
            part: Zeroizing::new(parse_bytes("part", part, MAX_PART_BYTES)?),
        }),
        _ => return Err(member("part", "there with 'partBlind', or neither of them")),
    };
    match (&text.blind, &text.record) {
        (None, None) if part.is_none() => Ok(None),
        (Some(blind), Some(record)) => Ok(Some(EvidenceContent {
            blind: parse_secret("blind", blind)?,
            record: parse_bytes("record", record, MAX_RECORD_BYTES)?,
            part,
        })),
        _ => Err(member("record", "there with 'blind' if any of the content is, or none of it")),
    }
}

fn parse_secret(name: &'static str, text: &str) -> Result<Secret, EvidenceError> {
    // The same form as a hash, whose text is taken strictly.
    let bytes: TreeHash = text.parse().map_err(|_| member(name, HEXADECIMAL))?;
    let mut bytes = bytes.0;
    Ok(Secret::take(&mut bytes))
}

fn parse_bytes(name: &'static str, text: &str, max_bytes: usize) -> Result<Vec<u8>, EvidenceError> {
    let bytes = BASE64.decode(text).ok().filter(|bytes| bytes.len() <= max_bytes);
    bytes.ok_or(member(name, "base64, of no more bytes than a ledger takes"))
}

fn parse_hash(text: &str) -> Result<TreeHash, EvidenceError> {
    let bytes = BASE64.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.map(TreeHash).ok_or(member("proof", "a list of hashes of 32 bytes in base64"))
}

/// Takes no more texts than a proof can have, each short, so that a hostile list cannot claim more memory.
fn few_hashes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct HashList;
    impl<'de> Visitor<'de> for HashList {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MAX_INCLUSION_HASHES} hashes")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
            let mut hashes = Vec::new();
            while let Some(hash) = list.next_element()? {
                if hashes.len() >= MAX_INCLUSION_HASHES {
                    return Err(serde::de::Error::invalid_length(hashes.len() + 1, &self));
                }
                hashes.push(hash);
            }
            Ok(hashes)
        }
    }
    deserializer.deserialize_seq(HashList)
}
