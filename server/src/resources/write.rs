//! Resources that append events.

pub(crate) mod annotations;
pub(crate) mod append;
pub(crate) mod checkpoint_acts;
pub(crate) mod checkpoint_saves;
pub(crate) mod content_pieces;
pub(crate) mod contents;
pub(crate) mod exports;
pub(crate) mod ingest;
pub(crate) mod preferences;
