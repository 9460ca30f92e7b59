//! The progress of an upload, told as fast as the client listens.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use axum::body::Bytes;
use bitacora_formats::Position;
use bitacora_ledger::{AppendReceipt, Head, ReceiptStatus};
use hyper::body::Frame;

use crate::json::JsonWriter;
use crate::page::write_head;
use crate::problem::Problem;

/// The result of appending a chunk, or several that the client has not heard of yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Acknowledgement {
    /// Every line up to this one is durable.
    lines: u64,
    /// The lowest and the highest position of their events; none where all lines were empty.
    places: Option<(Position, Position)>,
    created: u64,
    duplicates: u64,
}

/// The receiver of acknowledgements. One that the client has not taken yet is merged with the next. So a client that listens only at the
/// end costs nothing.
#[derive(Clone, Default)]
pub(super) struct AcknowledgementSender(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    untold: Option<Acknowledgement>,
    /// All that was told or waits to be.
    total: Option<Acknowledgement>,
    last: Option<Bytes>,
    is_over: bool,
    waker: Option<Waker>,
}

impl Acknowledgement {
    pub(super) fn of(lines: u64, appended: Option<&AppendReceipt>) -> Self {
        let results = appended.map_or(&[][..], |appended| &appended.results);
        let created = results.iter().filter(|result| result.status == ReceiptStatus::Created).count() as u64;
        Self {
            lines,
            places: appended.map(|appended| (appended.first, appended.last)),
            created,
            duplicates: results.len() as u64 - created,
        }
    }

    fn and(self, next: Self) -> Self {
        let places = match (self.places, next.places) {
            (Some((first, last)), Some((next_first, next_last))) => {
                Some((first.min(next_first), last.max(next_last)))
            }
            (one, other) => one.or(other),
        };
        let (created, duplicates) = (self.created + next.created, self.duplicates + next.duplicates);
        Self { lines: self.lines.max(next.lines), places, created, duplicates }
    }

    fn write_members(&self, json: &mut JsonWriter) {
        json.number_member("lines", self.lines);
        if let Some((first, last)) = self.places {
            json.place_member("first", first.get());
            json.place_member("last", last.get());
        }
        json.number_member("created", self.created);
        json.number_member("duplicates", self.duplicates);
    }

    fn to_line(self) -> Vec<u8> {
        let mut json = JsonWriter::with_capacity(128);
        json.begin_object();
        self.write_members(&mut json);
        json.end_object();
        json.end_line();
        json.into_bytes()
    }
}

impl AcknowledgementSender {
    pub(super) fn acknowledge(&self, acknowledgement: Acknowledgement) {
        self.change(|state| {
            let and = |before: Option<Acknowledgement>| {
                Some(before.map_or(acknowledgement, |before| before.and(acknowledgement)))
            };
            (state.untold, state.total) = (and(state.untold), and(state.total));
        });
    }

    /// Everything was appended: `{"end":{…}}`.
    pub(super) fn end(&self, head: &Head) {
        self.change(|state| {
            let total = state.total.unwrap_or(Acknowledgement::of(0, None));
            let mut json = JsonWriter::with_capacity(256);
            json.begin_object();
            json.key("end");
            json.begin_object();
            total.write_members(&mut json);
            json.key("head");
            write_head(head, &mut json);
            json.end_object();
            json.end_object();
            json.end_line();
            state.last = Some(json.into_bytes().into());
        });
    }

    /// It ends here: `{"error":{…}}`. Acknowledged lines stay.
    pub(super) fn fail(&self, problem: &Problem) {
        self.change(|state| {
            let mut json = JsonWriter::with_capacity(512);
            json.begin_object();
            json.key("error");
            json.value(|out| out.extend_from_slice(&problem.to_json()));
            json.end_object();
            json.end_line();
            state.last = Some(json.into_bytes().into());
        });
    }

    /// The answer's body.
    pub(super) fn body(&self) -> AcknowledgementBody {
        AcknowledgementBody(self.clone())
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

pub(super) struct AcknowledgementBody(AcknowledgementSender);

impl hyper::body::Body for AcknowledgementBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(untold) = state.untold.take() {
            return Poll::Ready(Some(Ok(Frame::data(untold.to_line().into()))));
        }
        if let Some(last) = state.last.take() {
            state.is_over = true;
            return Poll::Ready(Some(Ok(Frame::data(last))));
        }
        if state.is_over {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_heard_is_merged() {
        let place = |number| Position::new(number).unwrap();
        let told = |lines, first, last| Acknowledgement {
            lines,
            places: Some((place(first), place(last))),
            created: 2,
            duplicates: 1,
        };
        let merged = told(3, 10, 12).and(told(6, 5, 14)).and(Acknowledgement::of(7, None));
        assert_eq!(
            String::from_utf8(merged.to_line()).unwrap(),
            "{\"lines\":7,\"first\":\"5\",\"last\":\"14\",\"created\":4,\"duplicates\":2}\n"
        );
    }
}
