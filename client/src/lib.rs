//! A client for executors: append, decide, report outcomes, follow, keep checkpoints.
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
//! Only an answer of the service that allows is an allow. Everything else is a no, also an error of this crate. Every
//! write is sent again unchanged, under the same ids, until its outcome is known or the retries are used up. That is
//! safe: the ledger takes each event once, and answers a repeated call as the first time.
//!
//! This crate may not know the ledger or the files of the service. It writes nothing to the disk but its own cursor.

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
