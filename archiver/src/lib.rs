//! The room of object stores: anchors lie in them, and the cold archives of a follower of the ledger.
//!
//! What this crate may not know: HTTP, and the projector beside it.

mod archive_name;
mod archive_place;
mod archive_store;
mod bounded_client;
mod byte_cache;
mod frame_rows;
mod in_order;
mod limits;
mod object_anchor;
mod plan;
mod store;
mod store_thread;
mod store_url;
mod upload;

pub use archive_name::{ArchiveName, ArchiveNameError};
pub use archive_place::{ArchivePlace, ArchivePlaceError};
pub use archive_store::{ArchiveStore, ArchiveStoreError, Listing, ObjectVersion, Objects, ReadPiece};
pub use frame_rows::FrameRowsError;
pub use object_anchor::ObjectAnchor;
pub use plan::{ARCHIVE_UNIT_EVENTS, DEFAULT_COLD_AFTER, Due, Period, Rules, Standing, Times, plan};
pub use store::{StoreError, StoreSettings};
pub use store_url::{Scheme, StoreUrl, StoreUrlError};
