//! A request: its records, one by one.

use std::ops::ControlFlow;

use crate::error::{MalformedRequest, RecordFault};
use crate::mapping::{MappedRecord, mapped};
use crate::record::{ExportedRecord, RecordContext, Signal};
use crate::{json, protobuf};

/// The encoding of a request, and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `application/x-protobuf`.
    Protobuf,
    /// `application/json`.
    Json,
}

/// The receiver of records. It may end the walk.
pub(crate) type OnRecord<'f> =
    dyn FnMut(&RecordContext, Result<ExportedRecord<'_>, RecordFault>) -> ControlFlow<()> + 'f;

/// Checks that a whole request can be read, and counts its records. Nothing of it is kept.
///
/// # Errors
/// The request is malformed.
pub fn check(signal: Signal, encoding: Encoding, body: &[u8]) -> Result<u64, MalformedRequest> {
    let mut records = 0;
    walk(signal, encoding, body, &mut |_, _| {
        records += 1;
        ControlFlow::Continue(())
    })?;
    Ok(records)
}

/// Gives each record of a request as the event that it becomes, until `on_record` breaks.
///
/// # Errors
/// The request is malformed, which [`check`] finds first.
pub fn for_each(
    signal: Signal,
    encoding: Encoding,
    body: &[u8],
    mut on_record: impl FnMut(MappedRecord) -> ControlFlow<()>,
) -> Result<(), MalformedRequest> {
    walk(signal, encoding, body, &mut |context, record| {
        on_record(match record {
            Ok(record) => mapped(signal, context, &record),
            Err(fault) => MappedRecord::Rejected(fault),
        })
    })
}

fn walk(
    signal: Signal,
    encoding: Encoding,
    body: &[u8],
    on_record: &mut OnRecord<'_>,
) -> Result<(), MalformedRequest> {
    match encoding {
        Encoding::Protobuf => protobuf::walk(signal, body, on_record),
        Encoding::Json => json::walk(signal, body, on_record),
    }
}
