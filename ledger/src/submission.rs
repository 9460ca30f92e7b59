//! An append before the sequencer takes it: its request, its preparation, its way into the inbox.

pub(crate) mod append_error;
pub(crate) mod compressed_body;
pub(crate) mod event_types;
pub(crate) mod inbox;
pub(crate) mod messages;
pub(crate) mod prepare;
pub(crate) mod request;
