//! Errors of the rooms below as problems; their codes decide the status, in the table of `problem`.

use std::io;

use bitacora_formats::ParseError;
use bitacora_ledger::{
    AppendError, ArchiveTierErrorKind, CreateError, ExpectedVersion, ReadError, SideEffects as LedgerEffects,
};
use bitacora_projector::{CheckpointError, ModelError, TrustAtError};

use tokio::time::Instant;

use crate::http::preconditions::version_tag;
use crate::limits::KEY_FAILURE_PACE;
use crate::log_pace::LogPace;
use crate::problem::{Code, FaultLocation, Problem, SideEffects};

/// The `Retry-After` of a ledger that refuses appends for a reason that may pass, in seconds.
const RETRY_AFTER_S: u32 = 1;
/// Seconds after which a question about rows that left may be asked again: they are folded from the first event.
const RECALL_RETRY_AFTER_S: u32 = 10;

/// The code with this name; one that the table lacks is a defect of ours, and a test finds it first.
pub(crate) fn code_named(name: &'static str) -> Code {
    Code::named(name).unwrap_or(Code::Internal)
}

impl From<ParseError> for Problem {
    fn from(error: ParseError) -> Self {
        let problem = Self::new(code_named(error.code()), error.to_string());
        problem.with_fault(
            FaultLocation::Body { line: error.line, pointer: error.pointer.clone() },
            error.kind.to_string(),
        )
    }
}

impl From<AppendError> for Problem {
    fn from(error: AppendError) -> Self {
        let detail = error.to_string();
        let effects = match error.side_effects() {
            LedgerEffects::None => SideEffects::None,
            LedgerEffects::Unknown => SideEffects::Unknown,
        };
        let problem = Self::new(code_named(error.code()), detail.clone()).with_side_effects(effects);
        let at = |index: usize| FaultLocation::Body { line: None, pointer: format!("/{index}") };
        match error {
            AppendError::Invalid { index, source } => {
                let pointer = format!("/{index}/{}", source.attribute);
                problem.with_fault(FaultLocation::Body { line: None, pointer }, source.problem.to_string())
            }
            AppendError::Schema { index, pointer, problem: wrong } => {
                let pointer = format!("/{index}{pointer}");
                problem.with_fault(FaultLocation::Body { line: None, pointer }, wrong)
            }
            AppendError::Unencodable { index, .. }
            | AppendError::ReservedType { index, .. }
            | AppendError::RepeatedId { index, .. }
            | AppendError::SecretName { index, .. } => problem.with_fault(at(index), detail),
            AppendError::IdReused { index, position } => {
                problem.with("position", position).with_fault(at(index), detail)
            }
            AppendError::VersionConflict { expected, actual, position } => {
                let expected = match expected {
                    ExpectedVersion::NoStream => "*".to_owned(),
                    ExpectedVersion::Exact(version) => version_tag(version),
                };
                let problem = problem.with("expected", expected);
                let problem = match actual {
                    Some(version) => problem.with("actual", version_tag(version)),
                    None => problem,
                };
                match position {
                    Some(position) => problem.with("position", position),
                    None => problem,
                }
            }
            AppendError::ConditionFailed { position } => problem.with("position", position),
            AppendError::ConditionPastHead { after, head } => {
                problem.with("position", after).with("tip", head)
            }
            AppendError::SubjectKey(error) | AppendError::SubjectKeyDamaged(error) => {
                report_key_failure(&error);
                problem
            }
            AppendError::QueueFull { retry_after_s } => {
                problem.with_retry_after(u32::try_from(retry_after_s).unwrap_or(u32::MAX))
            }
            AppendError::ReadOnly(_) | AppendError::Closing | AppendError::Unknown => {
                problem.with_retry_after(RETRY_AFTER_S)
            }
            _ => problem,
        }
    }
}

