//! Exports: stored events as a file in another format, with a manifest that ties it to the ledger.
//!
//! A reader hands over lines of stored events; this crate makes rows of them, writes the file, and goes on with a part of one. It knows no
//! ledger, no network and no terminal.

mod batch_channel;
mod call_facts;
mod column_buffer;
mod columns;
mod encoders;
mod export_file;
mod export_plan;
mod export_summary;
mod line_batch;
mod manifest;
mod part_file;
mod row_encoder;
mod row_filter;
mod row_tally;
mod stored_row;

pub use bitacora_vocabulary::ExportFormat;

pub use batch_channel::{BatchSender, ExportWriter, WrittenPart};
pub use encoders::{EncodeError, OCSF_VERSION, ParquetFailure};
pub use export_file::{ExportError, ExportFile, FinishedFile};
pub use export_plan::{ExportPlan, HeadMark};
pub use export_summary::RecordedExport;
pub use line_batch::{BATCH_BYTES, ContentFlags, LineBatch, StoredEventLine};
pub use manifest::{DeclaredLossMark, ExportManifest, MANIFEST_FORMAT};
pub use part_file::{ExportNames, PartError};
pub use row_filter::RowFilter;
pub use row_tally::{MAX_GAPS, PositionGap, RowTally};
