//! The lock of `connect` and `disconnect`: one of them at a time changes connections of a user.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::Instant;

use crate::connection::make_private_folder;
use crate::error::ConnectionError;
use crate::limits::{LOCK_PATIENCE, LOCK_POLL};
use crate::places::Places;
use crate::remnants::remove_remnants_in;

/// The name of the lock's file, which is no connection's.
const NAME: &str = ".lock";

/// The lock. It is free again when it is dropped, or its process ends.
#[derive(Debug)]
pub struct ConnectLock {
    _file: File,
}

impl ConnectLock {
    /// Takes the lock, and waits for it where another process has it. What a killed process left in the folder is removed.
    ///
    /// # Errors
    /// The folder of connections cannot be written, or another process keeps the lock.
    pub fn take(places: &Places) -> Result<Self, ConnectionError> {
        let folder = places.connections();
        let path = folder.join(NAME);
        let failed = |source| ConnectionError::File { path: path.clone(), source };
        make_private_folder(folder).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).map_err(failed)?;
        let began = Instant::now();
        while file.try_lock().is_err() {
            if began.elapsed() > LOCK_PATIENCE {
                return Err(ConnectionError::Busy { path: path.clone(), waited_s: LOCK_PATIENCE.as_secs() });
            }
            thread::sleep(LOCK_POLL);
        }
        remove_remnants_in(folder);
        Ok(Self { _file: file })
    }
}
