//! The events of an export: from the service or from their folder.

use std::ops::RangeInclusive;
use std::sync::mpsc::SyncSender;

use bitacora_api::{CallerAnswer, HeadReference, LedgerAnswer};
use bitacora_client::{ClientError, Connection};
use bitacora_export::{DeclaredLossMark, LineBatch};
use bitacora_formats::{After, LedgerName, Position};
use bitacora_ledger::limits::MAX_PAGE_EVENTS;
use bitacora_ledger::{Filter, ReadFrom, ReadQuery, StoredEvent};
use serde::de::DeserializeOwned;

use super::failure::ExportFailure;
use super::selection::ExportSelection;
use crate::commands::read::ReadFailure;
use crate::commands::read::each_line::{LineEvent, LineSink, each_line};
use crate::commands::read::line::push_event_line;
use crate::error::CommandError;
use crate::ledger_access::access::Access;
use crate::options::global::Global;
use crate::terminal::progress::EventBar;

/// The type of the event that begins a generation after a declared loss.
const RECOVERED: &str = "ledger.recovered";
/// The role that makes no exports.
const AGENT: &str = "agent";

/// The ledger that events are read from, and what a manifest names of it.
pub(super) struct LedgerSource {
    access: Access,
    ledger: LedgerName,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) head: HeadReference,
}

impl LedgerSource {
    /// Opens the ledger that the command line names, and asks for its id and head.
    pub(super) async fn open(global: &Global) -> Result<Self, CommandError> {
        let mut access = Access::open_for_reading(global)?;
        let ledger = global.ledger.clone();
        let (id, head) = match &mut access {
            Access::Folder(folder) => {
                let head = folder.ledger.head();
                let head = HeadReference { position: head.position.to_string(), hash: head.hash.to_string() };
                (folder.ledger.id().to_string(), head)
            }
            Access::Service(client) => {
                let caller: CallerAnswer = get(client, &format!("/v1/ledgers/{ledger}/caller")).await?;
                if caller.role == AGENT {
                    return Err(ExportFailure::Agent.into());
                }
                let answer: LedgerAnswer = get(client, &format!("/v1/ledgers/{ledger}")).await?;
                answer.id.zip(answer.head).ok_or(ExportFailure::Closed)?
            }
        };
        Ok(Self { access, name: ledger.to_string(), ledger, id, head })
    }

    /// Returns `true` if a service is asked.
    pub(super) fn is_service(&self) -> bool {
        matches!(self.access, Access::Service(_))
    }

    /// Reads the events behind the start of a range, up to its end.
    pub(super) async fn read(
        &mut self,
        selection: &ExportSelection,
        range: RangeInclusive<u64>,
        to: &mut BatchSender,
    ) -> Result<(), CommandError> {
        let (after, until) = (*range.start(), *range.end());
        let Some(last) = Position::new(until).filter(|_| after < until) else { return Ok(()) };
        match &mut self.access {
            Access::Service(client) => {
                let query = selection.query(after, until);
                each_line(client, &format!("/v1/ledgers/{}/events?{query}", self.ledger), to).await
            }
            Access::Folder(folder) => {
                let mut next = Some(ReadFrom::After(After::new(after)));
                while let Some(from) = next.filter(|_| !to.is_gone) {
                    let filter = selection.filter();
                    let query = ReadQuery { from, until: Some(last), limit: MAX_PAGE_EVENTS, filter };
                    let page = folder.ledger.read_each(&query, &mut |stored| to.push_stored(&stored));
                    next = page.map_err(ReadFailure::from)?.next;
                    // A page is read without a pause; here an interruption is heard.
                    tokio::task::yield_now().await;
                }
                to.hand_on();
                Ok(())
            }
        }
    }

    /// Returns the declared losses in a range: the events that begin a generation.
    pub(super) async fn losses(
        &mut self,
        after: u64,
        until: u64,
    ) -> Result<Vec<DeclaredLossMark>, CommandError> {
        let Some(last) = Position::new(until).filter(|_| after < until) else { return Ok(Vec::new()) };
        match &mut self.access {
            Access::Service(client) => {
                let mut marks = LossMarks(Vec::new());
                let query = format!("after={after}&until={until}&type={RECOVERED}");
                each_line(client, &format!("/v1/ledgers/{}/events?{query}", self.ledger), &mut marks).await?;
                Ok(marks.0)
            }
            Access::Folder(folder) => {
                let filter = Filter { kinds: vec![RECOVERED.to_owned()], ..Filter::default() };
                let (mut marks, mut next) = (Vec::new(), Some(ReadFrom::After(After::new(after))));
                while let Some(from) = next {
                    let query =
                        ReadQuery { from, until: Some(last), limit: MAX_PAGE_EVENTS, filter: filter.clone() };
                    let page = folder.ledger.read(&query).map_err(ReadFailure::from)?;
                    marks.extend(
                        page.events
                            .iter()
                            .map(|event| DeclaredLossMark { position: event.position.to_string() }),
                    );
                    next = page.next;
                }
                Ok(marks)
            }
        }
    }
}

async fn get<A: DeserializeOwned>(client: &mut Connection, path: &str) -> Result<A, CommandError> {
    let answer = async { client.get(path, "application/json").await?.whole().await };
    let answer = answer.await.map_err(|error: ClientError| ReadFailure::from(error))?;
    Ok(serde_json::from_slice(&answer).map_err(|_| ReadFailure::Client(client.strange()))?)
}

/// The positions of the events of an answer.
struct LossMarks(Vec<DeclaredLossMark>);

impl LineSink for LossMarks {
    fn line(&mut self, event: LineEvent<'_>) -> Result<(), CommandError> {
        self.0.push(DeclaredLossMark { position: event.position.to_owned() });
        Ok(())
    }

    fn pause(&mut self) -> Result<(), CommandError> {
        Ok(())
    }
}

/// The way of lines to the writer.
pub(super) struct BatchSender {
    sender: SyncSender<LineBatch>,
    batch: LineBatch,
    /// Set once the writer takes nothing more. It tells why when it is joined.
    is_gone: bool,
    shown: u64,
    bar: EventBar,
}

impl BatchSender {
    pub(super) fn new(sender: SyncSender<LineBatch>, after: u64, bar: EventBar) -> Self {
        Self { sender, batch: LineBatch::with_room(), is_gone: false, shown: after, bar }
    }

    fn push_stored(&mut self, stored: &StoredEvent<'_>) {
        let flags = (stored.erased, stored.unreadable);
        self.batch.push_with(stored.position.get(), flags, |line| push_event_line(stored, line));
        if self.batch.is_full() {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        let Some(last) = self.batch.last_position() else { return };
        let batch = std::mem::replace(&mut self.batch, LineBatch::with_room());
        self.is_gone |= self.sender.send(batch).is_err();
        self.bar.advance(last.saturating_sub(self.shown));
        self.shown = last;
    }
}

impl Drop for BatchSender {
    fn drop(&mut self) {
        // What was read before an interruption is written too.
        self.hand_on();
    }
}

impl LineSink for BatchSender {
    fn line(&mut self, event: LineEvent<'_>) -> Result<(), CommandError> {
        if self.is_gone {
            return Err(ExportFailure::Writer.into());
        }
        let position =
            event.position.parse().map_err(|_| ReadFailure::Position(event.position.to_owned()))?;
        self.batch.push_with(position, (event.is_erased, event.is_unreadable), |line| {
            line.extend_from_slice(event.line);
        });
        if self.batch.is_full() {
            self.hand_on();
        }
        Ok(())
    }

    fn pause(&mut self) -> Result<(), CommandError> {
        Ok(())
    }
}
