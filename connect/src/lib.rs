//! Connections of coding agents: the hook process, its spool, and the settings files that name it.
//!
//! `connect` writes a *connection* (where the service is, whose token, which settings were changed) and the harness's
//! settings. The harness then runs the hook process, which reads the connection, asks the service, and prints the answer.
//! This crate parses no flags and prints nothing; its errors are types.

mod connection;
mod error;
mod hook;
mod install;
mod limits;
mod losses;
mod places;
mod settings_file;
mod spool;
#[cfg(test)]
mod tests;
mod watch_unit;

pub use connection::{Connection, make_private_folder, write_private};
pub use error::{ConnectionError, HookFailure, SpoolError};
pub use hook::{
    Delivered, DeliveryPlace, HookArguments, HookExit, deliver_before, deliver_spooled, run_hook,
};
pub use install::{Disconnected, HookProgram, InstallError, install, marker, uninstall};
pub use places::Places;
pub use settings_file::{SettingsFileError, SettingsScope, settings_path};
pub use spool::{Spool, SpoolCounts};
pub use watch_unit::{WatchUnit, WatchUnitError};
