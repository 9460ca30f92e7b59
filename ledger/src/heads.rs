//! Signed tree heads: their files, the anchor and the witnesses that remember them.

pub(crate) mod anchor;
pub(crate) mod cosigned;
pub(crate) mod head_files;
pub(crate) mod rollback;
pub(crate) mod signer_handle;
pub(crate) mod witness;
