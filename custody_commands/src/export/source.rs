//! The events of an export: from the service or from their folder.

use std::ops::RangeInclusive;

use bitacora_api::{CallerAnswer, LedgerAnswer};
use bitacora_client::{ClientError, Connection, percent_encoded};
use bitacora_export::{BatchSender, ContentFlags, DeclaredLossMark, ExportPlan, HeadMark};
use bitacora_formats::{After, LedgerName, Position, format_time, parse_time};
use bitacora_ledger::limits::MAX_PAGE_EVENTS;
use bitacora_ledger::{Filter, ReadFrom, ReadQuery};
use bitacora_vocabulary::{EventData, LedgerRecovered, Role};
use serde::de::DeserializeOwned;

use super::failure::ExportFailure;
use super::selection::ExportSelection;
use crate::error::CommandError;
use crate::ledger_access::access::Access;
use crate::ledger_access::each_line::{LineEvent, LineSink, each_line};
use crate::ledger_access::line::push_event_line;
use crate::ledger_access::read_failure::ReadFailure;
use crate::options::global::Global;

/// The ledger that events are read from, and what a manifest names of it.
pub(super) struct LedgerSource {
    access: Access,
    pub(super) ledger: LedgerName,
    pub(super) id: String,
    pub(super) head: HeadMark,
}

impl LedgerSource {
    /// Opens the ledger that the command line names, and asks for its id and head.
    pub(super) async fn open(global: &Global) -> Result<Self, CommandError> {
        let mut access = Access::open_for_reading(global)?;
        let ledger = global.ledger.clone();
        let (id, position, hash) = match &mut access {
            Access::Folder(folder) => {
                let head = folder.ledger.head();
                (folder.ledger.id().to_string(), head.position.to_string(), head.hash.to_string())
            }
            Access::Service(client) => {
                let caller: CallerAnswer = get(client, &format!("/v1/ledgers/{ledger}/caller")).await?;
                if caller.role == Role::Agent.as_str() {
                    return Err(ExportFailure::Agent.into());
                }
                let answer: LedgerAnswer = get(client, &format!("/v1/ledgers/{ledger}")).await?;
                let (id, head) = answer.id.zip(answer.head).ok_or(ExportFailure::Closed)?;
                (id, head.position, head.hash)
            }
        };
        Ok(Self { access, ledger, id, head: HeadMark { position, hash } })
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
        self.each(selection.filter(), &selection.query(), range, to).await
    }

    /// Returns the declared losses in a range: the events that begin a generation, recorded since a time where one is given.
    pub(super) async fn losses(
        &mut self,
        range: RangeInclusive<u64>,
        since: Option<&str>,
    ) -> Result<Vec<DeclaredLossMark>, CommandError> {
        let kind = LedgerRecovered::KIND;
        let since = since.and_then(|since| parse_time(since).ok());
        let filter = Filter { kinds: vec![kind.to_owned()], since, ..Filter::default() };
        let since = since.map(|since| format!("&since={}", percent_encoded(&format_time(since))));
        let mut marks = LossMarks(Vec::new());
        let query = format!("&type={kind}{}", since.unwrap_or_default());
        self.each(filter, &query, range, &mut marks).await?;
        Ok(marks.0)
    }

    /// Refuses to go on with an export that began before a loss was declared: its rows may be of positions that were given up.
    pub(super) async fn refuse_loss_since(&mut self, plan: &ExportPlan) -> Result<(), CommandError> {
        let head = self.head.position.parse().unwrap_or_default();
        match self.losses(0..=head, Some(&plan.began)).await?.pop() {
            Some(DeclaredLossMark { position }) => Err(ExportFailure::LossSince(position).into()),
            None => Ok(()),
        }
    }

    async fn each(
        &mut self,
        filter: Filter,
        query: &str,
        range: RangeInclusive<u64>,
        to: &mut impl EventSink,
    ) -> Result<(), CommandError> {
        let (after, until) = (*range.start(), *range.end());
        let Some(last) = Position::new(until).filter(|_| after < until) else { return Ok(()) };
        let folder = match &mut self.access {
            Access::Folder(folder) => folder,
            Access::Service(client) => {
                let path = format!("/v1/ledgers/{}/events?after={after}&until={until}{query}", self.ledger);
                // An answer may end before its connection can be asked again.
                return each_line(&mut client.another(), &path, &mut ServiceLines(to)).await;
            }
        };
        let mut next = Some(ReadFrom::After(After::new(after)));
        while let Some(from) = next.filter(|_| !to.is_gone()) {
            let filter = filter.clone();
            let query = ReadQuery { from, until: Some(last), limit: MAX_PAGE_EVENTS, filter };
            let page = folder.ledger.read_each(&query, &mut |stored| {
                let flags = ContentFlags {
                    is_erased: stored.erased,
                    is_expired: stored.expired_by.is_some(),
                    is_unreadable: stored.unreadable,
                };
                to.event(stored.position.get(), flags, |line| push_event_line(&stored, line));
            });
            next = page.map_err(ReadFailure::from)?.next;
            // A page is read without a pause; here an interruption is heard.
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

async fn get<A: DeserializeOwned>(client: &mut Connection, path: &str) -> Result<A, CommandError> {
    let answer = async { client.get(path, "application/json").await?.whole().await };
    let answer = answer.await.map_err(|error: ClientError| ReadFailure::from(error))?;
    Ok(serde_json::from_slice(&answer).map_err(|_| ReadFailure::Client(client.strange()))?)
}

/// A taker of events, with the reasons why their data is not there, and the writer of their line.
trait EventSink {
    fn event(&mut self, position: u64, flags: ContentFlags, write: impl FnOnce(&mut Vec<u8>));

    /// Returns `true` once nothing more is taken.
    fn is_gone(&self) -> bool {
        false
    }
}

impl EventSink for BatchSender {
    fn event(&mut self, position: u64, flags: ContentFlags, write: impl FnOnce(&mut Vec<u8>)) {
        self.push(position, flags, write);
    }

    fn is_gone(&self) -> bool {
        self.is_gone()
    }
}

struct LossMarks(Vec<DeclaredLossMark>);

impl EventSink for LossMarks {
    fn event(&mut self, position: u64, _: ContentFlags, _: impl FnOnce(&mut Vec<u8>)) {
        self.0.push(DeclaredLossMark { position: position.to_string() });
    }
}

/// The lines of a service on their way to a taker.
struct ServiceLines<'a, S>(&'a mut S);

impl<S: EventSink> LineSink for ServiceLines<'_, S> {
    fn line(&mut self, event: LineEvent<'_>) -> Result<(), CommandError> {
        let position =
            event.position.parse().map_err(|_| ReadFailure::Position(event.position.to_owned()))?;
        let LineEvent { is_erased, is_expired, is_unreadable, .. } = event;
        let flags = ContentFlags { is_erased, is_expired, is_unreadable };
        self.0.event(position, flags, |line| line.extend_from_slice(event.line));
        if self.0.is_gone() { Err(ExportFailure::Gone.into()) } else { Ok(()) }
    }

    fn pause(&mut self) -> Result<(), CommandError> {
        Ok(())
    }
}
