//! Events of the Open Cybersecurity Schema Framework (schema.ocsf.io), one a line.
//!
//! Calls, decisions and their outcomes are events of the class API Activity. All others are events of the base class. The members of an
//! event that the class has no attribute for stand in `unmapped`, its data in `raw_data`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bitacora_formats::{Micros, parse_time};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::call_facts::CallFacts;
use crate::stored_row::{StoredRow, TextField};

/// The version of the schema.
pub const OCSF_VERSION: &str = "1.8.0";
/// The profile with the members about what was allowed.
const SECURITY_CONTROL: &str = "security_control";
/// Microseconds of a millisecond, the unit of the schema's times.
const MICROS_PER_MILLI: u64 = 1_000;
/// The value of an enumeration that a text beside it names.
const OTHER: u32 = 99;

/// An event. A member without a value is left out.
#[derive(Serialize)]
struct OcsfEvent<'a> {
    activity_id: u32,
    activity_name: &'a str,
    category_uid: u32,
    category_name: &'static str,
    class_uid: u32,
    class_name: &'static str,
    type_uid: u32,
    time: u64,
    severity_id: u32,
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_code: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_detail: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<Actor<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api: Option<Api<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    src_endpoint: Option<Named<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<Named<'a>>,
    #[serde(flatten)]
    control: Option<Control<'a>>,
    metadata: Metadata<'a>,
    unmapped: Unmapped<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_data: Option<&'a str>,
}

#[derive(Serialize)]
struct Actor<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<Named<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Identified<'a>>,
    app_name: &'a str,
}

#[derive(Serialize)]
struct Api<'a> {
    operation: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Identified<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Response<'a>>,
}

#[derive(Serialize)]
struct Response<'a> {
    error: Cow<'a, str>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: Cow<'a, str>,
}

#[derive(Serialize)]
struct Identified<'a> {
    uid: Cow<'a, str>,
}

/// The members of the profile `security_control`.
#[derive(Serialize)]
struct Control<'a> {
    action_id: u32,
    action: &'a str,
    disposition_id: u32,
    disposition: &'a str,
}

#[derive(Serialize)]
struct Metadata<'a> {
    version: &'static str,
    profiles: &'static [&'static str],
    product: Product,
    event_code: &'a str,
    uid: &'a str,
    log_name: &'a str,
    logged_time: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_time: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_uid: Option<&'a str>,
}

#[derive(Serialize)]
struct Product {
    name: &'static str,
    vendor_name: &'static str,
    version: &'static str,
}

/// The members that tie the event to its ledger, and its attributes without a place in the class.
#[derive(Serialize)]
struct Unmapped<'a> {
    position: &'a str,
    stream_version: &'a str,
    commitment: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    derived: bool,
    #[serde(skip_serializing_if = "is_false")]
    erased: bool,
    #[serde(skip_serializing_if = "is_false")]
    expired: bool,
    #[serde(skip_serializing_if = "is_false")]
    unreadable: bool,
    #[serde(flatten)]
    attributes: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extensions: BTreeMap<&'a str, &'a RawValue>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Attributes of an event that no member of the class holds.
const UNMAPPED: [(TextField, &str); 10] = [
    (TextField::Id, "id"),
    (TextField::Source, "source"),
    (TextField::Agent, "agent"),
    (TextField::Run, "run"),
    (TextField::Call, "call"),
    (TextField::CausationId, "causationid"),
    (TextField::TraceParent, "traceparent"),
    (TextField::DataSubject, "datasubject"),
    (TextField::Tags, "tags"),
    (TextField::DataBase64, "data_base64"),
];

/// Attributes that the class API Activity has a member for, and the base class none.
const BASE_UNMAPPED: [(TextField, &str); 2] = [(TextField::Actor, "actor"), (TextField::Session, "session")];

/// The severity of an event, by its number in the schema.
#[derive(Clone, Copy)]
enum Severity {
    Informational = 1,
    Low = 2,
    Medium = 3,
}

