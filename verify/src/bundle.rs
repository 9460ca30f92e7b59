//! The offline check of an evidence bundle: many events in one file.
//!
//! Layout: `docs/formats/bundle.md`. The second verifier (`tests/second`) gives the same verdict on every file.

mod error;
mod event_line;
mod events;
mod json_object;
mod manifest;
mod members;

use std::path::Path;

use bitacora_formats::{
    KeyProblem, LedgerOrigin, SignedTreeHead, SigningChain, UnverifiedTreeHead, VerifierKey, WitnessPolicy,
    parse_signing_chain, printable,
};
use serde_json::{Value, json};

pub use self::error::BundleError;
use self::events::{ContentCounts, check_events};
use self::manifest::BundleManifest;
use self::members::{BundleMembers, LAST_HEAD, PROOFS_HEAD, SIGNING_KEYS};
use super::head_standing::HeadStanding;
use super::input_file;
use super::inputs::InputError;
use super::output::{CheckResult, cosignature_json, time};
use super::report::Verdict;

/// The most bytes of a bundle that are taken.
pub const MAX_BUNDLE_BYTES: usize = 256 * 1024 * 1024;

/// The result of checking a bundle.
pub struct BundleCheck(Result<BundleFacts, BundleError>);

/// The proven facts.
struct BundleFacts {
    manifest: BundleManifest,
    head: SignedTreeHead,
    standing: HeadStanding,
    /// The events whose content is not proven, or not all of it.
    counts: ContentCounts,
}

/// Reads and verifies a bundle. Nothing is unpacked to the disk, and no network is used.
///
/// # Errors
/// [`InputError::File`] if it cannot be read.
pub fn check_bundle(
    path: &Path,
    trusted: &[VerifierKey],
    policy: Option<&WitnessPolicy>,
) -> Result<BundleCheck, InputError> {
    let failed = |source| InputError::File { path: path.display().to_string(), source };
    let bytes = input_file::read(path, MAX_BUNDLE_BYTES).map_err(failed)?;
    if bytes.len() > MAX_BUNDLE_BYTES {
        return Ok(BundleCheck(Err(BundleError::TooLong)));
    }
    Ok(BundleCheck(BundleFacts::check(&bytes, trusted, policy)))
}

impl BundleFacts {
    fn check(
        bytes: &[u8],
        trusted: &[VerifierKey],
        policy: Option<&WitnessPolicy>,
    ) -> Result<Self, BundleError> {
        let members = BundleMembers::read(bytes)?;
        let manifest = BundleManifest::read(&members)?;
        let chain = parse_signing_chain(members.text(SIGNING_KEYS)?)?;
        let head = read_head(&members, PROOFS_HEAD, &chain)?;
        let mut standing = standing(trusted, policy, &chain, &head)?;
        if let Some(policy) = policy {
            standing.check_witnesses(&head, policy)?;
        }
        let origin = &head.head().origin;
        same("ledger of the manifest", &manifest.ledger, &origin.name.to_string())?;
        same("size of the tree head", &head.head().size, &manifest.tree_size)?;
        if members.get(LAST_HEAD).is_some() {
            let last = read_head(&members, LAST_HEAD, &chain)?;
            same("origin of the last tree head", &last.head().origin, origin)?;
            if last.head().size <= head.head().size {
                let what =
                    format!("found a size of {}, expected one past {}", last.head().size, head.head().size);
                return Err(BundleError::Form { member: LAST_HEAD, what });
            }
        }
        let counts = check_events(&members, &manifest, head.head())?;
        Ok(Self { manifest, head, standing, counts })
    }

    /// Returns the sentence on what is complete.
    fn completeness(&self) -> &'static str {
        if self.manifest.is_of_a_session() {
            "chosen by session or run: each event is proven, not that there are no others"
        } else if self.manifest.is_of_a_range() {
            "no position of the range is missing"
        } else {
            "no position between the first and the last is missing"
        }
    }

    fn to_json(&self) -> Value {
        let (manifest, head) = (&self.manifest, self.head.head());
        json!({
            "origin": head.origin.to_string(),
            "events": manifest.events.to_string(),
            "first": manifest.first.to_string(),
            "last": manifest.last.to_string(),
            "completeness": self.completeness(),
            "sealed": self.counts.sealed.to_string(),
            "expired": self.counts.expired.to_string(),
            "treeHead": { "size": head.size.to_string(), "root": head.root.to_string(), "note": self.head.note().to_string() },
            "trusted": self.standing.trusted,
            "endorsed": self.standing.endorsed,
            "witnessed": self.standing.is_witnessed(),
            "cosignatures": self.standing.cosignatures().iter().map(cosignature_json).collect::<Vec<_>>(),
        })
    }
}

