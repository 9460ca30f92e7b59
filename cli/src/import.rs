//! The import of external recordings: reads files, maps and checks lines, delivers in order.
//!
//! A mapping is a pure function of its file: ids are derived from the source, and nothing depends on the ledger, the
//! machine or the time of day. So importing the same again adds nothing.

mod actions;
mod batches;
mod cloud_events;
mod files;
mod format;
mod gap;
mod lane;
mod mapping;
mod outcome;
mod reading;
mod records;
mod report;
mod runs;
mod tally;
mod transcript;

pub(crate) use batches::{Batch, Item, LANES, Place};
pub(crate) use files::{FilesError, SourceFile, find, home_transcripts};
pub(crate) use format::Format;
pub(crate) use lane::{Landed, Lane, Rejected, SharedRequestSize};
pub(crate) use mapping::{LineMapping, Pointer, Template};
pub(crate) use reading::Reading;
pub(crate) use records::{ReadProgress, Record, Records};
pub(crate) use report::{Report, ReportError, ReportPlace};
#[cfg(test)]
pub(crate) use tally::Listed;
pub(crate) use tally::Tally;
