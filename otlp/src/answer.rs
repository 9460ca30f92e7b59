//! Answers: what was rejected of a request, and the status of a request that failed.

use std::collections::BTreeMap;
use std::fmt::Write;

use bitacora_formats::write_json_text;

use crate::error::RecordFault;
use crate::limits::{MAX_MESSAGE_BYTES, MAX_TOLD_FAULTS};
use crate::record::Signal;
use crate::request::Encoding;

/// The answer to an export: nothing, or what was rejected.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ExportAnswer {
    faults: BTreeMap<RecordFault, u64>,
    /// The reason of the first refusal by the ledger.
    refusal: Option<String>,
}

impl ExportAnswer {
    /// Counts a rejected record.
    pub fn reject(&mut self, fault: RecordFault) {
        *self.faults.entry(fault).or_default() += 1;
    }

    /// Counts a record that the ledger refused, with the reason.
    pub fn refuse(&mut self, reason: &str) {
        self.reject(RecordFault::Refused);
        self.refusal.get_or_insert_with(|| reason.to_owned());
    }

    /// Returns the number of rejected records.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.faults.values().sum()
    }

    /// Returns the message about the rejected records.
    fn message(&self) -> String {
        let mut text = String::new();
        for (fault, count) in self.faults.iter().take(MAX_TOLD_FAULTS) {
            let separator = if text.is_empty() { "" } else { "; " };
            // A text is always written.
            let _ = write!(text, "{separator}{count} rejected: {fault}");
            if let (RecordFault::Refused, Some(reason)) = (fault, &self.refusal) {
                let _ = write!(text, ", such as: {reason}");
            }
        }
        let end = text.floor_char_boundary(MAX_MESSAGE_BYTES);
        text.truncate(end);
        text
    }

    /// Returns the answer's bytes. Without a rejected record the message is empty.
    #[must_use]
    pub fn bytes(&self, signal: Signal, encoding: Encoding) -> Vec<u8> {
        let rejected = self.rejected();
        match encoding {
            Encoding::Protobuf if rejected == 0 => Vec::new(),
            Encoding::Protobuf => {
                let mut partial = Vec::new();
                put_number(1, rejected, &mut partial);
                put_bytes(2, self.message().as_bytes(), &mut partial);
                let mut out = Vec::new();
                put_bytes(1, &partial, &mut out);
                out
            }
            Encoding::Json if rejected == 0 => b"{}".to_vec(),
            Encoding::Json => {
                let member = match signal {
                    Signal::Traces => "rejectedSpans",
                    Signal::Logs => "rejectedLogRecords",
                };
                let mut out =
                    format!(r#"{{"partialSuccess":{{"{member}":"{rejected}","errorMessage":"#).into_bytes();
                write_json_text(&self.message(), &mut out);
                out.extend_from_slice(b"}}");
                out
            }
        }
    }
}

/// Returns a `google.rpc.Status` with the code that fits an HTTP status.
#[must_use]
pub fn status_bytes(http_status: u16, message: &str, encoding: Encoding) -> Vec<u8> {
    let code: u64 = match http_status {
        401 => 16,
        403 => 7,
        404 => 5,
        408 | 504 => 4,
        409 => 10,
        413 | 429 | 507 => 8,
        400..=499 => 3,
        503 => 14,
        _ => 13,
    };
    match encoding {
        Encoding::Protobuf => {
            let mut out = Vec::new();
            put_number(1, code, &mut out);
            put_bytes(2, message.as_bytes(), &mut out);
            out
        }
        Encoding::Json => {
            let mut out = format!(r#"{{"code":{code},"message":"#).into_bytes();
            write_json_text(message, &mut out);
            out.push(b'}');
            out
        }
    }
}

fn put_number(field: u64, number: u64, out: &mut Vec<u8>) {
    put_varint(field << 3, out);
    put_varint(number, out);
}

fn put_bytes(field: u64, bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(field << 3 | 2, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_rejected_is_told() {
        let mut answer = ExportAnswer::default();
        assert_eq!(answer.bytes(Signal::Traces, Encoding::Protobuf), b"");
        assert_eq!(answer.bytes(Signal::Logs, Encoding::Json), b"{}");
        for _ in 0..300 {
            answer.reject(RecordFault::NoIds);
        }
        let protobuf = answer.bytes(Signal::Traces, Encoding::Protobuf);
        // Field 1 with field 1 = 300 (`ac 02`) and field 2, a text.
        assert_eq!(&protobuf[..5], [0x0a, u8::try_from(protobuf.len()).unwrap() - 2, 0x08, 0xac, 0x02]);
        let text = "300 rejected: no valid trace id and span id";
        assert_eq!(&protobuf[5..7], [0x12, u8::try_from(text.len()).unwrap()]);
        assert_eq!(&protobuf[7..], text.as_bytes());
        let json: serde_json::Value =
            serde_json::from_slice(&answer.bytes(Signal::Logs, Encoding::Json)).unwrap();
        let expected = serde_json::json!({"rejectedLogRecords": "300", "errorMessage": text});
        assert_eq!(json["partialSuccess"], expected);
    }

    #[test]
    fn a_status_has_the_code_that_fits() {
        assert_eq!(status_bytes(400, "no", Encoding::Protobuf), [0x08, 3, 0x12, 2, b'n', b'o']);
        assert_eq!(status_bytes(503, "a\"", Encoding::Json), br#"{"code":14,"message":"a\""}"#);
    }
}
