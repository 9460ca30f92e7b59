//! The meaning of an event for governance: its data, read once.

use std::fmt;

use bitacora_formats::{Data, Event};
use bitacora_vocabulary::{
    AgentResumed, AgentSuspended, ApprovalConsumed, ApprovalRequested, ApprovalResolved, Assurance,
    BreakerClosed, BreakerConfigured, BreakerHalfOpened, BreakerOpened, BudgetCharged, BudgetConfigured,
    BudgetExceeded, CheckpointSaved, ClockAccepted, ClockCorrected, ContractChecked, ContractDefined,
    DecisionMade, EventData, GrantGiven, GrantRevoked, ImportAccepted, ImportBatch, LedgerClockJumped,
    LedgerCreated, LedgerOpened, LoopDetected, ModeConfigured, ModelCalled, PanicEngaged, PanicReleased,
    PolicyActivated, PolicyPublished, PolicyRetired, PrincipalCreated, PrincipalExpired, PrincipalRevoked,
    RateConfigured, RunAborted, RunCompleted, RunFailed, RunOverdue, RunStarted, RunStep, SchemaRegistered,
    ToolBlocked, ToolChanged, ToolCompleted, ToolFailed, ToolRegistered, ToolRequested, ToolRevoked,
    TrustObserved, TrustProbed, TrustSet,
};
use serde::Deserialize;

use crate::calls::outcome::Outcome;

/// An event that changes answers, by its type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
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
    /// A run came to its end, however. It is evidence too.
    RunEnded,
    /// A run has told no end.
    RunOverdue(RunOverdue),
    /// The ledger is created or opened under the rules of this version.
    RulesBegun(u32),
}

/// The reason for which an event's data does not fit its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ActError {
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
                || is_told(kind)
                || kind == ContractChecked::KIND
                || begins_rules(kind)
                || ends_run(kind)
                || [$($data::KIND),*].contains(&kind)
        }

        impl Act {
            /// Reads the meaning of an event; `None` where its type does not govern.
            pub(crate) fn of(event: &Event<'_>) -> Result<Option<Self>, ActError> {
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
                    return Ok(Some(Self::RulesBegun(rules_begun(event))));
                }
                if ends_run(kind) {
                    return Ok(Some(Self::RunEnded));
                }
                if is_told(kind) {
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
    DecisionMade => |data| Act::Decided(Box::new(data)),
    TrustObserved => Act::Observed,
    TrustSet => Act::TrustSet,
    TrustProbed => Act::Probed,
    BreakerOpened => Act::Opened,
    BreakerHalfOpened => Act::HalfOpened,
    BreakerClosed => Act::Closed,
    BreakerConfigured => Act::BreakerConfigured,
    PolicyPublished => |data| Act::Published(Box::new(data)),
    PolicyActivated => Act::Activated,
    PolicyRetired => Act::Retired,
    ModeConfigured => Act::ModeConfigured,
    RateConfigured => Act::RateConfigured,
    BudgetConfigured => |data| Act::BudgetConfigured(Box::new(data)),
    BudgetCharged => Act::BudgetCharged,
    BudgetExceeded => |data| Act::BudgetExceeded(Box::new(data)),
    LoopDetected => Act::LoopDetected,
    ContractDefined => |data| Act::ContractDefined(Box::new(data)),
    ToolRegistered => |data| Act::Registered(Box::new(data)),
    ToolChanged => |data| Act::Changed(Box::new(data)),
    ToolRevoked => Act::Revoked,
    ApprovalRequested => |data| Act::ApprovalRequested(Box::new(data)),
    ApprovalResolved => Act::ApprovalResolved,
    ApprovalConsumed => Act::ApprovalConsumed,
    GrantGiven => Act::GrantGiven,
    GrantRevoked => Act::GrantRevoked,
    PrincipalCreated => |data| Act::PrincipalCreated(Box::new(data)),
    PrincipalRevoked => Act::PrincipalRevoked,
    PrincipalExpired => Act::PrincipalExpired,
    PanicEngaged => Act::PanicEngaged,
    PanicReleased => Act::PanicReleased,
    AgentSuspended => Act::Suspended,
    AgentResumed => Act::Resumed,
    ImportBatch => |data| Act::ImportEnded(Box::new(data)),
    ImportAccepted => Act::ImportAccepted,
    SchemaRegistered => |data| Act::SchemaRegistered(Box::new(data)),
    LedgerClockJumped => Act::ClockJumped,
    RunOverdue => Act::RunOverdue,
    ClockAccepted => Act::ClockAccepted,
    ClockCorrected => Act::ClockCorrected,
}

/// Reads the data of an event as this type, or as a part of it.
pub(crate) fn read<'e, T: Deserialize<'e>>(event: &'e Event<'_>) -> Result<T, ActError> {
    let Data::Json(json) = &event.data else { return Err(ActError::NoData) };
    let misfit = |error: &dyn fmt::Display| ActError::Misfit(error.to_string());
    // Once for all texts in it.
    let text = str::from_utf8(json.as_bytes()).map_err(|error| misfit(&error))?;
    serde_json::from_str(text).map_err(|error| misfit(&error))
}

/// Returns `true` if events of this type report things besides calls: spending, and the progress of a run.
fn is_told(kind: &str) -> bool {
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
fn rules_begun(event: &Event<'_>) -> u32 {
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
pub(crate) fn outcome(kind: &str, event: &Event<'_>) -> Result<Option<Outcome>, ActError> {
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
    #[derive(Deserialize)]
    struct AssuranceMember {
        #[serde(default)]
        assurance: Option<Assurance>,
    }
    let Data::Json(json) = &event.data else { return false };
    let Ok(text) = str::from_utf8(json.as_bytes()) else { return false };
    // Hardly any event has the member, whose name may be written in escapes: only one that may have it is read for it.
    if !text.contains("assurance") && !text.contains('\\') {
        return false;
    }
    serde_json::from_str::<AssuranceMember>(text).is_ok_and(|recorded| recorded.assurance.is_some())
}
