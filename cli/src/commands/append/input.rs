//! Events from a file or stdin, cut into request bodies without rewriting any byte.

use std::io::{self, BufRead, Read};

use bitacora_formats::limits::MAX_REQUEST_BYTES;
use bitacora_formats::{BodyForm, ParseError, parse_events};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The size limit of JSON that is read as a whole, bytes. Events one a line have no limit of their number.
const MAX_JSON_BYTES: usize = 256 * 1024 * 1024;

/// The reason why reading the input ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("{name}: {source}")]
    Read { name: String, source: io::Error },
    #[error("no event in the input; it takes one CloudEvent, an array of them, or one a line")]
    Empty,
    #[error("line {line}: longer than {MAX_REQUEST_BYTES} bytes, which is more than a request may have")]
    LineTooLong { line: usize },
    #[error("more than {MAX_JSON_BYTES} bytes of JSON; write one event a line to send any number")]
    TooLong,
    #[error("not JSON: {0}")]
    NotJson(serde_json::Error),
    #[error("{place}: {error}")]
    Event { place: String, error: Box<ParseError> },
}

/// The body of one request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AppendBody {
    pub(super) form: BodyForm,
    pub(super) bytes: Vec<u8>,
    /// The place of each event in the input: its line, or its number in the array.
    places: Vec<usize>,
}

impl AppendBody {
    fn new(form: BodyForm) -> Self {
        Self { form, bytes: Vec::new(), places: Vec::new() }
    }

    pub(super) fn event_count(&self) -> usize {
        self.places.len()
    }

    /// Returns the places of the events in the input, in words.
    pub(super) fn place(&self) -> String {
        let what = if self.form == BodyForm::Ndjson { "line" } else { "event" };
        match (self.places.first(), self.places.last()) {
            (Some(first), Some(last)) if first != last => format!("{what}s {first} to {last}"),
            (Some(only), _) => format!("{what} {only}"),
            (None, _) => "the input".to_owned(),
        }
    }

    /// Returns the place of one event in the input, given its line or its JSON pointer in the body.
    pub(super) fn place_of(&self, line: Option<usize>, pointer: &str) -> Option<String> {
        let (index, what) = match self.form {
            BodyForm::Ndjson => (line?.checked_sub(1)?, "line"),
            BodyForm::Batch => (pointer.split('/').nth(1)?.parse().ok()?, "event"),
            BodyForm::Structured | BodyForm::Json => return None,
        };
        self.places.get(index).map(|place| format!("{what} {place}"))
    }

    /// Checks the events as the ledger will, before any of them is sent.
    pub(super) fn check(&self, stream: Option<&str>) -> Result<(), InputError> {
        parse_events(&self.bytes, self.form, stream).map(drop).map_err(|error| {
            let place = self.place_of(error.line, &error.pointer).unwrap_or_else(|| self.place());
            // The line is the body's; the place has the input's.
            let error =
                ParseError { line: error.line.filter(|_| self.form == BodyForm::Structured), ..error };
            InputError::Event { place, error: Box::new(error) }
        })
    }

    fn has_room(&self, bytes: usize, events: usize) -> bool {
        let with_brackets = self.bytes.len() + bytes + 2;
        self.places.is_empty() || (self.places.len() < events && with_brackets <= MAX_REQUEST_BYTES)
    }
}

/// The input as batches.
pub(super) struct Batches<R> {
    source: R,
    name: String,
    size: usize,
    state: State,
    /// The last line that was read, from 1.
    line: usize,
}

enum State {
    Start,
    /// One event a line; holds the line that did not fit the batch before.
    Lines {
        held: Option<Vec<u8>>,
    },
    /// The remaining batches of a JSON document.
    Cut(std::vec::IntoIter<AppendBody>),
    Over,
}

impl<R: BufRead> Batches<R> {
    /// Returns batches of at most `size` events, from a source of this name.
    pub(super) fn new(source: R, name: String, size: usize) -> Self {
        Self { source, name, size, state: State::Start, line: 0 }
    }

    fn next_batch(&mut self) -> Result<Option<AppendBody>, InputError> {
        if matches!(self.state, State::Start) {
            self.state = self.begin()?;
        }
        match &mut self.state {
            State::Lines { held } => {
                let held = held.take();
                self.lines(held)
            }
            State::Cut(batches) => Ok(batches.next()),
            State::Start | State::Over => Ok(None),
        }
    }

