//! Requests in JSON, by the rules of OTLP/JSON: names in lowerCamelCase, ids in hex, 64-bit numbers as texts or numbers,
//! enumerations as numbers, and unknown members ignored.
//!
//! Lists are gone through element by element, each parsed on its own, so that no more than one record is held.

mod elements;
mod scalars;
mod values;

use std::ops::ControlFlow;

use serde::Deserialize;
use serde_json::value::RawValue;

use self::elements::{NestingMeasure, each};
use self::scalars::{JsonInt, JsonText};
use self::values::{JsonAttribute, JsonValue};
use crate::error::{MalformedRequest, RecordFault};
use crate::limits::{MAX_JSON_RECORD_DEPTH, MAX_JSON_RECORD_OBJECTS, MAX_OTLP_ATTRIBUTES};
use crate::record::{ExportedRecord, RecordContext, Signal, StatusCode, id_of};
use crate::request::OnRecord;
use crate::value::Attribute;

/// Objects and arrays that may lie within one another in a request. A parser remembers each.
const MAX_JSON_REQUEST_DEPTH: usize = 1_024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonRequest<'a> {
    #[serde(borrow, default)]
    resource_spans: Option<&'a RawValue>,
    #[serde(borrow, default)]
    resource_logs: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonGroup<'a> {
    #[serde(borrow, default)]
    resource: Option<&'a RawValue>,
    #[serde(borrow, default)]
    scope_spans: Option<&'a RawValue>,
    #[serde(borrow, default)]
    scope_logs: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonScope<'a> {
    #[serde(borrow, default)]
    scope: Option<JsonScopeName<'a>>,
    #[serde(borrow, default)]
    spans: Option<&'a RawValue>,
    #[serde(borrow, default)]
    log_records: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct JsonScopeName<'a> {
    #[serde(borrow, default)]
    name: JsonText<'a>,
}

#[derive(Deserialize)]
struct JsonResource<'a> {
    #[serde(borrow, default)]
    attributes: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawAttribute<'a> {
    #[serde(borrow, default)]
    key: JsonText<'a>,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

/// A span or a log record: the members of both.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonRecord<'a> {
    #[serde(borrow, default)]
    trace_id: JsonText<'a>,
    #[serde(borrow, default)]
    span_id: JsonText<'a>,
    #[serde(borrow, default)]
    parent_span_id: JsonText<'a>,
    #[serde(borrow, default)]
    name: JsonText<'a>,
    #[serde(borrow, default)]
    event_name: JsonText<'a>,
    #[serde(default)]
    start_time_unix_nano: JsonInt,
    #[serde(default)]
    end_time_unix_nano: JsonInt,
    #[serde(default)]
    time_unix_nano: JsonInt,
    #[serde(default)]
    observed_time_unix_nano: JsonInt,
    #[serde(default)]
    flags: JsonInt,
    #[serde(borrow, default)]
    status: Option<JsonStatus<'a>>,
    #[serde(borrow, default)]
    body: JsonValue<'a>,
    #[serde(borrow, default)]
    attributes: Option<Vec<JsonAttribute<'a>>>,
}

#[derive(Deserialize)]
struct JsonStatus<'a> {
    #[serde(borrow, default)]
    message: JsonText<'a>,
    #[serde(default)]
    code: JsonInt,
}

/// Gives every record to `on_record`, until that breaks.
pub(crate) fn walk(
    signal: Signal,
    body: &[u8],
    on_record: &mut OnRecord<'_>,
) -> Result<(), MalformedRequest> {
    let text =
        std::str::from_utf8(body).map_err(|error| MalformedRequest::NotUtf8 { at: error.valid_up_to() })?;
    if NestingMeasure::of(text).depth > MAX_JSON_REQUEST_DEPTH {
        let fault = format!("it nests deeper than {MAX_JSON_REQUEST_DEPTH}");
        return Err(MalformedRequest::NotJson(fault));
    }
    let request: JsonRequest<'_> = object(text)?;
    let groups = match signal {
        Signal::Traces => request.resource_spans,
        Signal::Logs => request.resource_logs,
    };
    let walked = each(groups, &mut |group| {
        let group: JsonGroup<'_> = object(group.get())?;
        let resource = resource_context(group.resource)?;
        let scopes = match signal {
            Signal::Traces => group.scope_spans,
            Signal::Logs => group.scope_logs,
        };
        each(scopes, &mut |scope| walk_scope(signal, &resource, scope, on_record))
    });
    walked.map(|_| ())
}

