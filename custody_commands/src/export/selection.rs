//! The selection of an export: a range, the filters of a read, and two of its own.

use bitacora_client::percent_encoded;
use bitacora_export::{HeadMark, RowFilter};
use bitacora_formats::{After, Position, format_time};
use bitacora_ledger::Filter;
use clap::Args;

use super::failure::ExportFailure;
use crate::options::filters::Filters;

#[derive(Debug, Args)]
pub(crate) struct ExportSelection {
    /// Only events past this position.
    #[arg(long, value_name = "POSITION")]
    after: Option<After>,
    /// Only events up to and including this position.
    #[arg(long, value_name = "POSITION")]
    until: Option<Position>,
    #[command(flatten)]
    filters: Filters,
    /// Only events whose data names this tool; repeatable for one of several.
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    /// Only decisions with this verdict; repeatable for one of several.
    #[arg(long = "verdict", value_name = "VERDICT", value_parser = ["allow", "review", "deny"])]
    verdicts: Vec<String>,
}

impl ExportSelection {
    /// Refuses a range or a span of time that no event can be in.
    pub(super) fn check(&self) -> Result<(), ExportFailure> {
        let (after, until) = (self.after(), self.until.map(Position::get));
        if let Some(until) = until.filter(|until| *until <= after) {
            return Err(ExportFailure::EmptyRange { after, until });
        }
        let Filter { since, before, .. } = self.filter();
        match since.zip(before) {
            Some((since, before)) if before <= since => {
                let (since, before) = (format_time(since), format_time(before));
                Err(ExportFailure::EmptySpan { since, before })
            }
            _ => Ok(()),
        }
    }

    /// Refuses to begin past the head. A caller that has seen more than the ledger holds must hear it.
    pub(super) fn check_begins_in_the_ledger(&self, head: &HeadMark) -> Result<(), ExportFailure> {
        let (after, tip) = (self.after(), head.position.parse().unwrap_or_default());
        if after <= tip {
            return Ok(());
        }
        Err(ExportFailure::PastHead { after, head: head.position.clone() })
    }

    /// Returns the position behind which it begins.
    pub(super) fn after(&self) -> u64 {
        self.after.unwrap_or(After::START).get()
    }

    /// Returns the last position of an export at this head.
    pub(super) fn until(&self, head: &HeadMark) -> u64 {
        let head = head.position.parse().unwrap_or_default();
        self.until.map_or(head, |until| until.get().min(head))
    }

    /// Returns the selection as one text; empty for all events.
    pub(super) fn text(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.after.map(|after| format!("after={after}")));
        parts.extend(self.until.map(|until| format!("until={until}")));
        parts.extend(self.filters.to_query());
        parts.extend(self.tools.iter().map(|tool| format!("tool={}", percent_encoded(tool))));
        parts.extend(self.verdicts.iter().map(|verdict| format!("verdict={verdict}")));
        parts.join("&")
    }

    /// Takes the times of an interrupted export over.
    pub(super) fn adopt_times(&mut self, interrupted: &str) {
        self.filters.adopt_times(interrupted);
    }

    /// Returns the filters that a read knows, for a folder.
    pub(super) fn filter(&self) -> Filter {
        self.filters.to_filter()
    }

    /// Returns the same for the service, to be put behind another parameter.
    pub(super) fn query(&self) -> String {
        self.filters.to_query().iter().map(|part| format!("&{part}")).collect()
    }

    /// Returns the filters that no read knows.
    pub(super) fn row_filter(&self) -> RowFilter {
        RowFilter { tools: self.tools.clone(), verdicts: self.verdicts.clone() }
    }
}
