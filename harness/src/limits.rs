//! Limits of what is taken from a harness.

/// The most bytes of a call's id: the vocabulary's limit of a name.
pub const MAX_CALL_BYTES: usize = 256;
/// The most bytes of a session's, model's or tool's name.
pub const MAX_NAME_BYTES: usize = 256;
/// The most bytes of a reason that a harness is given. Longer ones are cut: harnesses hand them to a model.
pub const MAX_REASON_BYTES: usize = 2_000;
/// The end of a tool's output that goes along with its outcome, in bytes. The service keeps fewer, without secrets.
pub(crate) const OUTPUT_TAIL_BYTES: usize = 1_024;
