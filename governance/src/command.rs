//! The meaning of an event for governance: its data, read once.

use std::fmt;

use bitacora_formats::{Data, Event};
use bitacora_vocabulary::{
    AgentResumed, AgentSuspended, ApprovalConsumed, ApprovalRequested, ApprovalResolved, Assurance,
    BreakerClosed, BreakerConfigured, BreakerHalfOpened, BreakerOpened, BudgetCharged, BudgetConfigured,
    BudgetExceeded, CheckpointSaved, ClockAccepted, ClockCorrected, ContractChecked, ContractDefined,
    DecisionMade, EventData, GrantGiven, GrantRevoked, HoldPlaced, HoldReleased, ImportAccepted, ImportBatch,
    LedgerClockJumped, LedgerCreated, LedgerOpened, LoopDetected, ModeConfigured, ModelCalled, PanicEngaged,
    PanicReleased, PolicyActivated, PolicyPublished, PolicyRetired, PrincipalCreated, PrincipalExpired,
    PrincipalRevoked, RateConfigured, RetentionChanged, RunAborted, RunCompleted, RunFailed, RunOverdue,
    RunStarted, RunStep, SchemaRegistered, ToolBlocked, ToolChanged, ToolCompleted, ToolFailed,
    ToolRegistered, ToolRequested, ToolRevoked, TrustObserved, TrustProbed, TrustSet,
};
use serde::Deserialize;

use crate::calls::outcome::Outcome;

/// An event that changes answers, by its type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command {
    /// A call is asked for. Its request stands in its examination, because its data may be sealed.
    Requested,
    Decided(Box<DecisionMade>),
    /// A call ended; `None` where its data is sealed.
    Ended(Option<Outcome>),
    Observed(TrustObserved),
    TrustSet(TrustSet),
    Probed(TrustProbed),
    Opened(BreakerOpened),
    HalfOpened(BreakerHalfOpened),
    Closed(BreakerClosed),
    BreakerConfigured(BreakerConfigured),
    Published(Box<PolicyPublished>),
    Activated(PolicyActivated),
    Retired(PolicyRetired),
    ModeConfigured(ModeConfigured),
    RateConfigured(RateConfigured),
    BudgetConfigured(Box<BudgetConfigured>),
    BudgetCharged(BudgetCharged),
    BudgetExceeded(Box<BudgetExceeded>),
    LoopDetected(LoopDetected),
    ContractDefined(Box<ContractDefined>),
    /// The results of checks; `None` where they cannot be read here.
    ContractChecked(Option<Box<ContractChecked>>),
    /// An unsolicited report. It is evidence, and is taken with any data.
    Told,
    Registered(Box<ToolRegistered>),
    Changed(Box<ToolChanged>),
    Revoked(ToolRevoked),
    ApprovalRequested(Box<ApprovalRequested>),
    ApprovalResolved(ApprovalResolved),
    ApprovalConsumed(ApprovalConsumed),
    GrantGiven(GrantGiven),
    GrantRevoked(GrantRevoked),
    PrincipalCreated(Box<PrincipalCreated>),
    PrincipalRevoked(PrincipalRevoked),
    PrincipalExpired(PrincipalExpired),
    PanicEngaged(PanicEngaged),
    PanicReleased(PanicReleased),
    Suspended(AgentSuspended),
    Resumed(AgentResumed),
    ImportEnded(Box<ImportBatch>),
    ImportAccepted(ImportAccepted),
    SchemaRegistered(Box<SchemaRegistered>),
    ClockJumped(LedgerClockJumped),
    ClockAccepted(ClockAccepted),
    ClockCorrected(ClockCorrected),
    HoldPlaced(Box<HoldPlaced>),
    HoldReleased(HoldReleased),
    RetentionChanged(Box<RetentionChanged>),
    /// A run came to its end, however. It is evidence too.
    RunEnded,
    /// A run has told no end.
    RunOverdue(RunOverdue),
    /// The ledger is created or opened under the rules of this version.
    RulesBegun(u32),
}

