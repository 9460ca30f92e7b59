//! Reasons in words that an agent can act on: each names the obstacle and a remedy.

use bitacora_vocabulary::{ReasonCode, ReasonText};

/// The names that the words contain.
#[derive(Debug, Clone)]
pub(crate) struct ReasonNames<'a> {
    pub(crate) tool: &'a str,
    pub(crate) context: &'a str,
    pub(crate) agent: Option<&'a str>,
    pub(crate) detail: Option<&'a str>,
    pub(crate) approval: Option<&'a str>,
    /// The words of the rules in force where they have numbers of their own.
    pub(crate) measured: Option<String>,
}

/// Returns `true` if the decision was recorded with a person behind it.
pub(crate) const fn is_by_person(code: ReasonCode) -> bool {
    matches!(code, ReasonCode::Approved | ReasonCode::Granted)
}

/// Returns the reason in one sentence or two.
pub(crate) fn reason_text(code: ReasonCode, named: &ReasonNames<'_>) -> ReasonText {
    let text = named.measured.clone().unwrap_or_else(|| code_text(code, named));
    let text = match named.approval {
        Some(approval) => {
            format!("{text} Approval {approval} waits for a person; ask again with it once it is given.")
        }
        None => text,
    };
    bounded(&text)
}

fn code_text(code: ReasonCode, named: &ReasonNames<'_>) -> String {
    let ReasonNames { tool, context, agent, detail, .. } = *named;
    let detail = detail.unwrap_or("not said");
    let agent = agent.unwrap_or("the agent");
    match code {
        ReasonCode::Allowed => format!("`{tool}` may run: every check allows it."),
        ReasonCode::Approved => format!("`{tool}` may run once: a person approved this very call."),
        ReasonCode::Granted => format!("`{tool}` may run: a person's standing grant covers it."),
        ReasonCode::Panic => format!("An operator has stopped all calls ({detail}). Wait until they are released."),
        ReasonCode::AgentSuspended => format!("An operator has suspended {agent} ({detail}). Stop, and tell your user."),
        ReasonCode::ClockUntrusted => "The ledger's clock jumped. An operator has to accept the time before any call is allowed.".to_owned(),
        ReasonCode::ToolUnknown => format!("No tool `{tool}` is registered. Use a registered tool, or have an operator register it."),
        ReasonCode::RoleNotAllowed => format!("`{tool}` is not for the role {detail}. Use a tool that is, or hand the task to who may."),
        ReasonCode::ArgumentsInvalid => format!("The arguments do not fit the schema of `{tool}`: {detail}. Correct them and ask again."),
        ReasonCode::DestinationOutside => format!("`{tool}` may not reach {detail}. Name a place that it may reach."),
        ReasonCode::PathOutside => format!("The path leaves the working directory: {detail}. Stay inside it."),
        ReasonCode::ArgumentsOpaque => format!("What `{tool}` would run cannot be read from its arguments, so a person looks at it. Say plainly what is to run."),
        ReasonCode::ArgumentsTooLarge => format!("The arguments of `{tool}` are too large to be looked at. Split the call."),
        ReasonCode::DigestOnly => format!("`{tool}` binds some of its arguments: send the arguments, not only their digest."),
        ReasonCode::Repeated => "This call was made already under the same idempotency key. Use its result; do not run it again.".to_owned(),
        ReasonCode::InFlight => "The same call is under way under this idempotency key. Wait for its outcome.".to_owned(),
        ReasonCode::OutcomeUnknown => "The same call was allowed before and never reported its outcome. A person has to say whether it may run again.".to_owned(),
        ReasonCode::KeyExpired => "The idempotency key is too old to tell whether the call was made. Check, then use a new key.".to_owned(),
        ReasonCode::KeyReused => "The idempotency key stands for a call with other arguments. Use a new key.".to_owned(),
        ReasonCode::KeyRequired => format!("`{tool}` is repeated under an idempotency key alone. Send one with the call."),
        ReasonCode::RateLimited => "Too many calls. Wait, then ask again.".to_owned(),
        ReasonCode::BudgetSpent => format!("The budget {detail} is spent. Wait until some of it comes back, or have an operator raise it."),
        ReasonCode::RunBudgetSpent => "The run has spent the budget that it was begun with. Sum up what was reached, and stop.".to_owned(),
        ReasonCode::RunAborted => "The run was aborted, because a budget was spent. Sum up what was reached, and stop.".to_owned(),
        ReasonCode::LoopDetected => format!("This is the same call of `{tool}` for the time number {detail} in a row. Do something else, or look at what it said before."),
        ReasonCode::IterationCap => format!("The run has come to its end: it took {detail} steps or calls, which is all that it may. Sum up what was reached, and stop."),
        ReasonCode::DelegationTooDeep => format!("This work was handed on {detail} times, which is too often. Do it in the run above, or stop."),
        ReasonCode::DeadlinePassed => "The call's deadline has passed. Ask for a new call with more time.".to_owned(),
        ReasonCode::StateUnreadable => format!("The event at position {detail} governs and cannot be read by this version. Nothing is allowed until a version that reads it serves the ledger."),
        ReasonCode::StateFull => format!("The ledger is full of {detail}. Settle what is open, then ask again."),
        ReasonCode::BreakerOpen => format!("`{tool}` on {context} failed too often and is stopped for a while. Do something else, or find out why it fails."),
        ReasonCode::BreakerProbe => format!("`{tool}` on {context} failed too often before; each call is looked at by a person until it works again."),
        ReasonCode::PolicyDeny | ReasonCode::PolicyReview | ReasonCode::NeverAutoApprove => format!("The policy says of `{tool}` on {context}: {detail}"),
        ReasonCode::NoRule => format!("No rule of the policy speaks of `{tool}` on {context}, so a person looks at it."),
        ReasonCode::NoPolicy => "No policy is active, so a person looks at every call.".to_owned(),
        ReasonCode::PolicyUnreadable => "The active policy cannot be read. An operator has to activate another one.".to_owned(),
        ReasonCode::TrustBlocked => format!("`{tool}` on {context} has failed or been rejected too often (score {detail}). Do it in another way, or ask your user."),
        ReasonCode::TrustProbe => format!("`{tool}` on {context} has failed or been rejected too often (score {detail}); each call is looked at by a person until it works again."),
        ReasonCode::StoppedElsewhere => format!("`{tool}` on {context} is stopped or blocked under another model or task type, and has not earned calls without review under this one."),
        ReasonCode::TrustRequireReview => format!("`{tool}` on {context} has not yet earned calls without review (score {detail})."),
        ReasonCode::ScoreTooLow => format!("The policy asks for a higher score than {detail} before `{tool}` on {context} runs without review."),
        ReasonCode::ToolRequiresReview => format!("Every call of `{tool}` is looked at by a person."),
        ReasonCode::BlastRadius => format!("`{tool}` could do damage that cannot be made good, so a person looks at every call."),
        ReasonCode::SecretFile => format!("`{tool}` names a file that holds secrets. Ask your user for what you need from it."),
        ReasonCode::SecretFilePossible => format!("`{tool}` may read a file that holds secrets, so a person looks at it. Name the files or the types of files that it works on."),
        ReasonCode::RunsByItself => format!("`{tool}` writes a file whose contents programs run by themselves, so a person looks at every such call."),
        ReasonCode::ContractBroken => format!("What has to hold before this call does not: {detail}. See to that, check again, and ask with a new call."),
        ReasonCode::ApprovalUnknown => "There is no such approval.".to_owned(),
        ReasonCode::ApprovalPending => "Nobody has answered yet.".to_owned(),
        ReasonCode::ApprovalRejected => "A person said no to this call. Do it in another way, or ask your user.".to_owned(),
        ReasonCode::ApprovalExpired => "The approval's time is over.".to_owned(),
        ReasonCode::ApprovalLapsed => "Nobody answered in time, which is a no to this call for a while. Do it in another way, or ask your user.".to_owned(),
        ReasonCode::ApprovalUsed => "The approval was used for another call; each is good for one.".to_owned(),
        ReasonCode::ApprovalMismatch => "The approval is for another call: other arguments, another tool, another agent or another caller.".to_owned(),
        ReasonCode::ApprovalOutgrown => "Something else has come to stand against this call since the approval was asked for.".to_owned(),
        ReasonCode::ApprovalStale => "The policy, or how the tool is registered, has changed since the approval was asked for.".to_owned(),
    }
}

/// Returns as much of a text as a reason takes.
fn bounded(text: &str) -> ReasonText {
    let mut text = text.replace(|c: char| c.is_control(), " ");
    text.truncate(text.floor_char_boundary(2_048));
    ReasonText::new(text).unwrap_or(ReasonText::LEAST)
}
