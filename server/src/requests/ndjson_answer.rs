//! NDJSON answers of any length: read page by page, no faster than they are taken.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use bitacora_formats::Position;
use bitacora_ledger::{Head, LogFault, ReadFrom, ReadQuery};
use bitacora_projector::IndexedLedger;
use hyper::body::Frame;
use tokio::sync::mpsc;

use crate::api::Api;
use crate::json::JsonWriter;
use crate::limits::LINES_AHEAD;
use crate::page::{WrittenPage, end_line, page_lines};
use crate::problem::{Code, Problem};
use crate::requests::parallel_pages::Pieces;

/// The rest of an NDJSON answer after its first page.
pub(crate) struct NdjsonAnswer {
    pub(crate) api: Arc<Api>,
    pub(crate) ledger: IndexedLedger,
    /// The question, but for the start of the next page.
    pub(crate) query: ReadQuery,
    /// Events the client still wants.
    pub(crate) wanted: u64,
    pub(crate) written: u64,
    pub(crate) next: Option<ReadFrom>,
    pub(crate) head: Head,
}

impl NdjsonAnswer {
    /// The answer's body, beginning with the page that is there already.
    ///
    /// It ends in `{"end":…}`. If reading fails on the way, its last line is `{"error":…}` instead, so that an answer without either was
    /// cut.
    pub(crate) fn into_body(self, first: Bytes) -> Body {
        let (sender, receiver) = mpsc::channel(LINES_AHEAD);
        tokio::spawn(self.send_all(first, sender));
        Body::new(NdjsonBody { receiver })
    }

    /// Sending fails only when the client is gone, and then there is nobody left to tell.
    async fn send_all(mut self, first: Bytes, sender: mpsc::Sender<Bytes>) {
        let mut lines = first;
        let mut pieces = self.pieces();
        loop {
            if !lines.is_empty() && sender.send(lines).await.is_err() {
                return;
            }
            let Some(from) = self.next.filter(|_| self.wanted > 0) else { break };
            let read = tokio::select! {
                read = self.read_on(from, pieces.as_mut()) => read,
                () = sender.closed() => return,
            };
            lines = match read {
                Ok(lines) => lines,
                Err(problem) => {
                    let _gone = sender.send(Bytes::from(error_line(&problem))).await.is_err();
                    return;
                }
            };
        }
        if let Some(fault) = self.lost_end() {
            let problem = Problem::new(Code::Corrupt, fault.to_string());
            let _gone = sender.send(Bytes::from(error_line(&problem))).await.is_err();
            return;
        }
        let end = end_line(self.written, self.next, &self.head);
        let _gone = sender.send(Bytes::from(end)).await.is_err();
    }

    /// Returns the pieces of the answer where every event is wanted: their positions are known beforehand, and several are read at once.
    fn pieces(&self) -> Option<Pieces> {
        let Some(ReadFrom::After(after)) = self.next.filter(|_| self.query.filter.is_empty()) else {
            return None;
        };
        let (wanted, end) = (Position::new(after.get().saturating_add(self.wanted)), self.end());
        let last = wanted.map_or(end, |wanted| wanted.min(end));
        Some(Pieces::new(Arc::clone(&self.api), self.ledger.clone(), after, last))
    }

    /// The damage by which the answer ends before all that was asked for.
    fn lost_end(&self) -> Option<LogFault> {
        let is_open = self.query.until.is_none() && self.next.is_none() && self.wanted > 0;
        self.ledger.lost_end().filter(|_| is_open)
    }

    /// The last position of the answer, however much of it is wanted.
    fn end(&self) -> Position {
        self.query.until.map_or(self.head.position, |until| until.min(self.head.position))
    }

    async fn read_on(&mut self, from: ReadFrom, pieces: Option<&mut Pieces>) -> Result<Bytes, Problem> {
        let page = match pieces {
            Some(pieces) => {
                let Some((page, reached)) = pieces.next().await? else {
                    self.next = None;
                    return Ok(Bytes::new());
                };
                self.next = (reached < self.end().into()).then_some(ReadFrom::After(reached));
                page
            }
            None => {
                let page = self.read_page(from).await?;
                self.next = page.end.next;
                page
            }
        };
        let count = page.end.events as u64;
        self.wanted = self.wanted.saturating_sub(count);
        self.written += count;
        // As long as it takes: the answer is under way, and others that take theirs make room.
        Ok(self.api.answers.hold(page.bytes).await)
    }

    async fn read_page(&self, from: ReadFrom) -> Result<WrittenPage, Problem> {
        let ledger = self.ledger.clone();
        let mut query = self.query.clone();
        query.from = from;
        query.limit = query.limit.min(usize::try_from(self.wanted).unwrap_or(usize::MAX));
        self.api.read(move || Ok(page_lines(&ledger, &query)?)).await
    }
}

fn error_line(problem: &Problem) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(512);
    json.begin_object();
    json.key("error");
    json.value(|out| out.extend_from_slice(&problem.to_json()));
    json.end_object();
    json.end_line();
    json.into_bytes()
}

struct NdjsonBody {
    receiver: mpsc::Receiver<Bytes>,
}

impl hyper::body::Body for NdjsonBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