/// The reason for which an event's data does not fit its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommandError {
    /// There is none, or it is sealed under a data subject's key.
    #[error("its data must be JSON in clear: what governs cannot rest on what may be erased")]
    NoData,
    /// It does not fit.
    #[error("its data does not fit: {0}")]
    Misfit(String),
}

/// Types that an act is made of, and how.
macro_rules! acts {
    ($($data:ident => $make:expr,)*) => {
        /// Returns `true` if events of this type are acts.
        pub(crate) fn is_act(kind: &str) -> bool {
            kind == ToolRequested::KIND
                || is_outcome(kind)
                || is_report(kind)
                || kind == ContractChecked::KIND
                || begins_rules(kind)
                || ends_run(kind)
                || [$($data::KIND),*].contains(&kind)
        }

        impl Command {
            /// Reads the meaning of an event; `None` where its type does not govern.
            pub(crate) fn of(event: &Event<'_>) -> Result<Option<Self>, CommandError> {
                let kind = event.kind.as_ref();
                if kind == ToolRequested::KIND {
                    return Ok(Some(Self::Requested));
                }
                if is_outcome(kind) {
                    return outcome(kind, event).map(|outcome| Some(Self::Ended(outcome)));
                }
                if kind == ContractChecked::KIND {
                    let checked = read(event).ok().filter(|_| !is_imported(event));
                    return Ok(Some(Self::ContractChecked(checked.map(Box::new))));
                }
                if begins_rules(kind) {
                    return Ok(Some(Self::RulesBegun(opened_rules_version(event))));
                }
                if ends_run(kind) {
                    return Ok(Some(Self::RunEnded));
                }
                if is_report(kind) {
                    return Ok(Some(Self::Told));
                }
                $(
                    if kind == $data::KIND {
                        return read::<$data>(event).map(|data| Some($make(data)));
                    }
                )*
                Ok(None)
            }
        }
    };
}

acts! {
    DecisionMade => |data| Command::Decided(Box::new(data)),
    TrustObserved => Command::Observed,
    TrustSet => Command::TrustSet,
    TrustProbed => Command::Probed,
    BreakerOpened => Command::Opened,
    BreakerHalfOpened => Command::HalfOpened,
    BreakerClosed => Command::Closed,
    BreakerConfigured => Command::BreakerConfigured,
    PolicyPublished => |data| Command::Published(Box::new(data)),
    PolicyActivated => Command::Activated,
    PolicyRetired => Command::Retired,
    ModeConfigured => Command::ModeConfigured,
    RateConfigured => Command::RateConfigured,
    BudgetConfigured => |data| Command::BudgetConfigured(Box::new(data)),
    BudgetCharged => Command::BudgetCharged,
    BudgetExceeded => |data| Command::BudgetExceeded(Box::new(data)),
    LoopDetected => Command::LoopDetected,
    ContractDefined => |data| Command::ContractDefined(Box::new(data)),
    ToolRegistered => |data| Command::Registered(Box::new(data)),
    ToolChanged => |data| Command::Changed(Box::new(data)),
    ToolRevoked => Command::Revoked,
    ApprovalRequested => |data| Command::ApprovalRequested(Box::new(data)),
    ApprovalResolved => Command::ApprovalResolved,
    ApprovalConsumed => Command::ApprovalConsumed,
    GrantGiven => Command::GrantGiven,
    GrantRevoked => Command::GrantRevoked,
    PrincipalCreated => |data| Command::PrincipalCreated(Box::new(data)),
    PrincipalRevoked => Command::PrincipalRevoked,
    PrincipalExpired => Command::PrincipalExpired,
    PanicEngaged => Command::PanicEngaged,
    PanicReleased => Command::PanicReleased,
    AgentSuspended => Command::Suspended,
    AgentResumed => Command::Resumed,
    ImportBatch => |data| Command::ImportEnded(Box::new(data)),
    ImportAccepted => Command::ImportAccepted,
    SchemaRegistered => |data| Command::SchemaRegistered(Box::new(data)),
    LedgerClockJumped => Command::ClockJumped,
    RunOverdue => Command::RunOverdue,
    ClockAccepted => Command::ClockAccepted,
    ClockCorrected => Command::ClockCorrected,
    HoldPlaced => |data| Command::HoldPlaced(Box::new(data)),
    HoldReleased => Command::HoldReleased,
    RetentionChanged => |data| Command::RetentionChanged(Box::new(data)),
}

