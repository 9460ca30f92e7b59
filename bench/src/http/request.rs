//! Prepared requests: while the clock runs, only the digits of new event ids are written.

use std::ops::Range;

use bitacora_formats::{BodyForm, write_event, write_event_line};

use crate::pool::Caller;

/// The number of different requests of a connection, sent in turn.
const SEVERAL: usize = 4;
/// The number of digits of a request's number in the ids of its events.
const DIGITS: usize = 10;
/// The placeholder of the digits; nothing else in an event looks like it.
pub(super) const NO_NUMBER: &str = "##########";

/// A whole request, head and body.
pub(super) struct PreparedRequest {
    bytes: Vec<u8>,
    numbers: Vec<Range<usize>>,
}

impl PreparedRequest {
    /// Returns requests for one of several connections.
    pub(super) fn several(
        measurement: &str,
        authorization: &str,
        (connection, connections): (usize, usize),
        events: usize,
        form: BodyForm,
    ) -> Vec<Self> {
        let mut caller = Caller::new(measurement, connection, connections);
        (0..SEVERAL).map(|_| Self::new(&mut caller, authorization, events, form)).collect()
    }

    fn new(caller: &mut Caller, authorization: &str, events: usize, form: BodyForm) -> Self {
        let mut body = Vec::new();
        for (index, mut event) in caller.events(events).into_iter().enumerate() {
            event.id = format!("{}-{NO_NUMBER}", event.id).into();
            match form {
                BodyForm::Ndjson => write_event_line(&event, &mut body),
                BodyForm::Structured => write_event(&event, &mut body),
                BodyForm::Batch | BodyForm::Json => {
                    body.push(if index == 0 { b'[' } else { b',' });
                    write_event(&event, &mut body);
                }
            }
        }
        if matches!(form, BodyForm::Batch | BodyForm::Json) {
            body.push(b']');
        }
        let content_type = match form {
            BodyForm::Ndjson => "application/x-ndjson",
            BodyForm::Structured => "application/cloudevents+json",
            BodyForm::Batch => "application/cloudevents-batch+json",
            BodyForm::Json => "application/json",
        };
        Self::post(authorization, "events", content_type, &body)
    }

    /// Returns a request to a resource of the ledger; [`NO_NUMBER`] in its body marks the places of its number.
    pub(super) fn post(authorization: &str, resource: &str, content_type: &str, body: &[u8]) -> Self {
        let mut bytes = head(("POST", resource), authorization, content_type, body.len());
        bytes.extend_from_slice(body);
        let places = bytes.windows(DIGITS).enumerate();
        let numbers = places.filter(|(_, window)| *window == NO_NUMBER.as_bytes());
        let numbers = numbers.map(|(at, _)| at..at + DIGITS).collect();
        Self { bytes, numbers }
    }

    /// Returns the request with this number in all its ids.
    pub(super) fn numbered(&mut self, number: u64) -> &[u8] {
        let digits = format!("{number:0DIGITS$}");
        for place in &self.numbers {
            if let Some(place) = self.bytes.get_mut(place.clone()) {
                place.copy_from_slice(digits.as_bytes());
            }
        }
        &self.bytes
    }
}

/// Returns the head of a request to a resource of the measured ledger.
pub(super) fn head(
    (method, resource): (&str, &str),
    authorization: &str,
    content_type: &str,
    body_bytes: usize,
) -> Vec<u8> {
    format!(
        "{method} /v1/ledgers/main/{resource} HTTP/1.1\r\nhost: 127.0.0.1\r\n{authorization}content-type: {content_type}\r\n\
         content-length: {body_bytes}\r\n\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitacora_formats::parse_events;
    use std::collections::HashSet;

    #[test]
    fn every_request_holds_events_that_were_never_sent() {
        for (events, form) in [(1, BodyForm::Structured), (100, BodyForm::Batch), (1_000, BodyForm::Ndjson)] {
            let mut ids = HashSet::new();
            for (number, request) in
                PreparedRequest::several("http/test", "", (3, 16), events, form).iter_mut().enumerate()
            {
                for round in 0..3 {
                    let sent = request.numbered((round * SEVERAL + number) as u64).to_vec();
                    let text = String::from_utf8(sent).unwrap();
                    let (head, body) = text.split_once("\r\n\r\n").unwrap();
                    assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
                    for event in parse_events(body.as_bytes(), form, None).unwrap() {
                        event.validate().unwrap();
                        assert!(ids.insert(event.id.into_owned()));
                    }
                }
            }
            assert_eq!(ids.len(), 3 * SEVERAL * events);
        }
    }
}
