//! A call from its request to its sending: decided, perhaps held for a person, and let go once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::sleep;

use super::Proxy;
use super::client_side::CANCELLED;
use super::in_flight::RunningCall;
use super::server_side::ended;
use crate::answer::Refusal;
use crate::call::ToolCall;
use crate::definitions::DefinitionStatus;
use crate::frame::{Id, TOOLS_CALL, written};
use crate::gate::{Approval, CallEnd, Deadline, Ruling, note};
use crate::json_text::quoted;
use crate::limits::PROGRESS_PAUSE;

/// The notification about progress.
const PROGRESS: &str = "notifications/progress";
/// The share of progress that one message stands for. It is tiny, so that the server's own numbers are larger.
const PROGRESS_STEP: f64 = 0.000_001;
/// The pause before an approval is asked for again after a failure.
const APPROVAL_PAUSE: Duration = Duration::from_secs(1);

/// A call that may go.
struct Released {
    timeout: Option<Duration>,
}

impl Proxy {
    /// Runs a held call to its sending or its refusal. A cancelled one ends here without an answer.
    pub(super) async fn run_call(self: Arc<Self>, id: Id, call: Arc<ToolCall>, cancelled: Arc<Notify>) {
        let ledger_id = self.new_id();
        let released = tokio::select! {
            biased;
            () = cancelled.notified() => return,
            released = self.released(&ledger_id, &call) => released,
        };
        match released {
            Ok(released) => self.let_go(id, ledger_id, call, released).await,
            Err(refusal) => {
                note(&format!("call {ledger_id} of {} is not handed on: {}", call.name, refusal.code));
                if self.in_flight.end_held(&id) {
                    self.to_client(&refusal.of_call(&ledger_id).answer(&id, Some(&call))).await;
                }
            }
        }
    }

    /// Returns once a call may go.
    async fn released(&self, id: &str, call: &ToolCall) -> Result<Released, Refusal> {
        // Before the decision, since an allowed call has to begin soon.
        let drift = self.drift(call).await;
        match self.gate.decide(id, call, None).await {
            Ruling::Review { approval, reason } => {
                if let Some(drift) = drift {
                    return Err(drift);
                }
                self.approved(id, call, approval, reason).await
            }
            ruling => self.by_ruling(id, ruling, drift).await,
        }
    }

    async fn by_ruling(&self, id: &str, ruling: Ruling, drift: Option<Refusal>) -> Result<Released, Refusal> {
        match ruling {
            Ruling::Allowed { timeout, unmet } => {
                let unmet = unmet.then(|| Refusal::new("unmet", UNMET));
                match drift.filter(|_| self.gate.enforces()).or(unmet) {
                    None => Ok(Released { timeout }),
                    Some(refusal) => {
                        self.report_blocked(id, refusal.code).await;
                        Err(refusal)
                    }
                }
            }
            Ruling::Undecided => Ok(Released { timeout: None }),
            Ruling::Denied { reason } => {
                Err(Refusal::new("denied", format!("Bitacora denied this call: {reason}")))
            }
            Ruling::Review { reason, .. } => {
                Err(Refusal::new("review", format!("A person has to look at this call: {reason}")))
            }
            Ruling::Blocked { why } => {
                let text = format!("Bitacora blocked this call, because nobody could decide about it: {why}");
                Err(Refusal::new("undecided", text))
            }
        }
    }

    /// Holds a call until a person answers, and asks again with the approval.
    async fn approved(
        &self,
        id: &str,
        call: &ToolCall,
        approval: Option<String>,
        reason: String,
    ) -> Result<Released, Refusal> {
        let Some(approval) = approval else {
            return Err(Refusal::new("review", format!("A person has to look at this call: {reason}")));
        };
        let answered = tokio::select! {
            answered = self.answer_to(&approval) => answered,
            () = self.tell_progress(call, &approval) => Approval::Waits,
        };
        match answered {
            Approval::Given => {
                let ruling = self.gate.decide(id, call, Some(&approval)).await;
                self.by_ruling(id, ruling, None).await
            }
            Approval::Waits => {
                let text = format!(
                    "This call waits for a person: {reason}\nApprove it with `bitacora approvals approve {approval}`. Then make the same call again; the approval counts once."
                );
                Err(Refusal::new("review", text).with_approval(&approval))
            }
            Approval::Edited { args } => {
                let args = args.map(|args| format!(": {args}")).unwrap_or_default();
                let text = format!(
                    "A person approved this call with other arguments. Make the call with these{args}"
                );
                Err(Refusal::new("review", text).with_approval(&approval))
            }
            Approval::Over { status, note } => {
                let note = note.map(|note| format!(": {note}")).unwrap_or_default();
                let text = format!("A person was asked about this call, and the answer is `{status}`{note}");
                Err(Refusal::new("rejected", text).with_approval(&approval))
            }
        }
    }

