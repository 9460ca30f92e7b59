//! The tools of the server of questions.

use bitacora_api::{ApprovalAnswer, CallAnswer, CallList, ModeAnswer, PolicyAnswer, ToolList, paths};
use bitacora_client::percent_encoded;
use bitacora_vocabulary::ToolDocument;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Questions;
use crate::call::ToolCall;
use crate::error::ServiceFailure;
use crate::limits::{DECISION_PATIENCE, MAX_SERVICE_PAGES};

/// Calls that one answer shows at most.
const MAX_CALLS: usize = 50;
/// The role of agents in registrations.
const AGENT_ROLE: &str = "agent";

/// The text of an answer, or of a failure.
pub(super) type ToolAnswer = Result<String, String>;

/// A tool of the server.
pub(super) struct QuestionTool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// Names and descriptions of its arguments; each is a text that may be left out.
    pub(super) arguments: &'static [(&'static str, &'static str)],
}

/// All tools.
pub(super) const TOOLS: [QuestionTool; 3] = [
    QuestionTool {
        name: "why_denied",
        description: "Says why a tool call of this agent was denied or has to be reviewed, and how a person approves it. Without an argument it is about the newest such call.",
        arguments: &[("call", "The call's id in the ledger, as a refusal names it")],
    },
    QuestionTool {
        name: "what_may_i_do",
        description: "Lists the tools that this agent may ask for, whether a person looks at each call, the mode, and the rules of the policy.",
        arguments: &[("tool", "Only this tool, as calls name it")],
    },
    QuestionTool {
        name: "what_happened",
        description: "Lists the newest tool calls with their verdicts and outcomes: of a run or a session, else of this agent.",
        arguments: &[("run", "The run"), ("session", "The session")],
    },
];

/// The arguments of all tools.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    call: Option<String>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    run: Option<String>,
    #[serde(default)]
    session: Option<String>,
}

impl Questions {
    /// Answers a call; `None` where there is no such tool.
    pub(super) async fn called(&mut self, call: &ToolCall) -> Option<ToolAnswer> {
        let tool = TOOLS.iter().find(|tool| tool.name == call.name)?;
        let arguments: Arguments = match serde_json::from_str(&call.arguments) {
            Ok(arguments) => arguments,
            Err(error) => return Some(Err(format!("found other arguments than the tool has: {error}"))),
        };
        let answered = match tool.name {
            "why_denied" => self.why_denied(arguments.call).await,
            "what_may_i_do" => self.what_may_i_do(arguments.tool.as_deref()).await,
            _ => self.what_happened(arguments.run, arguments.session).await,
        };
        Some(answered.map_err(|failure| format!("The ledger gives no answer: {failure}")))
    }

    async fn why_denied(&mut self, call: Option<String>) -> Result<String, ServiceFailure> {
        let found = match call {
            Some(call) => {
                let path = self.service.path(paths::CALL, &[&call]);
                match self.service.get::<CallAnswer>(&path, DECISION_PATIENCE).await {
                    Err(failure) if failure.is_not_found() => {
                        return Ok(format!("No call {call:?} is recorded."));
                    }
                    found => Some(found?),
                }
            }
            None => self.newest_refused().await?,
        };
        let Some(found) = found else {
            return Ok("No call of this agent was denied or waits for a person.".to_owned());
        };
        let Some(decision) = &found.decision else {
            return Ok(format!("Nothing was decided about the call {}.", found.call));
        };
        let mut lines = vec![
            format!("call {} of {}: {} ({})", found.call, found.tool, decision.verdict, decision.reason_code),
            decision.reason.clone(),
        ];
        lines.extend(decision.rule.as_ref().map(|rule| format!("rule: {rule}")));
        lines.push(format!("mode: {}", decision.mode));
        if let Some(approval) = &found.approval {
            lines.push(self.approval_line(&approval.id).await?);
        }
        Ok(lines.join("\n"))
    }

    async fn approval_line(&self, id: &str) -> Result<String, ServiceFailure> {
        let path = self.service.path(paths::APPROVAL, &[id]);
        let approval: ApprovalAnswer = self.service.get(&path, DECISION_PATIENCE).await?;
        Ok(match approval.status.as_str() {
            "pending" => format!(
                "approval {id}: waits until {}. A person approves it with `bitacora approvals approve {id}`; then make the same call again.",
                approval.expires
            ),
            "approved" => {
                format!("approval {id}: approved. Make the same call again; the approval counts once.")
            }
            status => format!("approval {id}: {status}"),
        })
    }

