//! The query of `read`: a range, a filter and a limit.

use bitacora_formats::{After, Position};
use bitacora_ledger::limits::MAX_PAGE_EVENTS;
use bitacora_ledger::{EventPage, Filter, ReadFrom, ReadQuery};
use clap::Args;

use crate::options::filters::Filters;

#[derive(Debug, Args)]
pub(crate) struct ReadSelection {
    /// Only events past this position.
    #[arg(long, value_name = "POSITION", conflicts_with = "backward")]
    after: Option<After>,
    /// Only events up to and including this position.
    #[arg(long, value_name = "POSITION")]
    until: Option<Position>,
    /// Show at most this many events. [default: all]
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Show the newest first.
    #[arg(long)]
    backward: bool,
    #[command(flatten)]
    filters: Filters,
}

impl ReadSelection {
    /// Returns the query string of a request to the service.
    pub(super) fn to_query(&self) -> String {
        let mut query = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            query.extend(value.map(|value| format!("{name}={value}")));
        };
        add("after", self.after.map(|after| after.to_string()));
        add("until", self.until.map(|until| until.to_string()));
        add("limit", self.limit.map(|limit| limit.to_string()));
        add("dir", self.backward.then(|| "backward".to_owned()));
        query.extend(self.filters.to_query());
        query.join("&")
    }

    /// Returns the queries to a ledger, page by page.
    pub(super) fn pages(&self) -> ReadPages {
        let from = if self.backward {
            ReadFrom::Before(self.until.and_then(Position::next))
        } else {
            ReadFrom::After(self.after.unwrap_or(After::START))
        };
        let until = self.until.filter(|_| !self.backward);
        ReadPages {
            next: Some(from),
            until,
            left: self.limit.unwrap_or(u64::MAX),
            filter: self.filters.to_filter(),
        }
    }
}

/// The remaining pages of a query.
pub(super) struct ReadPages {
    next: Option<ReadFrom>,
    until: Option<Position>,
    left: u64,
    filter: Filter,
}

impl ReadPages {
    pub(super) fn next_query(&self) -> Option<ReadQuery> {
        let from = self.next.filter(|_| self.left > 0)?;
        let limit = usize::try_from(self.left).unwrap_or(usize::MAX).min(MAX_PAGE_EVENTS);
        Some(ReadQuery { from, until: self.until, limit, filter: self.filter.clone() })
    }

    /// Takes in the result of the last query. Everything is read as of the first page's head.
    pub(super) fn take(&mut self, page: &EventPage) {
        self.next = page.next;
        self.left = self.left.saturating_sub(page.events.len() as u64);
        if !matches!(self.next, Some(ReadFrom::Before(_))) {
            self.until.get_or_insert(page.head.position);
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct TestCommand {
        #[command(flatten)]
        selection: ReadSelection,
    }

    fn asked(arguments: &[&str]) -> Result<ReadSelection, clap::Error> {
        let arguments = std::iter::once(&"read").chain(arguments);
        TestCommand::try_parse_from(arguments).map(|command| command.selection)
    }

    #[test]
    fn everything_that_can_be_asked_is_in_the_query() {
        let selection = asked(&[
            "--after=5",
            "--until=9",
            "--limit=3",
            "--type=x.y",
            "--type=z",
            "--stream=run/7",
            "--actor=a",
            "--agent=b",
            "--session=c",
            "--run=d",
            "--call=e",
            "--tag=f",
            "--since=2026-11-20T13:00:00Z",
            "--before=2026-11-21T00:00:00+01:00",
        ]);
        let expected = "after=5&until=9&limit=3&type=x.y&type=z&stream=run%2F7&actor=a&agent=b&session=c&run=d\
            &call=e&tag=f&since=2026-11-20T13%3A00%3A00.000000Z&before=2026-11-20T23%3A00%3A00.000000Z";
        assert_eq!(selection.unwrap().to_query(), expected);
        assert_eq!(asked(&["--backward", "--until=7"]).unwrap().to_query(), "until=7&dir=backward");
        assert_eq!(asked(&[]).unwrap().to_query(), "");
    }

    #[test]
    fn what_cannot_be_asked_is_a_usage_error() {
        for wrong in [
            "--after=-1",
            "--after=18446744073709551616",
            "--until=0",
            "--limit=0",
            "--since=someday",
            "--limit=x",
        ] {
            assert_eq!(asked(&[wrong]).unwrap_err().exit_code(), 2, "{wrong}");
        }
        assert!(asked(&["--backward", "--after=1"]).is_err());
    }
}
