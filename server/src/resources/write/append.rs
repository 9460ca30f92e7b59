//! `POST …/events` and `POST …/streams/{stream}/events`: append events, all of them or none.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bitacora_formats::{BodyForm, Event, parse_events};
use bitacora_ledger::{
    AppendCondition, AppendReceipt, AppendRequest, ExpectedVersion, PendingAppend, ReceiptStatus,
};
use bitacora_projector::IndexedLedger;
use tokio::time::Instant;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::body::BufferedBody;
use crate::http::media::{JSON, media_type};
use crate::http::path::PathNames;
use crate::http::preconditions::{append_condition, expected_version, version_tag};
use crate::json::JsonWriter;
use crate::limits::INLINE_BODY_BYTES;
use crate::problem::{Code, Problem};
use crate::requests::binary_mode::{MAX_WRITTEN_BYTES, is_binary, structured};
use crate::requests::read_request::set_ledger_position;
use crate::resources::description::{InLedger, Refusals};
use crate::resources::write::preferences::Preference;
use bitacora_api::{AppendAnswer, paths};

/// The size of one event's receipt in an answer, about, bytes.
const RECEIPT_BYTES: usize = 220;

/// An append as it came, apart from the connection.
struct Append {
    caller: Caller,
    ledger: IndexedLedger,
    body: BufferedBody,
    form: BodyForm,
    stream: Option<String>,
    expected: Option<ExpectedVersion>,
    condition: Option<AppendCondition>,
}

#[utoipa::path(
    post,
    path = paths::EVENTS,
    tag = "append",
    operation_id = "append",
    params(
        InLedger,
        ("If-Match" = Option<String>, Header, description = "The stream's expected version: `\"v17\"`"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: the stream must not exist yet"),
        ("Bitacora-Append-Condition" = Option<String>, Header, description = "`{\"failIfEventsMatch\":{\"types\":[],\"tags\":[]},\"after\":\"17\"}`: no event past `after` may be of one of the types and carry all the tags"),
        ("Content-Encoding" = Option<String>, Header, description = "`gzip` or `zstd`"),
        ("Prefer" = Option<String>, Header, description = "`signed` or `witnessed`: answer once a tree head covers the events that is signed, or cosigned by enough witnesses; `wait=10` bounds it in seconds. `Preference-Applied` says that it was met"),
    ),
    request_body(
        description = "CloudEvents 1.0: at most 1,000, and at most 4 MiB also when decompressed. One event may come in binary mode instead: its attributes in `ce-` headers, its data as the body with its own Content-Type",
        content(
            (Object = "application/cloudevents+json"),
            (Vec<Object> = "application/cloudevents-batch+json"),
            (String = "application/x-ndjson"),
            (Object = "application/json"),
        )
    ),
    responses(
        (status = 201, description = "Appended and synced to disk", body = AppendAnswer),
        (status = 200, description = "All were duplicates; the answer is the original one", body = AppendAnswer),
        Refusals,
    )
)]
pub(crate) async fn append(
    State(api): State<Arc<Api>>,
    caller: Caller,
    names: PathNames,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let ledger = api.ledger_of(&names)?;
    let is_binary = is_binary(&headers);
    let form = if is_binary { BodyForm::Structured } else { body_form(&headers)? };
    let expected = expected_version(&headers)?;
    let condition = append_condition(&headers)?;
    let preference = Preference::read(&headers);
    let mut body = api.bodies.read(caller.lane(), caller.key(), &headers, body).await?;
    if is_binary {
        body = body.rewritten(MAX_WRITTEN_BYTES, |bytes| structured(&headers, bytes)).await?;
    }
    let of_one_stream = names.stream.is_some();
    // The body may have been on its way for minutes.
    caller.still_holds(&api.authenticator)?;
    let of_ledger = ledger.clone();
    let append = Append { caller, ledger, body, form, stream: names.stream, expected, condition };
    let began = Instant::now();
    let pending = append.submit().await?;
    let appended = pending.await;
    api.metrics.observe_append(of_ledger.ledger(), began.elapsed());
    let appended = appended?;
    api.metrics.count_append(of_ledger.ledger(), &appended);
    let mut answer = answer(&appended, of_one_stream);
    preference.apply(&api, of_ledger.ledger(), appended.last, &mut answer).await;
    Ok(answer)
}

