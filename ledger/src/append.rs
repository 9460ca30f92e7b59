//! An append from the sequencer on: admitted, sealed into a frame, synced, answered.

pub(crate) mod admission;
pub(crate) mod commits;
pub(crate) mod committer;
pub(crate) mod compressor;
pub(crate) mod duplicate_receipts;
pub(crate) mod frame_batch;
pub(crate) mod live_segment;
pub(crate) mod own_events;
pub(crate) mod pending;
pub(crate) mod sequencer;
pub(crate) mod service_events;
pub(crate) mod staged_state;