    async fn newest_refused(&mut self) -> Result<Option<CallAnswer>, ServiceFailure> {
        let mut newest: Option<CallAnswer> = None;
        for verdict in ["deny", "review"] {
            let query = self.of_agent().await? + &format!("&verdict={verdict}&limit=1");
            let page: CallList = self.calls(&query).await?;
            let position = |call: &CallAnswer| call.position.parse::<u64>().unwrap_or_default();
            newest = page.calls.into_iter().chain(newest).max_by_key(position);
        }
        Ok(newest)
    }

    async fn what_may_i_do(&mut self, tool: Option<&str>) -> Result<String, ServiceFailure> {
        let mode: ModeAnswer =
            self.service.get(&self.service.path(paths::MODE, &[]), DECISION_PATIENCE).await?;
        let policy: PolicyAnswer =
            self.service.get(&self.service.path(paths::POLICY, &[]), DECISION_PATIENCE).await?;
        let rules = policy.document.and_then(|document| serde_json::from_str::<Value>(document.get()).ok());
        let rules = rules.and_then(|mut document| document.get_mut("rules").map(Value::take));
        let answer = json!({
            "agent": self.agent().await?,
            "mode": mode.mode,
            "modesOfScopes": mode.scopes,
            "tools": self.tools(tool).await?,
            "policy": policy.active,
            "rules": rules,
            "note": "A tool that is not listed is unknown to the ledger: a call of it is reviewed or denied. In mode observe every call runs and is recorded.",
        });
        Ok(answer.to_string())
    }

    /// Lists the registered tools that agents may use.
    async fn tools(&self, only: Option<&str>) -> Result<Vec<Value>, ServiceFailure> {
        let tools = self.service.path(paths::TOOLS, &[]);
        let mut path = tools.clone();
        let mut listed = Vec::new();
        for _ in 0..MAX_SERVICE_PAGES {
            let page: ToolList = self.service.get(&path, DECISION_PATIENCE).await?;
            for tool in &page.tools {
                let Ok(document) = serde_json::from_str::<ToolDocument>(tool.document.get()) else {
                    continue;
                };
                let is_allowed = document.allowed_roles.iter().any(|role| role.as_str() == AGENT_ROLE);
                if is_allowed && only.is_none_or(|only| only == document.tool.as_str()) {
                    listed.push(json!({
                        "tool": document.tool,
                        "server": document.server,
                        "risk": document.risk,
                        "personLooksAtEveryCall": document.requires_review,
                    }));
                }
            }
            match page.next {
                Some(next) => path = format!("{tools}?after={}", percent_encoded(&next)),
                None => break,
            }
        }
        Ok(listed)
    }

    async fn what_happened(
        &mut self,
        run: Option<String>,
        session: Option<String>,
    ) -> Result<String, ServiceFailure> {
        let is_named = run.is_some() || session.is_some();
        let (run, session) = if is_named {
            (run, session)
        } else {
            (self.settings.run.clone(), self.settings.session.clone())
        };
        let filter = match (run, session) {
            (Some(run), _) => format!("run={}", percent_encoded(&run)),
            (None, Some(session)) => format!("session={}", percent_encoded(&session)),
            (None, None) => self.of_agent().await?,
        };
        let page: CallList = self.calls(&format!("{filter}&limit={MAX_CALLS}")).await?;
        let calls = page.calls.iter().map(|call| {
            let decision = call.decision.as_ref();
            json!({
                "call": call.call,
                "time": call.time,
                "tool": call.tool,
                "verdict": decision.map(|decision| &decision.verdict),
                "reason": decision.map(|decision| &decision.reason),
                "state": call.state,
                "outcome": call.outcome.as_ref().map(|outcome| &outcome.status),
                "errorType": call.outcome.as_ref().and_then(|outcome| outcome.error_type.as_ref()),
                "durationMs": call.outcome.as_ref().and_then(|outcome| outcome.duration_ms),
            })
        });
        let calls: Vec<Value> = calls.collect();
        Ok(json!({"of": filter, "calls": calls, "more": page.next.is_some()}).to_string())
    }

    /// Returns the filter of this agent's calls.
    async fn of_agent(&mut self) -> Result<String, ServiceFailure> {
        let agent = self.agent().await?.unwrap_or_default();
        Ok(format!("agent={}", percent_encoded(&agent)))
    }

    async fn calls(&self, query: &str) -> Result<CallList, ServiceFailure> {
        let path = format!("{}?{query}", self.service.path(paths::CALLS, &[]));
        self.service.get(&path, DECISION_PATIENCE).await
    }
}
