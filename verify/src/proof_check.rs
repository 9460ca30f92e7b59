//! The offline check of the proof of one event.

use std::path::Path;

use bitacora_formats::limits::MAX_EVIDENCE_BYTES;
use bitacora_formats::{
    Commitment, EvidenceError, LedgerOrigin, Micros, NoteError, Position, ProvenEvent, ReceiptError,
    SignedTreeHead, TreeHeadError, UnverifiedEvidence, UnverifiedReceipt, UnverifiedTreeHead, VerifierKey,
    WitnessPolicy, format_time, printable, write_event_line,
};
use serde_json::{Value, json};

use super::head_standing::HeadStanding;
use super::input_file;
use super::inputs::InputError;
use super::output::{CheckResult, cosignature_json, time};
use super::report::Verdict;

/// The beginning of a receipt; evidence is JSON.
const RECEIPT: &[u8] = b"c2sp.org/";

/// The result of checking a proof.
pub struct ProofCheck(Outcome);

/// The outcome of the check.
enum Outcome {
    Holds(Box<Facts>),
    /// It proves nothing; holds the reason.
    Refused(String),
    /// It may hold for a verifier who knows a key.
    NoKey,
    /// It may hold for a verifier who knows another key of its ledger.
    OtherKey,
}

/// The proven facts.
struct Facts {
    position: Position,
    time: Micros,
    commitment: Commitment,
    head: SignedTreeHead,
    standing: HeadStanding,
    sealed: bool,
    /// The event as one line of JSON, checked when it was read.
    event: Option<String>,
}

/// Reads and verifies a proof: evidence, or a receipt.
///
/// # Errors
/// [`InputError::File`] if it cannot be read.
pub fn check_proof(
    path: &Path,
    trusted: &[VerifierKey],
    policy: Option<&WitnessPolicy>,
) -> Result<ProofCheck, InputError> {
    let failed = |source| InputError::File { path: path.display().to_string(), source };
    let bytes = input_file::read(path, MAX_EVIDENCE_BYTES).map_err(failed)?;
    let logs: Vec<VerifierKey> =
        policy.iter().flat_map(|policy| policy.logs()).map(|log| log.key.clone()).collect();
    let proven = if bytes.starts_with(RECEIPT) {
        receipt(&bytes, &[trusted, &logs].concat())
    } else {
        evidence(&bytes, trusted, &logs)
    };
    Ok(ProofCheck(match policy {
        Some(policy) => proven.witnessed(policy),
        None => proven,
    }))
}

/// Verifies evidence with the known keys, and with those of a policy's logs that have the name of its ledger.
fn verify(bytes: &[u8], trusted: &[VerifierKey], logs: &[VerifierKey]) -> Result<ProvenEvent, EvidenceError> {
    let proven = UnverifiedEvidence::parse(bytes)?.verify(trusted)?;
    let origin = &proven.head().head().origin;
    let is_own =
        |log: &&VerifierKey| log.name().parse::<LedgerOrigin>().is_ok_and(|log| origin.is_same_ledger(&log));
    let own: Vec<VerifierKey> = logs.iter().filter(is_own).cloned().collect();
    if own.is_empty() {
        return Ok(proven);
    }
    UnverifiedEvidence::parse(bytes)?.verify(&[trusted, &own].concat())
}

