//! Requests in protobuf: `ExportTraceServiceRequest` and `ExportLogsServiceRequest`.
//!
//! Both messages nest alike: the request has groups (field 1) with a resource (1) and scopes (2), each with a scope (1) and
//! records (2). Fields with another wire type than theirs are unknown ones, as in every reader of protobuf.

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::error::{MalformedRequest, RecordFault};
use crate::record::{ExportedRecord, RecordContext, Signal, StatusCode, ValueBudget, id_of};
use crate::request::OnRecord;
use crate::value::{AnyValue, Attribute};
use crate::wire::{Message, WireValue};

/// Gives every record to `on_record`, until that breaks.
pub(crate) fn walk(
    signal: Signal,
    body: &[u8],
    on_record: &mut OnRecord<'_>,
) -> Result<(), MalformedRequest> {
    for field in Message::whole(body).fields() {
        let (1, WireValue::Bytes(group)) = field? else { continue };
        let resource = match group.last_message(1)? {
            Some(resource) => resource_context(resource)?,
            None => RecordContext::default(),
        };
        for field in group.fields() {
            let (2, WireValue::Bytes(scope)) = field? else { continue };
            if walk_scope(signal, &resource, scope, on_record)?.is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn walk_scope(
    signal: Signal,
    resource: &RecordContext,
    scope: Message<'_>,
    on_record: &mut OnRecord<'_>,
) -> Result<ControlFlow<()>, MalformedRequest> {
    let context = match scope.last_message(1)? {
        Some(scope) => resource.in_scope(&scope_name(scope)?),
        None => resource.clone(),
    };
    for field in scope.fields() {
        let (2, WireValue::Bytes(message)) = field? else { continue };
        let record = match signal {
            Signal::Traces => span(message),
            Signal::Logs => log_record(message),
        };
        let record = match record {
            Ok(record) => Ok(record),
            Err(Fault::Record(fault)) => Err(fault),
            Err(Fault::Malformed(error)) => return Err(error),
        };
        if on_record(&context, record).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// A fault of the request, or of the record alone.
enum Fault {
    Malformed(MalformedRequest),
    Record(RecordFault),
}

impl From<MalformedRequest> for Fault {
    fn from(error: MalformedRequest) -> Self {
        Self::Malformed(error)
    }
}

impl From<RecordFault> for Fault {
    fn from(fault: RecordFault) -> Self {
        Self::Record(fault)
    }
}

/// Reads the attributes of a resource that are wanted, and only checks the others.
fn resource_context(resource: Message<'_>) -> Result<RecordContext, MalformedRequest> {
    let mut context = RecordContext::default();
    for field in resource.fields() {
        let (1, WireValue::Bytes(attribute)) = field? else { continue };
        let (mut key, mut value) = (Cow::Borrowed(""), None);
        for field in attribute.fields() {
            match field? {
                (1, WireValue::Bytes(text)) => key = text.text()?,
                (2, WireValue::Bytes(message)) => value = Some(message),
                _ => {}
            }
        }
        let Some(value) = value.filter(|_| RecordContext::wants(&key)) else { continue };
        // A value with a fault of its own is none that is wanted.
        match any_value(value, &mut ValueBudget::new(), 0) {
            Ok(value) => context.keep(&key, &value),
            Err(Fault::Record(_)) => {}
            Err(Fault::Malformed(error)) => return Err(error),
        }
    }
    Ok(context)
}

fn scope_name(scope: Message<'_>) -> Result<Cow<'_, str>, MalformedRequest> {
    match scope.last_message(1)? {
        Some(name) => name.text(),
        None => Ok(Cow::Borrowed("")),
    }
}

fn span(message: Message<'_>) -> Result<ExportedRecord<'_>, Fault> {
    let (mut record, mut budget) = (ExportedRecord::default(), ValueBudget::new());
    for field in message.fields() {
        match field? {
            (1, WireValue::Bytes(id)) => record.trace = id_of(id.bytes()),
            (2, WireValue::Bytes(id)) => record.span = id_of(id.bytes()),
            (4, WireValue::Bytes(id)) => record.parent = id_of(id.bytes()),
            (5, WireValue::Bytes(name)) => record.name = name.text()?,
            (7, WireValue::Fixed64(time)) => record.time = time,
            (8, WireValue::Fixed64(time)) => record.end = time,
            (9, WireValue::Bytes(of)) => record.attributes.push(record_attribute(of, &mut budget)?),
            (15, WireValue::Bytes(status)) => read_status(status, &mut record)?,
            (16, WireValue::Fixed32(flags)) => record.flags = flags,
            _ => {}
        }
    }
    Ok(record)
}

fn read_status<'a>(status: Message<'a>, record: &mut ExportedRecord<'a>) -> Result<(), MalformedRequest> {
    for field in status.fields() {
        match field? {
            (2, WireValue::Bytes(message)) => record.message = message.text()?,
            (3, WireValue::Varint(code)) => record.status = StatusCode::of(code),
            _ => {}
        }
    }
    Ok(())
}

fn log_record(message: Message<'_>) -> Result<ExportedRecord<'_>, Fault> {
    let (mut record, mut budget) = (ExportedRecord::default(), ValueBudget::new());
    for field in message.fields() {
        match field? {
            (1, WireValue::Fixed64(time)) => record.time = time,
            (5, WireValue::Bytes(body)) => record.body = any_value(body, &mut budget, 0)?,
            (6, WireValue::Bytes(of)) => record.attributes.push(record_attribute(of, &mut budget)?),
            (8, WireValue::Fixed32(flags)) => record.flags = flags,
            (9, WireValue::Bytes(id)) => record.trace = id_of(id.bytes()),
            (10, WireValue::Bytes(id)) => record.span = id_of(id.bytes()),
            (11, WireValue::Fixed64(time)) => record.end = time,
            (12, WireValue::Bytes(name)) => record.name = name.text()?,
            _ => {}
        }
    }
    Ok(record)
}

fn record_attribute<'a>(message: Message<'a>, budget: &mut ValueBudget) -> Result<Attribute<'a>, Fault> {
    budget.attribute()?;
    attribute(message, budget, 0)
}

fn attribute<'a>(
    message: Message<'a>,
    budget: &mut ValueBudget,
    depth: usize,
) -> Result<Attribute<'a>, Fault> {
    let mut attribute = Attribute::default();
    for field in message.fields() {
        match field? {
            (1, WireValue::Bytes(key)) => attribute.key = key.text()?,
            (2, WireValue::Bytes(value)) => attribute.value = any_value(value, budget, depth)?,
            _ => {}
        }
    }
    Ok(attribute)
}

fn any_value<'a>(
    message: Message<'a>,
    budget: &mut ValueBudget,
    depth: usize,
) -> Result<AnyValue<'a>, Fault> {
    budget.value(depth)?;
    let mut value = AnyValue::Empty;
    for field in message.fields() {
        value = match field? {
            (1, WireValue::Bytes(text)) => AnyValue::Text(text.text()?),
            (2, WireValue::Varint(number)) => AnyValue::Bool(number != 0),
            (3, WireValue::Varint(number)) => AnyValue::Int(number.cast_signed()),
            (4, WireValue::Fixed64(bits)) => AnyValue::Double(f64::from_bits(bits)),
            (5, WireValue::Bytes(list)) => AnyValue::List(values(list, budget, depth + 1)?),
            (6, WireValue::Bytes(map)) => AnyValue::Map(members(map, budget, depth + 1)?),
            (7, WireValue::Bytes(bytes)) => AnyValue::Bytes(bytes.bytes().into()),
            _ => continue,
        };
    }
    Ok(value)
}

fn values<'a>(list: Message<'a>, budget: &mut ValueBudget, depth: usize) -> Result<Vec<AnyValue<'a>>, Fault> {
    let mut values = Vec::new();
    for field in list.fields() {
        if let (1, WireValue::Bytes(value)) = field? {
            values.push(any_value(value, budget, depth)?);
        }
    }
    Ok(values)
}

fn members<'a>(
    map: Message<'a>,
    budget: &mut ValueBudget,
    depth: usize,
) -> Result<Vec<Attribute<'a>>, Fault> {
    let mut members = Vec::new();
    for field in map.fields() {
        if let (1, WireValue::Bytes(member)) = field? {
            // A member without a value counts as one, too.
            budget.value(depth)?;
            members.push(attribute(member, budget, depth)?);
        }
    }
    Ok(members)
}
