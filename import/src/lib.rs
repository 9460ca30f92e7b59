//! The import of external recordings: reads files, maps and checks lines, delivers in order.
//!
//! A mapping is a pure function of its file: ids are derived from the source, and nothing depends on the ledger, the
//! machine or the time of day. So importing the same again adds nothing.

mod actions;
mod append_channel;
mod batches;
mod cloud_events;
mod event_draft;
mod flow;
mod format;
mod gap;
mod json_text;
mod lane;
mod live;
mod mapped_events;
mod mapping;
mod outcome;
mod reader;
mod records;
mod report_place;
mod runs;
mod source_file;
mod source_files;
mod stored_events;
mod summary;
mod tally;
mod totals;
mod transcript;

pub use append_channel::{Acknowledgement, AppendChannel, AppendMiss, ImportTarget};
pub use batches::{EventBatch, Item, LANES, RecordLocation};
pub use event_draft::EventDraft;
pub use flow::{ImportDescription, ImportError, ImportFlow, ImportProgress, Interruption};
pub use format::Format;
pub use json_text::{JsonObject, json_array, json_text};
pub use lane::RejectedEvent;
pub use live::{LiveTranscript, TranscriptContext, TranscriptForm, UnreadableLine};
pub use mapping::{LineMapping, MappingError, Pointer, Template};
pub use reader::ImportPlan;
pub use records::{OpenFile, ReadProgress, Record, Records};
pub use report_place::{ReportError, ReportPlace};
pub use source_file::{FileIdentity, SourceFile};
pub use source_files::{CheckFile, SourceFilesError, find_sources};
pub use summary::{ImportSummary, fault};
pub use tally::{ImportTally, SourceStatistics, UnmappedLine};
pub use totals::ImportTotals;
