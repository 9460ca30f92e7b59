//! `…/holds`: legal holds, which win over erasures and the retention policy.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bitacora_api::{
    ActAnswer, HoldAnswer, HoldList, HoldPlacedAnswer, HoldReleaseRequest, HoldRequest, paths,
};
use bitacora_formats::format_time;
use bitacora_governance::Hold;
use bitacora_ledger::HoldError;
use bitacora_vocabulary::{EventPosition, FreeText, HoldReleased, Name, StreamName};
use tokio::sync::OwnedMutexGuard;

use crate::api::Api;
use crate::problem::{Code, Problem, quoted};
use crate::requests::act::Act;
use crate::requests::listing::{PageParams, written_page_at};
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};

#[utoipa::path(
    get,
    path = paths::HOLDS,
    tag = "operation",
    operation_id = "listHolds",
    params(
        InLedger,
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Those in force, by their ids", body = HoldList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let paging = PageParams::<Name>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let holds = copy.state.holds().iter();
    let behind = holds.filter(|(id, _)| paging.after.as_ref().is_none_or(|after| *id > after));
    let page = paging.page(behind, |(id, _)| (*id).clone());
    let holds = page.items.into_iter().map(listed).collect();
    written_page_at(&request, head.position, &HoldList { holds, next: page.next })
}

fn listed((id, hold): (&Name, &Hold)) -> HoldAnswer {
    HoldAnswer {
        hold: id.to_string(),
        scope: (&hold.scope).into(),
        position: hold.position.get().to_string(),
        time: format_time(hold.time),
        by: hold.by.as_ref().map(ToString::to_string),
        reason: hold.reason.to_string(),
    }
}

/// Places a legal hold. An erasure that begins once it is answered does not destroy what it covers.
#[utoipa::path(
    post,
    path = paths::HOLDS,
    tag = "operation",
    operation_id = "placeHold",
    params(InLedger),
    request_body(content = HoldRequest),
    responses(
        (status = 201, description = "Recorded, and in force", body = HoldPlacedAnswer),
        Refusals,
    )
)]
pub(crate) async fn place(mut act: Act) -> Result<Response, Problem> {
    let (hold, subject, first, last, stream, reason, by) = act
        .read(|members| {
            let (first, last) = (members.take("first")?, members.take("last")?);
            let (first, last): (Option<EventPosition>, Option<EventPosition>) = (first, last);
            let (hold, subject) = (members.require::<Name>("hold")?, members.take::<String>("subject")?);
            let (stream, by) = (members.take::<StreamName>("stream")?, members.take::<Name>("by")?);
            Ok((hold, subject, first, last, stream, members.require::<FreeText>("reason")?, by))
        })
        .await?;
    act.query(|_| Ok(()))?;
    let turn = act.custody_turn().await;
    act.caller.still_holds(&act.api.authenticator)?;
    let (ledger, actor) = (act.ledger.ledger().clone(), act.caller.actor().to_owned());
    let named = hold.to_string();
    let unknown = stream.clone().filter(|stream| act.ledger.stream_tip(stream.as_str()).is_none());
    let warning = unknown.map(|stream| {
        let stream = quoted(stream.as_str());
        format!("no event is in stream {stream} yet; names of streams are compared byte for byte")
    });
    let placed = blocking(turn, move || {
        let (subject, actor) = (subject.as_deref(), Some(actor.as_str()));
        let request = bitacora_ledger::HoldRequest { hold, subject, first, last, stream, reason, by, actor };
        ledger.place_hold(request).map_err(Problem::from)
    });
    let position = placed.await?.to_string();
    let mut response = json_answer(&act.ledger.head(), &HoldPlacedAnswer { position, hold: named, warning })?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

#[utoipa::path(
    delete,
    path = paths::HOLD,
    tag = "operation",
    operation_id = "releaseHold",
    params(
        InLedger,
        ("hold" = String, Path, description = "Its id"),
    ),
    request_body(content = HoldReleaseRequest),
    responses(
        (status = 200, description = "Recorded: it is in force no longer", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn release(mut act: Act) -> Result<Response, Problem> {
    let hold = Name::new(act.named())
        .map_err(|_| Problem::new(Code::NoSuchGoverned, "there is no such hold; `…/holds` lists them"))?;
    let (reason, by) =
        act.read(|members| Ok((members.require::<FreeText>("reason")?, members.take::<Name>("by")?))).await?;
    act.query(|_| Ok(()))?;
    let turn = act.custody_turn().await;
    act.caller.still_holds(&act.api.authenticator)?;
    let (ledger, actor) = (act.ledger.ledger().clone(), act.caller.actor().to_owned());
    let released =
        blocking(turn, move || Ok(ledger.release_hold(&HoldReleased { hold, by, reason }, Some(&actor))?));
    json_answer(&act.ledger.head(), &ActAnswer { position: released.await?.to_string() })
}

/// Does an act that waits for the disk, and for an erasure that is under way. One thread at a time does so for a ledger: the turn lasts as
/// long as the act, also where its caller has left.
pub(super) async fn blocking<T: Send + 'static>(
    turn: OwnedMutexGuard<()>,
    act: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        act()
    });
    let done = done.await;
    done.map_err(|_| Problem::new(Code::Internal, "the act did not end; look at what is in force"))?
}

impl From<HoldError> for Problem {
    fn from(error: HoldError) -> Self {
        let detail = error.to_string();
        match error {
            HoldError::Gone => Self::new(Code::SubjectUnknown, detail),
            HoldError::NamesSubject { .. } => Self::new(Code::NameInReason, detail),
            HoldError::Ungoverned => Self::new(Code::NotGoverned, detail),
            HoldError::Append(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::turns::LedgerLocks;

    #[tokio::test]
    async fn an_act_has_its_turn_until_it_ends_though_its_caller_left() {
        let (turns, name) = (LedgerLocks::default(), "main".parse().unwrap());
        let (end, ended) = mpsc::channel();
        let act = blocking(turns.of(Some(&name)).await, move || Ok(ended.recv().is_ok()));
        let left = tokio::time::timeout(Duration::from_millis(20), act).await;
        assert!(left.is_err(), "it waits");
        let next = turns.of(Some(&name));
        tokio::pin!(next);
        assert!(tokio::time::timeout(Duration::from_millis(50), &mut next).await.is_err());
        end.send(()).unwrap();
        tokio::time::timeout(Duration::from_secs(10), next).await.unwrap();
    }
}
