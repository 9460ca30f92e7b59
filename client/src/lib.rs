//! Talking to a Bitacora service from an executor: append, decide, tell outcomes, follow, keep checkpoints.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use bitacora_client::{CallRequest, Client, OutcomeReport};
//!
//! let client = Client::new("http://127.0.0.1:7717".parse()?, "main".parse()?, None);
//! let call = CallRequest::new("c1", "shell").with_args(r#"{"command":"ls"}"#)?;
//! let decision = client.decide(&call).await?;
//! if decision.is_allowed() {
//!     // … call the tool …
//!     client.outcome(&OutcomeReport::ok("c1")).await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Whatever is not an answer of the service that allows is a no: an error of this crate, too. Everything that writes is sent again as
//! it was, under the same ids, until its outcome is known or patience ends, since the ledger takes each event once and answers each
//! call as the first time.
//!
//! What this crate may not know: the ledger, files of the service; what it writes to the disk is its own cursor.

mod answers;
mod appender;
mod backoff;
mod call;
mod checkpoint;
mod checkpoints;
mod client;
mod connection;
mod content;
mod cursor;
mod doubt;
mod error;
mod following;
mod limits;
mod messages;
mod percent;
mod policy_cache;
mod pool;
mod request_id;
mod service_url;
mod token;

pub use answers::{
    Appended, ApprovalNeeded, Decision, DerivedReceipt, Fault, HeadReference, Obligations, OutcomeAnswer,
    Problem, Receipt, ReceiptStatus, Verdict,
};
pub use appender::{Appender, AppenderOptions, NotAppended};
pub use backoff::Backoff;
pub use call::{CallRequest, NotJson, OutcomeReport, OutcomeStatus};
pub use checkpoint::{
    About, ChannelVersion, CheckpointFilter, CheckpointPage, CheckpointSource, Content, Copied, Deleted,
    FoundCheckpoint, Held, LargeContent, NewCheckpoint, Recorded, SavedCheckpoint, TaskWrite, TaskWrites,
    Which, Written,
};
pub use checkpoints::Checkpoints;
pub use client::Client;
pub use connection::{Connecting, Connection, Connector, Pieces, Pipe};
pub use cursor::{Cursor, CursorError};
pub use doubt::Doubt;
pub use error::{ClientError, Refusal};
pub use following::{FollowError, Followed, Following};
pub use percent::percent_encoded;
pub use policy_cache::{CacheError, Denied, PolicyCache, PolicyCacheOptions, Predicted, Said, UnfitCall};
pub use service_url::{NotAServiceUrl, ServiceUrl};
pub use token::{NotAToken, Token};
