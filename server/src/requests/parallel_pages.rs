//! A stretch of the log as lines, read in pieces: several at once, and taken in their order.

use std::collections::VecDeque;
use std::sync::Arc;

use bitacora_formats::{After, Position};
use bitacora_ledger::{Filter, ReadFrom, ReadQuery};
use bitacora_projector::IndexedLedger;
use tokio::task::JoinHandle;

use crate::api::Api;
use crate::limits::{PIECE_EVENTS, PIECES_AT_ONCE, PIECES_PLANNED};
use crate::page::{WrittenPage, lines_with_room};
use crate::problem::{Code, Problem};

/// The rest of a stretch that was not taken yet.
pub(crate) struct Pieces {
    api: Arc<Api>,
    ledger: IndexedLedger,
    /// The start of the first piece that is not being read.
    begins: After,
    /// The last position of all.
    last: Position,
    /// The ends of the next pieces.
    planned: VecDeque<Position>,
    reading: VecDeque<PieceRead>,
    /// Events of the pieces that are planned next.
    events: u64,
    /// The size of a piece, about, bytes.
    piece_bytes: usize,
}

/// A piece that is being read; given up when it is dropped.
struct PieceRead {
    piece: JoinHandle<Result<WrittenPage, Problem>>,
    last: Position,
}

impl Pieces {
    /// Everything after `after` and up to `last`, both durable.
    pub(crate) fn new(api: Arc<Api>, ledger: IndexedLedger, after: After, last: Position) -> Self {
        Self {
            api,
            ledger,
            begins: after,
            last,
            planned: VecDeque::new(),
            reading: VecDeque::new(),
            events: PIECE_EVENTS,
            piece_bytes: 0,
        }
    }

    /// The next piece, and where the one after it begins. `None` at the end. Nothing is lost where the waiting for it is
    /// given up.
    pub(crate) async fn next(&mut self) -> Result<Option<(WrittenPage, After)>, Problem> {
        while self.reading.len() < self.at_once() {
            if self.planned.is_empty() && !self.plan().await? {
                break;
            }
            self.begin_next();
        }
        let Some(first) = self.reading.front_mut() else { return Ok(None) };
        let piece = (&mut first.piece).await;
        let last = first.last;
        self.reading.pop_front();
        let piece = piece
            .map_err(|_| Problem::new(Code::Internal, "reading failed on a defect of the service"))??;
        self.piece_bytes = piece.bytes.len();
        match piece.end.next {
            // Its events are large: what follows was begun in the wrong place.
            Some(ReadFrom::After(reached)) if reached < last.into() => {
                self.reading.clear();
                self.planned.clear();
                self.begins = reached;
                self.events = (piece.end.events as u64).clamp(1, self.events);
                Ok(Some((piece, reached)))
            }
            _ => Ok(Some((piece, last.into()))),
        }
    }

    fn at_once(&self) -> usize {
        if self.api.is_idle() { PIECES_AT_ONCE } else { 1 }
    }

    /// Says where the next pieces end; `false` where there are none.
    async fn plan(&mut self) -> Result<bool, Problem> {
        if self.begins >= self.last.into() {
            return Ok(false);
        }
        let (ledger, begins, last, events) = (self.ledger.clone(), self.begins, self.last, self.events);
        let plan = move || Ok(ledger.divide(begins, last, events, PIECES_PLANNED));
        self.planned = self.api.read(plan).await?.into();
        Ok(!self.planned.is_empty())
    }

    fn begin_next(&mut self) {
        let Some(last) = self.planned.pop_front() else { return };
        let query = ReadQuery {
            from: ReadFrom::After(self.begins),
            until: Some(last),
            limit: usize::MAX,
            filter: Filter::default(),
        };
        let (api, ledger) = (Arc::clone(&self.api), self.ledger.clone());
        // Pieces are about alike: with a little more room than the last one took, few have to be moved.
        let room = self.piece_bytes + self.piece_bytes / 8;
        let read = async move { api.read(move || Ok(lines_with_room(&ledger, &query, room)?)).await };
        self.reading.push_back(PieceRead { piece: tokio::spawn(read), last });
        self.begins = last.into();
    }
}

impl Drop for PieceRead {
    fn drop(&mut self) {
        self.piece.abort();
    }
}
