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
//! This crate may not know the ledger or the files of the service. It writes nothing to the disk but its own cursor, and reads nothing else there but certificates.

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
mod error;
mod following;
mod ledger_doubt;
mod limits;
mod messages;
mod policy_cache;
mod pool;
mod request_id;
mod service_trust;
mod service_url;
mod signature_fields;
mod tls;
mod token;

pub use answers::{Decision, Verdict};
pub use appender::{AppendFailure, Appender, AppenderOptions};
pub use backoff::Backoff;
pub use call::{CallRequest, InvalidJson, OutcomeReport, OutcomeStatus};
pub use checkpoint::{
    ChannelVersion, CheckpointContext, CheckpointFilter, CheckpointSelector, CheckpointSource, Content,
    ContentState, CopySelection, DeleteSelection, FoundCheckpoint, LargeContent, NewCheckpoint,
    RecordedWrite, TaskWrite, TaskWrites,
};
pub use checkpoints::Checkpoints;
pub use client::Client;
pub use connection::{ConnectFuture, Connection, Connector, Pieces, Pipe};
pub use cursor::{Cursor, CursorError};
pub use error::{ClientError, Refusal};
pub use following::{FollowError, FollowItem, FollowStream};
pub use ledger_doubt::LedgerDoubt;
pub use policy_cache::{
    CacheDenial, CacheError, CheckedDecision, InvalidCall, PolicyCache, PolicyCacheOptions, PredictedVerdict,
};
pub use service_trust::{ClientIdentity, ServiceTrust};
pub use service_url::{ServiceUrl, ServiceUrlError};
pub use tls::TlsFailure;
pub use token::{Token, TokenFormatError};

pub use bitacora_api::paths::percent_encoded;
pub use bitacora_api::{
    AppendAnswer, AppendReceipt, ApprovalReference, CheckpointActAnswer, CheckpointList, DerivedReceipt,
    FaultAnswer, HeadReference, ObligationsAnswer, OutcomeAnswer, ProblemAnswer, ProblemCode, ReceiptState,
    SavedCheckpoint,
};
