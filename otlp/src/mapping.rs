//! The event that a record becomes.
//!
//! An attribute whose meaning is known becomes a member of the data. All others are kept in `attributes` as they came, and so
//! is one whose value does not fit its member.

mod attributes;
mod data;
mod kind;
mod names;
mod time;

use sha2::{Digest, Sha256};

use self::attributes::AttributeReader;
use self::data::{TelemetryData, write_data};
use self::kind::RecordKind;
use self::time::rfc3339;
use crate::error::RecordFault;
use crate::limits::MAX_OTLP_DATA_BYTES;
use crate::record::{ExportedRecord, RecordContext, Signal};
use bitacora_formats::limits::{MAX_ATTRIBUTE_BYTES, MAX_STREAM_BYTES};
use bitacora_formats::text_problem;

/// The beginning of the streams of telemetry. Sessions and services have streams, traces have none: a ledger holds the tip of
/// each stream in memory.
const STREAM_PREFIX: &str = "telemetry/";
/// The stream of records whose sender names neither session nor service.
const UNNAMED_STREAM: &str = "telemetry/unnamed";
/// Bytes of a digest that is the id of a log record.
const LOG_ID_BYTES: usize = 16;
/// The flags of a trace in `traceparent`: the lowest byte.
const TRACE_FLAGS: u32 = 0xff;

/// The outcome of mapping a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MappedRecord {
    /// An event.
    Event(Box<Telemetry>),
    /// Nothing: it tells nothing about an agent.
    Skipped,
    /// Nothing: the record has a fault.
    Rejected(RecordFault),
}

/// An event of telemetry, without its source and sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telemetry {
    /// The id, the same for every delivery of the record: trace and span, or a digest.
    pub id: String,
    /// The type of the event.
    pub kind: &'static str,
    /// The stream.
    pub stream: String,
    /// The time that the sender reports.
    pub time: Option<String>,
    /// The agent that the record names.
    pub agent: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The trace, as the run.
    pub run: Option<String>,
    /// The call.
    pub call: Option<String>,
    /// The place in the trace (W3C Trace Context).
    pub traceparent: Option<String>,
    /// The data, as JSON.
    pub data: Vec<u8>,
}

/// Returns what becomes of a record.
pub(crate) fn mapped(signal: Signal, context: &RecordContext, record: &ExportedRecord<'_>) -> MappedRecord {
    let ids = record.trace.zip(record.span);
    if signal == Signal::Traces && ids.is_none() {
        return MappedRecord::Rejected(RecordFault::NoIds);
    }
    let mut attributes = AttributeReader::new(&record.attributes);
    let Some(kind) = RecordKind::of(signal, record, &attributes) else { return MappedRecord::Skipped };
    let data = TelemetryData::read(signal, kind, context, record, &mut attributes);
    let mut json = Vec::with_capacity(512);
    write_data(&data, &attributes, &mut json);
    if json.len() > MAX_OTLP_DATA_BYTES {
        return MappedRecord::Rejected(RecordFault::TooLarge);
    }
    let time = match signal {
        Signal::Logs if record.time == 0 => rfc3339(record.end),
        _ => rfc3339(record.time),
    };
    let session = data.session.or(context.session.as_deref());
    let run = record.trace.map(|trace| hex_of(&trace));
    let ids = run.as_deref().zip(record.span.map(|span| hex_of(&span)));
    let id = match (signal, &ids) {
        (Signal::Traces, Some((trace, span))) => [trace, "-", span].concat(),
        _ => log_id(kind, record, session, &json),
    };
    let traceparent = ids.map(|(trace, span)| {
        let flags = u8::try_from(record.flags & TRACE_FLAGS).unwrap_or_default();
        ["00-", trace, "-", &span, "-", &hex_of(&[flags])].concat()
    });
    MappedRecord::Event(Box::new(Telemetry {
        id,
        kind: kind.event_type(),
        stream: stream(session, context.service.as_deref()),
        time,
        agent: label(data.found_by),
        session: label(session),
        call: label(data.call),
        traceparent,
        run,
        data: json,
    }))
}

/// Returns bytes as hexadecimal digits. It is called several times for each span, so it makes one allocation.
fn hex_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 0xf] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or_default());
        }
    }
    text
}

/// The id of a log record: a digest of all that is kept of it, so that a repeated delivery has the same.
fn log_id(kind: RecordKind, record: &ExportedRecord<'_>, session: Option<&str>, data: &[u8]) -> String {
    let mut digest = Sha256::new();
    for part in [kind.event_type(), session.unwrap_or_default()] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    // The time at which a collector saw a record is another at each delivery.
    digest.update(record.time.to_le_bytes());
    digest.update(record.trace.unwrap_or_default());
    digest.update(record.span.unwrap_or_default());
    digest.update(data);
    let digest = digest.finalize();
    format!("log-{}", hex::encode(digest.get(..LOG_ID_BYTES).unwrap_or_default()))
}

/// The stream of a session, or else of a service.
fn stream(session: Option<&str>, service: Option<&str>) -> String {
    let name = session.or(service).map(|name| format!("{STREAM_PREFIX}{name}"));
    name.filter(|name| text_problem(name, MAX_STREAM_BYTES).is_none())
        .unwrap_or_else(|| UNNAMED_STREAM.to_owned())
}

/// A text as an attribute of an event, if it can be one.
fn label(text: Option<&str>) -> Option<String> {
    text.filter(|text| text_problem(text, MAX_ATTRIBUTE_BYTES).is_none()).map(str::to_owned)
}
