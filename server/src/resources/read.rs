//! Resources that read the log and what is derived from it.

pub(crate) mod archives;
pub(crate) mod calls;
pub(crate) mod checkpoints;
pub(crate) mod contract_history;
pub(crate) mod costs;
pub(crate) mod decision_minutes;
pub(crate) mod events;
pub(crate) mod evidence;
pub(crate) mod gaps;
pub(crate) mod head;
pub(crate) mod proofs;
pub(crate) mod receipts;
pub(crate) mod resolutions;
pub(crate) mod runs;
pub(crate) mod schemas;
pub(crate) mod sessions;
pub(crate) mod tile_path;
pub(crate) mod tiles;
pub(crate) mod tool_usage;
pub(crate) mod tree_head;
