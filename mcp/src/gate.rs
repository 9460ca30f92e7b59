//! The gate: asks the ledger about a call, waits for a person, and reports how the call ended.
//!
//! Only an answer that allows is an allow. What happens without any answer depends on the mode: where calls are enforced the call is
//! not handed on; where they are observed it is, and its record is delivered later.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bitacora_api::{ApprovalAnswer, ContentRequest, DecideRequest, OutcomeAnswer, OutcomeRequest, paths};
use bitacora_client::{Decision, Verdict};
use bitacora_connect::{Spool, deliver_before};
use serde_json::value::RawValue;

use crate::call::ToolCall;
use crate::error::ServiceFailure;
use crate::limits::{DECISION_PATIENCE, MAX_HOLD, REPORT_PATIENCE};
use crate::service::Service;
use crate::tool_name::ServerName;

/// The mode in which verdicts are obeyed.
const ENFORCE: &str = "enforce";

/// The settings of a gate.
pub struct GateSettings {
    /// The name under which the server's tools are called.
    pub server: ServerName,
    /// The session that calls belong to.
    pub session: String,
    /// The run that they belong to.
    pub run: Option<String>,
    /// The folder that paths in arguments are relative to.
    pub cwd: Option<String>,
    /// The time for which a call that needs an approval is held.
    pub wait: Duration,
    /// `true` if calls that nobody could decide are handed on, as long as the service has not said that it enforces.
    pub observe: bool,
    /// The spool of what the service could not take.
    pub spool: Option<Spool>,
}

/// The gate of one server.
pub struct Gate {
    pub(crate) service: Service,
    pub(crate) settings: GateSettings,
    /// The mode that the service said last.
    enforces: Mutex<Option<bool>>,
}

/// The ruling about a call.
#[derive(Debug)]
pub(crate) enum Ruling {
    /// The call may begin now.
    Allowed {
        /// The time that it may take.
        timeout: Option<Duration>,
        /// `true` if the service obliges the caller to something that no proxy can see to.
        unmet: bool,
    },
    /// A person is asked.
    Review { approval: Option<String>, reason: String },
    /// The call may not begin.
    Denied { reason: String },
    /// Nobody decided; the call is observed only.
    Undecided,
    /// Nobody decided; the call may not begin.
    Blocked { why: String },
}

/// The state of an approval that was waited for.
#[derive(Debug)]
pub(crate) enum Approval {
    /// Nobody has answered.
    Waits,
    /// A person said yes to the call.
    Given,
    /// A person said yes to other arguments.
    Edited { args: Option<String> },
    /// It gives nothing any more.
    Over { status: String, note: Option<String> },
}

/// The end of a call, for its report.
#[derive(Debug, Default)]
pub(crate) struct CallEnd {
    pub(crate) status: &'static str,
    pub(crate) error: Option<String>,
    pub(crate) duration: Option<Duration>,
    pub(crate) output: Option<ContentRequest>,
}

impl Gate {
    /// Returns the gate of a server.
    #[must_use]
    pub fn new(service: Service, settings: GateSettings) -> Self {
        Self { service, settings, enforces: Mutex::default() }
    }

    /// Returns `true` if the service said that it enforces. Before it said anything, calls are enforced unless they are observed.
    pub(crate) fn enforces(&self) -> bool {
        let said = *self.enforces.lock().unwrap_or_else(PoisonError::into_inner);
        said.unwrap_or(!self.settings.observe)
    }

    /// Asks about a call. An approval that a person gave to the same action before is taken for it.
    pub(crate) async fn decide(&self, id: &str, call: &ToolCall, approval: Option<&str>) -> Ruling {
        self.deliver().await;
        let path = self.service.path(paths::DECIDE, &[]) + "?reuse=true";
        let Some(request) = self.request(id, call, approval) else {
            return Ruling::Blocked { why: "its arguments are no JSON".to_owned() };
        };
        let decided = self.service.post::<Decision>(&path, &request, DECISION_PATIENCE).await;
        match decided {
            Ok(decision) if decision.call == id => self.ruling(decision),
            Ok(_) => self.undecided(&path, &request, &ServiceFailure::Answer),
            Err(failure) => self.undecided(&path, &request, &failure),
        }
    }

    fn request(&self, id: &str, call: &ToolCall, approval: Option<&str>) -> Option<DecideRequest> {
        Some(DecideRequest {
            call: id.to_owned(),
            tool: self.settings.server.tool(&call.name),
            server: None,
            args: Some(RawValue::from_string(call.arguments.clone()).ok()?),
            args_digest: None,
            model: None,
            task_type: None,
            run: self.settings.run.clone(),
            session: Some(self.settings.session.clone()),
            agent: None,
            cwd: self.settings.cwd.clone(),
            idempotency_key: None,
            approval: approval.map(str::to_owned),
            interactive: Some(false),
            deadline_ms: None,
            estimate: None,
            blast_radius: None,
        })
    }