/// Tells the operator: a key that cannot be kept stops every append about its subject, and the caller can do nothing.
fn report_key_failure(error: &io::Error) {
    static PACE: LogPace = LogPace::new(KEY_FAILURE_PACE);
    if let Some(failures) = PACE.tells(Instant::now()) {
        tracing::error!(%error, failures, "the key of a data subject could not be read or kept; nothing is appended about it");
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        let problem = Self::new(code_named(error.code()), error.to_string());
        match error {
            ReadError::PastHead { asked, head } => problem.with("position", asked).with("tip", head),
            ReadError::TreeBehind(_) => problem.with_retry_after(RETRY_AFTER_S),
            ReadError::Corrupt(fault) => {
                let problem = problem.with("first", fault.first_position);
                match fault.last_position {
                    Some(last) => problem.with("last", last),
                    None => problem,
                }
            }
            ReadError::Archive(error) => {
                let problem = problem.with("first", error.first).with("last", error.last);
                match error.kind {
                    ArchiveTierErrorKind::Unavailable => problem.with_retry_after(RETRY_AFTER_S),
                    ArchiveTierErrorKind::Damaged
                    | ArchiveTierErrorKind::KeyRetired
                    | ArchiveTierErrorKind::KeyMissing => problem,
                }
            }
            _ => problem,
        }
    }
}

impl From<ModelError> for Problem {
    fn from(error: ModelError) -> Self {
        let problem = Self::new(Code::ProjectionBehind, error.to_string());
        match error {
            ModelError::Rebuilding { .. } | ModelError::Failing { .. } => {
                problem.with_retry_after(RETRY_AFTER_S)
            }
            ModelError::Recalling { .. } => problem.with_retry_after(RECALL_RETRY_AFTER_S),
            ModelError::RecallWaits { retry_after_s, .. } => {
                problem.with_retry_after(u32::try_from(retry_after_s).unwrap_or(u32::MAX))
            }
            ModelError::Stopped { .. } | ModelError::NotRecalled { .. } => {
                Self::new(Code::ProjectionStopped, error.to_string())
            }
        }
    }
}

impl From<CheckpointError> for Problem {
    fn from(error: CheckpointError) -> Self {
        match error {
            CheckpointError::Model(error) => error.into(),
            CheckpointError::Log(error) => error.into(),
            CheckpointError::Other(_) => Self::new(Code::Internal, error.to_string()),
        }
    }
}

impl From<TrustAtError> for Problem {
    fn from(error: TrustAtError) -> Self {
        match error {
            TrustAtError::Model(error) => error.into(),
            TrustAtError::Read(error) => error.into(),
        }
    }
}

impl From<CreateError> for Problem {
    fn from(error: CreateError) -> Self {
        let code = match error {
            CreateError::Exists(_) => Code::LedgerExists,
            _ => Code::LedgerNotMade,
        };
        Self::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;
    use bitacora_projector::RecallRefusal;

    use super::*;

    /// The names that a `code()` function gives, read from its source so that a new one cannot be forgotten here.
    fn codes_in(source: &str) -> Vec<&str> {
        let quoted = source.lines().filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\","));
        quoted
            .filter(|name| {
                name.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'0'..=b'9'))
            })
            .collect()
    }

    #[test]
    fn a_model_that_is_not_folded_again_yet_says_when_to_ask() {
        let why = RecallRefusal::Rate;
        let problem = Problem::from(ModelError::RecallWaits { model: "calls", why, retry_after_s: 1_800 });
        assert!(problem.detail().contains("in the last hour; ask again in 1800 s"), "{}", problem.detail());
        assert_eq!(problem.into_response().headers()["retry-after"], "1800");
    }

    #[test]
    fn every_code_of_the_rooms_below_has_a_status() {
        let sources = [
            include_str!("../../ledger/src/submission/append_error.rs"),
            include_str!("../../ledger/src/read_error.rs"),
            include_str!("../../ledger/src/archive_tier.rs"),
            include_str!("../../formats/src/event.rs"),
            include_str!("../../formats/src/json.rs"),
            include_str!("../../formats/src/cloudevent.rs"),
        ];
        let names: Vec<&str> = sources.iter().flat_map(|source| codes_in(source)).collect();
        assert!(names.len() > 40, "the sources are read: {names:?}");
        for name in names {
            assert!(Code::named(name).is_some(), "{name} has no status");
        }
    }
}