impl Append {
    /// Parses, checks and seals; the ledger has it when this returns. The body is let go then.
    async fn submit(self) -> Result<PendingAppend, Problem> {
        if self.body.as_slice().len() <= INLINE_BODY_BYTES && self.condition.is_none() {
            let events = self.parse()?;
            if !events.iter().any(|event| event.datasubject.is_some()) {
                return self.send(events);
            }
        }
        // Large bodies take long, a condition may be looked up on the disk, and so may a data subject's key.
        let submitted = tokio::task::spawn_blocking(move || self.send(self.parse()?)).await;
        submitted
            .unwrap_or_else(|_| Err(Problem::new(Code::Internal, "the append failed on a defect; repeat it")))
    }

    fn parse(&self) -> Result<Vec<Event<'_>>, Problem> {
        let mut events = parse_events(self.body.as_slice(), self.form, self.stream.as_deref())?;
        self.caller.sign(&mut events)?;
        Ok(events)
    }

    fn send(&self, events: Vec<Event<'_>>) -> Result<PendingAppend, Problem> {
        let request = AppendRequest { events, expected: self.expected, condition: self.condition.clone() };
        Ok(self.ledger.append(request)?)
    }
}

fn body_form(headers: &HeaderMap) -> Result<BodyForm, Problem> {
    match media_type(headers)?.as_str() {
        "application/json" => Ok(BodyForm::Json),
        "application/cloudevents+json" => Ok(BodyForm::Structured),
        "application/cloudevents-batch+json" => Ok(BodyForm::Batch),
        "application/x-ndjson" | "application/ndjson" => Ok(BodyForm::Ndjson),
        _ => Err(Problem::new(
            Code::UnsupportedMediaType,
            "events are sent as application/cloudevents+json, application/cloudevents-batch+json, \
             application/x-ndjson or application/json, or one with its attributes in `ce-` headers",
        )),
    }
}

fn answer(appended: &AppendReceipt, of_one_stream: bool) -> Response {
    let mut json =
        JsonWriter::with_capacity(192 + RECEIPT_BYTES * (appended.results.len() + appended.derived.len()));
    json.begin_object();
    json.place_member("first", appended.first.get());
    json.place_member("last", appended.last.get());
    json.key("results");
    json.begin_array();
    for result in &appended.results {
        json.begin_object();
        json.text_member("id", &result.id);
        json.place_member("position", result.position.get());
        json.place_member("streamVersion", result.stream_version.get());
        json.hex_member("commitment", &result.commitment.0);
        json.text_member(
            "status",
            match result.status {
                ReceiptStatus::Created => "created",
                ReceiptStatus::Duplicate => "duplicate",
            },
        );
        json.end_object();
    }
    json.end_array();
    json.key("derived");
    json.begin_array();
    for derived in &appended.derived {
        json.begin_object();
        json.text_member("id", &derived.id);
        json.text_member("type", &derived.kind);
        json.text_member("stream", &derived.stream);
        json.place_member("position", derived.position.get());
        json.place_member("streamVersion", derived.stream_version.get());
        json.hex_member("commitment", &derived.commitment.0);
        json.end_object();
    }
    json.end_array();
    json.key("head");
    json.begin_object();
    json.place_member("position", appended.head.position.get());
    json.hex_member("hash", &appended.head.hash.0);
    json.end_object();
    json.end_object();

    let mut response = Response::new(Body::from(json.into_bytes()));
    *response.status_mut() = if appended.only_duplicates() { StatusCode::OK } else { StatusCode::CREATED };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, JSON);
    set_ledger_position(headers, &appended.head);
    let version = appended.results.iter().map(|result| result.stream_version).max();
    let tag = version.filter(|_| of_one_stream).map(version_tag);
    if let Some(tag) = tag.and_then(|tag| HeaderValue::try_from(tag).ok()) {
        headers.insert(header::ETAG, tag);
    }
    response
}