    fn ruling(&self, decision: Decision) -> Ruling {
        let enforces = decision.mode == ENFORCE;
        *self.enforces.lock().unwrap_or_else(PoisonError::into_inner) = Some(enforces);
        let Decision { verdict, reason, approval, obligations, .. } = decision;
        match verdict {
            Verdict::Allow => {
                let obligations = obligations.filter(|_| enforces);
                let unmet = obligations.as_ref().is_some_and(|obliged| obliged.exclude_secret_files);
                let timeout = obligations.and_then(|obliged| obliged.timeout_ms).map(Duration::from_millis);
                Ruling::Allowed { timeout, unmet }
            }
            Verdict::Review => Ruling::Review { approval: approval.map(|approval| approval.id), reason },
            Verdict::Deny | Verdict::Unknown => Ruling::Denied { reason },
        }
    }

    /// Rules about a call that the service said nothing about.
    fn undecided(&self, path: &str, request: &DecideRequest, failure: &ServiceFailure) -> Ruling {
        if self.enforces() {
            return Ruling::Blocked { why: failure.to_string() };
        }
        note(&format!(
            "{failure}; the call is handed on, as calls are only observed{}",
            self.kept(path, request)
        ));
        Ruling::Undecided
    }

    /// Asks for an approval, and waits for an answer at most this long.
    pub(crate) async fn approval(&self, approval: &str, wait: Duration) -> Result<Approval, ServiceFailure> {
        let wait = wait.min(MAX_HOLD);
        let path = self.service.path(paths::APPROVAL, &[approval]);
        let path = if wait.as_secs() == 0 { path } else { format!("{path}?wait={}s", wait.as_secs()) };
        let patience = wait.saturating_add(DECISION_PATIENCE);
        let ApprovalAnswer { status, resolution, .. } = self.service.get(&path, patience).await?;
        let note = resolution.as_ref().and_then(|resolution| resolution.note.clone());
        Ok(match status.as_str() {
            "pending" => Approval::Waits,
            "approved" => Approval::Given,
            "edited" => Approval::Edited {
                args: resolution.and_then(|resolution| resolution.args).map(|args| args.get().to_owned()),
            },
            _ => Approval::Over { status, note },
        })
    }

    /// Reports how a call ended. What the service does not take in time goes into the spool.
    pub(crate) async fn report(&self, id: &str, end: CallEnd) {
        let report = OutcomeRequest {
            call: id.to_owned(),
            status: end.status.to_owned(),
            error_type: end.error,
            exit_code: None,
            duration_ms: end.duration.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            tokens: None,
            cost_usd: None,
            input: None,
            output: end.output,
            artifacts: None,
            post_check_passed: None,
            session: Some(self.settings.session.clone()),
            run: self.settings.run.clone(),
            agent: None,
        };
        let path = self.service.path(paths::OUTCOME, &[]);
        let reported = self.service.post::<OutcomeAnswer>(&path, &report, REPORT_PATIENCE).await;
        if let Err(failure) = reported {
            note(&format!(
                "{failure}; the outcome of call {id} is not recorded yet{}",
                self.kept(&path, &report)
            ));
        }
    }

    /// Spools a body, and says what becomes of it.
    fn kept(&self, path: &str, body: &impl serde::Serialize) -> String {
        let Some(spool) = &self.settings.spool else {
            return "; it is lost, since there is no spool".to_owned();
        };
        let body = serde_json::to_vec(body).unwrap_or_default();
        match spool.keep(path, &body) {
            Ok(()) => "; it is delivered later".to_owned(),
            Err(lost) => format!("; it is lost: {lost}"),
        }
    }

    /// Delivers what was spooled before, as far as a short time reaches.
    async fn deliver(&self) {
        if let Some(spool) = &self.settings.spool {
            deliver_before(spool, &mut self.service.connection(), self.service.place()).await;
        }
    }
}

/// The folder of the spool of proxies, below a user's folders of state.
#[must_use]
pub fn spool_name() -> &'static str {
    "mcp"
}

/// Returns the working folder as events name it.
#[must_use]
pub fn working_folder() -> Option<String> {
    let folder: PathBuf = std::env::current_dir().ok()?;
    folder.to_str().map(str::to_owned)
}

/// Writes a line for people on stderr. Where nobody reads it, there is nobody to tell.
pub(crate) fn note(line: &str) {
    use std::io::Write;
    let shown: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let _unheard = writeln!(std::io::stderr(), "bitacora: {shown}").is_err();
}

/// A time that ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(time: Duration) -> Self {
        let now = Instant::now();
        Self(now.checked_add(time).unwrap_or(now))
    }

    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}