fn walk_scope(
    signal: Signal,
    resource: &RecordContext,
    scope: &RawValue,
    on_record: &mut OnRecord<'_>,
) -> Result<ControlFlow<()>, MalformedRequest> {
    let scope: JsonScope<'_> = object(scope.get())?;
    let context = match &scope.scope {
        Some(JsonScopeName { name }) => resource.in_scope(&name.0),
        None => resource.clone(),
    };
    let records = match signal {
        Signal::Traces => scope.spans,
        Signal::Logs => scope.log_records,
    };
    each(records, &mut |raw| {
        let measure = NestingMeasure::of(raw.get());
        let record = if measure.depth > MAX_JSON_RECORD_DEPTH {
            Err(RecordFault::TooDeep)
        } else if measure.objects > MAX_JSON_RECORD_OBJECTS {
            Err(RecordFault::TooManyValues)
        } else {
            record(signal, object(raw.get())?)
        };
        Ok(on_record(&context, record))
    })
}

/// Reads the attributes of a resource that are wanted; the others are JSON, and no more is asked of them.
fn resource_context(resource: Option<&RawValue>) -> Result<RecordContext, MalformedRequest> {
    let mut context = RecordContext::default();
    let Some(resource) = resource else { return Ok(context) };
    let resource: JsonResource<'_> = object(resource.get())?;
    let walked = each(resource.attributes, &mut |raw| {
        let RawAttribute { key, value } = object(raw.get())?;
        if let Some(value) = value.filter(|_| RecordContext::wants(&key.0))
            && NestingMeasure::of(value.get()).depth <= MAX_JSON_RECORD_DEPTH
        {
            context.keep(&key.0, &object::<JsonValue<'_>>(value.get())?.0);
        }
        Ok(ControlFlow::Continue(()))
    });
    walked.map(|_| context)
}

fn record<'a>(signal: Signal, from: JsonRecord<'a>) -> Result<ExportedRecord<'a>, RecordFault> {
    let attributes = from.attributes.unwrap_or_default();
    if attributes.len() > MAX_OTLP_ATTRIBUTES {
        return Err(RecordFault::TooManyAttributes);
    }
    let (name, time, end) = match signal {
        Signal::Traces => (from.name, from.start_time_unix_nano, from.end_time_unix_nano),
        Signal::Logs => (from.event_name, from.time_unix_nano, from.observed_time_unix_nano),
    };
    let status = from.status.unwrap_or(JsonStatus { message: JsonText::default(), code: JsonInt(0) });
    Ok(ExportedRecord {
        name: name.0,
        trace: id_of(&id_bytes(&from.trace_id)),
        span: id_of(&id_bytes(&from.span_id)),
        parent: id_of(&id_bytes(&from.parent_span_id)),
        flags: u32::try_from(from.flags.0).unwrap_or_default(),
        time: time.nanoseconds(),
        end: end.nanoseconds(),
        status: StatusCode::of(u64::try_from(status.code.0).unwrap_or_default()),
        message: status.message.0,
        body: from.body.0,
        attributes: attributes.into_iter().map(Attribute::from).collect(),
    })
}

/// Hex digits as bytes; what is no hex is no id.
fn id_bytes(text: &JsonText<'_>) -> Vec<u8> {
    hex::decode(&*text.0).unwrap_or_default()
}

/// Reads an object. A list in its place would read as its members.
fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, MalformedRequest> {
    if !text.trim_start().starts_with('{') {
        return Err(MalformedRequest::NotJson(
            "found a value that is no object, expected an object".to_owned(),
        ));
    }
    serde_json::from_str(text).map_err(|error| not_json(&error))
}

fn not_json(error: &serde_json::Error) -> MalformedRequest {
    MalformedRequest::NotJson(error.to_string())
}