/// Reads the data of an event as this type, or as a part of it.
pub(crate) fn read<'e, T: Deserialize<'e>>(event: &'e Event<'_>) -> Result<T, CommandError> {
    let Data::Json(json) = &event.data else { return Err(CommandError::NoData) };
    let misfit = |error: &dyn fmt::Display| CommandError::Misfit(error.to_string());
    // Once for all texts in it.
    let text = str::from_utf8(json.as_bytes()).map_err(|error| misfit(&error))?;
    serde_json::from_str(text).map_err(|error| misfit(&error))
}

/// Returns `true` if events of this type report things besides calls: spending, and the progress of a run.
fn is_report(kind: &str) -> bool {
    [ModelCalled::KIND, RunStep::KIND, RunStarted::KIND, CheckpointSaved::KIND].contains(&kind)
}

/// Returns `true` if runs end with events of this type.
fn ends_run(kind: &str) -> bool {
    [RunCompleted::KIND, RunFailed::KIND, RunAborted::KIND].contains(&kind)
}

/// Returns `true` if rules are in force from events of this type on.
fn begins_rules(kind: &str) -> bool {
    [LedgerCreated::KIND, LedgerOpened::KIND].contains(&kind)
}

/// Returns the version of those rules; 0 where the service that wrote the event did not record it.
fn opened_rules_version(event: &Event<'_>) -> u32 {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RulesVersionData {
        reactor_version: u32,
    }
    read::<RulesVersionData>(event).map_or(0, |begun| begun.reactor_version)
}

/// Returns `true` if calls end with events of this type.
pub(crate) fn is_outcome(kind: &str) -> bool {
    [ToolCompleted::KIND, ToolFailed::KIND, ToolBlocked::KIND].contains(&kind)
}

/// Reads the outcome of a call; `None` where it is sealed.
pub(crate) fn outcome(kind: &str, event: &Event<'_>) -> Result<Option<Outcome>, CommandError> {
    if matches!(event.data, Data::None) {
        return Ok(None);
    }
    let outcome = if kind == ToolCompleted::KIND {
        Outcome::from(read::<ToolCompleted>(event)?)
    } else if kind == ToolFailed::KIND {
        Outcome::from(read::<ToolFailed>(event)?)
    } else {
        Outcome::from(read::<ToolBlocked>(event)?)
    };
    Ok(Some(Outcome { imported: is_imported(event), ..outcome }))
}

/// Returns `true` if an event says of itself that it was recorded elsewhere. The right to say so is checked at admission.
pub(crate) fn is_imported(event: &Event<'_>) -> bool {
    let Data::Json(json) = &event.data else { return false };
    says_imported(json.as_bytes())
}

/// Returns `true` if data of an event says that it was recorded elsewhere.
pub(crate) fn says_imported(json: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct AssuranceMember {
        #[serde(default)]
        assurance: Option<Assurance>,
    }
    let Ok(text) = str::from_utf8(json) else { return false };
    // Hardly any event has the member, whose name may be written in escapes: only one that may have it is read for it.
    if !text.contains("assurance") && !text.contains('\\') {
        return false;
    }
    serde_json::from_str::<AssuranceMember>(text).is_ok_and(|recorded| recorded.assurance.is_some())
}