    async fn answer_to(&self, approval: &str) -> Approval {
        let deadline = Deadline::after(self.gate.settings.wait);
        loop {
            let left = deadline.left();
            match self.gate.approval(approval, left).await {
                Ok(Approval::Waits) => {}
                Ok(answered) => return answered,
                Err(failure) => {
                    note(&format!("the approval {approval} cannot be asked for: {failure}"));
                    sleep(APPROVAL_PAUSE.min(left)).await;
                }
            }
            if deadline.left() < Duration::from_secs(1) {
                return Approval::Waits;
            }
        }
    }

    /// Tells a client that asked for it that the call still waits. It never returns.
    async fn tell_progress(&self, call: &ToolCall, approval: &str) {
        let Some(token) = &call.progress_token else { return std::future::pending().await };
        let message = quoted(&format!("waits for a person: bitacora approvals approve {approval}"));
        let mut progress = PROGRESS_STEP;
        loop {
            let params =
                format!("{{\"progressToken\":{token},\"progress\":{progress:.6},\"message\":{message}}}");
            self.to_client(&written(None, PROGRESS, Some(&params))).await;
            progress += PROGRESS_STEP;
            sleep(PROGRESS_PAUSE).await;
        }
    }

    /// Sends an allowed call to the server, unless it was cancelled.
    async fn let_go(self: Arc<Self>, id: Id, ledger_id: String, call: Arc<ToolCall>, released: Released) {
        let running = RunningCall { id: ledger_id.clone(), call: Arc::clone(&call), began: Instant::now() };
        if !self.in_flight.begin(&id, running) {
            return self.report_blocked(&ledger_id, "cancelled").await;
        }
        let text = written(Some(&id), TOOLS_CALL, Some(&call.params));
        self.to_server(&text).await;
        if let Some(timeout) = released.timeout {
            let proxy = Arc::clone(&self);
            // Nothing waits for it at the end of the session.
            tokio::spawn(async move {
                sleep(timeout).await;
                proxy.time_out(&id, &ledger_id, timeout).await;
            });
        }
    }

    /// Ends a call that takes longer than it may.
    async fn time_out(&self, id: &Id, ledger_id: &str, timeout: Duration) {
        let Some(running) = self.in_flight.end_running(id, ledger_id) else { return };
        let params = format!("{{\"requestId\":{id},\"reason\":\"the call took longer than it may\"}}");
        let text = written(None, CANCELLED, Some(&params));
        self.to_server(&text).await;
        self.gate.report(ledger_id, ended(&running, "timeout", None)).await;
        let text = format!("This call took longer than {} ms, which it may take.", timeout.as_millis());
        let refusal = Refusal::new("timeout", text).of_call(ledger_id);
        self.to_client(&refusal.answer(id, Some(&running.call))).await;
    }

    async fn report_blocked(&self, id: &str, why: &str) {
        let end = CallEnd { status: "blocked", error: Some(why.to_owned()), ..CallEnd::default() };
        self.gate.report(id, end).await;
    }

    /// Returns the refusal of a tool that is not defined as expected.
    async fn drift(&self, call: &ToolCall) -> Option<Refusal> {
        let tool = self.gate.settings.server.tool(&call.name);
        let (found, expected) = match self.standing(call).await {
            DefinitionStatus::Drifted { found, expected } => (found, expected),
            DefinitionStatus::Unlisted if self.definitions.is_pinned(&call.name) => {
                ("none".to_owned(), "the registered one".to_owned())
            }
            DefinitionStatus::Expected | DefinitionStatus::Unlisted => return None,
        };
        let text = format!(
            "The server defines the tool {tool} otherwise than expected, so its calls are held (found {found}, expected {expected}). An operator looks at `bitacora read --type tool.drifted`, and takes the new definition with `bitacora tools register --seen {tool} --risk read|write|destructive`."
        );
        Some(Refusal::new("drifted", text))
    }
}

/// The refusal of a call under an obligation that no proxy can see to.
const UNMET: &str = "The policy allows this call only without secret files, which the proxy cannot keep from the server. Name files that are no secrets.";
