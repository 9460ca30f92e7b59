//! HTTP: connections, framing, and the parts of a request.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod framing;
pub(crate) mod lanes;
pub(crate) mod listener;
pub(crate) mod media;
pub(crate) mod memory;
pub(crate) mod origin;
pub(crate) mod outgoing;
pub(crate) mod path;
pub(crate) mod peer;
pub(crate) mod phase;
pub(crate) mod pool;
pub(crate) mod preconditions;
pub(crate) mod query;
pub(crate) mod resume;
pub(crate) mod tls;
