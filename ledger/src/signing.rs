//! Signed tree heads: what is read back before, the signer, the publisher to the witnesses.

pub(crate) mod head_signer;
pub(crate) mod history_check;
pub(crate) mod known_heads;
pub(crate) mod put_aside;
pub(crate) mod read_back;
pub(crate) mod witness_publisher;
