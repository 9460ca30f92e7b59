//! The import of external recordings: reads files, maps and checks lines, delivers in order.
//!
//! A mapping is a pure function of its file: ids are derived from the source, and nothing depends on the ledger, the
//! machine or the time of day. So importing the same again adds nothing.

mod actions;
mod append_channel;
mod batches;
mod cloud_events;
mod event_draft;
mod format;
mod gap;
pub(crate) mod json_text;
mod lane;
mod mapped_events;
mod mapping;
mod outcome;
mod reader;
mod records;
mod runs;
mod source_file;
mod tally;
mod transcript;

pub(crate) use append_channel::{AppendChannel, AppendMiss};
pub(crate) use batches::{EventBatch, Item, LANES, RecordLocation};
pub(crate) use event_draft::EventDraft;
pub(crate) use format::Format;
pub(crate) use lane::{Lane, LaneOutcome, RejectedEvent, SharedRequestSize};
pub(crate) use mapping::{LineMapping, Pointer, Template};
pub(crate) use reader::ImportPlan;
pub(crate) use records::{ReadProgress, Record, Records};
pub(crate) use source_file::{FileIdentity, SourceFile};
pub(crate) use tally::ImportTally;
#[cfg(test)]
pub(crate) use tally::UnmappedLine;
