//! The last event of each stream, as the disk has it.

use std::sync::Arc;

use bitacora_formats::{Position, StreamKey, StreamVersion};

use crate::host::key_map::KeyMap;
use crate::host::lock_order::OrderedRwLock;

/// The last event of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) version: StreamVersion,
    pub(crate) position: Position,
}

/// Stream tips as the disk has them; written at publish, read by anyone.
pub(crate) type DurableTips = Arc<OrderedRwLock<KeyMap<StreamKey, Tip>>>;
