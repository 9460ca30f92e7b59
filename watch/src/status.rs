//! The status of a watch: whether one runs, and how far it read.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bitacora_connect::{Connection, ConnectionError};
use serde::{Deserialize, Serialize};

use crate::sealed_file::StateKey;

/// The name of the status file.
const NAME: &str = "watch-status";
/// The age at which a status says that no watch runs.
pub const STALE_AFTER: Duration = Duration::from_secs(30);

/// The last report of a watch about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchStatus {
    /// The time of the status, seconds since 1970.
    pub at: u64,
    /// The number of transcripts since the connection, those included that are read to their end.
    #[serde(default)]
    pub known: usize,
    /// The number of transcripts that are read or waited for.
    pub transcripts: usize,
    /// The bytes of them that are read and decided.
    pub settled: u64,
    /// The bytes of them in all.
    pub bytes: u64,
    /// The calls that wait to be decided.
    pub waiting: usize,
    /// The calls that dodged the gate, since the watch began.
    pub gaps: u64,
    /// The answers of models that were recorded, since the watch began.
    pub answers: u64,
    /// The transcripts with a fault.
    pub faulty: usize,
    /// The reason why the watch cannot go on, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl WatchStatus {
    /// Returns the age of the status.
    #[must_use]
    pub fn age(&self) -> Duration {
        Duration::from_secs(now().saturating_sub(self.at))
    }
}

/// Returns the status of a connection's watch; `None` where none ever ran.
///
/// # Errors
/// The connection's token is none.
pub fn read_status(connection: &Connection) -> Result<Option<WatchStatus>, ConnectionError> {
    Ok(StateKey::of(&connection.token()?).read(&connection.state, NAME))
}

pub(crate) fn write_status(key: &StateKey, folder: &Path, status: &WatchStatus) -> std::io::Result<()> {
    key.write(folder, NAME, &WatchStatus { at: now(), ..status.clone() })
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
