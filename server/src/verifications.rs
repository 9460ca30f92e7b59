//! Verifications of ledgers' files while they are served: one at a time in each ledger, at a pace that leaves appends alone.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bitacora_api::{VerificationAnswer, VerificationResult};
use bitacora_formats::{LedgerName, Micros, VerifierKey, format_time};
use bitacora_projector::IndexedLedger;
use bitacora_verify::{KnownHead, Progress, Report, Verdict, VerifyOptions, parse_known_head, verify_ledger};
use tokio::sync::watch;

use crate::api::Api;
use crate::http::phase::Phase;
use crate::limits::{MAX_VERIFICATIONS, VERIFICATION_BYTES_PER_S, VERIFICATION_PAUSE};
use crate::problem::{Code, Problem};

/// The name of the thread of a verification.
const THREAD: &str = "bitacora-verify";
/// The name of the tree head that the service remembers, in reports.
const OWN_HEAD: &str = "the service's last tree head";
/// The most gaps that an answer lists.
const MAX_GAPS: usize = 100;

/// The last verifications of each ledger.
#[derive(Default)]
pub(crate) struct Verifications(Mutex<BTreeMap<LedgerName, VecDeque<Arc<Verification>>>>);

/// A verification, under way or ended.
struct Verification {
    id: u64,
    by: String,
    started: Micros,
    began: Instant,
    bytes: AtomicU64,
    bytes_checked: AtomicU64,
    end: Mutex<Option<(Micros, Option<VerificationResult>)>>,
    phase: watch::Receiver<Phase>,
}

impl Verifications {
    /// Returns the last ones of a ledger, the newest first.
    pub(crate) fn list(&self, ledger: &LedgerName) -> Vec<VerificationAnswer> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(ledger).into_iter().flatten().rev().map(|one| one.answer()).collect()
    }

    /// Starts one, on a thread of its own that ends with the process.
    pub(crate) fn start(
        &self,
        api: &Arc<Api>,
        name: &LedgerName,
        ledger: &IndexedLedger,
        by: &str,
    ) -> Result<VerificationAnswer, Problem> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry(name.clone()).or_default();
        if let Some(last) = known.back() {
            last.check_may_follow()?;
        }
        let this = Arc::new(Verification {
            id: known.back().map_or(1, |last| last.id + 1),
            by: by.to_owned(),
            started: api.ledgers.now(),
            began: Instant::now(),
            bytes: AtomicU64::new(0),
            bytes_checked: AtomicU64::new(0),
            end: Mutex::new(None),
            phase: api.phase(),
        });
        let inputs = Inputs {
            folder: api.ledgers.place(name).0,
            archives: api.ledgers.archives_folder(),
            name: name.clone(),
            keys: ledger.verifier_key().into_iter().collect(),
            heads: ledger
                .tree_head()
                .and_then(|head| parse_known_head(OWN_HEAD.to_owned(), &head.note).ok())
                .into_iter()
                .collect(),
        };
        let (run, service) = (Arc::clone(&this), Arc::clone(api));
        let spawned = thread::Builder::new().name(THREAD.to_owned()).spawn(move || {
            let _end = EndGuard(&run, &service);
            let result = inputs.verify(&run);
            run.end(service.ledgers.now(), Some(result));
        });
        if let Err(error) = spawned {
            return Err(Problem::new(Code::Overloaded, format!("no thread for a verification: {error}")));
        }
        if known.len() >= MAX_VERIFICATIONS {
            known.pop_front();
        }
        known.push_back(Arc::clone(&this));
        Ok(this.answer())
    }
}

/// Notes the end of a verification that panicked: it is not shown as running for ever.
struct EndGuard<'a>(&'a Verification, &'a Api);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.end(self.1.ledgers.now(), None);
    }
}

/// The files to verify, and the key and head that the service has from elsewhere.
struct Inputs {
    folder: PathBuf,
    archives: Option<PathBuf>,
    name: LedgerName,
    keys: Vec<VerifierKey>,
    heads: Vec<KnownHead>,
}

impl Inputs {
    fn verify(&self, progress: &Verification) -> VerificationResult {
        let options = VerifyOptions {
            name: Some(self.name.as_str()),
            trusted: &self.keys,
            known_heads: &self.heads,
            archives: self.archives.as_deref(),
            threads: NonZero::new(1),
            progress: Some(progress),
            ..VerifyOptions::default()
        };
        result(&verify_ledger(&self.folder, &options))
    }
}

fn result(report: &Report) -> VerificationResult {
    let verdict = report.verdict();
    let word = match verdict {
        Verdict::Confirmed => "verified",
        Verdict::Alone => "alone",
        Verdict::Incomplete => "incomplete",
        Verdict::Diverged => "another",
        Verdict::Invalid => "invalid",
    };
    let divergences = report.assurance.divergences.iter().map(ToString::to_string);
    let gaps = report.gaps.iter().map(ToString::to_string);
    VerificationResult {
        verdict: word.to_owned(),
        exit_code: verdict.exit_code(),
        position: report.head.as_ref().map(|head| head.position.to_string()),
        events: report.events,
        frames: report.frames,
        segments: report.segments_passed,
        signatures: report.signatures,
        leaves: report.leaves.as_ref().map_or(0, |leaves| leaves.events),
        heads: report.heads.map_or(0, |heads| heads.heads),
        fault: report.fault.as_ref().map(ToString::to_string),
        gaps: divergences.chain(gaps).take(MAX_GAPS).collect(),
    }
}

impl Verification {
    fn check_may_follow(&self) -> Result<(), Problem> {
        let is_running = self.end.lock().unwrap_or_else(PoisonError::into_inner).is_none();
        if is_running {
            let detail = "a verification of this ledger is under way; `…/verifications` shows its progress";
            return Err(Problem::new(Code::Overloaded, detail).with_retry_after(5));
        }
        if self.began.elapsed() < VERIFICATION_PAUSE {
            let detail = "the last verification of this ledger began a moment ago; look at its result";
            let pause = VERIFICATION_PAUSE.saturating_sub(self.began.elapsed()).as_secs() + 1;
            let pause = u32::try_from(pause).unwrap_or(u32::MAX);
            return Err(Problem::new(Code::Overloaded, detail).with_retry_after(pause));
        }
        Ok(())
    }

    fn end(&self, time: Micros, result: Option<VerificationResult>) {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.get_or_insert((time, result));
    }

    fn answer(&self) -> VerificationAnswer {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let state = match &end {
            None => "running",
            Some((_, Some(_))) => "ended",
            Some((_, None)) => "failed",
        };
        let bytes = self.bytes.load(Ordering::Relaxed);
        VerificationAnswer {
            verification: format!("v{}", self.id),
            state: state.to_owned(),
            by: self.by.clone(),
            started: format_time(self.started),
            ended: end.as_ref().map(|(time, _)| format_time(*time)),
            bytes,
            bytes_checked: self.bytes_checked.load(Ordering::Relaxed).min(bytes),
            result: end.and_then(|(_, result)| result),
        }
    }
}

impl Progress for Verification {
    fn expect(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Rests where the check is ahead of its pace; not once the service ends.
    fn advance(&self, bytes: u64) {
        let checked = self.bytes_checked.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let due = Duration::from_millis(checked.saturating_mul(1000) / VERIFICATION_BYTES_PER_S);
        let ahead = due.saturating_sub(self.began.elapsed());
        if !ahead.is_zero() && *self.phase.borrow() == Phase::Serving {
            thread::sleep(ahead);
        }
    }
}
