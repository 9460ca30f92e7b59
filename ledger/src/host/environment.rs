//! All that the ledger takes from outside: files, time, randomness, archives.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::archive_tier::{ArchiveSource, NoArchives};
use crate::host::clock::{Clock, SystemClock};
use crate::host::disk::{Disk, RealDisk};
use crate::host::entropy::{Entropy, SystemEntropy};

/// Enters through the constructors, so that a test can replace each part and one seed replays a run.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The file system.
    pub disk: Arc<dyn Disk>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The source of keys and ids.
    pub entropy: Arc<dyn Entropy>,
    /// The archives that hold the events of released segments.
    pub archives: Arc<dyn ArchiveSource>,
}

impl Environment {
    /// The same, with the disk below this folder alone: [`Disk::within`].
    ///
    /// # Errors
    /// What the disk says.
    pub fn within(&self, folder: &Path) -> io::Result<Self> {
        Ok(Self { disk: self.disk.within(folder)?, ..self.clone() })
    }

    /// The machine's own disk, clock and random generator.
    #[must_use]
    pub fn real() -> Self {
        Self {
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            archives: Arc::new(NoArchives),
        }
    }
}