fn evidence(bytes: &[u8], trusted: &[VerifierKey], logs: &[VerifierKey]) -> Outcome {
    let proven = match verify(bytes, trusted, logs) {
        Ok(proven) => proven,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let event = proven.event().map(|event| {
        let mut line = Vec::new();
        write_event_line(&event, &mut line);
        String::from_utf8_lossy(&line).trim_end().to_owned()
    });
    Outcome::Holds(Box::new(Facts {
        position: proven.evidence().position,
        time: proven.evidence().time,
        commitment: proven.evidence().commitment,
        head: proven.head().clone(),
        standing: HeadStanding::by_keys(proven.is_trusted(), proven.is_endorsed()),
        sealed: proven.is_sealed(),
        event,
    }))
}

/// Verifies a receipt, which brings no keys of its own. Without a match between the proof and the root of its head, it
/// holds for nobody, whatever keys are known.
fn receipt(bytes: &[u8], trusted: &[VerifierKey]) -> Outcome {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Outcome::Refused("not a receipt: utf-8 expected; obtain it again".to_owned());
    };
    let fits = UnverifiedReceipt::parse(text).and_then(|receipt| receipt.check_proof().map(|()| receipt));
    let unverified = match fits {
        Ok(unverified) => unverified,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    if trusted.is_empty() {
        return Outcome::NoKey;
    }
    match unverified.verify(trusted) {
        Ok((receipt, head)) => Outcome::Holds(Box::new(Facts {
            position: receipt.position,
            time: receipt.leaf.time,
            commitment: receipt.leaf.commitment,
            head,
            standing: HeadStanding::by_keys(true, true),
            sealed: false,
            event: None,
        })),
        // A receipt names the ledger and no key: who knows one of that ledger may lack the one that signed.
        Err(ReceiptError::TreeHead(TreeHeadError::Note(NoteError::NoKnownSignature)))
            if is_of_ledger_of(text, trusted) =>
        {
            Outcome::OtherKey
        }
        Err(error) => Outcome::Refused(error.to_string()),
    }
}

/// Returns `true` if the receipt's head names the same ledger as one of the keys.
fn is_of_ledger_of(receipt: &str, trusted: &[VerifierKey]) -> bool {
    let note = receipt.split_once("\n\n").map(|(_, note)| note);
    let Some(head) = note.and_then(|note| UnverifiedTreeHead::parse(note).ok()) else { return false };
    let named = trusted.iter().filter_map(|key| key.name().parse::<LedgerOrigin>().ok());
    named.into_iter().any(|named| head.origin().is_same_ledger(&named))
}

impl Outcome {
    /// Checks the cosignatures of the head.
    fn witnessed(self, policy: &WitnessPolicy) -> Self {
        let Self::Holds(mut facts) = self else { return self };
        match facts.standing.check_witnesses(&facts.head, policy) {
            Ok(()) => Self::Holds(facts),
            Err(error) => Self::Refused(error.to_string()),
        }
    }

    fn verdict_text(&self) -> &'static str {
        match self {
            Self::Holds(facts) if facts.standing.lacks_witnesses() => "incomplete",
            Self::Holds(facts) if facts.standing.trusted => "proven, by a key that you know",
            Self::Holds(_) => "proven, by keys that came with it",
            Self::Refused(_) => "invalid",
            Self::NoKey | Self::OtherKey => "incomplete",
        }
    }

    fn why(&self) -> Option<String> {
        match self {
            Self::Holds(facts) if facts.standing.lacks_witnesses() => {
                Some("too few of the witnesses that you named cosigned its tree head".to_owned())
            }
            Self::Holds(_) => None,
            Self::Refused(why) => Some(printable(why)),
            Self::NoKey => Some("a receipt brings no keys: name one that you know with --vkey".to_owned()),
            Self::OtherKey => Some("none of your keys signed its tree head, which is said to be of their ledger: signing keys and generations change, and a receipt brings none; bring the key of this generation that signed it, or evidence, which brings them all".to_owned()),
        }
    }
}

impl CheckResult for ProofCheck {
    fn verdict(&self) -> Verdict {
        match &self.0 {
            Outcome::Holds(facts) if facts.standing.lacks_witnesses() => Verdict::Incomplete,
            Outcome::Holds(facts) if facts.standing.trusted => Verdict::Confirmed,
            Outcome::Holds(_) => Verdict::Alone,
            Outcome::Refused(_) => Verdict::Invalid,
            Outcome::NoKey | Outcome::OtherKey => Verdict::Incomplete,
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |label: &str, text: String| lines.push(format!("{label:<11} {text}"));
        if let Some(why) = self.0.why() {
            line("fault", why);
        }
        if let Outcome::Holds(facts) = &self.0 {
            let head = facts.head.head();
            line("ledger", head.origin.to_string());
            line("position", facts.position.to_string());
            line("time", format_time(facts.time));
            line("commitment", facts.commitment.to_string());
            line("tree head", format!("size {}, root {}", head.size, head.root));
            line("event", facts.event.as_deref().map_or_else(|| "not disclosed".to_owned(), printable));
            if facts.sealed {
                line("", "what it says of its data subject is not disclosed".to_owned());
            }
            line(
                "integrity",
                "holds: this event is the one committed to, and the tree head covers it".to_owned(),
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
        line("verdict", format!("{} (exit code {})", self.0.verdict_text(), self.verdict().exit_code()));
        lines
    }

    fn to_json(&self) -> Value {
        let facts = match &self.0 {
            Outcome::Holds(facts) => facts.to_json(),
            Outcome::Refused(_) | Outcome::NoKey | Outcome::OtherKey => Value::Null,
        };
        json!({
            "verdict": self.0.verdict_text(),
            "exitCode": self.verdict().exit_code(),
            "fault": self.0.why(),
            "proven": facts,
        })
    }
}

impl Facts {
    fn to_json(&self) -> Value {
        let head = self.head.head();
        let event = self.event.as_deref().and_then(|event| serde_json::from_str::<Value>(event).ok());
        json!({
            "origin": head.origin.to_string(),
            "position": self.position.to_string(),
            "time": format_time(self.time),
            "commitment": self.commitment.to_string(),
            "treeHead": { "size": head.size.to_string(), "root": head.root.to_string(), "note": self.head.note().to_string() },
            "trusted": self.standing.trusted,
            "endorsed": self.standing.endorsed,
            "witnessed": self.standing.is_witnessed(),
            "cosignatures": self.standing.cosignatures().iter().map(cosignature_json).collect::<Vec<_>>(),
            "partDisclosed": !self.sealed,
            "event": event,
            "eventText": self.event,
        })
    }
}
