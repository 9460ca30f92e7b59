//! `…/erasures`: the erasure of a data subject, for good.

use axum::http::StatusCode;
use axum::response::Response;
use bitacora_api::{ErasureAnswer, ErasureMemoryAnswer, ErasureRequest, paths};
use bitacora_ledger::{EraseError, ErasedSubject, Erasure, ErasureMemory};
use bitacora_vocabulary::{EventPosition, FreeText, Name};

use crate::errors::code_named;
use crate::problem::{Code, Problem, SideEffects};
use crate::requests::act::Act;
use crate::requests::read_request::json_answer;
use crate::resources::description::{InLedger, Refusals};

/// Erases a data subject, for good.
#[utoipa::path(
    post,
    path = paths::ERASURES,
    tag = "operation",
    operation_id = "eraseSubject",
    params(InLedger),
    request_body(content = ErasureRequest),
    responses(
        (status = 201, description = "Recorded, and the subject's key is destroyed", body = ErasureAnswer),
        Refusals,
    )
)]
pub(crate) async fn create(mut act: Act) -> Result<Response, Problem> {
    let (subject, event, authority, by, reason) = act
        .read(|members| {
            let authority = members.require::<FreeText>("authority")?;
            let by = members.take::<Name>("by")?;
            let (subject, event) =
                (members.take::<String>("subject")?, members.take::<EventPosition>("event")?);
            Ok((subject, event, authority, by, members.take::<FreeText>("reason")?))
        })
        .await?;
    act.query(|_| Ok(()))?;
    if subject.is_none() && event.is_none() {
        return Err(Problem::new(Code::BadBody, "`subject` or `event` says whom to erase"));
    }
    let turn = act.erasure_turn().await;
    act.caller.still_holds(&act.api.authenticator)?;
    let (ledger, actor) = (act.ledger.ledger().clone(), act.caller.actor().to_owned());
    let erased = tokio::task::spawn_blocking(move || {
        // Its turn lasts as long as it does, also where its caller has left.
        let _turn = turn;
        let actor = Some(actor.as_str());
        let subject = match event {
            Some(event) => ErasedSubject::OfEvent { position: event.get(), named: subject.as_deref() },
            None => ErasedSubject::Named(subject.as_deref().unwrap_or_default()),
        };
        ledger.erase(&bitacora_ledger::ErasureRequest { subject, authority, by, reason, actor })
    });
    let erased = erased.await.map_err(|_| {
        Problem::new(Code::Internal, "the erasure did not end; repeat it, or restart the service")
    });
    // Whatever came of it: what followers are sent is read again, as far as it is still readable.
    act.api.tails.forget(act.ledger.id());
    let Erasure { key, position, memory } = erased??;
    let anchor = match memory {
        ErasureMemory::NoAnchor => ErasureMemoryAnswer::None,
        ErasureMemory::Remembered => ErasureMemoryAnswer::Remembered,
        ErasureMemory::Pending => ErasureMemoryAnswer::Pending,
    };
    let answer = ErasureAnswer { position: position.to_string(), key: key.to_string(), anchor };
    let mut response = json_answer(&act.ledger.head(), &answer)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

impl From<EraseError> for Problem {
    fn from(error: EraseError) -> Self {
        let detail = error.to_string();
        match error {
            EraseError::Unknown => Self::new(Code::SubjectUnknown, detail),
            EraseError::UnknownOfEvent { position } => {
                Self::new(Code::SubjectUnknown, detail).with("position", position)
            }
            EraseError::OtherSubject { position } => {
                Self::new(Code::SubjectDiffers, detail).with("position", position)
            }
            EraseError::NamesSubject { .. } => Self::new(Code::NameInReason, detail),
            EraseError::OlderName { position } => {
                Self::new(Code::SubjectKeyDamaged, detail).with("position", position)
            }
            EraseError::Held { position, .. } => Self::new(Code::Held, detail).with("position", position),
            EraseError::HoldsUnknown { position } => {
                Self::new(Code::ReactorBroken, detail).with("position", position)
            }
            EraseError::Event(error) | EraseError::HoldsUnread(error) => {
                Self::new(code_named(error.code()), detail)
            }
            EraseError::TooMany => Self::new(Code::TooManyErasures, detail),
            EraseError::Append(error) => error.into(),
            EraseError::Unfinished { position, source } => {
                tracing::error!(%position, error = %source, "an erasure is recorded, and its key's file may still be there");
                let problem = Self::new(Code::ErasureUnfinished, detail).with("position", position);
                problem.with_side_effects(SideEffects::Committed)
            }
        }
    }
}
