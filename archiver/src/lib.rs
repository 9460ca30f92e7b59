//! The room of object stores: anchors lie in them, and later the cold archives of a follower of the ledger.
//!
//! What this crate may not know: HTTP, and the projector beside it. Nothing of a ledger is released yet.

mod bounded_client;
mod limits;
mod object_anchor;
mod store;
mod store_thread;
mod store_url;

pub use object_anchor::ObjectAnchor;
pub use store::{StoreError, StoreSettings};
pub use store_url::{Scheme, StoreUrl, StoreUrlError};
