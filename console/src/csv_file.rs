//! Files of comma-separated values that are written while their rows are read: a page of the interface after the other.

use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use http_body_util::channel::{Channel, Sender};
use serde::de::DeserializeOwned;
use tokio::task::AbortHandle;

use crate::csv_turns::{CsvTurn, CsvTurns};
use crate::interface::{BoxError, InterfaceError};
use crate::limits::{CSV_PAGE_ROWS, CSV_PARTS_AT_ONCE, CSV_ROWS};
use crate::response::ConsoleBody;
use crate::table::{TableCell, TableColumn, csv_line, csv_names};
use crate::visit::Visit;

/// The turns of all files, shared by those whose files they are.
static TURNS: LazyLock<CsvTurns> = LazyLock::new(|| CsvTurns::new(CSV_PARTS_AT_ONCE));
/// The pages on their way to one browser.
const WAITING_PAGES: usize = 2;
/// The last line of a file that has the rows of its page alone.
pub(crate) const PAGE_ALONE: &str = "(more rows match: this file has those of its page)\r\n";
/// The last line of a file that lacks rows.
const CUT: &str = "(more rows match: narrow the filters or the time span)\r\n";

/// Waits for a turn to make a part of a file for this viewer. It is held for as long as the part is made.
pub(crate) async fn turn(visit: &Visit) -> Option<CsvTurn> {
    TURNS.take(&visit.caller.actor).await
}

/// A list of the interface as a file.
pub(crate) struct CsvFile<T> {
    pub(crate) columns: Vec<TableColumn>,
    /// The path of the list with its filters, without a page.
    pub(crate) path: String,
    pub(crate) rows: fn(&Visit, &T) -> Vec<Vec<TableCell>>,
    pub(crate) next: fn(&T) -> Option<&str>,
}

impl<T: DeserializeOwned + Send + Sync + 'static> CsvFile<T> {
    /// Returns the file, of [`CSV_ROWS`] rows at most. It is written from its first read on. A browser that reads no further is waited
    /// for, and nothing is read meanwhile. After a failure the file breaks off, so that nobody takes it for the whole.
    pub(crate) fn body(self, visit: Visit) -> ConsoleBody {
        WrittenBody::new(move |mut to| async move {
            if let Err(error) = self.write(&visit, &mut to).await {
                to.abort(error.into());
            }
        })
        .boxed_unsync()
    }

    async fn write(&self, visit: &Visit, to: &mut Sender<Bytes, BoxError>) -> Result<(), InterfaceError> {
        let mut text = csv_names(&self.columns);
        let mut after: Option<String> = None;
        let mut written = 0;
        loop {
            // A part that a slow browser takes keeps no turn.
            let turn = turn(visit).await;
            let page = visit.interface.get::<T>(&self.page(after.as_deref())).await?.value;
            let rows = (self.rows)(visit, &page);
            written += rows.len();
            text.extend(rows.iter().map(|row| csv_line(row)));
            after = (self.next)(&page).map(str::to_owned);
            let is_cut = after.is_some() && written >= CSV_ROWS;
            if is_cut {
                text.push_str(CUT);
            }
            drop(turn);
            let is_gone = to.send_data(std::mem::take(&mut text).into()).await.is_err();
            if after.is_none() || is_cut || is_gone {
                return Ok(());
            }
        }
    }

    fn page(&self, after: Option<&str>) -> String {
        let joint = if self.path.contains('?') { '&' } else { '?' };
        let after = after.map(|after| format!("&after={}", bitacora_api::paths::percent_encoded(after)));
        format!("{}{joint}limit={CSV_PAGE_ROWS}{}", self.path, after.unwrap_or_default())
    }
}

type WritingFuture = Pin<Box<dyn Future<Output = ()> + Send>>;
type Writing = Box<dyn FnOnce(Sender<Bytes, BoxError>) -> WritingFuture + Send>;

/// A body that a task of its own writes, from its first read on and for as long as somebody has it: a browser that went away leaves nothing
/// to be done.
struct WrittenBody {
    /// The writer and its end of the channel, until the first read.
    writing: Option<(Writing, Sender<Bytes, BoxError>)>,
    written: Channel<Bytes, BoxError>,
    task: Option<AbortHandle>,
}

impl WrittenBody {
    fn new<F: Future<Output = ()> + Send + 'static>(
        write: impl FnOnce(Sender<Bytes, BoxError>) -> F + Send + 'static,
    ) -> Self {
        let (sender, written) = Channel::new(WAITING_PAGES);
        let writing: Writing = Box::new(|to| Box::pin(write(to)));
        Self { writing: Some((writing, sender)), written, task: None }
    }
}

impl Body for WrittenBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some((write, to)) = self.writing.take() {
            self.task = Some(tokio::spawn(write(to)).abort_handle());
        }
        Pin::new(&mut self.written).poll_frame(context)
    }
}

impl Drop for WrittenBody {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_file_is_written_from_its_first_read_on() {
        let begun = Arc::new(());
        let of_writer = Arc::clone(&begun);
        let body = WrittenBody::new(|mut to| async move {
            let _begun = of_writer;
            to.send_data("a,b\r\n".into()).await.unwrap();
        });
        tokio::task::yield_now().await;
        assert_eq!(body.collect().await.unwrap().to_bytes(), "a,b\r\n");
        let of_writer = Arc::clone(&begun);
        let unread = WrittenBody::new(|_| async move {
            drop(of_writer);
            std::future::pending::<()>().await;
        });
        tokio::task::yield_now().await;
        assert_eq!(Arc::strong_count(&begun), 2, "nobody has read it");
        drop(unread);
        assert_eq!(Arc::strong_count(&begun), 1);
    }

    #[tokio::test]
    async fn a_file_that_nobody_has_waits_for_no_turn() {
        let turns = CsvTurns::new(1);
        let held = turns.take("one").await;
        let waits = Arc::new(());
        let (of_file, of_writer) = (turns.clone(), Arc::clone(&waits));
        let mut body = WrittenBody::new(|to| async move {
            let _kept = (of_writer, to);
            let _turn = of_file.take("one").await;
            std::future::pending::<()>().await;
        });
        assert!(tokio::time::timeout(std::time::Duration::from_millis(10), body.frame()).await.is_err());
        assert_eq!(Arc::strong_count(&waits), 2);
        drop(body);
        tokio::task::yield_now().await;
        assert_eq!(Arc::strong_count(&waits), 1, "its writer is gone too");
        drop(held);
        assert!(turns.take("two").await.is_some());
    }
}
