//! State that can be taken back: maps and cells whose changes are undone or kept.

pub(crate) mod cow_cell;
pub(crate) mod per_agent_quota;
pub(crate) mod persistent_map;
pub(crate) mod undo_map;
