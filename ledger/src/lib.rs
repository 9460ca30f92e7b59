//! The room of truth.

mod clock;
mod disk;
mod entropy;
mod environment;

pub use clock::{Clock, SystemClock};
pub use disk::{Disk, DiskFile, FileIdentity, FolderEntry, FolderLock, OpenMode, RealDisk};
pub use entropy::{Entropy, SystemEntropy};
pub use environment::Environment;