    /// Detects the form of the input by its first line that is not blank.
    fn begin(&mut self) -> Result<State, InputError> {
        let Some(first) = self.line()? else { return Err(InputError::Empty) };
        let is_array = first.trim_ascii_start().starts_with(b"[");
        if !is_array && serde_json::from_slice::<IgnoredAny>(&first).is_ok() {
            return Ok(State::Lines { held: Some(first) });
        }
        // An object that goes on in the next line, or something that is no JSON: reading it as a whole tells.
        let mut whole = first;
        let rest = MAX_JSON_BYTES.saturating_sub(whole.len()) as u64 + 1;
        (&mut self.source).take(rest).read_to_end(&mut whole).map_err(|source| self.unread(source))?;
        if whole.len() > MAX_JSON_BYTES {
            return Err(InputError::TooLong);
        }
        if !is_array {
            serde_json::from_slice::<IgnoredAny>(&whole).map_err(|error| self.not_json(error))?;
            let batch = AppendBody { form: BodyForm::Structured, bytes: whole, places: vec![1] };
            return Ok(State::Cut(vec![batch].into_iter()));
        }
        let events: Vec<&RawValue> = serde_json::from_slice(&whole).map_err(|error| self.not_json(error))?;
        if events.is_empty() {
            return Err(InputError::Empty);
        }
        Ok(State::Cut(cut(&events, self.size).into_iter()))
    }

    fn lines(&mut self, held: Option<Vec<u8>>) -> Result<Option<AppendBody>, InputError> {
        let mut batch = AppendBody::new(BodyForm::Ndjson);
        let mut next = match held {
            Some(line) => Some(line),
            None => self.line()?,
        };
        while let Some(line) = next {
            if !batch.has_room(line.len() + 1, self.size) {
                self.state = State::Lines { held: Some(line) };
                return Ok(Some(batch));
            }
            batch.bytes.extend_from_slice(&line);
            if !line.ends_with(b"\n") {
                batch.bytes.push(b'\n');
            }
            batch.places.push(self.line);
            next = if batch.event_count() < self.size { self.line()? } else { return Ok(Some(batch)) };
        }
        Ok(Some(batch).filter(|batch| batch.event_count() > 0))
    }

