//! Files of comma-separated values that are written while their rows are read: a page of the interface after the other.

use std::sync::LazyLock;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::channel::{Channel, Sender};
use serde::de::DeserializeOwned;

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
    /// Returns the file, of [`CSV_ROWS`] rows at most. A browser that does not read it is waited for, and nothing is read meanwhile. After a
    /// failure the file breaks off, so that nobody takes it for the whole.
    pub(crate) fn body(self, visit: Visit) -> ConsoleBody {
        let (sender, body) = Channel::<Bytes, BoxError>::new(WAITING_PAGES);
        tokio::spawn(async move {
            let mut sender = sender;
            if let Err(error) = self.write(&visit, &mut sender).await {
                sender.abort(error.into());
            }
        });
        body.boxed_unsync()
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
