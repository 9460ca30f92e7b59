//! Bounds of requests and of what is made of them.

/// Bytes of a request, after decompression.
pub const MAX_OTLP_REQUEST_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of an attribute's text. A longer one is kept as its digest and length: a text that is cut could be cut within a
/// secret, which nothing would recognise then.
pub const MAX_OTLP_TEXT_BYTES: usize = 16 * 1024;
/// Bytes of an event's data. A record that needs more is rejected.
pub const MAX_OTLP_DATA_BYTES: usize = 256 * 1024;
/// Attributes of a record. A record with more is rejected.
pub const MAX_OTLP_ATTRIBUTES: usize = 512;
/// Values of a record, nested ones included. A record with more is rejected.
pub const MAX_OTLP_VALUES: usize = 4_096;
/// Lists and maps that may lie within one another in an attribute. A record with more is rejected.
pub const MAX_OTLP_DEPTH: usize = 16;

/// Objects and arrays of JSON that may lie within one another in a record: each level of values takes up to three.
pub(crate) const MAX_JSON_RECORD_DEPTH: usize = 4 * MAX_OTLP_DEPTH;
/// Objects of JSON in a record. Each value is one and each attribute another, and events and links have some too.
pub(crate) const MAX_JSON_RECORD_OBJECTS: usize = 4 * MAX_OTLP_VALUES;
/// Bytes of the names that a resource and a scope give to all their records.
pub(crate) const MAX_CONTEXT_BYTES: usize = 256;
/// Bytes of a message about rejected records.
pub(crate) const MAX_MESSAGE_BYTES: usize = 1_024;
/// Kinds of faults that a message names.
pub(crate) const MAX_TOLD_FAULTS: usize = 4;