    /// Returns the next line that is not blank, with its line feed.
    fn line(&mut self) -> Result<Option<Vec<u8>>, InputError> {
        loop {
            let mut line = Vec::new();
            let longest = MAX_REQUEST_BYTES as u64 + 2;
            let read = (&mut self.source).take(longest).read_until(b'\n', &mut line);
            if read.map_err(|source| self.unread(source))? == 0 {
                return Ok(None);
            }
            self.line += 1;
            let is_cut = line.len() as u64 == longest && !line.ends_with(b"\n");
            if is_cut && !self.is_first_of_array(&line) {
                return Err(InputError::LineTooLong { line: self.line });
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }

    /// Returns `true` for the first line of an array: it is read as a whole, without the limit of a line.
    fn is_first_of_array(&self, line: &[u8]) -> bool {
        matches!(self.state, State::Start) && line.trim_ascii_start().starts_with(b"[")
    }

    fn unread(&self, source: io::Error) -> InputError {
        InputError::Read { name: self.name.clone(), source }
    }

    /// Wraps a fault of JSON. `serde_json` counts lines from the first one that is not blank.
    fn not_json(&self, error: serde_json::Error) -> InputError {
        InputError::NotJson(error)
    }
}

impl<R: BufRead> Iterator for Batches<R> {
    type Item = Result<AppendBody, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_batch().transpose();
        if next.as_ref().is_none_or(Result::is_err) {
            self.state = State::Over;
        }
        next
    }
}

/// Cuts the events of an array into arrays of at most `size`.
fn cut(events: &[&RawValue], size: usize) -> Vec<AppendBody> {
    let mut batches = Vec::new();
    let mut batch = AppendBody::new(BodyForm::Batch);
    for (number, event) in (1..).zip(events) {
        let event = event.get().as_bytes();
        if !batch.has_room(event.len() + 1, size) {
            batch.bytes.push(b']');
            batches.push(std::mem::replace(&mut batch, AppendBody::new(BodyForm::Batch)));
        }
        batch.bytes.push(if batch.places.is_empty() { b'[' } else { b',' });
        batch.bytes.extend_from_slice(event);
        batch.places.push(number);
    }
    batch.bytes.push(b']');
    batches.push(batch);
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str) -> String {
        format!(r#"{{"specversion":"1.0","id":"{id}","source":"a","type":"x.y","subject":"s"}}"#)
    }

    fn batches(input: &str, size: usize) -> Vec<Result<AppendBody, InputError>> {
        Batches::new(input.as_bytes(), "the test".to_owned(), size).collect()
    }

    /// Returns the bodies and places of a whole input.
    fn cut_up(input: &str, size: usize) -> Vec<(String, String)> {
        let text = |batch: AppendBody| (String::from_utf8(batch.bytes.clone()).unwrap(), batch.place());
        batches(input, size).into_iter().map(|batch| text(batch.unwrap())).collect()
    }

    fn message(input: &str) -> String {
        let failed = batches(input, 10).into_iter().find_map(Result::err);
        failed.unwrap_or_else(|| panic!("{input} is taken")).to_string()
    }

    #[test]
    fn events_one_a_line_are_cut_by_number_and_keep_their_lines() {
        let (one, two, three) = (event("1"), event("2"), event("3"));
        let input = format!("\n{one}\r\n  \n{two}\n{three}");
        let expected = vec![
            (format!("{one}\r\n{two}\n"), "lines 2 to 4".to_owned()),
            (format!("{three}\n"), "line 5".to_owned()),
        ];
        assert_eq!(cut_up(&input, 2), expected);
        assert_eq!(cut_up(&one, 2), [(format!("{one}\n"), "line 1".to_owned())]);
    }

    #[test]
    fn an_array_is_cut_by_number_and_its_events_stay_as_they_are() {
        let spread = "{\n \"id\" : 1e2 }";
        let input = format!(" [ {spread}\n, {spread},{{}} ]\n");
        let expected = vec![
            (format!("[{spread},{spread}]"), "events 1 to 2".to_owned()),
            ("[{}]".to_owned(), "event 3".to_owned()),
        ];
        assert_eq!(cut_up(&input, 2), expected);
    }

    #[test]
    fn one_event_may_go_over_many_lines() {
        let input = "{\n  \"id\":\n 7}\n";
        assert_eq!(cut_up(input, 2), [(input.to_owned() + "", "event 1".to_owned())]);
    }

    #[test]
    fn a_batch_is_cut_before_it_is_larger_than_a_request() {
        let large = format!(r#"{{"data":"{}"}}"#, "x".repeat(MAX_REQUEST_BYTES / 3));
        for input in [[large.as_str(); 5].join("\n"), format!("[{}]", [large.as_str(); 5].join(","))] {
            let sizes: Vec<usize> =
                batches(&input, 100).into_iter().map(|b| b.unwrap().event_count()).collect();
            assert_eq!(sizes, [2, 2, 1]);
            assert!(
                batches(&input, 100).iter().all(|b| b.as_ref().unwrap().bytes.len() <= MAX_REQUEST_BYTES)
            );
        }
    }

    #[test]
    fn what_is_no_event_is_named_by_its_place() {
        let good = event("1");
        let checked = |input: &str| {
            let mut all = batches(input, 10).into_iter();
            let failed = all.find_map(|batch| batch.and_then(|batch| batch.check(None)).err());
            failed.map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(checked(&format!("{good}\n\n{{\"id\":\"2\"}}\n")).starts_with("line 3: "));
        assert!(checked(&format!("{good}\n{{\"id\":")).starts_with("line 2: "));
        assert!(checked(&format!("[{good},{{}}]")).starts_with("event 2: "));
        assert!(checked("{\n}").starts_with("event 1: "));
        assert_eq!(checked(&good), "");
    }

    #[test]
    fn an_input_without_events_or_json_is_refused() {
        assert!(message("").contains("no event") && message(" \n\n").contains("no event"));
        assert!(message("[]").contains("no event"));
        assert!(message("hello").contains("not JSON") && message("[{}").contains("not JSON"));
        assert!(message("{\n{").contains("not JSON") && message("[{}] x").contains("not JSON"));
        let long = format!("{}\n{}", event("1"), "x".repeat(MAX_REQUEST_BYTES + 3));
        assert!(message(&long).contains("line 2"));
    }
}
