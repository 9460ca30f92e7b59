//! `POST …/contents`: content stored ahead of the checkpoint that names it.
//! It is for content that is too large for one request.

use axum::response::Response;
use bitacora_formats::MAX_CONTENT_BYTES;
use bitacora_vocabulary::Name;

use crate::http::media::{JSON, media_type};
use crate::http::query::bad_query;
use crate::json::json_of;
use crate::problem::{Code, Problem};
use crate::requests::act::Act;
use crate::requests::read_request::{NO_STORE, answer_at};
use crate::resources::description::{InLedger, Refusals};
use crate::resources::write::content_pieces::Contents;
use bitacora_api::{ContentStoredAnswer, paths};

#[utoipa::path(
    post,
    path = paths::CONTENTS,
    tag = "checkpoints",
    operation_id = "storeContent",
    params(
        InLedger,
        ("datasubject" = Option<String>, Query, description = "Whose data it is: it is sealed under that person's key"),
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "Up to 4 MiB; of what is larger, parts of that size, whose pieces are named one behind the other"),
    responses(
        (status = 200, description = "Recorded, where it was not already", body = ContentStoredAnswer),
        Refusals,
    )
)]
pub(crate) async fn store(mut act: Act) -> Result<Response, Problem> {
    let subject =
        act.query(|query| query.take("datasubject").map(|subject| subject.map(Into::<String>::into)))?;
    let subject =
        subject.map(Name::new).transpose().map_err(|error| bad_query("datasubject", &error.to_string()))?;
    if media_type(&act.headers)? != "application/octet-stream" {
        return Err(Problem::new(Code::UnsupportedMediaType, "the body is application/octet-stream"));
    }
    let body = act.bytes().await?;
    act.caller.still_holds(&act.api.authenticator)?;
    let (api, ledger) = (act.api, act.ledger);
    let of = ledger.clone();
    let sent = api.read(move || {
        debug_assert!(body.as_slice().len() <= MAX_CONTENT_BYTES, "a body is smaller than a content");
        let mut contents = Contents::new(subject);
        let named = contents.cut(&of, None, body.as_slice())?;
        // Pieces that are recorded already cost the log nothing; the model only saves the way there.
        contents.look_up(&of)?;
        Ok((named, body.as_slice().len() as u64, contents.send(&of, None)?))
    });
    let (named, bytes, pending) = sent.await?;
    for append in pending {
        api.metrics.count_append(ledger.ledger(), &append.await?);
    }
    let answer = ContentStoredAnswer { pieces: named.into_pieces(), bytes };
    let json = json_of(&answer)?;
    Ok(answer_at(&ledger.head(), JSON, NO_STORE, json.into()))
}