fn read_head(
    members: &BundleMembers<'_>,
    member: &'static str,
    chain: &SigningChain,
) -> Result<SignedTreeHead, BundleError> {
    let head = UnverifiedTreeHead::parse(members.text(member)?);
    head.and_then(|head| head.verify_with_chain(chain))
        .map_err(|source| BundleError::TreeHead { member, source })
}

/// Returns the standing by the known keys, and by those of a policy's logs that have the name of this ledger.
fn standing(
    trusted: &[VerifierKey],
    policy: Option<&WitnessPolicy>,
    chain: &SigningChain,
    head: &SignedTreeHead,
) -> Result<HeadStanding, BundleError> {
    let refused = |(key, problem)| BundleError::Key { key, problem };
    let origin = &head.head().origin;
    let is_own =
        |log: &VerifierKey| log.name().parse::<LedgerOrigin>().is_ok_and(|log| origin.is_same_ledger(&log));
    let logs = policy.iter().flat_map(|policy| policy.logs()).map(|log| log.key.clone());
    let keys: Vec<VerifierKey> = trusted.iter().cloned().chain(logs.filter(is_own)).collect();
    let places = origin.places_of(&keys, chain).map_err(refused)?;
    let signed_by = head.signing_key(chain).unwrap_or_default();
    match (places.first(), keys.last()) {
        // Keys that all came later vouch for nothing before them.
        (Some(first), Some(key)) if *first > signed_by => Err(refused((key.to_string(), KeyProblem::Later))),
        (first, _) => Ok(HeadStanding::by_keys(places.contains(&signed_by), first.is_some())),
    }
}

fn same<T: PartialEq + ToString>(what: &'static str, found: &T, expected: &T) -> Result<(), BundleError> {
    if found == expected {
        return Ok(());
    }
    Err(BundleError::Differs { what, found: found.to_string(), expected: expected.to_string() })
}

impl BundleCheck {
    /// Returns the error because of which the bundle proves nothing.
    #[must_use]
    pub fn error(&self) -> Option<&BundleError> {
        self.0.as_ref().err()
    }

    fn verdict_text(&self) -> &'static str {
        match self.verdict() {
            Verdict::Confirmed => "proven, by a key that you know",
            Verdict::Incomplete => "incomplete",
            Verdict::Invalid => "invalid",
            _ => "proven, by keys that came with it",
        }
    }

    fn why(&self) -> Option<String> {
        match &self.0 {
            Ok(facts) if facts.standing.lacks_witnesses() => {
                Some("too few of the witnesses that you named cosigned its tree head".to_owned())
            }
            Ok(_) => None,
            Err(error) => Some(printable(&error.to_string())),
        }
    }
}

impl CheckResult for BundleCheck {
    fn verdict(&self) -> Verdict {
        match &self.0 {
            Ok(facts) if facts.standing.lacks_witnesses() => Verdict::Incomplete,
            Ok(facts) if facts.standing.trusted => Verdict::Confirmed,
            Ok(_) => Verdict::Alone,
            Err(_) => Verdict::Invalid,
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |label: &str, text: String| lines.push(format!("{label:<11} {text}"));
        if let Some(why) = self.why() {
            line("fault", why);
        }
        if let Ok(facts) = &self.0 {
            let (manifest, head) = (&facts.manifest, facts.head.head());
            line("ledger", head.origin.to_string());
            line("events", format!("{}, positions {} to {}", manifest.events, manifest.first, manifest.last));
            line("", facts.completeness().to_owned());
            let ContentCounts { sealed, expired } = facts.counts;
            if sealed > 0 {
                line("", format!("{sealed} of data subjects: their data is sealed, and not proven by this"));
            }
            if expired > 0 {
                line("", format!("{expired} said to be expired: their time and commitment are proven alone"));
            }
            line("tree head", format!("size {}, root {}", head.size, head.root));
            line(
                "integrity",
                "holds: each event is the one committed to, and the tree head covers it".to_owned(),
            );
            line("assurance", facts.standing.assurance().to_owned());
            for cosignature in facts.standing.cosignatures() {
                line(
                    "",
                    format!("{} cosigned the tree head at {}", cosignature.key.name(), time(cosignature)),
                );
            }
            line("not proven", facts.standing.not_proven().to_owned());
        }
        line("verdict", format!("{} (exit code {})", self.verdict_text(), self.verdict().exit_code()));
        lines
    }

    fn to_json(&self) -> Value {
        json!({
            "verdict": self.verdict_text(),
            "exitCode": self.verdict().exit_code(),
            "fault": self.why(),
            "proven": self.0.as_ref().map_or(Value::Null, BundleFacts::to_json),
        })
    }
}