/// Appends the line of a row.
pub(crate) fn write_row(row: &StoredRow<'_>, facts: &CallFacts<'_>, out: &mut Vec<u8>) {
    let kind = row.event.kind();
    let is_call = kind.starts_with("tool.") && facts.call().is_some() || kind == "decision.made";
    let control = control(kind, facts);
    let (status_id, severity) = status(kind, facts);
    let (category_uid, category_name, class_uid, class_name) = if is_call {
        (6, "Application Activity", 6003, "API Activity")
    } else {
        (0, "Uncategorized", 0, "Base Event")
    };
    let time = parse_time(&row.recorded_at).map_or(0, |Micros(micros)| micros / MICROS_PER_MILLI);
    let event = OcsfEvent {
        activity_id: OTHER,
        activity_name: kind,
        category_uid,
        category_name,
        class_uid,
        class_name,
        type_uid: class_uid * 100 + OTHER,
        time,
        severity_id: severity as u32,
        severity: match severity {
            Severity::Informational => "Informational",
            Severity::Low => "Low",
            Severity::Medium => "Medium",
        },
        status_id,
        status: facts.status().filter(|_| status_id.is_some()),
        status_code: facts.reason_code().or_else(|| facts.error_type()).filter(|_| is_call),
        status_detail: facts.reason().filter(|_| is_call),
        duration: facts.duration_ms().filter(|_| is_call),
        actor: is_call.then(|| actor(row)),
        api: is_call.then(|| api(facts, row)),
        src_endpoint: is_call.then(|| Named { name: source(row).into() }),
        policy: facts.rule().filter(|_| is_call).map(|name| Named { name }),
        metadata: metadata(row, time, control.is_some()),
        control,
        unmapped: unmapped(row, is_call),
        raw_data: row.event.data.map(RawValue::get),
    };
    // Texts and numbers are all that is in it, so it can be written.
    let _written = serde_json::to_writer(&mut *out, &event).is_ok();
    out.push(b'\n');
}

fn metadata<'a>(row: &'a StoredRow<'_>, time: u64, is_controlled: bool) -> Metadata<'a> {
    Metadata {
        version: OCSF_VERSION,
        profiles: if is_controlled { &[SECURITY_CONTROL] } else { &[] },
        product: Product { name: "Bitacora", vendor_name: "Bitacora", version: env!("CARGO_PKG_VERSION") },
        event_code: row.event.kind(),
        uid: &row.position,
        log_name: row.event.text(TextField::Subject).unwrap_or_default(),
        logged_time: time,
        original_time: row.event.text(TextField::Time),
        correlation_uid: row.event.text(TextField::CorrelationId),
    }
}

fn actor<'a>(row: &'a StoredRow<'_>) -> Actor<'a> {
    Actor {
        user: row.event.text(TextField::Actor).map(|name| Named { name: name.into() }),
        session: row.event.text(TextField::Session).map(|uid| Identified { uid: uid.into() }),
        app_name: source(row),
    }
}

/// Returns the agent, or the event's source where it names none.
fn source<'a>(row: &'a StoredRow<'_>) -> &'a str {
    let event = &row.event;
    event.text(TextField::Agent).or_else(|| event.text(TextField::Source)).unwrap_or_default()
}

fn api<'a>(facts: &'a CallFacts<'_>, row: &'a StoredRow<'_>) -> Api<'a> {
    let call = facts.call().or_else(|| row.event.text(TextField::Call).map(Into::into));
    Api {
        operation: facts.tool().unwrap_or_else(|| row.event.kind().into()),
        request: call.map(|uid| Identified { uid }),
        response: facts.error_type().map(|error| Response { error }),
    }
}

/// Returns what was allowed: of a decision that was enforced, or only recorded, and of a call that was blocked.
fn control(kind: &str, facts: &CallFacts<'_>) -> Option<Control<'static>> {
    let control = |action_id, action, disposition_id, disposition| {
        Some(Control { action_id, action, disposition_id, disposition })
    };
    if kind == "tool.blocked" {
        return control(2, "Denied", 2, "Blocked");
    }
    if kind != "decision.made" {
        return None;
    }
    if facts.mode().as_deref() == Some("observe") {
        return control(3, "Observed", 17, "Logged");
    }
    match facts.verdict().as_deref()? {
        "allow" => control(1, "Allowed", 1, "Allowed"),
        "deny" => control(2, "Denied", 2, "Blocked"),
        _ => control(OTHER, "Review", OTHER, "Review"),
    }
}

/// Returns the status in the schema's numbers, and the severity.
fn status(kind: &str, facts: &CallFacts<'_>) -> (Option<u32>, Severity) {
    match kind {
        "tool.completed" => (Some(1), Severity::Informational),
        "tool.failed" => (Some(2), Severity::Low),
        "tool.blocked" => (Some(2), Severity::Medium),
        "decision.made" if facts.verdict().as_deref() == Some("deny") => (None, Severity::Medium),
        _ => (None, Severity::Informational),
    }
}

fn unmapped<'a>(row: &'a StoredRow<'_>, is_call: bool) -> Unmapped<'a> {
    let of_base = BASE_UNMAPPED.into_iter().filter(|_| !is_call);
    let attribute = |(field, name): (TextField, &'static str)| Some((name, row.event.text(field)?));
    Unmapped {
        position: &row.position,
        stream_version: &row.stream_version,
        commitment: &row.commitment,
        derived: row.derived,
        erased: row.erased,
        expired: row.is_expired(),
        unreadable: row.unreadable,
        attributes: UNMAPPED.into_iter().chain(of_base).filter_map(attribute).collect(),
        extensions: row.event.extensions.iter().map(|(name, value)| (&**name, *value)).collect(),
    }
}
